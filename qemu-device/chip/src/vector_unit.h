// SPDX-License-Identifier: MIT
// Vector programs on rows of memory, for all packets that have one: reads program and operands, and runs the program on
// some rows.
#ifndef SIDRA_CHIP_VECTOR_UNIT_H
#define SIDRA_CHIP_VECTOR_UNIT_H

#include <array>
#include <cstdint>
#include <span>

#include "job.h"
#include "verify.h"

namespace sidra::chip {

using Instructions = std::array<sidra_vector_instruction, SIDRA_VECTOR_INSTRUCTIONS_MAX>;
using Operands = std::array<sidra_operand, SIDRA_VECTOR_OPERANDS_MAX>;

inline constexpr uint64_t kVectorUnitCost = 1u << 19;  // of all elements of a unit: some 50 us with vectors
inline constexpr uint64_t kVectorUnitRows = 1024;
inline constexpr uint64_t kVectorUnitBytes = 4u << 20;   // of the elements of a unit, in all operands
inline constexpr uint64_t kVectorBlockCols = 4096;       // units have a multiple of so many columns, all, or fewer
inline constexpr uint64_t kVectorCostsPerOperation = 4;  // UnitLoad counts elements
inline constexpr uint64_t kVectorCostsPerNs = 8;         // estimate for slices

inline Fault program_fault(const vector::Verdict& verdict) { return {SIDRA_FAULT_PROGRAM, verdict.address()}; }

// Copies the instructions and operands that a packet names.
Fault read_program(const Env& env, uint64_t program, uint32_t instructions, uint64_t table, uint32_t operand_count,
                   Instructions* code, Operands* operands);

// Fills in the plan of a verified program: its operands and its iteration space.
void plan_vector(std::span<const sidra_operand> operands, const uint32_t (&size)[SIDRA_OPERAND_DIMS],
                 const vector::Traits& traits, VectorPlan* plan);
// Of a plan whose dimensions are final: which operands have their rows at equal distances.
void find_steps(VectorPlan* plan);
// Gives the operands of a table the strides between columns that they have in the plan.
void take_strides(const VectorPlan& plan, std::span<sidra_operand> operands);
// Decodes a verified program for the engine. `operands` are those of the table, with the strides of the plan.
void decode(const Env& env, std::span<const sidra_vector_instruction> program, std::span<const sidra_operand> operands,
            const vector::Packet& packet, const vector::Traits& traits, engine::VectorProgram* decoded);

// What the operands of a plan ask of a unit.
struct VectorLoad {
    uint64_t bytes = 1;    // of a column in all operands, for copies
    uint64_t pieces = 0;   // operands whose rows are one range each
    uint64_t strided = 0;  // those whose elements are, once for each instruction that gathers or scatters
};
VectorLoad vector_load(const VectorPlan& plan);
// How many rows of `cols` columns a unit may have.
uint64_t unit_rows(const VectorLoad& load, uint64_t cols, uint64_t cost, uint64_t rows);
UnitLoad unit_load(const VectorLoad& load, const VectorPlan& plan, uint64_t rows, uint64_t cols, uint64_t cost);

// Part of the iteration space. Passed in registers: who reads a copy of it from memory at once would wait for its
// parts.
struct VectorArea {
    uint32_t first_row, rows, first_col, cols;
};

// Runs a program on part of its rows. May be used for several areas, one after another.
class VectorUnit {
   public:
    VectorUnit(const Env& env, const VectorPlan& plan, const engine::VectorProgram& program, const uint32_t* param,
               Worker& worker)
        : plan_(plan),
          worker_(worker),
          dma_(env.bus, worker.tlb, env.space),
          env_(env),
          program_(program),
          param_(param) {}

    // The rows of an operand that the packet gives to the program: the first column of the area, in each row of it.
    void give(vector::Slot slot, uint8_t* first, uint64_t row_stride, uint64_t col_stride) {
        given_[slot - vector::kSums] = {first, nullptr, row_stride, col_stride};
    }
    void give(vector::Slot slot, uint8_t* const* rows, uint64_t col_stride) {
        given_[slot - vector::kSums] = {nullptr, rows, 0, col_stride};
    }
    // Scalar registers before and after: [register * pitch + row of the area].
    void scalars_before(const uint32_t* scalars, size_t pitch) { before_ = scalars, pitch_ = pitch; }
    void scalars_after(uint32_t* scalars, size_t pitch) { after_ = scalars, pitch_ = pitch; }

    Fault run(VectorArea area);

   private:
    // The rows of an operand in the area: where the host has them, or copies of them.
    struct UnitOperand {
        // Offsets in the operand (Grid).
        uint64_t first;     // of the first row's first byte
        uint64_t step;      // from each row to the next one
        uint64_t* rows;     // of each row's first byte; null: they are at equal distances
        uint8_t** host;     // the same in the host's memory, or a copy; null: gathered, and not contiguous
        uint64_t stride;    // between columns, in `host`
        uint64_t span;      // bytes from the first to behind the last element of a row
        uint64_t elements;  // of a row

        uint64_t at(uint32_t row) const { return rows ? rows[row] : first + row * step; }
    };
    struct GivenRows {
        uint8_t* first;
        uint8_t* const* rows;  // or null: at `first`, every `row_stride` bytes
        uint64_t row_stride, col_stride;
    };

    // Rows from `offset` on of the area that run() was called with.
    Fault run_rows(VectorArea area, uint32_t offset);
    Fault find_rows(const VectorPlan::Operand& o, UnitOperand& to);
    Fault read_indices(const VectorPlan::Operand& o, uint64_t* indices);
    Fault find(uint32_t n);
    Fault find_gathered(const VectorPlan::Operand& o, UnitOperand& to);
    Fault copy_rows(const VectorPlan::Operand& o, UnitOperand& to);
    Fault write_back(uint32_t n);
    Range element(uint32_t operand, uint32_t row, uint32_t index) const;
    static bool read_element(void* self, uint32_t operand, uint32_t row, uint32_t index, void* to);
    static bool write_element(void* self, uint32_t operand, uint32_t row, uint32_t index, const void* from);

    const VectorPlan& plan_;
    Worker& worker_;
    Dma dma_;
    const Env& env_;
    const engine::VectorProgram& program_;
    const uint32_t* param_;
    std::array<GivenRows, vector::kSlots - vector::kSums> given_;  // those that the program uses
    const uint32_t* before_ = nullptr;
    uint32_t* after_ = nullptr;
    size_t pitch_ = 0;
    VectorArea area_{};
    uint32_t copied_ = 0;  // operands of which UnitOperand::host has copies without gaps, as bits
    uint32_t bad_row_ = UINT32_MAX;
    int64_t bad_ = 0;
    Fault reach_fault_;
    std::array<UnitOperand, SIDRA_VECTOR_OPERANDS_MAX> operands_;
};

}  // namespace sidra::chip

#endif
