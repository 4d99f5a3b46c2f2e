// SPDX-License-Identifier: MIT
// The arrangement of a screen of any size.
#ifndef SIDRA_SMI_TOP_LAYOUT_H
#define SIDRA_SMI_TOP_LAYOUT_H

#include <array>
#include <cstddef>

#include "grid.h"
#include "view.h"

namespace sidra::top {

// Parts without space are empty. Parts do not overlap, and are inside the screen.
struct Layout {
    Rect header;                       // one row
    Rect overview;                     // all chips: a header and one row each
    Rect info;                         // figures of the selected chip: one row
    std::array<Rect, kSeries> panels;  // a title with a graph below
    std::array<Rect, kSeries> lines;   // on a small screen: one row each
    Rect heat;                         // a title, the map, a legend
    Rect processes;                    // a title and one row each
    Rect footer;                       // one row
};

// `all`: the overview takes the whole screen.
Layout lay_out(int width, int height, size_t chips, bool all);

}  // namespace sidra::top

#endif
