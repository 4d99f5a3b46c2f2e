// SPDX-License-Identifier: MIT
// ELF files that sidra-fw accepts, and those that it refuses.
#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <string>

#include "elf.h"
#include "elf_file.h"
#include "error.h"

namespace sidra::test {
namespace {

// The error message; empty if the file was accepted.
std::string refusal(const Bytes& file) {
    try {
        fw::load_elf("firmware.elf", file);
        return "";
    } catch (const fw::Error& e) {
        EXPECT_TRUE(std::string(e.what()).starts_with("firmware.elf is not a program for the management core: "))
            << e.what();
        return e.what();
    }
}

void expect_refusal(const Bytes& file, const std::string& words) {
    EXPECT_NE(refusal(file).find(words), std::string::npos)
        << "'" << refusal(file) << "' does not say '" << words << "'";
}

// Changes a field of the file.
void expect_refusal(size_t at, uint64_t value, size_t size, const std::string& words) {
    Bytes file = small_program().file();
    put(file, at, value, size);
    SCOPED_TRACE(testing::Message() << "at " << at);
    expect_refusal(file, words);
}

TEST(FirmwareElf, PutsSegmentsWhereTheyBelong) {
    const fw::Program program = fw::load_elf("firmware.elf", small_program().file());
    EXPECT_EQ(program.load_address, 0x10000000u);
    EXPECT_EQ(program.entry, 0x10000000u);
    EXPECT_EQ(program.ram_size, 0x28u + 104);  // up to a multiple of 8
    Bytes payload(16, 0xc0);
    payload.resize(0x20);
    payload.resize(0x25, 0xc1);
    payload.resize(0x28);
    payload.resize(0x2b, 0xda);
    payload.resize(0x30);
    EXPECT_EQ(program.payload, payload);
}

TEST(FirmwareElf, OrderOfSegmentsDoesNotMatter) {
    ElfFile turned = small_program();
    std::reverse(turned.segments.begin(), turned.segments.end());
    const fw::Program a = fw::load_elf("a", small_program().file()), b = fw::load_elf("b", turned.file());
    EXPECT_EQ(a.payload, b.payload);
    EXPECT_EQ(a.ram_size, b.ram_size);
}

TEST(FirmwareElf, RefusesOtherKinds) {
    using E = ElfFile;
    expect_refusal(0, 0x7e, 1, "not an ELF file");
    expect_refusal(E::kAtClass, 2, 1, "not a 32-bit file");
    expect_refusal(E::kAtData, 2, 1, "not little-endian");
    expect_refusal(E::kAtIdVersion, 0, 1, "ELF version");
    expect_refusal(E::kAtElfVersion, 2, 4, "ELF version");
    expect_refusal(E::kAtMachine, 62, 2, "for machine 62");
    expect_refusal(E::kAtElfType, 1, 2, "type is 1");
    expect_refusal(E::kAtElfType, 3, 2, "type is 3");
    expect_refusal(E::kAtElfFlags, 1, 4, "compressed");
    expect_refusal(E::kAtElfFlags, 2, 4, "floats");
    expect_refusal(E::kAtElfFlags, 8, 4, "RV32E");
    expect_refusal(E::at_segment(3, 0), 2, 4, "dynamic linker");
    expect_refusal(E::at_segment(3, 0), 3, 4, "dynamic linker");
}

TEST(FirmwareElf, RefusesTablesThatLie) {
    using E = ElfFile;
    expect_refusal(E::kAtCount, 0, 2, "no program headers");
    expect_refusal(E::kAtCount, 65, 2, "65 program headers");
    expect_refusal(E::kAtCount, 0xffff, 2, "65535 program headers");
    expect_refusal(E::kAtCount, 64, 2, "ends inside its program headers");
    expect_refusal(E::kAtEntrySize, 56, 2, "no program headers");
    for (const uint32_t table : {0xffffffffu, 0xffffffe0u, 0x80000000u})
        expect_refusal(E::kAtTable, table, 4, "ends inside");
}

TEST(FirmwareElf, RefusesSegmentsThatLie) {
    using E = ElfFile;
    expect_refusal(E::at_segment(0, 20), 15, 4, "more bytes in the file than in memory");
    for (const uint32_t offset : {0xffffffffu, 0xfffffff0u, 0x80000000u, 400u})
        expect_refusal(E::at_segment(0, 4), offset, 4, "was truncated");
    expect_refusal(E::at_segment(0, 12), 0x20000000, 4, "not where it runs");
    expect_refusal(E::at_segment(2, 20), 0xf0000000, 4, "end of the address space");
    expect_refusal(E::at_segment(0, 20), 0x21, 4, "0x10000000 and 0x10000020 overlap");
    expect_refusal(E::kAtElfEntry, 0x0ffffffc, 4, "its entry 0xffffffc");
    expect_refusal(E::kAtElfEntry, 0x10000010, 4, "its entry");  // the hole
    expect_refusal(E::kAtElfEntry, 0x10000002, 4, "its entry");
    expect_refusal(E::kAtElfEntry, 0x10000020, 4, "its entry");  // constants
    expect_refusal(E::kAtElfEntry, 0x10000050, 4, "its entry");  // bss
}

TEST(FirmwareElf, RefusesProgramsOfOddShape) {
    ElfFile elf;
    elf.segments = {{1, 0x10000004, 16, 5, Bytes(16)}};
    elf.entry = 0x10000004;
    expect_refusal(elf.file(), "not a multiple of 8");
    elf.segments = {{1, 0x10000000, 16, 5, {}}};
    expect_refusal(elf.file(), "nothing to load");
    elf.segments = {{1, 0x10000000, 16, 5, Bytes(16)}, {1, 0x20000000, 16, 6, Bytes(16)}};
    elf.entry = 0x10000000;
    expect_refusal(elf.file(), "hole");
    elf.segments[1] = {
        1, 0xfffffff0, 16, 6, {}};  // bss reaches the end of the address space, but needs no bytes of the file
    EXPECT_EQ(fw::load_elf("x", elf.file()).ram_size, 0xf0000000u);
    elf.segments[0].address = elf.entry = 0;
    expect_refusal(elf.file(), "whole address space");
}

TEST(FirmwareElf, CutAtEveryByte) {
    const Bytes file = small_program().file();
    ASSERT_EQ(refusal(file), "");
    for (size_t size = 0; size < file.size(); ++size)
        EXPECT_NE(refusal(Bytes(file.begin(), file.begin() + static_cast<ptrdiff_t>(size))), "") << size;
}

TEST(FirmwareElf, RandomChanges) {
    std::mt19937 random(3);
    const Bytes file = small_program().file();
    int taken = 0;
    for (int round = 0; round < 20000; ++round) {
        Bytes changed = file;
        for (uint32_t i = 0; i <= random() % 3; ++i)
            changed[random() % changed.size()] = static_cast<uint8_t>(random());
        try {
            const fw::Program program = fw::load_elf("x", changed);
            ++taken;
            EXPECT_LE(program.payload.size(), program.ram_size);
            EXPECT_EQ(program.load_address % 8, 0u);
        } catch (const fw::Error&) {
        }
    }
    EXPECT_GT(taken, 0);
}

}  // namespace
}  // namespace sidra::test
