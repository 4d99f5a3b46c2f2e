// SPDX-License-Identifier: MIT
// MVM against a naive oracle: exact integer sums, and the float formulas of struct sidra_cmd_mvm written out.
#include <algorithm>
#include <cmath>
#include <numeric>
#include <random>

#include "bench.h"
#include "packets.h"

namespace sidra::chip_test {
namespace {

// Float operations per column must not be fused or kept in wider registers.
float rounded(float value) {
    volatile float stored = value;
    return stored;
}

int64_t round_even(float value) {
    if (std::isnan(value)) {
        return 0;
    }
    if (value > 4e9f) {
        return int64_t{1} << 40;
    }
    if (value < -4e9f) {
        return -(int64_t{1} << 40);
    }
    return std::llrint(std::nearbyint(static_cast<double>(value)));
}

int64_t clamp(int64_t value, int64_t low, int64_t high) { return std::min(std::max(value, low), high); }

struct Job {
    uint32_t rows, cols, batch;
    uint32_t encoding, in_type, out_type;
    int32_t in_zero = 0, out_zero = 0;
    uint32_t in_pad = 0, out_pad = 0;  // elements added to the strides
    bool scale = false, bias = false;
    uint32_t in_scale = 0, out_factor = 0;
};

class MvmRig {
   public:
    explicit MvmRig(const BenchOptions& options) : bench(options) {}

    Bench bench;
    Context& context = bench.context();
    Queue& queue = context.queue();
    std::mt19937_64 random{99};

    template <typename T>
    uint64_t place(const std::vector<T>& values, uint64_t skew) {
        const uint64_t va = context.alloc(values.size() * sizeof(T) + kPage) + skew;
        context.write(va, values.data(), values.size() * sizeof(T));
        return va;
    }

    void check(const Job& job) {
        SCOPED_TRACE(::testing::Message() << job.rows << " x " << job.cols << ", batch " << job.batch << ", encoding "
                                          << job.encoding << ", " << job.in_type << " -> " << job.out_type << ", zeros "
                                          << job.in_zero << " " << job.out_zero);
        const bool differential = job.encoding == SIDRA_ENCODING_DIFFERENTIAL;
        const uint32_t width = differential ? 128 : 256;
        const uint32_t tiles = (job.rows + 255) / 256 * ((job.cols + width - 1) / width);
        ASSERT_LE(tiles, bench.crossbars_total());
        // Weights objects, repeatedly on crossbars of other objects.
        std::vector<uint32_t> crossbars(bench.crossbars_total());
        for (uint32_t i = 0; i < crossbars.size(); ++i) {
            crossbars[i] = i;
        }
        std::shuffle(crossbars.begin(), crossbars.end(), random);
        crossbars.resize(tiles);
        const uint32_t weights =
            context.weights({.rows = job.rows, .cols = job.cols, .encoding = job.encoding, .crossbars = crossbars});
        std::vector<int8_t> w(size_t{job.rows} * job.cols);
        const bool extreme = random() % 4 == 0;
        for (int8_t& value : w) {
            value = extreme ? (random() % 2 != 0 ? 127 : differential ? -127 : -128) : static_cast<int8_t>(random());
            if (differential && value == -128) {
                value = -127;
            }
        }
        queue.submit(program(weights, 0, job.rows, 0, job.cols, place(w, 5), job.cols));

        // Input.
        const uint32_t in_size = element_size(job.in_type), out_size = element_size(job.out_type);
        const uint32_t in_stride = (job.rows + job.in_pad) * in_size, out_stride = (job.cols + job.out_pad) * out_size;
        std::vector<uint8_t> in(size_t{in_stride} * job.batch);
        std::vector<int32_t> codes(size_t{job.rows} * job.batch);
        const float in_scale = job.in_scale == 0 ? 1.0f : std::bit_cast<float>(job.in_scale);
        const float inverse = rounded(1.0f / in_scale);
        for (uint32_t b = 0; b < job.batch; ++b) {
            for (uint32_t k = 0; k < job.rows; ++k) {
                uint8_t* at = &in[size_t{b} * in_stride + size_t{k} * in_size];
                int32_t& code = codes[size_t{b} * job.rows + k];
                if (job.in_type == SIDRA_TYPE_F32) {
                    float value = (static_cast<float>(random() % 4000) - 2000.0f) * 0.11f * in_scale;
                    switch (random() % 40) {
                        case 0:
                            value = in_scale * (static_cast<float>(random() % 100) + 0.5f);
                            break;  // ties
                        case 1:
                            value = std::numeric_limits<float>::quiet_NaN();
                            break;
                        case 2:
                            value = std::numeric_limits<float>::infinity();
                            break;
                        case 3:
                            value = -std::numeric_limits<float>::infinity();
                            break;
                        case 4:
                            value = 3e38f;
                            break;
                        default:
                            break;
                    }
                    std::memcpy(at, &value, 4);
                    code = static_cast<int32_t>(clamp(round_even(rounded(value * inverse)) + job.in_zero, 0, 255));
                } else {
                    *at = extreme ? (random() % 2 != 0 ? 0x7f : 0x80) : static_cast<uint8_t>(random());
                    code = job.in_type == SIDRA_TYPE_U8 ? int32_t{*at} : int32_t{static_cast<int8_t>(*at)};
                }
            }
        }
        std::vector<int32_t> bias(job.cols);
        std::vector<float> scale(job.cols);
        for (uint32_t n = 0; n < job.cols; ++n) {
            bias[n] = static_cast<int32_t>(random() % 3 == 0 ? random() : random() % 2000 - 1000);
            scale[n] = (static_cast<float>(random() % 1000) - 300.0f) * 1e-4f;
        }

        const uint64_t out_bytes = uint64_t{out_stride} * job.batch;
        const uint64_t out = context.alloc(out_bytes + 2 * kPage) + kPage - (job.out_type == SIDRA_TYPE_S8 ? 3 : 4);
        std::vector<uint8_t> canvas(out_bytes + 64, 0xcc);
        context.write(out, canvas.data(), canvas.size());
        sidra_cmd cmd = mvm(static_cast<uint16_t>(weights), job.in_type, job.out_type, job.batch,
                            place(in, in_size == 4 ? 4 : 3), in_stride, out, out_stride);
        cmd.mvm.in_zero = static_cast<int16_t>(job.in_zero);
        cmd.mvm.out_zero = static_cast<uint8_t>(job.out_zero);
        cmd.mvm.in_scale = job.in_scale;
        cmd.mvm.out_factor = job.out_factor;
        cmd.mvm.scale = job.scale ? place(scale, 8) : 0;
        cmd.mvm.bias = job.bias ? place(bias, 12) : 0;
        queue.submit(cmd);
        bench.run();
        ASSERT_TRUE(retired(queue));

        // Oracle.
        const float gain = rounded(in_scale * (job.out_factor == 0 ? 1.0f : std::bit_cast<float>(job.out_factor)));
        for (uint32_t b = 0; b < job.batch; ++b) {
            for (uint32_t n = 0; n < job.cols; ++n) {
                int64_t sum = job.bias ? bias[n] : 0;
                for (uint32_t k = 0; k < job.rows; ++k) {
                    sum += int64_t{codes[size_t{b} * job.rows + k] - job.in_zero} * w[size_t{k} * job.cols + n];
                }
                const auto acc = static_cast<int32_t>(static_cast<uint32_t>(static_cast<uint64_t>(sum)));
                const float factor = job.scale ? rounded(gain * scale[n]) : gain;
                const float value = rounded(static_cast<float>(acc) * factor);
                uint8_t* at = &canvas[size_t{b} * out_stride + size_t{n} * out_size];
                switch (job.out_type) {
                    case SIDRA_TYPE_S32:
                        std::memcpy(at, &acc, 4);
                        break;
                    case SIDRA_TYPE_F32:
                        std::memcpy(at, &value, 4);
                        break;
                    case SIDRA_TYPE_S8:
                        *at = static_cast<uint8_t>(clamp(round_even(value) + job.out_zero, -128, 127));
                        break;
                    default:
                        *at = static_cast<uint8_t>(clamp(round_even(value) + job.out_zero, 0, 255));
                        break;
                }
            }
        }
        const auto got = context.get<uint8_t>(out, canvas.size());
        const auto [x, y] = std::mismatch(got.begin(), got.end(), canvas.begin());
        ASSERT_TRUE(x == got.end()) << "differs at row " << (x - got.begin()) / out_stride << ", byte "
                                    << (x - got.begin()) % out_stride << " of the row: " << unsigned{*x} << ", not "
                                    << unsigned{*y};
    }

    Job random_job() {
        Job job{};
        job.encoding = static_cast<uint32_t>(random() % 2);
        const uint32_t width = job.encoding == SIDRA_ENCODING_OFFSET ? 256 : 128;
        do {
            job.rows = 1 + static_cast<uint32_t>(random() % (random() % 3 == 0 ? 900 : 300));
            job.cols = 1 + static_cast<uint32_t>(random() % (random() % 3 == 0 ? 700 : 150));
        } while ((job.rows + 255) / 256 * ((job.cols + width - 1) / width) > bench.crossbars_total());
        job.batch = 1 + static_cast<uint32_t>(random() % (random() % 4 == 0 ? 70 : 6));
        constexpr uint32_t kIn[] = {SIDRA_TYPE_U8, SIDRA_TYPE_S8, SIDRA_TYPE_F32};
        constexpr uint32_t kOut[] = {SIDRA_TYPE_S32, SIDRA_TYPE_S8, SIDRA_TYPE_U8, SIDRA_TYPE_F32};
        job.in_type = kIn[random() % 3];
        job.out_type = kOut[random() % 4];
        finish(job);
        return job;
    }

    void finish(Job& job) {
        if (random() % 3 != 0) {
            job.in_zero = job.in_type == SIDRA_TYPE_S8 ? static_cast<int32_t>(random() % 256) - 128
                                                       : static_cast<int32_t>(random() % 256);
        }
        job.in_pad = random() % 2 != 0 ? static_cast<uint32_t>(random() % 70) : 0;
        job.out_pad = random() % 2 != 0 ? static_cast<uint32_t>(random() % 70) : 0;
        job.bias = random() % 2 != 0;
        if (job.in_type == SIDRA_TYPE_F32) {
            job.in_scale = random() % 3 == 0 ? 0 : f32_bits(0.013f * static_cast<float>(1 + random() % 50));
        }
        if (job.out_type != SIDRA_TYPE_S32) {
            job.scale = random() % 2 != 0;
            if (job.in_type != SIDRA_TYPE_F32 && random() % 2 != 0) {
                job.in_scale = f32_bits(0.37f);
            }
            job.out_factor = random() % 3 == 0 ? 0 : f32_bits(0.0007f * static_cast<float>(1 + random() % 90));
            if (job.out_type == SIDRA_TYPE_S8) {
                job.out_zero = static_cast<int32_t>(random() % 256) - 128;
            } else if (job.out_type == SIDRA_TYPE_U8) {
                job.out_zero = static_cast<int32_t>(random() % 256);
            }
        }
    }
};

class Mvm : public ::testing::TestWithParam<uint32_t> {};

TEST_P(Mvm, EveryTypeCombination) {
    MvmRig rig({.engine = GetParam(), .pages = 32768});
    for (const uint32_t encoding : {uint32_t{SIDRA_ENCODING_DIFFERENTIAL}, uint32_t{SIDRA_ENCODING_OFFSET}}) {
        for (const uint32_t in_type : {SIDRA_TYPE_U8, SIDRA_TYPE_S8, SIDRA_TYPE_F32}) {
            for (const uint32_t out_type : {SIDRA_TYPE_S32, SIDRA_TYPE_S8, SIDRA_TYPE_U8, SIDRA_TYPE_F32}) {
                Job job{.rows = 300,
                        .cols = 140,
                        .batch = 5,
                        .encoding = encoding,
                        .in_type = in_type,
                        .out_type = out_type};
                rig.finish(job);
                rig.check(job);
                if (::testing::Test::HasFatalFailure()) {
                    return;
                }
            }
        }
    }
}

TEST_P(Mvm, EdgesOfTiles) {
    MvmRig rig({.engine = GetParam(), .pages = 32768});
    for (const uint32_t rows : {1u, 3u, 255u, 256u, 257u, 511u, 1024u}) {
        for (const uint32_t cols : {1u, 2u, 63u, 64u, 65u, 127u, 128u, 129u, 255u, 256u, 257u}) {
            const uint32_t encoding = rows * cols % 2;
            const uint32_t width = encoding == SIDRA_ENCODING_OFFSET ? 256 : 128;
            if ((rows + 255) / 256 * ((cols + width - 1) / width) > rig.bench.crossbars_total()) {
                continue;
            }
            rig.check({.rows = rows,
                       .cols = cols,
                       .batch = 1 + rows % 3,
                       .encoding = encoding,
                       .in_type = SIDRA_TYPE_S8,
                       .out_type = SIDRA_TYPE_S32,
                       .in_zero = -7});
            if (::testing::Test::HasFatalFailure()) {
                return;
            }
        }
    }
}

TEST_P(Mvm, RandomShapes) {
    for (const uint32_t workers : {1u, 2u}) {
        MvmRig rig({.engine = GetParam(), .workers = workers, .pages = 65536});
        rig.random.seed(workers * 1000 + GetParam());
        for (unsigned i = 0; i < rounds(30); ++i) {
            rig.check(rig.random_job());
            if (::testing::Test::HasFatalFailure()) {
                return;
            }
        }
    }
}

std::string engine_name(const ::testing::TestParamInfo<uint32_t>& engine) {
    constexpr const char* kNames[] = {"Auto", "Scalar", "Avx2", "Avx512", "Neon", "Amx", "AvxVnni"};
    return kNames[engine.param];
}

INSTANTIATE_TEST_SUITE_P(Engines, Mvm, ::testing::ValuesIn(available_engines()), engine_name);

TEST(MvmLarge, ManySlicesOfAWholeChip) {
    // 25 x 20 crossbars of the full geometry, more than one slice of work.
    Bench bench({.profile = SIDRA_CHIP_Y1, .workers = 2, .scatter = false, .pages = 65536});
    Context& context = bench.context();
    Queue& queue = context.queue();
    constexpr uint32_t kRows = 2500, kCols = 2400, kBatch = rounds(3);
    const uint32_t weights = context.weights({.rows = kRows, .cols = kCols, .encoding = SIDRA_ENCODING_DIFFERENTIAL});
    std::mt19937_64 random(5);
    std::vector<int8_t> w(size_t{kRows} * kCols);
    for (int8_t& value : w) {
        value = static_cast<int8_t>(static_cast<int>(random() % 255) - 127);
    }
    std::vector<int8_t> x(size_t{kRows} * kBatch);
    for (int8_t& value : x) {
        value = static_cast<int8_t>(random());
    }
    const uint64_t w_at = context.put(w), x_at = context.put(x), out = context.alloc(uint64_t{kCols} * kBatch * 4);
    queue.submit(program(weights, 0, kRows, 0, kCols, w_at, kCols));
    queue.submit(
        mvm(static_cast<uint16_t>(weights), SIDRA_TYPE_S8, SIDRA_TYPE_S32, kBatch, x_at, kRows, out, kCols * 4));
    bench.run();
    ASSERT_TRUE(retired(queue));
    const auto got = context.get<int32_t>(out, size_t{kCols} * kBatch);
    for (uint32_t b = 0; b < kBatch; ++b) {
        std::vector<int32_t> want(kCols);
        for (uint32_t k = 0; k < kRows; ++k) {
            for (uint32_t n = 0; n < kCols; ++n) {
                want[n] += int32_t{x[size_t{b} * kRows + k]} * w[size_t{k} * kCols + n];
            }
        }
        ASSERT_TRUE(std::equal(want.begin(), want.end(), got.begin() + static_cast<ptrdiff_t>(b) * kCols));
    }
}

TEST(MvmLarge, LargestBatch) {
    Bench bench({.pages = 32768});
    Context& context = bench.context();
    Queue& queue = context.queue();
    const uint32_t weights = context.weights({.rows = 2, .cols = 1});
    const std::vector<int8_t> w = {3, -5};
    std::vector<int8_t> x(2 * SIDRA_CMD_BATCH_MAX);
    for (size_t i = 0; i < x.size(); ++i) {
        x[i] = static_cast<int8_t>(i * 37);
    }
    const uint64_t out = context.alloc(4 * SIDRA_CMD_BATCH_MAX);
    queue.submit(program(weights, 0, 2, 0, 1, context.put(w), 1));
    queue.submit(mvm(static_cast<uint16_t>(weights), SIDRA_TYPE_S8, SIDRA_TYPE_S32, SIDRA_CMD_BATCH_MAX, context.put(x),
                     2, out, 4));
    bench.run();
    ASSERT_TRUE(retired(queue));
    const auto got = context.get<int32_t>(out, SIDRA_CMD_BATCH_MAX);
    for (size_t b = 0; b < got.size(); ++b) {
        ASSERT_EQ(got[b], 3 * x[2 * b] - 5 * x[2 * b + 1]);
    }
}

TEST(MvmLarge, SumsWrapModulo32Bits) {
    Bench bench;
    Context& context = bench.context();
    Queue& queue = context.queue();
    const uint32_t weights = context.weights({.rows = 4, .cols = 2});
    const std::vector<int8_t> w = {127, -128, 127, -128, 127, -128, 127, -128};
    const std::vector<int8_t> x(4, 127);
    const std::vector<int32_t> bias = {INT32_MAX, INT32_MIN};
    const uint64_t out = context.alloc(kPage);
    queue.submit(program(weights, 0, 4, 0, 2, context.put(w), 2));
    sidra_cmd cmd = mvm(static_cast<uint16_t>(weights), SIDRA_TYPE_S8, SIDRA_TYPE_S32, 1, context.put(x), 4, out, 8);
    cmd.mvm.bias = context.put(bias);
    queue.submit(cmd);
    bench.run();
    ASSERT_TRUE(retired(queue));
    const auto got = context.get<int32_t>(out, 2);
    EXPECT_EQ(static_cast<uint32_t>(got[0]), uint32_t{INT32_MAX} + 4u * 127 * 127);
    EXPECT_EQ(static_cast<uint32_t>(got[1]), 0x80000000u - 4u * 127 * 128);
}

// An engine whose arithmetic is so fast that reading the weights takes longer.
class FastEngine final : public engine::Engine {
   public:
    explicit FastEngine(engine::Capabilities can) : Engine(can, *engine::find(SIDRA_CHIP_ENGINE_SCALAR)) {}
    static std::unique_ptr<engine::Engine> make(sidra_chip_engine, uint32_t threads) {
        engine::Capabilities can = engine::find(SIDRA_CHIP_ENGINE_SCALAR)->can;
        can.mvm_macs_per_ns = 1'000'000, can.threads = threads;
        return std::make_unique<FastEngine>(can);
    }
    bool submit(const engine::Work& work, const engine::Completion&) override {
        was_parallel = work.parallel;
        work.run(work.self, staging_);
        return true;
    }
    static inline bool was_parallel = false;

   private:
    engine::Staging staging_;
};

TEST(MvmLarge, ThreadsShareTheReadingOfWeights) {
    Bench bench({.profile = SIDRA_CHIP_Y1, .workers = 2, .make_engine = FastEngine::make});
    Context& context = bench.context();
    Queue& queue = context.queue();
    const auto is_shared = [&](uint32_t rows, uint32_t cols) {
        std::vector<uint32_t> crossbars(rows / 256 * (cols / 256));
        std::iota(crossbars.begin(), crossbars.end(), 0u);
        const uint32_t weights = context.weights({.rows = rows, .cols = cols, .crossbars = crossbars});
        const std::vector<int8_t> w(size_t{rows} * cols, 1);
        queue.submit(program(weights, 0, rows, 0, cols, context.put(w), cols));
        queue.submit(mvm(static_cast<uint16_t>(weights), SIDRA_TYPE_S8, SIDRA_TYPE_S32, 1,
                         context.put(std::vector<int8_t>(rows, 1)), rows, context.alloc(cols * 4), cols * 4));
        bench.run();
        EXPECT_TRUE(retired(queue));
        return FastEngine::was_parallel;
    };
    EXPECT_TRUE(is_shared(1024, 2048)) << "2 MiB";
    EXPECT_FALSE(is_shared(256, 512)) << "128 KiB are not worth waking a thread";
}

}  // namespace
}  // namespace sidra::chip_test
