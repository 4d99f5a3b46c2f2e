// SPDX-License-Identifier: MIT
#include "screen.h"

#include <fmt/format.h>

#include <algorithm>

#include "common/units.h"
#include "graph.h"
#include "keys.h"
#include "layout.h"
#include "overview.h"
#include "processes.h"
#include "units.h"

namespace sidra::top {
namespace {

struct Look {
    const char* title;
    const char* short_title;
};
constexpr Look kLooks[kSeries] = {{"MVM", "MVM"},     {"Vector", "Vec"},       {"Copy", "Copy"}, {"Program", "Prog"},
                                  {"Power", "Power"}, {"Temperature", "Temp"}, {"DMA", "DMA"},   {"Cells", "Cells"}};

const History& history_of(const Chip& chip, Series series) { return chip.series[static_cast<size_t>(series)]; }

Scale scale_of(const Chip& chip, Series series, size_t columns) {
    const double largest = history_of(chip, series).largest(columns);
    switch (series) {
        case Series::kPower:
            return {chip.power_limit.value_or(round_up(largest)), chip.power_limit, {}};
        case Series::kTemperature:
            return {chip.temperature_critical.value_or(round_up(largest)), chip.temperature_max,
                    chip.temperature_critical};
        case Series::kDma:
        case Series::kCells:
            return {round_up(largest), {}, {}};
        default:
            return {100, {}, {}};
    }
}

// The latest value with its limits, followed by shorter forms.
std::vector<std::string> figures(const Chip& chip, Series series) {
    const auto value = history_of(chip, series).at(0);
    const auto limit = [](std::optional<double> of) { return fmt::format("{:.4g}", *of); };
    switch (series) {
        case Series::kPower:
            if (!value || !chip.power_limit) return {fixed(value, 1, "W")};
            return {fmt::format("{:.1f} of {} W", *value, limit(chip.power_limit)), fixed(value, 1, "W")};
        case Series::kTemperature: {
            if (!value || !chip.temperature_max || !chip.temperature_critical) return {fixed(value, 1, "C")};
            const std::string slow = limit(chip.temperature_max), stop = limit(chip.temperature_critical);
            return {fmt::format("{:.1f} C, throttles at {}, stops at {}", *value, slow, stop),
                    fmt::format("{:.0f}/{}/{} C", *value, slow, stop), fixed(value, 1, "C")};
        }
        case Series::kDma:
            return {tools::scaled(value, "B/s")};
        case Series::kCells:
            return {tools::scaled(value, "/s")};
        default:
            return {fixed(value, 0, "%")};
    }
}

// The first form that fits, or the last one.
std::string figure(const Chip& chip, Series series, int room) {
    std::vector<std::string> forms = figures(chip, series);
    for (const std::string& form : forms)
        if (static_cast<int>(form.size()) <= room) return form;
    return forms.back();
}

Style figure_style(const Chip& chip, Series series) {
    const auto value = history_of(chip, series).at(0);
    if (!value) return Style::kDim;
    const Scale scale = scale_of(chip, series, 1);
    if (scale.critical && *value >= *scale.critical) return Style::kCritical;
    if (scale.warning && *value >= *scale.warning) return Style::kWarning;
    return Style::kPlain;
}

void draw_panel(Grid& grid, const Rect& place, const Chip& chip, Series series, bool unicode) {
    if (place.empty()) return;
    const Look& look = kLooks[static_cast<size_t>(series)];
    // A short title leaves space for limits.
    const std::string text =
        figure(chip, series, place.width - static_cast<int>(std::string_view(look.short_title).size()) - 1);
    std::string_view title = look.title;
    if (static_cast<int>(title.size() + 1 + text.size()) > place.width) title = look.short_title;
    grid.text(place.x, place.y, title, Style::kTitle, place.width);
    grid.text(place.x + place.width - static_cast<int>(text.size()), place.y, text, figure_style(chip, series));
    const Rect graph = {place.x, place.y + 1, place.width, place.height - 1};
    draw_graph(grid, graph, history_of(chip, series), scale_of(chip, series, static_cast<size_t>(place.width)),
               unicode);
}

void draw_line(Grid& grid, const Rect& place, const Chip& chip, Series series, bool unicode) {
    if (place.empty()) return;
    constexpr int kTitle = 6, kFigure = 12, kGraphFrom = kTitle + kFigure + 1;
    const std::string text = figure(chip, series, kFigure);
    grid.text(place.x, place.y, kLooks[static_cast<size_t>(series)].short_title, Style::kTitle, place.width);
    grid.text(place.x + kTitle, place.y, text, figure_style(chip, series), place.width - kTitle);
    const Rect graph = {place.x + kGraphFrom, place.y, place.width - kGraphFrom, 1};
    if (graph.width >= 4)
        draw_graph(grid, graph, history_of(chip, series), scale_of(chip, series, static_cast<size_t>(graph.width)),
                   unicode);
}

void draw_map(Grid& grid, const Rect& place, const Chip& chip, HeatKey key, bool unicode) {
    if (place.empty()) return;
    const HeatMap map = reduce(chip.crossbars, chip.geometry, key, place.width, place.height - 2);
    const std::string used =
        chip.crossbars_used && chip.crossbars_total
            ? fmt::format("{:.0f} of {:.0f} programmed", *chip.crossbars_used, *chip.crossbars_total)
            : std::string("-");
    grid.text(place.x, place.y, fmt::format("Crossbars: {}   {}", name_of(key), used), Style::kTitle, place.width);
    if (map.rows.empty()) {
        const std::string& why = chip.crossbars_absent;
        grid.text(place.x, place.y + 1, why.empty() ? "no map of crossbars" : why, Style::kDim, place.width);
        return;
    }
    draw_heat(grid, place.x, place.y + 1, map, key, unicode);
    draw_legend(grid, place.x, place.y + 1 + static_cast<int>(map.rows.size()), map, key, unicode, place.width);
}

// The status comes first if space is short, so that it is not cut off.
void draw_header(Grid& grid, const Rect& place, const std::vector<Chip>& chips, const Choice& choice) {
    const Chip& chip = chips[choice.chip];
    const bool bad = chip.gone || chip.state == "stale";
    const Style style = bad ? Style::kCritical : Style::kBar;
    const std::string number = fmt::format("#{}", choice.chip);
    const std::string of = chips.size() > 1 ? fmt::format("{} of {}  ", number, chips.size()) : std::string();
    const std::string state = (chip.gone ? "gone" : chip.state) + (choice.paused ? " paused" : "");
    const std::string whole = of + chip.name + " " + state;
    const std::string brief = state + " " + (chips.size() > 1 ? number + " " : std::string()) + chip.name;
    const bool fits = static_cast<int>(whole.size()) <= place.width;
    int x = grid.text(place.x, place.y, fits ? whole : brief, style, place.width);
    const std::string every = fmt::format("every {:g} s", kIntervals[choice.interval]);
    const std::string detail = "  " + chip.detail;
    const int room = place.width - x - static_cast<int>(every.size()) - 1;
    if (room >= static_cast<int>(detail.size())) grid.text(x, place.y, detail, style);
    if (room >= 0) grid.text(place.width - static_cast<int>(every.size()), place.y, every, style);
    grid.bar(place.y, style);
}

void draw_footer(Grid& grid, const Rect& place) {
    if (place.empty()) return;
    int x = place.x;
    for (const Help& key : keys()) {
        const int needed = static_cast<int>(std::string_view(key.keys).size() + 1 + std::string_view(key.what).size());
        if (x + needed > place.x + place.width) break;
        x = grid.text(x, place.y, key.keys, Style::kTitle) + 1;
        x = grid.text(x, place.y, key.what, Style::kPlain) + 2;
    }
}

// Draws a text with line breaks between words. Returns the row after it.
int paragraph(Grid& grid, const Rect& place, std::string_view text, Style style) {
    const auto room = static_cast<size_t>(std::max(place.width, 1));
    int row = place.y;
    do {
        size_t end = text.size();
        if (end > room) {
            end = text.rfind(' ', room);
            if (end == text.npos || end == 0) end = room;
        }
        if (row < place.y + place.height) grid.text(place.x, row, text.substr(0, end), style);
        ++row;
        text.remove_prefix(std::min(text.find_first_not_of(' ', end), text.size()));
    } while (!text.empty());
    return row;
}

void draw_help(Grid& grid, const Rect& place) {
    constexpr int kKeys = 8;
    const int bottom = place.y + place.height;
    int row = place.y;
    for (const Help& key : keys()) {
        if (row < bottom) grid.text(place.x, row, key.keys, Style::kTitle, place.width);
        row = paragraph(grid, {place.x + kKeys, row, place.width - kKeys, bottom - row}, key.about, Style::kPlain);
    }
    for (const char* text :
         {"A column of a graph is one reading, the newest at the right. The top of an engine is 100 %, of power its "
          "limit, of temperature the shutdown limit, and of the others their highest value.",
          "-  not measured, or not readable (sidra-smi query --why)."})
        row = paragraph(grid, {place.x, row + 1, place.width, bottom - row - 1}, text, Style::kDim);
}

}  // namespace

Grid draw(const std::vector<Chip>& chips, const Choice& choice, int width, int height, bool unicode) {
    Grid grid(width, height);
    if (choice.chip >= chips.size()) return grid;
    const Layout layout = lay_out(width, height, chips.size(), choice.all);
    const Chip& chip = chips[choice.chip];
    draw_header(grid, layout.header, chips, choice);
    draw_footer(grid, layout.footer);
    if (choice.help) {
        draw_help(grid, {0, 1, width, height - 2});
        return grid;
    }
    draw_overview(grid, layout.overview, chips, choice);
    draw_info(grid, layout.info, chip);
    for (size_t i = 0; i < kSeries; ++i) {
        draw_panel(grid, layout.panels[i], chip, static_cast<Series>(i), unicode);
        draw_line(grid, layout.lines[i], chip, static_cast<Series>(i), unicode);
    }
    draw_map(grid, layout.heat, chip, choice.heat, unicode);
    draw_processes(grid, layout.processes, chip, choice);
    return grid;
}

}  // namespace sidra::top
