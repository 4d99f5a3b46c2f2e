// SPDX-License-Identifier: MIT
// Contexts share the chip's threads and their scratch memory. Packets of one context that fault half-way, in every unit
// that gathers, must not change the results of another when its packet continues.
#include <random>

#include "bench.h"
#include "packets.h"
#include "vectors.h"

namespace sidra::chip_test {
namespace {

constexpr uint32_t kInputs = 256, kOutputs = 2048, kVectors = 4;

// An MVM of eight columns of tiles. The reference engine needs several units for the columns of one block of vectors,
// and converts that block once.
class Victim {
   public:
    Victim(Bench& bench, uint32_t in_type) : context_(bench.context()), queue_(context_.queue()), in_type_(in_type) {
        std::mt19937_64 random(3);
        std::vector<int8_t> w(size_t{kInputs} * kOutputs);
        for (int8_t& value : w) value = static_cast<int8_t>(random());
        std::vector<int8_t> x(size_t{kInputs} * kVectors);
        for (int8_t& value : x) value = static_cast<int8_t>(random() % 128);
        if (in_type == SIDRA_TYPE_F32) in_ = context_.put(std::vector<float>(x.begin(), x.end()));
        else in_ = context_.put(x);
        out_ = context_.alloc(uint64_t{kVectors} * kOutputs * 4);
        weights_ = static_cast<uint16_t>(context_.weights({.rows = kInputs, .cols = kOutputs}));
        queue_.submit(program(weights_, 0, kInputs, 0, kOutputs, context_.put(w), kOutputs));
        bench.run();
        EXPECT_TRUE(retired(queue_));
        for (uint32_t b = 0; b < kVectors; b++)
            for (uint32_t n = 0; n < kOutputs; n++) {
                int32_t sum = 0;
                for (uint32_t k = 0; k < kInputs; k++) sum += x[b * kInputs + k] * w[size_t{k} * kOutputs + n];
                want_.push_back(sum);
            }
    }
    void submit() {
        queue_.push(fill(out_, want_.size() * 4, 0xdd, 1));
        queue_.push(mvm(weights_, in_type_, SIDRA_TYPE_S32, kVectors, in_, kInputs * element_size(in_type_), out_,
                        kOutputs * 4));
        queue_.publish();
        queue_.doorbell();
    }
    bool done() const { return queue_.timeline() == queue_.next(); }
    size_t wrong() const {
        const auto got = context_.get<int32_t>(out_, want_.size());
        size_t count = 0;
        for (size_t i = 0; i < got.size(); i++) count += got[i] != want_[i];
        return count;
    }

   private:
    Context& context_;
    Queue& queue_;
    uint32_t in_type_;
    uint16_t weights_;
    uint64_t in_, out_;
    std::vector<int32_t> want_;
};

struct Attack {
    const char* name;
    sidra_cmd cmd;
};

// Packets that gather some rows, all 0x5a, and fault on the next one.
std::vector<Attack> attacks(Context& context) {
    // Rows three pages apart: the first is mapped, the second is not.
    const uint64_t rows = context.reserve(16 * kPage);
    context.map(rows, context.bus().alloc_page());
    const std::vector<uint8_t> bytes(kPage, 0x5a);
    context.write(rows, bytes.data(), kPage);
    const uint64_t out = context.alloc(4 * kPage);
    constexpr uint32_t kStride = 3 * kPage;
    constexpr uint32_t kF32 = SIDRA_TYPE_F32, kU8 = SIDRA_TYPE_U8;
    std::vector<Attack> list;

    sidra_pattern pattern{};
    pattern.addr = rows, pattern.type = kU8;
    pattern.height = 2, pattern.width = 256, pattern.channels = 1;
    pattern.kernel_h = 2, pattern.kernel_w = pattern.stride_h = pattern.stride_w = 1;
    pattern.dilation_h = pattern.dilation_w = 1;
    pattern.row_stride = kStride, pattern.pixel_stride = 1;
    sidra_cmd pool = blank(SIDRA_CMD_POOL);
    pool.pool.op = SIDRA_POOL_MAX;
    pool.pool.pattern = context.put(std::vector<sidra_pattern>{pattern});
    pool.pool.out = out;
    pool.pool.size[0] = pool.pool.size[1] = 1, pool.pool.size[2] = 256;
    pool.pool.out_stride[2] = 1;
    list.push_back({"POOL", pool});

    sidra_cmd sorted = sort(kF32, 2, 256, rows, out);
    sorted.sort.in_stride = kStride;
    list.push_back({"SORT", sorted});
    list.push_back({"VECTOR", relu(context, 2, 256, {rows, kF32, kStride}, {out})});
    list.push_back({"VECTOR, second operand", add(context, 2, 256, {out}, {rows, kF32, kStride}, {out})});
    list.push_back({"VECTOR, output", relu(context, 2, 256, {out}, {rows, kF32, kStride})});
    list.push_back(
        {"VECTOR, sums of rows", vector_rows(context, "pass:\nv0 = load o0\ns0 = reduce_sum v0\nstore o1, s0\n", 2, 256,
                                             {{rows, kF32, kStride}, {out, kF32, 0, true}})});
    sidra_cmd columns = relu(context, 256, 2, {rows, kU8, 1}, {out, kU8});  // columns three pages apart
    auto operand = context.get<sidra_operand>(columns.vector.operands, 1).at(0);
    operand.stride[3] = kStride;
    context.write(columns.vector.operands, &operand, sizeof operand);
    list.push_back({"VECTOR, transposed", columns});
    // A row that crosses into an unmapped page.
    list.push_back({"VECTOR, at an index", relu(context, 1, 256, {rows + kPage - 128, kU8}, {out, kU8})});
    operand = context.get<sidra_operand>(list.back().cmd.vector.operands, 1).at(0);
    operand.index = context.put(std::vector<int32_t>{0});
    operand.index_type = SIDRA_TYPE_S32, operand.extent = 1;
    context.write(list.back().cmd.vector.operands, &operand, sizeof operand);

    const uint32_t weights = context.weights({.rows = 256, .cols = 16, .crossbars = {8}});
    list.push_back({"PROGRAM", program(weights, 0, 2, 0, 16, rows, kStride)});
    return list;
}

class Scratch : public ::testing::TestWithParam<uint32_t> {};

TEST_P(Scratch, FaultOfOneContextChangesNoResultOfAnother) {
    Bench bench({.profile = SIDRA_CHIP_Y1, .engine = SIDRA_CHIP_ENGINE_SCALAR});
    // Crossbar 8 is the attacker's.
    Victim victim(bench, GetParam());
    Context& other = bench.context();
    Queue& queue = other.queue();
    for (const Attack& attack : attacks(other)) {
        SCOPED_TRACE(attack.name);
        victim.submit();
        unsigned rounds = 0;
        for (; !victim.done() && rounds < 1000; rounds++) {
            queue.submit(attack.cmd);
            for (unsigned slices = 0; slices < 100 && queue.run_state() != SIDRA_QUEUE_FAULTED; slices++)
                bench.run_once();
            ASSERT_EQ(queue.run_state(), uint32_t{SIDRA_QUEUE_FAULTED}) << "the attack is one";
            queue.reset();
        }
        bench.run();
        ASSERT_TRUE(victim.done());
        EXPECT_GT(rounds, 3u) << "it came between the victim's units";
        EXPECT_EQ(victim.wrong(), 0u);
    }
}

INSTANTIATE_TEST_SUITE_P(, Scratch,
                         ::testing::Values(uint32_t{SIDRA_TYPE_U8}, uint32_t{SIDRA_TYPE_S8}, uint32_t{SIDRA_TYPE_F32}),
                         [](const auto& info) {
                             return info.param == SIDRA_TYPE_U8 ? "U8" : info.param == SIDRA_TYPE_S8 ? "S8" : "F32";
                         });

}  // namespace
}  // namespace sidra::chip_test
