// SPDX-License-Identifier: MIT
// A screen of cells without a terminal, so that tests can check the drawing.
#ifndef SIDRA_SMI_TOP_GRID_H
#define SIDRA_SMI_TOP_GRID_H

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace sidra::top {

// The meaning of a cell; the terminal defines its appearance.
enum class Style : unsigned char { kPlain, kDim, kTitle, kGood, kWarning, kCritical, kBar, kCount };

struct Cell {
    char32_t glyph = U' ';
    Style style = Style::kPlain;
    bool operator==(const Cell&) const = default;
};

struct Rect {
    int x = 0, y = 0, width = 0, height = 0;
    bool empty() const { return width <= 0 || height <= 0; }
};

// Drawing outside is clipped.
class Grid {
   public:
    Grid(int width, int height);

    int width() const { return width_; }
    int height() const { return height_; }
    const Cell& at(int x, int y) const { return cells_[index(x, y)]; }

    void put(int x, int y, char32_t glyph, Style style);
    // Bytes other than printable ASCII appear as '?', one cell each: they come from names of processes and files, and
    // could be terminal control sequences. At most `room` cells. Returns the position after the text.
    int text(int x, int y, std::string_view text, Style style, int room = 1 << 20);
    // Sets the style of a whole row.
    void bar(int y, Style style);

    // Returns a row as UTF-8 without trailing spaces.
    std::string row(int y) const;

   private:
    size_t index(int x, int y) const {
        return static_cast<size_t>(y) * static_cast<size_t>(width_) + static_cast<size_t>(x);
    }

    int width_, height_;
    std::vector<Cell> cells_;
};

}  // namespace sidra::top

#endif
