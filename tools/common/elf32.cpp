// SPDX-License-Identifier: MIT
// Uses the numbers of the ELF specification instead of <elf.h>, because the file is for another machine.
#include "common/elf32.h"

#include <fmt/format.h>

#include <algorithm>

namespace sidra::tools {
namespace {

constexpr size_t kHeaderSize = 52;
constexpr uint8_t kClass32 = 1, kLittleEndian = 1, kVersion = 1;
constexpr uint16_t kRiscv = 243;

constexpr size_t kSectionSize = 40, kSymbolSize = 16;
constexpr uint32_t kSymbolTable = 2;           // sh_type
constexpr uint32_t kExecutable = 4;            // sh_flags
constexpr uint8_t kNoType = 0, kFunction = 2;  // st_info
constexpr size_t kNameMax = 256;

struct Section {
    uint32_t type, flags, address, offset, size, link;
};

class Sections {
   public:
    explicit Sections(const Elf32& elf) : elf_(elf), table_(elf.get32(32)), count_(elf.get16(48)) {
        if (count_ == 0 || elf.get16(46) != kSectionSize) throw ElfError("it has no section headers; it was stripped");
        if (!elf.has(table_, uint64_t{count_} * kSectionSize)) throw ElfError("it ends inside its section headers");
    }
    uint16_t count() const { return count_; }
    Section get(uint16_t n) const {
        const uint64_t at = table_ + uint64_t{n} * kSectionSize;
        return {.type = elf_.get32(at + 4),
                .flags = elf_.get32(at + 8),
                .address = elf_.get32(at + 12),
                .offset = elf_.get32(at + 16),
                .size = elf_.get32(at + 20),
                .link = elf_.get32(at + 24)};
    }
    // A section whose content is completely in the file.
    Section whole(uint32_t n, const char* what) const {
        if (n >= count_) throw ElfError(fmt::format("its {} is section {}, but it has {} sections", what, n, count_));
        const Section one = get(static_cast<uint16_t>(n));
        if (!elf_.has(one.offset, one.size)) throw ElfError(fmt::format("it ends inside its {}", what));
        return one;
    }

   private:
    const Elf32& elf_;
    const uint64_t table_;
    const uint16_t count_;
};

std::string name_at(const Elf32& elf, const Section& strings, uint32_t offset) {
    std::string name;
    for (uint64_t at = offset; at < strings.size && name.size() < kNameMax; ++at) {
        const uint8_t c = elf.get8(strings.offset + at);
        if (c == 0) break;
        name += c > 0x20 && c < 0x7f ? static_cast<char>(c) : '?';
    }
    return name;
}

}  // namespace

bool Elf32::is_elf(std::span<const uint8_t> file) {
    constexpr uint8_t kMagic[] = {0x7f, 'E', 'L', 'F'};
    return file.size() >= sizeof(kMagic) && std::equal(std::begin(kMagic), std::end(kMagic), file.begin());
}

Elf32::Elf32(std::span<const uint8_t> file) : file_(file) {
    if (file.size() < kHeaderSize) throw ElfError("it ends inside its header");
    if (!is_elf(file)) throw ElfError("it is not an ELF file");
    if (get8(4) != kClass32) throw ElfError("it is not a 32-bit file; build with -march=rv32im -mabi=ilp32");
    if (get8(5) != kLittleEndian) throw ElfError("it is not little-endian");
    if (get8(6) != kVersion || get32(20) != kVersion) throw ElfError("its ELF version is not 1");
    if (get16(18) != kRiscv)
        throw ElfError(fmt::format("it is for machine {} instead of {} (RISC-V)", get16(18), kRiscv));
}

ElfSymbols::ElfSymbols(const Elf32& elf) {
    const Sections sections(elf);
    for (uint16_t n = 0; n < sections.count(); ++n) {
        if (sections.get(n).type != kSymbolTable) continue;
        const Section table = sections.whole(n, "table of symbols");
        const Section strings = sections.whole(table.link, "names of symbols");
        for (uint64_t at = table.offset; at + kSymbolSize <= uint64_t{table.offset} + table.size; at += kSymbolSize) {
            const uint8_t type = elf.get8(at + 12) & 15;
            const uint16_t where = elf.get16(at + 14);
            if ((type != kNoType && type != kFunction) || where == 0 || where >= sections.count() ||
                !(sections.get(where).flags & kExecutable))
                continue;
            Symbol one{elf.get32(at + 4), elf.get32(at + 8), name_at(elf, strings, elf.get32(at))};
            // Labels of the assembler ($x, .L1) are not functions.
            if (!one.name.empty() && one.name[0] != '$' && one.name[0] != '.') symbols_.push_back(std::move(one));
        }
        break;  // a file has at most one
    }
    if (symbols_.empty()) throw ElfError("it has no symbols; it was stripped");
    // Of several symbols at one address, prefer the one with a size.
    std::ranges::stable_sort(symbols_, {}, [](const Symbol& s) { return std::pair(s.address, s.size); });
}

const ElfSymbols::Symbol* ElfSymbols::find(uint32_t address) const {
    const auto after = std::ranges::upper_bound(symbols_, address, {}, &Symbol::address);
    if (after == symbols_.begin()) return nullptr;
    const Symbol& found = *(after - 1);
    // Symbols without a size (from the assembler) extend to the next symbol; the last one has no end.
    const uint64_t end =
        found.size != 0 || after == symbols_.end() ? uint64_t{found.address} + found.size : uint64_t{after->address};
    return address < end ? &found : nullptr;
}

std::string ElfSymbols::text(const Symbol* symbol, uint32_t address) {
    return symbol == nullptr ? "" : fmt::format("{}+{:#x}", symbol->name, address - symbol->address);
}

std::string ElfSymbols::name_of(uint32_t address) const { return text(find(address), address); }

std::string ElfSymbols::name_of_caller(uint32_t address) const {
    return address == 0 ? "" : text(find(address - 1), address);
}

}  // namespace sidra::tools
