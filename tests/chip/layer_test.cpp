// SPDX-License-Identifier: MIT
// LAYER on the chip against plain loops and the second implementation of vector programs, bit by bit, on all engines,
// with memory that is contiguous on the host and with pages in random order; and what the chip refuses.
#include <algorithm>
#include <numeric>
#include <random>
#include <string_view>
#include <thread>

#include "hosts.h"
#include "packets.h"
#include "program/program_text.h"
#include "vector/reference.h"

namespace sidra::chip_test {
namespace {

using vector_reference::Memory;
using Code = std::vector<sidra_vector_instruction>;

constexpr uint32_t kSize[] = {1, 1, 4, 4, 2, 8, 1, 2, 2};  // bytes, by type
constexpr uint64_t kBase = 0x10000;

// In texts of programs, operand o5 means SUMS, o6 CODES, o7 INPUT.
Code assemble(const std::string& text) {
    if (text.empty()) return {};
    auto code = std::get<program::Code>(program::assemble(text)).instructions;
    for (auto& i : code)
        if (i.operand >= 5) i.operand = static_cast<uint8_t>(SIDRA_OPERAND_SUMS + i.operand - 5);
    return code;
}

struct Programs {
    const char* name;
    const char* prologue;  // "": none
    const char* epilogue;  // o0: output; o1: a row of f32
    uint32_t out_type;
    bool row;
    uint32_t scalars;  // that pass from the prologue to the epilogue: s0 and so on, f32
};
const Programs kPrograms[] = {
    {"sums", "", "pass:\nv0 = load_int o5\nstore_int o0, v0\n", SIDRA_TYPE_S32, false, 0},
    // Programs that engines compute in one step, and such that look like it.
    {"factor", "", "pass:\nv0 = load o5\nv1 = load o1\nv2 = mul v1, v0\nstore o0, v2\n", SIDRA_TYPE_F32, true, 0},
    {"factor and bias", "", "pass:\nv1 = load o1\nv0 = load o5\nv2 = fma v0, p0, v1\nstore o0, v2\n", SIDRA_TYPE_U8,
     true, 0},
    {"clamped", "",
     "pass:\nv0 = load o5\nv1 = load o1\nv0 = mul v0, v1\nv0 = add p1, v0\nv0 = max v0, -3.5\nv0 = min 200.0, v0\n"
     "store o0, v0\n",
     SIDRA_TYPE_BF16, true, 0},
    {"clamped below", "", "pass:\nv0 = load o5\nv0 = mul v0, p0\nv0 = max v0, 0.0\nstore o0, v0\n", SIDRA_TYPE_S8,
     false, 0},
    {"clamped the other way", "",
     "pass:\nv0 = load o5\nv0 = mul v0, p0\nv0 = min v0, 9.0\nv0 = max v0, 10.0\nstore o0, v0\n", SIDRA_TYPE_F16, false,
     0},
    {"a register twice", "",
     "pass:\nv0 = load o5\nv1 = load o1\nv2 = mul v0, v1\nv1 = load o5\nv3 = add v2, v1\nstore o0, v3\n",
     SIDRA_TYPE_F32, true, 0},
    {"the sum of the sums", "", "pass:\nv0 = load o5\nv1 = load o1\nv2 = mul v0, v1\nv3 = add v2, v1\nstore o0, v3\n",
     SIDRA_TYPE_F16, true, 0},
    {"scale of the row",
     "pass:\nv0 = load o7\nv1 = abs v0\ns1 = reduce_max v1\ns0 = mul s1, 0.0078125\n"
     "pass:\nv0 = load o7\nv1 = mul v0, 30.0\nstore o6, v1\n",
     "pass:\nv0 = load o5\nv1 = load o1\nv2 = fma v0, s0, v1\nv3 = max v2, s0\nstore o0, v3\n", SIDRA_TYPE_F32, true,
     1},
    {"requantise", "", "pass:\nv0 = load o5\nv1 = load o1\nv2 = mul v0, v1\nv3 = add v2, p1\nstore o0, v3\n",
     SIDRA_TYPE_S8, true, 0},
    {"softmax", "",
     "pass:\nv0 = load o5\nv1 = mul v0, p0\ns0 = reduce_max v1\n"
     "pass:\nv0 = load o5\nv1 = mul v0, p0\nv2 = sub v1, s0\nv3 = exp v2\ns1 = reduce_sum v3\ns2 = div 1.0, s1\n"
     "pass:\nv0 = load o5\nv1 = mul v0, p0\nv2 = sub v1, s0\nv3 = exp v2\nv4 = mul v3, s2\nstore o0, v4\n",
     SIDRA_TYPE_F32, false, 0},
    {"dynamic",
     "pass:\nv0 = load o7\nv1 = abs v0\ns1 = reduce_max v1\ns2 = max s1, 1e-20\ns0 = div s2, 127.0\ns3 = div 127.0, "
     "s2\n"
     "pass:\nv0 = load o7\nv1 = mul v0, s3\nstore o6, v1\n",
     "pass:\nv0 = load o5\nv1 = load o1\nv2 = mul v0, s0\nv3 = add v2, v1\nv4 = gelu v3\nstore o0, v4\n",
     SIDRA_TYPE_F32, true, 1},
    {"dynamic, whole rows",
     "pass:\nv0 = load o7\nv1 = abs v0\ns1 = reduce_max v1\ns2 = max s1, 1e-20\ns0 = div s2, 127.0\ns3 = div 127.0, "
     "s2\n"
     "pass:\nv0 = load o7\nv1 = mul v0, s3\nstore o6, v1\n",
     "pass:\nv0 = load o5\nv1 = load o1\nv2 = mul v0, s0\nv3 = add v2, v1\nv4 = abs v3\ns4 = reduce_max v4\n"
     "pass:\nv0 = load o5\nv1 = load o1\nv2 = mul v0, s0\nv3 = add v2, v1\nv4 = sub v3, s4\nstore o0, v4\n",
     SIDRA_TYPE_BF16, true, 1},
    {"static", "pass:\nv0 = load o7\nv1 = mul v0, p0\nv2 = add v1, 3.0\nstore o6, v2\n",
     "pass:\nv0 = load_int o5\nv1 = add_int v0, row\nstore_int o0, v1\n", SIDRA_TYPE_S32, false, 0},
};

const Programs& programs(std::string_view name) {
    return *std::ranges::find(kPrograms, name, [](const Programs& p) { return std::string_view(p.name); });
}

struct LayerCase {
    std::vector<uint8_t> bytes;
    const Programs* programs;
    Code prologue, epilogue;
    std::vector<sidra_operand> operands;
    sidra_pattern pattern{};
    uint32_t size[3];
    uint32_t k, n, encoding;
    std::vector<int8_t> weights;  // k x n
    vector_reference::Params param{};
};

uint64_t place(LayerCase& c, uint64_t bytes) {
    const uint64_t at = (c.bytes.size() + 63) / 64 * 64;
    c.bytes.resize(at + bytes);
    return kBase + at;
}

LayerCase random_case(std::mt19937_64& random) {
    LayerCase c;
    const auto one_to = [&](uint64_t most) { return static_cast<uint32_t>(1 + random() % most); };
    c.programs = &kPrograms[random() % std::size(kPrograms)];
    c.prologue = assemble(c.programs->prologue);
    c.epilogue = assemble(c.programs->epilogue);
    sidra_pattern& p = c.pattern;
    const uint32_t inputs[] = {SIDRA_TYPE_F32, SIDRA_TYPE_F16, SIDRA_TYPE_BF16};
    p.codes = random() % 2 ? SIDRA_TYPE_S8 : SIDRA_TYPE_U8;
    p.type = c.prologue.empty() ? p.codes : static_cast<uint8_t>(inputs[random() % 3]);
    p.zero = static_cast<int16_t>(p.codes == SIDRA_TYPE_S8 ? static_cast<int>(random() % 256) - 128
                                                           : static_cast<int>(random() % 256));
    if (random() % 3 == 0) p.zero = 0;
    const uint64_t size = kSize[p.type];
    const uint64_t kind = random() % 4;
    if (kind == 0) {  // a matrix
        p.height = p.width = p.kernel_h = p.kernel_w = p.stride_h = p.stride_w = p.dilation_h = p.dilation_w = 1;
        p.channels = one_to(700);
        c.size[0] = one_to(3), c.size[1] = 1, c.size[2] = one_to(40);
        p.width = c.size[2];
        p.pixel_stride = (p.channels + (random() % 2 ? random() % 9 : 0)) * size;
        if (random() % 8 == 0) p.pixel_stride = 0;     // the same row again
        if (random() % 8 == 0) p.pixel_stride = size;  // rows overlap
    } else if (kind == 1) {  // a convolution of several units, whose windows engines may read where they overlap
        p.kernel_h = static_cast<uint16_t>(one_to(4)), p.kernel_w = static_cast<uint16_t>(one_to(4));
        p.channels = 64 / std::gcd(64u, uint32_t{p.kernel_w}) * (p.kernel_h * p.kernel_w < 5 ? one_to(2) : 1);
        p.height = one_to(24), p.width = one_to(40);
        p.stride_h = static_cast<uint16_t>(one_to(2)), p.stride_w = static_cast<uint16_t>(one_to(2));
        p.dilation_h = p.dilation_w = 1;
        p.pad_h = static_cast<uint16_t>(random() % 5), p.pad_w = static_cast<uint16_t>(random() % 5);
        const bool wide = random() % 4 == 0;
        c.size[0] = one_to(3), c.size[1] = one_to(wide ? 2 : 9), c.size[2] = one_to(wide ? 300 : 20);
        p.pixel_stride = (p.channels + (random() % 3 == 0 ? random() % 5 : 0)) * size;
    } else {
        p.height = one_to(14), p.width = one_to(14);
        p.kernel_h = static_cast<uint16_t>(one_to(3)), p.kernel_w = static_cast<uint16_t>(one_to(3));
        p.stride_h = static_cast<uint16_t>(one_to(2)), p.stride_w = static_cast<uint16_t>(one_to(3));
        p.dilation_h = static_cast<uint16_t>(one_to(2)), p.dilation_w = static_cast<uint16_t>(one_to(2));
        p.pad_h = static_cast<uint16_t>(random() % 3), p.pad_w = static_cast<uint16_t>(random() % 3);
        p.channels = one_to(40);
        c.size[0] = one_to(2), c.size[1] = one_to(8), c.size[2] = one_to(8);
        p.pixel_stride = (p.channels + (random() % 3 == 0 ? random() % 5 : 0)) * size;  // some of the channels
    }
    p.row_stride = p.pixel_stride * p.width + (random() % 3 ? 0 : size * (random() % 2 ? 1 : 4096 / size));
    p.image_stride = p.row_stride * p.height + (random() % 2 ? 0 : size);
    c.k = uint32_t{p.kernel_h} * p.kernel_w * p.channels;
    c.n = one_to(kind != 1 && random() % 3 == 0 ? 300 : 60);
    c.encoding = random() % 2 ? SIDRA_ENCODING_OFFSET : SIDRA_ENCODING_DIFFERENTIAL;
    const uint64_t bytes = (c.size[0] - 1) * p.image_stride + (p.height - 1) * p.row_stride +
                           (p.width - 1) * p.pixel_stride + p.channels * size;
    p.addr = place(c, bytes);
    for (uint8_t& byte : c.bytes) byte = static_cast<uint8_t>(random());
    if (p.type != p.codes)  // floats of moderate size
        for (uint64_t i = size - 1; i < bytes; i += size)
            c.bytes[i] = static_cast<uint8_t>((c.bytes[i] & 0x80) | (p.type == SIDRA_TYPE_F16 ? 0x3c : 0x40));
    sidra_operand out{};
    out.type = static_cast<uint8_t>(c.programs->out_type);
    out.flags = SIDRA_OPERAND_WRITE;
    const uint64_t element = kSize[out.type];
    out.stride[3] = element;
    out.stride[2] = (c.n + random() % 3) * element;
    out.stride[1] = out.stride[2] * c.size[2];
    out.stride[0] = out.stride[1] * c.size[1];
    out.addr = place(c, out.stride[0] * c.size[0]);
    c.operands.push_back(out);
    if (c.programs->row) {
        sidra_operand row{};
        row.type = SIDRA_TYPE_F32;
        row.stride[3] = 4;
        row.addr = place(c, c.n * 4);
        for (uint32_t i = 0; i < c.n; i++) {
            const float value = 0.001f * static_cast<float>(random() % 1000);
            std::memcpy(&c.bytes[row.addr - kBase + i * 4], &value, 4);
        }
        c.operands.push_back(row);
    }
    c.weights.resize(size_t{c.k} * c.n);
    for (int8_t& w : c.weights) {
        w = static_cast<int8_t>(random());
        if (c.encoding == SIDRA_ENCODING_DIFFERENTIAL && w == -128) w = 127;
    }
    c.param[0] = f32_bits(0.01f);
    c.param[1] = f32_bits(2.0f);
    return c;
}

sidra_operand dense(uint64_t addr, const uint32_t (&size)[3], uint64_t cols, uint32_t type) {
    sidra_operand o{};
    o.addr = addr;
    o.type = static_cast<uint8_t>(type);
    o.stride[3] = kSize[type];
    o.stride[2] = cols * kSize[type];
    o.stride[1] = o.stride[2] * size[2];
    o.stride[0] = o.stride[1] * size[1];
    return o;
}

// What the chip must store.
std::vector<uint8_t> expected(const LayerCase& c) {
    const sidra_pattern& p = c.pattern;
    const uint64_t rows = uint64_t{c.size[0]} * c.size[1] * c.size[2], element = kSize[p.type];
    std::vector<uint8_t> bytes = c.bytes;
    const auto reserve = [&](uint64_t n) {
        const uint64_t at = (bytes.size() + 63) / 64 * 64;
        bytes.resize(at + n);
        return kBase + at;
    };
    const uint64_t inputs = reserve(rows * c.k * element), codes = reserve(rows * c.k), sums = reserve(rows * c.n * 4);
    const uint64_t scalars = reserve(rows * 16 * 4);
    Memory memory(kBase, std::move(bytes));
    // Windows.
    uint64_t to = inputs;
    const uint64_t padding = c.prologue.empty() ? static_cast<uint8_t>(p.zero) : 0;
    for (uint32_t image = 0; image < c.size[0]; image++)
        for (uint32_t y = 0; y < c.size[1]; y++)
            for (uint32_t x = 0; x < c.size[2]; x++)
                for (int i = 0; i < p.kernel_h; i++)
                    for (int j = 0; j < p.kernel_w; j++)
                        for (uint32_t channel = 0; channel < p.channels; channel++, to += element) {
                            const int64_t row = int64_t{y} * p.stride_h + i * p.dilation_h - p.pad_h;
                            const int64_t pixel = int64_t{x} * p.stride_w + j * p.dilation_w - p.pad_w;
                            const bool inside = row >= 0 && row < p.height && pixel >= 0 && pixel < p.width;
                            const auto at = p.addr + image * p.image_stride +
                                            static_cast<uint64_t>(row) * p.row_stride +
                                            static_cast<uint64_t>(pixel) * p.pixel_stride + channel * element;
                            const auto n = static_cast<uint32_t>(element);
                            memory.store(to, n, inside ? memory.load(at, n) : padding);
                        }
    std::vector<sidra_operand> operands = c.operands;
    const auto add = [&](sidra_operand o) {
        operands.push_back(o);
        return static_cast<uint8_t>(operands.size() - 1);
    };
    const uint8_t at_input = add(dense(inputs, c.size, c.k, p.type)),
                  at_codes = add(dense(codes, c.size, c.k, p.codes)),
                  at_sums = add(dense(sums, c.size, c.n, SIDRA_TYPE_S32));
    uint8_t at_scalar[16];
    for (uint32_t s = 0; s < c.programs->scalars; s++) {
        at_scalar[s] = add(dense(scalars + s * rows * 4, c.size, 1, SIDRA_TYPE_F32));
        operands.back().stride[3] = 0;
    }
    const auto renamed = [&](Code code) {
        for (auto& i : code) {
            if (i.operand == SIDRA_OPERAND_SUMS) i.operand = at_sums;
            if (i.operand == SIDRA_OPERAND_CODES) i.operand = at_codes;
            if (i.operand == SIDRA_OPERAND_INPUT) i.operand = at_input;
        }
        return code;
    };
    // The registers that pass over are stored behind the prologue, and loaded before the epilogue.
    Code prologue = renamed(c.prologue), epilogue = renamed(c.epilogue);
    for (uint32_t s = 0; s < c.programs->scalars; s++) {
        sidra_vector_instruction store{}, load{};
        store.op = SIDRA_VECTOR_OP_STORE, store.operand = at_scalar[s], store.a = SIDRA_VECTOR_S(s);
        load.op = SIDRA_VECTOR_OP_LOAD, load.operand = at_scalar[s], load.dst = SIDRA_VECTOR_S(s);
        load.flags = SIDRA_VECTOR_PASS;
        prologue.push_back(store);
        epilogue.insert(epilogue.begin(), load);
    }
    if (!prologue.empty()) {
        execute(prologue, operands, {c.size[0], c.size[1], c.size[2], c.k}, c.param, memory);
    } else {
        for (uint64_t i = 0; i < rows * c.k; i++) memory.store(codes + i, 1, memory.load(inputs + i, 1));
    }
    for (uint64_t r = 0; r < rows; r++)
        for (uint32_t n = 0; n < c.n; n++) {
            int64_t sum = 0;
            for (uint32_t k = 0; k < c.k; k++) {
                const uint64_t code = memory.load(codes + r * c.k + k, 1);
                const int64_t value = p.codes == SIDRA_TYPE_S8 ? static_cast<int8_t>(code) : static_cast<int64_t>(code);
                sum += (value - p.zero) * c.weights[size_t{k} * c.n + n];
            }
            memory.store(sums + (r * c.n + n) * 4, 4, static_cast<uint32_t>(sum));
        }
    execute(epilogue, operands, {c.size[0], c.size[1], c.size[2], c.n}, c.param, memory);
    return {memory.bytes().begin(), memory.bytes().begin() + static_cast<ptrdiff_t>(c.bytes.size())};
}

// The packet in the memory of a context, with programmed weights.
class Placed {
   public:
    Placed(Bench& bench, Context& context, Queue& queue, const LayerCase& c, bool contiguous = false,
           uint32_t first_crossbar = 0)
        : operands(c.operands), pattern(c.pattern), context_(context), size_(c.bytes.size()) {
        if (contiguous) {
            base_ = context.reserve(size_);
            const uint64_t memory = bench.bus().alloc(size_);
            for (uint64_t at = 0; at < size_; at += kPage) context.map(base_ + at, memory + at);
        } else {
            base_ = context.alloc(size_);
        }
        context.write(base_, c.bytes.data(), size_);
        for (sidra_operand& o : operands) o.addr += base_ - kBase;
        pattern.addr += base_ - kBase;
        const uint32_t width = c.encoding == SIDRA_ENCODING_DIFFERENTIAL ? 128 : 256;
        std::vector<uint32_t> crossbars((c.k + 255) / 256 * ((c.n + width - 1) / width));
        EXPECT_LE(first_crossbar + crossbars.size(), bench.crossbars_total());
        std::iota(crossbars.begin(), crossbars.end(), first_crossbar);
        const uint32_t weights =
            context.weights({.rows = c.k, .cols = c.n, .encoding = c.encoding, .crossbars = crossbars});
        queue.submit(program(weights, 0, c.k, 0, c.n, context.put(c.weights), c.n));
        cmd = blank(SIDRA_CMD_LAYER);
        sidra_cmd_layer& l = cmd.layer;
        l.weights = static_cast<uint16_t>(weights);
        Code code = c.prologue;
        code.insert(code.end(), c.epilogue.begin(), c.epilogue.end());
        l.program = context.put(code);
        l.operands = context.put(operands);
        l.pattern = pattern_at_ = context.put(std::vector<sidra_pattern>{pattern});
        std::copy(std::begin(c.size), std::end(c.size), l.size);
        std::copy(c.param.begin(), c.param.end(), l.param);
        l.prologue = static_cast<uint8_t>(c.prologue.size());
        l.epilogue = static_cast<uint8_t>(c.epilogue.size());
        l.operand_count = static_cast<uint8_t>(operands.size());
    }
    std::vector<uint8_t> memory() const { return context_.get<uint8_t>(base_, size_); }
    void reset_memory(const LayerCase& c) { context_.write(base_, c.bytes.data(), size_); }
    // Writes operands and pattern again, after a change.
    void update() {
        context_.write(cmd.layer.operands, operands.data(), operands.size() * sizeof operands[0]);
        context_.write(pattern_at_, &pattern, sizeof pattern);
    }

    sidra_cmd cmd;
    std::vector<sidra_operand> operands;
    sidra_pattern pattern;

   private:
    Context& context_;
    uint64_t size_, base_, pattern_at_;
};

std::string describe(const LayerCase& c) {
    const sidra_pattern& p = c.pattern;
    std::string text = std::string(c.programs->name) + ": " + std::to_string(c.k) + " x " + std::to_string(c.n) +
                       ", type " + std::to_string(p.type) + ", codes " + std::to_string(p.codes) + ", zero " +
                       std::to_string(p.zero) + ", windows";
    for (const uint32_t each : c.size) text += " " + std::to_string(each);
    for (const uint32_t each :
         {p.height, p.width, uint32_t{p.kernel_h}, uint32_t{p.kernel_w}, uint32_t{p.stride_h}, uint32_t{p.stride_w},
          uint32_t{p.pad_h}, uint32_t{p.pad_w}, uint32_t{p.dilation_h}, uint32_t{p.dilation_w}, p.channels})
        text += " " + std::to_string(each);
    return text;
}

class Layer : public ::testing::TestWithParam<Host> {};

TEST_P(Layer, IsThatOfPlainLoops) {
    const Host host = GetParam();
    std::mt19937_64 random(host.engine * 2 + host.scatter);
    for (unsigned b = 0; b < rounds(kSanitized ? 6 : 20); b++) {
        BenchOptions options;
        options.engine = host.engine;
        options.scatter = host.scatter;
        options.workers = host.scatter ? 1 : 3;
        options.pages = 1u << 15;
        options.seed = b + 1;
        Bench bench(options);
        Context& context = bench.context();
        Queue& queue = context.queue();
        for (unsigned n = 0; n < 8; n++) {
            const LayerCase c = random_case(random);
            const uint32_t width = c.encoding == SIDRA_ENCODING_DIFFERENTIAL ? 128 : 256;
            if ((c.k + 255) / 256 * ((c.n + width - 1) / width) > bench.crossbars_total()) continue;
            Placed placed(bench, context, queue, c, !host.scatter);
            queue.submit(placed.cmd);
            bench.run();
            ASSERT_TRUE(retired(queue)) << describe(c);
            const auto wanted = expected(c), is = placed.memory();
            for (size_t i = 0; i < wanted.size(); i++)
                ASSERT_EQ(wanted[i], is[i]) << "byte " << i << " of case " << b << "/" << n << ": " << describe(c);
        }
    }
}

INSTANTIATE_TEST_SUITE_P(Engines, Layer, ::testing::ValuesIn(hosts()), host_name);

// 3 x 3 windows of a 4 x 4 image with 2 channels, dynamic quantisation.
LayerCase small_case(uint32_t columns = 5) {
    LayerCase c;
    c.programs = &programs("dynamic");
    c.prologue = assemble(c.programs->prologue);
    c.epilogue = assemble(c.programs->epilogue);
    c.size[0] = 1, c.size[1] = c.size[2] = 4;
    c.k = 18, c.n = columns, c.encoding = SIDRA_ENCODING_OFFSET;
    sidra_pattern& p = c.pattern;
    p.type = SIDRA_TYPE_F32, p.codes = SIDRA_TYPE_S8;
    p.height = p.width = 4, p.channels = 2;
    p.kernel_h = p.kernel_w = 3;
    p.stride_h = p.stride_w = p.dilation_h = p.dilation_w = p.pad_h = p.pad_w = 1;
    p.pixel_stride = 8, p.row_stride = 32, p.image_stride = 128;
    p.addr = place(c, 128);
    for (uint32_t i = 0; i < 32; i++) {
        const float value = static_cast<float>(i) - 10;
        std::memcpy(&c.bytes[i * 4], &value, 4);
    }
    sidra_operand out = dense(place(c, uint64_t{16} * columns * 4), c.size, columns, SIDRA_TYPE_F32);
    out.flags = SIDRA_OPERAND_WRITE;
    c.operands.push_back(out);
    sidra_operand row{};
    row.type = SIDRA_TYPE_F32, row.stride[3] = 4, row.addr = place(c, columns * 4);
    c.operands.push_back(row);
    c.weights.resize(size_t{18} * columns, 3);
    return c;
}

// The chip remembers what it has prepared for a packet. Queues of two contexts submit the same packet again and again,
// while its programs, its operands, its pattern, its parameters and the pages of all of them change. The weights with
// that number are not those of the other context.
TEST_P(Layer, APacketThatComesAgainDoesWhatMemorySaysNow) {
    static const Programs kAgain[] = {
        {"again", "pass:\nv0 = load o7\nv1 = mul v0, p0\nstore o6, v1\n",
         "pass:\nv0 = load o5\nv1 = load o1\nv2 = add v0, v1\nv3 = mul v2, p1\nstore o0, v3\n", SIDRA_TYPE_F32, true,
         0},
        {"again, otherwise", "pass:\nv0 = load o7\nv1 = add v0, p0\nstore o6, v1\n",
         "pass:\nv0 = load o5\nv1 = load o1\nv2 = max v0, v1\nv3 = add v2, p1\nstore o0, v3\n", SIDRA_TYPE_F32, true,
         0}};
    const Host host = GetParam();
    BenchOptions options;
    options.engine = host.engine;
    options.scatter = host.scatter;
    options.workers = host.workers;
    Bench bench(options);
    std::mt19937_64 random(host.engine * 2 + host.scatter);
    struct Place {
        Context& context;
        Queue& queue;
        LayerCase c;
        Placed placed;
    };
    std::vector<Place> places;
    for (const uint32_t columns : {300u, 5u}) {
        Context& context = bench.context();
        Queue& queue = context.queue();
        LayerCase c = small_case(300);
        c.programs = &kAgain[0];
        c.prologue = assemble(c.programs->prologue);
        c.epilogue = assemble(c.programs->epilogue);
        c.n = columns;
        for (int8_t& w : c.weights) w = static_cast<int8_t>(random());
        Placed placed(bench, context, queue, c, false, static_cast<uint32_t>(2 * places.size()));
        places.push_back({context, queue, c, placed});
    }
    ASSERT_EQ(places[0].placed.cmd.layer.operands, places[1].placed.cmd.layer.operands) << "equal packets";
    ASSERT_EQ(places[0].placed.cmd.layer.weights, places[1].placed.cmd.layer.weights) << "equal packets";
    uint64_t choice = 0;  // of what memory holds: often the same for both contexts
    for (uint32_t n = 0; n < 80; n++) {
        if (random() % 3 == 0) choice = random();
        auto& [context, queue, c, placed] = places[random() % places.size()];
        sidra_cmd_layer& packet = placed.cmd.layer;
        const bool refused = choice / 16 % 8 == 0;
        const uint64_t pages[] = {packet.program, packet.operands, packet.pattern, placed.operands[0].addr};
        if (random() % 2) context.move_page(pages[random() % std::size(pages)]);
        c.programs = &kAgain[choice % 2];
        c.prologue = assemble(c.programs->prologue);
        c.epilogue = assemble(c.programs->epilogue);
        Code code = c.prologue;
        code.insert(code.end(), c.epilogue.begin(), c.epilogue.end());
        context.write(packet.program, code.data(), code.size() * sizeof code[0]);
        for (const uint32_t p : {0u, 1u}) c.param[p] = packet.param[p] = f32_bits(static_cast<float>(random() % 5));
        c.pattern.zero = placed.pattern.zero = static_cast<int16_t>(choice / 2 % 2);
        c.pattern.dilation_h = placed.pattern.dilation_h = choice / 4 % 2 ? 2 : 1;
        c.operands[1].stride[3] = placed.operands[1].stride[3] = choice / 8 % 2 ? 4 : 0;
        placed.operands[0].flags = refused ? 0 : SIDRA_OPERAND_WRITE;
        placed.update();
        placed.reset_memory(c);
        const uint64_t at = queue.submit(placed.cmd);
        bench.run();
        if (refused) {
            ASSERT_TRUE(faulted(queue, at, placed.cmd, {{SIDRA_FAULT_PROGRAM}})) << n;
            queue.reset();
        } else {
            ASSERT_TRUE(retired(queue)) << n;
        }
        ASSERT_EQ(refused ? c.bytes : expected(c), placed.memory()) << n << ": " << describe(c);
    }
}

struct Refusal {
    const char* name;
    void (*change)(Placed&);
    sidra_fault_cause cause;
    std::optional<uint64_t> address;
};
constexpr uint64_t program_fault(sidra_program_error why, uint32_t operand = SIDRA_PROGRAM_NONE,
                                 uint32_t instruction = SIDRA_PROGRAM_NONE) {
    return SIDRA_PROGRAM_FAULT(why, instruction, operand);
}
const Refusal kRefusals[] = {
    {"Flag", [](Placed& p) { p.cmd.hdr.flags = 2; }, SIDRA_FAULT_FIELD, 2},
    {"Pad", [](Placed& p) { p.cmd.layer.pad = 1; }, SIDRA_FAULT_FIELD, 1},
    {"NoEpilogue", [](Placed& p) { p.cmd.layer.epilogue = 0; }, SIDRA_FAULT_PROGRAM,
     program_fault(SIDRA_PROGRAM_LENGTH)},
    {"TooManyInstructions", [](Placed& p) { p.cmd.layer.epilogue = 60; }, SIDRA_FAULT_PROGRAM,
     program_fault(SIDRA_PROGRAM_LENGTH)},
    {"NoImages", [](Placed& p) { p.cmd.layer.size[0] = 0; }, SIDRA_FAULT_FIELD, 0},
    {"TooManyRows", [](Placed& p) { p.cmd.layer.size[1] = 1u << 24; }, SIDRA_FAULT_LIMIT, uint64_t{1} << 26},
    {"PatternMisaligned", [](Placed& p) { p.cmd.layer.pattern += 4; }, SIDRA_FAULT_ALIGNMENT, std::nullopt},
    {"PatternBeyondAllAddresses", [](Placed& p) { p.cmd.layer.pattern = ~uint64_t{7}; }, SIDRA_FAULT_LIMIT,
     ~uint64_t{7}},
    {"Type", [](Placed& p) { p.pattern.type = SIDRA_TYPE_COUNT; }, SIDRA_FAULT_FIELD, SIDRA_TYPE_COUNT},
    {"Codes", [](Placed& p) { p.pattern.codes = SIDRA_TYPE_F32; }, SIDRA_FAULT_FIELD, SIDRA_TYPE_F32},
    {"Zero", [](Placed& p) { p.pattern.zero = 128; }, SIDRA_FAULT_FIELD, 128},
    {"NoKernel", [](Placed& p) { p.pattern.kernel_h = 0; }, SIDRA_FAULT_FIELD, 0},
    {"KernelTooLarge", [](Placed& p) { p.pattern.kernel_w = 257; }, SIDRA_FAULT_LIMIT, 257},
    {"KernelOfTooManyPixels", [](Placed& p) { p.pattern.kernel_h = p.pattern.kernel_w = 65; }, SIDRA_FAULT_LIMIT,
     65 * 65},
    {"NoStride", [](Placed& p) { p.pattern.stride_w = 0; }, SIDRA_FAULT_FIELD, 0},
    {"NoDilation", [](Placed& p) { p.pattern.dilation_h = 0; }, SIDRA_FAULT_FIELD, 0},
    {"NoPixels", [](Placed& p) { p.pattern.width = 0; }, SIDRA_FAULT_FIELD, 0},
    {"ImageTooLarge", [](Placed& p) { p.pattern.height = (1u << 30) + 1; }, SIDRA_FAULT_LIMIT, (1u << 30) + 1},
    {"OtherRowsThanTheWeights", [](Placed& p) { p.pattern.channels = 3; }, SIDRA_FAULT_FIELD, 27},
    {"InputMisaligned", [](Placed& p) { p.pattern.addr += 2; }, SIDRA_FAULT_ALIGNMENT, std::nullopt},
    {"StrideMisaligned", [](Placed& p) { p.pattern.row_stride = 30; }, SIDRA_FAULT_ALIGNMENT, 30},
    {"InputBeyondAllAddresses", [](Placed& p) { p.pattern.row_stride = uint64_t{1} << 63; }, SIDRA_FAULT_LIMIT,
     std::nullopt},
    {"OutputInTheInput", [](Placed& p) { p.operands[0].addr = p.pattern.addr + 64; }, SIDRA_FAULT_PROGRAM,
     program_fault(SIDRA_PROGRAM_OPERAND_OVERLAP, 0)},
    {"NoWeights", [](Placed& p) { p.cmd.layer.weights = 4000; }, SIDRA_FAULT_WEIGHTS, 4000},
    {"OperandUnused", [](Placed& p) { p.cmd.layer.prologue = 0, p.pattern.type = SIDRA_TYPE_S8; }, SIDRA_FAULT_PROGRAM,
     std::nullopt},
    {"InputIsNoCode", [](Placed& p) { p.cmd.layer.prologue = 0; }, SIDRA_FAULT_FIELD, SIDRA_TYPE_F32},
};

class LayerRefusal : public ::testing::TestWithParam<Refusal> {};

TEST_P(LayerRefusal, NamesTheReason) {
    Bench bench;
    Context& context = bench.context();
    Queue& queue = context.queue();
    Placed placed(bench, context, queue, small_case());
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
INSTANTIATE_TEST_SUITE_P(Packets, LayerRefusal, ::testing::ValuesIn(kRefusals),
                         [](const auto& test) { return test.param.name; });

struct ProgramRefusal {
    const char* name;
    const char* prologue;
    const char* epilogue;
    sidra_program_error why;
    uint8_t instruction, operand;
};
const char* const kStoresCodes = "pass:\nv0 = load o7\nstore o6, v0\n";
const char* const kStoresSums = "pass:\nv0 = load o5\nstore o0, v0\nv1 = load o1\nstore o0, v1\n";
const ProgramRefusal kProgramRefusals[] = {
    {"SumsInPrologue", "pass:\nv0 = load o5\nstore o6, v0\n", kStoresSums, SIDRA_PROGRAM_OPERAND, 0,
     SIDRA_OPERAND_SUMS},
    {"InputInEpilogue", kStoresCodes, "pass:\nv0 = load o7\nstore o0, v0\nv1 = load o1\n", SIDRA_PROGRAM_OPERAND, 2,
     SIDRA_OPERAND_INPUT},
    {"CodesInEpilogue", kStoresCodes, "pass:\nv0 = load o5\nstore o6, v0\n", SIDRA_PROGRAM_OPERAND, 3,
     SIDRA_OPERAND_CODES},
    {"StoresToSums", kStoresCodes, "pass:\nv0 = load o1\nstore o5, v0\n", SIDRA_PROGRAM_OPERAND, 3, SIDRA_OPERAND_SUMS},
    {"LoadsCodes", "pass:\nv0 = load o6\nstore o6, v0\n", kStoresSums, SIDRA_PROGRAM_OPERAND, 0, SIDRA_OPERAND_CODES},
    {"NoCodes", "pass:\nv0 = load o7\n", kStoresSums, SIDRA_PROGRAM_OPERAND_UNUSED, SIDRA_PROGRAM_NONE,
     SIDRA_OPERAND_CODES},
    {"PrologueStoresToMemory", "pass:\nv0 = load o7\nstore o6, v0\nstore o0, v0\n",
     "pass:\nv0 = load o5\nv1 = load o1\n", SIDRA_PROGRAM_OPERAND_WRITE, SIDRA_PROGRAM_NONE, 0},
    {"OperandOfBoth", "pass:\nv0 = load o7\nv1 = load o1\nstore o6, v0\n", kStoresSums, SIDRA_PROGRAM_OPERAND_WAYS,
     SIDRA_PROGRAM_NONE, 1},
    {"VectorOfPrologue", kStoresCodes, "pass:\nv1 = load o5\nv2 = load o1\nstore o0, v0\n", SIDRA_PROGRAM_UNDEFINED, 4,
     SIDRA_PROGRAM_NONE},
    {"ScalarThatNothingWrote", kStoresCodes, "pass:\nv1 = load o5\nv2 = mul v1, s3\nstore o0, v2\nv3 = load o1\n",
     SIDRA_PROGRAM_UNDEFINED, 3, SIDRA_PROGRAM_NONE},
};

TEST(LayerPrograms, HaveTheirOwnOperands) {
    for (const ProgramRefusal& refusal : kProgramRefusals) {
        SCOPED_TRACE(refusal.name);
        Bench bench;
        Context& context = bench.context();
        Queue& queue = context.queue();
        LayerCase c = small_case();
        c.prologue = assemble(refusal.prologue);
        c.epilogue = assemble(refusal.epilogue);
        Placed placed(bench, context, queue, c);
        const uint64_t at = queue.submit(placed.cmd);
        bench.run();
        EXPECT_TRUE(faulted(queue, at, placed.cmd, {{SIDRA_FAULT_PROGRAM}},
                            program_fault(refusal.why, refusal.operand, refusal.instruction)));
    }
}

// At level `accurate` a LAYER reads the same sums as an MVM of the same vectors.
TEST(LayerAccurate, IsAnMvm) {
    constexpr uint32_t k = 40, n = 12, rows = 9;
    std::vector<int32_t> found[2];
    for (const bool layer : {false, true}) {
        BenchOptions options;
        options.level = SIDRA_CHIP_ACCURATE;
        Bench bench(options);
        Context& context = bench.context();
        Queue& queue = context.queue();
        std::mt19937 random(3);
        std::vector<int8_t> weights(k * n), in(rows * k);
        for (auto& w : weights) w = static_cast<int8_t>(static_cast<int>(random() % 255) - 127);
        for (auto& x : in) x = static_cast<int8_t>(random());
        const uint32_t object =
            context.weights({.rows = k, .cols = n, .encoding = SIDRA_ENCODING_DIFFERENTIAL, .crossbars = {0}});
        queue.submit(program(object, 0, k, 0, n, context.put(weights), n));
        const uint64_t input = context.put(in), out = context.alloc(rows * n * 4);
        if (layer) {
            sidra_pattern pattern{};
            pattern.addr = input, pattern.pixel_stride = pattern.row_stride = pattern.image_stride = k;
            pattern.height = 1, pattern.width = rows, pattern.channels = k;
            pattern.kernel_h = pattern.kernel_w = pattern.stride_h = pattern.stride_w = pattern.dilation_h =
                pattern.dilation_w = 1;
            pattern.type = pattern.codes = SIDRA_TYPE_S8;
            const uint32_t size[3] = {1, 1, rows};
            std::vector<sidra_operand> operands{dense(out, size, n, SIDRA_TYPE_S32)};
            operands[0].flags = SIDRA_OPERAND_WRITE;
            const Code code = assemble(programs("sums").epilogue);
            sidra_cmd cmd = blank(SIDRA_CMD_LAYER);
            cmd.layer.weights = static_cast<uint16_t>(object);
            cmd.layer.program = context.put(code);
            cmd.layer.operands = context.put(operands);
            cmd.layer.pattern = context.put(std::vector<sidra_pattern>{pattern});
            std::copy(std::begin(size), std::end(size), cmd.layer.size);
            cmd.layer.epilogue = static_cast<uint8_t>(code.size());
            cmd.layer.operand_count = 1;
            queue.submit(cmd);
        } else {
            queue.submit(mvm(static_cast<uint16_t>(object), SIDRA_TYPE_S8, SIDRA_TYPE_S32, rows, input, k, out, n * 4));
        }
        bench.run();
        ASSERT_TRUE(retired(queue));
        found[layer] = context.get<int32_t>(out, rows * n);
    }
    EXPECT_EQ(found[0], found[1]);
}

TEST(LayerMidFlight, AResetEndsIt) {
    constexpr uint32_t kRows = 512, kCols = 200, kWindows = 4000;
    std::mt19937_64 random(11);
    std::vector<int8_t> weights(kRows * kCols);
    std::vector<uint8_t> in(kRows * kWindows);
    for (auto& w : weights) w = static_cast<int8_t>(random());
    for (auto& x : in) x = static_cast<uint8_t>(random());
    Bench bench({.engine = SIDRA_CHIP_ENGINE_SCALAR, .workers = 2, .pages = 1u << 14});
    Context& context = bench.context();
    Queue& queue = context.queue();
    const uint32_t object = context.weights({.rows = kRows, .cols = kCols, .encoding = SIDRA_ENCODING_OFFSET});
    queue.submit(program(object, 0, kRows, 0, kCols, context.put(weights), kCols));
    bench.run();
    ASSERT_TRUE(retired(queue));
    sidra_pattern pattern{};
    pattern.addr = context.put(in), pattern.pixel_stride = pattern.channels = kRows;
    pattern.height = 1, pattern.width = kWindows;
    pattern.kernel_h = pattern.kernel_w = pattern.stride_h = pattern.stride_w = pattern.dilation_h =
        pattern.dilation_w = 1;
    pattern.type = pattern.codes = SIDRA_TYPE_U8;
    const uint32_t size[3] = {1, 1, kWindows};
    const uint64_t out = context.alloc(size_t{kWindows} * kCols * 4);
    std::vector<sidra_operand> operands{dense(out, size, kCols, SIDRA_TYPE_S32)};
    operands[0].flags = SIDRA_OPERAND_WRITE;
    const Code code = assemble(programs("sums").epilogue);
    sidra_cmd cmd = blank(SIDRA_CMD_LAYER);
    cmd.layer.weights = static_cast<uint16_t>(object);
    cmd.layer.program = context.put(code);
    cmd.layer.operands = context.put(operands);
    cmd.layer.pattern = context.put(std::vector<sidra_pattern>{pattern});
    std::copy(std::begin(size), std::end(size), cmd.layer.size);
    cmd.layer.epilogue = static_cast<uint8_t>(code.size());
    cmd.layer.operand_count = 1;

    bench.start_threads(1);
    const auto results = [&] { return context.get<int32_t>(out, size_t{kWindows} * kCols); };
    unsigned middles = 0;
    for (int i = 0; i < 5; i++) {
        const uint64_t progress = queue.state().progress;
        const uint64_t before = queue.timeline();
        queue.submit(cmd);
        while (queue.timeline() == before && queue.state().progress < progress + 1) std::this_thread::yield();
        middles += queue.timeline() == before;
        queue.reset();
        const auto after = results();
        EXPECT_EQ(after, results()) << "a reset queue does not write";
    }
    EXPECT_GT(middles, 0u) << "the test has looked at nothing";
    queue.submit(cmd);
    EXPECT_TRUE(bench.wait(queue, queue.next()));
    bench.stop_threads();
    EXPECT_TRUE(retired(queue));
    int32_t last = 0;
    for (uint32_t k = 0; k < kRows; k++)
        last += in[size_t{kWindows - 1} * kRows + k] * weights[size_t{k} * kCols + kCols - 1];
    EXPECT_EQ(results().back(), last) << "the packet works after a reset";
}

}  // namespace
}  // namespace sidra::chip_test
