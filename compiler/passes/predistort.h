// SPDX-License-Identifier: MIT
// Weights that are right behind the wires of a crossbar: what the pass xnn-predistort does to one matrix.
#ifndef SIDRA_COMPILER_PREDISTORT_H
#define SIDRA_COMPILER_PREDISTORT_H

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace sidra::compiler {

// A part of a matrix on one crossbar, in differential encoding: at most 256 x 128.
struct Tile {
    const int8_t* codes;
    size_t stride;  // of a row, in codes
    size_t rows, columns;
};

// The weights by which the tile multiplies at level accurate, dense: cells have exactly their levels, wires lose
// voltage, and the chip subtracts the mean error of each column.
std::vector<double> effective_weights(const Tile& tile);

struct Predistorted {
    std::vector<int8_t> codes;
    std::vector<double> gains;  // of each column; never 0
};

// Codes whose effective weights are gain * code of the matrix (rows x columns), as closely as whole codes can be. Takes
// some 45 ms for each crossbar of the matrix, and memory of 4 bytes for each weight.
Predistorted predistort(std::span<const int8_t> codes, size_t rows, size_t columns);

}  // namespace sidra::compiler

#endif
