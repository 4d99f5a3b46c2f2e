// SPDX-License-Identifier: MIT
#include "volatile_state.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <span>

#include "entries.h"
#include "saved_queue.h"
#include "sum.h"

namespace sidra::chip {
namespace {

constexpr uint32_t kRegisters = chunk_tag("REGS"), kCounters = chunk_tag("CNTR"), kSlot = chunk_tag("SLOT"),
                   kContext = chunk_tag("CTXT"), kQueue = chunk_tag("QUEU"), kEpoch = chunk_tag("EPOC"),
                   kL3 = chunk_tag("L3  "), kManagement = chunk_tag("MGMT"), kPower = chunk_tag("POWR"),
                   kRam = chunk_tag("MRAM"), kSequencer = chunk_tag("SEQU"), kTrim = chunk_tag("TRIM");
constexpr size_t kCountersMax = 32;

struct SavedRegisters {
    uint64_t context_table;
    std::array<uint64_t, 3> admin_arg;
    uint64_t clock_latch;
    uint64_t device_clock;
    std::array<uint64_t, 3> command_arg;
    sidra_telemetry telemetry_latch;
    uint32_t control, scratch, admin_status, reserved0;
    uint32_t int_status, int_enable, generation;
    uint32_t command;
    uint8_t command_pending, command_begun, reset_pending, stop_device;
    uint32_t reserved;
    uint8_t stop_context[SIDRA_CONTEXTS_MAX];
};
struct SavedCounters {
    uint64_t doorbells[SIDRA_CONTEXTS_MAX];
    uint64_t counters[kCountersMax];
};
struct SavedSlot {
    uint32_t context, queue;
    uint64_t arm;
    uint8_t priority, stop, ready, reserved[5];
};
struct SavedContext {
    uint32_t id, reserved;
    sidra_hw_context entry;
};
struct SavedEpoch {  // an ended epoch
    uint32_t context, queue, epoch, root_queue, root_epoch, root_cause;
    uint64_t retired, root_sequence;
};
struct SavedTrim {
    uint32_t xbar;
    int32_t trim;
};
struct SavedManagement {
    uint64_t rom;  // checksum: with a different ROM the core restarts
    management::Unit::Saved unit;
};
// No padding, whose contents would be undefined.
static_assert(sizeof(SavedRegisters) == sizeof(sidra_telemetry) + 9 * 8 + 8 * 4 + 8 + 64 && sizeof(SavedSlot) == 24 &&
              sizeof(SavedContext) == 72 && sizeof(SavedEpoch) == 40);

uint64_t rom_sum(const management::Unit& unit) {
    std::vector<uint8_t> rom(SIDRA_MGMT_ROM_SIZE);
    unit.core().read(SIDRA_MGMT_ROM, rom);
    Sum sum;
    sum.add(rom.data(), rom.size());
    return sum.value();
}

bool flag(uint8_t value) { return value <= 1; }

}  // namespace

template <typename F>
void VolatileState::for_each_counter(F&& visit) {
    Counters& c = parts_.counters;
    for (std::atomic<uint64_t>* counter :
         {&c.packets, &c.call_packets, &c.faults, &c.arms, &c.mmio_reads, &c.mmio_writes, &c.interrupts, &c.mvms,
          &c.macs, &c.vec_elements, &c.copy_bytes, &c.programmed_cells, &c.device_ps, &c.energy_pj,
          &parts_.busy.chip_total(), &c.calibrated_ns, &parts_.bus.errors})
        visit(*counter);
    for (uint32_t i = 0; i < SIDRA_HW_ENGINE_COUNT; i++) visit(parts_.busy.engine_total(i));
    if (Analog* const analog = parts_.array.analog()) {
        Analog::Counters& cells = analog->counters();
        for (std::atomic<uint64_t>* counter :
             {&cells.pulses, &cells.reads, &cells.failed, &cells.clipped, &cells.mended})
            visit(*counter);
    }
}

void VolatileState::save(ChunkWriter& out) {
    save_registers(out);
    save_counters(out);
    save_queues(out);
    for_each_page(kL3, {parts_.l3.data(), parts_.l3.size()}, [&](const Record& page) { out.chunk(page); });
    save_management(out);
}

void VolatileState::save_registers(ChunkWriter& out) {
    const AdminQueue::State admin = parts_.admin.save();
    const Registers::State& registers = parts_.registers.state();
    SavedRegisters r{};
    r.context_table = registers.context_table;
    r.admin_arg = registers.admin_arg;
    r.clock_latch = registers.clock_latch;
    r.telemetry_latch = registers.telemetry_latch;
    r.device_clock = parts_.clock.now_ns();
    r.command_arg = admin.command.arg;
    r.control = registers.control;
    r.scratch = registers.scratch;
    r.admin_status = admin.status;
    r.int_status = parts_.interrupts.status.load();
    r.int_enable = parts_.interrupts.enable.load();
    r.generation = parts_.registers.generation();
    r.command = admin.command.word;
    r.command_pending = admin.pending;
    r.command_begun = admin.begun;
    r.reset_pending = admin.reset;
    r.stop_device = parts_.stops.device.load();
    for (uint32_t i = 0; i < SIDRA_CONTEXTS_MAX; i++) r.stop_context[i] = parts_.stops.context[i].load();
    out.chunk(kRegisters, r);
}

void VolatileState::save_counters(ChunkWriter& out) {
    SavedCounters counters{};
    for (uint32_t i = 0; i < SIDRA_CONTEXTS_MAX; i++) counters.doorbells[i] = parts_.counters.doorbells[i].count.load();
    size_t used = 0;
    for_each_counter([&](const std::atomic<uint64_t>& counter) { counters.counters[used++] = counter.load(); });
    out.chunk(kCounters, counters);
}

void VolatileState::save_queues(ChunkWriter& out) {
    for (uint32_t context = 0; context < SIDRA_CONTEXTS_MAX; context++) {
        if (const Context* known = parts_.objects.find_context(context); known && known->loaded.load())
            out.chunk(kContext, SavedContext{context, 0, known->entry});
        for (uint32_t queue = 0; queue < SIDRA_QUEUES_PER_CONTEXT_MAX; queue++) save_queue(out, context, queue);
    }
}

void VolatileState::save_queue(ChunkWriter& out, uint32_t context, uint32_t queue) {
    const SavedSlot idle{context, queue, 0, 1, 0, 0, {}};
    SavedSlot s = idle;
    s.arm = parts_.arms.value(slot(context, queue));
    s.priority = static_cast<uint8_t>(parts_.scheduler.priority(context, queue));
    s.stop = parts_.stops.queue[slot(context, queue)].load();
    s.ready = parts_.scheduler.ready(context, queue);
    if (const Queue* q = parts_.objects.find(slot(context, queue))) {
        const SavedQueue saved = saved_queue(*q, parts_.array.analog() != nullptr);
        // A waiting queue checks its condition again after a load, so the place of the wait is not saved.
        if (saved.loaded && q->parked) s.ready = 1;
        if (worth_saving(saved)) out.chunk(kQueue, saved);
        for (const Epochs::Ending& e : q->epochs.endings())
            out.chunk(kEpoch, SavedEpoch{context, queue, e.epoch, e.root.queue, e.root.epoch, e.root.cause, e.retired,
                                         e.root.sequence});
    }
    if (std::memcmp(&s, &idle, sizeof s) != 0) out.chunk(kSlot, s);
}

void VolatileState::save_management(ChunkWriter& out) {
    const management::Unit& unit = parts_.management.unit();
    out.chunk(kManagement, SavedManagement{rom_sum(unit), unit.save()});
    out.chunk(kPower, unit.power().save());
    out.chunk(kSequencer, unit.sequencer().save());
    for (uint32_t xbar = 0; xbar < parts_.array.xbars(); xbar++)
        if (const int32_t trim = parts_.adcs.trim(xbar)) out.chunk(kTrim, SavedTrim{xbar, trim});
    std::vector<uint8_t> ram(SIDRA_MGMT_RAM_SIZE);
    unit.core().read(SIDRA_MGMT_RAM, ram);
    for_each_page(kRam, ram, [&](const Record& page) { out.chunk(page); });
}

void VolatileState::clear() {
    parts_.admin.clear();
    parts_.objects.for_each_queue([](Queue& queue) { queue.deferred.store(false); });
    parts_.l3.clear();
    parts_.registers.load({}, 0);
    parts_.clock.set(0);
    for (Counters::Doorbells& doorbells : parts_.counters.doorbells) doorbells.count.store(0);
    for_each_counter([](std::atomic<uint64_t>& counter) { counter.store(0); });
}

const char* VolatileState::load(uint32_t tag, const std::vector<uint8_t>& data) {
    management::Unit& unit = parts_.management.unit();
    switch (tag) {
        case kRegisters:
            return load_registers(data);
        case kCounters:
            return load_counters(data);
        case kSlot:
            return load_slot(data);
        case kContext:
            return load_context(data);
        case kQueue: {
            SavedQueue saved;
            return take(data, &saved) ? load_queue(saved, parts_.objects, parts_.loader) : "saved state: bad queue";
        }
        case kEpoch:
            return load_epoch(data);
        case kL3:
            return load_page(data, {parts_.l3.data(), parts_.l3.size()});
        case kManagement: {
            SavedManagement saved;
            if (!take(data, &saved) || !unit.load(saved.unit)) return "saved state: bad management core";
            if (saved.rom != rom_sum(unit)) unit.restart(SIDRA_BOOT_RESET);
            return nullptr;
        }
        case kPower: {
            management::Power::Saved saved;
            return take(data, &saved) && unit.power().load_saved(saved) ? nullptr : "saved state: bad sensors or clock";
        }
        case kSequencer: {
            management::Sequencer::Saved saved;
            return take(data, &saved) && unit.sequencer().load(saved) ? nullptr : "saved state: bad sequencer";
        }
        case kTrim: {
            SavedTrim saved;
            return take(data, &saved) && parts_.adcs.set_trim(saved.xbar, saved.trim) ? nullptr
                                                                                      : "saved state: bad trim of ADCs";
        }
        case kRam: {
            uint64_t number;
            if (const char* bad = take_page(data, SIDRA_MGMT_RAM_SIZE, &number)) return bad;
            unit.core().write(SIDRA_MGMT_RAM + static_cast<uint32_t>(number) * kPage,
                              std::span(data).subspan(sizeof number));
            return nullptr;
        }
        default:
            return kUnknownChunk;
    }
}

const char* VolatileState::load_registers(const std::vector<uint8_t>& data) {
    constexpr const char* kBad = "saved state: bad registers";
    SavedRegisters r;
    if (!take(data, &r) || r.reserved || r.reserved0 || !flag(r.command_pending) || !flag(r.command_begun) ||
        !flag(r.reset_pending) || !flag(r.stop_device))
        return kBad;
    const AdminCommand command{r.command, r.command_arg};
    if (!parts_.admin.load(
            {r.admin_status, command, r.command_pending != 0, r.command_begun != 0, r.reset_pending != 0}))
        return "saved state: bad admin command";
    const Registers::State registers{r.context_table, r.admin_arg,   r.control,
                                     r.scratch,       r.clock_latch, r.telemetry_latch};
    if (!parts_.registers.load(registers, r.generation)) return kBad;
    parts_.clock.set(r.device_clock);
    parts_.interrupts.status.store(r.int_status);
    parts_.interrupts.enable.store(r.int_enable);
    parts_.stops.device.store(r.stop_device);
    for (uint32_t i = 0; i < SIDRA_CONTEXTS_MAX; i++)
        parts_.stops.context[i].store(r.stop_context[i] & (Stops::kAsked | Stops::kHeld));
    return nullptr;
}

const char* VolatileState::load_counters(const std::vector<uint8_t>& data) {
    SavedCounters saved;
    if (!take(data, &saved)) return "saved state: bad counters";
    for (uint32_t i = 0; i < SIDRA_CONTEXTS_MAX; i++) parts_.counters.doorbells[i].count.store(saved.doorbells[i]);
    size_t used = 0;
    for_each_counter([&](std::atomic<uint64_t>& counter) { counter.store(saved.counters[used++]); });
    return nullptr;
}

const char* VolatileState::load_slot(const std::vector<uint8_t>& data) {
    SavedSlot s;
    if (!take(data, &s) || s.context >= SIDRA_CONTEXTS_MAX || s.queue >= SIDRA_QUEUES_PER_CONTEXT_MAX ||
        s.priority >= SIDRA_PRIORITIES || !flag(s.stop) || !flag(s.ready))
        return "saved state: bad queue slot";
    parts_.arms.set(slot(s.context, s.queue), s.arm);
    parts_.stops.queue[slot(s.context, s.queue)].store(s.stop);
    parts_.scheduler.set_priority(s.context, s.queue, s.priority);
    if (s.ready) parts_.scheduler.mark_ready(s.context, s.queue);
    return nullptr;
}

const char* VolatileState::load_context(const std::vector<uint8_t>& data) {
    SavedContext saved;
    if (!take(data, &saved) || saved.id >= SIDRA_CONTEXTS_MAX || !well_formed(saved.entry))
        return "saved state: bad context";
    Context& context = parts_.objects.queue(saved.id, 0).context;
    context.entry = saved.entry;
    context.loaded.store(true);
    return nullptr;
}

const char* VolatileState::load_epoch(const std::vector<uint8_t>& data) {
    SavedEpoch saved;
    if (!take(data, &saved) || saved.context >= SIDRA_CONTEXTS_MAX || saved.queue >= SIDRA_QUEUES_PER_CONTEXT_MAX ||
        saved.epoch == 0 || saved.root_queue >= SIDRA_QUEUES_PER_CONTEXT_MAX || saved.root_cause >= SIDRA_FAULT_COUNT)
        return "saved state: bad epoch";
    const Root root{saved.root_sequence, saved.root_queue, saved.root_epoch, static_cast<uint16_t>(saved.root_cause)};
    if (!parts_.objects.queue(saved.context, saved.queue).epochs.restore({saved.epoch, saved.retired, root}))
        return "saved state: an epoch comes twice, or too many do";
    return nullptr;
}

}  // namespace sidra::chip
