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

// How the chip is divided; all three at least 1, and their product the number of crossbars.
struct Geometry {
    uint32_t clusters = 1, cus = 1, crossbars = 1;
    uint64_t count() const { return uint64_t{clusters} * cus * crossbars; }
};

// The same crossbars as rows and columns of cells, each of which stands for at most `group` crossbars.
struct HeatMap {
    std::vector<std::vector<double>> rows;  // 0 to 1, relative to `most`
    uint32_t group = 1;
    double most = 0;              // the value of 1: 256 rows, or the maximum over the crossbars
    const char* row_is = "";      // what a row stands for: "CU", "cluster"
    uint32_t clusters_a_row = 1;  // clusters in each row
};

// A row of cells is a CU if there is room for that, else a cluster, else several. Of the crossbars of a cell the mean
// of use and the worst of wear and bad cells count: one that wears out must not hide among others.
HeatMap reduce(std::span<const Crossbar> crossbars, const Geometry& geometry, HeatKey key, int width, int height);

// In steps from zero to `most`; every value above zero differs from zero.
void draw_heat(Grid& grid, int x, int y, const HeatMap& map, HeatKey key, bool unicode);
// Explains the glyphs. Returns the place behind the text.
int draw_legend(Grid& grid, int x, int y, const HeatMap& map, HeatKey key, bool unicode, int room);

const char* name_of(HeatKey key);

}  // namespace sidra::top

#endif
