// SPDX-License-Identifier: MIT
#include <array>
#include <random>

#include "program/table.h"
#include "program_test_util.h"

namespace sidra::program::test {
namespace {

using Random = std::mt19937;

uint8_t pick(Random& random, std::initializer_list<uint8_t> from) { return from.begin()[random() % from.size()]; }

// A source that suits the slot.
uint8_t source(Random& random, const Slot& slot, bool vector) {
    const auto number = static_cast<uint8_t>(random() % SIDRA_VECTOR_REGISTERS);
    if (slot.place == Place::kVector) return SIDRA_VECTOR_V(number);
    for (;;) {
        const uint8_t field = pick(
            random, {SIDRA_VECTOR_V(number), SIDRA_VECTOR_S(number), SIDRA_VECTOR_PARAM(number % SIDRA_VECTOR_PARAMS),
                     SIDRA_VECTOR_IMM(0), SIDRA_VECTOR_COLUMN, SIDRA_VECTOR_ROW});
        const bool by_column = is_vector(field) || field == SIDRA_VECTOR_COLUMN;
        if (by_column && (!vector || slot.place == Place::kNotVector)) continue;
        if ((field == SIDRA_VECTOR_COLUMN || field == SIDRA_VECTOR_ROW) && slot.type == Type::kFloat) continue;
        return field;
    }
}

// Any instruction that the language can express.
sidra_vector_instruction instruction(Random& random, const Opcode& opcode) {
    sidra_vector_instruction i{};
    i.op = opcode.op;
    const auto number = static_cast<uint8_t>(random() % SIDRA_VECTOR_REGISTERS);
    const bool scalar =
        opcode.destination.place == Place::kNotVector || (opcode.destination.place == Place::kAny && random() % 2);
    if (opcode.destination.type != Type::kNone) i.dst = scalar ? SIDRA_VECTOR_S(number) : SIDRA_VECTOR_V(number);
    if (opcode.operand) i.operand = static_cast<uint8_t>(random() % SIDRA_VECTOR_OPERANDS_MAX);
    uint8_t* const fields[] = {&i.a, &i.b, &i.c};
    for (size_t n = 0; n < opcode.source_count(); ++n) {
        // A store is a vector instruction or not by its source.
        const bool store = opcode.destination.type == Type::kNone && opcode.destination.place == Place::kAny;
        if (store && random() % 2) *fields[n] = SIDRA_VECTOR_V(number);
        else *fields[n] = source(random, opcode.sources[n], !store && opcode.is_vector(i));
    }
    // Numbers in the order of their first use.
    size_t used = 0;
    for (uint8_t* field : fields) {
        if (*field != SIDRA_VECTOR_IMM(0)) continue;
        if (used == 2 || (used == 1 && random() % 2)) continue;
        *field = SIDRA_VECTOR_IMM(used);
        constexpr uint32_t kSpecial[] = {0, 0x80000000, 0x7f800000, 0xff800000, 0x7fc00000, 0xffc00000, 0x7f800001, 1};
        do i.imm[used] = random() % 4 ? static_cast<uint32_t>(random()) : kSpecial[random() % std::size(kSpecial)];
        while (used == 1 && i.imm[1] == i.imm[0]);
        ++used;
    }
    return i;
}

TEST(Disassemble, Text) {
    const std::string text =
        "pass:\n"
        "    v0 = load o0\n"
        "    v1 = load_int o1\n"
        "    v2 = fma v0, p0, 1.5\n"
        "    v3 = select v1, v1, 7\n"
        "    v4 = select v1, v0, 7.0\n"
        "    v5 = add_int column, -2147483648\n"
        "    v6 = max bits(0xffc00000), nan\n"
        "    v7 = max -inf, inf\n"
        "    v8 = max -0.0, 1e-45\n"
        "    scatter o3, v2, row\n"
        "    s0 = reduce_max v2\n"
        "    s1 = add s0, 3.4028235e+38\n"
        "pass:\n"
        "    v0 = random s0, 1, 2\n"
        "    store_int o2, v0\n";
    EXPECT_EQ(text, disassemble(assembled(text)));
}

// What packets give to programs, and the line between prologue and epilogue.
TEST(Disassemble, PrologueAndNamedOperands) {
    const std::string text =
        "pass:\n    v0 = load input\n    s0 = reduce_max v0\n"
        "pass:\n    v0 = load input\n    v1 = div v0, s0\n    store codes, v1\n"
        "epilogue:\n"
        "pass:\n    v0 = load_int sums\n    store_int o1, v0\n";
    const Assembly assembly = assemble(text);
    const auto* code = std::get_if<Code>(&assembly);
    ASSERT_NE(nullptr, code);
    ASSERT_EQ(7u, code->instructions.size());
    EXPECT_EQ(5u, code->prologue);
    EXPECT_EQ(SIDRA_OPERAND_INPUT, code->instructions[0].operand);
    EXPECT_EQ(SIDRA_OPERAND_CODES, code->instructions[4].operand);
    EXPECT_EQ(SIDRA_OPERAND_SUMS, code->instructions[5].operand);
    EXPECT_EQ(1u, code->instructions[6].operand);
    EXPECT_EQ(text, disassemble(code->instructions, code->prologue));
    // An operand that has no name keeps its bytes.
    auto odd = code->instructions;
    odd[0].operand = 0x43;
    EXPECT_NE(std::string::npos, disassemble(odd).find(".bytes 0x0101")) << disassemble(odd);
}

TEST(Disassemble, WhatTheLanguageCannotExpress) {
    const sidra_vector_instruction add = one("v0 = add v1, v2"), fma = one("v0 = fma 1.5, v1, 2.0");
    const auto changed = [](sidra_vector_instruction i, auto change) {
        i.flags = 0;
        change(i);
        return disassemble(Program{one("v1 = load o0"), i}).substr(std::string("pass:\n    v1 = load o0\n").size());
    };
    EXPECT_EQ("    .bytes 0xc8000000010200000000000000000000  # opcode 200 is unknown\n",
              changed(add, [](auto& i) { i.op = 200; }));
    EXPECT_EQ("    .bytes 0x20000000010255000000000000000000  # v0 = add v1, v2\n",
              changed(add, [](auto& i) { i.c = 0x55; }));
    EXPECT_EQ("    .bytes 0x20000000015500000000000000000000  # v0 = add v1, ?0x55\n",
              changed(add, [](auto& i) { i.b = 0x55; }));
    EXPECT_EQ("    .bytes 0x20008000010200000000000000000000  # ?0x80 = add v1, v2\n",
              changed(add, [](auto& i) { i.dst = 0x80; }));
    EXPECT_EQ("    .bytes 0x20020000010200000000000000000000  # v0 = add v1, v2\n",
              changed(add, [](auto& i) { i.flags = 2; }));
    EXPECT_EQ("    .bytes 0x20000000010200000000000001000000  # v0 = add v1, v2\n",
              changed(add, [](auto& i) { i.imm[1] = 1; }));
    EXPECT_EQ("    .bytes 0x20000000242700000000000000000000  # v0 = add ?0x24, ?0x27\n",
              changed(add, [](auto& i) { i.a = 0x24, i.b = 0x27; }));
    EXPECT_EQ("    .bytes 0x2300000029012800000000400000c03f  # v0 = fma 1.5, v1, 2.0\n",
              changed(fma, [](auto& i) { std::swap(i.a, i.c), std::swap(i.imm[0], i.imm[1]); }));
    EXPECT_EQ("    .bytes 0x010000ff000000000000000000000000  # v0 = load o255\n",
              changed(one("v0 = load o0"), [](auto& i) { i.operand = 255; }));
    EXPECT_EQ("    .bytes 0x01000000000000000000000000000000  # v0 = load o0\n",
              disassemble(Program{{.op = SIDRA_VECTOR_OP_LOAD}}));
    EXPECT_EQ("", disassemble({}));
}

TEST(Disassemble, EachOpcodeAndBack) {
    Random random(1);
    for (const Opcode& opcode : opcodes()) {
        for (int n = 0; n < 300; ++n) {
            sidra_vector_instruction i = instruction(random, opcode);
            i.flags = SIDRA_VECTOR_PASS;
            const std::string text = disassemble({&i, 1});
            EXPECT_EQ(std::string::npos, text.find(".bytes")) << text;
            EXPECT_EQ(Program{i}, assembled(text)) << text;
        }
    }
}

// Instructions that are right, damaged in one byte, or of random bytes.
TEST(Disassemble, AnythingAndBack) {
    Random random(2);
    for (int n = 0; n < 100'000; ++n) {
        Program program(1 + random() % 8);
        if (n % 1000 == 0) program.resize(SIDRA_VECTOR_INSTRUCTIONS_MAX);
        const auto damage = random() % 3;
        for (sidra_vector_instruction& i : program) {
            i = instruction(random, opcodes()[random() % opcodes().size()]);
            if (&i == program.data() || random() % 4 == 0) i.flags = SIDRA_VECTOR_PASS;
            auto* bytes = reinterpret_cast<unsigned char*>(&i);
            if (damage == 1 && random() % 2) bytes[random() % sizeof i] = static_cast<unsigned char>(random());
            if (damage == 2 && random() % 2)
                for (size_t b = 0; b < sizeof i; ++b) bytes[b] = static_cast<unsigned char>(random());
        }
        const std::string text = disassemble(program);
        ASSERT_EQ(program, assembled(text)) << text;
        if (damage == 0) {
            ASSERT_EQ(std::string::npos, text.find(".bytes")) << text;
        }
    }
}

TEST(Disassemble, MoreThanAProgramCanHave) {
    const Program program(100, one("v0 = load o0"));
    const std::string text = disassemble(program);
    EXPECT_EQ(100 * std::string("pass:\n    v0 = load o0\n").size(), text.size());
}

// Text of random words neither crashes nor hangs, and what is a program is one after a round trip.
TEST(Assemble, RandomText) {
    constexpr const char* kWords[] = {"v0",      "v1",     "s0",     "p0",    "o0",         "=",   ",",  "add",
                                      "load",    "store",  "select", "move",  "reduce_max", "1.5", "-1", "inf",
                                      "bits(1)", "column", "row",    "pass:", "\n",         "\n",  "#",  ".bytes",
                                      "0x",      "\t",     "\xff",   "-",     "bits("};
    Random random(3);
    uint32_t programs = 0;
    for (int n = 0; n < 20'000; ++n) {
        std::string text = "pass:\nv0 = ";
        for (auto words = random() % 8; words-- > 0;) text += std::string(kWords[random() % std::size(kWords)]) + " ";
        const Assembly assembly = assemble(text);
        const auto* code = std::get_if<Code>(&assembly);
        if (code == nullptr) continue;
        ++programs;
        ASSERT_EQ(code->instructions, assembled(disassemble(code->instructions))) << text;
    }
    EXPECT_LT(10u, programs);
}

// ---- The examples of the page

std::vector<std::string> examples() {
    const std::string page = file("docs/vector-programs.md");
    const std::string begin = "```sidra\n";
    std::vector<std::string> found;
    for (size_t at = page.find(begin); at != std::string::npos; at = page.find(begin, at)) {
        at += begin.size();
        found.push_back(page.substr(at, page.find("```", at) - at));
    }
    return found;
}

TEST(Examples, AreProgramsWithoutBytes) {
    const auto all = examples();
    ASSERT_EQ(6u, all.size());
    for (const std::string& text : all) {
        const Assembly assembly = assemble(text);
        ASSERT_TRUE(std::holds_alternative<Code>(assembly)) << std::get<AssemblyError>(assembly).message << "\n"
                                                            << text;
        const Code& code = std::get<Code>(assembly);
        const std::string again = disassemble(code.instructions, code.prologue);
        EXPECT_EQ(std::string::npos, again.find(".bytes")) << again;
        EXPECT_EQ(code.instructions, assembled(again)) << again;
    }
}

TEST(Examples, Softmax) {
    const Program program = assembled(examples().at(0));
    ASSERT_EQ(11u, program.size());
    const uint8_t kOps[] = {SIDRA_VECTOR_OP_LOAD,       SIDRA_VECTOR_OP_REDUCE_MAX, SIDRA_VECTOR_OP_LOAD,
                            SIDRA_VECTOR_OP_SUB,        SIDRA_VECTOR_OP_EXP,        SIDRA_VECTOR_OP_STORE,
                            SIDRA_VECTOR_OP_REDUCE_SUM, SIDRA_VECTOR_OP_DIV,        SIDRA_VECTOR_OP_LOAD,
                            SIDRA_VECTOR_OP_MUL,        SIDRA_VECTOR_OP_STORE};
    for (size_t n = 0; n < program.size(); ++n) {
        EXPECT_EQ(kOps[n], program[n].op) << n;
        EXPECT_EQ(n == 0 || n == 2 || n == 8, program[n].flags == SIDRA_VECTOR_PASS) << n;
    }
    EXPECT_EQ(0x3f800000u, program[7].imm[0]);
}

}  // namespace
}  // namespace sidra::program::test
