// SPDX-License-Identifier: MIT
#include "sequencer.h"

#include <algorithm>
#include <iterator>
#include <utility>

namespace sidra::management {
namespace {

constexpr uint32_t kBase = SIDRA_MGMT_SEQUENCER;
constexpr uint32_t at(uint32_t address) { return address - kBase; }

// The index of a result register.
constexpr uint32_t slot(uint32_t address) { return (address - SIDRA_MGMT_SEQUENCER_RESULT) / 4; }
static_assert(slot(SIDRA_MGMT_SEQUENCER_ENERGY_PJ) + 1 == SIDRA_MGMT_SEQUENCER_RESULTS);

uint32_t saturated(uint64_t value) { return static_cast<uint32_t>(std::min<uint64_t>(value, UINT32_MAX)); }

}  // namespace

bool possible(const Policy& policy) {
    return policy.mode <= SIDRA_MGMT_ISPP_ERROR_SIZED && policy.tries >= 1 &&
           policy.tries <= SIDRA_MGMT_ISPP_TRIES_MAX && policy.tolerance_ppm >= SIDRA_MGMT_ISPP_TOLERANCE_MIN &&
           policy.tolerance_ppm <= SIDRA_MGMT_ISPP_TOLERANCE_MAX && policy.retries <= SIDRA_MGMT_ISPP_RETRIES_MAX &&
           policy.spare <= SIDRA_MGMT_ISPP_SPARE_NEVER;
}

void Sequencer::connect(uint32_t xbars, std::function<Outcome(const Order&)> work,
                        std::function<bool(const Policy&)> follow) {
    xbars_ = xbars;
    work_ = std::move(work);
    follow_ = std::move(follow);
}

void Sequencer::clear() {
    now_ = {};
    set({});
}

bool Sequencer::set(const Policy& policy) {
    if (follow_ && !follow_(policy)) return false;
    now_.policy = policy;
    return true;
}

bool Sequencer::load(const Saved& saved) {
    if (!possible(saved.policy) || !set(saved.policy)) return false;
    now_ = saved;
    return true;
}

bool Sequencer::load(uint32_t offset, uint32_t* value) const {
    switch (offset) {
        case at(SIDRA_MGMT_SEQUENCER_XBARS):
            *value = xbars_;
            return true;
        case at(SIDRA_MGMT_SEQUENCER_XBAR):
            *value = now_.xbar;
            return true;
        case at(SIDRA_MGMT_SEQUENCER_TOLERANCE):
            *value = now_.tolerance_ppm;
            return true;
        case at(SIDRA_MGMT_SEQUENCER_COMMAND):
            *value = now_.command;
            return true;
        case at(SIDRA_MGMT_SEQUENCER_COUNT):
            *value = now_.count;
            return true;
        case at(SIDRA_MGMT_SEQUENCER_COMMANDS):
            *value = now_.commands;
            return true;
        case at(SIDRA_MGMT_ISPP_MODE):
            *value = now_.policy.mode;
            return true;
        case at(SIDRA_MGMT_ISPP_TRIES):
            *value = now_.policy.tries;
            return true;
        case at(SIDRA_MGMT_ISPP_TOLERANCE):
            *value = now_.policy.tolerance_ppm;
            return true;
        case at(SIDRA_MGMT_ISPP_RETRIES):
            *value = now_.policy.retries;
            return true;
        case at(SIDRA_MGMT_ISPP_SPARE):
            *value = now_.policy.spare;
            return true;
        default:
            break;
    }
    const uint32_t result = slot(kBase + offset);
    if (offset % 4 || offset < at(SIDRA_MGMT_SEQUENCER_RESULT) || result >= std::size(now_.results)) return false;
    *value = now_.results[result];
    return true;
}

bool Sequencer::store(uint32_t offset, uint32_t value, uint64_t* took_ns) {
    Policy policy = now_.policy;
    switch (offset) {
        case at(SIDRA_MGMT_SEQUENCER_XBAR):
            now_.xbar = value;
            return true;
        case at(SIDRA_MGMT_SEQUENCER_TOLERANCE):
            now_.tolerance_ppm = value;
            return true;
        case at(SIDRA_MGMT_SEQUENCER_COUNT):
            now_.count = value;
            return true;
        case at(SIDRA_MGMT_SEQUENCER_COMMAND):
            now_.command = value;
            *took_ns = run();
            return true;
        case at(SIDRA_MGMT_ISPP_MODE):
            policy.mode = value;
            break;
        case at(SIDRA_MGMT_ISPP_TRIES):
            policy.tries = value;
            break;
        case at(SIDRA_MGMT_ISPP_TOLERANCE):
            policy.tolerance_ppm = value;
            break;
        case at(SIDRA_MGMT_ISPP_RETRIES):
            policy.retries = value;
            break;
        case at(SIDRA_MGMT_ISPP_SPARE):
            policy.spare = value;
            break;
        default:
            return false;
    }
    if (possible(policy)) set(policy);
    return true;
}

// Checks the command; returns enum sidra_mgmt_result.
uint32_t Sequencer::refuses() const {
    switch (now_.command) {
        case SIDRA_MGMT_SEQUENCER_VERIFY:
        case SIDRA_MGMT_SEQUENCER_REFRESH:
            if (now_.xbar >= xbars_ || now_.tolerance_ppm == 0 || now_.tolerance_ppm > SIDRA_MGMT_ISPP_TOLERANCE_MAX)
                return SIDRA_MGMT_BAD_RANGE;
            return SIDRA_MGMT_OK;
        case SIDRA_MGMT_SEQUENCER_CALIBRATE:
            if (now_.xbar >= xbars_ || now_.count == 0 || now_.count > xbars_ - now_.xbar) return SIDRA_MGMT_BAD_RANGE;
            return SIDRA_MGMT_OK;
        default:
            return SIDRA_MGMT_BAD_COMMAND;
    }
}

uint64_t Sequencer::run() {
    Outcome done{};
    done.result = refuses();
    if (done.result == SIDRA_MGMT_OK) done = work_({now_.command, now_.xbar, now_.count, now_.tolerance_ppm});
    const uint64_t took = done.device_ps / 1000;
    const uint32_t results[] = {done.result,   done.cells,      done.off,
                                done.failed,   done.pulses,     done.worst_ppm,
                                done.mean_ppm, saturated(took), saturated(done.energy_pj)};
    static_assert(std::size(results) == SIDRA_MGMT_SEQUENCER_RESULTS);
    std::copy(std::begin(results), std::end(results), now_.results);
    now_.commands++;
    return took;
}

}  // namespace sidra::management
