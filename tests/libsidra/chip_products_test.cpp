// SPDX-License-Identifier: MIT
// Products and layers on a chip: self-attention and a convolution, each as one graph, against double precision.
#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "chip_fixture.h"

namespace sidra::test {
namespace {

using Matrix = std::vector<double>;

class ChipProducts : public ChipTest {
   protected:
    void TearDown() override {
        for (sidra_program* program : programs) EXPECT_OK(sidra_program_destroy(program));
        for (sidra_weights* each : weights) EXPECT_OK(sidra_weights_destroy(each));
        buffers.clear();
        ChipTest::TearDown();
    }
    sidra_program* assemble(const char* text) {
        sidra_program* program = nullptr;
        EXPECT_OK(sidra_program_assemble(context, text, &program)) << text;
        if (program != nullptr) programs.push_back(program);
        return program;
    }
    Buffer& buffer_of(size_t floats) {
        buffers.push_back(std::make_unique<Buffer>(context, floats * sizeof(float)));
        return *buffers.back();
    }
    // Programmed weights of small random numbers; `real` takes what their codes mean.
    sidra_weights* random_weights(uint32_t k, uint32_t n, Matrix* real, Buffer* scales) {
        std::vector<float> values(size_t{k} * n);
        randomise(std::span(values), -0.2f, 0.2f);
        sidra_weights* made = nullptr;
        EXPECT_OK(sidra_weights_create_f32(context, k, n, values.data(), n, nullptr, &made));
        if (made == nullptr) return nullptr;
        weights.push_back(made);
        EXPECT_OK(sidra_weights_program_async(stream, made));
        const float* scale = nullptr;
        EXPECT_OK(sidra_weights_scale(made, &scale));
        std::copy_n(scale, n, scales->as<float>().data());
        real->resize(values.size());
        for (size_t i = 0; i < values.size(); ++i) {
            const double s = static_cast<double>(scale[i % n]);
            (*real)[i] = std::nearbyint(static_cast<double>(values[i]) / s) * s;
        }
        return made;
    }
    static sidra_vector_operand dense(sidra_ref at, uint32_t rows, uint32_t cols) {
        const uint32_t size[4] = {1, 1, rows, cols};
        return sidra_operand_dense(at, SIDRA_F32, size);
    }

    std::vector<sidra_program*> programs;
    std::vector<sidra_weights*> weights;
    std::vector<std::unique_ptr<Buffer>> buffers;
};

// Quantises each row by its largest element; s0: the step of the codes.
constexpr const char* kLinear =
    "pass:\nv0 = load input\nv1 = abs v0\ns1 = reduce_max v1\ns1 = max s1, 1e-20\ns0 = div s1, 127.0\ns1 = div 127.0, "
    "s1\n"
    "pass:\nv0 = load input\nv0 = mul v0, s1\nstore codes, v0\n"
    "epilogue:\n"
    "pass:\nv0 = load sums\nv1 = load o1\nv0 = mul v0, v1\nv0 = mul v0, s0\nstore o0, v0\n";
constexpr const char* kSoftmax =
    "pass:\nv0 = load sums\nv0 = mul v0, p0\ns0 = reduce_max v0\n"
    "pass:\nv0 = load sums\nv0 = mul v0, p0\nv0 = sub v0, s0\nv0 = exp v0\nstore o2, v0\ns1 = reduce_sum v0\n"
    "s1 = div 1.0, s1\n"
    "pass:\nv0 = load o2\nv0 = mul v0, s1\nstore o2, v0\n";
constexpr const char* kPlain = "pass:\nv0 = load sums\nstore o2, v0\n";

TEST_F(ChipProducts, SelfAttention) {
    constexpr uint32_t kTokens = 30, kWidth = 64, kHeads = 4, kHead = kWidth / kHeads;
    Buffer &x = buffer_of(kTokens * kWidth), &qkv = buffer_of(kTokens * 3 * kWidth), &scales = buffer_of(3 * kWidth),
           &p = buffer_of(kHeads * kTokens * kTokens), &out = buffer_of(kTokens * kWidth);
    randomise(x.as<float>(), -1.0f, 1.0f);
    Matrix w;
    sidra_weights* const projection = random_weights(kWidth, 3 * kWidth, &w, &scales);

    auto layer = SIDRA_INIT(sidra_layer);
    layer.program = assemble(kLinear);
    layer.windows = sidra_windows_matrix(x.at(), SIDRA_F32, kTokens, kWidth);
    const std::vector linear = {dense(qkv.at(), kTokens, 3 * kWidth), dense(scales.at(), 1, 3 * kWidth)};
    layer.operands = linear.data();
    layer.operand_count = 2;

    // Scores: a head of the queries times the transposed one of the keys, and their softmax.
    const auto slice = [&](uint32_t part, bool transposed) {
        sidra_vector_operand o{};
        o.at = qkv.at(part * kWidth * 4);
        o.type = SIDRA_F32;
        o.stride[1] = kHead * 4;
        o.stride[2] = transposed ? 4 : 3 * kWidth * 4;
        o.stride[3] = transposed ? 3 * kWidth * 4 : 4;
        return o;
    };
    const uint32_t scores[4] = {1, kHeads, kTokens, kTokens};
    auto score = SIDRA_INIT(sidra_matmul);
    score.program = assemble(kSoftmax);
    score.m = score.n = kTokens, score.k = kHead;
    score.batch[1] = kHeads;
    score.param[0] = sidra_param_f32(0.25f);  // 1 / sqrt(16)
    const std::vector score_operands = {slice(0, false), slice(1, true),
                                        sidra_operand_dense(p.at(), SIDRA_F32, scores)};
    score.operands = score_operands.data();
    score.operand_count = 3;

    // Values, weighted; the heads side by side again.
    auto value = SIDRA_INIT(sidra_matmul);
    value.program = assemble(kPlain);
    value.m = kTokens, value.n = kHead, value.k = kTokens;
    value.batch[1] = kHeads;
    sidra_vector_operand heads{};
    heads.at = out.at(), heads.type = SIDRA_F32;
    heads.stride[1] = kHead * 4, heads.stride[2] = kWidth * 4, heads.stride[3] = 4;
    const std::vector value_operands = {sidra_operand_dense(p.at(), SIDRA_F32, scores), slice(2, false), heads};
    value.operands = value_operands.data();
    value.operand_count = 3;

    sidra_graph* graph = nullptr;
    ASSERT_OK(sidra_graph_begin(stream));
    ASSERT_OK(sidra_layer_async(stream, projection, &layer));
    ASSERT_OK(sidra_matmul_async(stream, &score));
    ASSERT_OK(sidra_matmul_async(stream, &value));
    ASSERT_OK(sidra_graph_end(stream, &graph));
    ASSERT_OK(sidra_graph_launch_async(stream, graph));
    synchronize();

    // The same, with the inputs as the codes say.
    Matrix projected(kTokens * 3 * kWidth);
    for (uint32_t t = 0; t < kTokens; ++t) {
        const auto row = x.as<float>().subspan(t * kWidth, kWidth);
        double most = 0;
        for (const float each : row) most = std::max(most, std::fabs(static_cast<double>(each)));
        for (uint32_t n = 0; n < 3 * kWidth; ++n) {
            double sum = 0;
            for (uint32_t k = 0; k < kWidth; ++k)
                sum += std::nearbyint(static_cast<double>(row[k]) * 127 / most) * most / 127 * w[k * 3 * kWidth + n];
            projected[t * 3 * kWidth + n] = sum;
        }
    }
    for (uint32_t h = 0; h < kHeads; ++h)
        for (uint32_t t = 0; t < kTokens; ++t) {
            Matrix row(kTokens);
            double total = 0;
            for (uint32_t u = 0; u < kTokens; ++u) {
                double dot = 0;
                for (uint32_t i = 0; i < kHead; ++i)
                    dot +=
                        projected[t * 3 * kWidth + h * kHead + i] * projected[u * 3 * kWidth + kWidth + h * kHead + i];
                total += row[u] = std::exp(dot / 4);
            }
            for (uint32_t i = 0; i < kHead; ++i) {
                double sum = 0;
                for (uint32_t u = 0; u < kTokens; ++u)
                    sum += row[u] / total * projected[u * 3 * kWidth + 2 * kWidth + h * kHead + i];
                ASSERT_NEAR(sum, static_cast<double>(out.as<float>()[t * kWidth + h * kHead + i]), 2e-4)
                    << h << " " << t;
            }
        }
    ASSERT_OK(sidra_graph_destroy(graph));
}

// 3 x 3, stride 2, padding 1, u8 codes with a zero point; s8 output.
TEST_F(ChipProducts, Convolution) {
    constexpr uint32_t kSide = 9, kIn = 6, kOut = 10, kZero = 3;
    const uint32_t side = sidra_windows_count(kSide, 3, 2, 1, 1);
    ASSERT_EQ(5u, side);
    Buffer &image = buffer_of(kSide * kSide * kIn), &scales = buffer_of(kOut), &out = buffer_of(side * side * kOut);
    for (uint32_t i = 0; i < kSide * kSide * kIn; ++i) image.as<uint8_t>()[i] = static_cast<uint8_t>(i * 37 % 200);
    std::vector<int8_t> values(9 * kIn * kOut);
    for (size_t i = 0; i < values.size(); ++i) values[i] = static_cast<int8_t>(static_cast<int>(i * 29 % 255) - 127);
    sidra_weights* kernel = nullptr;
    ASSERT_OK(sidra_weights_create_s8(context, 9 * kIn, kOut, values.data(), kOut, nullptr, nullptr, &kernel));
    weights.push_back(kernel);
    ASSERT_OK(sidra_weights_program_async(stream, kernel));
    std::fill_n(scales.as<float>().data(), kOut, 1.0f / 1024);

    auto layer = SIDRA_INIT(sidra_layer);
    layer.program = assemble("pass:\nv0 = load sums\nv1 = load o1\nv0 = mul v0, v1\nstore o0, v0\n");
    sidra_windows& w = layer.windows;
    w = sidra_windows_matrix(image.at(), SIDRA_U8, 1, kIn);
    w.zero = kZero;
    w.height = w.width = kSide;
    w.kernel_h = w.kernel_w = 3, w.stride_h = w.stride_w = 2, w.pad_h = w.pad_w = 1;
    w.rows = w.columns = side;
    const uint32_t size[4] = {1, side, side, kOut};
    const std::vector operands = {sidra_operand_dense(out.at(), SIDRA_S8, size), dense(scales.at(), 1, kOut)};
    layer.operands = operands.data();
    layer.operand_count = 2;
    ASSERT_OK(sidra_layer_async(stream, kernel, &layer));
    synchronize();

    for (uint32_t y = 0; y < side; ++y)
        for (uint32_t x = 0; x < side; ++x)
            for (uint32_t n = 0; n < kOut; ++n) {
                int32_t sum = 0;
                for (int i = 0; i < 3; ++i)
                    for (int j = 0; j < 3; ++j)
                        for (uint32_t c = 0; c < kIn; ++c) {
                            const int row = static_cast<int>(y) * 2 + i - 1, pixel = static_cast<int>(x) * 2 + j - 1;
                            const int side_of = static_cast<int>(kSide);
                            const bool inside = row >= 0 && row < side_of && pixel >= 0 && pixel < side_of;
                            const auto at = static_cast<size_t>(row * side_of + pixel) * kIn + c;
                            const int code = inside ? image.as<uint8_t>()[at] : static_cast<int>(kZero);
                            const auto k = static_cast<size_t>(i * 3 + j) * kIn + c;
                            sum += (code - static_cast<int>(kZero)) * values[k * kOut + n];
                        }
                const auto wanted = std::clamp(std::nearbyint(static_cast<double>(sum) / 1024), -128.0, 127.0);
                ASSERT_EQ(static_cast<int8_t>(wanted), out.as<int8_t>()[(y * side + x) * kOut + n])
                    << y << " " << x << " " << n;
            }
}

}  // namespace
}  // namespace sidra::test
