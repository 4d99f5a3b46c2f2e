// SPDX-License-Identifier: MIT
// Admin commands and reset. QUIESCE works alike in all scopes: stop (no new slices), drain (wait for claims from
// before), invalidate, acknowledge.
#include <algorithm>
#include <cstring>
#include <new>
#include <vector>

#include "chip.h"
#include "spin.h"

namespace sidra::chip {
namespace {

constexpr uint64_t kMemoryMax = 65536;  // bytes of one NVM command
constexpr uint64_t kTestMax = 4096;
constexpr uint64_t kHeadersMax = 1024;
constexpr uint64_t kReportsMax = 64;

bool is_quiesce(uint32_t op) { return op >= SIDRA_ADMIN_QUIESCE_RANGE && op <= SIDRA_ADMIN_QUIESCE_DEVICE; }
// Commands that a RESET_CONTEXT of the same context replaces.
bool replaceable(uint32_t op) {
    return (op >= SIDRA_ADMIN_QUIESCE_RANGE && op <= SIDRA_ADMIN_QUIESCE_CONTEXT) || op == SIDRA_ADMIN_RESET_QUEUE;
}
// Commands that knob no-quiesce-ack withholds at this value.
bool withheld(uint32_t op, uint32_t knob) {
    return (knob >= 1 && is_quiesce(op)) || (knob >= 2 && op == SIDRA_ADMIN_RESET_QUEUE) ||
           (knob >= 3 && op == SIDRA_ADMIN_RESET_CONTEXT);
}
bool is_queue_scope(uint32_t op) {
    return op == SIDRA_ADMIN_QUIESCE_QUEUE || op == SIDRA_ADMIN_RESUME_QUEUE || op == SIDRA_ADMIN_RESET_QUEUE;
}
bool is_resume(uint32_t op) {
    return op == SIDRA_ADMIN_RESUME_QUEUE || op == SIDRA_ADMIN_RESUME_CONTEXT || op == SIDRA_ADMIN_RESUME_DEVICE;
}
bool is_device_scope(uint32_t op) { return op == SIDRA_ADMIN_QUIESCE_DEVICE || op == SIDRA_ADMIN_RESUME_DEVICE; }
void drop(Context& context) {
    context.loaded.store(false);
    context.drop_all_weights();
    context.invalidate_translations();
}
bool known(uint32_t op) {
    return (op >= SIDRA_ADMIN_QUIESCE_RANGE && op <= SIDRA_ADMIN_RESET_CONTEXT) ||
           (op >= SIDRA_ADMIN_TEST_DMA && op < SIDRA_ADMIN_OP_COUNT);
}

}  // namespace

// Called for an MMIO write: records the command and wakes the chip.
void Chip::admin_start(uint32_t command) {
    {
        std::lock_guard guard(registers_lock_);
        if (registers_.admin_status & SIDRA_ADMIN_BUSY) {
            if ((command & 0xffff) != SIDRA_ADMIN_RESET_CONTEXT || admin_.replaced.load() ||
                !replaceable(admin_.command & 0xffff) || admin_.arg[0] != registers_.admin_arg[0])
                return;
            admin_.next = command;  // the thread that executes the old command takes it over
            admin_.replaced.store(true);
        } else {
            admin_.command = command;
            std::copy(std::begin(registers_.admin_arg), std::end(registers_.admin_arg), admin_.arg);
            admin_.begun = false;
        }
        registers_.admin_status = (command & 0xffff0000u) | SIDRA_ADMIN_BUSY;
        admin_.pending.store(true);
        admin_poke();
    }
    wakeups_.kick();
}

// Resumes what the old command has stopped; the new command stops more than that.
void Chip::admin_take_next() {
    if (!admin_.replaced.load()) return;
    if (admin_.begun && (admin_.command & 0xff) != SIDRA_ADMIN_QUIESCE_RANGE) set_stop(false);
    std::lock_guard guard(registers_lock_);
    admin_.command = admin_.next;  // of the same context, and without further arguments
    admin_.begun = false;
    admin_.replaced.store(false);
}

// The queues of one context are adjacent. The command's arguments have been checked.
template <typename F>
void Chip::for_each_in_scope(F&& visit) {
    const uint32_t op = admin_.command & 0xff;
    if (is_device_scope(op)) return objects_.for_each_queue(visit);
    const auto context = static_cast<uint32_t>(admin_.arg[0]);
    const auto first = is_queue_scope(op) ? static_cast<uint32_t>(admin_.arg[1]) : 0u;
    const size_t count = is_queue_scope(op) ? 1 : SIDRA_QUEUES_PER_CONTEXT_MAX;
    for (size_t i = slot(context, first); i < slot(context, first) + count; i++)
        if (Queue* queue = objects_.find(i)) visit(*queue);
}

// Stops or resumes the scope of the command; a stopped scope starts no new slice.
void Chip::set_stop(bool stop) {
    const uint32_t op = admin_.command & 0xff;
    const uint64_t context = admin_.arg[0];
    if (is_device_scope(op)) {
        stops_.device.store(stop);
    } else if (is_queue_scope(op)) {
        stops_.queue[slot(static_cast<uint32_t>(context), static_cast<uint32_t>(admin_.arg[1]))].store(stop);
    } else {
        const uint8_t bit = op == SIDRA_ADMIN_QUIESCE_WEIGHTS ? Stops::kHeld : Stops::kAsked;
        if (stop) stops_.context[context].fetch_or(bit);
        else stops_.context[context].fetch_and(static_cast<uint8_t>(~bit));
    }
    if (stop) return;
    for_each_in_scope([&](Queue& queue) {
        if (queue.loaded.load() || queue.deferred.exchange(false)) wakeups_.make_ready(queue.context.id, queue.id);
    });
}

// Checks the command and the objects that it names.
uint8_t Chip::check_admin(uint32_t command, const uint64_t (&arg)[3]) {
    const uint32_t op = command & 0xff;
    if ((command & 0xff00) || !known(op)) return SIDRA_ADMIN_BAD_OP;
    if (op >= SIDRA_ADMIN_TEST_DMA || is_device_scope(op)) return SIDRA_ADMIN_OK;
    if (arg[0] >= SIDRA_CONTEXTS_MAX) return SIDRA_ADMIN_BAD_ARG;
    if (is_queue_scope(op) && arg[1] >= SIDRA_QUEUES_PER_CONTEXT_MAX) return SIDRA_ADMIN_BAD_ARG;
    if (op == SIDRA_ADMIN_QUIESCE_WEIGHTS && arg[1] >= SIDRA_WEIGHTS_MAX) return SIDRA_ADMIN_BAD_ARG;
    if (op == SIDRA_ADMIN_QUIESCE_RANGE && !Range(Space::kDevice, arg[1], arg[2]).valid()) return SIDRA_ADMIN_BAD_ARG;
    return SIDRA_ADMIN_OK;
}

// Checks the command and starts it. Returns OK or the error.
uint8_t Chip::admin_begin() {
    const uint32_t op = admin_.command & 0xff;
    if (const uint8_t wrong = check_admin(admin_.command, admin_.arg); wrong != SIDRA_ADMIN_OK) return wrong;
    if (op >= SIDRA_ADMIN_TEST_DMA || is_resume(op)) return SIDRA_ADMIN_OK;
    if (op != SIDRA_ADMIN_QUIESCE_RANGE) set_stop(true);
    else if (Context* context = objects_.find_context(admin_.arg[0])) context->invalidate_translations();
    for_each_in_scope([&](Queue& queue) {
        queue.draining_slice = queue.slices.load();  // first: later claims have seen the stop or the new tag
        queue.draining = queue.claim.load() != 0;
    });
    return SIDRA_ADMIN_OK;
}

// Whether every claim that was there when the command began has ended: that of a slice, or of units in flight.
bool Chip::admin_drained() {
    const uint32_t op = admin_.command & 0xff;
    if (op >= SIDRA_ADMIN_TEST_DMA || is_resume(op)) return true;
    bool drained = true;
    for_each_in_scope([&](Queue& queue) {
        if (queue.draining) queue.draining = queue.slices.load() == queue.draining_slice && queue.claim.load() != 0;
        drained = drained && !queue.draining;
    });
    return drained && (op != SIDRA_ADMIN_QUIESCE_DEVICE || management_.drained());
}

// Ends the epoch for RESET_QUEUE before its waiters are woken. A queue that was never loaded needs this, too: others
// may wait for its dropped packets.
void Chip::end_epoch() {
    const auto context = static_cast<uint32_t>(admin_.arg[0]), id = static_cast<uint32_t>(admin_.arg[1]);
    try {
        Queue& queue = objects_.queue(context, id);
        uint32_t epoch = static_cast<uint32_t>(admin_.arg[2]);
        if (epoch == 0) epoch = queue.epochs.current();
        if (epoch == 0) return;
        auto cause = static_cast<uint16_t>(admin_.arg[2] >> 32);
        if (cause == SIDRA_FAULT_NONE || cause >= SIDRA_FAULT_COUNT) cause = SIDRA_FAULT_RESET;
        const uint64_t first = epoch == queue.epochs.current() ? queue.epochs.timeline() : 0;
        queue.epochs.end(epoch, {first, id, epoch, cause});
    } catch (const std::bad_alloc&) {  // treated like an epoch that ended too long ago
    }
}

// A parked queue whose word lies in the range and whose page was unmapped must fault, even if the driver maps another
// page there before the queue checks the word again. The driver maps nothing before the acknowledgement, so the tables
// still show whether the page is gone. (The context entry is read again, because a quiesced context is not cached.)
void Chip::fault_unmapped_waits(Context& context, uint64_t va, uint64_t size) {
    for_each_in_scope([&](Queue& queue) {
        uint64_t word = queue.word.load();
        if (word - va >= size || (word & Queue::kUnmapped)) return;
        sidra_hw_context entry;
        if (!loader_.read_entry(context, &entry)) return;
        Tlb tlb;
        Range found;
        const AddressSpace space{{Space::kBus, entry.page_table, SIDRA_PAGE_SIZE}, ~uint64_t{0}};
        const Fault fault = Dma(bus_, tlb, space).find_word({Space::kDevice, word, 8}, false, &found);
        if (fault.cause != SIDRA_FAULT_TRANSLATION ||
            !queue.word.compare_exchange_strong(word, word | Queue::kUnmapped))
            return;
        wakeups_.wake_parked(queue);
    });
}

uint8_t Chip::admin_finish() {
    const uint32_t op = admin_.command & 0xff;
    const uint64_t id = admin_.arg[0];
    Context* context = is_device_scope(op) || op >= SIDRA_ADMIN_TEST_DMA ? nullptr : objects_.find_context(id);
    switch (op) {
        case SIDRA_ADMIN_QUIESCE_RANGE:
            if (context) fault_unmapped_waits(*context, admin_.arg[1], admin_.arg[2]);
            return SIDRA_ADMIN_OK;
        case SIDRA_ADMIN_QUIESCE_WEIGHTS:
            if (context) context->drop_weights(static_cast<uint32_t>(admin_.arg[1]));
            set_stop(false);
            return SIDRA_ADMIN_OK;
        case SIDRA_ADMIN_QUIESCE_QUEUE:
        case SIDRA_ADMIN_QUIESCE_CONTEXT:
        case SIDRA_ADMIN_QUIESCE_DEVICE:
            for_each_in_scope([&](Queue& queue) {
                if (queue.loaded.load() && !queue.faulted.load() && !queue.recheck.load())
                    loader_.write_run_state(queue, SIDRA_QUEUE_STOPPED);
                queue.recheck.store(true);
            });
            if (op == SIDRA_ADMIN_QUIESCE_CONTEXT && context) drop(*context);
            if (op == SIDRA_ADMIN_QUIESCE_DEVICE) objects_.for_each_context(drop);
            return SIDRA_ADMIN_OK;
        case SIDRA_ADMIN_RESUME_QUEUE:
        case SIDRA_ADMIN_RESUME_CONTEXT:
        case SIDRA_ADMIN_RESUME_DEVICE:
            set_stop(false);
            return SIDRA_ADMIN_OK;
        case SIDRA_ADMIN_RESET_QUEUE:
        case SIDRA_ADMIN_RESET_CONTEXT:
            if (op == SIDRA_ADMIN_RESET_QUEUE) end_epoch();
            for_each_in_scope([&](Queue& queue) {
                const bool shown = queue.loaded.load() && !queue.recheck.load();
                if (op == SIDRA_ADMIN_RESET_CONTEXT) queue.epochs.clear();
                loader_.unload(queue);
                if (shown) loader_.write_run_state(queue, SIDRA_QUEUE_STOPPED);
            });
            // Discard earlier doorbells, including one that a thread has picked but not yet acted on.
            for (uint32_t q = 0; q < SIDRA_QUEUES_PER_CONTEXT_MAX; q++) {
                if (is_queue_scope(op) && q != admin_.arg[1]) continue;
                scheduler_.forget(static_cast<uint32_t>(id), q);
                if (Queue* queue = objects_.find(slot(static_cast<uint32_t>(id), q))) queue->deferred.store(false);
            }
            if (op == SIDRA_ADMIN_RESET_CONTEXT && context) drop(*context);
            if (is_queue_scope(op))
                stops_.queue[slot(static_cast<uint32_t>(id), static_cast<uint32_t>(admin_.arg[1]))].store(0);
            else stops_.context[id].fetch_and(static_cast<uint8_t>(~Stops::kAsked));
            return SIDRA_ADMIN_OK;
        default:
            try {
                return admin_memory();
            } catch (const std::bad_alloc&) {  // as if the host refused the transfer: nothing has changed
                return SIDRA_ADMIN_BUS_ERROR;
            }
    }
}

uint8_t Chip::admin_memory() {
    const uint64_t a = admin_.arg[0], b = admin_.arg[1], n = admin_.arg[2];
    const auto inside = [](uint64_t offset, uint64_t bytes, uint64_t size) {
        return offset <= size && bytes <= size - offset;
    };
    switch (admin_.command & 0xff) {
        case SIDRA_ADMIN_TEST_DMA: {
            if (n > kTestMax) return SIDRA_ADMIN_BAD_ARG;
            uint8_t data[kTestMax];
            return bus_.read({Space::kBus, a, n}, data) && bus_.write({Space::kBus, b, n}, data)
                       ? SIDRA_ADMIN_OK
                       : SIDRA_ADMIN_BUS_ERROR;
        }
        case SIDRA_ADMIN_NVM_READ:
        case SIDRA_ADMIN_NVM_WRITE: {
            const auto nvm = array_.nvm();
            if (n > kMemoryMax || !inside(a, n, nvm.size())) return SIDRA_ADMIN_BAD_ARG;
            if ((admin_.command & 0xff) == SIDRA_ADMIN_NVM_READ) {
                if (knobs_.lies(SIDRA_LIE_SHORT_READ)) return SIDRA_ADMIN_OK;
                const std::vector<uint8_t> ones(knobs_.lies(SIDRA_LIE_NVM) ? n : 0, 0xff);
                return bus_.write({Space::kBus, b, n}, ones.empty() ? nvm.data() + a : ones.data())
                           ? SIDRA_ADMIN_OK
                           : SIDRA_ADMIN_BUS_ERROR;
            }
            std::vector<uint8_t> data(n);  // copied first: all or nothing
            if (!bus_.read({Space::kBus, b, n}, data.data())) return SIDRA_ADMIN_BUS_ERROR;
            return array_.write_nvm(a, data) ? SIDRA_ADMIN_OK : SIDRA_ADMIN_BUS_ERROR;
        }
        case SIDRA_ADMIN_XBAR_READ: {
            if (n > kHeadersMax || !inside(a, n, array_.xbars())) return SIDRA_ADMIN_BAD_ARG;
            std::vector<sidra_hw_xbar> headers(n);
            for (uint64_t i = 0; i < n; i++) headers[i] = array_.header(static_cast<uint32_t>(a + i));
            if (knobs_.lies(SIDRA_LIE_SHORT_READ)) return SIDRA_ADMIN_OK;
            if (knobs_.lies(SIDRA_LIE_XBAR_HEADERS)) std::memset(headers.data(), 0xff, n * sizeof headers[0]);
            return bus_.write({Space::kBus, b, n * sizeof(sidra_hw_xbar)}, headers.data()) ? SIDRA_ADMIN_OK
                                                                                           : SIDRA_ADMIN_BUS_ERROR;
        }
        case SIDRA_ADMIN_XBAR_REPORT: {
            if (n > kReportsMax || !inside(a, n, array_.xbars())) return SIDRA_ADMIN_BAD_ARG;
            std::vector<sidra_hw_xbar_report> reports(n);
            for (uint64_t i = 0; i < n; i++)
                reports[i] = array_.report(static_cast<uint32_t>(a + i), array_.cells_now(clock_));
            if (knobs_.lies(SIDRA_LIE_SHORT_READ)) return SIDRA_ADMIN_OK;
            if (knobs_.lies(SIDRA_LIE_XBAR_HEADERS)) std::memset(reports.data(), 0xff, n * sizeof reports[0]);
            return bus_.write({Space::kBus, b, n * sizeof(sidra_hw_xbar_report)}, reports.data())
                       ? SIDRA_ADMIN_OK
                       : SIDRA_ADMIN_BUS_ERROR;
        }
        case SIDRA_ADMIN_XBAR_ERASE:
            if (!inside(a, b, array_.xbars())) return SIDRA_ADMIN_BAD_ARG;
            return array_.erase(static_cast<uint32_t>(a), static_cast<uint32_t>(b)) ? SIDRA_ADMIN_OK
                                                                                    : SIDRA_ADMIN_BUS_ERROR;
        case SIDRA_ADMIN_L3_ZERO:
            if (a % SIDRA_PAGE_SIZE || b % SIDRA_PAGE_SIZE || !inside(a, b, l3_.size())) return SIDRA_ADMIN_BAD_ARG;
            std::fill_n(l3_.data() + a, b, uint8_t{0});
            return SIDRA_ADMIN_OK;
        default:
            return SIDRA_ADMIN_BAD_OP;
    }
}

// The end of a replaced command is not reported.
void Chip::admin_done(uint8_t result) {
    if (knobs_.lies(SIDRA_LIE_ADMIN_RESULT)) result = 0xee;
    tell_failure();
    {
        std::lock_guard guard(registers_lock_);
        if (admin_.replaced.load()) return;
        admin_.pending.store(false);
        registers_.admin_status = (admin_.command & 0xffff0000u) | result;
    }
    interrupts_.raise_for(SIDRA_INT_ADMIN);
}

void Chip::finish_reset() {
    admin_take_next();
    if (admin_.pending.load()) admin_done(SIDRA_ADMIN_ABORTED);
    objects_.for_each_queue([&](Queue& queue) {
        queue.epochs.clear();
        loader_.unload(queue);
    });
    objects_.for_each_context(drop);
    enabled_.store(false);
    scheduler_.clear();
    arms_.clear();
    stops_.clear();
    interrupts_.status.store(0);
    interrupts_.enable.store(0);
    loader_.set_context_table(0);
    {
        std::lock_guard guard(registers_lock_);
        const uint32_t admin_status = registers_.admin_status;  // may say that a command was aborted
        registers_ = {};
        registers_.admin_status = admin_status;
    }
    management_.reset();
    adcs_.clear();  // no calibration runs between this and the core's next step
    generation_.fetch_add(1);
    knobs_.never_ready.store(knobs_.lies(SIDRA_LIE_NEVER_READY));
    stops_.device.store(false);
    admin_.begun = false;
    admin_.reset.store(false);
}

// Unblocks a command after a claim has ended or a knob has changed.
void Chip::admin_poke() {
    if (!admin_.pending.load() && !admin_.reset.load()) return;
    admin_.pokes.fetch_add(1);
    admin_.blocked.store(false);
}

// Executes a command or reset as far as possible without waiting. Returns whether it did anything.
bool Chip::admin_step() {
    if ((!admin_.pending.load() && !admin_.reset.load()) || admin_.owner.exchange(true)) return false;
    bool worked = false;
    for (;;) {
        const uint64_t pokes = admin_.pokes.load();
        const bool reset = admin_.reset.load();
        if (!reset && !admin_.pending.load()) break;
        if (reset) {
            stops_.device.store(true);
            bool idle = true;
            objects_.for_each_queue([&](const Queue& queue) { idle = idle && queue.claim.load() == 0; });
            if (idle) {
                finish_reset();
                worked = true;
                break;
            }
        } else {
            uint8_t result = SIDRA_ADMIN_OK;
            admin_take_next();
            if (!admin_.begun) {
                result = admin_begin();
                admin_.begun = worked = true;
            }
            if (result != SIDRA_ADMIN_OK) {
                admin_done(result);
                break;
            }
            if (!withheld(admin_.command & 0xff, knobs_.no_quiesce_ack.load()) && admin_drained()) {
                admin_done(admin_finish());
                worked = true;
                break;
            }
        }
        admin_.blocked.store(true);
        if (admin_.pokes.load() == pokes) break;
        admin_.blocked.store(false);
    }
    admin_.owner.store(false);
    // Another thread may have returned because this one owned the command.
    if ((admin_.pending.load() || admin_.reset.load()) && !admin_.blocked.load()) wakeups_.kick();
    return worked;
}

void Chip::reset() {
    admin_.reset.store(true);
    while (admin_.reset.load()) {
        admin_.blocked.store(false);
        if (!admin_step()) engine::relax();
    }
}

}  // namespace sidra::chip
