// SPDX-License-Identifier: MIT
// The values of one matrix: statistics, and a file of NumPy.
#ifndef SIDRA_OBJDUMP_MATRIX_H
#define SIDRA_OBJDUMP_MATRIX_H

#include <array>
#include <string>

#include "common/json.h"
#include "file.h"

namespace sidra::objdump {

struct MatrixStatistics {
    int least = 0, most = 0;
    uint64_t zeros = 0;
    double mean = 0, mean_magnitude = 0;
    std::array<uint64_t, 8> eighths{};  // values of -128..-97, -96..-65, ..., 96..127
    bool intact = false;
};

// The number of the matrix that a person names: its number, or its name. Throws tools::Failure.
uint32_t find_matrix(const format::Model& model, const std::string& wanted);

MatrixStatistics statistics_of(const ModelFile& file, uint32_t matrix);
std::string matrix_text(const format::Model& model, uint32_t matrix, const MatrixStatistics& statistics);
tools::Json matrix_json(const format::Model& model, uint32_t matrix, const MatrixStatistics& statistics);

// The matrix as a file of NumPy (.npy), k x n values of int8. Throws std::runtime_error if it is damaged, or larger
// than 4 GiB.
std::string matrix_npy(const ModelFile& file, uint32_t matrix);

}  // namespace sidra::objdump

#endif
