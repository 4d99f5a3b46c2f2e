// SPDX-License-Identifier: MIT
// Reports of programming, tile by tile.
#include <algorithm>
#include <iterator>

#include "structs.h"
#include "tiles.h"
#include "weights.h"

namespace sidra {
namespace {

constexpr double kMillion = 1e6;

// Converts a report of the device to the format of sidra.h.
sidra_tile_report describe(const sidra_weights& weights, uint32_t tile, const sidra_weights_tile& told) {
    static_assert(SIDRA_TRIES_MAX == SIDRA_CELL_PULSES_MAX);
    const auto across = static_cast<uint32_t>(tiles_across(weights.n, weights.encoding));
    const uint32_t width = tile_cols_of(weights.encoding);
    sidra_tile_report report{};
    report.row = tile / across * kTileRows;
    report.rows = std::min(kTileRows, weights.k - report.row);
    report.col = tile % across * width;
    report.cols = std::min(width, weights.n - report.col);
    report.crossbar_programs = told.programs;
    report.stuck_cells = told.stuck_cells;
    report.spare_columns = told.spare_columns;
    report.programmed_rows = told.programmed_rows;
    report.pulsed = told.level == SIDRA_CELLS_PULSED;
    std::copy(std::begin(told.arrived), std::end(told.arrived), report.arrived);
    report.recovered = told.recovered;
    report.failed = told.failed;
    report.bad_cells = told.bad_cells;
    report.set_pulses = told.set_pulses;
    report.reset_pulses = told.reset_pulses;
    report.reads = told.reads;
    report.error_sigma = told.error_ppm / kMillion;
    report.drift = told.drift_ppm / kMillion;
    report.age_s = told.age_s;
    report.device_ps = told.device_ps;
    report.energy_pj = told.energy_pj;
    report.clipped = told.clipped;
    report.adc_range = told.adc_range;
    return report;
}

}  // namespace
}  // namespace sidra

using namespace sidra;

sidra_status sidra_weights_report(sidra_weights* weights, uint32_t tile, sidra_tile_report* report) {
    return guarded(__func__, [&, call = __func__]() -> sidra_status {
        SIDRA_TRY(check(call, "weights", weights));
        SIDRA_TRY(check_struct(call, "sidra_tile_report", report));
        if (tile >= weights->crossbars)
            return fail(SIDRA_ERROR_INVALID_ARGUMENT, call, "weights {} have no tile {}; they have {}, from 0 on",
                        weights->id, tile, weights->crossbars);
        sidra_weights_tile told{};
        sidra_ioctl_weights_report ask{};
        ask.context = weights->context->number;
        ask.index = weights->index;
        ask.tile = tile;
        ask.report = reinterpret_cast<uintptr_t>(&told);
        ask.size = sizeof told;
        std::string detail;
        if (const int error = request(*weights->context->transport, SIDRA_IOCTL_WEIGHTS_REPORT, &ask, &detail);
            error != 0)
            return fail_errno(call, error,
                              fmt::format("reading the report of tile {} of weights {}", tile, weights->id), detail);
        fill_struct(report, describe(*weights, tile, told));
        return SIDRA_OK;
    });
}
