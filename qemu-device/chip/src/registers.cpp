// SPDX-License-Identifier: MIT
#include "registers.h"

#include <cstring>
#include <optional>

namespace sidra::chip {
namespace {

constexpr uint64_t kAllOnes = ~uint64_t{0};

bool within(uint64_t offset, uint64_t base, uint64_t size) { return offset >= base && offset - base < size; }

}  // namespace

sidra_telemetry Registers::telemetry() const {
    sidra_telemetry page = parts_.telemetry.collect();
    page.status = status();
    page.generation = generation();
    return page;
}

uint32_t Registers::status() const {
    if (parts_.admin.resets() || parts_.knobs.never_ready.load()) return SIDRA_STAGE_RESET;
    return parts_.management.status() | SIDRA_STATUS_READY | (parts_.stops.device.load() ? SIDRA_STATUS_STOPPED : 0);
}

// The 64-bit register of state_ that has this offset in one of its halves; null: none.
uint64_t* Registers::wide_register(uint64_t offset) {
    switch (offset & ~uint64_t{7}) {
        case SIDRA_REG_CONTEXT_TABLE:
            return &state_.context_table;
        case SIDRA_REG_ADMIN_ARG0:
            return &state_.admin_arg[0];
        case SIDRA_REG_ADMIN_ARG1:
            return &state_.admin_arg[1];
        case SIDRA_REG_ADMIN_ARG2:
            return &state_.admin_arg[2];
        default:
            return nullptr;
    }
}

uint32_t Registers::read32(uint64_t offset) {
    const Geometry& geometry = parts_.identity.geometry;
    switch (offset) {
        case SIDRA_REG_ID:
            return SIDRA_ID_MAGIC;
        case SIDRA_REG_HW_VERSION:
            return SIDRA_HW_VERSION;
        case SIDRA_REG_GEOMETRY0:
            return geometry.clusters | geometry.cus_per_cluster << 16;
        case SIDRA_REG_GEOMETRY1:
            return geometry.xbars_per_cu;
        case SIDRA_REG_GEOMETRY2:
            return SIDRA_XBAR_ROWS | SIDRA_XBAR_COLS << 16;
        case SIDRA_REG_LIMITS0:
            return SIDRA_CONTEXTS_MAX | SIDRA_QUEUES_MAX << 16;
        case SIDRA_REG_LIMITS1:
            return SIDRA_QUEUES_PER_CONTEXT_MAX | SIDRA_MSIX_VECTORS << 16;
        case SIDRA_REG_VA_BITS:
            return SIDRA_VA_BITS;
        case SIDRA_REG_L1_SIZE:
            return geometry.l1_size;
        case SIDRA_REG_L2_SIZE:
            return geometry.l2_size;
        case SIDRA_REG_STATUS:
            return status();
        case SIDRA_REG_GENERATION:
            return generation();
        case SIDRA_REG_ADMIN_STATUS:
            return parts_.admin.status();
        case SIDRA_REG_INT_STATUS:
            return parts_.interrupts.status.load();
        case SIDRA_REG_INT_ENABLE:
            return parts_.interrupts.enable.load();
        default:
            break;
    }
    if (uint32_t value; parts_.management.read(offset, &value)) return value;
    const uint64_t clock = offset == SIDRA_REG_CLOCK ? parts_.clock.now_ns() : 0;
    std::lock_guard guard(lock_);
    switch (offset) {
        case SIDRA_REG_SCRATCH:
            return ~state_.scratch;
        case SIDRA_REG_CONTROL:
            return state_.control;
        case SIDRA_REG_CLOCK:
            state_.clock_latch = clock;
            return static_cast<uint32_t>(state_.clock_latch);
        case SIDRA_REG_CLOCK + 4:
            return static_cast<uint32_t>(state_.clock_latch >> 32);
        default:
            break;
    }
    // Halves of 64-bit registers; undefined offsets read 0.
    uint64_t value = 0;
    switch (offset & ~uint64_t{7}) {
        case SIDRA_REG_FEATURES:
            value = parts_.identity.features;
            break;
        case SIDRA_REG_L3_SIZE:
            value = geometry.l3_size;
            break;
        case SIDRA_REG_NVM_SIZE:
            value = geometry.nvm_size;
            break;
        case SIDRA_REG_UUID:
            std::memcpy(&value, parts_.identity.uuid.data(), 8);
            break;
        case SIDRA_REG_UUID + 8:
            std::memcpy(&value, parts_.identity.uuid.data() + 8, 8);
            break;
        default:
            if (const uint64_t* wide = wide_register(offset)) value = *wide;
            break;
    }
    return static_cast<uint32_t>(offset & 4 ? value >> 32 : value);
}

uint64_t Registers::read64(uint64_t offset) {
    switch (offset) {
        case SIDRA_REG_CLOCK:
            return parts_.clock.now_ns();
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
uint64_t Registers::read_telemetry(uint64_t offset, unsigned size) {
    std::optional<sidra_telemetry> page;
    if (offset == 0) page = telemetry();
    std::lock_guard guard(lock_);
    if (page) state_.telemetry_latch = *page;
    uint64_t value = 0;
    std::memcpy(&value, reinterpret_cast<const uint8_t*>(&state_.telemetry_latch) + offset, size);
    return value;
}

bool Registers::read_lie(uint64_t offset, uint64_t* value) {
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
        if (one.offset != offset || !parts_.knobs.lies(one.lie)) continue;
        *value = one.value;
        return true;
    }
    return false;
}

uint64_t Registers::read(uint64_t offset, unsigned size) {
    if (parts_.bus.link_lost.load(std::memory_order_relaxed))
        return size == 8 ? kAllOnes : kAllOnes >> (64 - 8 * (size & 7));
    parts_.counters.mmio_reads.fetch_add(1, std::memory_order_relaxed);
    if (uint64_t lie; parts_.knobs.lie.load(std::memory_order_relaxed) != SIDRA_LIE_NONE && read_lie(offset, &lie))
        return lie;
    if ((size != 4 && size != 8) || offset % size) return 0;
    if (within(offset, SIDRA_BAR_TELEMETRY, sizeof(sidra_telemetry)))
        return read_telemetry(offset - SIDRA_BAR_TELEMETRY, size);
    return size == 8 ? read64(offset) : read32(offset);
}

// Writes one half of a 64-bit register; false if it is not one.
bool Registers::write_half(uint64_t offset, uint32_t value) {
    if (offset == SIDRA_REG_MAILBOX_REQUEST || offset == SIDRA_REG_MAILBOX_REQUEST + 4 ||
        offset == SIDRA_REG_MAILBOX_REPLY || offset == SIDRA_REG_MAILBOX_REPLY + 4)
        return parts_.management.write(offset, value);
    uint64_t* const target = wide_register(offset);
    if (!target) return false;
    if (offset & 4) *target = (*target & 0xffffffffu) | uint64_t{value} << 32;
    else *target = (*target & ~uint64_t{0xffffffffu}) | value;
    parts_.loader.set_context_table(state_.context_table);
    return true;
}

void Registers::write32(uint64_t offset, uint32_t value) {
    Interrupts& interrupts = parts_.interrupts;
    switch (offset) {
        case SIDRA_REG_INT_STATUS:
            interrupts.status.fetch_and(~value);
            return;
        case SIDRA_REG_INT_ENABLE:
            interrupts.enable.store(value);
            if (interrupts.status.load() & value) interrupts.raise(SIDRA_MSIX_ADMIN);
            return;
        case SIDRA_REG_TEST_IRQ:
            if (value == SIDRA_MSIX_ADMIN) interrupts.status.fetch_or(SIDRA_INT_TEST);
            if (value < SIDRA_MSIX_VECTORS) interrupts.raise(value);
            return;
        case SIDRA_REG_RESET:
            if (value == SIDRA_RESET_MAGIC) parts_.admin.start_reset();
            return;
        default:
            break;
    }
    std::unique_lock guard(lock_);
    switch (offset) {
        case SIDRA_REG_ADMIN_CMD: {
            const AdminCommand command{value, state_.admin_arg};
            guard.unlock();
            parts_.admin.start(command);
            return;
        }
        case SIDRA_REG_SCRATCH:
            state_.scratch = value;
            return;
        case SIDRA_REG_CONTROL: {
            const uint32_t control = state_.control = value & SIDRA_CONTROL_ENABLE;
            enabled_.store(control != 0);
            guard.unlock();
            if (control != 0) parts_.wakeups.kick();
            return;
        }
        case SIDRA_REG_MAILBOX_DOORBELL:
            parts_.management.write(offset, value);
            guard.unlock();
            parts_.wakeups.kick();
            return;
        default:
            if (!write_half(offset, value)) parts_.management.write(offset, value);
    }
}

// `offset`: in the doorbells. Returns false if there is none at this place.
bool Registers::ring_doorbell(uint64_t offset) {
    const auto context = static_cast<uint32_t>(offset / SIDRA_DOORBELL_PAGE_SIZE);
    const uint64_t inside = offset % SIDRA_DOORBELL_PAGE_SIZE;
    if (inside % 8 != 0 || inside / 8 >= SIDRA_QUEUES_PER_CONTEXT_MAX) return false;
    parts_.counters.doorbells[context].count.fetch_add(1, std::memory_order_relaxed);
    parts_.wakeups.make_ready(context, static_cast<uint32_t>(inside / 8));
    return true;
}

// `offset`: in the ARM values.
void Registers::arm(uint64_t offset, uint64_t value) {
    const size_t at = slot(static_cast<uint32_t>(offset / SIDRA_BAR_ARM_STRIDE),
                           static_cast<uint32_t>(offset % SIDRA_BAR_ARM_STRIDE / 8));
    parts_.counters.arms.fetch_add(1, std::memory_order_relaxed);
    parts_.arms.set(at, value);
    // A queue that is not loaded yet is checked when it is loaded.
    if (Queue* known = parts_.objects.find(at); known && known->loaded.load()) parts_.arms.check(*known);
}

void Registers::write(uint64_t offset, uint64_t value, unsigned size) {
    if (parts_.bus.link_lost.load(std::memory_order_relaxed)) return;
    if (size == 4 && within(offset, SIDRA_BAR_DOORBELL, uint64_t{SIDRA_CONTEXTS_MAX} * SIDRA_DOORBELL_PAGE_SIZE) &&
        ring_doorbell(offset - SIDRA_BAR_DOORBELL))
        return;
    parts_.counters.mmio_writes.fetch_add(1, std::memory_order_relaxed);
    if ((size != 4 && size != 8) || offset % size) return;
    if (within(offset, SIDRA_BAR_ARM, uint64_t{SIDRA_CONTEXTS_MAX} * SIDRA_BAR_ARM_STRIDE)) {
        if (size == 8) arm(offset - SIDRA_BAR_ARM, value);
        return;
    }
    if (size == 8) {
        std::lock_guard guard(lock_);
        if (write_half(offset, static_cast<uint32_t>(value)))
            write_half(offset + 4, static_cast<uint32_t>(value >> 32));
        return;
    }
    write32(offset, static_cast<uint32_t>(value));
}

void Registers::reset() {
    enabled_.store(false);
    parts_.loader.set_context_table(0);
    std::lock_guard guard(lock_);
    state_ = {};
}

bool Registers::load(const State& state, uint32_t generation) {
    if (state.control & ~SIDRA_CONTROL_ENABLE) return false;
    state_ = state;
    enabled_.store(state.control != 0);
    parts_.loader.set_context_table(state.context_table);
    generation_.store(generation);
    return true;
}

}  // namespace sidra::chip
