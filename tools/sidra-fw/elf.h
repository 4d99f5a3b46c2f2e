// SPDX-License-Identifier: MIT
// What a firmware image runs: bytes, and where they belong.
#ifndef SIDRA_FW_ELF_H
#define SIDRA_FW_ELF_H

#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace sidra::fw {

inline constexpr size_t kProgramLimit = 16 << 20;  // a hole between segments costs as much as what is in them

struct Program {
    uint32_t load_address = 0;
    uint32_t entry = 0;
    uint32_t ram_size = 0;         // from load_address, with what is not in the payload (bss)
    std::vector<uint8_t> payload;  // padded with zeros to SIDRA_IMAGE_ALIGNMENT
};

bool is_elf(std::span<const uint8_t> file);

// An executable for the management core: ELF32, little-endian, RISC-V, linked where it runs, without compressed
// instructions. Throws Error, naming `path` and what is wrong in it.
Program load_elf(const std::string& path, std::span<const uint8_t> file);

// A multiple of SIDRA_IMAGE_ALIGNMENT, not below `size`. In 64 bits, so that it does not wrap.
uint64_t aligned(uint64_t size);

}  // namespace sidra::fw

#endif
