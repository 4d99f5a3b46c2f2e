// SPDX-License-Identifier: MIT
// Which crossbars the matrices of a model take on a Y1 chip that has nothing else.
#ifndef SIDRA_OBJDUMP_PLACEMENT_H
#define SIDRA_OBJDUMP_PLACEMENT_H

#include <string>
#include <vector>

#include "file.h"

namespace sidra::objdump {

// What is read of a section.
struct SectionState {
    bool intact = false;     // its hash is right
    bool has_least = false;  // of a matrix: the value -128, which the differential encoding cannot hold
};

// Reads all sections: of the constants (if there are any), then of the matrices with what calibrates their ADCs.
struct Contents {
    SectionState constants;
    std::vector<SectionState> matrices, calibrations;  // those that there are not are intact
    bool intact() const;
};
Contents read_contents(const ModelFile& file);

struct PlacedMatrix {
    format::Encoding encoding{};      // Differential or Offset
    std::vector<uint32_t> crossbars;  // by tile, row-major
    uint32_t tile_rows = 0, tile_columns = 0;
};

struct Placement {
    std::string problem;                 // why the chip cannot take the model; empty: it can
    std::vector<PlacedMatrix> matrices;  // as many as the model has, if there is no problem; otherwise those that fit
    uint64_t taken = 0;                  // crossbars
    size_t by_file = 0;                  // matrices that are where the file has placed them
};

// Crossbars that a matrix needs with this encoding.
uint64_t crossbars_of(const format::Matrix& matrix, format::Encoding encoding);

// As libsidra deploys a model, on a chip that has nothing else: first the matrices that the file has placed.
Placement place(const format::Model& model, const Contents& contents);

}  // namespace sidra::objdump

#endif
