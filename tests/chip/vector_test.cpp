// SPDX-License-Identifier: MIT
// VECTOR on the chip against the second implementation in tests/vector, bit by bit, on all engines, with memory that is
// contiguous on the host and with pages in random order; and what the chip refuses.
#include <algorithm>

#include "vector/random_program.h"
#include "vector/verify.h"

#include "bench.h"
#include "packets.h"
#include "program/program_text.h"

namespace sidra::chip_test {
namespace {

using vector_reference::Packet;
using vector_reference::Random;

// A packet of the reference in the memory of a context.
class Placed {
   public:
    Placed(Context& context, const Packet& packet) : context_(context), bytes_(packet.memory.bytes().size()) {
        base_ = context.alloc(bytes_);
        context.write(base_, packet.memory.bytes().data(), bytes_);
        // Mutated addresses may be anything.
        std::vector<sidra_operand> operands = packet.operands;
        for (sidra_operand& o : operands) {
            o.addr += base_ - packet.memory.address();
            if (o.index) o.index += base_ - packet.memory.address();
        }
        cmd_ = blank(SIDRA_CMD_VECTOR);
        sidra_cmd_vector& v = cmd_.vector;
        v.instructions = static_cast<uint16_t>(packet.program.size());
        v.operand_count = static_cast<uint16_t>(operands.size());
        v.program = context.put(packet.program);
        if (!operands.empty()) v.operands = context.put(operands);
        std::copy(packet.size.begin(), packet.size.end(), v.size);
        std::copy(packet.param.begin(), packet.param.end(), v.param);
        operands_ = operands;
    }

    sidra_cmd& cmd() { return cmd_; }
    std::vector<sidra_operand>& operands() { return operands_; }
    std::vector<uint8_t> memory() const { return context_.get<uint8_t>(base_, bytes_); }

   private:
    Context& context_;
    size_t bytes_;
    uint64_t base_;
    sidra_cmd cmd_;
    std::vector<sidra_operand> operands_;
};

std::string first_difference(const std::vector<uint8_t>& expected, const std::vector<uint8_t>& found) {
    for (size_t i = 0; i < expected.size(); i++)
        if (expected[i] != found[i])
            return "byte " + std::to_string(i) + " of " + std::to_string(expected.size()) + ": expected " +
                   std::to_string(expected[i]) + ", is " + std::to_string(found[i]);
    return "";
}

// What a person needs to find a difference.
std::string describe(const Packet& packet) {
    std::string text = "size " + std::to_string(packet.size[0]) + " " + std::to_string(packet.size[1]) + " " +
                       std::to_string(packet.size[2]) + " " + std::to_string(packet.size[3]) + "\n";
    for (const sidra_operand& o : packet.operands) {
        text += "operand at byte " + std::to_string(o.addr - packet.memory.address()) + " type " +
                std::to_string(o.type) + " strides";
        for (const uint64_t stride : o.stride) text += " " + std::to_string(stride);
        text += " index " + std::to_string(o.index ? o.index - packet.memory.address() : 0) + " extent " +
                std::to_string(o.extent) + "\n";
    }
    return text + program::disassemble(packet.program);
}

struct Host {
    uint32_t engine;
    bool scatter;
    uint32_t workers;
};

class Vector : public ::testing::TestWithParam<Host> {};

constexpr int kPacketsOfABench = 40;

// Compares what the chip stores with what the reference does.
void compare(const Host& host, uint64_t seed, int benches) {
    for (int b = 0; b < benches; b++) {
        BenchOptions options;
        options.engine = host.engine;
        options.scatter = host.scatter;
        options.workers = host.workers;
        options.pages = 1u << 15;
        options.seed = seed + static_cast<uint64_t>(b) + 1;
        Bench bench(options);
        Context& context = bench.context();
        Queue& queue = context.queue();
        for (int n = 0; n < kPacketsOfABench; n++) {
            Random random(seed * 1'000'003 + static_cast<uint64_t>(b * kPacketsOfABench + n));
            Packet packet = vector_reference::random_packet(random);
            Placed placed(context, packet);
            const uint64_t at = queue.submit(placed.cmd());
            bench.run();
            const auto bad = execute(packet.program, packet.operands, packet.size, packet.param, packet.memory);
            const std::string where = "seed " + std::to_string(seed) + " bench " + std::to_string(b) + " packet " +
                                      std::to_string(n) + " engine " + std::to_string(host.engine);
            if (bad) {
                ASSERT_TRUE(faulted(queue, at, placed.cmd(), {{SIDRA_FAULT_VALUE}}, static_cast<uint64_t>(*bad)))
                    << where;
                queue.reset();
                continue;
            }
            ASSERT_TRUE(retired(queue)) << where;
            ASSERT_EQ("", first_difference(packet.memory.bytes(), placed.memory())) << where << "\n"
                                                                                    << describe(packet);
        }
    }
}

TEST_P(Vector, IsTheReference) {
    const Host host = GetParam();
    compare(host, 1 + host.engine + 10 * host.scatter, 2000 / kPacketsOfABench / static_cast<int>(kStep) + 1);
}

std::vector<Host> hosts() {
    std::vector<Host> all;
    for (const uint32_t engine : available_engines())
        for (const bool scatter : {false, true}) all.push_back({engine, scatter, scatter ? 1u : 3u});
    return all;
}

INSTANTIATE_TEST_SUITE_P(Engines, Vector, ::testing::ValuesIn(hosts()), [](const auto& test) {
    return "engine_" + std::to_string(test.param.engine) + (test.param.scatter ? "_scattered" : "_contiguous");
});

// Of three operands that are one array, the one that is written comes last: what a pass stores, the next one loads
// through any of them, also where the chip works on copies of rows.
TEST(VectorArrays, AllOperandsOfAnArrayShareItsRows) {
    constexpr uint32_t kCols = 3000;  // several pages
    Bench bench;
    Context& context = bench.context();
    const auto assembly = program::assemble(
        "pass:\nv0 = load o0\nv1 = mul v0, 3.0\nstore o2, v1\n"
        "pass:\nv0 = load o1\nv1 = add v0, 1.0\nstore o2, v1\n");
    const auto code = std::get<program::Code>(assembly).instructions;
    std::vector<sidra_operand> operands(3);
    const uint64_t array = context.put(std::vector<float>(kCols, 2.0f));
    for (sidra_operand& o : operands) o.addr = array, o.stride[3] = 4, o.type = SIDRA_TYPE_F32;
    operands[2].flags = SIDRA_OPERAND_WRITE;
    sidra_cmd cmd = blank(SIDRA_CMD_VECTOR);
    cmd.vector.program = context.put(code);
    cmd.vector.operands = context.put(operands);
    cmd.vector.instructions = static_cast<uint16_t>(code.size());
    cmd.vector.operand_count = 3;
    std::fill_n(cmd.vector.size, 3, 1u);
    cmd.vector.size[3] = kCols;
    Queue& queue = context.queue();
    queue.submit(cmd);
    bench.run();
    ASSERT_TRUE(retired(queue));
    EXPECT_EQ(std::vector<float>(kCols, 7.0f), context.get<float>(array, kCols));
}

// Changed bytes: the chip refuses what the second verifier refuses, and nothing else.
TEST(VectorRefusal, IsThatOfTheSecondVerifier) {
    uint32_t refused = 0;
    for (int b = 0; b < 40 / static_cast<int>(kStep) + 1; b++) {
        BenchOptions options;
        options.pages = 1u << 15;
        Bench bench(options);
        Context& context = bench.context();
        Queue& queue = context.queue();
        for (int n = 0; n < kPacketsOfABench; n++) {
            Random random(77'000 + static_cast<uint64_t>(b * kPacketsOfABench + n));
            Packet packet = vector_reference::random_packet(random);
            vector_reference::mutate(packet, random);
            Placed placed(context, packet);
            const auto before = placed.memory();
            queue.submit(placed.cmd());
            bench.run();
            const auto verdict = vector_reference::verify(packet.program, placed.operands(), packet.size);
            const sidra_queue_state state = queue.state();
            const bool by_program = state.run_state == SIDRA_QUEUE_FAULTED && state.fault.cause == SIDRA_FAULT_PROGRAM;
            ASSERT_EQ(verdict.why != SIDRA_PROGRAM_OK, by_program)
                << "bench " << b << " packet " << n << ": reason " << verdict.why << " instruction "
                << verdict.instruction << " operand " << verdict.operand << "; the chip: cause " << state.fault.cause
                << " address " << std::hex << state.fault.address;
            if (by_program) {
                refused++;
                ASSERT_EQ("", first_difference(before, placed.memory())) << "bench " << b << " packet " << n;
            }
            if (state.run_state == SIDRA_QUEUE_FAULTED) queue.reset();
        }
    }
    EXPECT_GT(refused, 100u / kStep);
}

}  // namespace
}  // namespace sidra::chip_test
