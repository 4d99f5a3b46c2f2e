// SPDX-License-Identifier: MIT
// Draws a history as columns, the newest at the right.
#ifndef SIDRA_SMI_TOP_GRAPH_H
#define SIDRA_SMI_TOP_GRAPH_H

#include <optional>

#include "grid.h"
#include "history.h"

namespace sidra::top {

struct Scale {
    double top = 1;  // value at the full height
    std::optional<double> warning,
        critical;  // from this value on, columns have this style; lines are drawn at these values
};

// Eight steps per row, or three without `unicode`. Values above `top` fill the column. Absent values leave a column
// empty; zero and very small values are a mark on the lowest row.
void draw_graph(Grid& grid, const Rect& place, const History& history, const Scale& scale, bool unicode);

}  // namespace sidra::top

#endif
