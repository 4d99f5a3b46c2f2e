// SPDX-License-Identifier: MIT
#include "maintenance.h"

#include <algorithm>
#include <cmath>
#include <new>
#include <optional>

#include "cost_model.h"

namespace sidra::chip {
namespace {

constexpr double kMillion = 1e6;

uint32_t ppm(double share) { return static_cast<uint32_t>(std::lround(std::clamp(share, 0.0, 1000.0) * kMillion)); }

}  // namespace

management::Sequencer::Outcome Maintenance::run(const management::Sequencer::Order& order) {
    const management::Sequencer::Outcome outcome =
        order.command == SIDRA_MGMT_SEQUENCER_CALIBRATE ? calibrate(order) : look_at_cells(order);
    counters_.device_ps.fetch_add(outcome.device_ps, std::memory_order_relaxed);
    counters_.energy_pj.fetch_add(outcome.energy_pj, std::memory_order_relaxed);
    return outcome;
}

// Takes several times as long as programming a crossbar if many columns are replaced.
management::Sequencer::Outcome Maintenance::look_at_cells(const management::Sequencer::Order& order) {
    management::Sequencer::Outcome outcome{};
    const double now = array_.cells_now(clock_), tolerance = order.tolerance_ppm / kMillion;
    CellCheck found;
    Fault fault;
    try {
        fault = order.command == SIDRA_MGMT_SEQUENCER_REFRESH ? array_.refresh(order.xbar, tolerance, now, &found)
                                                              : array_.verify(order.xbar, tolerance, now, &found);
    } catch (const std::bad_alloc&) {
        fault = {kNoMemory};
    }
    if (fault && fault.cause != SIDRA_FAULT_UNPROGRAMMED) {
        outcome.result = SIDRA_MGMT_NOT_KEPT;
        return outcome;
    }
    outcome.result = SIDRA_MGMT_OK;
    outcome.cells = static_cast<uint32_t>(found.cells);
    outcome.off = static_cast<uint32_t>(found.off);
    outcome.failed = static_cast<uint32_t>(found.failed);
    outcome.pulses = static_cast<uint32_t>(found.pulses);
    outcome.worst_ppm = ppm(found.worst);
    outcome.mean_ppm = found.cells ? ppm(found.error_sum / static_cast<double>(found.cells)) : 0;
    outcome.device_ps = found.cost.device_ps;
    outcome.energy_pj = found.cost.energy_pj;
    return outcome;
}

management::Sequencer::Outcome Maintenance::calibrate(const management::Sequencer::Order& order) {
    std::optional<uint64_t> seed;
    if (const Analog* const analog = array_.analog()) seed = analog->programmer().seed();
    const Adcs::Found found = adcs_.calibrate(order.xbar, order.count, seed);
    counters_.calibrated_ns.store(clock_.now_ns(), std::memory_order_relaxed);
    const Cost cost = calibrate_cost(order.count, Adcs::kReads);
    management::Sequencer::Outcome outcome{};
    outcome.result = SIDRA_MGMT_OK;
    outcome.cells = order.count;
    outcome.off = found.changed;
    outcome.failed = found.beyond;
    outcome.worst_ppm = found.worst;
    outcome.device_ps = cost.device_ps;
    outcome.energy_pj = cost.energy_pj;
    return outcome;
}

bool Maintenance::follow(const management::Policy& policy) {
    static_assert(SIDRA_MGMT_ISPP_AS_PUBLISHED == static_cast<uint32_t>(physics::IsppMode::kAsPublished) &&
                  SIDRA_MGMT_ISPP_STEP_BACK == static_cast<uint32_t>(physics::IsppMode::kStepBack) &&
                  SIDRA_MGMT_ISPP_ERROR_SIZED == static_cast<uint32_t>(physics::IsppMode::kErrorSized) &&
                  SIDRA_MGMT_ISPP_TRIES_MAX == physics::kMaxTries && SIDRA_MGMT_ISPP_RETRIES_MAX < physics::kRetries);
    Analog* const analog = array_.analog();
    if (!analog) return true;
    try {
        analog->programmer().set_policy({static_cast<physics::IsppMode>(policy.mode), policy.tries,
                                         policy.tolerance_ppm / kMillion, policy.retries, policy.spare});
    } catch (const std::bad_alloc&) {
        return false;
    }
    return true;
}

}  // namespace sidra::chip
