// SPDX-License-Identifier: MIT
#include <bit>

#include "program/table.h"
#include "program_test_util.h"

namespace sidra::program::test {
namespace {

TEST(Assemble, FieldsOfInstructions) {
    const auto add = one("v2 = add v1, s3");
    EXPECT_EQ((sidra_vector_instruction{SIDRA_VECTOR_OP_ADD,
                                        SIDRA_VECTOR_PASS,
                                        SIDRA_VECTOR_V(2),
                                        0,
                                        SIDRA_VECTOR_V(1),
                                        SIDRA_VECTOR_S(3),
                                        0,
                                        0,
                                        {}}),
              add);
    EXPECT_EQ(
        (sidra_vector_instruction{SIDRA_VECTOR_OP_LOAD_INT, SIDRA_VECTOR_PASS, SIDRA_VECTOR_S(15), 7, 0, 0, 0, 0, {}}),
        one("s15 = load_int o7"));
    EXPECT_EQ((sidra_vector_instruction{
                  SIDRA_VECTOR_OP_SCATTER, SIDRA_VECTOR_PASS, 0, 3, SIDRA_VECTOR_V(2), SIDRA_VECTOR_ROW, 0, 0, {}}),
              one("scatter o3, v2, row"));
    EXPECT_EQ((sidra_vector_instruction{SIDRA_VECTOR_OP_SCATTER_INT,
                                        SIDRA_VECTOR_PASS,
                                        0,
                                        0,
                                        SIDRA_VECTOR_IMM(0),
                                        SIDRA_VECTOR_COLUMN,
                                        0,
                                        0,
                                        {1, 0}}),
              one("scatter_int o0, 1, column"));
    EXPECT_EQ((sidra_vector_instruction{SIDRA_VECTOR_OP_FMA,
                                        SIDRA_VECTOR_PASS,
                                        SIDRA_VECTOR_V(15),
                                        0,
                                        SIDRA_VECTOR_PARAM(3),
                                        SIDRA_VECTOR_IMM(0),
                                        SIDRA_VECTOR_IMM(1),
                                        0,
                                        {0x3fc00000, 0xc0000000}}),
              one("v15 = fma p3, 1.5, -2"));
    EXPECT_EQ((sidra_vector_instruction{SIDRA_VECTOR_OP_ADD_INT,
                                        SIDRA_VECTOR_PASS,
                                        SIDRA_VECTOR_V(0),
                                        0,
                                        SIDRA_VECTOR_COLUMN,
                                        SIDRA_VECTOR_IMM(0),
                                        0,
                                        0,
                                        {5, 0}}),
              one("v0 = add_int column, 5"));
}

TEST(Assemble, SpacesCommentsAndPasses) {
    const Program program = assembled(
        "# a program\r\n\r\n  pass: # first\r\n\tv0=load o0#\n\n  s0 =reduce_max v0\n"
        "pass:\n# nothing\nv1 = sub\ts0,p0");
    ASSERT_EQ(3u, program.size());
    EXPECT_EQ(SIDRA_VECTOR_PASS, program[0].flags);
    EXPECT_EQ(0, program[1].flags);
    EXPECT_EQ(SIDRA_VECTOR_PASS, program[2].flags);
    EXPECT_EQ(SIDRA_VECTOR_PARAM(0), program[2].b);
}

TEST(Assemble, NumbersOfF32) {
    const std::pair<const char*, uint32_t> kNumbers[] = {
        {"0", 0},
        {"-0", 0x80000000},
        {"1", 0x3f800000},
        {"0x10", 0x41800000},
        {"-0x10", 0xc1800000},
        {"16777216", 0x4b800000},
        {"0x8000000000000000", 0x5f000000},
        {"16777217.0", 0x4b800000},
        {"0.1", 0x3dcccccd},
        {".5", 0x3f000000},
        {"1e-45", 1},
        {"-1e-45", 0x80000001},
        {"0e5", 0},
        {"-0.0", 0x80000000},
        {"3.4028235e38", 0x7f7fffff},
        {"1e+20", 0x60ad78ec},
        {"inf", 0x7f800000},
        {"-inf", 0xff800000},
        {"nan", 0x7fc00000},
        {"bits(0x7fc00001)", 0x7fc00001},
        {"bits(7)", 7},
        {"bits(0xffffffff)", 0xffffffff},
    };
    for (const auto& [text, bits] : kNumbers) EXPECT_EQ(bits, one(std::string("v0 = neg ") + text).imm[0]) << text;
}

TEST(Assemble, NumbersOfS32) {
    const std::pair<const char*, uint32_t> kNumbers[] = {
        {"0", 0},
        {"-0", 0},
        {"-1", 0xffffffff},
        {"0x7fffffff", 0x7fffffff},
        {"-0x80000000", 0x80000000},
        {"2147483647", 0x7fffffff},
        {"-2147483648", 0x80000000},
        {"bits(0xffffffff)", 0xffffffff},
    };
    for (const auto& [text, bits] : kNumbers) EXPECT_EQ(bits, one(std::string("v0 = to_float ") + text).imm[0]) << text;
}

TEST(Assemble, EqualNumbersShareAnImmediate) {
    const auto fma = one("v0 = fma 1.5, 2.0, 1.5");
    EXPECT_EQ(fma.a, fma.c);
    EXPECT_EQ(SIDRA_VECTOR_IMM(1), fma.b);
    const auto select = one("v0 = select 0, 0.0, 1.0");  // the same bits, of two types
    EXPECT_EQ(select.a, select.b);
    EXPECT_EQ(0x3f800000u, select.imm[1]);
}

TEST(Assemble, ANumberOfEitherTypeHasTheTypeOfTheOthers) {
    EXPECT_EQ(0x40e00000u, one("v0 = move 7").imm[0]);
    EXPECT_EQ(7u, one("v0 = move_int 7").imm[0]);
    EXPECT_EQ(0x40e00000u, one("v0 = select p0, p1, 7").imm[0]);
    EXPECT_EQ(7u, one("v0 = select p0, 7, column").imm[0]);
    EXPECT_EQ(7u, one("v0 = select p0, row, 7").imm[0]);

    const auto last = [](const std::string& text) { return assembled(text).back().imm[0]; };
    EXPECT_EQ(7u, last("pass:\nv0 = load_int o0\nv1 = select v0, v0, 7"));
    EXPECT_EQ(7u, last("pass:\nv0 = load_int o0\nv1 = move v0\nv2 = select v0, 7, v1"));
    EXPECT_EQ(7u, last("pass:\nv0 = move column\nv2 = select v0, 7, v0"));
    EXPECT_EQ(0x40e00000u, last("pass:\nv0 = load_int o0\nv0 = load o0\nv1 = select p0, v0, 7"));
    // A pass forgets vectors, and brings scalars to the vector instructions.
    EXPECT_EQ(0x40e00000u, last("pass:\nv0 = load_int o0\npass:\nv1 = select p0, v0, 7"));
    EXPECT_EQ(7u, last("pass:\ns0 = load_int o0\npass:\nv1 = select p0, s0, 7"));
    EXPECT_EQ(7u, last("pass:\ns0 = load_int o0\ns1 = select p0, s0, 7"));
    EXPECT_EQ(7u, last("pass:\ns0 = load_int o0\npass:\nv0 = load o0\ns0 = reduce_max v0\nv1 = select p0, s0, 7"));
}

TEST(Assemble, Bytes) {
    const Program program = assembled(
        ".bytes 0x200102000102000b0000803f78563412 # any\npass:\n"
        ".bytes 0xFF000000000000000000000000000000");
    ASSERT_EQ(2u, program.size());
    EXPECT_EQ((sidra_vector_instruction{0x20, 1, 2, 0, 1, 2, 0, 11, {0x3f800000, 0x12345678}}), program[0]);
    EXPECT_EQ((sidra_vector_instruction{0xff, SIDRA_VECTOR_PASS, 0, 0, 0, 0, 0, 0, {}}), program[1]);
}

TEST(Assemble, AsManyInstructionsAsTheChipTakes) {
    std::string text = "pass:\n";
    for (uint32_t n = 0; n < SIDRA_VECTOR_INSTRUCTIONS_MAX; ++n) text += "v0 = load o0\n";
    EXPECT_EQ(SIDRA_VECTOR_INSTRUCTIONS_MAX, assembled(text).size());
}

// ---- Errors

struct Wrong {
    const char* text;
    uint32_t line, column;
    std::string message;
};

void expect(const Wrong& wrong) {
    const Assembly assembly = assemble(wrong.text);
    const auto* error = std::get_if<AssemblyError>(&assembly);
    ASSERT_NE(nullptr, error) << wrong.text;
    EXPECT_EQ(wrong.message, error->message) << wrong.text;
    EXPECT_EQ(wrong.line, error->line) << wrong.text;
    EXPECT_EQ(wrong.column, error->column) << wrong.text;
}

TEST(Assemble, ErrorsOfEpilogues) {
    expect({"epilogue:", 1, 1, "the prologue is empty: write its instructions before this line, or none at all"});
    expect({"pass:\nepilogue:", 2, 1, "an instruction is missing after 'pass:'"});
    expect({"pass:\nv0 = load o0\n epilogue:\npass:\nv0 = load o0\nepilogue:", 6, 1,
            "a program has one epilogue: this line comes twice"});
    expect({"pass:\nv0 = load o0\nepilogue:", 3, 1, "the epilogue is empty: write 'pass:' and an instruction"});
    expect({"pass:\nv0 = load o0\nepilogue:\nv0 = load o0", 4, 1, "the first line of an epilogue must be 'pass:'"});
    expect({"pass:\nv0 = add sums, v0", 2, 10, "operand sums cannot be a source here: load it into a register first"});
    expect({"pass:\nv0 = load sum", 2, 11, "'load' needs an operand first: write for example 'v0 = load o0'"});
}

TEST(AssembleErrors, OfTheProgram) {
    const std::string first = "the first line of a program must be 'pass:'";
    const std::string missing = "an instruction is missing after 'pass:'";
    const std::string empty = "the program is empty: write 'pass:' and an instruction";
    std::string long_text = "pass:\n";
    for (int n = 0; n < 65; ++n) long_text += " v0 = load o0\n";
    const Wrong kWrong[] = {
        {"", 1, 1, empty},
        {"# no\n\n", 3, 1, empty},
        {"\n  v0 = load o0", 2, 3, first},
        {"pass:\n\npass:\nv0 = load o0", 3, 1, missing},
        {"pass:\nv0 = load o0\npass:\n", 4, 1, missing},
        {" pass: v0 = load o0", 1, 7, "nothing can follow 'pass:': write the instruction in the next line"},
        {"pass", 1, 1, "the colon is missing: write 'pass:'"},
        {"  pass :", 1, 3, "the colon is missing: write 'pass:'"},
        {long_text.c_str(), 66, 2, "a program has at most 64 instructions: divide it into two programs"},
    };
    for (const Wrong& wrong : kWrong) expect(wrong);
}

TEST(AssembleErrors, OfInstructions) {
    const std::string bytes = "'.bytes' needs 0x and the 32 hexadecimal digits of 16 bytes";
    const Wrong kWrong[] = {
        // What the line is
        {"pass:\nv0 = ad v1, v2", 2, 6, "there is no instruction 'ad': did you mean 'add'?"},
        {"pass:\nv0 = ADD v1, v2", 2, 6, "there is no instruction 'ADD': did you mean 'add'?"},
        {"pass:\n s0 = redcue_max v1", 2, 7, "there is no instruction 'redcue_max': did you mean 'reduce_max'?"},
        {"pass:\nv0 = softmax v1", 2, 6, "there is no instruction 'softmax': docs/vector-programs.md lists all"},
        {"pass:\nv0 = abcdefghijklmnopqrstuvwxyzabcdefghijklmnopqrstuvwxyz", 2, 6,
         "there is no instruction 'abcdefghijklmnopqrstuvwxyzabcdefghijklmn...': docs/vector-programs.md lists all"},
        {"pass:\nv0 = \x1b[1m", 2, 6, "there is no instruction '\\x1b[1m': docs/vector-programs.md lists all"},
        {"pass:\n= add v1, v2", 2, 1, "there is no instruction '=': docs/vector-programs.md lists all"},
        {"pass:\nv0 =  # nothing", 2, 5, "an instruction is missing after '='"},
        {"pass:\nv0", 2, 1, "'=' is missing after the destination: write 'v0 = ...'"},
        {"pass:\ns3 load o0", 2, 1, "'=' is missing after the destination: write 's3 = ...'"},
        {"pass:\n.bytes", 2, 7, bytes},
        {"pass:\n.bytes 0x1234", 2, 8, bytes},
        {"pass:\n.bytes 0x0000000000000000000000000000000g", 2, 8, bytes},
        {"pass:\n.bytes 0x000000000000000000000000000000-1", 2, 8, bytes},
        {"pass:\n.bytes 0x00000000000000000000000000000000 v0", 2, 43,
         "'v0' is not expected here: only the end of the line can follow"},
        // Destinations
        {"pass:\n add v1, v2", 2, 2, "'add' needs a destination: write for example 'v0 = add v1, v2'"},
        {"pass:\nreduce_dot v1, v2", 2, 1,
         "'reduce_dot' needs a destination: write for example 's0 = reduce_dot v1, v2'"},
        {"pass:\n v0 = store o0, v1", 2, 2, "'store' has no destination: write for example 'store o0, v1'"},
        {"pass:\np0 = add v1, v2", 2, 1,
         "'p0' cannot be a destination: write a register, for example 'v0 = add v1, v2'"},
        {"pass:\n1.5 = move v1", 2, 1, "'1.5' cannot be a destination: write a register, for example 'v0 = move v1'"},
        {"pass:\nv16 = load o0", 2, 1, "there is no 'v16': the vector registers are v0 to v15"},
        {"pass:\nv99 load o0", 2, 1, "there is no 'v99': the vector registers are v0 to v15"},
        {"pass:\nv0 = reduce_max v1", 2, 1, "the destination of 'reduce_max' must be a scalar register, not v0"},
        {"pass:\ns0 = gather o0, 1", 2, 1, "the destination of 'gather' must be a vector register, not s0"},
        {"pass:\ns0 = random 1, 2, 3", 2, 1, "the destination of 'random' must be a vector register, not s0"},
        {"pass:\ns0 = scan v0", 2, 1, "the destination of 'scan' must be a vector register, not s0"},
        // Punctuation
        {"pass:\nv0 = add v1,", 2, 13, "a source is missing after ','"},
        {"pass:\nv0 = add v1, , v2", 2, 14, "a source is missing before ','"},
        {"pass:\nv0 = add , v2", 2, 10, "a source is missing before ','"},
        {"pass:\nv0 = add v1 v2", 2, 13, "'v2' is not expected here: only ',' or the end of the line can follow"},
        {"pass:\nv0 = neg v1 = v2", 2, 13, "'=' is not expected here: only ',' or the end of the line can follow"},
        // Operands and the number of sources
        {"pass:\nv0 = load", 2, 10, "'load' needs an operand first: write for example 'v0 = load o0'"},
        {"pass:\nv0 = load v1", 2, 11, "'load' needs an operand first: write for example 'v0 = load o0'"},
        {"pass:\nstore v1, o0", 2, 7, "'store' needs an operand first: write for example 'store o0, v1'"},
        {"pass:\nv0 = load o8", 2, 11, "there is no 'o8': the operands are o0 to o7"},
        {"pass:\nv0 = load o0, v1", 2, 15, "'load' has 0 sources, not 1: write for example 'v0 = load o0'"},
        {"pass:\nv0 = neg", 2, 9, "'neg' has 1 source, not 0: write for example 'v0 = neg v1'"},
        {"pass:\nv0 = add v1", 2, 12, "'add' has 2 sources, not 1: write for example 'v0 = add v1, v2'"},
        {"pass:\nv0 = random s1, s2 # two", 2, 19,
         "'random' has 3 sources, not 2: write for example 'v0 = random s1, s2, s3'"},
        {"pass:\nv0 = add v1, v2, v3", 2, 18, "'add' has 2 sources, not 3: write for example 'v0 = add v1, v2'"},
        // Sources
        {"pass:\nv0 = add v1, foo", 2, 14,
         "'foo' is not a source: write a register (v0, s0), a parameter (p0), column, row or a number"},
        {"pass:\nv0 = neg V1", 2, 10,
         "'V1' is not a source: write a register (v0, s0), a parameter (p0), column, row or a number"},
        {"pass:\nv0 = neg o1", 2, 10, "operand o1 cannot be a source here: load it into a register first"},
        {"pass:\nv0 = neg p4", 2, 10, "there is no 'p4': the parameters are p0 to p3"},
        {"pass:\nv0 = neg s16", 2, 10, "there is no 's16': the scalar registers are s0 to s15"},
        {"pass:\nv0 = neg v01", 2, 10, "there is no 'v01': the vector registers are v0 to v15"},
        {"pass:\nv0 = neg v4294967296", 2, 10, "there is no 'v4294967296': the vector registers are v0 to v15"},
        {"pass:\ns0 = reduce_max s1", 2, 17, "the source of 'reduce_max' must be a vector register, not 's1'"},
        {"pass:\ns0 = reduce_dot 1.5, v1", 2, 17, "source 1 of 'reduce_dot' must be a vector register, not '1.5'"},
        {"pass:\nv0 = random 1, v2, 3", 2, 16,
         "source 2 of 'random' must be the same in all columns, so it cannot be v2"},
        {"pass:\nv0 = random column, 2, 3", 2, 13,
         "source 1 of 'random' must be the same in all columns, so it cannot be column"},
        {"pass:\ns0 = add s1, v2", 2, 14,
         "a scalar instruction cannot read v2: write to a vector register, or reduce it first"},
        {"pass:\ns0 = move_int column", 2, 15,
         "a scalar instruction cannot read column: write to a vector register, or reduce it first"},
        {"pass:\nstore_int o0, column", 2, 15,
         "a scalar instruction cannot read column: move it into a vector register first"},
        {"pass:\nv0 = add v1, column", 2, 14,
         "source 2 of 'add' is f32, and column is s32: convert it with 'to_float' first"},
        {"pass:\ns0 = neg row", 2, 10, "the source of 'neg' is f32, and row is s32: convert it with 'to_float' first"},
    };
    for (const Wrong& wrong : kWrong) expect(wrong);
}

TEST(AssembleErrors, OfNumbers) {
    const auto not_a_number = [](const std::string& text) {
        return "'" + text + "' is not a number: write for example 3, -0x10, 1.5e-3, inf or bits(0x7fc00001)";
    };
    const auto not_exact = [](const std::string& text) {
        return "no f32 is exactly '" + text + "': write a number with '.' or an exponent for the nearest one";
    };
    const auto no_f32 = [](const std::string& text) {
        return "'" + text + "' is out of the range of f32, 1e-45 to 3.4028235e+38: write 0.0 or inf";
    };
    const auto no_s32 = [](const std::string& text) {
        return "'" + text +
               "' is out of the range of s32, -2147483648 to 2147483647: for a pattern of bits write bits(...)";
    };
    const auto not_an_integer = [](const std::string& text) {
        return "the source of 'to_float' is s32, and '" + text +
               "' is not an integer: write a decimal or hexadecimal integer";
    };
    const auto not_bits = [](const std::string& text) {
        return "'" + text + "' is not a pattern of bits: write for example bits(0x7fc00001), without spaces";
    };
    for (const char* text : {"-", "--1", ".", "-nan", "1.5x", "1e", "0x", "0X10", "0x1p3", "1.5.2", "-infinity", "-e5"})
        expect({("pass:\nv0 = neg " + std::string(text)).c_str(), 2, 10, not_a_number(text)});
    for (const char* text : {"16777217", "-16777217", "18446744073709551615", "18446744073709551616", "0x1000001"})
        expect({("pass:\nv0 = neg " + std::string(text)).c_str(), 2, 10, not_exact(text)});
    for (const char* text : {"1e39", "-1e39", "1e999999", "3.4028236e38", "1e-46", "-1e-999999", "0.1e-50"})
        expect({("pass:\nv0 = neg " + std::string(text)).c_str(), 2, 10, no_f32(text)});
    for (const char* text : {"2147483648", "-2147483649", "0x80000000", "18446744073709551616"})
        expect({("pass:\nv0 = to_float " + std::string(text)).c_str(), 2, 15, no_s32(text)});
    for (const char* text : {"1.0", "1e3", "inf", "nan", "-inf", "0x", "-"})
        expect({("pass:\nv0 = to_float " + std::string(text)).c_str(), 2, 15, not_an_integer(text)});
    for (const char* text : {"bits(", "bits()", "bits(1", "bits(-1)", "bits(1.5)", "bits(0x)", "bits(1)x"})
        for (const char* mnemonic : {"neg     ", "to_float"})
            expect({("pass:\nv0 = " + std::string(mnemonic) + " " + text).c_str(), 2, 15, not_bits(text)});

    const Wrong kWrong[] = {
        {"pass:\nv0 = neg bits(0x100000000)", 2, 10, "'bits(0x100000000)' has more than 32 bits"},
        {"pass:\nv0 = neg bits(99999999999999999999)", 2, 10, "'bits(99999999999999999999)' has more than 32 bits"},
        {"pass:\nv0 = fma 1.0, 2.0, 3.0", 2, 20,
         "'3.0' is the third number of this instruction, and two fit: move one into a register first"},
        {"pass:\nv0 = select p0, row, 1.5", 2, 22,
         "source 3 of 'select' is s32, and '1.5' is not an integer: write a decimal or hexadecimal integer"},
        {"pass:\nv0 = load_int o0\nv1 = select v0, 0.0, v0", 3, 17,
         "source 2 of 'select' is s32, and '0.0' is not an integer: write a decimal or hexadecimal integer"},
    };
    for (const Wrong& wrong : kWrong) expect(wrong);
}

// What the messages recommend is right.
TEST(AssembleErrors, ExamplesAssemble) {
    for (const Opcode& opcode : opcodes()) {
        const std::string mnemonic(opcode.mnemonic);
        const bool store = opcode.destination.type == Type::kNone;
        const Assembly assembly = assemble("pass:\n" + mnemonic + (store ? "" : " v0"));
        const std::string& message = std::get<AssemblyError>(assembly).message;
        const size_t begin = message.find("write for example '") + 19;
        ASSERT_NE(std::string::npos + 19, begin) << message;
        EXPECT_EQ(opcode.op, one(message.substr(begin, message.size() - 1 - begin)).op) << message;
    }
}

}  // namespace
}  // namespace sidra::program::test
