// SPDX-License-Identifier: MIT
// POOL against plain loops over the definition, bit by bit, on all engines, with memory that is contiguous on the host
// and with pages in random order. What the chip refuses besides windows outside the image is in packet_fault_test.cpp.
#include <algorithm>
#include <cmath>
#include <limits>
#include <random>

#include "hosts.h"
#include "packets.h"

namespace sidra::chip_test {
namespace {

constexpr uint32_t kAllTypes[] = {SIDRA_TYPE_U8,  SIDRA_TYPE_S8,  SIDRA_TYPE_S16, SIDRA_TYPE_S32,
                                  SIDRA_TYPE_F32, SIDRA_TYPE_F16, SIDRA_TYPE_BF16};

uint32_t bytes_of(uint32_t type) {
    if (type == SIDRA_TYPE_U8 || type == SIDRA_TYPE_S8) return 1;
    return type == SIDRA_TYPE_S32 || type == SIDRA_TYPE_F32 ? 4 : 2;
}
bool is_float(uint32_t type) { return type == SIDRA_TYPE_F32 || type == SIDRA_TYPE_F16 || type == SIDRA_TYPE_BF16; }

// Floats of 16 bits have so many bits of fraction, and this smallest exponent of a normal number.
struct Format {
    int fraction, exponent_min;
};
constexpr Format kF16{10, -14}, kBf16{7, -126};
Format format_of(uint32_t type) { return type == SIDRA_TYPE_F16 ? kF16 : kBf16; }

double value_of(uint32_t type, uint32_t bits) {
    switch (type) {
        case SIDRA_TYPE_U8:
            return bits;
        case SIDRA_TYPE_S8:
            return static_cast<int8_t>(bits);
        case SIDRA_TYPE_S16:
            return static_cast<int16_t>(bits);
        case SIDRA_TYPE_S32:
            return static_cast<int32_t>(bits);
        case SIDRA_TYPE_F32:
            return static_cast<double>(std::bit_cast<float>(bits));
        default:
            break;
    }
    const Format f = format_of(type);
    const uint32_t fraction = bits & ((1u << f.fraction) - 1), exponent = (bits & 0x7fff) >> f.fraction;
    const double sign = bits & 0x8000 ? -1 : 1;
    if (exponent == 0x7fffu >> f.fraction) return fraction ? std::nan("") : sign * INFINITY;
    const double significand = fraction + (exponent ? std::ldexp(1.0, f.fraction) : 0.0);
    return sign * std::ldexp(significand, f.exponent_min - f.fraction + static_cast<int>(exponent ? exponent - 1 : 0));
}

// To nearest, ties to even.
uint32_t bits_of(uint32_t type, float value) {
    if (type == SIDRA_TYPE_F32) return std::isnan(value) ? 0x7fc00000u : f32_bits(value);
    const Format f = format_of(type);
    const uint32_t infinity = 0x7fffu >> f.fraction << f.fraction, sign = std::signbit(value) ? 0x8000 : 0;
    if (std::isnan(value)) return infinity | 1u << (f.fraction - 1);
    const double size = std::fabs(static_cast<double>(value));
    if (std::isinf(size)) return sign | infinity;
    const int exponent = size == 0 ? f.exponent_min : std::max(std::ilogb(size), f.exponent_min);
    const double steps = std::nearbyint(std::ldexp(size, f.fraction - exponent));  // up to twice 2^fraction
    const auto bits =
        static_cast<uint32_t>(exponent - f.exponent_min) * (1u << f.fraction) + static_cast<uint32_t>(steps);
    return sign | std::min(bits, infinity);
}

bool greater(double a, double b) {
    if (std::isnan(a) || std::isnan(b)) return std::isnan(a) && !std::isnan(b);
    if (a == 0 && b == 0) return std::signbit(b) && !std::signbit(a);
    return a > b;
}

// A pattern on bytes, which begin at its address 0, and the output of a packet.
struct Pooling {
    sidra_pattern pattern{};
    uint32_t op = 0;
    uint32_t size[3] = {1, 1, 1};
    uint64_t out_stride[3] = {};
    std::vector<uint8_t> in, out;

    uint32_t out_bytes() const { return op == SIDRA_POOL_ARGMAX ? 4 : bytes_of(pattern.type); }
    uint64_t windows() const { return uint64_t{size[0]} * size[1] * size[2]; }

    // False: a window has no pixel inside.
    bool compute() {
        for (uint32_t image = 0; image < size[0]; image++)
            for (uint32_t y = 0; y < size[1]; y++)
                for (uint32_t x = 0; x < size[2]; x++)
                    for (uint32_t c = 0; c < pattern.channels; c++)
                        if (!window(image, y, x, c)) return false;
        return true;
    }

    bool window(uint32_t image, uint32_t y, uint32_t x, uint32_t c) {
        const sidra_pattern& p = pattern;
        const uint32_t bytes = bytes_of(p.type);
        float sum = 0;
        uint32_t inside = 0, largest = 0;
        int64_t number = 0;
        for (int64_t i = 0; i < p.kernel_h; i++)
            for (int64_t j = 0; j < p.kernel_w; j++) {
                const int64_t row = int64_t{y} * p.stride_h + i * p.dilation_h - p.pad_h;
                const int64_t pixel = int64_t{x} * p.stride_w + j * p.dilation_w - p.pad_w;
                if (row < 0 || row >= p.height || pixel < 0 || pixel >= p.width) continue;
                const uint64_t at = image * p.image_stride + static_cast<uint64_t>(row) * p.row_stride +
                                    static_cast<uint64_t>(pixel) * p.pixel_stride + uint64_t{c} * bytes;
                uint32_t bits = 0;
                std::memcpy(&bits, &in.at(at + bytes - 1) - (bytes - 1), bytes);
                const double value = value_of(p.type, bits);
                sum += static_cast<float>(value);
                if (inside++ == 0 || greater(value, value_of(p.type, largest))) {
                    largest = bits;
                    number = row * p.width + pixel;
                }
            }
        if (inside == 0) return false;
        uint32_t result = largest;
        if (op == SIDRA_POOL_ARGMAX) result = static_cast<uint32_t>(number);
        else if (op == SIDRA_POOL_AVERAGE) result = bits_of(p.type, sum / static_cast<float>(inside));
        else if (op == SIDRA_POOL_AVERAGE_ALL)
            result = bits_of(p.type, sum / static_cast<float>(p.kernel_h * p.kernel_w));
        else if (is_float(p.type) && std::isnan(value_of(p.type, largest))) result = bits_of(p.type, std::nanf(""));
        const uint64_t to = image * out_stride[0] + y * out_stride[1] + x * out_stride[2] + uint64_t{c} * out_bytes();
        std::memcpy(&out.at(to + out_bytes() - 1) - (out_bytes() - 1), &result, out_bytes());
        return true;
    }

    // Strides without gaps, or with some elements between neighbours.
    void place(uint64_t in_gap, uint64_t out_gap) {
        sidra_pattern& p = pattern;
        const uint64_t bytes = bytes_of(p.type);
        p.pixel_stride = (p.channels + in_gap) * bytes;
        p.row_stride = p.width * p.pixel_stride + in_gap * bytes;
        p.image_stride = p.height * p.row_stride;
        out_stride[2] = (p.channels + out_gap) * out_bytes();
        out_stride[1] = size[2] * out_stride[2];
        out_stride[0] = size[1] * out_stride[1];
        allocate();
    }
    void allocate() {
        const sidra_pattern& p = pattern;
        in.resize((size[0] - 1) * p.image_stride + (p.height - 1) * p.row_stride + (p.width - 1) * p.pixel_stride +
                  uint64_t{p.channels} * bytes_of(p.type));
        uint64_t last = 0;
        for (uint32_t d = 0; d < 3; d++) last += (size[d] - 1) * out_stride[d];
        out.assign(last + uint64_t{p.channels} * out_bytes(), 0xa5);
    }
    void fill(std::mt19937_64& random) {
        const uint32_t bytes = bytes_of(pattern.type);
        const bool special = random() % 3 == 0;
        for (size_t at = 0; at + bytes <= in.size(); at += bytes) {
            uint64_t bits = random();
            if (is_float(pattern.type)) {
                static constexpr float kSpecial[] = {0.0f, -0.0f, INFINITY, -INFINITY, NAN, -NAN, 1e-40f, 3e38f};
                const float value = special && random() % 4 == 0
                                        ? kSpecial[random() % 8]
                                        : static_cast<float>(static_cast<int>(random() % 4001) - 2000) / 64;
                bits = f32_bits(value);
                if (bytes == 2) bits = bits_of(pattern.type, value);
                if (std::isnan(value) && random() % 2) bits ^= 1;  // another NaN
            } else if (random() % 2) {
                bits = random() % 4;  // equal ones
            }
            std::memcpy(&in[at], &bits, bytes);
        }
    }
};

class Pool : public ::testing::TestWithParam<Host> {
   protected:
    void SetUp() override {
        bench.emplace(BenchOptions{.engine = GetParam().engine,
                                   .workers = GetParam().workers,
                                   .scatter = GetParam().scatter,
                                   .pages = 1u << 15,
                                   .seed = 3});
        context = &bench->context();
        queue = &context->queue();
    }

    // Runs the packet, and compares with the reference. Returns whether it computed anything.
    bool check(Pooling& pooling) {
        sidra_pattern pattern = pooling.pattern;
        const uint64_t in = context->alloc(pooling.in.size() + kPage) + random() % 100 * bytes_of(pattern.type);
        const uint64_t out = context->alloc(pooling.out.size() + kPage) + random() % 100 * pooling.out_bytes();
        context->write(in, pooling.in.data(), pooling.in.size());
        context->write(out, pooling.out.data(), pooling.out.size());
        pattern.addr = in;
        sidra_cmd cmd = blank(SIDRA_CMD_POOL);
        cmd.pool.op = static_cast<uint8_t>(pooling.op);
        cmd.pool.pattern = context->put(std::vector<sidra_pattern>{pattern});
        cmd.pool.out = out;
        std::copy(std::begin(pooling.size), std::end(pooling.size), cmd.pool.size);
        std::copy(std::begin(pooling.out_stride), std::end(pooling.out_stride), cmd.pool.out_stride);
        const auto untouched = pooling.out;
        const bool good = pooling.compute();
        const uint64_t at = queue->submit(cmd);
        bench->run();
        if (good) {
            EXPECT_TRUE(retired(*queue));
        } else {
            EXPECT_TRUE(faulted(*queue, at, cmd, {{SIDRA_FAULT_VALUE}}, cmd.pool.pattern));
            queue->reset();
        }
        const auto found = context->get<uint8_t>(out, pooling.out.size());
        const auto& expected = good ? pooling.out : untouched;
        const auto differ = std::mismatch(found.begin(), found.end(), expected.begin());
        EXPECT_TRUE(found == expected) << "byte " << differ.first - found.begin() << " of " << found.size()
                                       << ", operation " << pooling.op << ", type " << uint32_t{pattern.type};
        if (++checks % 30 == 0) SetUp();  // fresh memory
        return good;
    }

    std::optional<Bench> bench;
    Context* context = nullptr;
    Queue* queue = nullptr;
    std::mt19937_64 random{41};
    unsigned checks = 0;
};

TEST_P(Pool, EveryOperationAndType) {
    for (uint32_t op = SIDRA_POOL_MAX; op < SIDRA_POOL_OP_COUNT; op++)
        for (const uint32_t type : kAllTypes) {
            if (op >= SIDRA_POOL_AVERAGE && !is_float(type)) continue;
            for (const uint32_t channels : {1u, 7u, 16u, 33u, 200u, 300u}) {
                Pooling pooling;
                sidra_pattern& p = pooling.pattern;
                p.type = static_cast<uint8_t>(type);
                p.height = 9, p.width = 11, p.channels = channels;
                p.kernel_h = p.kernel_w = 3, p.stride_h = 2, p.stride_w = 3, p.pad_h = p.pad_w = 1;
                p.dilation_h = p.dilation_w = 1;
                pooling.op = op;
                pooling.size[0] = 2, pooling.size[1] = 5, pooling.size[2] = 4;
                pooling.place(channels % 2 * 3, channels % 3);
                pooling.fill(random);
                EXPECT_TRUE(check(pooling));
                if (HasFailure()) return;
            }
        }
}

TEST_P(Pool, RandomGeometry) {
    unsigned computed = 0;
    const unsigned count = rounds(240);
    for (unsigned n = 0; n < count; n++) {
        Pooling pooling;
        sidra_pattern& p = pooling.pattern;
        const auto some = [&](uint64_t max) { return static_cast<uint32_t>(1 + random() % max); };
        p.type = static_cast<uint8_t>(kAllTypes[random() % std::size(kAllTypes)]);
        pooling.op = some(is_float(p.type) ? 4 : 2);
        p.height = some(14), p.width = some(14), p.channels = some(random() % 4 ? 20 : 90);
        p.kernel_h = static_cast<uint16_t>(some(4)), p.kernel_w = static_cast<uint16_t>(some(4));
        p.stride_h = static_cast<uint16_t>(some(4)), p.stride_w = static_cast<uint16_t>(some(4));
        p.dilation_h = static_cast<uint16_t>(some(random() % 3 ? 1 : 6));
        p.dilation_w = static_cast<uint16_t>(some(random() % 3 ? 1 : 6));
        p.pad_h = static_cast<uint16_t>(random() % 4), p.pad_w = static_cast<uint16_t>(random() % 4);
        if (random() % 8 == 0) p.pad_w = static_cast<uint16_t>(random() % 20);
        const auto outputs = [&](uint32_t size, uint32_t pad, uint32_t stride) {
            return random() % 6 ? std::max(1u, (size + pad - 1) / stride) : some(6);
        };
        pooling.size[0] = some(3);
        pooling.size[1] = outputs(p.height, p.pad_h, p.stride_h);
        pooling.size[2] = outputs(p.width, p.pad_w, p.stride_w);
        pooling.place(random() % 3 == 0 ? some(1200) : random() % 2, random() % 4 == 0 ? some(1200) : 0);
        if (random() % 8 == 0) {  // overlapping pixels, or the same ones again
            p.pixel_stride = random() % (p.channels + 1) * bytes_of(p.type);
            if (random() % 2) p.image_stride = 0;
            pooling.allocate();
        }
        if (random() % 4 == 0) {  // images are the neighbours
            pooling.out_stride[0] = uint64_t{p.channels} * pooling.out_bytes();
            pooling.out_stride[2] = pooling.out_stride[0] * pooling.size[0];
            pooling.out_stride[1] = pooling.out_stride[2] * pooling.size[2];
            pooling.allocate();
        }
        pooling.fill(random);
        computed += check(pooling);
        ASSERT_FALSE(HasFailure()) << "number " << n << ": image " << p.height << " x " << p.width << " x "
                                   << p.channels << ", kernel " << p.kernel_h << " x " << p.kernel_w << ", stride "
                                   << p.stride_h << " x " << p.stride_w << ", padding " << p.pad_h << " x " << p.pad_w
                                   << ", dilation " << p.dilation_h << " x " << p.dilation_w << ", windows "
                                   << pooling.size[0] << " x " << pooling.size[1] << " x " << pooling.size[2]
                                   << ", pixels every " << p.pixel_stride;
    }
    EXPECT_GT(computed, count / 5);
    EXPECT_LT(computed, count);
}

// Windows as large as they may be, of few and of many channels, and rows of many windows.
TEST_P(Pool, LargeWindowsAndLongRows) {
    struct Shape {
        uint32_t height, width, channels;
        uint16_t kernel_h, kernel_w, stride;
        uint32_t type, op;
        uint64_t gap;
    };
    const Shape shapes[] = {
        {7, 7, 2048, 7, 7, 1, SIDRA_TYPE_F32, SIDRA_POOL_AVERAGE, 0},
        {7, 7, 2048, 7, 7, 1, SIDRA_TYPE_F16, SIDRA_POOL_AVERAGE, 0},
        {256, 256, 16, 256, 256, 1, SIDRA_TYPE_U8, SIDRA_POOL_MAX, 0},
        {256, 256, 4, 256, 256, 1, SIDRA_TYPE_F32, SIDRA_POOL_AVERAGE_ALL, 0},
        {1, 5, 100'000, 1, 3, 2, SIDRA_TYPE_BF16, SIDRA_POOL_MAX, 0},    // blocks of channels
        {2, 2, 40'000, 2, 2, 1, SIDRA_TYPE_S8, SIDRA_POOL_ARGMAX, 100},  // and gaps
        {3, 9000, 2, 3, 3, 2, SIDRA_TYPE_S16, SIDRA_POOL_MAX, 0},
        {60, 60, 8, 3, 3, 1, SIDRA_TYPE_F32, SIDRA_POOL_MAX, 0},      // several rows to a unit
        {40, 30, 3, 2, 2, 2, SIDRA_TYPE_F32, SIDRA_POOL_MAX, 1500},   // every pixel on its own pages
        {5, 900, 4, 2, 2, 60, SIDRA_TYPE_F32, SIDRA_POOL_ARGMAX, 9},  // windows far apart
    };
    for (const Shape& s : shapes) {
        SetUp();
        Pooling pooling;
        sidra_pattern& p = pooling.pattern;
        p.type = static_cast<uint8_t>(s.type);
        p.height = s.height, p.width = s.width, p.channels = s.channels;
        p.kernel_h = s.kernel_h, p.kernel_w = s.kernel_w;
        p.stride_h = p.stride_w = s.stride, p.dilation_h = p.dilation_w = 1;
        pooling.op = s.op;
        pooling.size[1] = (s.height - s.kernel_h) / s.stride + 1,
        pooling.size[2] = (s.width - s.kernel_w) / s.stride + 1;
        pooling.place(s.gap, s.gap);
        pooling.fill(random);
        EXPECT_TRUE(check(pooling));
        ASSERT_FALSE(HasFailure()) << s.height << " x " << s.width << " x " << s.channels;
    }
}

INSTANTIATE_TEST_SUITE_P(Engines, Pool, ::testing::ValuesIn(hosts()), host_name);

sidra_pattern plain(uint64_t addr, uint32_t type, uint32_t height, uint32_t width, uint32_t channels, uint16_t kernel,
                    uint16_t stride) {
    sidra_pattern p{};
    p.addr = addr;
    p.type = static_cast<uint8_t>(type);
    p.height = height, p.width = width, p.channels = channels;
    p.kernel_h = p.kernel_w = kernel, p.stride_h = p.stride_w = stride, p.dilation_h = p.dilation_w = 1;
    p.pixel_stride = uint64_t{channels} * bytes_of(type);
    p.row_stride = p.pixel_stride * width;
    p.image_stride = p.row_stride * height;
    return p;
}

sidra_cmd pool(uint64_t pattern, uint32_t op, uint64_t out, uint32_t height, uint32_t width, uint64_t bytes) {
    sidra_cmd cmd = blank(SIDRA_CMD_POOL);
    cmd.pool.op = static_cast<uint8_t>(op);
    cmd.pool.pattern = pattern;
    cmd.pool.out = out;
    cmd.pool.size[0] = 1, cmd.pool.size[1] = height, cmd.pool.size[2] = width;
    cmd.pool.out_stride[2] = bytes, cmd.pool.out_stride[1] = width * bytes,
    cmd.pool.out_stride[0] = height * width * bytes;
    return cmd;
}

// Pixels that no window reads need not be mapped; the first one that a window reads, and is not mapped, faults.
TEST(PoolFaults, OnlyPixelsOfWindowsAreRead) {
    Bench bench;
    Context& context = bench.context();
    Queue& queue = context.queue();
    const uint64_t in = context.reserve(64 * kPage), out = context.alloc(kPage);
    for (const uint64_t page : {0u, 2u, 4u}) context.map(in + page * kPage, bench.bus().alloc(kPage));
    sidra_pattern p = plain(in, SIDRA_TYPE_F32, 1, 5, 4, 1, 2);
    p.pixel_stride = kPage;
    const std::vector<float> values = {1, 2, 3, 4};
    for (const uint64_t page : {0u, 2u, 4u}) context.write(in + page * kPage, values.data(), 16);
    sidra_cmd cmd = pool(context.put(std::vector<sidra_pattern>{p}), SIDRA_POOL_MAX, out, 1, 3, 16);
    queue.submit(cmd);
    bench.run();
    ASSERT_TRUE(retired(queue));
    EXPECT_EQ(context.get<float>(out + 32, 4), values);
    p.stride_w = 1;
    cmd.pool.pattern = context.put(std::vector<sidra_pattern>{p});
    const uint64_t at = queue.submit(cmd);
    bench.run();
    EXPECT_TRUE(faulted(queue, at, cmd, {{SIDRA_FAULT_TRANSLATION}}, in + kPage));
}

TEST(PoolReset, EndsALongPacket) {
    Bench bench({.pages = 16384});
    Context& context = bench.context();
    Queue& queue = context.queue();
    constexpr uint32_t kSize = 512, kChannels = 16;
    const uint64_t in = context.alloc(uint64_t{kSize} * kSize * kChannels);
    const uint64_t out = context.alloc(uint64_t{kSize} * kSize * kChannels);
    const uint64_t pattern =
        context.put(std::vector<sidra_pattern>{plain(in, SIDRA_TYPE_U8, kSize, kSize, kChannels, 5, 1)});
    const sidra_cmd cmd = pool(pattern, SIDRA_POOL_MAX, out, kSize - 4, kSize - 4, kChannels);
    queue.submit(cmd);
    bench.run_once();
    EXPECT_GT(queue.state().progress, 0u);
    EXPECT_EQ(queue.timeline(), 0u);
    queue.reset();
    queue.submit(nop());
    bench.run();
    EXPECT_TRUE(retired(queue));
    const uint8_t largest = 0xc3;
    context.write(in + uint64_t{kSize} * kSize * kChannels - 1, &largest, 1);
    queue.submit(cmd);
    bench.run();
    EXPECT_TRUE(retired(queue));
    const uint64_t last = uint64_t{kSize - 4} * (kSize - 4) * kChannels - 1;
    EXPECT_EQ(context.get<uint8_t>(out + last, 1)[0], largest);
}

TEST(PoolTelemetry, CountsElementsOfWindows) {
    Bench bench;
    Context& context = bench.context();
    Queue& queue = context.queue();
    const uint64_t in = context.alloc(kPage), out = context.alloc(kPage);
    const uint64_t pattern = context.put(std::vector<sidra_pattern>{plain(in, SIDRA_TYPE_U8, 6, 6, 10, 2, 2)});
    const uint64_t before = bench.telemetry().vec_elements;
    const uint64_t at = queue.submit(pool(pattern, SIDRA_POOL_MAX, out, 3, 3, 10));
    bench.run();
    ASSERT_TRUE(retired(queue));
    EXPECT_EQ(bench.telemetry().vec_elements - before, 360u);
    EXPECT_EQ(queue.report(at).device_ps, 4'000 + (360 * 1000 + 255) / 256);
}

}  // namespace
}  // namespace sidra::chip_test
