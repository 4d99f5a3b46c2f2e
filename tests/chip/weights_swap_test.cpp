// SPDX-License-Identifier: MIT
// A weights entry that names something else when a long packet goes on: its units were planned for one object.
#include <algorithm>
#include <numeric>

#include "bench.h"
#include "packets.h"

namespace sidra::chip_test {
namespace {

constexpr uint32_t kDifferential = SIDRA_ENCODING_DIFFERENTIAL, kOffset = SIDRA_ENCODING_OFFSET;
constexpr uint32_t kVectors = 1024;

class WeightsSwap : public ::testing::TestWithParam<sidra_cmd_opcode> {
   protected:
    struct Shape {
        const char* what;
        uint32_t rows, cols, encoding;
    };
    static bool computes() { return GetParam() == SIDRA_CMD_MVM || GetParam() == SIDRA_CMD_LAYER; }
    static Shape planned() {
        return computes() ? Shape{"the same", 256, 512, kOffset} : Shape{"the same", 16384, 128, kDifferential};
    }
    static std::vector<Shape> others() {
        const Shape p = planned();
        return {{"one crossbar", 1, 1, kOffset},
                {"one crossbar, the same rows", 256, 1, kOffset},
                {"wider", p.rows, 2 * p.cols, p.encoding},
                {"higher", p.rows + 256, p.cols, p.encoding},
                {"other encoding", p.rows, p.cols, p.encoding == kOffset ? kDifferential : kOffset},
                {"another object", p.rows, p.cols, p.encoding}};
    }

    void SetUp() override { ASSERT_TRUE(sidra_chip_set_knob(bench.chip(), SIDRA_KNOB_SLOW_TILE_NS, 1000)); }

    // An object with its cells.
    uint32_t object(const Shape& shape) {
        const uint32_t weights = context.weights({.rows = shape.rows, .cols = shape.cols, .encoding = shape.encoding});
        queue.submit(program(weights, 0, shape.rows, 0, shape.cols, data, shape.cols));
        bench.run();
        EXPECT_TRUE(retired(queue));
        return weights;
    }
    // Makes the chip cache as many objects as it does: it reads the entries of all others again and again.
    void fill_cache() {
        for (uint32_t left = 2 * bench.crossbars_total(); left > 0;) {
            const uint32_t tiles = std::min(left, 1024u);
            std::vector<uint32_t> crossbars(tiles);
            std::iota(crossbars.begin(), crossbars.end(), 0u);
            const uint32_t weights =
                context.weights({.rows = tiles * 256, .cols = 256, .encoding = kOffset, .crossbars = crossbars});
            const sidra_cmd cmd = readback(weights, 0, 1, 0, 1, data, 1);
            const uint64_t at = other.submit(cmd);
            bench.run();
            ASSERT_TRUE(faulted(other, at, cmd, {{SIDRA_FAULT_UNPROGRAMMED}}));
            other.reset();
            left -= tiles;
        }
    }
    sidra_cmd packet(uint32_t weights) {
        const Shape p = planned();
        switch (GetParam()) {
            case SIDRA_CMD_PROGRAM:
                return program(weights, 0, p.rows, 0, p.cols, data, p.cols);
            case SIDRA_CMD_READBACK:
                return readback(weights, 0, p.rows, 0, p.cols, out, p.cols);
            case SIDRA_CMD_MVM:
                return mvm(static_cast<uint16_t>(weights), SIDRA_TYPE_U8, SIDRA_TYPE_S32, kVectors, data, p.rows, out,
                           p.cols * 4);
            default:
                return layer(weights);
        }
    }
    sidra_cmd layer(uint32_t weights) {
        const Shape p = planned();
        sidra_pattern pattern{};
        pattern.addr = data, pattern.pixel_stride = pattern.channels = static_cast<uint16_t>(p.rows);
        pattern.height = 1, pattern.width = kVectors;
        pattern.kernel_h = pattern.kernel_w = pattern.stride_h = pattern.stride_w = 1;
        pattern.dilation_h = pattern.dilation_w = 1;
        sidra_operand sums{};
        sums.addr = out, sums.type = SIDRA_TYPE_S32, sums.flags = SIDRA_OPERAND_WRITE;
        sums.stride[2] = p.cols * 4, sums.stride[3] = 4;
        std::vector<sidra_vector_instruction> code(2);
        code[0] = {.op = SIDRA_VECTOR_OP_LOAD_INT, .flags = SIDRA_VECTOR_PASS, .operand = SIDRA_OPERAND_SUMS};
        code[1] = {.op = SIDRA_VECTOR_OP_STORE_INT};
        sidra_cmd cmd = blank(SIDRA_CMD_LAYER);
        cmd.layer.weights = static_cast<uint16_t>(weights);
        cmd.layer.operands = context.put(std::vector{sums});
        cmd.layer.program = context.put(code);
        cmd.layer.pattern = context.put(std::vector{pattern});
        cmd.layer.size[0] = cmd.layer.size[1] = 1, cmd.layer.size[2] = kVectors;
        cmd.layer.epilogue = 2, cmd.layer.operand_count = 1;
        return cmd;
    }
    // Runs some units of the packet, not all.
    uint64_t begin(const sidra_cmd& cmd) {
        queue.submit(nop());  // after a reset the state page is that of before
        bench.run();
        const uint64_t before = queue.state().progress, at = queue.submit(cmd);
        for (int i = 0; i < 1000 && queue.state().progress == before; i++) {
            other.submit(nop());  // so that a slice ends in the middle of something
            bench.run_once();
        }
        EXPECT_GT(queue.state().progress, before);
        EXPECT_EQ(queue.timeline(), at) << "the test looks at nothing";
        return at;
    }
    void clear(uint32_t weights) {
        sidra_hw_weights none = context.weights_entry(weights);
        none.flags = 0;
        context.store_weights_entry(weights, none);
        EXPECT_EQ(bench.admin(SIDRA_ADMIN_QUIESCE_WEIGHTS, context.index(), weights), uint32_t{SIDRA_ADMIN_OK});
    }
    // `cached`: the driver does all that it must before it changes an entry, but for the packet.
    void swap(bool cached) {
        const uint32_t weights = object(planned());
        const sidra_hw_weights entry = context.weights_entry(weights);
        for (const Shape& shape : others()) {
            SCOPED_TRACE(shape.what);
            const uint32_t with = object(shape);
            const sidra_cmd cmd = packet(weights);
            const uint64_t at = begin(cmd);
            if (cached) clear(weights);
            context.store_weights_entry(weights, context.weights_entry(with));
            bench.run();
            EXPECT_TRUE(faulted(queue, at, cmd, {{SIDRA_FAULT_WEIGHTS}}, weights));
            queue.reset();
            if (cached) clear(weights);
            context.store_weights_entry(weights, entry);
        }
        SCOPED_TRACE("the same");
        begin(packet(weights));
        if (cached) clear(weights);
        context.store_weights_entry(weights, entry);
        bench.run();
        EXPECT_TRUE(retired(queue));
    }

    Bench bench{{.profile = SIDRA_CHIP_Y1, .pages = 32768}};
    Context& context = bench.context();
    Queue &queue = context.queue(), &other = context.queue({.log2 = 10});
    const uint64_t data = context.alloc((16384 + 256) * 256), out = context.alloc(16384 * 256);
};

TEST_P(WeightsSwap, FaultsWithAnotherObject) { swap(true); }

TEST_P(WeightsSwap, FaultsWithAnotherObjectThatIsNotCached) {
    fill_cache();
    swap(false);
}

INSTANTIATE_TEST_SUITE_P(, WeightsSwap,
                         ::testing::Values(SIDRA_CMD_PROGRAM, SIDRA_CMD_READBACK, SIDRA_CMD_MVM, SIDRA_CMD_LAYER));

}  // namespace
}  // namespace sidra::chip_test
