// SPDX-License-Identifier: MIT
// A screen as cells, which knows no terminal: what is drawn can be looked at by a test.
#ifndef SIDRA_SMI_TOP_GRID_H
#define SIDRA_SMI_TOP_GRID_H

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace sidra::top {

// What a cell means; the terminal has a look for each.
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

// What lies outside of it is not drawn: nobody who draws needs to look.
class Grid {
   public:
    Grid(int width, int height);

    int width() const { return width_; }
    int height() const { return height_; }
    const Cell& at(int x, int y) const { return cells_[index(x, y)]; }

    void put(int x, int y, char32_t glyph, Style style);
    // Bytes that are no printable ASCII appear as '?', one cell each: they come from names of processes and files, and
    // a terminal may do anything with them. Not beyond `room` cells. Returns the place behind the text.
    int text(int x, int y, std::string_view text, Style style, int room = 1 << 20);
    // One style for a whole row.
    void bar(int y, Style style);

    // A row as UTF-8 without spaces at its end.
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
