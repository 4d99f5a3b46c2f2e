// SPDX-License-Identifier: MIT
// The physics of level `accurate`: programming by pulses, the wires' solution, products, without a chip around it;
// beside it what level `fast` takes to program, through the chip.
#include <fmt/format.h>

#include <functional>
#include <random>
#include <string_view>
#include <thread>
#include <vector>

#include "cells.h"
#include "chip.h"
#include "engine.h"
#include "groups.h"
#include "ispp.h"
#include "readout.h"
#include "wires.h"

namespace sidra::bench {
namespace {

using physics::CellParameters;
using physics::CellState;
using physics::IsppMode;

constexpr uint32_t kSize = 256, kCells = kSize * kSize;
constexpr uint32_t kBatch = 64;
constexpr uint32_t kLarge = 1024;  // of the weights that level `fast` programs, in pairs of cells
constexpr uint64_t kSeed = 1;
constexpr physics::Wires kWires{607.0 / 256, 607.0 / 256, false};

// A crossbar of formed cells and what they are to be.
struct Crossbar {
    Crossbar() : levels(kCells), state(kCells), formed(kCells) {
        std::mt19937 random(1);
        for (uint8_t& level : levels) level = static_cast<uint8_t>(random());
        physics::form(cells, kSeed, {0, 0, kCells, formed.data(), state.data()});
        g = formed;
    }

    void program(const physics::Ispp& ispp) {
        g = formed;
        physics::IsppTotals totals{};
        uint8_t tries[physics::kIsppBlock];
        physics::Outcome outcome[physics::kIsppBlock];
        for (uint32_t first = 0; first < kCells; first += physics::kIsppBlock)
            ispp.program(
                {0, first, physics::kIsppBlock, 0, &levels[first], &state[first], &g[first], tries, outcome, &totals});
    }
    // After a year, in siemens.
    std::vector<double> siemens() const {
        const auto left = static_cast<double>(physics::drift_factor(cells, 365.25 * 24 * 3600, cells.drift_celsius));
        std::vector<double> all(kCells);
        for (uint32_t i = 0; i < kCells; i++) all[i] = physics::siemens(cells, g[i]) * left;
        return all;
    }

    CellParameters cells;
    std::vector<uint8_t> levels;
    std::vector<CellState> state;
    std::vector<uint16_t> formed, g;
};

struct Row {
    std::string_view key;  // of kBars
    std::string what;
    double work;  // a call
    std::string unit;
};

// Measures one thing, and adds it to table, report and bars: a rate, or (unit "s") how long a call takes.
void add(const Settings& settings, Report& report, Table* table, const Row& row,
         const std::function<void(uint64_t)>& run) {
    report.progress().show(fmt::format("twin: {}", row.what));
    const Timing t = measure({{row.what, run}}, settings.bar_method()).front();
    const bool rate = row.unit != "s";
    table->add({row.what, rate ? rate_text(row.work, t) : figure(t.min_s), row.unit, seconds_text(t.min_s)});
    report.add({"twin", std::string(row.key), {}, t, row.work, row.unit});
    report.set_bar(row.key, rate ? row.work / t.min_s : t.min_s, t.settled);
}

template <class F>
auto repeated(F&& once) {
    return [once](uint64_t calls, auto&... arguments) {
        for (uint64_t i = 0; i < calls; i++) once(arguments...);
    };
}

}  // namespace

void run_twin(const Settings& settings, Report& report) {
    run_firmware(settings, report);
    Table table({"256x256 cells, one core", "", "unit", "per call"});
    Crossbar crossbar, other;
    const physics::Ispp published(crossbar.cells, physics::ispp_defaults(IsppMode::kAsPublished), kSeed),
        sized(crossbar.cells, physics::ispp_defaults(IsppMode::kErrorSized), kSeed);
    const auto on_two_cores = [&](const physics::Ispp& ispp) {
        return [&crossbar, &other, &ispp](uint64_t calls) {
            const auto program = repeated([&](Crossbar& its) { its.program(ispp); });
            std::thread beside([&] { program(calls, other); });
            program(calls, crossbar);
            beside.join();
        };
    };
    add(settings, report, &table,
        {"ispp_published_cells_s", "programming, the published loop, two cores", 2 * kCells, "cells/s"},
        on_two_cores(published));
    add(settings, report, &table,
        {"ispp_cells_s", "programming, pulses sized by the error, two cores", 2 * kCells, "cells/s"},
        on_two_cores(sized));

    physics::EffectiveConductance wires;
    const std::vector<double> siemens = crossbar.siemens();
    std::vector<double> effective(kCells);
    add(settings, report, &table, {"geff_s", "effective conductances behind the wires", 1, "s"},
        repeated([&] { wires.find(siemens.data(), kSize, kSize, kWires, effective.data()); }));

    for (double& each : effective) each /= crossbar.cells.g_max_siemens;
    physics::ReadoutParameters parameters;
    parameters.adc_follows = true;
    const physics::Readout readout(effective.data(), SIDRA_ENCODING_OFFSET, parameters, kSeed, 0);
    const auto engine = engine::make(static_cast<sidra_chip_engine>(settings.engine), 1);
    std::mt19937 random(2);
    std::vector<uint8_t> in(size_t{kBatch} * kSize);
    for (uint8_t& each : in) each = static_cast<uint8_t>(random());
    std::vector<int32_t> out(size_t{kBatch} * kSize);
    physics::Readout::Scratch scratch;
    uint64_t number = 0;
    add(settings, report, &table,
        {"accurate_tile_mvm_rate", fmt::format("products of 256 outputs, batch {}", kBatch), kBatch, "products/s"},
        repeated([&] {
            readout.multiply(*engine, number, in.data(), kSize, kBatch, out.data(), kSize, &scratch);
            number += kBatch;
        }));

    const Chip chip(settings.engine, settings.workers);
    sidra_weights* weights = nullptr;
    std::vector<int8_t> values(size_t{kLarge} * kLarge);
    for (int8_t& each : values) each = static_cast<int8_t>(random() % 255 - 127);
    SIDRA_CHECK(
        sidra_weights_create_s8(chip.context(), kLarge, kLarge, values.data(), kLarge, nullptr, nullptr, &weights));
    const Weights owner(weights);
    SIDRA_CHECK(sidra_weights_program_async(chip.stream(), weights));
    chip.wait();
    add(settings, report, &table,
        {"fast_program_cells_s", fmt::format("level fast: programming again, {} workers", settings.workers),
         2.0 * kLarge * kLarge, "cells/s"},
        repeated([&] {
            SIDRA_CHECK(
                sidra_weights_update_async(chip.stream(), weights, 0, kLarge, 0, kLarge, values.data(), kLarge));
            chip.wait();
        }));
    report.print("Physics of level accurate (?: unsettled)", table);
}

}  // namespace sidra::bench
