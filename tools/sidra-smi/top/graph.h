// SPDX-License-Identifier: MIT
// A history as columns, the newest at the right.
#ifndef SIDRA_SMI_TOP_GRAPH_H
#define SIDRA_SMI_TOP_GRAPH_H

#include <optional>

#include "grid.h"
#include "history.h"

namespace sidra::top {

struct Scale {
    double top = 1;  // what fills the height
    std::optional<double> warning,
        critical;  // from here on a column has the style of that name; lines at these heights
};

// Eight steps a row, without `unicode` three. What is above the top fills the column. A column of an absent value is
// empty; zero, and all that is too little for a step, is a mark on the lowest row.
void draw_graph(Grid& grid, const Rect& place, const History& history, const Scale& scale, bool unicode);

}  // namespace sidra::top

#endif
