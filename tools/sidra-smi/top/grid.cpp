// SPDX-License-Identifier: MIT
#include "grid.h"

#include <algorithm>

namespace sidra::top {
namespace {

void append_utf8(std::string& out, char32_t glyph) {
    const auto byte = [&](char32_t value) { out += static_cast<char>(value); };
    if (glyph < 0x80) {
        byte(glyph);
    } else if (glyph < 0x800) {
        byte(0xc0 | glyph >> 6);
        byte(0x80 | (glyph & 0x3f));
    } else {  // only the basic plane is used
        byte(0xe0 | glyph >> 12);
        byte(0x80 | (glyph >> 6 & 0x3f));
        byte(0x80 | (glyph & 0x3f));
    }
}

}  // namespace

Grid::Grid(int width, int height)
    : width_(std::max(width, 0)),
      height_(std::max(height, 0)),
      cells_(static_cast<size_t>(width_) * static_cast<size_t>(height_)) {}

void Grid::put(int x, int y, char32_t glyph, Style style) {
    if (x < 0 || y < 0 || x >= width_ || y >= height_) return;
    cells_[index(x, y)] = {glyph, style};
}

int Grid::text(int x, int y, std::string_view text, Style style, int room) {
    for (const char c : text) {
        if (room-- <= 0) break;
        const bool printable = c >= 0x20 && c < 0x7f;
        put(x++, y, static_cast<char32_t>(printable ? c : '?'), style);
    }
    return x;
}

void Grid::bar(int y, Style style) {
    for (int x = 0; x < width_ && y >= 0 && y < height_; ++x) cells_[index(x, y)].style = style;
}

std::string Grid::row(int y) const {
    std::string out;
    for (int x = 0; x < width_; ++x) append_utf8(out, at(x, y).glyph);
    out.erase(out.find_last_not_of(' ') + 1);
    return out;
}

}  // namespace sidra::top
