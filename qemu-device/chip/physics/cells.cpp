// SPDX-License-Identifier: MIT
#include "cells.h"

#include <algorithm>
#include <cmath>
#include <string>

#include "check.h"
#include "random.h"

namespace sidra::physics {

namespace {

float dose(double step, double ns, double reference_ns, double volts, double reference_volts, double slope) {
    constexpr float kMost = 1e6f;  // far beyond the range of a cell; products with it stay finite
    const double steps = std::clamp((volts - reference_volts) / slope, -80.0, 80.0);
    return std::min(static_cast<float>(step * (ns / reference_ns)) * same_exp(static_cast<float>(steps)), kMost);
}

}  // namespace

void check(const CellParameters& cells) {
    check_range("g_max_siemens", cells.g_max_siemens, 1e-9, 1e-2);
    check_range("on_off", cells.on_off, 2, 1000);  // G_min is at least 32 units of the stored format
    check_range("set_volts", cells.set_volts, 0.01, 10);
    check_range("set_ns", cells.set_ns, 0.01, 1e6);
    check_range("set_step", cells.set_step, 1e-6, 100);
    check_range("set_slope_volts", cells.set_slope_volts, 0.001, 10);
    check_range("reset_volts", cells.reset_volts, 0.01, 10);
    check_range("reset_ns", cells.reset_ns, 0.01, 1e6);
    check_range("reset_step", cells.reset_step, 1e-6, 100);
    check_range("reset_slope_volts", cells.reset_slope_volts, 0.001, 10);
    check_range("saturation", cells.saturation, 0, 0.95);
    check_range("cycle_spread", cells.cycle_spread, 0,
                2);  // at the largest normal e^13; exponential() is valid up to 80
    check_range("device_spread", cells.device_spread, 0, 2);
    check_range("stuck_low", cells.stuck_low, 0, 1);
    check_range("stuck_high", cells.stuck_high, 0, 1);
    check_range("stuck_low + stuck_high", cells.stuck_low + cells.stuck_high, 0, 1);
    check_range("forming_level", cells.forming_level, 0, 1);
    check_range("forming_spread", cells.forming_spread, 0, 1);
    for (uint32_t i = 0; i < kRelaxationPoints; i++)
        check_range(("relaxation[" + std::to_string(i) + "]").c_str(), cells.relaxation[i], 0, 0.2);
    check_range("drift_per_year", cells.drift_per_year, 0, 0.99);
    check_range("drift_celsius", cells.drift_celsius, -273, 1000);
    check_range("drift_activation_ev", cells.drift_activation_ev, 0, 5);
}

float conductance_of(const CellParameters& cells, uint8_t level) {
    const float low = lowest(cells);
    return low + (1 - low) * static_cast<float>(level) / 255.0f;
}

uint8_t level_of(const CellParameters& cells, float g) {
    const float low = lowest(cells);
    return static_cast<uint8_t>(std::clamp((g - low) / (1 - low) * 255.0f + 0.5f, 0.0f, 255.0f));
}

uint16_t stored(float g) { return static_cast<uint16_t>(std::clamp(g * kConductanceOne + 0.5f, 1.0f, 65535.0f)); }

float set_dose(const CellParameters& cells, double volts, double ns) {
    return dose(cells.set_step, ns, cells.set_ns, volts, cells.set_volts, cells.set_slope_volts);
}

float reset_dose(const CellParameters& cells, double volts, double ns) {
    return dose(cells.reset_step, ns, cells.reset_ns, volts, cells.reset_volts, cells.reset_slope_volts);
}

float after_set(const CellParameters& cells, float g, float dose) {
    const float window = 1 - static_cast<float>(cells.saturation) * std::min(g, 1.0f);
    return std::max(g, std::min(g + dose * window, 1.0f));
}

float after_reset(const CellParameters& cells, float g, float dose) {
    const float window = 1 - static_cast<float>(cells.saturation) * (1 - std::min(g, 1.0f));
    return std::min(g, std::max(g - dose * window, lowest(cells)));
}

float device_factor(const CellParameters& cells, uint64_t seed, uint32_t crossbar, uint32_t cell, CellState state) {
    if (state != CellState::kFormed) return 0;
    const Words w = words({seed, Domain::kDevice, crossbar, cell, 0, 0});
    return same_exp(normals(w[0], w[1])[0] * static_cast<float>(cells.device_spread));
}

void form(const CellParameters& cells, uint64_t seed, const CellRun& run) {
    const float low = lowest(cells), level = static_cast<float>(cells.forming_level),
                spread = static_cast<float>(cells.forming_spread), stuck_low = static_cast<float>(cells.stuck_low),
                stuck = static_cast<float>(cells.stuck_low + cells.stuck_high);
    for (uint32_t i = 0; i < run.count; i++) {
        if (run.state[i] != CellState::kFresh) continue;
        const Words w = words({seed, Domain::kForming, run.crossbar, run.first_cell + i, 0, 0});
        const float chance = uniform(w[2]);
        if (chance < stuck_low) {
            run.state[i] = CellState::kStuckLow;
            run.g[i] = stored(low);
        } else if (chance < stuck) {
            run.state[i] = CellState::kStuckHigh;
            run.g[i] = stored(1);
        } else {
            run.state[i] = CellState::kFormed;
            run.g[i] = stored(std::clamp(level + spread * normals(w[0], w[1])[0], low, 1.0f));
        }
    }
}

float drift_speed(const CellParameters& cells, double celsius) {
    check_range("temperature in degrees Celsius", celsius, -273, 1000);
    constexpr double kBoltzmann = 8.617333262e-5;  // eV/K, CODATA 2018
    constexpr double kZeroCelsius = 273.15;
    const double faster = cells.drift_activation_ev / kBoltzmann *
                          (1 / (cells.drift_celsius + kZeroCelsius) - 1 / (celsius + kZeroCelsius));
    return same_exp(static_cast<float>(std::clamp(faster, -80.0, 80.0)));
}

float drift_factor(const CellParameters& cells, double seconds, double celsius) {
    check_range("age in seconds", seconds, 0, 1e11);
    constexpr double kYear = 365.25 * 24 * 3600;
    const float rate = -same_log(1 - static_cast<float>(cells.drift_per_year)) * drift_speed(cells, celsius);
    return same_exp(-std::min(rate * static_cast<float>(seconds / kYear), 80.0f));
}

}  // namespace sidra::physics
