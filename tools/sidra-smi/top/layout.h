// SPDX-License-Identifier: MIT
// Where things are on a screen of any size.
#ifndef SIDRA_SMI_TOP_LAYOUT_H
#define SIDRA_SMI_TOP_LAYOUT_H

#include <array>

#include "grid.h"
#include "view.h"

namespace sidra::top {

// What there is no room for is empty. Nothing overlaps, and nothing is outside of the screen.
struct Layout {
    Rect header;                       // one row
    std::array<Rect, kSeries> panels;  // a title, and a graph below it
    std::array<Rect, kSeries> lines;   // of a small screen: a figure each, in a row
    Rect heat;                         // a title, the map, a legend
    Rect processes;                    // a title, and a row each
    Rect footer;                       // one row
};

Layout lay_out(int width, int height);

}  // namespace sidra::top

#endif
