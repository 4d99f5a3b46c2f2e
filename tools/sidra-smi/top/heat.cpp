// SPDX-License-Identifier: MIT
#include "heat.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <string_view>

namespace sidra::top {
namespace {

constexpr double kRows = 256;
// Zero, and steps up to the maximum. ASCII has more steps, because its characters are easier to distinguish.
constexpr std::u32string_view kShades = U"·░▒▓█";
constexpr std::u32string_view kAscii = U".-=+*%#@";

double value_of(const Crossbar& one, HeatKey key) {
    switch (key) {
        case HeatKey::kUse:
            return std::min<double>(one.rows, kRows);
        case HeatKey::kWear:
            return one.programs;
        default:
            return one.bad_cells;
    }
}

Style style_of(double part, HeatKey key) {
    if (part <= 0) return Style::kDim;
    if (key == HeatKey::kUse || part < 0.5) return Style::kGood;
    return part < 0.9 ? Style::kWarning : Style::kCritical;
}

char32_t glyph_of(double part, bool unicode) {
    const std::u32string_view glyphs = unicode ? kShades : kAscii;
    if (part <= 0) return glyphs[0];
    const double steps = static_cast<double>(glyphs.size() - 1);
    return glyphs[static_cast<size_t>(std::clamp(std::ceil(part * steps), 1.0, steps))];
}

uint64_t divide_up(uint64_t a, uint64_t b) { return (a + b - 1) / b; }

}  // namespace

const char* name_of(HeatKey key) {
    switch (key) {
        case HeatKey::kUse:
            return "use";
        case HeatKey::kWear:
            return "wear";
        default:
            return "stuck cells";
    }
}

HeatMap reduce(std::span<const Crossbar> crossbars, const Geometry& geometry, HeatKey key, int width, int height) {
    HeatMap map;
    if (width <= 0 || height <= 0 || crossbars.empty() || geometry.count() != crossbars.size()) return map;
    const uint64_t most_rows = static_cast<uint64_t>(height), most_columns = static_cast<uint64_t>(width);
    uint64_t a_row = 0;
    if (uint64_t{geometry.clusters} * geometry.cus <= most_rows) {
        map.row_is = "CU";
        a_row = geometry.crossbars;
    } else {
        map.clusters_a_row = static_cast<uint32_t>(divide_up(geometry.clusters, most_rows));
        map.row_is = "cluster";
        a_row = uint64_t{geometry.cus} * geometry.crossbars * map.clusters_a_row;
    }
    map.group = static_cast<uint32_t>(divide_up(a_row, most_columns));
    map.most = key == HeatKey::kUse ? kRows : 0;
    for (const Crossbar& one : crossbars) map.most = std::max(map.most, value_of(one, key));
    for (uint64_t first = 0; first < crossbars.size(); first += a_row) {
        const auto row = crossbars.subspan(first, std::min<uint64_t>(a_row, crossbars.size() - first));
        std::vector<double>& cells = map.rows.emplace_back();
        for (size_t at = 0; at < row.size(); at += map.group) {
            const auto group = row.subspan(at, std::min<size_t>(map.group, row.size() - at));
            double sum = 0, worst = 0;
            for (const Crossbar& one : group) {
                sum += value_of(one, key);
                worst = std::max(worst, value_of(one, key));
            }
            const double value = key == HeatKey::kUse ? sum / static_cast<double>(group.size()) : worst;
            cells.push_back(map.most > 0 ? value / map.most : 0);
        }
    }
    return map;
}

void draw_heat(Grid& grid, int x, int y, const HeatMap& map, HeatKey key, bool unicode) {
    for (size_t row = 0; row < map.rows.size(); ++row)
        for (size_t column = 0; column < map.rows[row].size(); ++column) {
            const double part = map.rows[row][column];
            grid.put(x + static_cast<int>(column), y + static_cast<int>(row), glyph_of(part, unicode),
                     style_of(part, key));
        }
}

int draw_legend(Grid& grid, int x, int y, const HeatMap& map, HeatKey key, bool unicode, int room) {
    const char* const what = key == HeatKey::kUse    ? "rows used"
                             : key == HeatKey::kWear ? "times programmed"
                                                     : "stuck cells";
    const std::string before = fmt::format("shade = {}, 0 ", what);
    const std::string most = fmt::format(" {:.0f}", map.most);
    const auto several = [](uint64_t count, std::string_view of) {
        return fmt::format("{} {}{}", count, of, count == 1 ? "" : "s");
    };
    const std::string line = several(map.clusters_a_row, map.row_is);
    const std::string forms[] = {fmt::format("; 1 line = {}, 1 character = {}", line, several(map.group, "crossbar")),
                                 fmt::format("; line = {}, character = {}", line, map.group), ""};
    const int glyphs = static_cast<int>((unicode ? kShades : kAscii).size());
    const int needed = static_cast<int>(before.size() + most.size()) + glyphs;
    if (needed > room) return x;
    x = grid.text(x, y, before, Style::kDim);
    for (int step = 0; step < glyphs; ++step) {
        const double part = static_cast<double>(step) / (glyphs - 1);
        grid.put(x++, y, glyph_of(part, unicode), style_of(part, key));
    }
    x = grid.text(x, y, most, Style::kDim);
    for (const std::string& form : forms)
        if (needed + static_cast<int>(form.size()) <= room) return grid.text(x, y, form, Style::kDim);
    return x;
}

}  // namespace sidra::top
