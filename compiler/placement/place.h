// SPDX-License-Identifier: MIT
// Placement: a crossbar for each tile of each matrix, near those that it exchanges values with.
//
// Values go through the memory of a compute unit, through that of the cluster, or through that of the chip. So two
// tiles have a distance of 0, 1 or 2: in one compute unit, in one cluster, or neither. The cost of a placement is the
// sum, over all flows between two matrices, of their bytes times the mean distance of the tiles. Copies of a matrix are
// apart: a placement with fewer of their tiles in one cluster, and then in one compute unit, is better whatever else it
// costs.
#ifndef SIDRA_COMPILER_PLACE_H
#define SIDRA_COMPILER_PLACE_H

#include <cstdint>
#include <span>
#include <vector>

namespace sidra::compiler {

struct PlacedChip {
    uint32_t clusters, cus_per_cluster, crossbars_per_cu;
    std::vector<uint32_t> usable;  // crossbars, each once; in a compute unit those in front are taken first

    uint32_t units() const { return clusters * cus_per_cluster; }
};

struct PlacedMatrix {
    uint32_t tile_rows, tile_columns;
    uint32_t original = 0;  // the same number: copies of one matrix
    uint32_t copy = 0;

    uint32_t tiles() const { return tile_rows * tile_columns; }
};

// So many bytes go from the results of one matrix to the inputs of another one, or between the tiles of one.
struct Flow {
    uint32_t from, to;
    double bytes;
};

// The crossbars of each matrix, tile by tile, row-major; none if the chip has too few. The result depends on nothing
// but the arguments. It is the best that a search finds in so many steps, which need not be the best of all placements.
using Placement = std::vector<std::vector<uint32_t>>;
Placement place(const PlacedChip& chip, std::span<const PlacedMatrix> matrices, std::span<const Flow> flows);

// What place() minimises: first the closeness of copies, then the flows.
struct PlacementCost {
    double closeness = 0;  // sum over pairs of copies of 2 minus the mean distance of their tiles
    double flows = 0;      // bytes times distance
};
PlacementCost cost_of(const PlacedChip& chip, std::span<const PlacedMatrix> matrices, std::span<const Flow> flows,
                      const Placement& placement);

}  // namespace sidra::compiler

#endif
