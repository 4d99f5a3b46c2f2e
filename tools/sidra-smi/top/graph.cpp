// SPDX-License-Identifier: MIT
#include "graph.h"

#include <algorithm>
#include <cmath>
#include <string_view>

namespace sidra::top {
namespace {

// From the smallest visible value to a full cell.
constexpr std::u32string_view kBlocks = U"▁▂▃▄▅▆▇█";
constexpr std::u32string_view kAscii = U".:#";

Style style_of(double value, const Scale& scale) {
    if (scale.critical && value >= *scale.critical) return Style::kCritical;
    if (scale.warning && value >= *scale.warning) return Style::kWarning;
    return Style::kGood;
}

void draw_line(Grid& grid, const Rect& place, double at, double top, char32_t glyph, Style style) {
    if (!(at > 0) || at > top) return;
    const int row = std::clamp(static_cast<int>(at / top * place.height), 0, place.height - 1);
    for (int x = 0; x < place.width; ++x) grid.put(place.x + x, place.y + place.height - 1 - row, glyph, style);
}

}  // namespace

void draw_graph(Grid& grid, const Rect& place, const History& history, const Scale& scale, bool unicode) {
    if (place.empty() || !(scale.top > 0)) return;
    // Lines need at least a second row.
    if (place.height > 1) {
        const char32_t line = unicode ? U'╌' : U'-';
        if (scale.warning) draw_line(grid, place, *scale.warning, scale.top, line, Style::kDim);
        if (scale.critical) draw_line(grid, place, *scale.critical, scale.top, line, Style::kDim);
    }
    const std::u32string_view glyphs = unicode ? kBlocks : kAscii;
    const int steps = static_cast<int>(glyphs.size());
    for (int column = 0; column < place.width; ++column) {
        const auto value = history.at(static_cast<size_t>(place.width - 1 - column));
        if (!value) continue;
        const double part = std::clamp(*value / scale.top, 0.0, 1.0);
        const int filled = std::max(1, static_cast<int>(std::lround(part * place.height * steps)));
        const Style style = style_of(*value, scale);
        for (int row = 0; row * steps < filled; ++row)
            grid.put(place.x + column, place.y + place.height - 1 - row,
                     glyphs[static_cast<size_t>(std::min(filled - row * steps, steps) - 1)], style);
    }
}

}  // namespace sidra::top
