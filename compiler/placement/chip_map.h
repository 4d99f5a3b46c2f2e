// SPDX-License-Identifier: MIT
// The map of a chip: which crossbars a placement may use. `sidra-smi map` writes it; docs/compiler.md describes it.
#ifndef SIDRA_COMPILER_CHIP_MAP_H
#define SIDRA_COMPILER_CHIP_MAP_H

#include <cstdint>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

namespace sidra::compiler {

// A share of 1 % of a crossbar's cells: with so many bad ones or more it is not used, unless the user says otherwise.
inline constexpr uint32_t kBadCells = 656;

struct ChipMapError : std::runtime_error {
    using runtime_error::runtime_error;
};

// Crossbars are numbered through: those of a compute unit are neighbours, as are the units of a cluster.
struct ChipMap {
    uint32_t clusters = 0, cus_per_cluster = 0, crossbars_per_cu = 0;
    std::vector<uint32_t> bad_cells;  // of each crossbar
    std::vector<bool> in_use;         // by other matrices

    uint32_t crossbars() const { return clusters * cus_per_cluster * crossbars_per_cu; }
};

// Throws ChipMapError, whose text says what is wrong, but not in which file.
ChipMap parse_chip_map(std::string_view text);
// Throws ChipMapError with the name of the file.
ChipMap read_chip_map(const std::string& path);

}  // namespace sidra::compiler

#endif
