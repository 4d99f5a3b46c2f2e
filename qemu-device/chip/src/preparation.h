// SPDX-License-Identifier: MIT
// What the preparation of a VECTOR, MATMUL or LAYER finds out, and the preparations that a thread has made lately.
// Networks run the same packets again and again, at the same addresses.
#ifndef SIDRA_CHIP_PREPARATION_H
#define SIDRA_CHIP_PREPARATION_H

#include <cstdint>
#include <memory>
#include <span>

#include "job.h"
#include "vector_unit.h"

namespace sidra::chip {

// It depends on nothing but what it was made from: these words of the packet, program, operands and pattern in memory,
// the engine's kernels, the clock level, and, for a LAYER, the shape of its weights. What each packet has for itself
// (cookie, parameters, weights) is not in it.
class Preparation : public std::enable_shared_from_this<Preparation> {
   public:
    Preparation() : vector() {}

    // ---- What it was made from
    const engine::Kernels* kernels = nullptr;  // null: it is not complete; the same kernels have the same speeds
    uint32_t clock_level;
    uint32_t instructions, operand_count;
    sidra_cmd packet;
    Operands operands;
    sidra_pattern pattern;  // of a LAYER
    Instructions code;

    std::span<const sidra_vector_instruction> program() const { return std::span(code).first(instructions); }
    std::span<const sidra_operand> arrays() const { return std::span(operands).first(operand_count); }

    // ---- What it has found out
    uint32_t units;
    bool serial_units;
    UnitLoad unit_load;
    uint64_t unit_work;
    uint64_t elements;
    Cost cost;
    union {
        VectorPlan vector;
        MatmulPlan matmul;
        LayerPlan layer;
    };
    engine::VectorProgram decoded, prologue;  // of a LAYER, `decoded` is the epilogue

    // Begins anew with a packet: copies its program and operands from memory.
    Fault read(const Env& env, const sidra_cmd& cmd, uint32_t instruction_count,
               uint32_t operands_in_table);  // For a job that may last longer than until this thread prepares another
                                             // packet. From then on it never changes.
    std::shared_ptr<const Preparation> share() const {
        shared_ = true;
        return shared_from_this();
    }
    bool shared() const { return shared_; }

    // Whether memory still holds what it was made from.
    Fault compare(const Env& env, bool* same) const;

   private:
    mutable bool shared_ = false;
};

// Fills in a job whose packet has a program. Takes what this thread has prepared for the packet, if that is what the
// packet needs with what memory holds now; otherwise makes it. Throws std::bad_alloc.
struct Preparer {
    Fault (*make)(const Env&, Job&, Preparation&);
    // Whether the preparation suits what the packet names besides the memory that it was made from. May be null.
    Fault (*suits)(const Env&, Job&, const Preparation&, bool* suits) = nullptr;
};
Fault prepare(const Env& env, Job& job, const Preparer& preparer);

}  // namespace sidra::chip

#endif
