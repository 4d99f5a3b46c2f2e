// SPDX-License-Identifier: MIT
// SORT on the chip against a stable sort of plain values, with memory that is contiguous on the host and with pages in
// random order; and what the chip refuses.
#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>
#include <numeric>
#include <random>

#include "hosts.h"
#include "packets.h"

namespace sidra::chip_test {
namespace {

constexpr uint32_t kSize[] = {1, 1, 4, 4, 2, 8, 1, 2, 2};  // bytes, by type
constexpr uint8_t kUntouched = 0xc9;

// An element as a number that compares with others: all integers are exact here, and so are all floats.
struct Value {
    bool nan;
    long double number;
    bool operator<(const Value& other) const {
        if (nan || other.nan) return !nan && other.nan;
        return number < other.number;
    }
};
static_assert(std::numeric_limits<long double>::digits >= 64 || sizeof(long double) == 16);

Value value(const uint8_t* element, uint32_t type) {
    uint64_t bits = 0;
    std::memcpy(&bits, element, kSize[type]);
    const auto number = [](auto x) { return Value{false, static_cast<long double>(x)}; };
    const auto real = [](float x) { return Value{std::isnan(x), std::isnan(x) ? 0 : static_cast<long double>(x)}; };
    switch (type) {
        case SIDRA_TYPE_U8:
            return number(static_cast<uint8_t>(bits));
        case SIDRA_TYPE_S8:
            return number(static_cast<int8_t>(bits));
        case SIDRA_TYPE_S16:
            return number(static_cast<int16_t>(bits));
        case SIDRA_TYPE_S32:
            return number(static_cast<int32_t>(bits));
        case SIDRA_TYPE_S64:
            return number(static_cast<int64_t>(bits));
        case SIDRA_TYPE_BOOL:
            return number(bits ? 1 : 0);
        case SIDRA_TYPE_F32:
            return real(std::bit_cast<float>(static_cast<uint32_t>(bits)));
        case SIDRA_TYPE_BF16:
            return real(std::bit_cast<float>(static_cast<uint32_t>(bits << 16)));
        default:
            break;
    }
    const auto exponent = static_cast<int>(bits >> 10 & 31);
    const auto fraction = static_cast<float>(bits & 1023);
    const float sign = bits >> 15 ? -1.0f : 1.0f;
    if (exponent == 31) return real(fraction != 0 ? std::nanf("") : sign * INFINITY);
    return real(sign * (exponent ? std::ldexp(fraction + 1024, exponent - 25) : std::ldexp(fraction, -24)));
}

struct SortCase {
    uint32_t type, rows, cols, count;
    uint32_t gap, values_gap, indices_gap;  // elements between rows
    uint32_t index_type = SIDRA_TYPE_S64;
    bool descending = false, values = true, indices = true;
    std::vector<uint8_t> in;

    uint32_t in_stride() const { return (cols + gap) * kSize[type]; }
    uint32_t values_stride() const { return (count + values_gap) * kSize[type]; }
    uint32_t indices_stride() const { return (count + indices_gap) * kSize[index_type]; }
};

// Elements of all kinds: many equal ones, zeros of both signs, several NaN, anything.
void fill(SortCase& c, std::mt19937_64& random) {
    c.in.resize(uint64_t{c.rows} * c.in_stride());
    const uint32_t size = kSize[c.type];
    const uint64_t kinds = random() % 4;
    const uint64_t f32[] = {0, 0x80000000, 0x7f800000, 0xff800000, 0x7fc00000, 0xffc00001, 0x7f800001, 1, 0x80000001};
    const uint64_t f16[] = {0, 0x8000, 0x7c00, 0xfc00, 0x7e00, 0xfe01, 0x7c01, 1, 0x8001};
    const uint64_t bf16[] = {0, 0x8000, 0x7f80, 0xff80, 0x7fc0, 0xffc1, 0x7f81, 1, 0x8001};
    const uint64_t integers[] = {
        0, ~uint64_t{0}, 1, uint64_t{1} << (8 * size - 1), (uint64_t{1} << (8 * size - 1)) - 1, 2, 3, 5, 7};
    for (uint64_t i = 0; i < c.in.size(); i += size) {
        const uint64_t* const special = c.type == SIDRA_TYPE_F32    ? f32
                                        : c.type == SIDRA_TYPE_F16  ? f16
                                        : c.type == SIDRA_TYPE_BF16 ? bf16
                                                                    : integers;
        const uint64_t any = random();
        const uint64_t element = kinds == 0 || (kinds == 1 && any % 3 == 0) ? special[any / 16 % 9]
                                 : kinds == 2                               ? any >> 32 & 0x3f
                                                                            : random();
        std::memcpy(&c.in[i], &element, size);
    }
    // Long rows that are already in the worst order for a selection.
    if (kinds == 3 && random() % 2) {
        for (uint32_t r = 0; r < c.rows; r++) {
            for (uint32_t i = 0; i < c.cols; i++) {
                const uint64_t element = c.descending ? i : c.cols - i;
                std::memcpy(&c.in[uint64_t{r} * c.in_stride() + i * size], &element, size);
            }
        }
    }
}

SortCase random_case(std::mt19937_64& random) {
    SortCase c{};
    c.type = static_cast<uint32_t>(random() % SIDRA_TYPE_COUNT);
    const uint32_t lengths[] = {1, 7, 63, 64, 65, 127, 128, 129, 255, 256, 300, 1000, 5000};
    c.cols = lengths[random() % std::size(lengths)];
    c.rows = static_cast<uint32_t>(1 + random() % (c.cols > 500 ? 5 : 40));
    const uint32_t counts[] = {1, 5, c.cols / 8, c.cols / 8 + 1, c.cols, static_cast<uint32_t>(random() % c.cols + 1)};
    c.count = std::clamp(counts[random() % std::size(counts)], 1u, c.cols);
    const auto gap = [&] { return random() % 2 ? 0 : static_cast<uint32_t>(random() % 4 ? random() % 9 : 5000); };
    c.gap = gap(), c.values_gap = gap(), c.indices_gap = gap();
    c.descending = random() % 2;
    c.index_type = random() % 2 ? SIDRA_TYPE_S32 : SIDRA_TYPE_S64;
    const uint64_t wanted = random() % 4;
    c.values = wanted != 1, c.indices = wanted != 2;
    fill(c, random);
    return c;
}

struct Result {
    std::vector<uint8_t> values, indices;
    bool operator==(const Result&) const = default;
};

Result expected(const SortCase& c) {
    Result result{std::vector<uint8_t>(uint64_t{c.rows} * c.values_stride(), kUntouched),
                  std::vector<uint8_t>(uint64_t{c.rows} * c.indices_stride(), kUntouched)};
    const uint32_t size = kSize[c.type], index_size = kSize[c.index_type];
    for (uint32_t r = 0; r < c.rows; r++) {
        const uint8_t* const row = &c.in[uint64_t{r} * c.in_stride()];
        std::vector<Value> elements;
        for (uint32_t i = 0; i < c.cols; i++) elements.push_back(value(row + i * size, c.type));
        std::vector<uint32_t> order(c.cols);
        std::iota(order.begin(), order.end(), 0);
        std::stable_sort(order.begin(), order.end(), [&](uint32_t a, uint32_t b) {
            return c.descending ? elements[b] < elements[a] : elements[a] < elements[b];
        });
        for (uint32_t i = 0; i < c.count; i++) {
            const uint64_t column = order[i];
            std::memcpy(&result.values[uint64_t{r} * c.values_stride() + i * size], row + column * size, size);
            std::memcpy(&result.indices[uint64_t{r} * c.indices_stride() + i * index_size], &column, index_size);
        }
    }
    if (!c.values) std::fill(result.values.begin(), result.values.end(), kUntouched);
    if (!c.indices) std::fill(result.indices.begin(), result.indices.end(), kUntouched);
    return result;
}

class Placed {
   public:
    Placed(Context& context, const SortCase& c) : cmd(blank(SIDRA_CMD_SORT)), context_(context), case_(c) {
        const std::vector<uint8_t> values(uint64_t{c.rows} * c.values_stride(), kUntouched);
        const std::vector<uint8_t> indices(uint64_t{c.rows} * c.indices_stride(), kUntouched);
        values_ = context.put(values);
        indices_ = context.put(indices);
        sidra_cmd_sort& s = cmd.sort;
        s.flags = c.descending ? SIDRA_SORT_DESCENDING : 0;
        s.type = static_cast<uint8_t>(c.type);
        s.index_type = c.indices ? static_cast<uint8_t>(c.index_type) : 0;
        s.in = context.put(c.in);
        s.values = c.values ? values_ : 0;
        s.indices = c.indices ? indices_ : 0;
        s.in_stride = c.in_stride();
        s.values_stride = c.values ? c.values_stride() : 0;
        s.indices_stride = c.indices ? c.indices_stride() : 0;
        s.rows = c.rows, s.cols = c.cols, s.count = c.count;
    }
    Result result() const {
        return {context_.get<uint8_t>(values_, uint64_t{case_.rows} * case_.values_stride()),
                context_.get<uint8_t>(indices_, uint64_t{case_.rows} * case_.indices_stride())};
    }

    sidra_cmd cmd;

   private:
    Context& context_;
    const SortCase& case_;
    uint64_t values_, indices_;
};

void check(Bench& bench, const SortCase& c) {
    Context& context = bench.context();
    Queue& queue = context.queue();
    Placed placed(context, c);
    queue.submit(placed.cmd);
    bench.run();
    ASSERT_TRUE(retired(queue));
    const Result wanted = expected(c), is = placed.result();
    const auto what = [&] {
        return "type " + std::to_string(c.type) + ", " + std::to_string(c.count) + " of " + std::to_string(c.rows) +
               " x " + std::to_string(c.cols) + (c.descending ? ", descending" : "");
    };
    ASSERT_TRUE(wanted.values == is.values) << what();
    ASSERT_TRUE(wanted.indices == is.indices) << what();
}

class Sort : public ::testing::TestWithParam<Host> {};

TEST_P(Sort, IsThatOfPlainValues) {
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
        for (unsigned n = 0; n < 8; n++) {
            check(bench, random_case(random));
            if (HasFatalFailure()) return;
        }
    }
}

INSTANTIATE_TEST_SUITE_P(Engines, Sort, ::testing::ValuesIn(hosts()), host_name);

TEST(SortLong, RowsOfTheLargestLength) {
    std::mt19937_64 random(3);
    for (uint32_t type = 0; type < SIDRA_TYPE_COUNT; type++)
        for (const uint32_t count : {5u, SIDRA_SORT_COLS_MAX / 8, SIDRA_SORT_COLS_MAX}) {
            BenchOptions options;
            options.pages = 1u << 15;
            options.scatter = count == 5;
            Bench bench(options);
            SortCase c{};
            c.type = type, c.rows = 2, c.cols = SIDRA_SORT_COLS_MAX, c.count = count, c.descending = count == 5;
            fill(c, random);
            check(bench, c);
            if (HasFatalFailure()) return;
        }
}

// Two rows of 6 s32, of which 4 are wanted, with both outputs.
SortCase small_case() {
    SortCase c{};
    c.type = SIDRA_TYPE_S32, c.rows = 2, c.cols = 6, c.count = 4;
    const int32_t elements[] = {5, 1, 4, 1, 5, 9, 2, 6, 5, 3, 5, 8};
    c.in.resize(sizeof elements);
    std::memcpy(c.in.data(), elements, sizeof elements);
    return c;
}

struct Refusal {
    const char* name;
    // Changes the packet, and returns the fault's address.
    uint64_t (*change)(sidra_cmd_sort&);
    sidra_fault_cause cause;
};
const Refusal kRefusals[] = {
    {"Flag", [](sidra_cmd_sort& s) -> uint64_t { return s.flags = 2; }, SIDRA_FAULT_FIELD},
    {"Reserved", [](sidra_cmd_sort& s) -> uint64_t { return s.reserved = uint64_t{1} << 40; }, SIDRA_FAULT_FIELD},
    {"Type", [](sidra_cmd_sort& s) -> uint64_t { return s.type = SIDRA_TYPE_COUNT; }, SIDRA_FAULT_FIELD},
    {"TypeOfIndices", [](sidra_cmd_sort& s) -> uint64_t { return s.index_type = SIDRA_TYPE_U8; }, SIDRA_FAULT_FIELD},
    {"TypeOfNoIndices",
     [](sidra_cmd_sort& s) -> uint64_t {
         s.indices = s.indices_stride = 0;
         return s.index_type;
     },
     SIDRA_FAULT_FIELD},
    {"NoOutput",
     [](sidra_cmd_sort& s) -> uint64_t {
         s.values = s.indices = s.values_stride = s.indices_stride = s.index_type = 0;
         return 0;
     },
     SIDRA_FAULT_FIELD},
    {"StrideOfNoValues",
     [](sidra_cmd_sort& s) -> uint64_t {
         s.values = 0;
         return s.values_stride;
     },
     SIDRA_FAULT_FIELD},
    {"StrideOfNoIndices",
     [](sidra_cmd_sort& s) -> uint64_t {
         s.indices = s.index_type = 0;
         return s.indices_stride;
     },
     SIDRA_FAULT_FIELD},
    {"NoRows", [](sidra_cmd_sort& s) -> uint64_t { return s.rows = 0; }, SIDRA_FAULT_FIELD},
    {"NoColumns", [](sidra_cmd_sort& s) -> uint64_t { return s.cols = 0; }, SIDRA_FAULT_FIELD},
    {"NothingWanted", [](sidra_cmd_sort& s) -> uint64_t { return s.count = 0; }, SIDRA_FAULT_FIELD},
    {"Rows", [](sidra_cmd_sort& s) -> uint64_t { return s.rows = SIDRA_SORT_ROWS_MAX + 1; }, SIDRA_FAULT_LIMIT},
    {"Columns", [](sidra_cmd_sort& s) -> uint64_t { return s.cols = SIDRA_SORT_COLS_MAX + 1; }, SIDRA_FAULT_LIMIT},
    {"MoreThanThereAre", [](sidra_cmd_sort& s) -> uint64_t { return s.count = 7; }, SIDRA_FAULT_LIMIT},
    {"InputMisaligned", [](sidra_cmd_sort& s) -> uint64_t { return s.in += 2; }, SIDRA_FAULT_ALIGNMENT},
    {"ValuesMisaligned", [](sidra_cmd_sort& s) -> uint64_t { return s.values += 2; }, SIDRA_FAULT_ALIGNMENT},
    {"IndicesMisaligned", [](sidra_cmd_sort& s) -> uint64_t { return s.indices += 4; }, SIDRA_FAULT_ALIGNMENT},
    {"InputStrideMisaligned", [](sidra_cmd_sort& s) -> uint64_t { return s.in_stride += 2; }, SIDRA_FAULT_ALIGNMENT},
    {"ValuesStrideMisaligned", [](sidra_cmd_sort& s) -> uint64_t { return s.values_stride += 2; },
     SIDRA_FAULT_ALIGNMENT},
    {"IndicesStrideMisaligned", [](sidra_cmd_sort& s) -> uint64_t { return s.indices_stride += 4; },
     SIDRA_FAULT_ALIGNMENT},
    {"InputStride", [](sidra_cmd_sort& s) -> uint64_t { return s.in_stride -= 4; }, SIDRA_FAULT_FIELD},
    {"ValuesStride", [](sidra_cmd_sort& s) -> uint64_t { return s.values_stride -= 4; }, SIDRA_FAULT_FIELD},
    {"IndicesStride", [](sidra_cmd_sort& s) -> uint64_t { return s.indices_stride -= 8; }, SIDRA_FAULT_FIELD},
    {"InputBeyondAllAddresses",
     [](sidra_cmd_sort& s) -> uint64_t { return s.in = (uint64_t{1} << SIDRA_VA_BITS) - 2 * 6 * 4 + 4; },
     SIDRA_FAULT_LIMIT},
    {"ValuesBeyondAllAddresses", [](sidra_cmd_sort& s) -> uint64_t { return s.values = ~uint64_t{3}; },
     SIDRA_FAULT_LIMIT},
    {"IndicesBeyondAllAddresses",
     [](sidra_cmd_sort& s) -> uint64_t { return s.indices = uint64_t{1} << SIDRA_VA_BITS; }, SIDRA_FAULT_LIMIT},
    {"ValuesInInput", [](sidra_cmd_sort& s) -> uint64_t { return s.values = s.in + 2 * 6 * 4 - 4; }, SIDRA_FAULT_FIELD},
    {"IndicesInInput", [](sidra_cmd_sort& s) -> uint64_t { return s.indices = s.in - 2 * 4 * 8 + 8; },
     SIDRA_FAULT_FIELD},
    {"IndicesInValues", [](sidra_cmd_sort& s) -> uint64_t { return s.indices = s.values; }, SIDRA_FAULT_FIELD},
    {"InputNotMapped", [](sidra_cmd_sort& s) -> uint64_t { return s.in = uint64_t{1} << (SIDRA_VA_BITS - 1); },
     SIDRA_FAULT_TRANSLATION},
};

class SortRefusal : public ::testing::TestWithParam<Refusal> {};

TEST_P(SortRefusal, NamesTheReason) {
    Bench bench;
    Context& context = bench.context();
    Queue& queue = context.queue();
    const SortCase c = small_case();
    Placed placed(context, c);
    const Result before = placed.result();
    sidra_cmd refused = placed.cmd;
    const uint64_t address = GetParam().change(refused.sort);
    const uint64_t at = queue.submit(refused);
    bench.run();
    EXPECT_TRUE(faulted(queue, at, refused, {{GetParam().cause}}, address));
    EXPECT_EQ(before, placed.result());
    // Without the change, it is executed.
    Queue& other = context.queue();
    other.submit(placed.cmd);
    bench.run();
    ASSERT_TRUE(retired(other));
    EXPECT_EQ(expected(c), placed.result());
}
INSTANTIATE_TEST_SUITE_P(Packets, SortRefusal, ::testing::ValuesIn(kRefusals),
                         [](const auto& test) { return test.param.name; });

}  // namespace
}  // namespace sidra::chip_test
