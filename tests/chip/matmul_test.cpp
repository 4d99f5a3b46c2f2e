// SPDX-License-Identifier: MIT
// MATMUL on the chip against plain loops and the second implementation of vector programs, bit by bit, on all engines,
// with memory that is contiguous on the host and with pages in random order; and what the chip refuses.
#include <algorithm>
#include <bit>
#include <cmath>
#include <random>

#include "bench.h"
#include "packets.h"
#include "program/program_text.h"
#include "vector/reference.h"

namespace sidra::chip_test {
namespace {

using vector_reference::Memory;

constexpr uint32_t kSize[] = {1, 1, 4, 4, 2, 8, 1, 2, 2};  // bytes, by type
constexpr uint8_t kSumsInText = 7;                         // the operand that means SUMS in the texts below

struct ProgramCase {
    const char* name;
    const char* text;  // o2 is the output; o3 a row of f32
    uint32_t out_type;
    bool floats, row;
};
const ProgramCase kPrograms[] = {
    {"plain", "pass:\nv0 = load o7\nstore o2, v0\n", SIDRA_TYPE_F32, true, false},
    {"plain s32", "pass:\nv0 = load_int o7\nstore_int o2, v0\n", SIDRA_TYPE_S32, false, false},
    {"scale, bias, activation", "pass:\nv0 = load o7\nv1 = load o3\nv2 = fma v0, p0, v1\nv3 = gelu v2\nstore o2, v3\n",
     SIDRA_TYPE_BF16, true, true},
    {"softmax",
     "pass:\nv0 = load o7\nv1 = mul v0, p0\ns0 = reduce_max v1\n"
     "pass:\nv0 = load o7\nv1 = mul v0, p0\nv2 = sub v1, s0\nv3 = exp v2\ns1 = reduce_sum v3\ns2 = div 1.0, s1\n"
     "pass:\nv0 = load o7\nv1 = mul v0, p0\nv2 = sub v1, s0\nv3 = exp v2\nv4 = mul v3, s2\nstore o2, v4\n",
     SIDRA_TYPE_F32, true, false},
    {"to codes", "pass:\nv0 = load o7\nv1 = mul v0, p0\nstore o2, v1\n", SIDRA_TYPE_S8, false, false},
    {"row and column", "pass:\nv0 = load_int o7\nv1 = add_int v0, row\nv2 = add_int v1, column\nstore_int o2, v2\n",
     SIDRA_TYPE_S32, false, false},
};

std::vector<sidra_vector_instruction> assemble(const char* text) {
    auto code = std::get<program::Code>(program::assemble(text)).instructions;
    for (auto& i : code)
        if (i.operand == kSumsInText) i.operand = SIDRA_OPERAND_SUMS;
    return code;
}

float float_of(uint64_t bits, uint32_t type) {
    if (type == SIDRA_TYPE_F32) return std::bit_cast<float>(static_cast<uint32_t>(bits));
    if (type == SIDRA_TYPE_BF16) return std::bit_cast<float>(static_cast<uint32_t>(bits << 16));
    const auto exponent = static_cast<int>(bits >> 10 & 31);
    const auto fraction = static_cast<float>(bits & 1023);
    const float sign = bits >> 15 ? -1.0f : 1.0f;
    if (exponent == 31) return fraction != 0 ? std::nanf("") : sign * INFINITY;
    return sign * (exponent ? std::ldexp(fraction + 1024, exponent - 25) : std::ldexp(fraction, -24));
}

int64_t integer_of(uint64_t bits, uint32_t type) {
    return type == SIDRA_TYPE_S8 ? static_cast<int8_t>(bits) : static_cast<int64_t>(bits & 0xff);
}

// A packet with its arrays at addresses of the reference's memory.
struct MatmulCase {
    std::vector<uint8_t> bytes;
    std::vector<sidra_operand> operands;
    std::vector<sidra_vector_instruction> program;
    uint32_t batch[2], m, n, k;
    vector_reference::Params param{};
};
constexpr uint64_t kBase = 0x10000;

// Reserves an array of the reference's memory; elements at random distances.
uint64_t place(MatmulCase& c, uint64_t bytes) {
    const uint64_t at = (c.bytes.size() + 63) / 64 * 64;
    c.bytes.resize(at + bytes);
    return kBase + at;
}

// Strides of a matrix of `rows` x `cols` in products of batch[0] x batch[1].
sidra_operand matrix(MatmulCase& c, std::mt19937_64& random, uint32_t rows, uint32_t cols, uint32_t type, bool read) {
    const uint64_t size = kSize[type];
    const bool transposed = read && random() % 2;
    uint64_t inner = transposed ? rows : cols, outer = transposed ? cols : rows;
    uint64_t line = inner * size;
    if (random() % 2) line += random() % 5 * size;  // slices
    if (random() % 4 == 0 && outer < 20) line += 5000 / size * size;
    if (read && random() % 12 == 0) line = 0;
    sidra_operand o{};
    o.type = static_cast<uint8_t>(type);
    o.stride[2] = transposed ? size : line;
    o.stride[3] = transposed ? line : size;
    uint64_t whole = line ? (outer - 1) * line + inner * size : inner * size;
    whole = (whole + size - 1) / size * size;
    o.stride[1] = read && random() % 6 == 0 ? 0 : whole;
    o.stride[0] = read && random() % 6 == 0 ? 0 : whole * c.batch[1];
    o.addr = place(c, whole * c.batch[0] * c.batch[1]);
    return o;
}

MatmulCase random_case(std::mt19937_64& random) {
    const ProgramCase& p = kPrograms[random() % std::size(kPrograms)];
    MatmulCase c;
    c.program = assemble(p.text);
    const auto dimension = [&](uint32_t most) {
        return static_cast<uint32_t>(random() % 3 ? 1 + random() % most : 1 + random() % 8);
    };
    c.batch[0] = dimension(3), c.batch[1] = dimension(2);
    c.m = dimension(80), c.n = dimension(150), c.k = dimension(random() % 10 ? 100 : 2000);
    const uint32_t floats[] = {SIDRA_TYPE_F32, SIDRA_TYPE_F16, SIDRA_TYPE_BF16};
    const auto type = [&] {
        return p.floats ? floats[random() % 3] : random() % 2 ? uint32_t{SIDRA_TYPE_S8} : uint32_t{SIDRA_TYPE_U8};
    };
    c.operands.push_back(matrix(c, random, c.m, c.k, type(), true));
    c.operands.push_back(matrix(c, random, c.k, c.n, type(), true));
    c.operands.push_back(matrix(c, random, c.m, c.n, p.out_type, false));
    c.operands[2].flags = SIDRA_OPERAND_WRITE;
    if (p.row) {
        sidra_operand row{};
        row.type = SIDRA_TYPE_F32;
        row.stride[3] = 4;
        row.addr = place(c, c.n * 4);
        c.operands.push_back(row);
    }
    c.param[0] = f32_bits(p.out_type == SIDRA_TYPE_S8 ? 0.001f : 0.25f);
    for (uint8_t& byte : c.bytes) byte = static_cast<uint8_t>(random());
    // Floats of moderate size; a few are anything.
    for (const sidra_operand& o : c.operands) {
        if (o.type != SIDRA_TYPE_F32 && o.type != SIDRA_TYPE_F16 && o.type != SIDRA_TYPE_BF16) continue;
        if (random() % 20 == 0) continue;
        const uint64_t at = o.addr - kBase;
        const uint64_t end = o.addr == c.operands.back().addr ? c.bytes.size() : (&o + 1)->addr - kBase;
        for (uint64_t i = at; i + kSize[o.type] <= end; i += kSize[o.type]) {
            uint8_t& top = c.bytes[i + kSize[o.type] - 1];
            top = static_cast<uint8_t>((top & 0x80) | (o.type == SIDRA_TYPE_F16 ? 0x38 : 0x3f));
        }
    }
    return c;
}

// What the chip must store.
std::vector<uint8_t> expected(const MatmulCase& c) {
    std::vector<uint8_t> bytes = c.bytes;
    const uint64_t rows = uint64_t{c.batch[0]} * c.batch[1] * c.m;
    const uint64_t sums = kBase + bytes.size();
    bytes.resize(bytes.size() + rows * c.n * 4);
    Memory memory(kBase, std::move(bytes));
    const sidra_operand &a = c.operands[0], &b = c.operands[1];
    const bool floats = a.type != SIDRA_TYPE_S8 && a.type != SIDRA_TYPE_U8;
    uint64_t at = sums;
    for (uint32_t b0 = 0; b0 < c.batch[0]; b0++)
        for (uint32_t b1 = 0; b1 < c.batch[1]; b1++)
            for (uint32_t i = 0; i < c.m; i++)
                for (uint32_t j = 0; j < c.n; j++, at += 4) {
                    float sum = 0;
                    int64_t whole = 0;
                    for (uint32_t k = 0; k < c.k; k++) {
                        const uint64_t x = memory.load(
                            a.addr + b0 * a.stride[0] + b1 * a.stride[1] + i * a.stride[2] + k * a.stride[3],
                            kSize[a.type]);
                        const uint64_t y = memory.load(
                            b.addr + b0 * b.stride[0] + b1 * b.stride[1] + k * b.stride[2] + j * b.stride[3],
                            kSize[b.type]);
                        if (floats) sum = std::fma(float_of(x, a.type), float_of(y, b.type), sum);
                        else whole += integer_of(x, a.type) * integer_of(y, b.type);
                    }
                    const uint32_t bits = std::isnan(sum) ? 0x7fc00000 : f32_bits(sum);
                    memory.store(at, 4, floats ? bits : static_cast<uint32_t>(whole));
                }
    // The program loads the sums from memory.
    std::vector<sidra_operand> operands = c.operands;
    sidra_operand o{};
    o.addr = sums;
    o.type = floats ? SIDRA_TYPE_F32 : SIDRA_TYPE_S32;
    o.stride[3] = 4, o.stride[2] = c.n * 4;
    o.stride[1] = o.stride[2] * c.m, o.stride[0] = o.stride[1] * c.batch[1];
    operands.push_back(o);
    auto program = c.program;
    for (auto& i : program)
        if (i.operand == SIDRA_OPERAND_SUMS) i.operand = static_cast<uint8_t>(operands.size() - 1);
    execute(program, operands, {c.batch[0], c.batch[1], c.m, c.n}, c.param, memory);
    return {memory.bytes().begin(), memory.bytes().begin() + static_cast<ptrdiff_t>(c.bytes.size())};
}

// The packet in the memory of a context.
class Placed {
   public:
    Placed(Context& context, const MatmulCase& c) : context_(context), size_(c.bytes.size()) {
        base_ = context.alloc(size_);
        context.write(base_, c.bytes.data(), size_);
        operands_ = c.operands;
        for (sidra_operand& o : operands_) o.addr += base_ - kBase;
        cmd = blank(SIDRA_CMD_MATMUL);
        sidra_cmd_matmul& m = cmd.matmul;
        m.operands = context.put(operands_);
        m.program = context.put(c.program);
        m.m = c.m, m.n = c.n, m.k = c.k;
        std::copy(std::begin(c.batch), std::end(c.batch), m.batch);
        std::copy(c.param.begin(), c.param.end(), m.param);
        m.instructions = static_cast<uint16_t>(c.program.size());
        m.operand_count = static_cast<uint16_t>(operands_.size());
    }
    std::vector<uint8_t> memory() const { return context_.get<uint8_t>(base_, size_); }
    // Writes the operands again, after a change.
    void update() { context_.write(cmd.matmul.operands, operands_.data(), operands_.size() * sizeof operands_[0]); }
    std::vector<sidra_operand>& operands() { return operands_; }

    sidra_cmd cmd;

   private:
    Context& context_;
    uint64_t size_, base_;
    std::vector<sidra_operand> operands_;
};

struct Host {
    uint32_t engine;
    bool scatter;
};
class Matmul : public ::testing::TestWithParam<Host> {};

TEST_P(Matmul, IsThatOfPlainLoops) {
    const Host host = GetParam();
    std::mt19937_64 random(host.engine * 2 + host.scatter);
    for (unsigned b = 0; b < rounds(40); b++) {
        BenchOptions options;
        options.engine = host.engine;
        options.scatter = host.scatter;
        options.workers = host.scatter ? 1 : 3;
        options.pages = 1u << 15;
        options.seed = b + 1;
        Bench bench(options);
        Context& context = bench.context();
        Queue& queue = context.queue();
        for (unsigned n = 0; n < 4; n++) {
            const MatmulCase c = random_case(random);
            Placed placed(context, c);
            queue.submit(placed.cmd);
            bench.run();
            ASSERT_TRUE(retired(queue));
            const auto wanted = expected(c), is = placed.memory();
            for (size_t i = 0; i < wanted.size(); i++)
                ASSERT_EQ(wanted[i], is[i]) << "byte " << i << " of case " << b << "/" << n << ": " << c.batch[0]
                                            << " x " << c.batch[1] << " x " << c.m << " x " << c.n << " x " << c.k
                                            << ", types " << +c.operands[0].type << " " << +c.operands[1].type << "\n"
                                            << program::disassemble(c.program);
        }
    }
}

std::vector<Host> hosts() {
    std::vector<Host> all;
    for (const uint32_t engine : available_engines())
        for (const bool scatter : {false, true}) all.push_back({engine, scatter});
    return all;
}
INSTANTIATE_TEST_SUITE_P(Engines, Matmul, ::testing::ValuesIn(hosts()), [](const auto& test) {
    return "engine_" + std::to_string(test.param.engine) + (test.param.scatter ? "_scattered" : "_contiguous");
});

// A factor whose pages are scattered, and too large to be copied at once: by blocks along k, and by blocks of columns.
TEST(MatmulScattered, LongSumsOfCopiedFactors) {
    for (const bool transposed : {false, true}) {
        Bench bench;
        Context& context = bench.context();
        constexpr uint32_t m = 3, n = 70, k = SIDRA_MATMUL_INNER_MAX;
        std::mt19937 random(5);
        std::vector<float> a(m * k), b(size_t{k} * n), c(m * n);
        for (float& x : a) x = static_cast<float>(random() % 1000) / 500 - 1;
        for (float& x : b) x = static_cast<float>(random() % 1000) / 500 - 1;
        std::vector<sidra_operand> operands(3);
        for (sidra_operand& o : operands) o.type = SIDRA_TYPE_F32;
        operands[0].addr = context.put(a), operands[0].stride[2] = k * 4, operands[0].stride[3] = 4;
        operands[1].addr = context.put(b);
        operands[1].stride[2] = transposed ? 4 : n * 4, operands[1].stride[3] = transposed ? k * 4 : 4;
        operands[2].addr = context.put(c), operands[2].stride[2] = n * 4, operands[2].stride[3] = 4;
        operands[2].flags = SIDRA_OPERAND_WRITE;
        const auto program = assemble(kPrograms[0].text);
        sidra_cmd cmd = blank(SIDRA_CMD_MATMUL);
        cmd.matmul.operands = context.put(operands);
        cmd.matmul.program = context.put(program);
        cmd.matmul.m = m, cmd.matmul.n = n, cmd.matmul.k = k;
        cmd.matmul.batch[0] = cmd.matmul.batch[1] = 1;
        cmd.matmul.instructions = static_cast<uint16_t>(program.size());
        cmd.matmul.operand_count = 3;
        Queue& queue = context.queue();
        queue.submit(cmd);
        bench.run();
        ASSERT_TRUE(retired(queue));
        const auto is = context.get<float>(operands[2].addr, m * n);
        for (uint32_t i = 0; i < m; i++)
            for (uint32_t j = 0; j < n; j++) {
                float sum = 0;
                for (uint32_t x = 0; x < k; x++)
                    sum = std::fma(a[i * k + x], b[transposed ? size_t{j} * k + x : size_t{x} * n + j], sum);
                ASSERT_EQ(sum, is[i * n + j]) << i << " " << j;
            }
    }
}

// One product of 4 x 6 and 6 x 5, stored as f32.
MatmulCase small_case() {
    MatmulCase c;
    c.program = assemble(kPrograms[0].text);
    c.batch[0] = c.batch[1] = 1;
    c.m = 4, c.n = 5, c.k = 6;
    for (const auto& [rows, cols] : {std::pair{4u, 6u}, {6u, 5u}, {4u, 5u}}) {
        sidra_operand o{};
        o.type = SIDRA_TYPE_F32;
        o.stride[2] = cols * 4, o.stride[3] = 4;
        o.addr = place(c, rows * cols * 4);
        c.operands.push_back(o);
    }
    c.operands[2].flags = SIDRA_OPERAND_WRITE;
    return c;
}

struct Refusal {
    const char* name;
    void (*change)(Placed&);
    sidra_fault_cause cause;
    uint64_t address;  // of PROGRAM: SIDRA_PROGRAM_FAULT()
};
constexpr uint64_t program_fault(sidra_program_error why, uint32_t instruction, uint32_t operand) {
    return SIDRA_PROGRAM_FAULT(why, instruction, operand);
}
constexpr uint32_t kNone = SIDRA_PROGRAM_NONE;
const Refusal kRefusals[] = {
    {"Flag", [](Placed& p) { p.cmd.hdr.flags = 1; }, SIDRA_FAULT_FIELD, 0},
    {"Pad", [](Placed& p) { p.cmd.hdr.pad = 1; }, SIDRA_FAULT_FIELD, 0},
    {"NoRows", [](Placed& p) { p.cmd.matmul.m = 0; }, SIDRA_FAULT_PROGRAM,
     program_fault(SIDRA_PROGRAM_SIZE, kNone, kNone)},
    {"NoColumns", [](Placed& p) { p.cmd.matmul.n = 0; }, SIDRA_FAULT_PROGRAM,
     program_fault(SIDRA_PROGRAM_SIZE, kNone, kNone)},
    {"NothingToAdd", [](Placed& p) { p.cmd.matmul.k = 0; }, SIDRA_FAULT_PROGRAM,
     program_fault(SIDRA_PROGRAM_SIZE, kNone, kNone)},
    {"SumTooLong", [](Placed& p) { p.cmd.matmul.k = SIDRA_MATMUL_INNER_MAX + 1; }, SIDRA_FAULT_PROGRAM,
     program_fault(SIDRA_PROGRAM_SIZE, kNone, kNone)},
    {"NoProducts", [](Placed& p) { p.cmd.matmul.batch[1] = 0; }, SIDRA_FAULT_PROGRAM,
     program_fault(SIDRA_PROGRAM_SIZE, kNone, kNone)},
    {"NoFactors", [](Placed& p) { p.cmd.matmul.operand_count = 1; }, SIDRA_FAULT_PROGRAM,
     program_fault(SIDRA_PROGRAM_LENGTH, kNone, kNone)},
    {"NoProgram", [](Placed& p) { p.cmd.matmul.instructions = 0; }, SIDRA_FAULT_PROGRAM,
     program_fault(SIDRA_PROGRAM_LENGTH, kNone, kNone)},
    {"MixedTypes", [](Placed& p) { p.operands()[1].type = SIDRA_TYPE_S8; }, SIDRA_FAULT_PROGRAM,
     program_fault(SIDRA_PROGRAM_OPERAND_TYPE, kNone, 1)},
    {"TypeOfFactors", [](Placed& p) { p.operands()[0].type = p.operands()[1].type = SIDRA_TYPE_S32; },
     SIDRA_FAULT_PROGRAM, program_fault(SIDRA_PROGRAM_OPERAND_TYPE, kNone, 0)},
    {"FactorIsWritten", [](Placed& p) { p.operands()[0].flags = SIDRA_OPERAND_WRITE; }, SIDRA_FAULT_PROGRAM,
     program_fault(SIDRA_PROGRAM_OPERAND_FIELD, kNone, 0)},
    {"FactorHasIndex",
     [](Placed& p) {
         p.operands()[1].index = p.operands()[0].addr;
         p.operands()[1].index_type = SIDRA_TYPE_S32;
         p.operands()[1].extent = 6;
     },
     SIDRA_FAULT_PROGRAM, program_fault(SIDRA_PROGRAM_OPERAND_FIELD, kNone, 1)},
    {"FactorHasExtent", [](Placed& p) { p.operands()[1].extent = 6; }, SIDRA_FAULT_PROGRAM,
     program_fault(SIDRA_PROGRAM_OPERAND_FIELD, kNone, 1)},
    {"FactorWithoutRanges", [](Placed& p) { p.operands()[0].stride[3] = 8; }, SIDRA_FAULT_PROGRAM,
     program_fault(SIDRA_PROGRAM_OPERAND_FIELD, kNone, 0)},
    {"FactorMisaligned", [](Placed& p) { p.operands()[1].addr += 2; }, SIDRA_FAULT_PROGRAM,
     program_fault(SIDRA_PROGRAM_OPERAND_ALIGNMENT, kNone, 1)},
    {"FactorBeyondAllAddresses", [](Placed& p) { p.operands()[0].stride[2] = uint64_t{1} << 62; }, SIDRA_FAULT_PROGRAM,
     program_fault(SIDRA_PROGRAM_OPERAND_RANGE, kNone, 0)},
    {"OutputInFactor", [](Placed& p) { p.operands()[2].addr = p.operands()[0].addr; }, SIDRA_FAULT_PROGRAM,
     program_fault(SIDRA_PROGRAM_OPERAND_OVERLAP, kNone, 2)},
    {"OutputEndsInFactor", [](Placed& p) { p.operands()[1].addr = p.operands()[2].addr + 4 * 5 * 4 - 4; },
     SIDRA_FAULT_PROGRAM, program_fault(SIDRA_PROGRAM_OPERAND_OVERLAP, kNone, 2)},
};

class MatmulRefusal : public ::testing::TestWithParam<Refusal> {};

TEST_P(MatmulRefusal, NamesTheReason) {
    Bench bench;
    Context& context = bench.context();
    Queue& queue = context.queue();
    Placed placed(context, small_case());
    queue.submit(placed.cmd);
    bench.run();
    ASSERT_TRUE(retired(queue)) << "without the change";
    const auto before = placed.memory();
    GetParam().change(placed);
    placed.update();
    const uint64_t at = queue.submit(placed.cmd);
    bench.run();
    EXPECT_TRUE(faulted(queue, at, placed.cmd, {{GetParam().cause}}, GetParam().address));
    EXPECT_EQ(before, placed.memory());
}
INSTANTIATE_TEST_SUITE_P(Packets, MatmulRefusal, ::testing::ValuesIn(kRefusals),
                         [](const auto& test) { return test.param.name; });

// A program of this packet cannot use what only a LAYER gives, nor the factors.
TEST(MatmulProgram, HasItsOwnOperands) {
    for (const uint8_t operand : {uint8_t{0}, uint8_t{1}, uint8_t{3}, uint8_t{SIDRA_OPERAND_CODES},
                                  uint8_t{SIDRA_OPERAND_INPUT}, uint8_t{0x43}, uint8_t{0xff}}) {
        Bench bench;
        Context& context = bench.context();
        Queue& queue = context.queue();
        MatmulCase c = small_case();
        c.program[0].operand = operand;
        Placed placed(context, c);
        const uint64_t at = queue.submit(placed.cmd);
        bench.run();
        EXPECT_TRUE(
            faulted(queue, at, placed.cmd, {{SIDRA_FAULT_PROGRAM}}, program_fault(SIDRA_PROGRAM_OPERAND, 0, operand)))
            << +operand;
    }
}

// The strides of a factor belong to its own size, not to that of the result.
TEST(MatmulProgram, FactorsMayBeSmallerThanTheResult) {
    Bench bench;
    Context& context = bench.context();
    Queue& queue = context.queue();
    MatmulCase c = small_case();
    c.m = 1, c.k = 1, c.n = 1u << 20;
    c.operands[0].stride[3] = uint64_t{1} << 30;  // of one column
    c.operands[1].stride[3] = 0;
    Placed placed(context, c);
    placed.operands()[2].addr = context.alloc(c.n * 4);
    placed.update();
    queue.submit(placed.cmd);
    bench.run();
    EXPECT_TRUE(retired(queue));
}

// Whole rows have limits of their own.
TEST(MatmulProgram, WholeRowsAreLimited) {
    Bench bench;
    Context& context = bench.context();
    for (const bool whole : {false, true}) {
        MatmulCase c = small_case();
        if (whole) c.program = assemble("pass:\nv0 = load o7\ns0 = reduce_sum v0\nstore o2, s0\n");
        c.operands[2].stride[2] = 4, c.operands[2].stride[3] = 0;
        if (!whole) c.operands[2].stride[2] = c.operands[2].stride[3] = 4;
        c.operands[1].stride[3] = 0;  // the same column again and again
        c.m = 1;
        Placed placed(context, c);
        placed.cmd.matmul.n = SIDRA_MATMUL_ROW_MAX + 1;
        if (!whole) {
            placed.operands()[2].addr = context.alloc((SIDRA_MATMUL_ROW_MAX + 1) * 4);
            placed.update();
        }
        Queue& queue = context.queue();
        const uint64_t at = queue.submit(placed.cmd);
        bench.run();
        if (!whole) {
            EXPECT_TRUE(retired(queue));
        } else {
            EXPECT_TRUE(faulted(queue, at, placed.cmd, {{SIDRA_FAULT_PROGRAM}},
                                program_fault(SIDRA_PROGRAM_ROW_COST, kNone, kNone)));
        }
    }
}

}  // namespace
}  // namespace sidra::chip_test
