// SPDX-License-Identifier: MIT
// Contexts share the chip's threads and their scratch memory. Packets of one context that fault half-way, in every unit
// that gathers, must not change the results of another when its packet continues.
#include <random>

#include "bench.h"
#include "packets.h"

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
    const auto strided = [&](sidra_cmd cmd) {
        cmd.vec.in_stride = kStride;
        return cmd;
    };
    std::vector<Attack> list;

    sidra_vec_pool geometry{};
    geometry.in_h = 2, geometry.in_w = 256, geometry.out_h = 1, geometry.out_w = 256;
    geometry.kernel_h = 2, geometry.kernel_w = geometry.stride_h = geometry.stride_w = 1;
    sidra_cmd pool = strided(vec(SIDRA_VEC_OP_POOL_MAX, SIDRA_TYPE_U8, SIDRA_TYPE_U8, 1, 1, rows, out));
    pool.vec.in2 = context.put(std::vector<sidra_vec_pool>{geometry});
    pool.vec.out_stride = 256;
    list.push_back({"POOL", pool});

    sidra_cmd relu = strided(vec(SIDRA_VEC_OP_RELU, SIDRA_TYPE_F32, SIDRA_TYPE_F32, 2, 256, rows, out));
    list.push_back({"RELU", relu});
    sidra_cmd add = vec(SIDRA_VEC_OP_ADD, SIDRA_TYPE_F32, SIDRA_TYPE_F32, 2, 256, out, out);
    add.vec.in2 = rows;
    add.vec.in2_stride = kStride;
    list.push_back({"ADD, second operand", add});
    sidra_cmd into = vec(SIDRA_VEC_OP_RELU, SIDRA_TYPE_F32, SIDRA_TYPE_F32, 2, 256, out, rows);
    into.vec.out_stride = kStride;
    list.push_back({"RELU, output", into});
    sidra_cmd sum = strided(vec(SIDRA_VEC_OP_REDUCE_SUM, SIDRA_TYPE_F32, SIDRA_TYPE_F32, 2, 256, rows, out));
    sum.vec.out_stride = 4;
    list.push_back({"REDUCE_SUM", sum});
    sidra_cmd transpose = strided(vec(SIDRA_VEC_OP_TRANSPOSE, SIDRA_TYPE_U8, SIDRA_TYPE_U8, 2, 256, rows, out));
    transpose.vec.out_stride = 2;
    list.push_back({"TRANSPOSE", transpose});
    // A row that crosses into an unmapped page.
    sidra_cmd gather = vec(SIDRA_VEC_OP_GATHER, SIDRA_TYPE_U8, SIDRA_TYPE_U8, 1, 256, rows + kPage - 128, out);
    gather.vec.in2 = context.put(std::vector<int32_t>{0});
    gather.vec.param1 = 1;
    list.push_back({"GATHER", gather});

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
