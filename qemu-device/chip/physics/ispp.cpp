// SPDX-License-Identifier: MIT
#include "ispp.h"

#include <algorithm>
#include <cmath>
#include <stdexcept>
#include <string>

#include "check.h"
#include "ispp_plan.h"

namespace sidra::physics {

namespace {

int32_t picoseconds(double ns) { return static_cast<int32_t>(std::lround(ns * 1000)); }

IsppPlan plan_of(const CellParameters& cells, const IsppParameters& p, uint64_t seed) {
    IsppPlan plan{};
    plan.seed = seed;
    plan.sized = p.mode == IsppMode::kErrorSized;
    plan.max_tries = p.max_tries;
    for (uint32_t level = 0; level < kLevels; level++) {
        plan.target[level] = conductance_of(cells, static_cast<uint8_t>(level));
        plan.target16[level] = static_cast<int32_t>(std::lround(plan.target[level] * 65536));
    }
    plan.lowest = lowest(cells);
    plan.saturation = static_cast<float>(cells.saturation);
    plan.cycle_spread = static_cast<float>(cells.cycle_spread);
    plan.device_spread = static_cast<float>(cells.device_spread);

    plan.read_sigma = static_cast<float>(p.read_sigma / std::sqrt(static_cast<double>(p.reads)));
    if (p.adc_bits != 0) {
        plan.adc_top = static_cast<float>((1u << p.adc_bits) - 1);
        plan.adc_step = static_cast<float>(p.adc_full_scale) / plan.adc_top;
        plan.adc_inverse = 1 / plan.adc_step;
    }
    plan.accept = static_cast<float>(p.tolerance - p.guard);
    plan.read_aj = static_cast<uint64_t>(std::llround(p.read_pj * p.reads * 1e6));
    plan.read_ps = static_cast<uint64_t>(picoseconds(p.read_ns)) * p.reads;

    plan.last_rung = static_cast<int32_t>(kMaxTries) - 1;
    double ns = cells.set_ns;
    for (uint32_t rung = 0; rung < kMaxTries; rung++) {
        const double volts = std::min(cells.set_volts + rung * p.step_volts, std::max(p.max_volts, cells.set_volts));
        plan.rung_dose[rung] = set_dose(cells, volts, ns);
        plan.rung_v2ns[rung] = static_cast<float>(volts * volts * ns);
        plan.rung_ps[rung] = picoseconds(ns);
        // Rounding to whole ns must not make the pulse shorter than the one before.
        ns = std::min(std::max(std::floor(ns * p.width_growth + 1e-9), ns), std::max(p.max_width_ns, cells.set_ns));
    }
    const bool back = p.mode == IsppMode::kStepBack;
    const double per_ns = static_cast<double>(reset_dose(cells, p.fine_reset_volts, 1));
    const double back_ns = back ? p.back_step / per_ns : cells.reset_ns;
    const double back_volts = back ? p.fine_reset_volts : cells.reset_volts;
    if (back) check_range("back_step (as a width in ns, at fine_reset_volts)", back_ns, 1e-3, 1e5);
    plan.back_dose = reset_dose(cells, back_volts, back_ns);
    plan.back_v2ns = static_cast<float>(back_volts * back_volts * back_ns);
    plan.back_ps = picoseconds(back_ns);

    plan.set_dose_per_ns = set_dose(cells, cells.set_volts, 1);
    plan.set_ns_per_dose = static_cast<float>(p.gain) / plan.set_dose_per_ns;
    plan.set_v2 = static_cast<float>(cells.set_volts * cells.set_volts);
    plan.reset_dose_per_ns = static_cast<float>(per_ns);
    plan.reset_ns_per_dose = static_cast<float>(p.gain) / plan.reset_dose_per_ns;
    plan.reset_v2 = static_cast<float>(p.fine_reset_volts * p.fine_reset_volts);
    plan.width_step = static_cast<float>(p.width_step_ns);
    plan.width_inverse = 1 / plan.width_step;
    plan.max_width = static_cast<float>(p.max_width_ns);

    // J = V^2 s S; 1 ns and G_max siemens make 1e-9 g_max J = 1e9 g_max aJ, and half for the mean of two.
    plan.aj_per_v2ns = static_cast<float>(cells.g_max_siemens * 1e9 / 2);
    return plan;
}

auto kernel_of(InstructionSet set) {
    require(set);
    switch (set) {
#if defined(__x86_64__)
        case InstructionSet::kAvx2:
            return program_avx2;
        case InstructionSet::kAvx512:
            return program_avx512;
#elif defined(__aarch64__)
        case InstructionSet::kNeon:
            return program_neon;
#endif
        default:
            return program_scalar;
    }
}

}  // namespace

IsppParameters ispp_defaults(IsppMode mode) {
    IsppParameters parameters;
    parameters.mode = mode;
    if (mode == IsppMode::kAsPublished) parameters.guard = 0;
    return parameters;
}

void check(const IsppParameters& p) {
    check_range("tolerance", p.tolerance, 1e-4, 1);
    check_range("guard", p.guard, 0, 0.99 * p.tolerance);
    check_range("max_tries", p.max_tries, 0, kMaxTries);
    check_range("step_volts", p.step_volts, 0, 1);
    check_range("width_growth", p.width_growth, 1, 4);
    check_range("max_volts", p.max_volts, 0.01, 10);
    check_range("max_width_ns", p.max_width_ns, 0.1, 1e5);
    check_range("fine_reset_volts", p.fine_reset_volts, 0.01, 10);
    check_range("back_step", p.back_step, 1e-5, 2);
    check_range("gain", p.gain, 0.1, 2);
    check_range("width_step_ns", p.width_step_ns, 1e-3, p.max_width_ns);
    check_range("max_width_ns / width_step_ns", p.max_width_ns / p.width_step_ns, 1,
                4e6);  // the range of kRoundToInteger
    check_range("read_sigma", p.read_sigma, 0, 1);
    check_range("reads", p.reads, 1, 1024);
    check_range("adc_bits", p.adc_bits, 0, 16);
    check_range("adc_full_scale", p.adc_full_scale, 0.1, 10);
    check_range("read_ns", p.read_ns, 0, 1e6);
    check_range("read_pj", p.read_pj, 0, 1e6);
}

void IsppTotals::add(const IsppTotals& other) {
    for (uint32_t i = 0; i <= kMaxTries; i++) converged_after[i] += other.converged_after[i];
    failed += other.failed;
    not_formed += other.not_formed;
    stuck += other.stuck;
    set_pulses += other.set_pulses;
    reset_pulses += other.reset_pulses;
    reads += other.reads;
    error_sum += other.error_sum;
    error_square_sum += other.error_square_sum;
    energy_aj += other.energy_aj;
    time_ps += other.time_ps;
}

uint64_t IsppTotals::converged() const {
    uint64_t cells = 0;
    for (const uint64_t count : converged_after) cells += count;
    return cells;
}

double IsppTotals::mean_tries() const {
    const uint64_t cells = converged() + failed;
    return cells == 0 ? 0 : static_cast<double>(set_pulses + reset_pulses) / static_cast<double>(cells);
}

double IsppTotals::error_sigma() const {
    const uint64_t cells = converged();
    return cells == 0 ? 0 : std::sqrt(static_cast<double>(error_square_sum) / static_cast<double>(cells)) / 65536;
}

Ispp::Ispp(const CellParameters& cells, const IsppParameters& parameters, uint64_t seed, InstructionSet set)
    : kernel_(kernel_of(set)) {
    check(cells);
    check(parameters);
    plan_ = std::make_unique<const IsppPlan>(plan_of(cells, parameters, seed));
}

Ispp::~Ispp() = default;

void Ispp::program(const IsppBlock& block) const {
    check_range("count of a block", block.count, 0, kIsppBlock);
    check_range("retry", block.retry, 0, kRetries - 1);
    kernel_(*plan_, block);
}

void Ispp::read(const IsppRead& cells) const { read_scalar(*plan_, cells); }
uint64_t Ispp::read_ps() const { return plan_->read_ps; }
uint64_t Ispp::read_aj() const { return plan_->read_aj; }

}  // namespace sidra::physics
