// SPDX-License-Identifier: MIT
// The stride of a dimension of one element may be any number. Packets of every opcode that has strides must do the same
// whatever it is: on all engines, with memory that is contiguous on the host and with pages in random order.
#include <algorithm>
#include <array>

#include "hosts.h"
#include "packets.h"
#include "program/program_text.h"

namespace sidra::chip_test {
namespace {

constexpr uint64_t kStrides[] = {uint64_t{1} << 63, ~uint64_t{0} - 7, (uint64_t{1} << 47) + 8, 64};
constexpr uint32_t kShortStrides[] = {0xffff'fff8, 0x8000'0000};
constexpr uint64_t kOutputBytes = 16 << 10;
constexpr uint32_t kF32 = SIDRA_TYPE_F32, kS32 = SIDRA_TYPE_S32, kU8 = SIDRA_TYPE_U8;

class Strides : public ::testing::TestWithParam<Host> {
   protected:
    // What the packet that `make` returns for a stride leaves in memory.
    template <typename Make, typename Stride>
    std::vector<uint8_t> result(Make&& make, Stride stride) {
        const std::vector<uint8_t> before(kOutputBytes, 0xee);
        context_.write(out_, before.data(), before.size());
        queue_.submit(make(stride));
        bench_.run();
        EXPECT_TRUE(retired(queue_)) << "stride 0x" << std::hex << stride << ", cause " << std::dec
                                     << queue_.state().fault.cause << ", 0x" << std::hex
                                     << queue_.state().fault.address;
        if (queue_.run_state() == SIDRA_QUEUE_FAULTED) queue_.reset();
        auto bytes = context_.get<uint8_t>(out_, kOutputBytes);
        EXPECT_NE(bytes, before);
        return bytes;
    }
    // `make`: returns the packet whose unused strides are what it is called with.
    template <typename Make>
    void expect_same(Make&& make, const std::string& what) {
        SCOPED_TRACE(what);
        const auto expected = result(make, uint64_t{0});
        for (const uint64_t stride : kStrides) EXPECT_EQ(expected, result(make, stride)) << std::hex << stride;
    }
    template <typename Make>
    void expect_same_from(uint32_t natural, Make&& make, const std::string& what) {
        SCOPED_TRACE(what);
        const auto expected = result(make, natural);
        for (const uint32_t stride : kShortStrides) EXPECT_EQ(expected, result(make, stride)) << std::hex << stride;
    }

    // Addresses of input.
    uint64_t floats() {
        std::vector<float> values(8192);
        for (size_t i = 0; i < values.size(); i++) values[i] = static_cast<float>(i % 97);
        return context_.put(values);
    }
    uint64_t bytes() {
        std::vector<uint8_t> values(16384);
        for (size_t i = 0; i < values.size(); i++) values[i] = static_cast<uint8_t>(i % 97);
        return context_.put(values);
    }

    Bench bench_{BenchOptions{.engine = GetParam().engine, .scatter = GetParam().scatter, .pages = size_t{1} << 15}};
    Context& context_ = bench_.context();
    Queue& queue_ = context_.queue();
    const uint64_t out_ = context_.alloc(kOutputBytes);
};

std::vector<sidra_vector_instruction> assemble(const std::string& text) {
    auto code = std::get<program::Code>(program::assemble(text)).instructions;
    for (auto& i : code)  // o5, o6, o7: SUMS, CODES, INPUT
        if (i.operand >= 5) i.operand = static_cast<uint8_t>(SIDRA_OPERAND_SUMS + i.operand - 5);
    return code;
}

using Sizes = std::array<uint32_t, 4>;

// Adjacent elements; dimensions of one element have the stride `unused`.
sidra_operand operand(uint64_t addr, uint32_t type, const Sizes& size, uint64_t unused, bool write = false) {
    sidra_operand o{};
    o.addr = addr, o.type = static_cast<uint8_t>(type), o.flags = write ? SIDRA_OPERAND_WRITE : 0;
    uint64_t stride = element_size(type);
    for (unsigned d = 4; d-- > 0; stride *= size[d]) o.stride[d] = size[d] == 1 ? unused : stride;
    return o;
}

// Sizes, with 1 in some dimensions: each subset of them, but none.
std::vector<Sizes> with_ones(const Sizes& size) {
    std::vector<Sizes> all;
    for (unsigned ones = 1; ones < 16; ones++) {
        all.push_back(size);
        for (unsigned d = 0; d < 4; d++)
            if (ones >> d & 1) all.back()[d] = 1;
    }
    return all;
}
std::string text_of(const Sizes& size) {
    std::string text;
    for (const uint32_t n : size) text += std::to_string(n) + " ";
    return text;
}

TEST_P(Strides, OfVector) {
    enum Second { kSame, kRow, kIndexed, kGathered };
    struct Case {
        const char* text;
        Second second;
        uint32_t type = kF32;
    };
    const Case cases[] = {
        {"pass:\nv0 = load o0\nv1 = load o1\nv2 = add v0, v1\nstore o2, v2\n", kSame},
        {"pass:\nv0 = load o0\nv1 = load o1\nv2 = add v0, v1\ns0 = reduce_sum v2\npass:\nv0 = load o0\n"
         "v1 = add v0, s0\nstore o2, v1\n",
         kSame},
        {"pass:\nv0 = load_int o0\nv1 = add_int v0, column\nv2 = load_int o1\nv3 = add_int v1, v2\nstore_int o2, v3\n",
         kSame, kS32},
        {"pass:\ns1 = load o1\npass:\nv0 = load o0\nv1 = add v0, s1\nstore o2, v1\n", kRow},
        {"pass:\nv0 = load o0\nv1 = load o1\nv2 = add v0, v1\nstore o2, v2\n", kIndexed},
        {"pass:\nv3 = sub_int column, column\nv1 = gather o1, v3\nv0 = load o0\nv2 = add v0, v1\nstore o2, v2\n",
         kGathered},
    };
    const uint64_t a = floats(), b = floats(), zeros = context_.put(std::vector<int32_t>(4096));
    for (const Case& c : cases) {
        const auto code = assemble(c.text);
        const uint64_t program = context_.put(code);
        for (const Sizes& size : with_ones({2, 3, 5, 70}))
            expect_same(
                [&](uint64_t unused) {
                    sidra_operand second = operand(b, c.type, size, unused);
                    if (c.second == kRow) second = operand(b, c.type, {size[0], size[1], size[2], 1}, unused);
                    if (c.second == kRow) second.stride[3] = 0;
                    if (c.second == kIndexed) {
                        second.index = zeros, second.index_type = SIDRA_TYPE_S32, second.extent = 1;
                        second.stride[2] = unused;
                    }
                    if (c.second == kGathered) second.extent = 1, second.stride[3] = unused;
                    const std::vector<sidra_operand> operands = {operand(a, c.type, size, unused), second,
                                                                 operand(out_, c.type, size, unused, true)};
                    sidra_cmd cmd = blank(SIDRA_CMD_VECTOR);
                    cmd.vector.program = program, cmd.vector.operands = context_.put(operands);
                    std::copy(size.begin(), size.end(), cmd.vector.size);
                    cmd.vector.instructions = static_cast<uint16_t>(code.size());
                    cmd.vector.operand_count = 3;
                    return cmd;
                },
                c.text + text_of(size));
    }
}

TEST_P(Strides, OfMatmul) {
    const auto short_code = assemble("pass:\nv0 = load o5\nstore o2, v0\n");
    const auto long_code = assemble("pass:\nv0 = load o5\nv1 = load o3\nv2 = add v0, v1\nstore o2, v2\n");
    const uint64_t short_program = context_.put(short_code), long_program = context_.put(long_code);
    const uint64_t float_input = floats(), byte_input = bytes();
    for (const Sizes& size : with_ones({2, 3, 4, 9}))
        for (const uint32_t k : {1u, 6u})
            for (const uint32_t type : {kF32, kU8})
                for (const bool is_long : {false, true}) {
                    const uint64_t input = type == kF32 ? float_input : byte_input;
                    expect_same(
                        [&](uint64_t unused) {
                            std::vector<sidra_operand> operands = {
                                operand(input, type, {size[0], size[1], size[2], k}, unused),
                                operand(input, type, {size[0], size[1], k, size[3]}, unused),
                                operand(out_, kF32, size, unused, true)};
                            if (is_long) operands.push_back(operand(float_input, kF32, size, unused));
                            sidra_cmd cmd = blank(SIDRA_CMD_MATMUL);
                            cmd.matmul.program = is_long ? long_program : short_program;
                            cmd.matmul.operands = context_.put(operands);
                            cmd.matmul.batch[0] = size[0], cmd.matmul.batch[1] = size[1];
                            cmd.matmul.m = size[2], cmd.matmul.n = size[3], cmd.matmul.k = k;
                            cmd.matmul.instructions =
                                static_cast<uint16_t>(is_long ? long_code.size() : short_code.size());
                            cmd.matmul.operand_count = static_cast<uint16_t>(operands.size());
                            return cmd;
                        },
                        text_of(size) + "k " + std::to_string(k) + " type " + std::to_string(type));
                }
}

// Images of windows[1] x windows[2] pixels of which each window has one, and the pixels around it that there are.
sidra_pattern pattern(uint64_t addr, uint32_t type, const Sizes& windows, uint64_t unused) {
    sidra_pattern p{};
    p.addr = addr, p.type = static_cast<uint8_t>(type);
    p.height = windows[1], p.width = windows[2], p.channels = 16;
    p.kernel_h = windows[1] == 1 ? 1 : 3, p.kernel_w = windows[2] == 1 ? 1 : 3;
    p.pad_h = p.kernel_h / 2, p.pad_w = p.kernel_w / 2;
    p.stride_h = p.stride_w = p.dilation_h = p.dilation_w = 1;
    const sidra_operand o = operand(addr, type, {windows[0], windows[1], windows[2], p.channels}, unused);
    p.image_stride = o.stride[0], p.row_stride = o.stride[1], p.pixel_stride = o.stride[2];
    return p;
}

TEST_P(Strides, OfLayer) {
    const auto plain = assemble("pass:\nv0 = load_int o5\nstore_int o0, v0\n");
    const auto dynamic = assemble(
        "pass:\nv0 = load o7\nv1 = load o1\nv1 = add v0, v1\ns0 = reduce_max v1\nstore o6, v1\n"
        "pass:\nv0 = load o5\nv1 = mul v0, s0\nstore o0, v1\n");
    const uint64_t plain_at = context_.put(plain), dynamic_at = context_.put(dynamic);
    const uint64_t float_input = floats(), byte_input = bytes();
    std::vector<int8_t> values(144 * 12);
    for (size_t i = 0; i < values.size(); i++) values[i] = static_cast<int8_t>(i * 37);
    for (const Sizes& size : with_ones({2, 3, 5, 12})) {
        const sidra_pattern shape = pattern(0, kU8, size, 0);
        const uint32_t k = uint32_t{shape.kernel_h} * shape.kernel_w * shape.channels;
        const uint32_t weights = context_.weights({.rows = k, .cols = size[3], .crossbars = {0}});
        queue_.submit(program(weights, 0, k, 0, size[3], context_.put(values), size[3]));
        for (const bool prologue : {false, true})
            expect_same(
                [&](uint64_t unused) {
                    std::vector<sidra_operand> operands = {operand(out_, prologue ? kF32 : kS32, size, unused, true)};
                    if (prologue)
                        operands.push_back(operand(float_input, kF32, {size[0], size[1], size[2], k}, unused));
                    sidra_pattern windows =
                        pattern(prologue ? float_input : byte_input, prologue ? kF32 : kU8, size, unused);
                    windows.codes = SIDRA_TYPE_U8, windows.zero = prologue ? 0 : 3;
                    sidra_cmd cmd = blank(SIDRA_CMD_LAYER);
                    cmd.layer.weights = static_cast<uint16_t>(weights);
                    cmd.layer.program = prologue ? dynamic_at : plain_at;
                    cmd.layer.operands = context_.put(operands);
                    cmd.layer.pattern = context_.put(std::vector<sidra_pattern>{windows});
                    std::copy_n(size.begin(), 3, cmd.layer.size);
                    cmd.layer.prologue = prologue ? 5 : 0;
                    cmd.layer.epilogue = prologue ? 3 : 2;
                    cmd.layer.operand_count = static_cast<uint8_t>(operands.size());
                    return cmd;
                },
                text_of(size) + (prologue ? "with a prologue" : ""));
    }
}

TEST_P(Strides, OfPool) {
    const uint64_t float_input = floats(), byte_input = bytes();
    for (const Sizes& size : with_ones({2, 3, 5, 16})) {
        if (size[3] == 1) continue;  // channels have no stride
        for (const uint8_t op : {SIDRA_POOL_MAX, SIDRA_POOL_ARGMAX, SIDRA_POOL_AVERAGE}) {
            const uint32_t type = op == SIDRA_POOL_ARGMAX ? kU8 : kF32;
            expect_same(
                [&](uint64_t unused) {
                    const sidra_operand out = operand(out_, SIDRA_TYPE_F32, size, unused);
                    sidra_cmd cmd = blank(SIDRA_CMD_POOL);
                    cmd.pool.op = op;
                    cmd.pool.pattern = context_.put(std::vector<sidra_pattern>{
                        pattern(type == kU8 ? byte_input : float_input, type, size, unused)});
                    cmd.pool.out = out_;
                    std::copy_n(size.begin(), 3, cmd.pool.size);
                    std::copy_n(out.stride, 3, cmd.pool.out_stride);
                    return cmd;
                },
                text_of(size) + "operation " + std::to_string(op));
        }
    }
}

TEST_P(Strides, OfTheOthers) {
    const uint64_t float_input = floats(), byte_input = bytes();
    expect_same_from(
        1024,
        [&](uint32_t stride) {
            sidra_cmd cmd = sort(kF32, 1, 256, float_input, out_);
            cmd.sort.indices = out_ + 2048, cmd.sort.index_type = SIDRA_TYPE_S32;
            cmd.sort.in_stride = cmd.sort.values_stride = cmd.sort.indices_stride = stride;
            return cmd;
        },
        "SORT");
    const uint32_t weights = context_.weights({.rows = 256, .cols = 16, .crossbars = {0}});
    queue_.submit(program(weights, 0, 256, 0, 16, context_.put(std::vector<int8_t>(256 * 16, 3)), 16));
    for (const uint32_t type : {kU8, uint32_t{SIDRA_TYPE_S8}, kF32})
        expect_same_from(
            1024,
            [&](uint32_t stride) {
                return mvm(static_cast<uint16_t>(weights), type, SIDRA_TYPE_S32, 1,
                           type == kF32 ? float_input : byte_input, stride, out_, stride);
            },
            "MVM");
    // A row that is programmed, and then read back.
    expect_same_from(
        16,
        [&](uint32_t stride) {
            queue_.submit(program(weights, 7, 1, 0, 16, byte_input + 40, stride));
            return readback(weights, 7, 1, 0, 16, out_, stride);
        },
        "PROGRAM and READBACK");
}

INSTANTIATE_TEST_SUITE_P(Engines, Strides, ::testing::ValuesIn(hosts()), host_name);

}  // namespace
}  // namespace sidra::chip_test
