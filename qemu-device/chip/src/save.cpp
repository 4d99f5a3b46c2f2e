// SPDX-License-Identifier: MIT
// Saving and loading of a chip: a stream of chunks {tag, bytes, payload}, little-endian, HEAD first and END last.
// All-zero contents are omitted. Chunks that survive power-off (chunks.h) are also records of the state file. Loading
// does not trust the stream: each chunk is checked as if an attacker had written it.
#include <algorithm>
#include <array>
#include <cstring>
#include <memory>

#include "cells_chunk.h"
#include "chip.h"
#include "chunks.h"
#include "sum.h"

namespace sidra::chip {
namespace {

constexpr uint32_t kVersion = 6;
constexpr uint32_t kHead = chunk_tag("SDRA"), kRegisters = chunk_tag("REGS"), kCounters = chunk_tag("CNTR"),
                   kSlot = chunk_tag("SLOT"), kContext = chunk_tag("CTXT"), kQueue = chunk_tag("QUEU"),
                   kEpoch = chunk_tag("EPOC"), kL3 = chunk_tag("L3  "), kManagement = chunk_tag("MGMT"),
                   kPower = chunk_tag("POWR"), kRam = chunk_tag("MRAM"), kSequencer = chunk_tag("SEQU"),
                   kTrim = chunk_tag("TRIM"), kEnd = chunk_tag("END ");
// A part of a precopy begins with the first; the second says that what was sent of a crossbar counts no more.
constexpr uint32_t kPrecopy = chunk_tag("SDPC"), kBlank = chunk_tag("BLNK");
constexpr size_t kCountersMax = 32;

// Units that need not run again. Those that only make readouts are not counted: they depend on what was made before.
uint32_t finished_units(const Job& job, uint32_t next_unit) {
    const uint32_t makes = job.cmd.hdr.opcode == SIDRA_CMD_LAYER ? job.layer.product.makes : 0;
    return std::max(std::min(next_unit, job.units), makes) - makes;
}

struct ChunkHeader {
    uint32_t tag;
    uint32_t bytes;
};
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
struct SavedQueue {
    uint32_t context, queue;
    uint8_t loaded, recheck, deferred, faulted, under_way, call_active;
    uint16_t fault_cause;  // of a unit of the packet in progress
    uint32_t epoch, reserved1;
    sidra_hw_queue entry;
    uint64_t timeline, index, progress, device_ps, energy_pj, engine_ns[SIDRA_HW_ENGINE_COUNT];
    sidra_cmd cmd;
    uint32_t unit, call_position;
    sidra_cmd call;
    uint64_t call_device_ps, call_energy_pj;
    Products products;  // of the packet in progress, at level `accurate`
    uint64_t spent_ps, spent_pj, fault_address;
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
              sizeof(SavedContext) == 72 && sizeof(SavedQueue) == 24 + 64 + 72 + 64 + 8 + 64 + 16 + 40 &&
              sizeof(SavedEpoch) == 40);
constexpr size_t kChunkMax = kCellsChunkMax;

uint64_t rom_sum(const management::Unit& unit) {
    std::vector<uint8_t> rom(SIDRA_MGMT_ROM_SIZE);
    unit.core().read(SIDRA_MGMT_ROM, rom);
    Sum sum;
    sum.add(rom.data(), rom.size());
    return sum.value();
}

template <typename T>
bool take(const std::vector<uint8_t>& data, T* value) {
    if (data.size() != sizeof *value) return false;
    std::memcpy(value, data.data(), sizeof *value);
    return true;
}

bool flag(uint8_t value) { return value <= 1; }

// Parses a page's number followed by the page. Returns an error text, or nullptr.
const char* take_page(const std::vector<uint8_t>& data, size_t bytes, uint64_t* number) {
    if (data.size() != sizeof *number + kPage) return "page of a wrong size";
    std::memcpy(number, data.data(), sizeof *number);
    return *number >= bytes / kPage ? "page outside the chip's memory" : nullptr;
}

const char* load_page(const std::vector<uint8_t>& data, uint8_t* memory, size_t bytes) {
    uint64_t number;
    if (const char* bad = take_page(data, bytes, &number)) return bad;
    std::memcpy(memory + number * kPage, data.data() + sizeof number, kPage);
    return nullptr;
}

}  // namespace

class Chip::Writer {
   public:
    Writer(Chip::Write write, void* opaque) : write_(write), opaque_(opaque) {}
    void chunk(const Record& record) {
        const ChunkHeader header{record.tag, static_cast<uint32_t>(record.payload.size() + record.more.size())};
        put(bytes_of(header));
        put(record.payload);
        put(record.more);
    }
    template <typename T>
    void chunk(uint32_t tag, const T& value) {
        chunk({tag, 0, bytes_of(value), {}});
    }
    uint64_t bytes() const { return bytes_; }
    bool finish() {
        const uint64_t sum = sum_.value();
        chunk(kEnd, sum);
        return good_;
    }

   private:
    void put(std::span<const uint8_t> bytes) {
        if (bytes.empty()) return;
        sum_.add(bytes.data(), bytes.size());
        bytes_ += bytes.size();
        good_ = good_ && write_(opaque_, bytes.data(), bytes.size());
    }
    Chip::Write write_;
    void* opaque_;
    Sum sum_;
    uint64_t bytes_ = 0;
    bool good_ = true;
};

namespace {

// Visits the pages that contain other bytes than `empty`.
template <typename F>
void for_each_page(uint32_t tag, const uint8_t* data, size_t bytes, F&& visit, uint8_t empty = 0) {
    for (uint64_t number = 0; number < bytes / kPage; number++) {
        const uint8_t* page = data + number * kPage;
        if (page[0] != empty || std::memcmp(page, page + 1, kPage - 1) != 0) visit(page_chunk(tag, number, page));
    }
}

}  // namespace

template <typename F>
void Chip::for_each_counter(F&& visit) {
    Counters& c = counters_;
    for (std::atomic<uint64_t>* counter :
         {&c.packets, &c.call_packets, &c.faults, &c.arms, &c.mmio_reads, &c.mmio_writes, &c.interrupts, &c.mvms,
          &c.macs, &c.vec_elements, &c.copy_bytes, &c.programmed_cells, &c.device_ps, &c.energy_pj, &busy_.chip_total(),
          &c.calibrated_ns, &bus_.errors})
        visit(*counter);
    for (uint32_t i = 0; i < SIDRA_HW_ENGINE_COUNT; i++) visit(busy_.engine_total(i));
    if (Analog* const analog = array_.analog()) {
        Analog::Counters& cells = analog->counters();
        for (std::atomic<uint64_t>* counter :
             {&cells.pulses, &cells.reads, &cells.failed, &cells.clipped, &cells.mended})
            visit(*counter);
    }
}

SavedHead Chip::head(uint32_t version) {
    return {version, array_.xbars(), l3_.size(), array_.nvm().size(), identity_.uuid, level(), 0};
}

bool Chip::save(Write write, void* opaque) {
    settle();
    Precopy& progress = array_.precopy();
    Writer out(write, opaque);
    SavedHead saved = head(kVersion);
    saved.part = progress.parts();
    out.chunk(kHead, saved);
    save_volatile(out);
    save_kept([&](const Record& record) { out.chunk(record); },
              [&](uint32_t xbar, const Put& put) {
                  if (!progress.sent(xbar)) {
                      if (progress.stale(xbar)) out.chunk(kBlank, xbar);
                      save_crossbar(xbar, put);
                  } else if (const Analog* const analog = array_.analog()) {
                      const SavedCounts counts = saved_counts(*analog, xbar);
                      put(counts_chunk(counts));
                  }
              });
    progress.end();
    return out.finish();
}

uint64_t Chip::precopy_pending() {
    if (!array_.precopy().active()) return 0;
    const uint64_t each = kXbarCells + (array_.analog() ? kCellsChunkMax : 0);
    uint64_t bytes = 0;
    for (uint32_t xbar = 0; xbar < array_.xbars(); xbar++)
        if (!array_.precopy().sent(xbar) && array_.holds(xbar)) bytes += each;
    return bytes;
}

bool Chip::precopy(Write write, void* opaque, uint64_t bytes) {
    Precopy& progress = array_.precopy();
    progress.add_part();
    Writer out(write, opaque);
    SavedHead saved = head(kVersion);
    saved.part = progress.parts();
    out.chunk(kPrecopy, saved);
    const uint64_t end = out.bytes() + bytes;
    for (uint32_t i = 0; i < array_.xbars() && out.bytes() < end; i++) {
        const uint32_t xbar = progress.next();
        if (progress.sent(xbar) || !array_.holds(xbar)) continue;
        if (progress.stale(xbar)) out.chunk(kBlank, xbar);
        progress.mark(xbar);
        save_crossbar(xbar, [&](const Record& record) { out.chunk(record); });
    }
    return out.finish();
}

void Chip::save_volatile(Writer& out) {
    const AdminQueue::State admin = admin_.save();
    const Registers::State& registers = registers_.state();
    SavedRegisters r{};
    r.context_table = registers.context_table;
    r.admin_arg = registers.admin_arg;
    r.clock_latch = registers.clock_latch;
    r.telemetry_latch = registers.telemetry_latch;
    r.device_clock = clock_.now_ns();
    r.command_arg = admin.command.arg;
    r.control = registers.control;
    r.scratch = registers.scratch;
    r.admin_status = admin.status;
    r.int_status = interrupts_.status.load();
    r.int_enable = interrupts_.enable.load();
    r.generation = registers_.generation();
    r.command = admin.command.word;
    r.command_pending = admin.pending;
    r.command_begun = admin.begun;
    r.reset_pending = admin.reset;
    r.stop_device = stops_.device.load();
    for (uint32_t i = 0; i < SIDRA_CONTEXTS_MAX; i++) r.stop_context[i] = stops_.context[i].load();
    out.chunk(kRegisters, r);

    SavedCounters counters{};
    for (uint32_t i = 0; i < SIDRA_CONTEXTS_MAX; i++) counters.doorbells[i] = counters_.doorbells[i].count.load();
    size_t used = 0;
    for_each_counter([&](const std::atomic<uint64_t>& counter) { counters.counters[used++] = counter.load(); });
    out.chunk(kCounters, counters);

    for (uint32_t context = 0; context < SIDRA_CONTEXTS_MAX; context++) {
        if (const Context* known = objects_.find_context(context); known && known->loaded.load())
            out.chunk(kContext, SavedContext{context, 0, known->entry});
        for (uint32_t queue = 0; queue < SIDRA_QUEUES_PER_CONTEXT_MAX; queue++) {
            const SavedSlot idle{context, queue, 0, 1, 0, 0, {}};
            SavedSlot s = idle;
            s.arm = arms_.value(slot(context, queue));
            s.priority = static_cast<uint8_t>(scheduler_.priority(context, queue));
            s.stop = stops_.queue[slot(context, queue)].load();
            s.ready = scheduler_.ready(context, queue);
            if (const Queue* q = objects_.find(slot(context, queue))) {
                SavedQueue saved{};
                saved.context = context;
                saved.queue = queue;
                saved.loaded = q->loaded.load();
                saved.recheck = q->recheck.load();
                saved.deferred = q->deferred.load();
                saved.epoch = q->epochs.current();
                saved.timeline = q->epochs.timeline();
                if (saved.loaded) {
                    saved.faulted = q->faulted.load();
                    saved.under_way = q->stage != Queue::Stage::kFetch;
                    saved.entry = q->entry;
                    saved.index = q->index;
                    saved.progress = q->progress;
                    saved.device_ps = q->total.device_ps;
                    saved.energy_pj = q->total.energy_pj;
                    std::copy(std::begin(q->engine_ns), std::end(q->engine_ns), saved.engine_ns);
                    if (saved.under_way) saved.cmd = q->job.cmd;
                    if (q->stage == Queue::Stage::kJob) saved.unit = finished_units(q->job, q->next_unit);
                    if (q->stage == Queue::Stage::kInFlight) {  // its units have run, and were not counted yet
                        const Flight& flight = q->flight;
                        saved.unit = finished_units(q->job, flight.end());
                        saved.fault_cause = flight.fault().cause;
                        saved.fault_address = flight.fault().address;
                        saved.progress += flight.units();
                        saved.engine_ns[flight.work.engine] += flight.work.took_ns;
                    }
                    if (q->stage == Queue::Stage::kLoaded) {
                        saved.unit = q->loaded_unit;
                        saved.products = q->loaded_products;
                        saved.spent_ps = q->loaded_cost.device_ps;
                        saved.spent_pj = q->loaded_cost.energy_pj;
                        saved.fault_cause = q->loaded_fault.cause;
                        saved.fault_address = q->loaded_fault.address;
                    }
                    if (q->has_job() && array_.analog()) {
                        if (q->job.cmd.hdr.opcode == SIDRA_CMD_MVM) saved.products = q->job.mvm.product.products;
                        if (q->job.cmd.hdr.opcode == SIDRA_CMD_LAYER) saved.products = q->job.layer.product.products;
                        saved.spent_ps = q->job.spent_ps.load();
                        saved.spent_pj = q->job.spent_pj.load();
                    }
                    saved.call_active = q->call.active;
                    if (saved.call_active) {
                        saved.call_position = q->call.position;
                        saved.call.call = q->call.cmd;
                        saved.call_device_ps = q->call.cost.device_ps;
                        saved.call_energy_pj = q->call.cost.energy_pj;
                    }
                    // A waiting queue checks its condition again after a load, so the place of the wait is not saved.
                    if (q->stage == Queue::Stage::kWait) s.ready = 1;
                }
                if (saved.loaded || saved.recheck || saved.deferred || saved.epoch) out.chunk(kQueue, saved);
                for (const Epochs::Ending& e : q->epochs.endings())
                    out.chunk(kEpoch, SavedEpoch{context, queue, e.epoch, e.root.queue, e.root.epoch, e.root.cause,
                                                 e.retired, e.root.sequence});
            }
            if (std::memcmp(&s, &idle, sizeof s) != 0) out.chunk(kSlot, s);
        }
    }
    const auto put = [&](const Record& page) { out.chunk(page); };
    for_each_page(kL3, l3_.data(), l3_.size(), put);

    const management::Unit& unit = management_.unit();
    out.chunk(kManagement, SavedManagement{rom_sum(unit), unit.save()});
    out.chunk(kPower, unit.power().save());
    out.chunk(kSequencer, unit.sequencer().save());
    for (uint32_t xbar = 0; xbar < array_.xbars(); xbar++)
        if (const int32_t trim = adcs_.trim(xbar)) out.chunk(kTrim, SavedTrim{xbar, trim});
    std::vector<uint8_t> ram(SIDRA_MGMT_RAM_SIZE);
    unit.core().read(SIDRA_MGMT_RAM, ram);
    for_each_page(kRam, ram.data(), ram.size(), put);
}

void Chip::save_crossbar(uint32_t xbar, const Put& put) {
    if (!array_.holds(xbar)) return;
    SavedCrossbar saved{xbar, 0, {}};
    std::vector<uint8_t> levels(kXbarCells);
    if (array_.image(xbar, &saved.image, levels.data())) put(crossbar_chunk(saved, levels.data()));
    if (const Analog* const analog = array_.analog(); analog && !analog->blank(xbar))
        put(analog_chunk(xbar, cells_chunk(analog->copy(xbar))));
}

void Chip::save_kept(const Put& put, const PutCrossbar& put_crossbar) {
    if (const Analog* const analog = array_.analog()) {
        const uint64_t seed = analog->programmer().seed();
        put(seed_chunk(seed));
        const double now = analog->clock().now(clock_.now_ns());
        put(clock_chunk(now));
    }
    for (uint32_t xbar = 0; xbar < array_.xbars(); xbar++) put_crossbar(xbar, put);
    for (const Array::Stuck& cell : array_.stuck_cells()) put(stuck_chunk(cell));
    array_.updates().save(put);
    for_each_page(kNvm, array_.nvm().data(), array_.nvm().size(), put);
    const std::span<const uint8_t> flash = management_.unit().flash().bytes();
    for_each_page(kFlash, flash.data(), flash.size(), put, management::Flash::kErased);
    const uint32_t least = management_.unit().security_version();
    put(security_chunk(least));
}

// Restores the state after power-on.
void Chip::clear() {
    settle();  // units may still use what is cleared
    admin_.clear();
    objects_.for_each_queue([](Queue& queue) { queue.deferred.store(false); });
    array_.clear();
    management_.clear();
    l3_.clear();
    registers_.load({}, 0);
    clock_.set(0);
    if (Analog* const analog = array_.analog()) analog->clock().set(0, 0);
    for (Counters::Doorbells& doorbells : counters_.doorbells) doorbells.count.store(0);
    for_each_counter([](std::atomic<uint64_t>& counter) { counter.store(0); });
}

bool Chip::load(Read read, void* opaque, std::string* why) {
    if (!load_stream(kHead, read, opaque, why)) return false;
    loaded_parts_ = 0;
    loading_.store(false);
    array_.keep_in(state_file_.get());
    wakeups_.kick();
    return true;
}

bool Chip::load_precopy(Read read, void* opaque, std::string* why) {
    if (!load_stream(kPrecopy, read, opaque, why)) return false;
    loaded_parts_++;
    return true;
}

void Chip::cancel_precopy() {
    array_.precopy().end();
    if (loading_.load()) back_to_state_file();
}

// `head`: of what kind of stream. False: why not, and the chip is as after power-on.
bool Chip::load_stream(uint32_t head, Read read, void* opaque, std::string* why) {
    if (!loading_.exchange(true)) uuid_before_load_ = identity_.uuid;
    array_.keep_in(nullptr);
    bool good = false;
    try {
        good = load_chunks(head, read, opaque, why);
        if (good && head == kHead && state_file_) fill_state_file();
    } catch (const StateFileError& error) {
        good = false;
        *why = error.what();
    } catch (...) {
        back_to_state_file();
        throw;
    }
    if (!good) back_to_state_file();
    return good;
}

bool Chip::load_chunks(uint32_t head, Read read, void* opaque, std::string* why) {
    Sum sum;
    std::vector<uint8_t> data;
    const auto refuse = [&](const char* text) { return *why = text, false; };
    for (bool first = true;; first = false) {
        ChunkHeader header;
        constexpr const char* kEarly = "saved state ends early";
        if (!read(opaque, &header, sizeof header)) return refuse(kEarly);
        if (first != (header.tag == head)) return refuse("not the saved state of a sidra chip");
        if (header.bytes > kChunkMax) return refuse("saved state is damaged: chunk too long");
        data.resize(header.bytes);
        if (header.bytes && !read(opaque, data.data(), data.size())) return refuse(kEarly);
        if (header.tag == kEnd) {
            uint64_t expected;
            if (take(data, &expected) && expected == sum.value()) return true;
            return refuse("saved state is damaged: wrong check sum");
        }
        sum.add(&header, sizeof header);
        sum.add(data.data(), data.size());
        const char* const bad = first                  ? load_stream_head(head, data)
                                : header.tag == kBlank ? load_blank(data)
                                : head == kPrecopy && header.tag != kCrossbar && header.tag != kAnalog
                                    ? "saved state: something else among the cells"
                                    : load_chunk(header.tag, data);
        if (bad) return refuse(bad);
    }
}

// nullptr, or what is wrong with it. A stream that goes on where parts of a precopy have ended finds the chip as these
// have left it, any other one as after power-on.
const char* Chip::load_stream_head(uint32_t tag, const std::vector<uint8_t>& data) {
    SavedHead head;
    if (!take(data, &head)) return "saved state: head of a wrong size";
    const bool goes_on = head.part > (tag == kPrecopy ? 1 : 0);
    if (goes_on && head.part != loaded_parts_ + (tag == kPrecopy ? 1 : 0))
        return "saved state: parts of the cells are missing";
    if (!goes_on) {
        loaded_parts_ = 0;
        clear();
    }
    return load_head(kVersion, data);
}

const char* Chip::load_blank(const std::vector<uint8_t>& data) {
    uint32_t xbar;
    return take(data, &xbar) && array_.forget(xbar) ? nullptr : "saved state: bad crossbar";
}

// The same.
const char* Chip::load_head(uint32_t version, const std::vector<uint8_t>& data) {
    SavedHead head;
    if (!take(data, &head)) return "saved state: head of a wrong size";
    if (head.version != version) return "saved state of another version of the model";
    if (head.xbars != array_.xbars() || head.l3_size != l3_.size() || head.nvm_size != array_.nvm().size())
        return "saved state of another profile";
    if (head.level != level() || (version == kCellsVersion && head.part))
        return "saved state of another level of the model";
    identity_.uuid = head.uuid;
    const std::span<uint8_t> flash = management_.unit().flash().bytes();
    std::memset(flash.data(), management::Flash::kErased, flash.size());
    return nullptr;
}

// The same.
const char* Chip::load_chunk(uint32_t tag, const std::vector<uint8_t>& data) {
    switch (tag) {
        case kRegisters: {
            SavedRegisters r;
            if (!take(data, &r) || r.reserved || r.reserved0 || !flag(r.command_pending) || !flag(r.command_begun) ||
                !flag(r.reset_pending) || !flag(r.stop_device))
                return "saved state: bad registers";
            if (!admin_.load({r.admin_status,
                              {r.command, r.command_arg},
                              r.command_pending != 0,
                              r.command_begun != 0,
                              r.reset_pending != 0}))
                return "saved state: bad admin command";
            if (!registers_.load({r.context_table, r.admin_arg, r.control, r.scratch, r.clock_latch, r.telemetry_latch},
                                 r.generation))
                return "saved state: bad registers";
            clock_.set(r.device_clock);
            interrupts_.status.store(r.int_status);
            interrupts_.enable.store(r.int_enable);
            stops_.device.store(r.stop_device);
            for (uint32_t i = 0; i < SIDRA_CONTEXTS_MAX; i++)
                stops_.context[i].store(r.stop_context[i] & (Stops::kAsked | Stops::kHeld));
            return nullptr;
        }
        case kCounters: {
            SavedCounters saved;
            if (!take(data, &saved)) return "saved state: bad counters";
            for (uint32_t i = 0; i < SIDRA_CONTEXTS_MAX; i++) counters_.doorbells[i].count.store(saved.doorbells[i]);
            size_t used = 0;
            for_each_counter([&](std::atomic<uint64_t>& counter) { counter.store(saved.counters[used++]); });
            return nullptr;
        }
        case kSlot: {
            SavedSlot s;
            if (!take(data, &s) || s.context >= SIDRA_CONTEXTS_MAX || s.queue >= SIDRA_QUEUES_PER_CONTEXT_MAX ||
                s.priority >= SIDRA_PRIORITIES || !flag(s.stop) || !flag(s.ready))
                return "saved state: bad queue slot";
            arms_.set(slot(s.context, s.queue), s.arm);
            stops_.queue[slot(s.context, s.queue)].store(s.stop);
            scheduler_.set_priority(s.context, s.queue, s.priority);
            if (s.ready) scheduler_.mark_ready(s.context, s.queue);
            return nullptr;
        }
        case kContext: {
            SavedContext saved;
            if (!take(data, &saved) || saved.id >= SIDRA_CONTEXTS_MAX || !well_formed(saved.entry))
                return "saved state: bad context";
            Context& context = objects_.queue(saved.id, 0).context;
            context.entry = saved.entry;
            context.loaded.store(true);
            return nullptr;
        }
        case kQueue: {
            SavedQueue q;
            if (!take(data, &q) || q.context >= SIDRA_CONTEXTS_MAX || q.queue >= SIDRA_QUEUES_PER_CONTEXT_MAX ||
                !flag(q.loaded) || !flag(q.recheck) || !flag(q.deferred) || !flag(q.faulted) || !flag(q.under_way) ||
                !flag(q.call_active))
                return "saved state: bad queue";
            Queue& queue = objects_.queue(q.context, q.queue);
            if (queue.loaded.load()) return "saved state: a queue comes twice";
            queue.recheck.store(q.recheck);
            queue.deferred.store(q.deferred);
            if (!q.loaded) {
                if (q.epoch) queue.epochs.begin(q.epoch, q.timeline, q.queue);
                return nullptr;
            }
            const sidra_cmd_call& call = q.call.call;
            if (!well_formed(q.entry) || (q.under_way && q.faulted) || q.epoch != q.entry.epoch ||
                q.fault_cause >= SIDRA_FAULT_COUNT || q.fault_cause == SIDRA_FAULT_PRODUCER ||
                (q.fault_cause != SIDRA_FAULT_NONE && !q.under_way) || !CellClock::is_time(q.products.now))
                return "saved state: bad queue entry";
            if (q.call_active && (call.count == 0 || call.count > SIDRA_CMD_CALL_MAX || q.call_position >= call.count ||
                                  call.addr % SIDRA_CMD_SIZE ||
                                  !Range(Space::kDevice, call.addr, uint64_t{call.count} * SIDRA_CMD_SIZE).valid()))
                return "saved state: bad CALL";
            if (!loader_.count_queue()) return "saved state: too many queues";
            queue.rewind(q.entry);
            queue.faulted.store(q.faulted);
            queue.epochs.publish(q.timeline);
            queue.index = q.index;
            queue.progress = q.progress;
            queue.total = {q.device_ps, q.energy_pj};
            std::copy(std::begin(q.engine_ns), std::end(q.engine_ns), queue.engine_ns);
            queue.stage = q.under_way ? Queue::Stage::kLoaded : Queue::Stage::kFetch;
            queue.job.cmd = q.cmd;
            queue.loaded_unit = q.unit;
            queue.loaded_products = q.products;
            queue.loaded_cost = {q.spent_ps, q.spent_pj};
            queue.loaded_fault = {q.fault_cause, q.fault_address};
            if (q.call_active) queue.call = {true, call, q.call_position, {q.call_device_ps, q.call_energy_pj}};
            queue.loaded.store(true);
            return nullptr;
        }
        case kEpoch: {
            SavedEpoch saved;
            if (!take(data, &saved) || saved.context >= SIDRA_CONTEXTS_MAX ||
                saved.queue >= SIDRA_QUEUES_PER_CONTEXT_MAX || saved.epoch == 0 ||
                saved.root_queue >= SIDRA_QUEUES_PER_CONTEXT_MAX || saved.root_cause >= SIDRA_FAULT_COUNT)
                return "saved state: bad epoch";
            const Root root{saved.root_sequence, saved.root_queue, saved.root_epoch,
                            static_cast<uint16_t>(saved.root_cause)};
            if (!objects_.queue(saved.context, saved.queue).epochs.restore({saved.epoch, saved.retired, root}))
                return "saved state: an epoch comes twice, or too many do";
            return nullptr;
        }
        case kCrossbar: {
            SavedCrossbar saved;
            if (data.size() < sizeof saved) return "saved state: bad crossbar";
            std::memcpy(&saved, data.data(), sizeof saved);
            if (data.size() != sizeof saved + (saved.image.uid ? kXbarCells : 0) ||
                !array_.restore(saved.xbar, saved.image, data.data() + sizeof saved))
                return "saved state: bad crossbar";
            return nullptr;
        }
        case kSeed: {
            uint64_t seed;
            if (!array_.analog() || !take(data, &seed)) return "saved state: bad seed";
            array_.analog()->programmer().reseed(seed);
            return nullptr;
        }
        case kAnalog: {
            CrossbarCells content;
            if (!array_.analog() || !parse_cells_chunk(data, &content) || !array_.analog()->restore(content))
                return "saved state: bad cells";
            return nullptr;
        }
        case kCounts: {
            // Files of models before 1.2 have no ranges.
            constexpr size_t kBefore = offsetof(SavedCounts, range);
            SavedCounts counts{};
            if (!array_.analog() || (data.size() != kBefore && data.size() != sizeof counts))
                return "saved state: bad counts of cells";
            std::memcpy(&counts, data.data(), data.size());
            if (!array_.analog()->set_counts(
                    counts.xbar, {counts.checks, counts.range, counts.products, counts.clipped}, counts.programs))
                return "saved state: bad counts of cells";
            return nullptr;
        }
        case kCellClock: {
            double now;
            if (!array_.analog() || !take(data, &now) || !array_.analog()->clock().set(now, clock_.now_ns()))
                return "saved state: bad age of cells";
            return nullptr;
        }
        case kStuck: {
            Array::Stuck cell;
            if (!take(data, &cell) || cell.xbar >= array_.xbars() || cell.row >= SIDRA_XBAR_ROWS ||
                cell.column >= SIDRA_XBAR_COLS || cell.level > 255)
                return "saved state: bad stuck cell";
            array_.set_stuck(cell.xbar, cell.row, cell.column, static_cast<uint8_t>(cell.level));
            return nullptr;
        }
        case kUpdate: {
            SavedUpdate saved;
            if (!take(data, &saved) || !array_.updates().load(saved)) return "saved state: bad update";
            return nullptr;
        }
        case kNvm:
            return load_page(data, array_.nvm().data(), array_.nvm().size());
        case kL3:
            return load_page(data, l3_.data(), l3_.size());
        case kManagement: {
            SavedManagement saved;
            management::Unit& unit = management_.unit();
            if (!take(data, &saved) || !unit.load(saved.unit)) return "saved state: bad management core";
            if (saved.rom != rom_sum(unit)) unit.restart(SIDRA_BOOT_RESET);
            return nullptr;
        }
        case kPower: {
            management::Power::Saved saved;
            if (!take(data, &saved) || !management_.unit().power().load_saved(saved))
                return "saved state: bad sensors or clock";
            return nullptr;
        }
        case kSequencer: {
            management::Sequencer::Saved saved;
            if (!take(data, &saved) || !management_.unit().sequencer().load(saved)) return "saved state: bad sequencer";
            return nullptr;
        }
        case kTrim: {
            SavedTrim saved;
            if (!take(data, &saved) || !adcs_.set_trim(saved.xbar, saved.trim)) return "saved state: bad trim of ADCs";
            return nullptr;
        }
        case kRam: {
            uint64_t number;
            if (const char* bad = take_page(data, SIDRA_MGMT_RAM_SIZE, &number)) return bad;
            management_.unit().core().write(SIDRA_MGMT_RAM + static_cast<uint32_t>(number) * kPage,
                                            std::span(data).subspan(sizeof number));
            return nullptr;
        }
        case kFlash: {
            const std::span<uint8_t> flash = management_.unit().flash().bytes();
            return load_page(data, flash.data(), flash.size());
        }
        case kSecurity: {
            uint32_t least;
            if (!take(data, &least)) return "saved state: bad security version";
            management_.unit().raise_security_version(least);
            return nullptr;
        }
        default:
            return "saved state of a newer version of the model: unknown chunk";
    }
}

}  // namespace sidra::chip
