// SPDX-License-Identifier: MIT
// Vector programs: instructions in device memory, and what they need of their operands.
#ifndef SIDRA_VECTOR_PROGRAM_H
#define SIDRA_VECTOR_PROGRAM_H

#include <array>
#include <atomic>
#include <cstdint>
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

// What is known of a program before it is called.
struct ProgramRules {
    ProgramKind kind{};
    uint32_t prologue = 0;  // instructions; they come first
    uint32_t operands = 0;  // of a call; those of a MATMUL begin with the factors
    // How prologue and program use the operands. What depends on these (cost, in_order) is not known here.
    vector::Traits before, traits;
};

// Verifies code as far as that does not depend on operands.
vector::Verdict verify_code(std::span<const sidra_vector_instruction> code, size_t prologue, ProgramRules* rules);

// A program that has passed verify_code(). Thread-safe.
class VectorProgram {
   public:
    // `code` stays in device memory, at `address`, where nobody writes it. `id`: of its handle; 0: it is the library's
    // own.
    void set(std::span<const sidra_vector_instruction> code, uint64_t address, const ProgramRules& rules, uint32_t id) {
        code_ = code;
        address_ = address;
        rules_ = rules;
        id_ = id;
    }

    std::span<const sidra_vector_instruction> code() const { return code_; }
    uint32_t instructions() const { return static_cast<uint32_t>(code_.size()); }
    uint64_t address() const { return address_; }
    const ProgramRules& rules() const { return rules_; }
    uint32_t operands() const { return rules_.operands; }
    uint32_t id() const { return id_; }

    // Does the same as vector::verify(), but remembers what was verified. `packet` is one of the program's kind;
    // `prologue` may be null if the program has none.
    vector::Verdict verify(std::span<const sidra_operand> operands, const vector::Packet& packet,
                           vector::Traits* prologue, vector::Traits* traits) const;

   private:
    // Of a valid program: the classes of its operands and of what the packet gives, and what depends on them. Readers
    // do not wait: they take nothing if the version has changed meanwhile, or is odd, as while both are written.
    struct Remembered {
        std::atomic<uint32_t> version{0};
        std::atomic<uint64_t> classes{0}, found{0};
    };
    static constexpr unsigned kRememberedLog2 = 2;
    bool recall(const Remembered& from, uint64_t classes, vector::Traits* prologue, vector::Traits* traits) const;
    static void remember(Remembered& to, uint64_t classes, const vector::Traits& prologue,
                         const vector::Traits& traits);

    std::span<const sidra_vector_instruction> code_;
    uint64_t address_ = 0;
    ProgramRules rules_;
    uint32_t id_ = 0;
    mutable std::array<Remembered, 1 << kRememberedLog2> remembered_{};
};

}  // namespace sidra

struct sidra_program : sidra::Handle {
    static constexpr sidra::Kind kKind = sidra::Kind::kProgram;

    sidra_context* context = nullptr;
    sidra::VectorProgram program;
    std::unique_ptr<sidra::DeviceMemory> memory;  // of the instructions
};

#endif
