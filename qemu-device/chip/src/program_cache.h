// SPDX-License-Identifier: MIT
// Vector programs that a thread has verified and decoded lately. Both take longer than to run a program on a few
// elements, and networks run the same programs again and again.
#ifndef SIDRA_CHIP_PROGRAM_CACHE_H
#define SIDRA_CHIP_PROGRAM_CACHE_H

#include <array>
#include <cstdint>
#include <memory>
#include <span>

#include "kernels.h"
#include "verify.h"

namespace sidra::chip {

struct Env;

class ProgramCache {
   public:
    // As vector::verify(). Throws std::bad_alloc.
    vector::Verdict verify(std::span<const sidra_vector_instruction> program, std::span<const sidra_operand> operands,
                           const vector::Packet& packet, vector::Traits* prologue, vector::Traits* traits);

    // Decodes the program that verify() has accepted last, and its prologue if it has one. `operands` now have the
    // strides of the plan.
    void decode(const Env& env, std::span<const sidra_operand> operands, engine::VectorProgram* prologue,
                engine::VectorProgram* decoded);

   private:
    // What a verdict and a decoded program depend on, besides the instructions: of each operand, its type, whether it
    // has an index, whether it has stride 0 or adjacent columns, and which operands have the same address.
    struct Shape {
        uint64_t classes;
        uint32_t more;
        bool operator==(const Shape&) const = default;
    };
    // All that the contents were made from is compared, so they are what the packet at hand would make, too, whichever
    // context it is from.
    struct Entry {
        std::array<sidra_vector_instruction, SIDRA_VECTOR_INSTRUCTIONS_MAX> code;
        size_t instructions = 0, operands = 0;
        vector::Packet packet;
        Shape verified;
        vector::Traits before, traits;
        const engine::Kernels* kernels = nullptr;  // that have decoded it; null: none have
        Shape decoded;
        engine::VectorProgram prologue, program;
    };
    static Shape shape_of(std::span<const sidra_operand> operands);
    Entry& entry_of(std::span<const sidra_vector_instruction> program);

    static constexpr unsigned kEntriesLog2 = 4;
    std::array<std::unique_ptr<Entry>, 1u << kEntriesLog2> entries_;
    Entry* last_ = nullptr;
};

}  // namespace sidra::chip

#endif
