// SPDX-License-Identifier: MIT
// The reference's verifier: a valid packet with one thing wrong at a time. And random packets: what they cover, and
// that they stay inside their memory.
#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <map>
#include <set>

#include "bench.h"
#include "random_program.h"

namespace sidra::vector_reference::test {
namespace {

#define OP(name) SIDRA_VECTOR_OP_##name

constexpr uint64_t kAddresses = uint64_t{1} << 39;

// out = in - mean(in) by row, and the mean beside it. Operands: 0 in, 1 out, 2 means. Scalars of pass 1: s0.
Bench valid() {
    Bench bench{.size = {2, 3, 4, 5}};
    const uint8_t in = bench.operand(bench.place(std::vector<float>(120)), SIDRA_TYPE_F32, false);
    const uint8_t out = bench.output(SIDRA_TYPE_F32, 120), means = bench.output(SIDRA_TYPE_F32, 24);
    for (size_t d = 0; d < 3; ++d) bench.operands[means].stride[d] /= 5;
    bench.operands[means].stride[3] = 0;
    bench.load(v(0), in);                                                  // 0
    bench.op(OP(REDUCE_SUM), s(0), {.a = v(0)});                           // 1
    bench.op(OP(MUL), s(0), {.a = s(0), .b = imm(0), .imm0 = bits(.2f)});  // 2
    bench.store(means, s(0));                                              // 3
    bench.pass(OP(LOAD), v(0));                                            // 4
    bench.op(OP(SUB), v(1), {.a = v(0), .b = s(0)});                       // 5
    bench.store(out, v(1));                                                // 6
    return bench;
}

// One row.
void make_long(Bench& b, uint32_t columns) {
    b.size = {1, 1, 1, columns};
    b.operands[1].addr = kBase + 0x1000000;
    b.operands[2].addr = kBase + 0x2000000;
}

// With four functions, the five vector instructions cost 37.
void make_costly(Bench& b, uint32_t columns) {
    make_long(b, columns);
    b.program.insert(b.program.begin() + 1, 4, {OP(EXP), 0, v(0), 0, v(0), 0, 0, 0, {}});
}

struct Wrong {
    const char* name;
    sidra_program_error why;
    std::function<void(Bench&)> change;
};

const Wrong kWrong[] = {
    {"NoSuchOpcode", SIDRA_PROGRAM_OP, [](Bench& b) { b.program[5].op = 9; }},
    {"OpcodeZero", SIDRA_PROGRAM_OP, [](Bench& b) { b.program[5].op = 0; }},
    {"OpcodeCount", SIDRA_PROGRAM_OP, [](Bench& b) { b.program[5].op = SIDRA_VECTOR_OP_COUNT; }},
    {"UnknownFlag", SIDRA_PROGRAM_FIELD, [](Bench& b) { b.program[5].flags = 2; }},
    {"Reserved", SIDRA_PROGRAM_FIELD, [](Bench& b) { b.program[5].reserved = 1; }},
    {"SourceNotUsed", SIDRA_PROGRAM_FIELD, [](Bench& b) { b.program[5].c = v(1); }},
    {"OperandNotUsed", SIDRA_PROGRAM_FIELD, [](Bench& b) { b.program[5].operand = 1; }},
    {"ImmediateNotUsed", SIDRA_PROGRAM_FIELD, [](Bench& b) { b.program[2].imm[1] = 1; }},
    {"DestinationOfAStore", SIDRA_PROGRAM_FIELD, [](Bench& b) { b.program[6].dst = v(2); }},
    {"NoSuchRegister", SIDRA_PROGRAM_DESTINATION, [](Bench& b) { b.program[5].dst = 0x20; }},
    {"ReductionToAVector", SIDRA_PROGRAM_DESTINATION, [](Bench& b) { b.program[1].dst = v(2); }},
    {"ScanToAScalar", SIDRA_PROGRAM_DESTINATION,
     [](Bench& b) { b.program[5] = {OP(SCAN), 0, s(1), 0, v(0), 0, 0, 0, {}}; }},
    {"RandomToAScalar", SIDRA_PROGRAM_DESTINATION,
     [](Bench& b) { b.op(OP(RANDOM), s(3), {.a = kRow, .b = param(0), .c = imm(0)}); }},
    {"NoSuchSource", SIDRA_PROGRAM_SOURCE, [](Bench& b) { b.program[5].b = 0x24; }},
    {"NoSuchImmediate", SIDRA_PROGRAM_SOURCE, [](Bench& b) { b.program[5].b = 0x2a; }},
    {"SourceBeyondRow", SIDRA_PROGRAM_SOURCE, [](Bench& b) { b.program[5].b = 0x32; }},
    {"VectorInAScalarInstruction", SIDRA_PROGRAM_SOURCE,
     [](Bench& b) { b.program[2].b = v(0), b.program[2].imm[0] = 0; }},
    {"ColumnInAScalarInstruction", SIDRA_PROGRAM_SOURCE, [](Bench& b) { b.op(OP(MOVE_INT), s(1), {.a = kColumn}); }},
    {"RandomOfAVector", SIDRA_PROGRAM_SOURCE,
     [](Bench& b) {
         b.op(OP(MOVE_INT), v(2), {.a = kColumn});
         b.op(OP(RANDOM), v(3), {.a = v(2), .b = param(0), .c = imm(0)});
     }},
    {"SumOfAScalar", SIDRA_PROGRAM_SOURCE, [](Bench& b) { b.op(OP(REDUCE_SUM), s(1), {.a = s(0)}); }},
    {"VectorNeverWritten", SIDRA_PROGRAM_UNDEFINED, [](Bench& b) { b.program[5].a = v(7); }},
    {"VectorOfAFormerPass", SIDRA_PROGRAM_UNDEFINED, [](Bench& b) { b.program[6].flags = kPass; }},
    {"ScalarNeverWritten", SIDRA_PROGRAM_UNDEFINED, [](Bench& b) { b.program[2].a = s(1); }},
    {"ScalarOfThisPass", SIDRA_PROGRAM_UNDEFINED,
     [](Bench& b) {
         b.program[5].b = s(2);
         b.program.insert(b.program.begin() + 5, {OP(REDUCE_MAX), 0, s(2), 0, v(0), 0, 0, 0, {}});
     }},
    {"ScalarOfThisPassAgain", SIDRA_PROGRAM_UNDEFINED,
     [](Bench& b) {
         b.program.insert(b.program.begin() + 5, {OP(REDUCE_MAX), 0, s(0), 0, v(0), 0, 0, 0, {}});
     }},
    {"FloatForInteger", SIDRA_PROGRAM_TYPE, [](Bench& b) { b.program[5].op = OP(ADD_INT); }},
    {"IntegerForFloat", SIDRA_PROGRAM_TYPE, [](Bench& b) { b.program[5].b = kColumn; }},
    {"SelectOfTwoTypes", SIDRA_PROGRAM_TYPE,
     [](Bench& b) { b.op(OP(SELECT), v(2), {.a = kColumn, .b = v(1), .c = kRow}); }},
    {"VectorAfterScalar", SIDRA_PROGRAM_ORDER, [](Bench& b) { b.program[4].flags = 0; }},
    {"NoFirstPass", SIDRA_PROGRAM_ORDER, [](Bench& b) { b.program[0].flags = 0; }},
    {"NoSuchOperand", SIDRA_PROGRAM_OPERAND, [](Bench& b) { b.program[4].operand = 3; }},
    {"OperandUnused", SIDRA_PROGRAM_OPERAND_UNUSED, [](Bench& b) { b.input(std::vector<float>(120)); }},
    {"StoreWithoutWrite", SIDRA_PROGRAM_OPERAND_WRITE, [](Bench& b) { b.operands[1].flags = 0; }},
    {"WriteWithoutStore", SIDRA_PROGRAM_OPERAND_WRITE, [](Bench& b) { b.operands[0].flags = SIDRA_OPERAND_WRITE; }},
    {"NoSuchType", SIDRA_PROGRAM_OPERAND_FIELD, [](Bench& b) { b.operands[0].type = SIDRA_TYPE_COUNT; }},
    {"OperandFlag", SIDRA_PROGRAM_OPERAND_FIELD, [](Bench& b) { b.operands[1].flags |= 2; }},
    {"OperandPad", SIDRA_PROGRAM_OPERAND_FIELD, [](Bench& b) { b.operands[1].pad = 1; }},
    {"OperandReserved", SIDRA_PROGRAM_OPERAND_FIELD, [](Bench& b) { b.operands[1].reserved = 1; }},
    {"ExtentOfNothing", SIDRA_PROGRAM_OPERAND_FIELD, [](Bench& b) { b.operands[0].extent = 4; }},
    {"IndexTypeOfNothing", SIDRA_PROGRAM_OPERAND_FIELD, [](Bench& b) { b.operands[0].index_type = SIDRA_TYPE_S32; }},
    {"IndexOfBytes", SIDRA_PROGRAM_OPERAND_FIELD,
     [](Bench& b) {
         b.operands[0].index = 0x100000, b.operands[0].extent = 4, b.operands[0].index_type = SIDRA_TYPE_S8;
     }},
    {"IndexAndGather", SIDRA_PROGRAM_OPERAND_FIELD,
     [](Bench& b) {
         b.operands[0].index = 0x100000, b.operands[0].extent = 4, b.operands[0].index_type = SIDRA_TYPE_S32;
         for (sidra_vector_instruction& i : b.program)
             if (i.op == OP(LOAD)) i.op = OP(GATHER), i.a = kColumn;
     }},
    {"ColumnsAndGather", SIDRA_PROGRAM_OPERAND_WAYS, [](Bench& b) { b.op(OP(GATHER), v(2), {.a = kColumn}); }},
    {"ColumnsAndScalar", SIDRA_PROGRAM_OPERAND_WAYS,
     [](Bench& b) {
         b.program.insert(b.program.begin() + 3, {OP(LOAD), 0, s(5), 0, 0, 0, 0, 0, {}});
     }},
    {"IntegerLoadOfFloats", SIDRA_PROGRAM_OPERAND_TYPE,
     [](Bench& b) {
         b.program.insert(b.program.begin() + 6, {OP(LOAD_INT), 0, v(5), 0, 0, 0, 0, 0, {}});
     }},
    {"AddressAlignment", SIDRA_PROGRAM_OPERAND_ALIGNMENT, [](Bench& b) { b.operands[0].addr += 2; }},
    {"StrideAlignment", SIDRA_PROGRAM_OPERAND_ALIGNMENT, [](Bench& b) { b.operands[0].stride[0] += 1; }},
    {"IndexAlignment", SIDRA_PROGRAM_OPERAND_ALIGNMENT,
     [](Bench& b) {
         b.operands[0].index = 0x100004, b.operands[0].extent = 4, b.operands[0].index_type = SIDRA_TYPE_S64;
     }},
    {"AddressBeyond", SIDRA_PROGRAM_OPERAND_RANGE, [](Bench& b) { b.operands[0].addr = kAddresses; }},
    {"EndBeyond", SIDRA_PROGRAM_OPERAND_RANGE, [](Bench& b) { b.operands[0].addr = kAddresses - 476; }},
    {"StrideBeyond", SIDRA_PROGRAM_OPERAND_RANGE, [](Bench& b) { b.operands[0].stride[0] = kAddresses; }},
    {"StrideWraps", SIDRA_PROGRAM_OPERAND_RANGE, [](Bench& b) { b.operands[0].stride[0] = ~uint64_t{3}; }},
    {"IndexBeyond", SIDRA_PROGRAM_OPERAND_RANGE,
     [](Bench& b) {
         b.operands[0].index = kAddresses - 92, b.operands[0].extent = 4, b.operands[0].index_type = SIDRA_TYPE_S32;
     }},
    {"OneArrayInTheOther", SIDRA_PROGRAM_OPERAND_OVERLAP,
     [](Bench& b) { b.operands[1].addr = b.operands[0].addr + 4; }},
    {"OneArrayOfTwoTypes", SIDRA_PROGRAM_OPERAND_OVERLAP,
     [](Bench& b) { b.operands[1].addr = b.operands[0].addr, b.operands[0].type = SIDRA_TYPE_S32; }},
    {"RowsOnEachOther", SIDRA_PROGRAM_OPERAND_OVERLAP, [](Bench& b) { b.operands[1].stride[1] = 0; }},
    {"RowsInEachOther", SIDRA_PROGRAM_OPERAND_OVERLAP, [](Bench& b) { b.operands[1].stride[2] -= 4; }},
    {"ColumnsOnEachOther", SIDRA_PROGRAM_OPERAND_OVERLAP, [](Bench& b) { b.operands[1].stride[3] = 0; }},
    {"ColumnsOfAScalar", SIDRA_PROGRAM_OPERAND_FIELD, [](Bench& b) { b.operands[2].stride[3] = 4; }},
    {"StoreToIndices", SIDRA_PROGRAM_OPERAND_OVERLAP,
     [](Bench& b) {
         b.operands[0].index = b.operands[1].addr, b.operands[0].extent = 4;
         b.operands[0].index_type = SIDRA_TYPE_S32;
     }},
    {"NoRows", SIDRA_PROGRAM_SIZE, [](Bench& b) { b.size[1] = 0; }},
    {"NoColumns", SIDRA_PROGRAM_SIZE, [](Bench& b) { b.size[3] = 0; }},
    {"TooManyRows", SIDRA_PROGRAM_SIZE,
     [](Bench& b) {
         b.size = {1u << 15, 1u << 15, 2, 1};
     }},
    {"RowsWrap", SIDRA_PROGRAM_SIZE,
     [](Bench& b) {
         b.size = {1u << 31, 1u << 31, 4, 1};
     }},
    {"TooManyColumns", SIDRA_PROGRAM_SIZE,
     [](Bench& b) {
         b.size = {1, 1, 1, (1u << 30) + 1};
     }},
    {"TooManyElements", SIDRA_PROGRAM_SIZE,
     [](Bench& b) {
         b.size = {1, 1, 1u << 20, (1u << 18) + 1};
     }},
    // One more column than in Verify.LongestRow.
    {"RowTooLong", SIDRA_PROGRAM_ROW_COST, [](Bench& b) { make_costly(b, 113360); }},
    {"RowOfTooManyBytes", SIDRA_PROGRAM_ROW_COST, [](Bench& b) { make_long(b, 524289); }},
    {"NoInstructions", SIDRA_PROGRAM_LENGTH, [](Bench& b) { b.program.clear(); }},
    {"TooManyInstructions", SIDRA_PROGRAM_LENGTH, [](Bench& b) { b.program.resize(65, b.program[5]); }},
    {"TooManyOperands", SIDRA_PROGRAM_LENGTH, [](Bench& b) { b.operands.resize(9, b.operands[0]); }},
};

class Refused : public testing::TestWithParam<Wrong> {};

TEST_P(Refused, ForThisReason) {
    Bench bench = valid();
    EXPECT_EQ(bench.verdict().why, SIDRA_PROGRAM_OK);
    GetParam().change(bench);
    EXPECT_EQ(bench.verdict().why, GetParam().why);
}

INSTANTIATE_TEST_SUITE_P(Packets, Refused, testing::ValuesIn(kWrong),
                         [](const auto& test) { return std::string(test.param.name); });

TEST(Verify, LongestRow) {
    Bench bench = valid();
    make_long(bench, 524288);  // two operands of four bytes
    EXPECT_EQ(bench.verdict().why, SIDRA_PROGRAM_OK);
    Bench costly = valid();
    make_costly(costly, 113359);
    EXPECT_EQ(costly.verdict().why, SIDRA_PROGRAM_OK);
}

TEST(Verify, ProgramsThatAreDividedByColumnsHaveNoLimit) {
    Bench bench{.size = {1, 1, 1, 1u << 30}};
    const uint8_t in = bench.input(std::vector<float>(1));
    bench.operands[in].stride[3] = 0;
    bench.load(v(0), in);
    bench.store(bench.operand(uint64_t{1} << 32, SIDRA_TYPE_U8, true), v(0));
    EXPECT_EQ(bench.verdict().why, SIDRA_PROGRAM_OK);
    bench.op(OP(MOVE), s(0), {.a = imm(0)});
    EXPECT_EQ(bench.verdict().why, SIDRA_PROGRAM_ROW_COST);
}

TEST(Verify, OneArrayAndNeighbours) {
    Bench bench = valid();
    bench.operands[1].addr = bench.operands[0].addr;
    EXPECT_EQ(bench.verdict().why, SIDRA_PROGRAM_OK) << "in place";
    // Columns 0..4 and 5..9 of one matrix.
    bench = valid();
    for (uint32_t o = 0; o < 2; ++o)
        for (int d = 0; d < 3; ++d) bench.operands[o].stride[d] *= 2;
    bench.operands[1].addr = bench.operands[0].addr + 20;
    bench.operands[2].addr += 0x10000;
    EXPECT_EQ(bench.verdict().why, SIDRA_PROGRAM_OK);
    bench.operands[1].addr -= 4;
    EXPECT_EQ(bench.verdict().why, SIDRA_PROGRAM_OPERAND_OVERLAP);
}

TEST(Verify, RowsAtIndicesMayMeet) {
    Bench bench = valid();
    sidra_operand& out = bench.operands[1];
    out.index = 0x100000, out.index_type = SIDRA_TYPE_S32, out.extent = 10;
    out.stride[0] = out.stride[1] = 0;
    bench.operands[2].addr += 0x10000;
    EXPECT_EQ(bench.verdict().why, SIDRA_PROGRAM_OK);
    out.stride[3] = 0;
    EXPECT_EQ(bench.verdict().why, SIDRA_PROGRAM_OPERAND_OVERLAP);
}

constexpr uint32_t kPackets = 20000;

TEST(RandomPackets, AreValidAndStayInTheirMemory) {
    std::set<uint8_t> ops;
    std::map<uint8_t, std::set<uint8_t>> types;  // by opcode of memory
    uint32_t faults = 0;
    size_t longest = 0, dimensions = 0, passes = 0;
    for (uint32_t seed = 0; seed < kPackets; ++seed) {
        Random random(seed);
        Packet packet = random_packet(random);
        const Verdict verdict = verify(packet.program, packet.operands, packet.size);
        ASSERT_EQ(verdict.why, SIDRA_PROGRAM_OK)
            << "seed " << seed << ", instruction " << verdict.instruction << ", operand " << verdict.operand;
        ASSERT_NO_THROW(faults +=
                        execute(packet.program, packet.operands, packet.size, packet.param, packet.memory).has_value())
            << "seed " << seed;
        size_t own_passes = 0;
        for (const auto& in : packet.program) {
            ops.insert(in.op);
            if (find_opcode(in.op)->memory) types[in.op].insert(packet.operands[in.operand].type);
            own_passes += in.flags;
        }
        passes = std::max(passes, own_passes);
        longest = std::max(longest, packet.program.size());
        dimensions |= size_t{1} << std::count_if(packet.size.begin(), packet.size.end(), [](auto n) { return n > 1; });
    }
    EXPECT_EQ(ops.size(), opcodes().size());
    for (const Opcode& opcode : opcodes()) {
        if (opcode.memory) {
            EXPECT_EQ(types[opcode.op].size(), opcode.integer ? 6u : size_t{SIDRA_TYPE_COUNT}) << int{opcode.op};
        }
    }
    EXPECT_GT(faults, kPackets / 200);
    EXPECT_GT(longest, 60u);
    EXPECT_GT(passes, 3u);
    EXPECT_EQ(dimensions, 0b11111u);
}

TEST(RandomPackets, AreTheSameForASeed) {
    Random one(7), other(7);
    const Packet a = random_packet(one), b = random_packet(other);
    EXPECT_EQ(a.memory.bytes(), b.memory.bytes());
    EXPECT_EQ(a.size, b.size);
}

TEST(RandomPackets, MutationsMeetEveryReasonAndSometimesNone) {
    std::set<int> reasons;
    for (uint32_t seed = 0; seed < 2000; ++seed) {
        Random random(seed);
        const Packet packet = random_packet(random);
        for (int i = 0; i < 20; ++i) {
            Packet changed = packet;
            mutate(changed, random);
            reasons.insert(verify(changed.program, changed.operands, changed.size).why);
        }
    }
    // The length of a program is not what mutate() changes.
    for (int why = SIDRA_PROGRAM_OK; why < SIDRA_PROGRAM_LENGTH; ++why) EXPECT_EQ(reasons.count(why), 1u) << why;
}

}  // namespace
}  // namespace sidra::vector_reference::test
