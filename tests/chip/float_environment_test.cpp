// SPDX-License-Identifier: MIT
// The chip runs on threads of the application, whose floating-point environment changes no results, and stays as it is.
#include <bit>
#include <cfenv>
#if defined(__x86_64__)
#include <xmmintrin.h>
#endif

#include "packets.h"
#include "program/program_text.h"
#include "vectors.h"

namespace sidra::chip_test {
namespace {

using Bytes = std::vector<uint8_t>;

#if defined(__x86_64__)
uint64_t control() { return _mm_getcsr() & ~0x3fu; }  // without what has happened
void flush_subnormals() { _mm_setcsr(_mm_getcsr() | 0x8040); }
#elif defined(__aarch64__)
uint64_t control() {
    uint64_t value;
    asm volatile("mrs %0, fpcr" : "=r"(value));
    return value;
}
void flush_subnormals() { asm volatile("msr fpcr, %0" : : "r"(control() | 1u << 24)); }
#endif
void round_up() { std::fesetround(FE_UPWARD); }
void trap() {
    std::feclearexcept(FE_ALL_EXCEPT);
    feenableexcept(FE_ALL_EXCEPT);
}

class Within {
   public:
    explicit Within(void (*set)()) {
        std::fegetenv(&before_);
        set();
    }
    ~Within() { std::fesetenv(&before_); }
    Within(const Within&) = delete;
    Within& operator=(const Within&) = delete;

   private:
    std::fenv_t before_;
};

constexpr uint32_t kRows = 32, kCols = 4096;

// Subnormal, of a subnormal exponential, at a tie, and others.
float value(uint32_t i) {
    const uint32_t any = i * 2654435761u;
    switch (i % 5) {
        case 0:
            return std::bit_cast<float>(any >> 9);
        case 1:
            return -90 - static_cast<float>(any >> 26) / 16;
        case 2:
            return static_cast<float>(any >> 25) + 0.5f;
        case 3:
            return 0;
        default:
            return static_cast<float>(any >> 12) / 1000003.0f;
    }
}

// What a vector program, a product of matrices and one on crossbars store, on a thread with that environment.
std::vector<Bytes> results(const BenchOptions& options, void (*set)()) {
    Bench bench(options);
    Context& context = bench.context();
    Queue& queue = context.queue();
    std::vector<float> values(kRows * kCols);
    std::vector<uint16_t> halves(values.size());
    for (uint32_t i = 0; i < values.size(); i++) {
        values[i] = value(i);
        halves[i] = static_cast<uint16_t>(std::bit_cast<uint32_t>(value(i + 1)) >> 16);
    }
    std::vector<std::pair<uint64_t, uint64_t>> outputs;
    const auto output = [&](uint64_t bytes) {
        outputs.emplace_back(context.alloc(bytes), bytes);
        return outputs.back().first;
    };
    const uint64_t in = context.put(values), words = values.size() * 4;
    queue.submit(
        vector_rows(context,
                    "pass:\nv0 = load o0\nv1 = load o1\nv2 = mul v0, 1.0\nstore o2, v2\nv2 = exp v0\nstore o3, v2\n"
                    "v2 = div v1, v0\nstore o4, v2\nstore o5, v0\nv2 = mul v1, 1.0\nstore o6, v2\n",
                    kRows, kCols,
                    {{in},
                     {context.put(halves), SIDRA_TYPE_BF16},
                     {output(words)},
                     {output(words)},
                     {output(words)},
                     {output(words), SIDRA_TYPE_S32},
                     {output(words / 2), SIDRA_TYPE_BF16}}));

    constexpr uint32_t kM = 256, kN = 256, kK = 128;
    std::vector<sidra_operand> operands(3);
    for (sidra_operand& o : operands) o.addr = in, o.type = SIDRA_TYPE_F32, o.stride[3] = 4;
    operands[0].stride[2] = kK * 4;
    operands[1].addr += kM * kK * 4, operands[1].stride[2] = kN * 4;
    operands[2].addr = output(kM * kN * 4), operands[2].stride[2] = kN * 4, operands[2].flags = SIDRA_OPERAND_WRITE;
    const auto code = std::get<program::Code>(program::assemble("pass:\nv0 = load sums\nstore o2, v0\n")).instructions;
    sidra_cmd product = blank(SIDRA_CMD_MATMUL);
    product.matmul.program = context.put(code);
    product.matmul.operands = context.put(operands);
    product.matmul.batch[0] = product.matmul.batch[1] = 1;
    product.matmul.m = kM, product.matmul.n = kN, product.matmul.k = kK;
    product.matmul.instructions = static_cast<uint16_t>(code.size());
    product.matmul.operand_count = 3;
    queue.submit(product);

    constexpr uint32_t kBatch = 64, kInputs = 256, kOutputs = 512;
    const uint32_t weights = context.weights({.rows = kInputs, .cols = kOutputs});
    std::vector<int8_t> cells(kInputs * kOutputs);
    for (uint32_t i = 0; i < cells.size(); i++) cells[i] = static_cast<int8_t>(i * 37);
    queue.submit(program(weights, 0, kInputs, 0, kOutputs, context.put(cells), kOutputs));
    sidra_cmd rows = mvm(static_cast<uint16_t>(weights), SIDRA_TYPE_F32, SIDRA_TYPE_F32, kBatch, in, kInputs * 4,
                         output(kBatch * kOutputs * 4), kOutputs * 4);
    rows.mvm.in_scale = f32_bits(0.37f);
    queue.submit(rows);

    uint64_t before, after;
    {
        const Within environment(set);
        before = control();
        bench.run();
        after = control();
    }
    EXPECT_EQ(before, after);
    EXPECT_TRUE(retired(queue));
    std::vector<Bytes> found;
    for (const auto& [at, bytes] : outputs) found.push_back(context.get<uint8_t>(at, bytes));
    return found;
}

struct Environment {
    const char* name;
    void (*set)();
};
constexpr Environment kEnvironments[] = {{"Flushes", flush_subnormals}, {"RoundsUp", round_up}, {"Traps", trap}};

class FloatEnvironment : public ::testing::TestWithParam<Environment> {};

TEST_P(FloatEnvironment, ChangesNoResult) {
    const auto expected = results({.engine = SIDRA_CHIP_ENGINE_SCALAR}, [] {});
    for (const uint32_t workers : {1u, 4u}) {
        const auto found = results({.workers = workers}, GetParam().set);
        for (size_t i = 0; i < expected.size(); i++)
            EXPECT_TRUE(expected[i] == found[i]) << "output " << i << ", " << workers << " workers";
    }
}

// Chips are made, and knobs set, by other threads than those that wait.
TEST_P(FloatEnvironment, IsNoneOfTheChipsAtLevelAccurate) {
    Bench bench({.level = SIDRA_CHIP_ACCURATE});
    bool set;
    std::string error;
    {
        const Within environment(GetParam().set);
        set = sidra_chip_set_knob(bench.chip(), SIDRA_KNOB_TEMPERATURE_MC, 61'237) &&
              sidra_chip_set_knob(bench.chip(), SIDRA_KNOB_AGE_S, 12'345);
        error = try_create({.profile = SIDRA_CHIP_SMALL, .workers = 1, .level = SIDRA_CHIP_ACCURATE, .stuck_ppm = 7});
    }
    EXPECT_TRUE(set);
    EXPECT_EQ(error, "");
}

INSTANTIATE_TEST_SUITE_P(, FloatEnvironment, ::testing::ValuesIn(kEnvironments),
                         [](const auto& test) { return std::string(test.param.name); });

}  // namespace
}  // namespace sidra::chip_test
