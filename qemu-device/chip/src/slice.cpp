// SPDX-License-Identifier: MIT
#include "slice.h"

#include <algorithm>
#include <atomic>
#include <cassert>
#include <cstring>
#include <new>

#include "preparation.h"
#include "product.h"
#include "sidra_cmd.h"

#if defined(__SANITIZE_THREAD__)
#define SIDRA_RACY __attribute__((no_sanitize("thread"), noinline))
#elif defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define SIDRA_RACY __attribute__((no_sanitize("thread"), noinline))
#endif
#endif
#ifndef SIDRA_RACY
#define SIDRA_RACY inline
#endif

namespace sidra::chip {
namespace {

constexpr uint64_t kTurnWork = 400'000;  // length of a turn: estimated ns of each thread
constexpr uint64_t kTurnsMax = 10;       // turns of a queue that is alone, before the thread is returned to its lender
constexpr uint64_t kPacketWork = 10;     // cost of an empty packet
constexpr uint64_t kUnitStart = 300;     // fixed cost of a unit: mapping and unmapping its operands
constexpr uint64_t kParallelWork = 20'000;  // jobs shorter than this are not worth waking helpers
constexpr uint64_t kPublishWork = 2'000;    // a finished job of this size is published at once
constexpr uint64_t kPublishPackets = 64;    // at most this many packets wait for publication

// Unique in the process. A thread takes many at once, because an atomic addition takes a tenth of a small packet.
uint64_t next_serial() {
    constexpr uint64_t kBlock = 1u << 16;
    static std::atomic<uint64_t> taken{0};
    static thread_local uint64_t last = 0;
    if (last % kBlock == 0) last = taken.fetch_add(kBlock, std::memory_order_relaxed);
    return ++last;
}

// An application may rewrite its ring while the chip reads it. The result may be a mix, but it is read only once, and
// the checks apply to the copy.
SIDRA_RACY void copy_packet(sidra_cmd& to, const uint8_t* from) {
    using Word = uint64_t __attribute__((may_alias));
    const auto* words = reinterpret_cast<const Word*>(from);
    for (int i = 0; i < 8; i++) to.raw[i] = words[i];
}

void add(std::atomic<uint64_t>& counter, uint64_t value) {
    if (value) counter.fetch_add(value, std::memory_order_relaxed);
}

template <typename... T>
bool all_zero(T... values) {
    return ((values == 0) && ...);
}

}  // namespace

Slice::Slice(SliceHost& host, Queue& queue, const Lender& lender)
    : host_(host),
      chip_(host.parts),
      queue_(queue),
      lender_(lender),
      tlb_(this_tlb()),
      turn_work_(kTurnWork * chip_.engine.can().threads),
      turn_end_(turn_work_),
      space_(queue.context.space()),
      at_(memory_of(queue.entry)),
      memory_(chip_.bus, tlb_, space_),
      state_memory_(chip_.bus, tlb_, space_),
      ring_(chip_.bus, tlb_, space_, Access::kRead),
      recorded_(chip_.bus, tlb_, space_, Access::kRead),
      reports_(chip_.bus, tlb_, space_, Access::kWrite),
      programs_(chip_.bus, tlb_, space_, Access::kRead),
      tables_(chip_.bus, tlb_, space_, Access::kRead),
      pages_(chip_.bus, tlb_, space_),
      env_{chip_.bus, queue.context, space_,     chip_.array, chip_.adcs, chip_.engine, chip_.knobs, 0,
           0,         nullptr,       &programs_, &tables_,    &pages_} {}

Slice::~Slice() {
    account();
    if (queue_.has_job()) return;
    release_readouts();
    queue_.job.own_weights.reset();
    queue_.job.shared_preparation.reset();
}

// Adds the work since the last call to the telemetry.
void Slice::account() {
    auto& counters = chip_.counters;
    add(counters.packets, packets_);
    add(counters.call_packets, call_packets_);
    add(counters.device_ps, cost_.device_ps);
    add(counters.energy_pj, cost_.energy_pj);
    packets_ = call_packets_ = 0;
    cost_ = {};
    if (!engine_) return;
    account_work();
    work_on(std::nullopt);
    show_engine_time();
}

void Slice::account_work() {
    auto& counters = chip_.counters;
    add(counters.mvms, done_.mvms);
    add(counters.macs, done_.macs);
    add(counters.vec_elements, done_.vec_elements);
    add(counters.copy_bytes, done_.copy_bytes);
    add(counters.programmed_cells, done_.programmed_cells);
    done_ = {};
}

void Slice::show_engine_time() {
    for (uint32_t i = 0; i < SIDRA_HW_ENGINE_COUNT; i++) {
        if (engine_ns_[i] == 0) continue;
        queue_.engine_ns[i] += engine_ns_[i];
        if (state_) __atomic_store_n(&state_->engine_ns[i], queue_.engine_ns[i], __ATOMIC_RELAXED);
        engine_ns_[i] = 0;
    }
}

// The clock is read only where the engine changes.
void Slice::work_on(std::optional<sidra_hw_engine> engine) {
    if (engine == engine_) return;
    const uint64_t now = chip_.busy.change(engine_, engine);
    if (engine_) engine_ns_[*engine_] += now - engine_since_;
    engine_since_ = now;
    engine_ = engine;
}

bool Slice::open() {
    Fault fault;
    uint8_t* page = state_memory_.map_all(at_.state, Access::kWrite, &fault);
    if (page) state_ = reinterpret_cast<sidra_queue_state*>(page);
    return page != nullptr;
}

// Stops a queue whose state page is not accessible, so that the fault cannot be reported there.
Slice::Step Slice::stop_untold() {
    state_ = nullptr;  // it may still be mapped
    queue_.faulted.store(true);
    queue_.stage = Queue::Stage::kFetch;
    end_epoch({queue_.index, queue_.id, queue_.entry.epoch, SIDRA_FAULT_BUS});
    host_.interrupt(SIDRA_INT_FAULT);
    return Step::kFault;
}

Slice::Outcome Slice::run() {
    if (queue_.faulted.load(std::memory_order_relaxed)) return Outcome::kIdle;
    if (!open()) {
        stop_untold();
        return Outcome::kIdle;
    }
    // A queue that was saved while it was parked may not be parked any more.
    if (!queue_.parked) __atomic_store_n(&state_->parked, 0u, __ATOMIC_RELAXED);
    write_index_ = queue_.index;
    bool resumed = true;
    for (;;) {
        const Step result = go_on(resumed);
        resumed = false;
        if (result == Step::kRetired || result == Step::kYield) {
            if (unpublished_work_ >= kPublishWork || unpublished_packets_ >= kPublishPackets) publish();
            if (work_ < turn_end_ || next_turn()) continue;
            publish();
            host_.check_arm(queue_);
            return Outcome::kMore;
        }
        if (result == Step::kInFlight) {
            publish();
            host_.check_arm(queue_);
            return Outcome::kInFlight;
        }
        if (result != Step::kFault && (unpublished_packets_ || result != Step::kEmpty)) publish();
        host_.check_arm(queue_);  // may have been armed before the queue was loaded
        return Outcome::kIdle;
    }
}

Slice::Step Slice::go_on(bool resumed) {
    try {
        if (queue_.parked && queue_.stage != Queue::Stage::kWait) parked_leave();
        switch (queue_.stage) {
            case Queue::Stage::kJob:
                return run_job(environment(), resumed);
            case Queue::Stage::kInFlight:
                return landed();
            case Queue::Stage::kWait:
                return semaphore_wait();
            case Queue::Stage::kLoaded:
                return loaded();
            default:
                return step();
        }
    } catch (const std::bad_alloc&) {
        return fault({kNoMemory});
    }
}

// While no other queue waits, a queue continues in the same slice: rescheduling it costs tens of microseconds.
bool Slice::next_turn() {
    if (turn_end_ >= kTurnsMax * turn_work_ || !host_.may_go_on(queue_)) return false;
    publish();  // the lender of the thread may be waiting for this
    if (lender_.wants_it_back()) return false;
    turn_begin_ = work_;
    turn_end_ += turn_work_;
    return true;
}

// Fetches and starts the next packet.
Slice::Step Slice::step() {
    bool empty = false;
    if (Fault f = fetch(&empty)) return fault(f);
    if (empty) return Step::kEmpty;
    if (chip_.knobs.corrupts_fetch()) return fault({SIDRA_FAULT_FETCH});
    return execute();
}

Fault Slice::fetch(bool* empty) {
    const auto copy_in = [this](PageWindow& window, const Range& packet) -> Fault {
        sidra_cmd& cmd = queue_.job.cmd;
        Fault fault;
        const uint8_t* const from = window.at(packet, &fault);
        if (from) copy_packet(cmd, from);
        else std::memset(&cmd, 0, sizeof cmd);
        return fault;
    };
    if (const auto& call = queue_.call; call.active) {
        const Range packets(Space::kDevice, call.cmd.addr, uint64_t{call.cmd.count} * SIDRA_CMD_SIZE);
        return copy_in(recorded_, packets.part(uint64_t{call.position} * SIDRA_CMD_SIZE, SIDRA_CMD_SIZE));
    }

    const uint64_t entries = at_.ring.length() / SIDRA_CMD_SIZE;
    if (queue_.index >= write_index_) {  // according to the last read
        std::memset(&queue_.job.cmd, 0, sizeof queue_.job.cmd);
        uint64_t written;
        if (Fault fault = memory_.load64(at_.write_index, &written)) return fault;
        if (written == queue_.index) {
            *empty = true;
            return {};
        }
        if (written < queue_.index || written - queue_.index > entries) return {SIDRA_FAULT_RING, written};
        write_index_ = written;
    }
    return copy_in(ring_, at_.ring.part((queue_.index & (entries - 1)) * SIDRA_CMD_SIZE, SIDRA_CMD_SIZE));
}

// The packet that was in progress when the chip was saved is checked and prepared like a new one.
Slice::Step Slice::loaded() { return queue_.loaded_fault ? fault(queue_.loaded_fault) : execute(); }

// As it is for the packet at hand.
const Env& Slice::environment(const Products* loaded) {
    if (chip_.array.analog()) env_.now = host_.cells_now();
    env_.clock_level = chip_.management.clock_level();
    env_.loaded = loaded;
    return env_;
}

Slice::Step Slice::execute() {
    const sidra_cmd& c = cmd();
    const bool was_loaded = queue_.stage == Queue::Stage::kLoaded;
    queue_.stage = Queue::Stage::kFetch;
    switch (c.hdr.opcode) {
        case SIDRA_CMD_NOP:
        case SIDRA_CMD_BARRIER: {
            const uint64_t* r = c.nop.reserved;
            if (c.hdr.flags | c.hdr.pad || (r[0] | r[1] | r[2] | r[3] | r[4] | r[5] | r[6]))
                return fault({SIDRA_FAULT_FIELD});
            const bool barrier = c.hdr.opcode == SIDRA_CMD_BARRIER;
            retire(packet_cost(chip_.management.clock_level()));
            if (barrier) publish();
            return Step::kRetired;
        }
        case SIDRA_CMD_SEM_WAIT:
            return semaphore_wait();
        case SIDRA_CMD_SEM_SIGNAL:
            if (Fault f = semaphore_signal()) return fault(f);
            work_ += kPieceNs;
            retire(packet_cost(chip_.management.clock_level()));
            return Step::kRetired;
        case SIDRA_CMD_TIMESTAMP:
            if (Fault f = timestamp()) return fault(f);
            work_ += kPieceNs;
            retire(packet_cost(chip_.management.clock_level()));
            return Step::kRetired;
        case SIDRA_CMD_CALL:
            if (Fault f = call()) return fault(f);
            return Step::kRetired;  // its packets follow
        case SIDRA_CMD_LABEL:
            if (Fault f = label()) return fault(f);
            retire({});
            return Step::kRetired;
        default:
            break;
    }
    Job& job = queue_.job;
    job.operation = operation(c.hdr.opcode);
    if (!job.operation) return fault({SIDRA_FAULT_OPCODE, c.hdr.opcode});
    job.serial = next_serial();
    job.cost = {};
    const Cost spent = was_loaded ? queue_.loaded_cost : Cost{};
    job.spent_ps.store(spent.device_ps, std::memory_order_relaxed);
    job.spent_pj.store(spent.energy_pj, std::memory_order_relaxed);
    job.work = {};
    job.serial_units = false;
    assert(!job.readouts.held());
    job.makes = job.done = 0;
    job.preparation = nullptr;
    job.weights_shape = {};
    const Env& env = environment(was_loaded ? &queue_.loaded_products : nullptr);
    if (Fault f = job.operation->prepare(env, job)) return fault(f);
    if (!fits(job.unit_load)) return fault({SIDRA_FAULT_LIMIT});
    // Readouts may become units of a product, too.
    const bool divided = job.units > 1 || (env.array.analog() && product_of(job));
    if (job.preparation && (divided || chip_.engine.can().later)) job.shared_preparation = job.preparation->share();
    // After a load the job continues where it was saved. The units of an MVM depend on the engine, so all of them are
    // repeated, with the same result.
    const uint32_t done = was_loaded && c.hdr.opcode != SIDRA_CMD_MVM ? queue_.loaded_unit : 0;
    queue_.next_unit = done > job.units ? 0 : done;
    queue_.stage = Queue::Stage::kJob;
    const Step step = run_job(env, false);
    // Without readouts it has not begun, and is prepared again.
    if (step == Step::kParked) queue_.stage = was_loaded ? Queue::Stage::kLoaded : Queue::Stage::kFetch;
    return step;
}

Slice::Step Slice::run_job(const Env& env, bool resumed) {
    Job& job = queue_.job;
    work_on(job.operation->engine);
    if (resumed && job.operation->resume)
        if (Fault f = job.operation->resume(env, job)) return fault(f);
    if (env.array.analog() && product_of(job))
        if (const auto step = take_readouts(env)) return *step;

    const uint32_t first = queue_.next_unit;
    const bool makes = first < job.makes;  // products need all of what these units make
    uint32_t end = makes ? job.makes : job.units;
    const bool serial = job.serial_units && !makes;
    const uint64_t estimate = makes ? Analog::kTileNs : job.unit_work, unit_work = estimate + kUnitStart;
    if (end - first > 1) {
        // Where a job is divided, its threads wait for each other. So one that fits into a turn is not.
        const uint64_t left = work_ < turn_end_ ? turn_end_ - work_ : 0;
        const uint64_t threads = chip_.engine.can().threads;
        const uint64_t shares = std::max<uint64_t>(left / unit_work / threads, 1);
        if (threads == 1 || serial || end - first > turn_work_ / unit_work)
            end = static_cast<uint32_t>(std::min<uint64_t>(end, first + shares * threads));
    }
    const bool parallel = end - first > 1 && !serial && (end - first) * estimate >= kParallelWork;
    work_ += (end - first) * unit_work;
    const Flight::Progress progress{job.units > 1 ? &state_->progress : nullptr,
                                    at_.state.part(offsetof(sidra_queue_state, progress), sizeof(uint64_t))};
    if (!queue_.flight.start(host_, env, job, first, end, parallel, progress)) return take_off();
    return finish_units(env);
}

// The slice ends, and the chip works on for the queue.
Slice::Step Slice::take_off() {
    queue_.stage = Queue::Stage::kInFlight;
    queue_.flight.work = {*engine_, engine_since_, 0};
    account_work();
    show_engine_time();
    engine_.reset();
    return Step::kInFlight;
}

// In another slice, when units have run.
Slice::Step Slice::landed() {
    Job& job = queue_.job;
    queue_.stage = Queue::Stage::kJob;
    const Env& env = environment();
    work_on(job.operation->engine);
    engine_ns_[queue_.flight.work.engine] += queue_.flight.work.took_ns;
    if (job.operation->resume)
        if (Fault f = job.operation->resume(env, job)) return fault(f);
    return finish_units(env);
}

// Of a job with products at level `accurate`. Or lets others take theirs, and returns what ends the slice.
std::optional<Slice::Step> Slice::take_readouts(const Env& env) {
    Job& job = queue_.job;
    if (job.readouts.held()) {
        if (!readouts_are_due(env, job, queue_.next_unit)) return {};
        give_back_readouts(job, &queue_.next_unit);
        wake_for_readouts();
        work_ = std::max(work_, turn_end_);
        return Step::kYield;
    }
    // Also if it fails: else a queue that tries often would have the chip to itself.
    work_ += kUnitStart + product_of(job)->weights->xbars.size() * Analog::kShareNs;
    if (chip::take_readouts(env, job, &queue_.next_unit)) return {};
    park(kReadoutsKey);
    std::atomic_thread_fence(std::memory_order_seq_cst);     // parked before others' readouts are looked at
    if (chip::take_readouts(env, job, &queue_.next_unit)) {  // given back in between
        parked_leave();
        return {};
    }
    __atomic_store_n(&state_->parked, 1u, __ATOMIC_RELAXED);
    return Step::kParked;
}

void Slice::release_readouts() {
    if (!queue_.job.readouts.held()) return;
    queue_.job.readouts = {};
    wake_for_readouts();
}

void Slice::wake_for_readouts() {
    std::atomic_thread_fence(std::memory_order_seq_cst);  // given back before it is seen who is parked
    if (chip_.parked.any()) host_.wake_parked(kReadoutsKey);
}

Slice::Step Slice::finish_units(const Env& env) {
    Job& job = queue_.job;
    const Flight& flight = queue_.flight;
    queue_.progress += flight.units();
    queue_.next_unit = flight.end();
    if (flight.end() == job.makes) queue_.next_unit += job.done;
    if (flight.fault()) return fault(flight.fault());
    if (queue_.next_unit < job.units) return Step::kYield;
    if (job.operation->finish)
        if (Fault f = job.operation->finish(env, job)) return fault(f);

    release_readouts();
    queue_.stage = Queue::Stage::kFetch;
    done_.mvms += job.work.mvms;
    done_.macs += job.work.macs;
    done_.vec_elements += job.work.vec_elements;
    done_.copy_bytes += job.work.copy_bytes;
    done_.programmed_cells += job.work.programmed_cells;
    unpublished_work_ += flight.units() * job.unit_work;
    Cost cost = packet_cost(chip_.management.clock_level());
    cost += job.cost;
    cost += {job.spent_ps.load(std::memory_order_relaxed), job.spent_pj.load(std::memory_order_relaxed)};
    retire(cost);
    return Step::kRetired;
}

Fault Slice::timeline_satisfied(const sidra_cmd_sem& wait, bool* satisfied, Address* key) {
    using State = Epochs::State;
    Context& context = queue_.context;
    const uint32_t count = context.entry.queue_count;
    if (wait.queue >= count) return {SIDRA_FAULT_PEER, wait.queue};
    *key = timeline_key(context.id, wait.queue);
    Queue& peer = chip_.objects.queue(context.id, wait.queue);
    State state = peer.epochs.look(wait.epoch, wait.value, &producer_);
    if (state == State::kUnknown) {
        // The chip may not have loaded that epoch yet. If the entry is not valid, the driver is about to publish or to
        // reset it, and will ring the doorbell. The history is searched again after the entry was read: an epoch that
        // was in the entry, and is not in the history afterwards, has not ended.
        sidra_hw_queue entry;
        const bool named =
            chip_.bus.read_entry(table_at<sidra_hw_queue>(context.entry.queue_table, count), wait.queue, &entry) &&
            entry.epoch == wait.epoch;
        state = peer.epochs.look(wait.epoch, wait.value, &producer_);
        if (state == State::kUnknown && named) {
            const bool reached = well_formed(entry) && entry.start_index >= wait.value;
            state = reached ? State::kReached : State::kPending;
        }
    }
    if (state == State::kUnknown) return {SIDRA_FAULT_PEER, wait.queue};
    if (state == State::kFailed) return {SIDRA_FAULT_PRODUCER, wait.value};
    *satisfied = state == State::kReached;
    return {};
}

Fault Slice::semaphore_satisfied(const sidra_cmd_sem& wait, bool* satisfied, Address* key) {
    if (wait.hdr.flags & SIDRA_CMD_SEM_QUEUE) return timeline_satisfied(wait, satisfied, key);
    const Range word(Space::kDevice, wait.addr, sizeof(uint64_t));
    Range found;
    if (Fault fault = memory_.find_word(word, Access::kRead, &found)) return fault;
    *key = found.address();
    uint64_t value;
    if (Fault fault = memory_.load64(word, &value)) return fault;
    *satisfied = value >= wait.value;
    return {};
}

Slice::Step Slice::semaphore_wait() {
    const sidra_cmd_sem& wait = cmd().sem;
    const bool woken = queue_.stage == Queue::Stage::kWait;  // by the word or by the doorbell
    if (woken) {
        parked_leave();
    } else {
        if (kernel()) return fault({SIDRA_FAULT_NOT_ALLOWED});
        const bool peer = wait.hdr.flags & SIDRA_CMD_SEM_QUEUE;
        if ((wait.hdr.flags & ~SIDRA_CMD_SEM_QUEUE) || wait.hdr.pad ||
            !all_zero(wait.reserved[0], wait.reserved[1], wait.reserved[2], wait.reserved[3]) ||
            (peer ? wait.addr != 0 || wait.epoch == 0 : wait.queue != 0 || wait.epoch != 0))
            return fault({SIDRA_FAULT_FIELD});
        if (wait.addr % 8) return fault({SIDRA_FAULT_ALIGNMENT, wait.addr});
        if (!Range(Space::kDevice, wait.addr, 8).valid()) return fault({SIDRA_FAULT_LIMIT, wait.addr});
    }
    bool satisfied = false;
    Address key{};
    Fault f = semaphore_satisfied(wait, &satisfied, &key);
    if (!f && !satisfied) {
        park(key);
        if (!woken && !(wait.hdr.flags & SIDRA_CMD_SEM_QUEUE)) queue_.word.store(wait.addr);
        f = semaphore_satisfied(wait, &satisfied, &key);
        if (!f && !satisfied && !(queue_.word.load() & Queue::kUnmapped)) {
            queue_.stage = Queue::Stage::kWait;
            __atomic_store_n(&state_->parked, 1u, __ATOMIC_RELAXED);
            return Step::kParked;
        }
        parked_leave();
    }
    // QUIESCE_RANGE has found the word until now. So if it was read from the next page at that address, this shows.
    if (queue_.word.exchange(Queue::kNoWord) & Queue::kUnmapped) return fault({SIDRA_FAULT_TRANSLATION, wait.addr});
    if (f) return fault(f);
    queue_.stage = Queue::Stage::kFetch;
    if (chip_.trace) [[unlikely]]
        chip_.trace->wait(traced(), key);
    work_ += kPieceNs;
    retire(packet_cost(chip_.management.clock_level()));
    return Step::kRetired;
}

void Slice::park(const Address& key) {
    chip_.parked.enter(key, &queue_, queue_.epoch);
    queue_.park_key = key;
    queue_.parked = true;
}

void Slice::parked_leave() {
    chip_.parked.leave(queue_.park_key, &queue_);
    queue_.parked = false;
    __atomic_store_n(&state_->parked, 0u, __ATOMIC_RELAXED);
}

Fault Slice::semaphore_signal() {
    const sidra_cmd_sem& signal = cmd().sem;
    if (kernel()) return {SIDRA_FAULT_NOT_ALLOWED};
    if (signal.hdr.flags || signal.hdr.pad || signal.queue || signal.epoch ||
        !all_zero(signal.reserved[0], signal.reserved[1], signal.reserved[2], signal.reserved[3]))
        return {SIDRA_FAULT_FIELD};
    if (signal.addr % 8) return {SIDRA_FAULT_ALIGNMENT, signal.addr};
    const Range word(Space::kDevice, signal.addr, sizeof(uint64_t));
    if (!word.valid()) return {SIDRA_FAULT_LIMIT, signal.addr};
    Range found;
    if (Fault fault = memory_.find_word(word, Access::kWrite, &found)) return fault;
    if (chip_.trace) [[unlikely]] {
        const Cost cost = packet_cost(chip_.management.clock_level());
        if (Fault fault = chip_.trace->signal(traced(), found.address(), cost, memory_, word)) return fault;
    } else if (Fault fault = memory_.max64(word, signal.value)) {
        return fault;
    }
    std::atomic_thread_fence(std::memory_order_seq_cst);
    if (chip_.parked.any()) host_.wake_parked(found.address());
    return {};
}

Fault Slice::timestamp() {
    const sidra_cmd_timestamp& t = cmd().timestamp;
    if (t.hdr.flags || t.hdr.pad ||
        !all_zero(t.reserved[0], t.reserved[1], t.reserved[2], t.reserved[3], t.reserved[4], t.reserved[5]))
        return {SIDRA_FAULT_FIELD};
    if (t.addr % 8) return {SIDRA_FAULT_ALIGNMENT, t.addr};
    const Range to(Space::kDevice, t.addr, sizeof(sidra_timestamp));
    if (!to.valid()) return {SIDRA_FAULT_LIMIT, t.addr};
    Cost total = queue_.total;
    total += queue_.call.cost;
    const sidra_timestamp stamp{host_.clock_ns(), total.device_ps, total.energy_pj, queue_.index};
    return memory_.write(to, &stamp);
}

Fault Slice::call() {
    const sidra_cmd_call& c = cmd().call;
    if (queue_.call.active) return {SIDRA_FAULT_CALL};
    if (c.hdr.flags || c.hdr.pad || c.pad ||
        !all_zero(c.reserved[0], c.reserved[1], c.reserved[2], c.reserved[3], c.reserved[4]))
        return {SIDRA_FAULT_FIELD};
    if (c.count == 0) return {SIDRA_FAULT_FIELD};
    if (c.count > SIDRA_CMD_CALL_MAX) return {SIDRA_FAULT_LIMIT, c.count};
    if (c.addr % SIDRA_CMD_SIZE) return {SIDRA_FAULT_ALIGNMENT, c.addr};
    if (!Range(Space::kDevice, c.addr, uint64_t{c.count} * SIDRA_CMD_SIZE).valid()) return {SIDRA_FAULT_LIMIT, c.addr};
    queue_.call = {true, c, 0, {}};
    return {};
}

Fault Slice::label() {
    const sidra_cmd_label& c = cmd().label;
    const bool weights = c.flags & SIDRA_CMD_LABEL_WEIGHTS;
    if ((c.flags & ~SIDRA_CMD_LABEL_WEIGHTS) || (!weights && c.weights)) return {SIDRA_FAULT_FIELD};
    const char* const end = std::find(std::begin(c.text), std::end(c.text), '\0');
    if (std::any_of(end, std::end(c.text), [](char byte) { return byte != '\0'; })) return {SIDRA_FAULT_FIELD};
    if (chip_.trace) [[unlikely]]
        trace_label({c.text, end});
    return {};
}

void Slice::trace_label(std::string_view text) {
    const sidra_cmd_label& c = cmd().label;
    if (!(c.flags & SIDRA_CMD_LABEL_WEIGHTS)) return chip_.trace->name_operation(traced(), text);
    std::unique_ptr<Weights> own;
    Weights* weights = nullptr;
    if (!queue_.context.find_weights(chip_.bus, chip_.array, c.weights, &own, &weights))
        chip_.trace->name_weights(weights->uid, text);
}

// The packet at hand; in a call, with the number of the CALL.
Trace::Packet Slice::traced() const {
    const auto& call = queue_.call;
    const uint8_t opcode = cmd().hdr.opcode;
    const bool semaphore = opcode == SIDRA_CMD_SEM_WAIT || opcode == SIDRA_CMD_SEM_SIGNAL;
    return {queue_.context.id, queue_.id,   queue_.entry.epoch, queue_.index,
            cmd().hdr,         call.active, call.position,      semaphore ? &cmd().sem : nullptr};
}

void Slice::retire(const Cost& cost) {
    if (chip_.trace) [[unlikely]]
        chip_.trace->packet(traced(), cost, operation(cmd().hdr.opcode) ? &queue_.job : nullptr);
    work_ += kPacketWork;
    cost_ += cost;
    queue_.progress++;
    auto& call = queue_.call;
    if (call.active) {
        call_packets_++;
        call.cost += cost;
        if (++call.position < call.cmd.count) return;
        // After its last packet the CALL itself retires.
        Cost whole = packet_cost(chip_.management.clock_level());
        cost_ += whole;
        if (chip_.trace) [[unlikely]] {
            const sidra_cmd_header& hdr = call.cmd.hdr;
            chip_.trace->call({queue_.context.id, queue_.id, queue_.entry.epoch, queue_.index, hdr, false, 0, nullptr},
                              whole);
        }
        whole += call.cost;
        queue_.total += whole;
        report(queue_.index, whole, call.cmd.hdr.cookie, SIDRA_CMD_CALL, SIDRA_FAULT_NONE);
        call = {};
    } else {
        queue_.total += cost;
        report(queue_.index, cost, cmd().hdr.cookie, cmd().hdr.opcode, SIDRA_FAULT_NONE);
    }
    queue_.index++;
    packets_++;
    unpublished_packets_++;
}

void Slice::report(uint64_t sequence, const Cost& cost, uint32_t cookie, uint8_t opcode, uint16_t cause) {
    if (at_.reports.empty()) return;
    constexpr uint64_t kBytes = sizeof(sidra_report);
    static_assert(SIDRA_PAGE_SIZE % kBytes == 0);
    Fault fault;
    uint8_t* const at = reports_.at(at_.reports.part(sequence * kBytes & (at_.reports.length() - 1), kBytes), &fault);
    if (!at) return;  // the owner has unmapped its report ring
    auto* out = reinterpret_cast<sidra_report*>(at);
    __atomic_store_n(&out->device_ps, cost.device_ps, __ATOMIC_RELAXED);
    __atomic_store_n(&out->energy_pj, cost.energy_pj, __ATOMIC_RELAXED);
    __atomic_store_n(&out->cookie, cookie, __ATOMIC_RELAXED);
    __atomic_store_n(&out->opcode, uint16_t{opcode}, __ATOMIC_RELAXED);
    __atomic_store_n(&out->cause, cause, __ATOMIC_RELAXED);
    __atomic_store_n(&out->sequence, sequence, __ATOMIC_RELEASE);
}

// The order matters: output data, then the timeline, then its waiters.
void Slice::publish() {
    unpublished_work_ = 0;
    unpublished_packets_ = 0;
    account();  // first, so that the telemetry is never behind the timeline
    // Units in flight add theirs.
    if (queue_.stage != Queue::Stage::kInFlight) __atomic_store_n(&state_->progress, queue_.progress, __ATOMIC_RELAXED);
    __atomic_store_n(&state_->device_ps, queue_.total.device_ps, __ATOMIC_RELAXED);
    __atomic_store_n(&state_->energy_pj, queue_.total.energy_pj, __ATOMIC_RELAXED);
    if (queue_.epochs.timeline() == queue_.index) return;
    uint64_t told = queue_.index;
    if (chip_.knobs.lies(SIDRA_LIE_TIMELINE_AHEAD)) told += uint64_t{1} << 40;
    if (chip_.knobs.lies(SIDRA_LIE_TIMELINE_BACK)) told = 0;
    __atomic_store_n(&state_->timeline, told, __ATOMIC_RELEASE);
    queue_.epochs.publish(queue_.index);
    if (chip_.parked.any()) host_.wake_parked(timeline_key(queue_.context.id, queue_.id));
    host_.check_arm(queue_);
}

// The queue has stopped, and what has not retired never will. To be called after the last publish().
void Slice::end_epoch(const Root& root) {
    queue_.epochs.end(queue_.entry.epoch, root);
    if (chip_.parked.any()) host_.wake_parked(timeline_key(queue_.context.id, queue_.id));
}

Slice::Step Slice::fault(const Fault& fault) {
    host_.tell_failure();
    release_readouts();
    // A bus error may mean that bus mastering is disabled. Mapped pages would still be writable, but the driver relies
    // on the device not writing any more.
    if (fault.cause == SIDRA_FAULT_BUS && !open()) return stop_untold();
    if (queue_.parked) parked_leave();
    const auto& call = queue_.call;
    sidra_fault record{};
    record.clock_ns = host_.clock_ns();
    record.sequence = queue_.index;
    record.address = fault.address;
    record.context = queue_.context.id;
    record.queue = queue_.id;
    record.cookie = cmd().hdr.cookie;
    record.call_index = call.active ? call.position : 0;
    record.cause = fault.cause;
    record.opcode = cmd().hdr.opcode;
    record.in_call = call.active;
    Root root{queue_.index, queue_.id, queue_.entry.epoch, fault.cause};
    if (fault.cause == SIDRA_FAULT_PRODUCER) {
        root = producer_;
        record.root_queue = root.queue;
        record.root_sequence = root.sequence;
        record.root_epoch = root.epoch;
        record.root_cause = root.cause;
    }
    if (chip_.trace) [[unlikely]]
        chip_.trace->fault(traced(), fault.cause);
    queue_.faulted.store(true);
    queue_.stage = Queue::Stage::kFetch;
    report(queue_.index, {}, record.cookie, record.opcode, record.cause);
    publish();
    __atomic_store_n(&state_->parked, 0u, __ATOMIC_RELAXED);
    if (chip_.knobs.lies(SIDRA_LIE_FAULT_RECORD)) std::memset(&record, 0xff, sizeof record);
    // By words: somebody may still be reading the record of the epoch before.
    using Word [[gnu::may_alias]] = uint64_t;
    for (size_t i = 0; i < sizeof record / sizeof(Word); i++)
        __atomic_store_n(reinterpret_cast<Word*>(&state_->fault) + i, reinterpret_cast<Word*>(&record)[i],
                         __ATOMIC_RELAXED);
    chip_.counters.faults.fetch_add(1, std::memory_order_relaxed);  // first, as in publish()
    __atomic_store_n(&state_->run_state, uint32_t{SIDRA_QUEUE_FAULTED}, __ATOMIC_RELEASE);
    end_epoch(root);
    host_.interrupt(SIDRA_INT_FAULT);
    return Step::kFault;
}

}  // namespace sidra::chip
