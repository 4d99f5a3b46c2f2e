// SPDX-License-Identifier: MIT
// A map of all crossbars of a chip in the space that is available.
#ifndef SIDRA_SMI_TOP_HEAT_H
#define SIDRA_SMI_TOP_HEAT_H

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "grid.h"

namespace sidra::top {

enum class HeatKey : unsigned char { kUse, kWear, kBad, kCount };

struct Crossbar {
    uint16_t rows = 0;      // in use, of 256
    uint32_t programs = 0;  // wear
    uint32_t bad_cells = 0;
};

// The structure of the chip: all three at least 1; their product is the number of crossbars.
struct Geometry {
    uint32_t clusters = 1, cus = 1, crossbars = 1;
    uint64_t count() const { return uint64_t{clusters} * cus * crossbars; }
};

// The crossbars as rows and columns of cells, each of which represents at most `group` crossbars.
struct HeatMap {
    std::vector<std::vector<double>> rows;  // 0 to 1, relative to `most`
    uint32_t group = 1;
    double most = 0;              // the value that is 1: 256 rows, or the maximum over the crossbars
    const char* row_is = "";      // unit of a row: "CU", "cluster"
    uint32_t clusters_a_row = 1;  // clusters in each row
};

// A row of cells is one CU if there is enough space, else one or several clusters. A cell shows the mean of use, but
// the maximum of wear and bad cells, so that a worn crossbar is not hidden.
HeatMap reduce(std::span<const Crossbar> crossbars, const Geometry& geometry, HeatKey key, int width, int height);

// In steps from zero to `most`; values above zero are always distinct from zero.
void draw_heat(Grid& grid, int x, int y, const HeatMap& map, HeatKey key, bool unicode);
// Draws the legend. Returns the position after the text.
int draw_legend(Grid& grid, int x, int y, const HeatMap& map, HeatKey key, bool unicode, int room);

const char* name_of(HeatKey key);

}  // namespace sidra::top

#endif
