// SPDX-License-Identifier: MIT
// Weights and MVM on a real chip model against a naive oracle: encodings, conversions, programming, names, sharing.
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <bit>
#include <cfenv>
#include <cmath>
#include <cstring>
#include <string>
#include <thread>
#include <vector>

#include "../chip/failing_new.h"
#include "chip_fixture.h"

namespace sidra::test {
namespace {

float nearest_even(float value) {
    EXPECT_EQ(FE_TONEAREST, std::fegetround());
    return std::nearbyint(value);
}

int32_t saturate(float value, int low, int high) {
    if (std::isnan(value)) return 0;
    return static_cast<int32_t>(std::clamp(value, static_cast<float>(low), static_cast<float>(high)));
}

class ChipWeights : public ChipTest {
   protected:
    sidra_weights* make(uint32_t k, uint32_t n, const std::vector<int8_t>& values, const float* scale,
                        sidra_weights_encoding encoding) {
        auto options = SIDRA_INIT(sidra_weights_options);
        options.encoding = encoding;
        sidra_weights* weights = nullptr;
        EXPECT_OK(sidra_weights_create_s8(context, k, n, values.data(), n, scale, &options, &weights));
        return weights;
    }
    std::vector<int8_t> random_values(uint32_t k, uint32_t n, int low = -127) {
        std::vector<int8_t> values(size_t{k} * n);
        randomise(std::span(values), low, 127);
        return values;
    }
    sidra_weights_info info_of(sidra_weights* weights) {
        auto info = SIDRA_INIT(sidra_weights_info);
        EXPECT_OK(sidra_weights_get_info(weights, &info));
        return info;
    }
    // Runs one MVM with these weights and compares every element with the definition in sidra.h.
    void expect_mvm(sidra_weights* weights, uint32_t k, uint32_t n, const std::vector<int8_t>& values,
                    const std::vector<float>& scale, sidra_mvm mvm, bool with_bias);
};

void ChipWeights::expect_mvm(sidra_weights* weights, uint32_t k, uint32_t n, const std::vector<int8_t>& values,
                             const std::vector<float>& scale, sidra_mvm mvm, bool with_bias) {
    const auto size_of = [](sidra_type type) { return type == SIDRA_S32 || type == SIDRA_F32 ? 4u : 1u; };
    const size_t in_stride = mvm.in_stride != 0 ? mvm.in_stride : k * size_of(mvm.in_type);
    const size_t out_stride = mvm.out_stride != 0 ? mvm.out_stride : n * size_of(mvm.out_type);
    const Buffer in(context, in_stride * mvm.batch), out(context, out_stride * mvm.batch), bias(context, n * 4);
    if (mvm.in_type == SIDRA_F32) randomise(in.as<float>(), -2.0f, 6.0f);
    else randomise(in.as(), 0, 255);
    randomise(bias.as<int32_t>(), -1000, 1000);
    std::memset(out.as().data(), 0xcd, out.as().size());
    mvm.in = in.at();
    mvm.out = out.at();
    if (with_bias) mvm.bias = bias.at();
    ASSERT_OK(sidra_mvm_async(stream, weights, &mvm));
    synchronize();

    const float in_scale = mvm.in_scale != 0 ? mvm.in_scale : 1.0f;
    const float out_factor = mvm.out_scale != 0 ? 1.0f / mvm.out_scale : 1.0f;
    for (uint32_t b = 0; b < mvm.batch; ++b) {
        const uint8_t* in_row = in.as().data() + b * in_stride;
        const uint8_t* out_row = out.as().data() + b * out_stride;
        std::vector<int32_t> code(k);
        for (uint32_t i = 0; i < k; ++i) {
            if (mvm.in_type == SIDRA_U8) code[i] = in_row[i];
            if (mvm.in_type == SIDRA_S8) code[i] = static_cast<int8_t>(in_row[i]);
            if (mvm.in_type == SIDRA_F32) {
                float value;
                std::memcpy(&value, in_row + i * 4, 4);
                code[i] = saturate(nearest_even(value * (1.0f / in_scale)) + static_cast<float>(mvm.in_zero), 0, 255);
            }
        }
        for (uint32_t j = 0; j < n; ++j) {
            int64_t sum = with_bias ? bias.as<int32_t>()[j] : 0;
            for (uint32_t i = 0; i < k; ++i) sum += int64_t{code[i] - mvm.in_zero} * values[size_t{i} * n + j];
            const auto acc = static_cast<int32_t>(sum);
            const float factor = (in_scale * out_factor) * (scale.empty() ? 1.0f : scale[j]);
            const float real = static_cast<float>(acc) * factor;
            if (mvm.out_type == SIDRA_S32) {
                int32_t got;
                std::memcpy(&got, out_row + j * 4, 4);
                ASSERT_EQ(acc, got) << "row " << b << " column " << j;
            } else if (mvm.out_type == SIDRA_F32) {
                float got;
                std::memcpy(&got, out_row + j * 4, 4);
                ASSERT_EQ(std::bit_cast<uint32_t>(real), std::bit_cast<uint32_t>(got))
                    << "row " << b << " column " << j;
            } else {
                const bool is_signed = mvm.out_type == SIDRA_S8;
                const int32_t expected = saturate(nearest_even(real) + static_cast<float>(mvm.out_zero),
                                                  is_signed ? -128 : 0, is_signed ? 127 : 255);
                const int32_t got = is_signed ? static_cast<int8_t>(out_row[j]) : out_row[j];
                ASSERT_EQ(expected, got) << "row " << b << " column " << j << " sum " << acc;
            }
        }
        for (size_t pad = n * size_of(mvm.out_type); pad < out_stride; ++pad)
            ASSERT_EQ(0xcd, out_row[pad]) << "wrote between rows";
    }
}

TEST_F(ChipWeights, MvmIsExactInBothEncodings) {
    struct Shape {
        uint32_t k, n, batch;
    };
    for (const sidra_weights_encoding encoding : {SIDRA_WEIGHTS_DIFFERENTIAL, SIDRA_WEIGHTS_OFFSET})
        for (const auto& [k, n, batch] :
             {Shape{1, 1, 1}, Shape{3, 5, 2}, Shape{256, 128, 4}, Shape{257, 129, 3}, Shape{300, 200, 9}}) {
            const bool offset = encoding == SIDRA_WEIGHTS_OFFSET;
            const std::vector<int8_t> values = random_values(k, n, offset ? -128 : -127);
            std::vector<float> scale(n);
            randomise(std::span(scale), 0.001f, 0.01f);
            sidra_weights* weights = make(k, n, values, scale.data(), encoding);
            ASSERT_NE(nullptr, weights);
            ASSERT_OK(sidra_weights_program_async(stream, weights));
            for (const sidra_type in : {SIDRA_U8, SIDRA_S8, SIDRA_F32})
                for (const sidra_type out : {SIDRA_S32, SIDRA_F32, SIDRA_S8, SIDRA_U8}) {
                    SCOPED_TRACE(testing::Message()
                                 << k << "x" << n << " batch " << batch << " types " << in << "," << out);
                    auto mvm = SIDRA_INIT(sidra_mvm);
                    mvm.batch = batch;
                    mvm.in_type = in;
                    mvm.out_type = out;
                    mvm.in_zero = in == SIDRA_S8 ? -7 : 11;
                    if (in == SIDRA_F32 || out != SIDRA_S32) mvm.in_scale = 0.03125f;
                    if (out == SIDRA_S8 || out == SIDRA_U8)
                        mvm.out_scale = 1.7f, mvm.out_zero = out == SIDRA_S8 ? -9 : 77;
                    expect_mvm(weights, k, n, values, scale, mvm, true);
                    mvm.in_stride = (in == SIDRA_F32 ? 4 * k : k) + 12;
                    mvm.out_stride = 4 * n + 8;
                    expect_mvm(weights, k, n, values, scale, mvm, false);
                }
            std::vector<int8_t> read(values.size());
            ASSERT_OK(sidra_weights_read(stream, weights, read.data(), n, soon()));
            EXPECT_EQ(values, read);
            EXPECT_OK(sidra_weights_destroy(weights));
        }
}

TEST_F(ChipWeights, FloatsAreQuantisedPerColumn) {
    constexpr uint32_t kK = 70, kN = 33, kStride = 40;
    std::vector<float> real(kK * kStride);
    randomise(std::span(real), -3.0f, 5.0f);
    for (uint32_t k = 0; k < kK; ++k) real[k * kStride + 4] = 0.0f;     // an empty column
    for (uint32_t k = 0; k < kK; ++k) real[k * kStride + 5] *= 1e-30f;  // a tiny one
    sidra_weights* weights = nullptr;
    ASSERT_OK(sidra_weights_create_f32(context, kK, kN, real.data(), kStride, nullptr, &weights));
    const float* scale = nullptr;
    ASSERT_OK(sidra_weights_scale(weights, &scale));
    ASSERT_OK(sidra_weights_program_async(stream, weights));
    std::vector<int8_t> read(kK * kN);
    ASSERT_OK(sidra_weights_read(stream, weights, read.data(), kN, soon()));
    for (uint32_t n = 0; n < kN; ++n) {
        float largest = 0;
        for (uint32_t k = 0; k < kK; ++k) largest = std::max(largest, std::fabs(real[k * kStride + n]));
        const float expected = largest == 0.0f ? 1.0f : largest / 127.0f;
        EXPECT_EQ(expected, scale[n]) << "column " << n;
        for (uint32_t k = 0; k < kK; ++k)
            ASSERT_EQ(static_cast<int>(nearest_even(real[k * kStride + n] / expected)), read[k * kN + n])
                << k << "," << n;
    }
    EXPECT_OK(sidra_weights_destroy(weights));

    for (const float bad : {std::nanf(""), INFINITY, -INFINITY}) {
        real[3 * kStride + 7] = bad;
        EXPECT_FAILS(SIDRA_ERROR_INVALID_ARGUMENT,
                     sidra_weights_create_f32(context, kK, kN, real.data(), kStride, nullptr, &weights));
        EXPECT_NE(nullptr, std::strstr(sidra_last_error(), "row 3, column 7")) << sidra_last_error();
    }
}

TEST_F(ChipWeights, AutoTakesDifferentialWhileItFits) {
    // 4 crossbars when differential, 2 when offset; the chip has 8.
    const std::vector<int8_t> values = random_values(256, 512);
    sidra_weights* first = make(256, 512, values, nullptr, SIDRA_WEIGHTS_AUTO);
    sidra_weights* second = make(256, 512, values, nullptr, SIDRA_WEIGHTS_AUTO);
    sidra_weights* none = nullptr;
    EXPECT_EQ(SIDRA_WEIGHTS_DIFFERENTIAL, info_of(first).encoding);
    EXPECT_EQ(4u, info_of(first).crossbars);
    EXPECT_EQ(1u, info_of(first).tile_rows);
    EXPECT_EQ(4u, info_of(first).tile_cols);
    EXPECT_EQ(2u * 256 * 512, info_of(first).cells);
    EXPECT_EQ(SIDRA_WEIGHTS_DIFFERENTIAL, info_of(second).encoding);
    EXPECT_EQ(SIDRA_ENCODING_PREFERRED, info_of(second).encoding_reason);
    EXPECT_FAILS(SIDRA_ERROR_OUT_OF_CROSSBARS,
                 sidra_weights_create_s8(context, 256, 512, values.data(), 512, nullptr, nullptr, &none));
    EXPECT_OK(sidra_weights_destroy(second));
    sidra_weights* small = make(256, 256, random_values(256, 256), nullptr, SIDRA_WEIGHTS_OFFSET);
    EXPECT_EQ(SIDRA_ENCODING_GIVEN, info_of(small).encoding_reason);
    unsetenv("SIDRA_QUIET");
    testing::internal::CaptureStderr();
    sidra_weights* third = make(256, 512, values, nullptr, SIDRA_WEIGHTS_AUTO);  // three are left
    const std::string no_room = testing::internal::GetCapturedStderr();
    EXPECT_NE(std::string::npos, no_room.find("differential needs 4 crossbars and 3 are free")) << no_room;
    EXPECT_EQ(SIDRA_WEIGHTS_OFFSET, info_of(third).encoding);
    EXPECT_EQ(SIDRA_ENCODING_CROSSBARS, info_of(third).encoding_reason);
    auto strict = SIDRA_INIT(sidra_weights_options);
    strict.encoding = SIDRA_WEIGHTS_DIFFERENTIAL;
    EXPECT_FAILS(SIDRA_ERROR_OUT_OF_CROSSBARS,
                 sidra_weights_create_s8(context, 256, 512, values.data(), 512, nullptr, &strict, &none));
    EXPECT_NE(nullptr, std::strstr(sidra_last_error(), "SIDRA_WEIGHTS_OFFSET")) << sidra_last_error();
    strict.encoding = SIDRA_WEIGHTS_OFFSET;
    EXPECT_FAILS(SIDRA_ERROR_OUT_OF_CROSSBARS,
                 sidra_weights_create_s8(context, 256, 512, values.data(), 512, nullptr, &strict, &none));
    EXPECT_EQ(nullptr, std::strstr(sidra_last_error(), "ffset,"))
        << "advice to use what is in use: " << sidra_last_error();
    EXPECT_EQ(2u, info_of(third).crossbars);
    std::vector<uint32_t> taken;
    for (sidra_weights* each : {first, small, third}) {
        uint32_t count = 0;
        EXPECT_FAILS(SIDRA_ERROR_INVALID_ARGUMENT, sidra_weights_crossbars(each, nullptr, &count));
        ASSERT_EQ(info_of(each).crossbars, count);
        std::vector<uint32_t> crossbars(count);
        EXPECT_OK(sidra_weights_crossbars(each, crossbars.data(), &count));
        taken.insert(taken.end(), crossbars.begin(), crossbars.end());
    }
    std::sort(taken.begin(), taken.end());
    EXPECT_EQ(taken.end(), std::adjacent_find(taken.begin(), taken.end())) << "a crossbar belongs to two objects";
    EXPECT_LT(taken.back(), 8u);
    for (sidra_weights* each : {first, small, third}) EXPECT_OK(sidra_weights_destroy(each));

    std::vector<int8_t> with_minimum{-128};
    testing::internal::CaptureStderr();
    sidra_weights* offset = make(1, 1, with_minimum, nullptr, SIDRA_WEIGHTS_AUTO);
    const std::string minimum = testing::internal::GetCapturedStderr();
    EXPECT_NE(std::string::npos, minimum.find("row 0, column 0 is -128")) << minimum;
    EXPECT_EQ(SIDRA_WEIGHTS_OFFSET, info_of(offset).encoding);
    EXPECT_EQ(SIDRA_ENCODING_VALUE, info_of(offset).encoding_reason);
    setenv("SIDRA_QUIET", "1", 1);
    testing::internal::CaptureStderr();
    EXPECT_OK(sidra_weights_destroy(make(1, 1, with_minimum, nullptr, SIDRA_WEIGHTS_AUTO)));
    EXPECT_EQ("", testing::internal::GetCapturedStderr());
    EXPECT_OK(sidra_weights_destroy(offset));
    auto options = SIDRA_INIT(sidra_weights_options);
    options.encoding = SIDRA_WEIGHTS_DIFFERENTIAL;
    EXPECT_FAILS(SIDRA_ERROR_NOT_REPRESENTABLE,
                 sidra_weights_create_s8(context, 1, 1, with_minimum.data(), 1, nullptr, &options, &none));
}

TEST_F(ChipWeights, CreateRefuses) {
    const std::vector<int8_t> values(100, 1);
    sidra_weights* none = nullptr;
    const auto refuses = [&](sidra_status status, uint32_t k, uint32_t n, const int8_t* data, size_t stride,
                             const float* scale = nullptr) {
        EXPECT_FAILS(status, sidra_weights_create_s8(context, k, n, data, stride, scale, nullptr, &none));
        EXPECT_EQ(nullptr, none);
    };
    refuses(SIDRA_ERROR_INVALID_ARGUMENT, 0, 10, values.data(), 10);
    refuses(SIDRA_ERROR_INVALID_ARGUMENT, 10, 0, values.data(), 10);
    refuses(SIDRA_ERROR_INVALID_ARGUMENT, 10, 10, nullptr, 10);
    refuses(SIDRA_ERROR_INVALID_ARGUMENT, 10, 10, values.data(), 9);
    const float bad[] = {1, NAN};
    refuses(SIDRA_ERROR_INVALID_ARGUMENT, 1, 2, values.data(), 2, bad);
    EXPECT_FAILS(SIDRA_ERROR_INVALID_ARGUMENT,
                 sidra_weights_create_s8(context, 1, 1, values.data(), 1, nullptr, nullptr, nullptr));
    auto options = SIDRA_INIT(sidra_weights_options);
    options.encoding = static_cast<sidra_weights_encoding>(3);
    EXPECT_FAILS(SIDRA_ERROR_INVALID_ARGUMENT,
                 sidra_weights_create_s8(context, 1, 1, values.data(), 1, nullptr, &options, &none));
    // Rows that end outside of memory: a stride that a negative number became, or a matrix as large as all memory.
    for (const size_t stride : {SIZE_MAX, SIZE_MAX / 9, SIZE_MAX / 17}) {
        refuses(SIDRA_ERROR_INVALID_ARGUMENT, 10, 10, values.data(), stride);
        const float real = 1;
        EXPECT_FAILS(SIDRA_ERROR_INVALID_ARGUMENT,
                     sidra_weights_create_f32(context, 10, 1, &real, stride / sizeof real, nullptr, &none));
    }
    refuses(SIDRA_ERROR_INVALID_ARGUMENT, UINT32_MAX, UINT32_MAX, values.data(), UINT32_MAX);
    // A shape that fits no chip is refused before any value is read: there are no values here.
    for (const uint32_t edge : {1u << 20, 1u << 26}) {
        refuses(SIDRA_ERROR_OUT_OF_CROSSBARS, edge, edge, values.data(), edge);
        const float real = 1;
        EXPECT_FAILS(SIDRA_ERROR_OUT_OF_CROSSBARS,
                     sidra_weights_create_f32(context, edge, edge, &real, edge, nullptr, &none));
    }
    // More than the chip could ever hold.
    const std::vector<int8_t> huge(256 * 9 * 256);
    refuses(SIDRA_ERROR_OUT_OF_CROSSBARS, 256 * 9, 256, huge.data(), 256);
    auto info = SIDRA_INIT(sidra_device_info);
    ASSERT_OK(sidra_device_get_info(device, &info));
    EXPECT_EQ(info.crossbars_total, info.crossbars_free);
}

TEST_F(ChipWeights, ProgrammingIsSeenOnceAndOnlyOnce) {
    const std::vector<int8_t> values = random_values(300, 100);
    sidra_weights* weights = make(300, 100, values, nullptr, SIDRA_WEIGHTS_DIFFERENTIAL);
    uint32_t done = 99, total = 0;
    ASSERT_OK(sidra_weights_progress(weights, &done, &total));
    EXPECT_EQ(0u, done);
    EXPECT_EQ(300u, total);
    EXPECT_FALSE(info_of(weights).programmed);
    EXPECT_EQ(0u, info_of(weights).program_device_ps);
    std::vector<int8_t> read(values.size(), 3);
    EXPECT_FAILS(SIDRA_ERROR_UNPROGRAMMED, sidra_weights_read(stream, weights, read.data(), 100, soon()));
    EXPECT_FAILS(SIDRA_ERROR_UNPROGRAMMED, sidra_weights_update_async(stream, weights, 0, 1, 0, 1, values.data(), 1));
    EXPECT_FAILS(SIDRA_ERROR_UNPROGRAMMED, sidra_weights_publish(weights, "early", 0));
    ASSERT_OK(sidra_weights_program_async(stream, weights));
    EXPECT_FAILS(SIDRA_ERROR_INVALID_ARGUMENT, sidra_weights_program_async(stream, weights));
    synchronize();
    EXPECT_FAILS(SIDRA_ERROR_INVALID_ARGUMENT, sidra_weights_program_async(stream, weights));
    ASSERT_OK(sidra_weights_progress(weights, &done, &total));
    EXPECT_EQ(300u, done);
    const sidra_weights_info info = info_of(weights);
    EXPECT_TRUE(info.programmed);
    EXPECT_GT(info.program_device_ps, 0u);
    EXPECT_GT(info.program_energy_pj, 0u);
    uint64_t submitted = 0;
    EXPECT_OK(sidra_stream_timeline(stream, &submitted, nullptr));
    EXPECT_EQ(1u, submitted) << "programming is one operation";
    EXPECT_OK(sidra_weights_destroy(weights));
}

TEST_F(ChipWeights, ProgrammingThatWasDroppedCanBeRepeated) {
    const Buffer words(context, 4096);
    const std::vector<int8_t> values = random_values(20, 20);
    sidra_weights* weights = make(20, 20, values, nullptr, SIDRA_WEIGHTS_AUTO);
    ASSERT_OK(sidra_semaphore_wait_async(stream, words.at(), 1));
    ASSERT_OK(sidra_weights_program_async(stream, weights));
    ASSERT_OK(sidra_stream_reset(stream));
    EXPECT_FALSE(info_of(weights).programmed);
    ASSERT_OK(sidra_weights_program_async(stream, weights));
    std::vector<int8_t> read(values.size());
    ASSERT_OK(sidra_weights_read(stream, weights, read.data(), 20, soon()));
    EXPECT_EQ(values, read);
    EXPECT_OK(sidra_weights_destroy(weights));
}

// Whoever asks a stream frees the copies that it is done with, but not the one that another thread still reads.
TEST_F(ChipWeights, ReadsWhileOthersAskTheirStream) {
    const std::vector<int8_t> values = random_values(200, 100);
    sidra_weights* weights = make(200, 100, values, nullptr, SIDRA_WEIGHTS_AUTO);
    ASSERT_OK(sidra_weights_program_async(stream, weights));
    synchronize();
    std::atomic<bool> end{false};
    std::thread asking([&] {
        while (!end) EXPECT_NE(SIDRA_ERROR_FAULT, sidra_stream_query(stream));
    });
    std::vector<int8_t> read(values.size());
    for (int round = 0; round < 200; ++round) {
        std::fill(read.begin(), read.end(), int8_t{0});
        EXPECT_OK(sidra_weights_read(stream, weights, read.data(), 100, soon()));
        EXPECT_EQ(values, read);
    }
    end = true;
    asking.join();
    EXPECT_OK(sidra_weights_destroy(weights));
}

// A query is all that a program without memory may have left.
TEST_F(ChipWeights, QueriesNeedNoMemory) {
    sidra_weights* weights = make(20, 20, random_values(20, 20), nullptr, SIDRA_WEIGHTS_AUTO);
    ASSERT_OK(sidra_weights_program_async(stream, weights));
    ASSERT_TRUE(eventually([&] {
        uint64_t completed = 0;
        EXPECT_OK(sidra_stream_timeline(stream, nullptr, &completed));
        return completed == 1;
    }));
    {
        const FailingNew none(0, UINT64_MAX, FailingNew::Of::kThisThread);
        EXPECT_EQ(SIDRA_OK, sidra_stream_query(stream));
    }
    EXPECT_OK(sidra_weights_destroy(weights));
}

// What has failed leaves no weights that nobody knows: the context can be destroyed at the end.
TEST_F(ChipWeights, AnyAllocationOfTheirCreationMayFail) {
    const int8_t values[] = {-128, 1};  // cannot be differential, and a line says so
    uint64_t attempt = 0;
    for (bool again = true; again; ++attempt) {
        const uint64_t first = attempt / 3;  // memory allocated by one attempt is reused by the next
        sidra_weights* weights = nullptr;
        sidra_status status = SIDRA_OK;
        {
            const FailingNew failing(first, 1, FailingNew::Of::kThisThread);
            status = sidra_weights_create_s8(context, 1, 2, values, 2, nullptr, nullptr, &weights);
            again = failing.failed() != 0;
        }
        // FAULT: it was one of the embedded chip's.
        EXPECT_TRUE(status == SIDRA_OK ||
                    (again && (status == SIDRA_ERROR_OUT_OF_MEMORY || status == SIDRA_ERROR_FAULT)))
            << first << ": " << status;
        EXPECT_OK(sidra_weights_destroy(weights));
    }
    EXPECT_GT(attempt, 15u);  // on a card, there are fewer: the driver does what the embedded chip allocates for
}

TEST_F(ChipWeights, UpdatesChangeARectangle) {
    std::vector<int8_t> values = random_values(300, 150);
    sidra_weights* weights = make(300, 150, values, nullptr, SIDRA_WEIGHTS_DIFFERENTIAL);
    ASSERT_OK(sidra_weights_program_async(stream, weights));
    std::vector<int8_t> patch = random_values(60, 40);
    ASSERT_OK(sidra_weights_update_async(stream, weights, 230, 60, 100, 30, patch.data(), 40));
    for (uint32_t r = 0; r < 60; ++r)
        for (uint32_t c = 0; c < 30; ++c) values[(230 + r) * 150 + 100 + c] = patch[r * 40 + c];
    std::fill(patch.begin(), patch.end(), int8_t{0});  // the library has its copy
    std::vector<int8_t> read(values.size());
    ASSERT_OK(sidra_weights_read(stream, weights, read.data(), 150, soon()));
    EXPECT_EQ(values, read);

    // The same as for new weights: rows that end outside of memory.
    for (const size_t stride : {SIZE_MAX, SIZE_MAX / 59}) {
        EXPECT_FAILS(SIDRA_ERROR_INVALID_ARGUMENT,
                     sidra_weights_update_async(stream, weights, 230, 60, 100, 30, patch.data(), stride));
        EXPECT_FAILS(SIDRA_ERROR_INVALID_ARGUMENT, sidra_weights_read(stream, weights, read.data(), stride, soon()));
    }

    // Recorded, the data belongs to the graph.
    sidra_graph* graph = nullptr;
    patch.assign(4, 99);
    ASSERT_OK(sidra_graph_begin(stream));
    ASSERT_OK(sidra_weights_update_async(stream, weights, 0, 2, 0, 2, patch.data(), 2));
    ASSERT_OK(sidra_graph_end(stream, &graph));
    patch.assign(4, 1);
    ASSERT_OK(sidra_graph_launch_async(stream, graph));
    ASSERT_OK(sidra_weights_read(stream, weights, read.data(), 150, soon()));
    for (const size_t at : {0, 1, 150, 151}) EXPECT_EQ(99, read[at]);
    EXPECT_OK(sidra_graph_destroy(graph));

    const auto refuses = [&](uint32_t row0, uint32_t rows, uint32_t col0, uint32_t cols, const int8_t* data,
                             size_t stride) {
        EXPECT_FAILS(SIDRA_ERROR_INVALID_ARGUMENT,
                     sidra_weights_update_async(stream, weights, row0, rows, col0, cols, data, stride));
    };
    refuses(0, 0, 0, 1, patch.data(), 1);
    refuses(0, 1, 0, 0, patch.data(), 1);
    refuses(300, 1, 0, 1, patch.data(), 1);
    refuses(299, 2, 0, 1, patch.data(), 1);
    refuses(0, 1, 149, 2, patch.data(), 2);
    refuses(UINT32_MAX, 2, 0, 1, patch.data(), 1);
    refuses(0, 1, 0, 2, patch.data(), 1);
    refuses(0, 1, 0, 1, nullptr, 1);
    patch[0] = -128;
    EXPECT_FAILS(SIDRA_ERROR_NOT_REPRESENTABLE,
                 sidra_weights_update_async(stream, weights, 0, 1, 0, 1, patch.data(), 1));
    EXPECT_OK(sidra_weights_destroy(weights));
}

TEST_F(ChipWeights, ReadbackCanBeGivenUp) {
    auto options = SIDRA_INIT(sidra_weights_options);
    options.no_readback = true;
    const int8_t value = 5;
    int8_t read = 0;
    int fd = -1;
    sidra_weights* weights = nullptr;
    ASSERT_OK(sidra_weights_create_s8(context, 1, 1, &value, 1, nullptr, &options, &weights));
    ASSERT_OK(sidra_weights_program_async(stream, weights));
    EXPECT_FAILS(SIDRA_ERROR_PERMISSION, sidra_weights_read(stream, weights, &read, 1, soon()));
    EXPECT_FAILS(SIDRA_ERROR_PERMISSION, sidra_weights_export(weights, true, &fd));
    EXPECT_EQ(-1, fd);
    EXPECT_EQ(0, read);
    EXPECT_FAILS(SIDRA_ERROR_INVALID_ARGUMENT, sidra_weights_read(stream, weights, nullptr, 1, soon()));
    EXPECT_OK(sidra_weights_destroy(weights));
}

TEST_F(ChipWeights, NamesOutliveHandlesAndKeepTheirFactors) {
    const std::vector<int8_t> values = random_values(40, 30);
    std::vector<float> scale(30);
    randomise(std::span(scale), 0.1f, 2.0f);
    sidra_weights* weights = make(40, 30, values, scale.data(), SIDRA_WEIGHTS_AUTO);
    ASSERT_OK(sidra_weights_program_async(stream, weights));
    synchronize();
    sidra_weights* opened = nullptr;
    const auto expect_no_name = [] {
        if (on_a_node())
            EXPECT_NE(nullptr, std::strstr(sidra_last_error(), "the driver finds no such name (errno 2)"))
                << sidra_last_error();
    };
    EXPECT_FAILS(SIDRA_ERROR_NOT_FOUND, sidra_weights_open(context, "layer", &opened));
    expect_no_name();
    ASSERT_OK(sidra_weights_publish(weights, "layer", 0));
    EXPECT_STREQ("layer", info_of(weights).name);
    for (const char* bad : {"", "0123456789012345678901234567890123456789012345678901234567890123"})
        EXPECT_FAILS(SIDRA_ERROR_INVALID_ARGUMENT, sidra_weights_publish(weights, bad, 0));
    EXPECT_FAILS(SIDRA_ERROR_INVALID_ARGUMENT, sidra_weights_publish(weights, nullptr, 0));
    for (const char* bad : {"\n", "layer\x1b[2J", "\tlayer", "layer\x7f"}) {
        EXPECT_FAILS(SIDRA_ERROR_INVALID_ARGUMENT, sidra_weights_publish(weights, bad, 0));
        EXPECT_NE(nullptr, std::strstr(sidra_last_error(), "control character")) << sidra_last_error();
    }
    EXPECT_FAILS(SIDRA_ERROR_INVALID_ARGUMENT, sidra_weights_publish(weights, "other", 01000));
    sidra_weights* other = make(1, 1, {1}, nullptr, SIDRA_WEIGHTS_AUTO);
    ASSERT_OK(sidra_weights_program_async(stream, other));
    synchronize();
    EXPECT_FAILS(SIDRA_ERROR_EXISTS, sidra_weights_publish(other, "layer", 0));
    ASSERT_OK(sidra_weights_publish(other, "another", 0));
    EXPECT_OK(sidra_weights_destroy(other));
    EXPECT_OK(sidra_weights_destroy(weights));

    std::vector<std::string> names;
    char name[64];
    uint32_t cursor = 0;
    sidra_status status;
    while ((status = sidra_weights_list(context, &cursor, name, sizeof name)) == SIDRA_OK) names.emplace_back(name);
    EXPECT_EQ(SIDRA_ERROR_NOT_FOUND, status);
    std::sort(names.begin(), names.end());
    EXPECT_EQ((std::vector<std::string>{"another", "layer"}), names);
    EXPECT_FAILS(SIDRA_ERROR_INVALID_ARGUMENT, sidra_weights_list(context, &cursor, name, 63));

    sidra_context* context2 = nullptr;
    sidra_stream* stream2 = nullptr;
    ASSERT_OK(sidra_context_create(device, &context2));
    ASSERT_OK(sidra_stream_create(context2, nullptr, &stream2));
    ASSERT_OK(sidra_weights_open(context2, "layer", &opened));
    EXPECT_EQ(40u, info_of(opened).k);
    EXPECT_EQ(30u, info_of(opened).n);
    EXPECT_TRUE(info_of(opened).programmed);
    EXPECT_STREQ("layer", info_of(opened).name);
    const float* factors = nullptr;
    ASSERT_OK(sidra_weights_scale(opened, &factors));
    EXPECT_TRUE(std::equal(scale.begin(), scale.end(), factors));
    std::vector<int8_t> read(values.size());
    ASSERT_OK(sidra_weights_read(stream2, opened, read.data(), 30, soon()));
    EXPECT_EQ(values, read);
    EXPECT_FAILS(SIDRA_ERROR_INVALID_ARGUMENT, sidra_weights_program_async(stream2, opened));
    EXPECT_FAILS(SIDRA_ERROR_BUSY, sidra_weights_evict(context, "layer"));
    ASSERT_OK(sidra_weights_unlink(context, "layer"));
    EXPECT_FAILS(SIDRA_ERROR_NOT_FOUND, sidra_weights_unlink(context, "layer"));
    expect_no_name();
    ASSERT_OK(sidra_weights_read(stream2, opened, read.data(), 30, soon()));
    EXPECT_OK(sidra_weights_destroy(opened));
    ASSERT_OK(sidra_weights_evict(context, "another"));
    EXPECT_FAILS(SIDRA_ERROR_NOT_FOUND, sidra_weights_evict(context, "another"));
    expect_no_name();
    auto info = SIDRA_INIT(sidra_device_info);
    ASSERT_OK(sidra_device_get_info(device, &info));
    EXPECT_EQ(info.crossbars_total, info.crossbars_free);
    EXPECT_OK(sidra_stream_destroy(stream2));
    EXPECT_OK(sidra_context_destroy(context2));
}

// The data of names goes through one buffer of the driver, and through one channel of the chip.
TEST_F(ChipWeights, ThreadsNameOpenAndListAtOnceAndGetTheirOwn) {
    constexpr uint32_t kN = 200;
    constexpr int kThreads = 4, kRounds = 12;
    const auto work = [&](int number) {
        sidra_context* own = nullptr;
        ASSERT_OK(sidra_context_create(device, &own));
        std::vector<int8_t> values(kN, static_cast<int8_t>(number));
        for (int round = 0; round < kRounds; round++) {
            const std::string name = "of-" + std::to_string(number);
            std::vector<float> scale(kN);
            for (uint32_t n = 0; n < kN; n++) scale[n] = 1 + static_cast<float>(number * 100'000 + round * 1000) + n;
            auto options = SIDRA_INIT(sidra_weights_options);
            sidra_weights *made = nullptr, *opened = nullptr;
            ASSERT_OK(sidra_weights_create_s8(own, 1, kN, values.data(), kN, scale.data(), &options, &made));
            sidra_stream* programs = nullptr;
            ASSERT_OK(sidra_stream_create(own, nullptr, &programs));
            ASSERT_OK(sidra_weights_program_async(programs, made));
            ASSERT_OK(sidra_stream_synchronize(programs, soon()));
            ASSERT_OK(sidra_stream_destroy(programs));
            ASSERT_OK(sidra_weights_publish(made, name.c_str(), 0));
            ASSERT_OK(sidra_weights_open(own, name.c_str(), &opened));
            EXPECT_TRUE(info_of(opened).programmed);
            const float* factors = nullptr;
            ASSERT_OK(sidra_weights_scale(opened, &factors));
            ASSERT_TRUE(std::equal(scale.begin(), scale.end(), factors)) << name << ", round " << round;
            bool listed = false;
            char found[64];
            for (uint32_t cursor = 0; sidra_weights_list(own, &cursor, found, sizeof found) == SIDRA_OK;)
                listed |= name == found;
            EXPECT_TRUE(listed) << name;
            // Either the name or a handle is the last that refers to the object, and ends it.
            std::thread unlinks;
            if (round % 2 == 1) unlinks = std::thread([&] { EXPECT_OK(sidra_weights_unlink(own, name.c_str())); });
            EXPECT_OK(sidra_weights_destroy(opened));
            EXPECT_OK(sidra_weights_destroy(made));
            if (unlinks.joinable()) unlinks.join();
            else ASSERT_OK(sidra_weights_evict(own, name.c_str()));
        }
        EXPECT_OK(sidra_context_destroy(own));
    };
    std::vector<std::thread> threads;
    for (int number = 0; number < kThreads; number++) threads.emplace_back(work, number);
    for (std::thread& thread : threads) thread.join();
    auto info = SIDRA_INIT(sidra_device_info);
    ASSERT_OK(sidra_device_get_info(device, &info));
    EXPECT_EQ(info.crossbars_total, info.crossbars_free);
}

TEST_F(ChipWeights, InfoHasTheNameThatTheObjectHasNow) {
    sidra_weights* weights = make(1, 1, {1}, nullptr, SIDRA_WEIGHTS_AUTO);
    sidra_weights* other = make(1, 1, {2}, nullptr, SIDRA_WEIGHTS_AUTO);
    for (sidra_weights* each : {weights, other}) ASSERT_OK(sidra_weights_program_async(stream, each));
    synchronize();
    EXPECT_STREQ("", info_of(weights).name);
    ASSERT_OK(sidra_weights_publish(weights, "first", 0));
    sidra_context* context2 = nullptr;
    sidra_weights* opened = nullptr;
    ASSERT_OK(sidra_context_create(device, &context2));
    ASSERT_OK(sidra_weights_open(context2, "first", &opened));
    EXPECT_STREQ("first", info_of(weights).name);
    EXPECT_STREQ("first", info_of(opened).name);
    ASSERT_OK(sidra_weights_unlink(context2, "first"));
    EXPECT_STREQ("", info_of(weights).name);
    EXPECT_STREQ("", info_of(opened).name);
    // The name passes to another object, and does not return to the old one.
    ASSERT_OK(sidra_weights_publish(other, "first", 0));
    EXPECT_STREQ("", info_of(weights).name);
    EXPECT_STREQ("", info_of(opened).name);
    EXPECT_STREQ("first", info_of(other).name);
    EXPECT_OK(sidra_weights_publish(weights, "second", 0));
    EXPECT_STREQ("second", info_of(weights).name);
    EXPECT_STREQ("second", info_of(opened).name);
    for (const char* name : {"first", "second"}) EXPECT_OK(sidra_weights_unlink(context, name));
    for (sidra_weights* each : {weights, other, opened}) EXPECT_OK(sidra_weights_destroy(each));
    EXPECT_OK(sidra_context_destroy(context2));
}

TEST_F(ChipWeights, DescriptorsCarryRightsAndFactors) {
    const std::vector<int8_t> values = random_values(17, 9);
    std::vector<float> scale(9);
    randomise(std::span(scale), 0.1f, 2.0f);
    sidra_weights* weights = make(17, 9, values, scale.data(), SIDRA_WEIGHTS_AUTO);
    ASSERT_OK(sidra_weights_program_async(stream, weights));
    synchronize();
    sidra_context* context2 = nullptr;
    sidra_stream* stream2 = nullptr;
    ASSERT_OK(sidra_context_create(device, &context2));
    ASSERT_OK(sidra_stream_create(context2, nullptr, &stream2));
    for (const bool readback : {false, true}) {
        int fd = -1, again = -1;
        sidra_weights* imported = nullptr;
        ASSERT_OK(sidra_weights_export(weights, readback, &fd));
        ASSERT_OK(sidra_weights_import(context2, fd, &imported));
        EXPECT_EQ(0, close(fd));
        const float* factors = nullptr;
        ASSERT_OK(sidra_weights_scale(imported, &factors));
        EXPECT_TRUE(std::equal(scale.begin(), scale.end(), factors));
        std::vector<int8_t> read(values.size());
        if (readback) {
            ASSERT_OK(sidra_weights_read(stream2, imported, read.data(), 9, soon()));
            EXPECT_EQ(values, read);
        } else {
            EXPECT_FAILS(SIDRA_ERROR_PERMISSION, sidra_weights_read(stream2, imported, read.data(), 9, soon()));
            EXPECT_FAILS(SIDRA_ERROR_PERMISSION, sidra_weights_export(imported, true, &again));
        }
        EXPECT_FAILS(SIDRA_ERROR_PERMISSION,
                     sidra_weights_update_async(stream2, imported, 0, 1, 0, 1, values.data(), 1));
        EXPECT_FAILS(SIDRA_ERROR_PERMISSION, sidra_weights_program_async(stream2, imported));
        EXPECT_FAILS(SIDRA_ERROR_PERMISSION, sidra_weights_publish(imported, "stolen", 0));
        const Buffer in(context2, 17), out(context2, 36);
        randomise(in.as(), 0, 255);
        auto mvm = SIDRA_INIT(sidra_mvm);
        mvm.batch = 1;
        mvm.in_type = SIDRA_U8, mvm.out_type = SIDRA_F32;
        mvm.in = in.at(), mvm.out = out.at();
        ASSERT_OK(sidra_mvm_async(stream2, imported, &mvm));
        ASSERT_OK(sidra_stream_synchronize(stream2, soon()));
        for (uint32_t n = 0; n < 9; ++n) {
            int32_t sum = 0;
            for (uint32_t k = 0; k < 17; ++k) sum += in.as()[k] * values[k * 9 + n];
            EXPECT_EQ(static_cast<float>(sum) * scale[n], out.as<float>()[n]);
        }
        EXPECT_OK(sidra_weights_destroy(imported));
    }
    sidra_weights* none = nullptr;
    EXPECT_FAILS(SIDRA_ERROR_INVALID_ARGUMENT, sidra_weights_import(context2, -1, &none));
    if (on_a_node())
        EXPECT_NE(nullptr, std::strstr(sidra_last_error(), "the driver refuses fd -1 (errno 9)")) << sidra_last_error();
    EXPECT_FAILS(SIDRA_ERROR_NOT_FOUND, sidra_weights_import(context2, 0, &none));
    if (on_a_node())
        EXPECT_NE(nullptr, std::strstr(sidra_last_error(), "the driver refuses fd 0 (errno 2)")) << sidra_last_error();
    EXPECT_FAILS(SIDRA_ERROR_INVALID_ARGUMENT, sidra_weights_export(weights, false, nullptr));
    EXPECT_OK(sidra_weights_destroy(weights));
    EXPECT_OK(sidra_stream_destroy(stream2));
    EXPECT_OK(sidra_context_destroy(context2));
}

TEST_F(ChipWeights, DestroyedBeforeTheirOperationsFaultThem) {
    const Buffer words(context, 4096);
    sidra_weights* weights = make(1, 1, {1}, nullptr, SIDRA_WEIGHTS_AUTO);
    ASSERT_OK(sidra_weights_program_async(stream, weights));
    synchronize();
    auto mvm = SIDRA_INIT(sidra_mvm);
    mvm.batch = 1;
    mvm.in_type = SIDRA_U8, mvm.out_type = SIDRA_S32;
    mvm.in = words.at(64), mvm.out = words.at(128);
    ASSERT_OK(sidra_semaphore_wait_async(stream, words.at(), 1));
    ASSERT_OK(sidra_mvm_async(stream, weights, &mvm));
    ASSERT_OK(sidra_weights_destroy(weights));
    ASSERT_OK(sidra_semaphore_signal(context, words.at(), 1));
    EXPECT_FAILS(SIDRA_ERROR_FAULT, sidra_stream_synchronize(stream, soon()));
    EXPECT_NE(nullptr, std::strstr(sidra_last_error(), "no such weights")) << sidra_last_error();
    ASSERT_OK(sidra_stream_reset(stream));
}

// A multi-layer network as one packet.
TEST_F(ChipWeights, AGraphOfMvmAndFunctions) {
    constexpr uint32_t kIn = 20, kHidden = 16, kOut = 4, kBatch = 3;
    const std::vector<int8_t> w1 = random_values(kIn, kHidden), w2 = random_values(kHidden, kOut);
    sidra_weights* first = make(kIn, kHidden, w1, nullptr, SIDRA_WEIGHTS_AUTO);
    sidra_weights* second = make(kHidden, kOut, w2, nullptr, SIDRA_WEIGHTS_AUTO);
    ASSERT_OK(sidra_weights_program_async(stream, first));
    ASSERT_OK(sidra_weights_program_async(stream, second));
    const Buffer in(context, kBatch * kIn), sums(context, kBatch * kHidden * 4), codes(context, kBatch * kHidden),
        out(context, kBatch * kOut * 4), best(context, kBatch * 4);
    auto mvm1 = SIDRA_INIT(sidra_mvm);
    mvm1.batch = kBatch;
    mvm1.in_type = SIDRA_U8, mvm1.out_type = SIDRA_S32;
    mvm1.in = in.at(), mvm1.out = sums.at();
    const uint32_t hidden_size[4] = {1, 1, kBatch, kHidden}, out_size[4] = {1, 1, kBatch, kOut};
    const uint32_t one_each[4] = {1, 1, kBatch, 1};
    const sidra_array hidden_sums = sidra_operand_dense(sums.at(), SIDRA_S32, hidden_size);
    const sidra_array hidden_codes = sidra_operand_dense(codes.at(), SIDRA_U8, hidden_size);
    const sidra_array results = sidra_operand_dense(out.at(), SIDRA_S32, out_size);
    const sidra_array largest = sidra_operand_dense(best.at(), SIDRA_S32, one_each);
    sidra_mvm mvm2 = mvm1;
    mvm2.in = codes.at(), mvm2.out = out.at();
    sidra_graph* graph = nullptr;
    ASSERT_OK(sidra_graph_begin(stream));
    ASSERT_OK(sidra_mvm_async(stream, first, &mvm1));
    ASSERT_OK(sidra_relu(stream, hidden_size, &hidden_sums, &hidden_sums));
    ASSERT_OK(sidra_quantize(stream, hidden_size, &hidden_codes, &hidden_sums, 512, nullptr, 0));
    ASSERT_OK(sidra_mvm_async(stream, second, &mvm2));
    ASSERT_OK(sidra_reduce_argmax(stream, out_size, &largest, &results));
    ASSERT_OK(sidra_graph_end(stream, &graph));
    for (int round = 0; round < 5; ++round) {
        randomise(in.as(), 0, 255);
        ASSERT_OK(sidra_graph_launch_async(stream, graph));
        synchronize();
        for (uint32_t b = 0; b < kBatch; ++b) {
            int32_t hidden[kHidden], result[kOut];
            for (uint32_t n = 0; n < kHidden; ++n) {
                int32_t sum = 0;
                for (uint32_t k = 0; k < kIn; ++k) sum += in.as()[b * kIn + k] * w1[k * kHidden + n];
                hidden[n] = saturate(nearest_even(static_cast<float>(std::max(sum, 0)) / 512), 0, 255);
            }
            for (uint32_t n = 0; n < kOut; ++n) {
                result[n] = 0;
                for (uint32_t k = 0; k < kHidden; ++k) result[n] += hidden[k] * w2[k * kOut + n];
                EXPECT_EQ(result[n], out.as<int32_t>()[b * kOut + n]);
            }
            EXPECT_EQ(std::max_element(result, result + kOut) - result, best.as<int32_t>()[b]);
        }
    }
    EXPECT_OK(sidra_graph_destroy(graph));
    EXPECT_OK(sidra_weights_destroy(first));
    EXPECT_OK(sidra_weights_destroy(second));
}

}  // namespace
}  // namespace sidra::test
