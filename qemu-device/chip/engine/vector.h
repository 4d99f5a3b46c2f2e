// SPDX-License-Identifier: MIT
// Vector programs as engines execute them: a verified program is decoded once for a packet, and then computes some rows
// at a time. Everything here has passed sidra::vector::verify().
#ifndef SIDRA_CHIP_ENGINE_VECTOR_H
#define SIDRA_CHIP_ENGINE_VECTOR_H

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "sidra_cmd.h"
#include "sidra_vector.h"

namespace sidra::engine {

// One step of a decoded program: an instruction, or the spread of a scalar to a hidden vector register.
struct VectorStep {
    void (*run)(const VectorStep&, void* tile);  // of the engine that decoded the program
    uint8_t dst, a, b, c;                        // numbers of registers, or sources as in sidra_vector_instruction
    uint8_t operand;
    uint8_t state;  // reductions and scans: which state carries over to the next block of columns
    bool in_place;  // loads: use the memory as the register; others: write to the memory that `operand` names
    uint8_t d, e;   // further sources, of steps that are several instructions
    uint32_t imm[2];
};

// Operands of a program, by slot (verify.h).
inline constexpr uint32_t kVectorSlots = SIDRA_VECTOR_OPERANDS_MAX + 3;

// Of a decoded program, besides its steps.
struct VectorProgramTraits {
    uint32_t pass_count;
    uint32_t step_count;            // with those that only describe the sources of another one
    uint32_t extent[kVectorSlots];  // valid indices of gathered operands
    bool in_order;                  // one row at a time
    bool long_rows;                 // several long rows at a time are faster
    uint8_t registers;              // numbers of vector registers are less
    bool row_number;                // uses SIDRA_VECTOR_ROW
};
struct VectorProgram : VectorProgramTraits {
    static constexpr uint32_t kStepsMax = 4 * SIDRA_VECTOR_INSTRUCTIONS_MAX;  // up to three spreads for an instruction
    struct Pass {
        uint16_t first, scalars, end;  // vector steps, then scalar steps
    };
    VectorStep steps[kStepsMax];
    Pass passes[SIDRA_VECTOR_INSTRUCTIONS_MAX];

    VectorProgram() = default;
    VectorProgram(const VectorProgram&) = delete;
    // Copies only those passes and steps that there are.
    VectorProgram& operator=(const VectorProgram& from) {
        VectorProgramTraits::operator=(from);
        std::copy_n(from.passes, pass_count, passes);
        std::copy_n(from.steps, step_count, steps);
        return *this;
    }
};

// Reaches elements of gathered operands whose rows are not contiguous in the host's memory. Both return false if the
// memory is not accessible, and remember the fault.
struct VectorReach {
    void* self;
    bool (*read)(void* self, uint32_t operand, uint32_t row, uint32_t index, void* to);
    bool (*write)(void* self, uint32_t operand, uint32_t row, uint32_t index, const void* from);
};

// Some rows of a packet, and (if the program can be divided so) some of their columns.
struct VectorRows {
    const VectorProgram* program;
    const uint32_t* param;
    uint32_t rows;
    uint32_t cols;
    uint32_t first_row, first_col;
    uint32_t row_cols;  // columns of a whole row
    // For each operand, and each of `rows`: the address of column `first_col`; for gathered operands that of column 0,
    // or null if VectorReach must be used. Operands that the program does not use are not set.
    uint8_t* const* operand[kVectorSlots];
    uint64_t stride[kVectorSlots];  // bytes between columns
    VectorReach reach;
    // Scalar registers of the rows, before and after the program: register s of row r is at [s * scalars_pitch + r].
    // Null: none.
    const uint32_t* scalars_before;
    uint32_t* scalars_after;
    size_t scalars_pitch;
};

enum class VectorEnd : uint8_t {
    kDone,
    kIndex,  // an index is out of range: *bad
    kReach,  // VectorReach failed
};

// Scratch memory that run_vector() needs, 64-byte aligned.
inline constexpr size_t kVectorScratch = 128u << 10;

}  // namespace sidra::engine

#endif
