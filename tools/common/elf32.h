// SPDX-License-Identifier: MIT
// ELF files of programs for the management core: 32 bits, little-endian, RISC-V. The content is not trusted.
#ifndef SIDRA_COMMON_ELF32_H
#define SIDRA_COMMON_ELF32_H

#include <cstddef>
#include <cstdint>
#include <span>
#include <stdexcept>
#include <string>
#include <vector>

namespace sidra::tools {

// The file is not an ELF file, or damaged; the text begins with "it".
class ElfError : public std::runtime_error {
   public:
    using std::runtime_error::runtime_error;
};

class Elf32 {
   public:
    static bool is_elf(std::span<const uint8_t> file);

    // Throws ElfError. The file must outlive this object.
    explicit Elf32(std::span<const uint8_t> file);

    std::span<const uint8_t> file() const { return file_; }
    // Only within the header, or where has() returns true.
    uint8_t get8(uint64_t at) const { return file_[at]; }
    uint16_t get16(uint64_t at) const { return static_cast<uint16_t>(get8(at) | get8(at + 1) << 8); }
    uint32_t get32(uint64_t at) const { return get16(at) | uint32_t{get16(at + 2)} << 16; }
    bool has(uint64_t at, uint64_t bytes) const { return at <= file_.size() && bytes <= file_.size() - at; }

   private:
    std::span<const uint8_t> file_;
};

// Finds functions by address.
class ElfSymbols {
   public:
    // Throws ElfError, also for a program without symbols.
    explicit ElfSymbols(const Elf32& elf);

    // For example "name+0x10"; empty: not in a function.
    std::string name_of(uint32_t address) const;
    // As name_of(), for a return address: the call is before it.
    std::string name_of_caller(uint32_t address) const;

   private:
    struct Symbol {
        uint32_t address, size;
        std::string name;
    };
    const Symbol* find(uint32_t address) const;
    static std::string text(const Symbol* symbol, uint32_t address);

    std::vector<Symbol> symbols_;  // sorted by address
};

}  // namespace sidra::tools

#endif
