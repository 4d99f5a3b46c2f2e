// SPDX-License-Identifier: MIT
// Which instructions exist, compared with the list of the manual.
#include <gtest/gtest.h>

#include "assembler.h"
#include "machine.h"

namespace sidra::test {
namespace {

struct Pattern {
    uint32_t mask, match;
};
// Volume I, chapter 24 "RV32/64G Instruction Set Listings", and volume II, chapter 5.
const Pattern kPatterns[] = {
    {0x7f, 0x37},
    {0x7f, 0x17},
    {0x7f, 0x6f},      // LUI AUIPC JAL
    {0x707f, 0x0067},  // JALR
    {0x707f, 0x0063},
    {0x707f, 0x1063},
    {0x707f, 0x4063},  // BEQ BNE BLT
    {0x707f, 0x5063},
    {0x707f, 0x6063},
    {0x707f, 0x7063},  // BGE BLTU BGEU
    {0x707f, 0x0003},
    {0x707f, 0x1003},
    {0x707f, 0x2003},
    {0x707f, 0x4003},  // LB LH LW LBU
    {0x707f, 0x5003},  // LHU
    {0x707f, 0x0023},
    {0x707f, 0x1023},
    {0x707f, 0x2023},  // SB SH SW
    {0x707f, 0x0013},
    {0x707f, 0x2013},
    {0x707f, 0x3013},
    {0x707f, 0x4013},  // ADDI SLTI SLTIU XORI
    {0x707f, 0x6013},
    {0x707f, 0x7013},  // ORI ANDI
    {0xfe00707f, 0x1013},
    {0xfe00707f, 0x5013},
    {0xfe00707f, 0x40005013},  // SLLI SRLI SRAI
    {0xfe00707f, 0x0033},
    {0xfe00707f, 0x40000033},
    {0xfe00707f, 0x1033},  // ADD SUB SLL
    {0xfe00707f, 0x2033},
    {0xfe00707f, 0x3033},
    {0xfe00707f, 0x4033},  // SLT SLTU XOR
    {0xfe00707f, 0x5033},
    {0xfe00707f, 0x40005033},
    {0xfe00707f, 0x6033},  // SRL SRA OR
    {0xfe00707f, 0x7033},  // AND
    {0xfe00707f, 0x2000033},
    {0xfe00707f, 0x2001033},
    {0xfe00707f, 0x2002033},  // MUL MULH MULHSU
    {0xfe00707f, 0x2003033},
    {0xfe00707f, 0x2004033},
    {0xfe00707f, 0x2005033},  // MULHU DIV DIVU
    {0xfe00707f, 0x2006033},
    {0xfe00707f, 0x2007033},  // REM REMU
    {0x707f, 0x000f},
    {0x707f, 0x100f},  // FENCE FENCE.I
    {~0u, 0x73},
    {~0u, 0x100073},
    {~0u, 0x30200073},
    {~0u, 0x10500073},  // ECALL EBREAK MRET WFI
};

// The control registers that this core has: from, to.
const std::pair<uint32_t, uint32_t> kRegisters[] = {
    {0x300, 0x301}, {0x304, 0x305}, {0x310, 0x310}, {0x320, 0x320}, {0x323, 0x33f}, {0x340, 0x344}, {0x3a0, 0x3af},
    {0x3b0, 0x3ef}, {0xb00, 0xb00}, {0xb02, 0xb1f}, {0xb80, 0xb80}, {0xb82, 0xb9f}, {0xf11, 0xf15},
};

bool legal(uint32_t instruction) {
    for (const Pattern& pattern : kPatterns)
        if ((instruction & pattern.mask) == pattern.match) return true;
    const uint32_t funct3 = instruction >> 12 & 7, csr = instruction >> 20, rs1 = instruction >> 15 & 31;
    if ((instruction & 0x7f) != 0x73 || funct3 == 0 || funct3 == 4) return false;
    const bool writes = (funct3 & 3) == 1 || rs1 != 0;
    for (const auto& [from, to] : kRegisters)
        if (csr >= from && csr <= to) return !(writes && csr >= 0xc00);
    return false;
}

// Whether the core executes it; if not, checks that the trap is the only effect.
bool taken(Machine& machine, uint32_t instruction) {
    constexpr uint32_t kAt = kRam.base + 0x1000;
    machine.put(kAt, {instruction});
    core::State& state = machine.core.state();
    state = {};
    state.pc = kAt;
    state.mtvec = 0x40;
    for (uint32_t i = 1; i < 32; i++) state.x[i] = kRam.base + 0x2000 + 4 * i;
    const core::State before = state;
    machine.core.step();
    if (state.mcause != core::kIllegal) return true;
    EXPECT_EQ(state.mtval, instruction);
    EXPECT_EQ(state.mepc, kAt);
    EXPECT_EQ(state.pc, 0x40u);
    EXPECT_EQ(state.minstret, before.minstret);
    EXPECT_EQ(std::memcmp(state.x, before.x, 32 * sizeof *state.x), 0);
    return false;
}

TEST(Decode, TakesWhatTheManualListsAndNothingElse) {
    Machine machine;
    uint32_t wrong = 0;
    const auto check = [&](uint32_t instruction) {
        if (taken(machine, instruction) == legal(instruction)) return;
        if (wrong++ < 10) ADD_FAILURE() << std::hex << instruction << (legal(instruction) ? " refused" : " taken");
    };
    // Every combination of opcode, funct3 and funct7, with registers of both kinds: zero, and another one.
    for (uint32_t opcode = 0; opcode < 128; opcode++)
        for (uint32_t funct3 = 0; funct3 < 8; funct3++)
            for (uint32_t funct7 = 0; funct7 < 128; funct7++)
                for (const uint32_t fields : {0u, 5u << 7 | 6u << 15 | 7u << 20})
                    check(opcode | funct3 << 12 | funct7 << 25 | fields);
    // All of SYSTEM: each number, function and source, and each destination of encodings without a register.
    for (uint32_t top = 0; top < 1u << 12; top++)
        for (uint32_t funct3 = 0; funct3 < 8; funct3++)
            for (const uint32_t rs1 : {0u, 1u, 31u})
                for (const uint32_t rd : {0u, 1u}) check(top << 20 | rs1 << 15 | funct3 << 12 | rd << 7 | 0x73);
    EXPECT_EQ(wrong, 0u);
}

}  // namespace
}  // namespace sidra::test
