// SPDX-License-Identifier: MIT
// Names for addresses, from handmade programs and from the built firmware.
#include <gtest/gtest.h>

#include <random>

#include "common/elf32.h"
#include "common/input_file.h"
#include "dump.h"
#include "paths.h"
#include "sidra_boot.h"

namespace sidra::test {
namespace {

using Bytes = std::vector<uint8_t>;

void put(Bytes& to, size_t at, uint64_t value, size_t size) {
    if (to.size() < at + size) to.resize(at + size);
    for (size_t i = 0; i < size; i++) to[at + i] = static_cast<uint8_t>(value >> 8 * i);
}

struct Symbol {
    const char* name;
    uint32_t address, size;
    uint8_t type;
    uint16_t section;
};
constexpr uint16_t kCode = 1, kData = 2;

// ELF header and sections: null, code, data, symbols, symbol names.
Bytes program(const std::vector<Symbol>& symbols) {
    constexpr size_t kTable = 52, kSection = 40;
    Bytes elf = {0x7f, 'E', 'L', 'F', 1, 1, 1};
    put(elf, 18, 243, 2);
    put(elf, 20, 1, 4);
    put(elf, 32, kTable, 4);
    put(elf, 46, kSection, 2);
    put(elf, 48, 5, 2);
    elf.resize(kTable + 5 * kSection);
    put(elf, kTable + kCode * kSection + 8, 6, 4);
    put(elf, kTable + kData * kSection + 8, 3, 4);
    const size_t at_symbols = elf.size();
    std::string names(1, '\0');
    for (const Symbol& one : symbols) {
        const size_t at = elf.size();
        put(elf, at, names.size(), 4);
        put(elf, at + 4, one.address, 4);
        put(elf, at + 8, one.size, 4);
        put(elf, at + 12, one.type, 1);
        put(elf, at + 14, one.section, 2);
        names += one.name + std::string(1, '\0');
    }
    put(elf, kTable + 3 * kSection + 4, 2, 4);
    put(elf, kTable + 3 * kSection + 16, at_symbols, 4);
    put(elf, kTable + 3 * kSection + 20, elf.size() - at_symbols, 4);
    put(elf, kTable + 3 * kSection + 24, 4, 4);
    put(elf, kTable + 4 * kSection + 16, elf.size(), 4);
    put(elf, kTable + 4 * kSection + 20, names.size(), 4);
    elf.insert(elf.end(), names.begin(), names.end());
    return elf;
}

Bytes usual() {
    return program({{"last", 0x300, 0x10, 2, kCode},
                    {"start", 0x100, 0, 0, kCode},
                    {"$x", 0x104, 0, 0, kCode},
                    {".L1", 0x108, 0, 0, kCode},
                    {"middle", 0x200, 0x20, 2, kCode},
                    {"table", 0x210, 0x20, 1, kCode},
                    {"data", 0x218, 0x20, 0, kData},
                    {"outside", 0x21c, 0, 0, 0},
                    {"strange", 0x21c, 0, 0, 0xfff1}});
}

TEST(Symbols, FindFunctions) {
    const Bytes file = usual();
    const tools::ElfSymbols symbols{tools::Elf32(file)};
    EXPECT_EQ(symbols.name_of(0xff), "");
    EXPECT_EQ(symbols.name_of(0x100), "start+0x0");
    EXPECT_EQ(symbols.name_of(0x1fc), "start+0xfc") << "of the assembler: up to the next";
    EXPECT_EQ(symbols.name_of(0x21c), "middle+0x1c");
    EXPECT_EQ(symbols.name_of(0x220), "") << "behind its end";
    EXPECT_EQ(symbols.name_of(0x310), "");
    EXPECT_EQ(symbols.name_of_caller(0x220), "middle+0x20") << "a call that does not return is the last thing in it";
    EXPECT_EQ(symbols.name_of_caller(0), "");
    EXPECT_EQ(symbols.name_of(0xffffffff), "");
}

std::string refusal(const Bytes& file) {
    try {
        const tools::ElfSymbols symbols{tools::Elf32(file)};
        symbols.name_of(0x200);
        return "";
    } catch (const tools::ElfError& e) {
        EXPECT_TRUE(std::string(e.what()).starts_with("it")) << e.what();
        return e.what();
    }
}

TEST(Symbols, OthersHaveNone) {
    EXPECT_NE(refusal({}), "");
    EXPECT_NE(refusal(Bytes(100)).find("not an ELF file"), std::string::npos);
    EXPECT_NE(refusal(program({})).find("stripped"), std::string::npos);
    EXPECT_NE(refusal(program({{"data", 0x200, 4, 1, kData}})).find("stripped"), std::string::npos);
    Bytes file = usual();
    put(file, 48, 0, 2);
    EXPECT_NE(refusal(file).find("no section headers"), std::string::npos);
}

// The sanitizers check that nothing is read outside of the file.
TEST(Symbols, EveryTruncationAndFlippedByte) {
    const Bytes whole = usual();
    for (size_t size = 0; size < whole.size(); size++)
        refusal(Bytes(whole.begin(), whole.begin() + static_cast<ptrdiff_t>(size)));
    for (size_t at = 0; at < whole.size(); at++)
        for (const uint8_t value : {0x00, 0x01, 0x7f, 0x80, 0xff}) {
            Bytes file = whole;
            file[at] = value;
            refusal(file);
        }
    std::mt19937 random(11);
    for (int i = 0; i < 5000; i++) {
        Bytes file = whole;
        for (int n = 0; n < 8; n++) file[random() % file.size()] = static_cast<uint8_t>(random());
        refusal(file);
    }
}

// A dump of the built firmware names the function in which it was.
TEST(Symbols, OfTheFirmware) {
    const Bytes file = tools::read_file(runtime_elf(), 64 << 20).bytes;
    const tools::ElfSymbols symbols{tools::Elf32(file)};
    const uint32_t entry = tools::Elf32(file).get32(24);
    EXPECT_EQ(symbols.name_of(entry), "_start+0x0");
}

}  // namespace
}  // namespace sidra::test
