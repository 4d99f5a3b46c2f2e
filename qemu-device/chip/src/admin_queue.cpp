// SPDX-License-Identifier: MIT
#include "admin_queue.h"

#include "spin.h"

namespace sidra::chip {
namespace {

// Whether a RESET_CONTEXT replaces a command of the same context.
bool replaces(const AdminCommand& next, const AdminCommand& old) {
    const auto code = [](const AdminCommand& command) { return command.word & 0xffff; };
    return code(next) == SIDRA_ADMIN_RESET_CONTEXT && next.arg[0] == old.arg[0] &&
           ((code(old) >= SIDRA_ADMIN_QUIESCE_RANGE && code(old) <= SIDRA_ADMIN_QUIESCE_CONTEXT) ||
            code(old) == SIDRA_ADMIN_RESET_QUEUE);
}

// Whether knob no-quiesce-ack withholds the end of the command at this value.
bool withheld(const AdminCommand& command, uint32_t knob) {
    return (knob >= 1 && command.is_quiesce()) || (knob >= 2 && command.op() == SIDRA_ADMIN_RESET_QUEUE) ||
           (knob >= 3 && command.op() == SIDRA_ADMIN_RESET_CONTEXT);
}

}  // namespace

void AdminQueue::start(const AdminCommand& command) {
    {
        std::unique_lock guard(lock_);
        if (status_ & SIDRA_ADMIN_BUSY) {
            if (replaced_.load() || !replaces(command, command_)) return;
            next_ = command.word;  // the thread that executes the old command takes it over
            replaced_.store(true);
        } else if (reset_.load()) {
            status_ = command.tag() | SIDRA_ADMIN_NOT_READY;
            guard.unlock();
            interrupts_.raise_for(SIDRA_INT_ADMIN);
            return;
        } else {
            command_ = command;
            begun_ = false;
        }
        status_ = command.tag() | SIDRA_ADMIN_BUSY;
        pending_.store(true);
        poke();
    }
    wakeups_.kick();
}

void AdminQueue::start_reset() {
    {
        std::lock_guard guard(lock_);
        reset_.store(true);
    }
    wakeups_.kick();
}

uint32_t AdminQueue::status() const {
    std::lock_guard guard(lock_);
    return status_;
}

// Resumes what the old command has stopped; the new command stops more than that.
void AdminQueue::take_next() {
    if (!replaced_.load()) return;
    if (begun_) quiesce_.cancel(command_);
    std::lock_guard guard(lock_);
    command_.word = next_;  // of the same context, and without further arguments
    begun_ = false;
    replaced_.store(false);
}

// Checks the command and starts it. Returns OK or the error.
uint8_t AdminQueue::begin() {
    const uint8_t result = command_.check();
    if (result != SIDRA_ADMIN_OK) return result;
    if (command_.of_memory()) memory_.begin();
    else quiesce_.begin(command_);
    return result;
}

bool AdminQueue::drained() { return command_.of_memory() || quiesce_.drained(command_); }

// Returns nothing if the command has another step.
std::optional<uint8_t> AdminQueue::finish() {
    if (command_.of_memory()) return memory_.step(command_);
    quiesce_.finish(command_);
    return SIDRA_ADMIN_OK;
}

// The end of a replaced command is not reported.
void AdminQueue::done(uint8_t result) {
    if (knobs_.lies(SIDRA_LIE_ADMIN_RESULT)) result = 0xee;
    device_.tell_failure();
    {
        std::lock_guard guard(lock_);
        if (replaced_.load()) return;
        pending_.store(false);
        status_ = command_.tag() | result;
    }
    interrupts_.raise_for(SIDRA_INT_ADMIN);
}

void AdminQueue::finish_reset() {
    take_next();
    if (pending_.load()) done(SIDRA_ADMIN_ABORTED);
    device_.finish_reset();
    begun_ = false;
    reset_.store(false);
}

void AdminQueue::poke() {
    if (!any()) return;
    pokes_.fetch_add(1);
    blocked_.store(false);
}

bool AdminQueue::step_now() {
    if (owner_.exchange(true)) return false;
    bool worked = false;
    for (;;) {
        const uint64_t pokes = pokes_.load();
        const bool reset = reset_.load();
        if (!reset && !pending_.load()) break;
        if (reset) {
            quiesce_.stop_all();
            if (quiesce_.idle()) {
                finish_reset();
                worked = true;
                break;
            }
        } else {
            uint8_t result = SIDRA_ADMIN_OK;
            take_next();
            if (!begun_ || again_) {
                result = begin();
                begun_ = result == SIDRA_ADMIN_OK;
                again_ = false;
                worked = true;
            }
            if (result != SIDRA_ADMIN_OK) {
                done(result);
                break;
            }
            if (!withheld(command_, knobs_.no_quiesce_ack.load()) && drained()) {
                if (const std::optional<uint8_t> end = finish()) done(*end);
                worked = true;
                break;
            }
        }
        blocked_.store(true);
        if (pokes_.load() == pokes) break;
        blocked_.store(false);
    }
    owner_.store(false);
    // Another thread may have returned because this one owned the command.
    if (ready()) wakeups_.kick();
    return worked;
}

void AdminQueue::reset() {
    start_reset();
    while (reset_.load()) {
        blocked_.store(false);
        if (!step()) engine::relax();
    }
}

AdminQueue::State AdminQueue::save() {
    take_next();
    return {status_, command_, pending_.load(), begun_, reset_.load()};
}

bool AdminQueue::load(const State& state) {
    // start() and the thread that executes a command must agree on whether there is one.
    if (state.pending != ((state.status & SIDRA_ADMIN_BUSY) != 0)) return false;
    if (state.pending && state.status != (state.command.tag() | SIDRA_ADMIN_BUSY)) return false;
    // A begun command has passed the checks of begin(), on which its replacement relies.
    if (state.pending && state.begun && state.command.check() != SIDRA_ADMIN_OK) return false;
    status_ = state.status;
    command_ = state.command;
    begun_ = state.begun;
    again_ = state.begun;
    blocked_.store(false);
    pending_.store(state.pending);
    reset_.store(state.reset);
    return true;
}

void AdminQueue::clear() {
    pending_.store(false);
    finish_reset();
    status_ = 0;
}

}  // namespace sidra::chip
