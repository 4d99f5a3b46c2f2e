// SPDX-License-Identifier: MIT
// BAR0. Handlers record and wake; they never touch memory.
#include <algorithm>
#include <cstring>
#include <new>
#include <optional>

#include "chip.h"

namespace sidra::chip {
namespace {

constexpr uint64_t kAllOnes = ~uint64_t{0};

bool within(uint64_t offset, uint64_t base, uint64_t size) { return offset >= base && offset - base < size; }

}  // namespace

sidra_telemetry Chip::telemetry() {
    const auto get = [](const std::atomic<uint64_t>& counter) { return counter.load(std::memory_order_relaxed); };
    sidra_telemetry t{};
    t.magic = SIDRA_TELEMETRY_MAGIC;
    t.version = SIDRA_TELEMETRY_VERSION;
    t.size = sizeof t;
    t.valid = SIDRA_TELEMETRY_HAS_COUNTERS;
    const Busy::Times busy = busy_.read();
    t.clock_ns = clock_.from_host(busy.host_clock_ns);
    t.busy_ns = busy.chip_ns;
    std::copy(busy.engine_ns.begin(), busy.engine_ns.end(), t.engine_ns);
    t.packets = get(counters_.packets);
    t.call_packets = get(counters_.call_packets);
    t.faults = get(counters_.faults);
    for (const Counters::Doorbells& each : counters_.doorbells) t.doorbells += get(each.count);
    objects_.for_each_context([&](const Context& context) { t.contexts += context.loaded.load(); });
    t.arms = get(counters_.arms);
    t.mmio_reads = get(counters_.mmio_reads);
    t.mmio_writes = get(counters_.mmio_writes) + t.doorbells;
    t.interrupts = get(counters_.interrupts);
    t.mvms = get(counters_.mvms);
    t.macs = get(counters_.macs);
    t.vec_elements = get(counters_.vec_elements);
    t.copy_bytes = get(counters_.copy_bytes);
    t.programmed_cells = get(counters_.programmed_cells);
    if (Analog* const analog = array_.analog()) {
        const Analog::Counters& cells = analog->counters();
        t.programmed_cells += get(cells.mended);
        t.pulses = get(cells.pulses);
        t.reads = get(cells.reads);
        t.failed_cells = get(cells.failed);
        t.clipped = get(cells.clipped);
        t.spare_columns = analog->spare_columns();
    }
    t.stuck_cells = array_.stuck_cell_count();
    t.calibrated_ns = get(counters_.calibrated_ns);
    t.untrimmed_xbars = adcs_.beyond();
    t.device_ps = get(counters_.device_ps);
    t.energy_pj = get(counters_.energy_pj);
    t.dma_errors = bus_.errors.load(std::memory_order_relaxed);
    t.xbars_total = geometry_.xbars();
    t.xbars_programmed = array_.programmed_xbars();
    t.queues = loader_.loaded_queues();
    t.status = read32(SIDRA_REG_STATUS);
    t.generation = read32(SIDRA_REG_GENERATION);
    t.boot_reason = read32(SIDRA_REG_BOOT_REASON);
    t.heartbeat = read32(SIDRA_REG_HEARTBEAT);
    t.panic = read32(SIDRA_REG_PANIC);
    const management::Power::Published published = management_.published();
    t.valid |= published.valid;
    if (published.valid & SIDRA_TELEMETRY_HAS_THERMAL) t.temperature_mc = published.temperature_mc;
    if (published.valid & SIDRA_TELEMETRY_HAS_POWER) {
        t.power_mw = published.power_mw;
        t.clock_khz = published.clock_khz;
    }
    if (published.valid & SIDRA_TELEMETRY_HAS_LIMITS) {
        t.temperature_max_mc = published.temperature_max_mc;
        t.temperature_crit_mc = management::kPower.critical_mc;
        t.power_limit_mw = published.limit_mw;
        t.power_limit_min_mw = published.limit_min_mw;
        t.power_limit_max_mw = published.limit_max_mw;
        t.clock_max_khz = published.clock_max_khz;
        t.throttles = published.throttles;
    }
    return t;
}

uint32_t Chip::read32(uint64_t offset) {
    switch (offset) {
        case SIDRA_REG_ID:
            return SIDRA_ID_MAGIC;
        case SIDRA_REG_HW_VERSION:
            return SIDRA_HW_VERSION;
        case SIDRA_REG_GEOMETRY0:
            return geometry_.clusters | geometry_.cus_per_cluster << 16;
        case SIDRA_REG_GEOMETRY1:
            return geometry_.xbars_per_cu;
        case SIDRA_REG_GEOMETRY2:
            return SIDRA_XBAR_ROWS | SIDRA_XBAR_COLS << 16;
        case SIDRA_REG_LIMITS0:
            return SIDRA_CONTEXTS_MAX | SIDRA_QUEUES_MAX << 16;
        case SIDRA_REG_LIMITS1:
            return SIDRA_QUEUES_PER_CONTEXT_MAX | SIDRA_MSIX_VECTORS << 16;
        case SIDRA_REG_VA_BITS:
            return SIDRA_VA_BITS;
        case SIDRA_REG_L1_SIZE:
            return geometry_.l1_size;
        case SIDRA_REG_L2_SIZE:
            return geometry_.l2_size;
        case SIDRA_REG_STATUS:
            if (admin_.resets() || knobs_.never_ready.load()) return SIDRA_STAGE_RESET;
            return management_.status() | SIDRA_STATUS_READY | (stops_.device.load() ? SIDRA_STATUS_STOPPED : 0);
        case SIDRA_REG_GENERATION:
            return generation_.load();
        case SIDRA_REG_ADMIN_STATUS:
            return admin_.status();
        case SIDRA_REG_INT_STATUS:
            return interrupts_.status.load();
        case SIDRA_REG_INT_ENABLE:
            return interrupts_.enable.load();
        default:
            break;
    }
    if (uint32_t value; management_.read(offset, &value)) return value;
    const uint64_t clock = offset == SIDRA_REG_CLOCK ? clock_.now_ns() : 0;
    std::lock_guard guard(registers_lock_);
    switch (offset) {
        case SIDRA_REG_SCRATCH:
            return ~registers_.scratch;
        case SIDRA_REG_CONTROL:
            return registers_.control;
        case SIDRA_REG_CLOCK:
            registers_.clock_latch = clock;
            return static_cast<uint32_t>(registers_.clock_latch);
        case SIDRA_REG_CLOCK + 4:
            return static_cast<uint32_t>(registers_.clock_latch >> 32);
        default:
            break;
    }
    // Halves of 64-bit registers; undefined offsets read 0.
    uint64_t value = 0;
    switch (offset & ~uint64_t{7}) {
        case SIDRA_REG_FEATURES:
            value = features();
            break;
        case SIDRA_REG_L3_SIZE:
            value = geometry_.l3_size;
            break;
        case SIDRA_REG_NVM_SIZE:
            value = geometry_.nvm_size;
            break;
        case SIDRA_REG_UUID:
            std::memcpy(&value, uuid_, 8);
            break;
        case SIDRA_REG_UUID + 8:
            std::memcpy(&value, uuid_ + 8, 8);
            break;
        case SIDRA_REG_CONTEXT_TABLE:
            value = registers_.context_table;
            break;
        case SIDRA_REG_ADMIN_ARG0:
            value = registers_.admin_arg[0];
            break;
        case SIDRA_REG_ADMIN_ARG1:
            value = registers_.admin_arg[1];
            break;
        case SIDRA_REG_ADMIN_ARG2:
            value = registers_.admin_arg[2];
            break;
        default:
            break;
    }
    return static_cast<uint32_t>(offset & 4 ? value >> 32 : value);
}

uint64_t Chip::read64(uint64_t offset) {
    switch (offset) {
        case SIDRA_REG_CLOCK:
            return clock_.now_ns();
        case SIDRA_REG_FEATURES:
        case SIDRA_REG_L3_SIZE:
        case SIDRA_REG_NVM_SIZE:
        case SIDRA_REG_UUID:
        case SIDRA_REG_UUID + 8:
        case SIDRA_REG_CONTEXT_TABLE:
        case SIDRA_REG_ADMIN_ARG0:
        case SIDRA_REG_ADMIN_ARG1:
        case SIDRA_REG_ADMIN_ARG2:
        case SIDRA_REG_MAILBOX_REQUEST:
        case SIDRA_REG_MAILBOX_REPLY:
            return read32(offset) | uint64_t{read32(offset + 4)} << 32;
        default:
            return 0;
    }
}

// A consistent snapshot of the page: reading the first word takes it, the other words read from it.
uint64_t Chip::read_telemetry(uint64_t offset, unsigned size) {
    std::optional<sidra_telemetry> page;
    if (offset == 0) page = telemetry();
    std::lock_guard guard(registers_lock_);
    if (page) registers_.telemetry_latch = *page;
    uint64_t value = 0;
    std::memcpy(&value, reinterpret_cast<const uint8_t*>(&registers_.telemetry_latch) + offset, size);
    return value;
}

bool Chip::lie_of_register(uint64_t offset, uint64_t* value) {
    static constexpr struct {
        uint32_t lie;
        uint64_t offset, value;
    } kLies[] = {
        {SIDRA_LIE_ADMIN_STATUS, SIDRA_REG_ADMIN_STATUS, 0xa5a50000u | SIDRA_ADMIN_BUSY},
        {SIDRA_LIE_INT_STATUS, SIDRA_REG_INT_STATUS, 0x7fffffc0},
        {SIDRA_LIE_L3_SIZE, SIDRA_REG_L3_SIZE, uint64_t{1} << 62},
        {SIDRA_LIE_NO_L3, SIDRA_REG_L3_SIZE, 0},
        {SIDRA_LIE_GEOMETRY, SIDRA_REG_GEOMETRY0, 0xffffffff},
        {SIDRA_LIE_CLOCK, SIDRA_REG_CLOCK, uint64_t{1} << 63},
        {SIDRA_LIE_REPLY_INDEX, SIDRA_REG_MAILBOX_REPLY_INDEX, 0xffffffff},
    };
    for (const auto& one : kLies) {
        if (one.offset != offset || !knobs_.lies(one.lie)) continue;
        *value = one.value;
        return true;
    }
    return false;
}

uint64_t Chip::mmio_read(uint64_t offset, unsigned size) {
    if (bus_.link_lost.load(std::memory_order_relaxed)) return size == 8 ? kAllOnes : kAllOnes >> (64 - 8 * (size & 7));
    counters_.mmio_reads.fetch_add(1, std::memory_order_relaxed);
    if (uint64_t lie; knobs_.lie.load(std::memory_order_relaxed) != SIDRA_LIE_NONE && lie_of_register(offset, &lie))
        return lie;
    if ((size != 4 && size != 8) || offset % size) return 0;
    if (within(offset, SIDRA_BAR_TELEMETRY, sizeof(sidra_telemetry)))
        return read_telemetry(offset - SIDRA_BAR_TELEMETRY, size);
    return size == 8 ? read64(offset) : read32(offset);
}

// Writes one half of a 64-bit register; false if it is not one.
bool Chip::write_half(uint64_t offset, uint32_t value) {
    if (offset == SIDRA_REG_MAILBOX_REQUEST || offset == SIDRA_REG_MAILBOX_REQUEST + 4 ||
        offset == SIDRA_REG_MAILBOX_REPLY || offset == SIDRA_REG_MAILBOX_REPLY + 4)
        return management_.write(offset, value);
    uint64_t* target;
    switch (offset & ~uint64_t{7}) {
        case SIDRA_REG_CONTEXT_TABLE:
            target = &registers_.context_table;
            break;
        case SIDRA_REG_ADMIN_ARG0:
            target = &registers_.admin_arg[0];
            break;
        case SIDRA_REG_ADMIN_ARG1:
            target = &registers_.admin_arg[1];
            break;
        case SIDRA_REG_ADMIN_ARG2:
            target = &registers_.admin_arg[2];
            break;
        default:
            return false;
    }
    if (offset & 4) *target = (*target & 0xffffffffu) | uint64_t{value} << 32;
    else *target = (*target & ~uint64_t{0xffffffffu}) | value;
    loader_.set_context_table(registers_.context_table);
    return true;
}

void Chip::write32(uint64_t offset, uint32_t value) {
    switch (offset) {
        case SIDRA_REG_INT_STATUS:
            interrupts_.status.fetch_and(~value);
            return;
        case SIDRA_REG_INT_ENABLE: {
            interrupts_.enable.store(value);
            if (interrupts_.status.load() & value) interrupts_.raise(SIDRA_MSIX_ADMIN);
            return;
        }
        case SIDRA_REG_TEST_IRQ:
            if (value == SIDRA_MSIX_ADMIN) interrupts_.status.fetch_or(SIDRA_INT_TEST);
            if (value < SIDRA_MSIX_VECTORS) interrupts_.raise(value);
            return;
        case SIDRA_REG_RESET:
            if (value != SIDRA_RESET_MAGIC) return;
            admin_.start_reset();
            return;
        default:
            break;
    }
    std::unique_lock guard(registers_lock_);
    switch (offset) {
        case SIDRA_REG_ADMIN_CMD: {
            const AdminCommand command{value, registers_.admin_arg};
            guard.unlock();
            admin_.start(command);
            return;
        }
        case SIDRA_REG_SCRATCH:
            registers_.scratch = value;
            return;
        case SIDRA_REG_CONTROL: {
            registers_.control = value & SIDRA_CONTROL_ENABLE;
            enabled_.store(registers_.control & SIDRA_CONTROL_ENABLE);
            const bool wake = registers_.control != 0;
            guard.unlock();
            if (wake) wakeups_.kick();
            return;
        }
        case SIDRA_REG_MAILBOX_DOORBELL:
            management_.write(offset, value);
            guard.unlock();
            wakeups_.kick();
            return;
        default:
            if (!write_half(offset, value)) management_.write(offset, value);
    }
}

void Chip::mmio_write(uint64_t offset, uint64_t value, unsigned size) {
    if (bus_.link_lost.load(std::memory_order_relaxed)) return;
    if (within(offset, SIDRA_BAR_DOORBELL, uint64_t{SIDRA_CONTEXTS_MAX} * SIDRA_BAR_DOORBELL_STRIDE)) {
        const uint64_t at = offset - SIDRA_BAR_DOORBELL;
        const auto context = static_cast<uint32_t>(at / SIDRA_BAR_DOORBELL_STRIDE);
        const uint64_t inside = at % SIDRA_BAR_DOORBELL_STRIDE;
        if (size == 4 && inside % 8 == 0 && inside / 8 < SIDRA_QUEUES_PER_CONTEXT_MAX) {
            counters_.doorbells[context].count.fetch_add(1, std::memory_order_relaxed);
            wakeups_.make_ready(context, static_cast<uint32_t>(inside / 8));
            return;
        }
    }
    counters_.mmio_writes.fetch_add(1, std::memory_order_relaxed);
    if ((size != 4 && size != 8) || offset % size) return;
    if (within(offset, SIDRA_BAR_ARM, uint64_t{SIDRA_CONTEXTS_MAX} * SIDRA_BAR_ARM_STRIDE)) {
        if (size != 8) return;
        const uint64_t at = offset - SIDRA_BAR_ARM;
        const auto context = static_cast<uint32_t>(at / SIDRA_BAR_ARM_STRIDE);
        const auto queue = static_cast<uint32_t>(at % SIDRA_BAR_ARM_STRIDE / 8);
        counters_.arms.fetch_add(1, std::memory_order_relaxed);
        arms_.set(slot(context, queue), value);
        // A queue that is not loaded yet is checked when it is loaded.
        if (Queue* known = objects_.find(slot(context, queue)); known && known->loaded.load()) arms_.check(*known);
        return;
    }
    if (size == 8) {
        std::lock_guard guard(registers_lock_);
        if (write_half(offset, static_cast<uint32_t>(value)))
            write_half(offset + 4, static_cast<uint32_t>(value >> 32));
        return;
    }
    write32(offset, static_cast<uint32_t>(value));
}

namespace {

// Accepts a 32-bit value with or without sign extension.
bool is_s32(uint64_t value) {
    return value == static_cast<uint64_t>(int64_t{static_cast<int32_t>(value)}) || value <= UINT32_MAX;
}

}  // namespace

bool Chip::set_knob(uint32_t knob, uint64_t value) {
    switch (knob) {
        case SIDRA_KNOB_DMA_ERROR_AT:
            bus_.error_at.store(value);
            return true;
        case SIDRA_KNOB_LOSE_MSIX:
            knobs_.lose_msix.store(value);
            return true;
        case SIDRA_KNOB_SPURIOUS_MSIX:
            if (value >= SIDRA_MSIX_VECTORS) return false;
            interrupts_.raise(static_cast<unsigned>(value));
            return true;
        case SIDRA_KNOB_CORRUPT_FETCH:
            knobs_.corrupt_fetch.store(value);
            return true;
        case SIDRA_KNOB_SLOW_TILE_NS:
            if (value > 1'000'000'000) return false;
            knobs_.slow_tile_ns.store(value);
            return true;
        case SIDRA_KNOB_TEMPERATURE_MC:
            if (!is_s32(value) || !management::Power::is_temperature(static_cast<int32_t>(value))) return false;
            if (array_.analog()) array_.analog()->clock().set_temperature(static_cast<int32_t>(value), clock_.now_ns());
            management_.set_around(static_cast<int32_t>(value));
            wakeups_.kick();
            return true;
        case SIDRA_KNOB_AGE_S:
            if (!array_.analog() || !array_.analog()->clock().age(value, clock_.now_ns())) return false;
            try {
                if (state_file_) sync();       // aging is requested only once, so it must be durable
            } catch (const std::bad_alloc&) {  // the cells have aged nevertheless
            }
            return true;
        case SIDRA_KNOB_ADC_OFFSET:
            if (!is_s32(value)) return false;
            adcs_.set_offset(static_cast<int32_t>(value));
            return true;
        case SIDRA_KNOB_STUCK_CELL: {
            if (loading_.load()) return false;  // stuck cells come with the saved chip
            if (value == kAllOnes) {
                const bool kept = array_.clear_stuck();
                tell_failure();
                return kept;
            }
            const auto xbar = static_cast<uint32_t>(value >> 32);
            if (xbar >= geometry_.xbars() || (value & 0xff00)) return false;
            const bool kept = array_.set_stuck(xbar, value >> 24 & 255, value >> 16 & 255, value & 255);
            tell_failure();
            return kept;
        }
        case SIDRA_KNOB_LIE:
            if (value >= SIDRA_LIE_COUNT) return false;
            knobs_.lie.store(static_cast<uint32_t>(value));
            return true;
        case SIDRA_KNOB_FIRMWARE_HANG:
        case SIDRA_KNOB_FIRMWARE_PANIC:
            if (value != 1) return false;
            if (knob == SIDRA_KNOB_FIRMWARE_HANG) management_.hang();
            else management_.crash();
            wakeups_.kick();
            return true;
        case SIDRA_KNOB_LINK_LOST:
        case SIDRA_KNOB_NO_QUIESCE_ACK:
        case SIDRA_KNOB_STALL: {
            if (value > (knob == SIDRA_KNOB_NO_QUIESCE_ACK ? 3u : 1u)) return false;
            if (knob == SIDRA_KNOB_NO_QUIESCE_ACK) knobs_.no_quiesce_ack.store(static_cast<uint32_t>(value));
            else (knob == SIDRA_KNOB_LINK_LOST ? bus_.link_lost : knobs_.stall).store(value != 0);
            admin_.poke();
            wakeups_.kick();
            return true;
        }
        default:
            return false;
    }
}

}  // namespace sidra::chip
