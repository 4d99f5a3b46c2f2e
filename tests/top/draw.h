// SPDX-License-Identifier: MIT
// Shared by the tests of the screen.
#ifndef SIDRA_TEST_TOP_DRAW_H
#define SIDRA_TEST_TOP_DRAW_H

#include <initializer_list>
#include <string>
#include <vector>

#include "grid.h"
#include "history.h"
#include "view.h"

namespace sidra::top {

inline std::vector<std::string> rows_of(const Grid& grid) {
    std::vector<std::string> rows;
    for (int y = 0; y < grid.height(); ++y) rows.push_back(grid.row(y));
    return rows;
}

inline void push(History& history, std::initializer_list<std::optional<double>> values) {
    for (const auto& value : values) history.push(value);
}

// A chip that has everything, each value another one.
Chip whole_chip();

}  // namespace sidra::top

#endif
