// SPDX-License-Identifier: MIT
// Values of products and layers of random types, layouts and geometries on a chip, bit by bit against plain loops.
#include <algorithm>
#include <cmath>
#include <cstring>
#include <vector>

#include "chip_fixture.h"

namespace sidra::test {
namespace {

// Numbers of any type in memory. Floats that are stored are exact in their type.
class Numbers {
   public:
    Numbers(std::span<uint8_t> bytes, sidra_type type) : bytes_(bytes), type_(type) {}

    float get(size_t offset) const {
        switch (type_) {
            case SIDRA_U8:
                return bytes_[offset];
            case SIDRA_S8:
                return static_cast<int8_t>(bytes_[offset]);
            case SIDRA_F16:
                return half(read<uint16_t>(offset));
            case SIDRA_BF16: {
                const uint32_t bits = uint32_t{read<uint16_t>(offset)} << 16;
                float value;
                std::memcpy(&value, &bits, sizeof value);
                return value;
            }
            case SIDRA_S32:
                return static_cast<float>(read<int32_t>(offset));
            default:
                return read<float>(offset);
        }
    }
    // Any pattern of bits of a type that is smaller than f32, but neither infinite nor NaN, and of moderate size.
    void fill(std::mt19937& random) {
        std::uniform_real_distribution<float> any(-4.0f, 4.0f);
        for (size_t at = 0; at + 4 <= bytes_.size(); at += 4) {
            const float value = any(random);
            uint32_t bits;
            std::memcpy(&bits, &value, sizeof bits);
            const auto raw = static_cast<uint32_t>(random());
            if (type_ == SIDRA_BF16) bits = bits >> 16 | (sidra_param_f32(any(random)) & 0xffff0000);
            if (type_ == SIDRA_F16) bits = raw & 0xbfffbfff;  // below 2 in magnitude, some subnormal
            if (type_ == SIDRA_U8 || type_ == SIDRA_S8) bits = raw;
            std::memcpy(&bytes_[at], &bits, sizeof bits);
        }
    }

   private:
    template <typename T>
    T read(size_t offset) const {
        T value;
        std::memcpy(&value, &bytes_[offset], sizeof value);
        return value;
    }
    static float half(uint16_t bits) {
        const int exponent = bits >> 10 & 31, fraction = bits & 1023;
        const float magnitude = exponent == 0 ? std::ldexp(static_cast<float>(fraction), -24)
                                              : std::ldexp(static_cast<float>(1024 + fraction), exponent - 25);
        return (bits & 0x8000) != 0 ? -magnitude : magnitude;
    }

    std::span<uint8_t> bytes_;
    sidra_type type_;
};

// To the nearest bf16, ties to even; `value` is finite.
uint16_t bf16(float value) {
    uint32_t bits = sidra_param_f32(value);
    bits += 0x7fff + (bits >> 16 & 1);
    return static_cast<uint16_t>(bits >> 16);
}

class ChipProductValues : public ChipTest {
   protected:
    uint32_t one_to(uint32_t most) { return std::uniform_int_distribution<uint32_t>(1, most)(random); }
    bool perhaps() { return one_to(2) == 1; }
};

TEST_F(ChipProductValues, MatricesWithoutAProgram) {
    const Buffer a(context, 1 << 16), b(context, 1 << 16), c(context, 1 << 16);
    for (int round = 0; round < 120; ++round) {
        const bool floats = round % 3 != 0;
        const sidra_type kFloats[] = {SIDRA_F32, SIDRA_F16, SIDRA_BF16}, kBytes[] = {SIDRA_U8, SIDRA_S8};
        const auto any = [&] { return floats ? kFloats[random() % 3] : kBytes[random() % 2]; };
        const sidra_type a_type = any(), b_type = any();
        const sidra_type c_type = !floats ? SIDRA_S32 : perhaps() ? SIDRA_F32 : SIDRA_BF16;
        const uint32_t m = one_to(20), n = one_to(20), k = one_to(30), batch[2] = {one_to(3), one_to(2)};
        // A factor is dense or transposed, and may be the same one for all products.
        const auto factor = [&](const Buffer& buffer, sidra_type type, uint32_t rows, uint32_t cols) {
            const uint32_t size[4] = {batch[0], batch[1], rows, cols};
            sidra_vector_operand operand = sidra_operand_dense(buffer.at(), type, size);
            if (perhaps()) operand.stride[2] = sidra_type_size(type), operand.stride[3] = rows * operand.stride[2];
            if (one_to(4) == 1) operand.stride[one_to(2) - 1] = 0;
            Numbers(buffer.as(), type).fill(random);
            return operand;
        };
        const uint32_t size[4] = {batch[0], batch[1], m, n};
        const sidra_vector_operand operands[] = {factor(a, a_type, m, k), factor(b, b_type, k, n),
                                                 sidra_operand_dense(c.at(), c_type, size)};
        auto matmul = SIDRA_INIT(sidra_matmul);
        matmul.m = m, matmul.n = n, matmul.k = k;
        std::copy(std::begin(batch), std::end(batch), matmul.batch);
        matmul.operands = operands, matmul.operand_count = 3;
        ASSERT_OK(sidra_matmul_async(stream, &matmul));
        synchronize();
        const Numbers in_a(a.as(), a_type), in_b(b.as(), b_type);
        const auto place = [&](const sidra_vector_operand& operand, uint32_t i, uint32_t j, uint32_t row,
                               uint32_t col) {
            return i * operand.stride[0] + j * operand.stride[1] + row * operand.stride[2] + col * operand.stride[3];
        };
        size_t at = 0;
        for (uint32_t i = 0; i < batch[0]; ++i)
            for (uint32_t j = 0; j < batch[1]; ++j)
                for (uint32_t row = 0; row < m; ++row)
                    for (uint32_t col = 0; col < n; ++col, ++at) {
                        float sum = 0;  // exact for bytes
                        for (uint32_t inner = 0; inner < k; ++inner)
                            sum = std::fma(in_a.get(place(operands[0], i, j, row, inner)),
                                           in_b.get(place(operands[1], i, j, inner, col)), sum);
                        SCOPED_TRACE(testing::Message() << "round " << round << ", element " << at);
                        if (c_type == SIDRA_BF16) ASSERT_EQ(bf16(sum), c.as<uint16_t>()[at]);
                        else if (floats) ASSERT_EQ(sum, c.as<float>()[at]);
                        else ASSERT_EQ(static_cast<int32_t>(sum), c.as<int32_t>()[at]);
                    }
    }
}

TEST_F(ChipProductValues, LayersOfAnyGeometry) {
    sidra_program *plain = nullptr, *quantising = nullptr;
    ASSERT_OK(sidra_program_assemble(context, "pass:\nv0 = load_int sums\nstore_int o0, v0", &plain));
    ASSERT_OK(sidra_program_assemble(context,
                                     "pass:\nv0 = load input\nv0 = fma v0, p0, p1\nstore codes, v0\n"
                                     "epilogue:\npass:\nv0 = load_int sums\nstore_int o0, v0",
                                     &quantising));
    const Buffer images(context, 1 << 16), out(context, 1 << 16);
    int rounds = 0;
    while (rounds < 60) {
        auto layer = SIDRA_INIT(sidra_layer);
        const bool prologue = perhaps();
        const sidra_type codes = perhaps() ? SIDRA_U8 : SIDRA_S8, type = prologue ? SIDRA_F32 : codes;
        const size_t element = sidra_type_size(type);
        const uint32_t all_channels = one_to(6), channels = one_to(all_channels), group = all_channels - channels;
        sidra_windows& w = layer.windows;
        // Some of the channels, as a grouped convolution reads them.
        w = sidra_windows_image(images.at(group * element), type, one_to(2), one_to(7), one_to(7), channels, one_to(3),
                                one_to(3));
        w.codes = codes;
        w.pixel_stride = all_channels * element;
        w.stride_h = one_to(3), w.stride_w = one_to(3), w.pad_h = one_to(3) - 1, w.pad_w = one_to(3) - 1;
        w.dilation_h = one_to(2), w.dilation_w = one_to(2);
        w.zero = codes == SIDRA_U8 ? static_cast<int32_t>(one_to(255)) : static_cast<int32_t>(one_to(255)) - 128;
        sidra_windows_fit(&w);
        if (w.rows == 0 || w.columns == 0) continue;
        ++rounds;
        const uint32_t k = w.kernel_h * w.kernel_w * channels, n = one_to(20);
        std::vector<int8_t> values(size_t{k} * n);
        randomise(std::span(values), -127, 127);
        sidra_weights* weights = nullptr;
        ASSERT_OK(sidra_weights_create_s8(context, k, n, values.data(), n, nullptr, nullptr, &weights));
        ASSERT_OK(sidra_weights_program_async(stream, weights));
        if (prologue) randomise(images.as<float>(), -4.0f, 4.0f);
        else randomise(images.as(), 0, 255);
        constexpr float kScale = 50.0f;
        const uint32_t size[4] = {w.images, w.rows, w.columns, n};
        const sidra_vector_operand sums = sidra_operand_dense(out.at(), SIDRA_S32, size);
        layer.program = prologue ? quantising : plain;
        layer.param[0] = sidra_param_f32(kScale), layer.param[1] = sidra_param_f32(static_cast<float>(w.zero));
        layer.operands = &sums, layer.operand_count = 1;
        ASSERT_OK(sidra_layer_async(stream, weights, &layer));
        synchronize();

        const float lowest = codes == SIDRA_U8 ? 0.0f : -128.0f, highest = codes == SIDRA_U8 ? 255.0f : 127.0f;
        const auto code = [&](uint32_t image, int64_t row, int64_t pixel, uint32_t channel) -> int32_t {
            if (row < 0 || row >= w.height || pixel < 0 || pixel >= w.width) return w.zero;
            const auto index =
                static_cast<size_t>(((image * int64_t{w.height} + row) * w.width + pixel) * int64_t{all_channels}) +
                group + channel;
            if (!prologue) return codes == SIDRA_U8 ? int32_t{images.as()[index]} : int32_t{images.as<int8_t>()[index]};
            const float exact = std::fma(images.as<float>()[index], kScale, static_cast<float>(w.zero));
            return static_cast<int32_t>(std::clamp(std::nearbyint(exact), lowest, highest));
        };
        size_t at = 0;
        for (uint32_t image = 0; image < w.images; ++image)
            for (uint32_t y = 0; y < w.rows; ++y)
                for (uint32_t x = 0; x < w.columns; ++x)
                    for (uint32_t column = 0; column < n; ++column, ++at) {
                        int32_t sum = 0;
                        size_t row = 0;
                        for (uint32_t i = 0; i < w.kernel_h; ++i)
                            for (uint32_t j = 0; j < w.kernel_w; ++j)
                                for (uint32_t c = 0; c < channels; ++c, ++row)
                                    sum += (code(image, int64_t{y} * w.stride_h + i * w.dilation_h - w.pad_h,
                                                 int64_t{x} * w.stride_w + j * w.dilation_w - w.pad_w, c) -
                                            w.zero) *
                                           values[row * n + column];
                        ASSERT_EQ(sum, out.as<int32_t>()[at]) << "round " << rounds << ", element " << at;
                    }
        ASSERT_OK(sidra_weights_destroy(weights));
    }
    EXPECT_OK(sidra_program_destroy(plain));
    EXPECT_OK(sidra_program_destroy(quantising));
}

}  // namespace
}  // namespace sidra::test
