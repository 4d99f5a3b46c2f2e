// SPDX-License-Identifier: MIT
// Vector programs: instructions in device memory, and what they need of their operands.
#ifndef SIDRA_VECTOR_PROGRAM_H
#define SIDRA_VECTOR_PROGRAM_H

#include <memory>
#include <span>

#include "context.h"
#include "handle.h"
#include "memory.h"
#include "sidra_vector.h"
#include "verify.h"

namespace sidra {

// The packet that a program is made for.
enum class ProgramKind : uint8_t { kVector, kMatmul, kLayer };

}  // namespace sidra

struct sidra_program : sidra::Handle {
    static constexpr sidra::Kind kKind = sidra::Kind::kProgram;

    sidra_context* context = nullptr;
    sidra::ProgramKind kind{};
    uint32_t prologue = 0;  // instructions; they come first
    uint32_t instructions = 0;
    uint32_t operands = 0;         // of a call; those of a MATMUL begin with the factors
    sidra::vector::Traits traits;  // how it uses the operands; what depends on them (cost, in_order) is not known here
    std::unique_ptr<sidra::DeviceMemory> memory;

    // The instructions that the chip reads; nobody writes them.
    std::span<const sidra_vector_instruction> code() const {
        return {reinterpret_cast<const sidra_vector_instruction*>(memory->host()), instructions};
    }
};

#endif
