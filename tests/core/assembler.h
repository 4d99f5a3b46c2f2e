// SPDX-License-Identifier: MIT
// RV32IM instructions under the manual's names. Offsets are in bytes, relative to the instruction.
#ifndef SIDRA_TESTS_CORE_ASSEMBLER_H
#define SIDRA_TESTS_CORE_ASSEMBLER_H

#include <cstdint>

namespace sidra::test {

enum Register : uint32_t { zero, ra, sp, gp, tp, t0, t1, t2, s0, s1, a0, a1, a2, a3, a4, a5 };

constexpr uint32_t r_type(uint32_t funct7, uint32_t funct3, uint32_t rd, uint32_t rs1, uint32_t rs2) {
    return funct7 << 25 | rs2 << 20 | rs1 << 15 | funct3 << 12 | rd << 7 | 0x33;
}
constexpr uint32_t i_type(uint32_t opcode, uint32_t funct3, uint32_t rd, uint32_t rs1, int32_t imm) {
    return static_cast<uint32_t>(imm) << 20 | rs1 << 15 | funct3 << 12 | rd << 7 | opcode;
}
constexpr uint32_t s_type(uint32_t funct3, uint32_t rs2, uint32_t rs1, int32_t imm) {
    const auto u = static_cast<uint32_t>(imm);
    return (u >> 5 & 0x7f) << 25 | rs2 << 20 | rs1 << 15 | funct3 << 12 | (u & 31) << 7 | 0x23;
}
constexpr uint32_t b_type(uint32_t funct3, uint32_t rs1, uint32_t rs2, int32_t offset) {
    const auto u = static_cast<uint32_t>(offset);
    return (u >> 12 & 1) << 31 | (u >> 5 & 63) << 25 | rs2 << 20 | rs1 << 15 | funct3 << 12 | (u >> 1 & 15) << 8 |
           (u >> 11 & 1) << 7 | 0x63;
}

constexpr uint32_t lui(uint32_t rd, uint32_t upper) { return (upper & 0xfffff000) | rd << 7 | 0x37; }
constexpr uint32_t auipc(uint32_t rd, uint32_t upper) { return (upper & 0xfffff000) | rd << 7 | 0x17; }
constexpr uint32_t jal(uint32_t rd, int32_t offset) {
    const auto u = static_cast<uint32_t>(offset);
    return (u >> 20 & 1) << 31 | (u >> 1 & 0x3ff) << 21 | (u >> 11 & 1) << 20 | (u >> 12 & 0xff) << 12 | rd << 7 | 0x6f;
}
constexpr uint32_t jalr(uint32_t rd, uint32_t rs1, int32_t imm) { return i_type(0x67, 0, rd, rs1, imm); }
constexpr uint32_t addi(uint32_t rd, uint32_t rs1, int32_t imm) { return i_type(0x13, 0, rd, rs1, imm); }
constexpr uint32_t add(uint32_t rd, uint32_t rs1, uint32_t rs2) { return r_type(0, 0, rd, rs1, rs2); }
constexpr uint32_t lw(uint32_t rd, uint32_t rs1, int32_t imm) { return i_type(0x03, 2, rd, rs1, imm); }
constexpr uint32_t sw(uint32_t rs2, uint32_t rs1, int32_t imm) { return s_type(2, rs2, rs1, imm); }
constexpr uint32_t beq(uint32_t rs1, uint32_t rs2, int32_t offset) { return b_type(0, rs1, rs2, offset); }
constexpr uint32_t bne(uint32_t rs1, uint32_t rs2, int32_t offset) { return b_type(1, rs1, rs2, offset); }
constexpr uint32_t csrrw(uint32_t rd, uint32_t csr, uint32_t rs1) {
    return csr << 20 | rs1 << 15 | 1 << 12 | rd << 7 | 0x73;
}
constexpr uint32_t csrrs(uint32_t rd, uint32_t csr, uint32_t rs1) {
    return csr << 20 | rs1 << 15 | 2 << 12 | rd << 7 | 0x73;
}
constexpr uint32_t csrrc(uint32_t rd, uint32_t csr, uint32_t rs1) {
    return csr << 20 | rs1 << 15 | 3 << 12 | rd << 7 | 0x73;
}
constexpr uint32_t csrrwi(uint32_t rd, uint32_t csr, uint32_t imm) {
    return csr << 20 | imm << 15 | 5 << 12 | rd << 7 | 0x73;
}
constexpr uint32_t kEcall = 0x00000073, kEbreak = 0x00100073, kMret = 0x30200073, kWfi = 0x10500073, kNop = 0x00000013;

}  // namespace sidra::test

#endif
