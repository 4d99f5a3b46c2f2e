// SPDX-License-Identifier: MIT
// The second implementation of vector programs: it does what docs/device.md says, one element after another. The chip's
// engines are compared with it bit by bit, so it shares nothing with them but the constants of numerics.h.
#ifndef SIDRA_TESTS_VECTOR_REFERENCE_H
#define SIDRA_TESTS_VECTOR_REFERENCE_H

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "sidra_vector.h"

namespace sidra::vector_reference {

// Device memory from an address on. An access to anything else throws std::out_of_range.
class Memory {
   public:
    Memory(uint64_t address, std::vector<uint8_t> bytes) : address_(address), bytes_(std::move(bytes)) {}

    uint64_t load(uint64_t address, uint32_t size) const;
    void store(uint64_t address, uint32_t size, uint64_t value);
    uint64_t address() const { return address_; }
    const std::vector<uint8_t>& bytes() const { return bytes_; }

   private:
    size_t offset(uint64_t address, uint32_t size) const;

    uint64_t address_;
    std::vector<uint8_t> bytes_;
};

using Size = std::array<uint32_t, SIDRA_OPERAND_DIMS>;
using Params = std::array<uint32_t, SIDRA_VECTOR_PARAMS>;

// What the program of a product loads as SIDRA_OPERAND_SUMS: the bits of each column of each row.
struct Sums {
    uint8_t type;
    std::vector<uint32_t> values;
};

// Executes one VECTOR packet that verify() accepts, or the program of another packet with its sums. Returns the index
// that faulted with VALUE, if one did.
std::optional<int64_t> execute(std::span<const sidra_vector_instruction> program,
                               std::span<const sidra_operand> operands, const Size& size, const Params& param,
                               Memory& memory, const Sums& sums = {});

}  // namespace sidra::vector_reference

#endif
