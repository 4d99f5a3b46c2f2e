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

struct ProgramCode {
    sidra_context* context = nullptr;
    ProgramKind kind{};
    uint32_t prologue = 0;  // instructions; they come first
    uint32_t instructions = 0;
    uint32_t operands = 0;  // of a call; those of a MATMUL begin with the factors
    vector::Traits traits;  // how it uses the operands; what depends on them (cost, in_order) is not known here
    std::unique_ptr<DeviceMemory> memory;

    // The instructions that the chip reads; nobody writes them.
    std::span<const sidra_vector_instruction> code() const {
        return {reinterpret_cast<const sidra_vector_instruction*>(memory->host()), instructions};
    }
};

}  // namespace sidra

// A program of the library's own has no handle, and the id 0.
struct sidra_program : sidra::Handle, sidra::ProgramCode {
    static constexpr sidra::Kind kKind = sidra::Kind::kProgram;
};

namespace sidra {

// The library's program that stores the sums of a product (`floats`: f32, else s32) to operand 2. It belongs to the
// context, which makes it at the first use.
sidra_status storing_program(const char* call, sidra_context* context, bool floats, const sidra_program** program);

}  // namespace sidra

#endif
