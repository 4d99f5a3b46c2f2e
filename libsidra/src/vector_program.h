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

struct sidra_program : sidra::Handle {
    static constexpr sidra::Kind kKind = sidra::Kind::kProgram;

    sidra_context* context = nullptr;
    uint32_t instructions = 0;
    uint32_t operands = 0;
    sidra::vector::Traits traits;  // how it uses the operands; what depends on them (cost, in_order) is not known here
    std::unique_ptr<sidra::DeviceMemory> memory;

    // The instructions that the chip reads; nobody writes them.
    std::span<const sidra_vector_instruction> code() const {
        return {reinterpret_cast<const sidra_vector_instruction*>(memory->host()), instructions};
    }
};

#endif
