// SPDX-License-Identifier: MIT
// Saving and loading: a loaded chip continues exactly where the saved one stopped, and invalid streams are refused.
#include <algorithm>
#include <random>

#include "bench.h"
#include "packets.h"
#include "sidra_vector.h"
#include "stream.h"
#include "vectors.h"

namespace sidra::chip_test {
namespace {

void move_to_another_chip(Bench& bench) {
    bench.set_clock_step(0);
    const Stream stream = save(bench);
    bench.replace_chip();
    ASSERT_EQ(load(bench, stream), "");
    EXPECT_TRUE(save(bench) == stream) << "a copy of the copy differs";
    bench.set_clock_step(1);
}

template <typename T>
std::vector<T> counted(size_t count, uint32_t step) {
    std::vector<T> values(count);
    for (size_t i = 0; i < count; i++) values[i] = static_cast<T>(static_cast<uint32_t>(i) * step + 3);
    return values;
}

// Saved after every number of slices: two queues, so that each slice ends in the middle of something.
TEST(Save, HalfDoneQueuesGoOnBitExact) {
    unsigned middles = 0;
    for (unsigned slices = 1; slices <= 12; slices++) {
        SCOPED_TRACE(slices);
        Bench bench;
        Context& context = bench.context();
        Queue &a = context.queue(), &b = context.queue();
        constexpr size_t kBytes = 4 << 20;
        const auto data = counted<uint32_t>(kBytes / 4, 2654435761u);
        const uint64_t from = context.put(data), to = context.alloc(kBytes), sums = context.alloc(kBytes);
        a.submit(std::vector<sidra_cmd>{nop(), copy(to, from, kBytes), nop()});
        // In place: done twice, it would show.
        const RowsAt total{sums, SIDRA_TYPE_S32};
        const sidra_cmd once = add(context, 1024, 1024, total, {from, SIDRA_TYPE_S32}, total);
        b.submit(std::vector<sidra_cmd>{once, once});
        for (unsigned i = 0; i < slices; i++) bench.run_once();
        middles += a.state().timeline == 1 || b.state().timeline < 2;
        move_to_another_chip(bench);
        bench.run();
        ASSERT_TRUE(retired(a));
        ASSERT_TRUE(retired(b));
        EXPECT_EQ(context.get<uint32_t>(to, data.size()), data);
        std::vector<uint32_t> twice(data);
        for (uint32_t& value : twice) value *= 2;
        EXPECT_EQ(context.get<uint32_t>(sums, data.size()), twice);
        EXPECT_EQ(bench.telemetry().packets, 5u);
        EXPECT_EQ(a.report(1).sequence, 1u);
        EXPECT_GT(a.state().device_ps, 0u);
    }
    EXPECT_GT(middles, 2u) << "the test has looked at nothing";
}

// A layer that adds to what is in memory: a unit that ran twice, or not at all, would show.
TEST(Save, HalfDoneLayersGoOnBitExact) {
    constexpr uint32_t kRows = 512, kCols = 300, kBatch = 2000;
    const auto w = counted<int8_t>(kRows * kCols, 7);
    const auto x = counted<uint8_t>(kRows * kBatch, 5);
    const auto start = counted<int32_t>(kBatch * kCols, 3);
    std::vector<int32_t> wanted(start);
    for (uint32_t b = 0; b < kBatch; b++)
        for (uint32_t k = 0; k < kRows; k++) {
            const int32_t code = x[size_t{b} * kRows + k] - 9;
            for (uint32_t n = 0; n < kCols; n++) wanted[size_t{b} * kCols + n] += code * w[size_t{k} * kCols + n];
        }
    unsigned middles = 0;
    for (unsigned slices = 1; slices <= 8; slices++) {
        SCOPED_TRACE(slices);
        Bench bench(
            BenchOptions{.engine = slices % 2 ? SIDRA_CHIP_ENGINE_AUTO : SIDRA_CHIP_ENGINE_SCALAR, .pages = 1u << 14});
        Context& context = bench.context();
        Queue &queue = context.queue(), &other = context.queue();
        const uint32_t weights = context.weights({.rows = kRows, .cols = kCols, .encoding = SIDRA_ENCODING_OFFSET});
        queue.submit(program(weights, 0, kRows, 0, kCols, context.put(w), kCols));
        bench.run();
        const uint64_t out = context.put(start);
        sidra_pattern pattern{};
        pattern.addr = context.put(x);
        pattern.pixel_stride = pattern.channels = kRows;
        pattern.height = 1, pattern.width = kBatch;
        pattern.kernel_h = pattern.kernel_w = pattern.stride_h = pattern.stride_w = 1;
        pattern.dilation_h = pattern.dilation_w = 1;
        pattern.zero = 9;
        sidra_operand sums{};
        sums.addr = out, sums.type = SIDRA_TYPE_S32, sums.flags = SIDRA_OPERAND_WRITE;
        sums.stride[2] = kCols * 4, sums.stride[3] = 4;
        std::vector<sidra_vector_instruction> code(4);
        code[0] = {.op = SIDRA_VECTOR_OP_LOAD_INT, .flags = SIDRA_VECTOR_PASS, .operand = SIDRA_OPERAND_SUMS};
        code[1] = {.op = SIDRA_VECTOR_OP_LOAD_INT, .dst = SIDRA_VECTOR_V(1)};
        code[2] = {.op = SIDRA_VECTOR_OP_ADD_INT, .a = SIDRA_VECTOR_V(0), .b = SIDRA_VECTOR_V(1)};
        code[3] = {.op = SIDRA_VECTOR_OP_STORE_INT};
        sidra_cmd cmd = blank(SIDRA_CMD_LAYER);
        cmd.layer.weights = static_cast<uint16_t>(weights);
        cmd.layer.operands = context.put(std::vector{sums});
        cmd.layer.program = context.put(code);
        cmd.layer.pattern = context.put(std::vector{pattern});
        cmd.layer.size[0] = cmd.layer.size[1] = 1, cmd.layer.size[2] = kBatch;
        cmd.layer.epilogue = 4, cmd.layer.operand_count = 1;
        queue.submit(cmd);
        for (unsigned i = 0; i < slices; i++) {
            other.submit(nop());  // so that a slice ends in the middle of something
            bench.run_once();
        }
        middles += queue.timeline() < 2 && queue.state().progress > 0;
        move_to_another_chip(bench);
        bench.run();
        ASSERT_TRUE(retired(queue));
        ASSERT_TRUE(context.get<int32_t>(out, wanted.size()) == wanted);
    }
    EXPECT_GT(middles, 2u) << "the test has looked at nothing";
}

// A reset drops the packet in the middle of which the chip was saved. The next one has nothing to do with it.
TEST(Save, APacketAfterAResetBeginsAtItsStart) {
    Bench bench;
    Context& context = bench.context();
    Queue &queue = context.queue(), &other = context.queue();
    constexpr size_t kBytes = 4 << 20;
    const auto data = counted<uint32_t>(kBytes / 4, 2654435761u);
    const uint64_t from = context.put(data), to = context.alloc(kBytes);
    queue.submit(copy(context.alloc(kBytes), from, kBytes));
    for (unsigned i = 0; i < 4 && queue.state().progress == 0; i++) {
        other.submit(nop());  // so that a slice ends in the middle of something
        bench.run_once();
    }
    ASSERT_GT(queue.state().progress, 0u);
    ASSERT_EQ(queue.timeline(), 0u);
    move_to_another_chip(bench);
    queue.reset();
    queue.submit(copy(to, from, kBytes));
    bench.run();
    EXPECT_TRUE(retired(queue));
    EXPECT_EQ(context.get<uint32_t>(to, data.size()), data);
}

// A queue that lost its state page in the middle of a packet has faulted, and nobody could be told.
TEST(Save, AQueueThatFaultedUntoldMoves) {
    Bench bench;
    Context& context = bench.context();
    Queue &queue = context.queue(), &other = context.queue();
    constexpr size_t kBytes = 4 << 20;
    queue.submit(copy(context.alloc(kBytes), context.alloc(kBytes), kBytes));
    for (unsigned i = 0; i < 4 && queue.state().progress == 0; i++) {
        other.submit(nop());  // so that a slice ends in the middle of something
        bench.run_once();
    }
    ASSERT_GT(queue.state().progress, 0u);
    bench.bus().set_access(queue.entry().state, kPage, Access::kRefused);
    bench.run();
    EXPECT_EQ(bench.telemetry().faults, 0u) << "the test has looked at nothing";
    move_to_another_chip(bench);
    bench.run();
    bench.bus().set_access(queue.entry().state, kPage, Access::kOpen);
    EXPECT_EQ(queue.timeline(), 0u);
    queue.reset();
    queue.submit(nop());
    bench.run();
    EXPECT_TRUE(retired(queue));
}

// Level `accurate`: conductances, age, product counters and costs, also of work in progress.
TEST(Save, HalfDoneAnalogQueuesGoOnBitExact) {
    constexpr uint32_t kRows = 512, kCols = 200, kBatch = 100;
    const auto w = counted<int8_t>(kRows * kCols, 7);
    const auto x = counted<uint8_t>(kRows * kBatch, 5);
    struct Result {
        std::vector<int32_t> sums;
        std::vector<int8_t> weights;
        uint64_t device_ps, energy_pj;
        bool operator==(const Result&) const = default;
    };
    unsigned middles = 0;
    const auto run = [&](unsigned slices, bool move, Result* result) {
        Bench bench({.level = SIDRA_CHIP_ACCURATE});
        bench.set_clock_step(0);
        Context& context = bench.context();
        Queue &queue = context.queue(), &other = context.queue();
        const uint32_t weights = context.weights({.rows = kRows, .cols = kCols, .encoding = SIDRA_ENCODING_OFFSET});
        const uint64_t data = context.put(w), in = context.put(x), out = context.alloc(2 * kBatch * kCols * 4),
                       read = context.alloc(kRows * kCols);
        const auto product = [&](uint32_t number) {
            sidra_cmd cmd = mvm(static_cast<uint16_t>(weights), SIDRA_TYPE_U8, SIDRA_TYPE_S32, kBatch, in, kRows,
                                out + uint64_t{number} * kBatch * kCols * 4, kCols * 4);
            // The second one has the range that the first one set, wherever that was cut in two.
            cmd.mvm.flags = number == 0 ? SIDRA_CMD_MVM_CALIBRATE : 0;
            return cmd;
        };
        queue.submit(program(weights, 0, kRows, 0, kCols, data, kCols));
        queue.submit(std::vector<sidra_cmd>{program(weights, 10, 400, 5, 100, data, kCols), product(0), product(1),
                                            readback(weights, 0, kRows, 0, kCols, read, kCols)});
        for (unsigned i = 0; i < slices; i++) {
            other.submit(nop());  // so that a slice ends in the middle of something
            bench.run_once();
        }
        sidra_chip_set_knob(bench.chip(), SIDRA_KNOB_AGE_S, 90ull * 24 * 3600);
        if (move) {
            middles += queue.timeline() < 5;
            move_to_another_chip(bench);
            bench.set_clock_step(0);
        }
        bench.run();
        ASSERT_TRUE(retired(queue));
        *result = {context.get<int32_t>(out, 2 * kBatch * kCols), context.get<int8_t>(read, kRows * kCols),
                   queue.state().device_ps, queue.state().energy_pj};
    };
    unsigned all = 0;
    for (const unsigned slices : {1u, 2u, 4u, 7u, 10u, 12u}) {
        if (kSanitized && slices % 2) continue;
        SCOPED_TRACE(slices);
        all++;
        Result moved, stayed;
        run(slices, true, &moved);
        run(slices, false, &stayed);
        EXPECT_TRUE(moved == stayed);
    }
    EXPECT_GE(middles, all - 1) << "the test has looked at nothing";
}

// Counters of the chip and of the queue continue.
TEST(Save, TelemetryGoesOn) {
    Bench bench({.level = SIDRA_CHIP_ACCURATE, .stuck_ppm = 20'000});
    Context& context = bench.context();
    Queue& queue = context.queue();
    const uint32_t weights = context.weights({.rows = 100, .cols = 60});
    queue.submit(program(weights, 0, 100, 0, 60, context.put(counted<int8_t>(6'000, 7)), 60));
    queue.submit(copy(context.alloc(kPage), context.alloc(kPage), 100));
    bench.run();
    ASSERT_TRUE(retired(queue));
    bench.set_clock_step(0);
    const sidra_telemetry before = bench.telemetry();
    const sidra_queue_state state = queue.state();
    ASSERT_GT(state.engine_ns[SIDRA_HW_ENGINE_PROGRAM], 0u);
    ASSERT_GT(before.pulses, 0u);
    ASSERT_GT(before.stuck_cells, 0u);
    move_to_another_chip(bench);
    bench.set_clock_step(0);
    const sidra_telemetry after = bench.telemetry();
    constexpr size_t kFirst = offsetof(sidra_telemetry, mvms), kEnd = offsetof(sidra_telemetry, reserved1);
    EXPECT_EQ(std::memcmp(reinterpret_cast<const char*>(&before) + kFirst,
                          reinterpret_cast<const char*>(&after) + kFirst, kEnd - kFirst),
              0);
    bench.set_clock_step(1);
    queue.submit(copy(context.alloc(kPage), context.alloc(kPage), 100));
    bench.run();
    EXPECT_EQ(queue.state().engine_ns[SIDRA_HW_ENGINE_PROGRAM], state.engine_ns[SIDRA_HW_ENGINE_PROGRAM]);
    EXPECT_GT(queue.state().engine_ns[SIDRA_HW_ENGINE_COPY], state.engine_ns[SIDRA_HW_ENGINE_COPY]);
}

TEST(Save, CallsWaitsAndArmsGoOn) {
    Bench bench;
    Context& context = bench.context();
    Queue &caller = context.queue({.vector = 3}), &waiter = context.queue({.vector = 4}), &peer = context.queue();
    const uint64_t word = context.alloc(4096), out = context.alloc(4096);
    const uint64_t recorded =
        context.put(std::vector<sidra_cmd>{fill(out, 8, 1, 8), sem_wait(word, 5), fill(out + 8, 8, 2, 8)}, kReadWrite);
    caller.submit(call(recorded, 3));
    waiter.submit(caller.waited_for(1));
    caller.arm(1);
    waiter.arm(2);
    bench.run();
    EXPECT_EQ(context.load64(out), 1u);
    EXPECT_EQ(caller.state().parked, 1u);
    move_to_another_chip(bench);
    bench.run();
    EXPECT_EQ(caller.state().parked, 1u);
    EXPECT_EQ(context.load64(out + 8), 0u);
    EXPECT_EQ(bench.interrupts(3), 0u);
    peer.submit(sem_signal(word, 5));
    bench.run();
    EXPECT_TRUE(retired(caller));
    EXPECT_TRUE(retired(waiter));
    EXPECT_EQ(context.load64(out + 8), 2u);
    EXPECT_EQ(bench.interrupts(3), 1u);
    EXPECT_EQ(bench.interrupts(4), 0u);
    waiter.submit(nop());
    bench.run();
    EXPECT_EQ(bench.interrupts(4), 1u);
}

TEST(Save, FormerEpochsMoveAlong) {
    Bench bench;
    Context& context = bench.context();
    Queue &producer = context.queue(), &waiter = context.queue();
    producer.submit(nop());
    producer.submit(blank(SIDRA_CMD_INVALID));
    bench.run();
    const sidra_cmd done = producer.waited_for(1), failed = producer.waited_for(2);
    const uint32_t epoch = producer.entry().epoch;
    producer.reset_at(2);
    move_to_another_chip(bench);
    waiter.submit(done);
    bench.run();
    EXPECT_TRUE(retired(waiter));
    const uint64_t at = waiter.submit(failed);
    bench.run();
    EXPECT_TRUE(faulted(waiter, at, failed, {{SIDRA_FAULT_PRODUCER}}));
    const sidra_fault fault = waiter.state().fault;
    EXPECT_EQ(fault.root_epoch, epoch);
    EXPECT_EQ(fault.root_sequence, 1u);
    EXPECT_EQ(fault.root_cause, SIDRA_FAULT_OPCODE);
}

TEST(Save, RegistersStopsAndClock) {
    Bench bench;
    Context& context = bench.context();
    Queue &stopped = context.queue(), &free = context.queue(), &faulted_one = context.queue();
    faulted_one.submit(blank(SIDRA_CMD_INVALID));
    stopped.submit(nop());
    bench.run();
    ASSERT_EQ(bench.admin(SIDRA_ADMIN_QUIESCE_QUEUE, context.index(), stopped.index()), SIDRA_ADMIN_OK);
    stopped.submit(nop());
    bench.run();
    bench.write32(SIDRA_REG_SCRATCH, 77);
    bench.write32(SIDRA_REG_INT_ENABLE, SIDRA_INT_FAULT);
    const uint64_t clock = bench.read64(SIDRA_REG_CLOCK), uuid = bench.read64(SIDRA_REG_UUID);
    const uint32_t status = bench.read32(SIDRA_REG_ADMIN_STATUS), faults = bench.read32(SIDRA_REG_INT_STATUS);
    const Stream stream = save(bench);
    bench.replace_chip();
    bench.clock() += 1'000'000'000;  // time passed while it was saved
    ASSERT_EQ(load(bench, stream), "");
    EXPECT_LT(bench.read64(SIDRA_REG_CLOCK) - clock, 1'000u);
    EXPECT_EQ(bench.read64(SIDRA_REG_UUID), uuid);
    EXPECT_EQ(bench.read32(SIDRA_REG_SCRATCH), ~77u);
    EXPECT_EQ(bench.read32(SIDRA_REG_INT_ENABLE), SIDRA_INT_FAULT);
    EXPECT_EQ(bench.read32(SIDRA_REG_INT_STATUS), faults);
    EXPECT_EQ(bench.read32(SIDRA_REG_ADMIN_STATUS), status);
    EXPECT_EQ(bench.read32(SIDRA_REG_GENERATION), 0u);
    bench.run();
    EXPECT_EQ(stopped.timeline(), 1u) << "still stopped";
    free.submit(nop());
    faulted_one.submit(nop());
    bench.run();
    EXPECT_TRUE(retired(free));
    EXPECT_EQ(faulted_one.run_state(), uint32_t{SIDRA_QUEUE_FAULTED});
    ASSERT_EQ(bench.admin(SIDRA_ADMIN_RESUME_QUEUE, context.index(), stopped.index()), SIDRA_ADMIN_OK);
    bench.run();
    EXPECT_TRUE(retired(stopped));
}

// A command in progress, an unserved doorbell, a requested reset.
TEST(Save, WhatIsPending) {
    {
        Bench bench;
        Context& context = bench.context();
        Queue& queue = context.queue();
        queue.submit(nop());
        const uint32_t tag =
            bench.start_admin(SIDRA_ADMIN_TEST_DMA, bench.bus().alloc_page(), bench.bus().alloc_page(), 64);
        move_to_another_chip(bench);
        bench.run();
        EXPECT_EQ(bench.read32(SIDRA_REG_ADMIN_STATUS), tag << 16 | SIDRA_ADMIN_OK);
        EXPECT_TRUE(retired(queue));
    }
    Bench bench;
    bench.write32(SIDRA_REG_RESET, SIDRA_RESET_MAGIC);
    move_to_another_chip(bench);
    bench.run();
    EXPECT_EQ(bench.read32(SIDRA_REG_GENERATION), 1u);
}

TEST(Save, AResetThatHasTakenThePlaceOfAnotherCommand) {
    Bench bench;
    Context& context = bench.context();
    Queue& queue = context.queue();
    ASSERT_TRUE(sidra_chip_set_knob(bench.chip(), SIDRA_KNOB_NO_QUIESCE_ACK, 1));
    bench.start_admin(SIDRA_ADMIN_QUIESCE_QUEUE, context.index(), queue.index());
    bench.run();
    const uint32_t tag = bench.start_admin(SIDRA_ADMIN_RESET_CONTEXT, context.index());
    move_to_another_chip(bench);
    bench.run();
    EXPECT_EQ(bench.read32(SIDRA_REG_ADMIN_STATUS), SIDRA_ADMIN_OK | tag << 16);
    queue.submit(nop());
    bench.run();
    EXPECT_TRUE(retired(queue)) << "the quiesce has left nothing behind";
}

TEST(Save, CellsOwnersWearAndStuckCells) {
    Bench bench;
    Context& context = bench.context();
    Queue& queue = context.queue();
    const uint32_t offset = context.weights({.rows = 300, .cols = 200}),
                   pairs = context.weights({.rows = 256, .cols = 128, .encoding = SIDRA_ENCODING_DIFFERENTIAL});
    auto w = counted<int8_t>(300 * 200, 7);
    auto d = counted<int8_t>(256 * 128, 5);
    std::replace(d.begin(), d.end(), int8_t{-128}, int8_t{0});
    const auto x = counted<int8_t>(300, 11);
    const uint64_t in = context.put(x), out = context.alloc(8192);
    ASSERT_TRUE(sidra_chip_set_knob(bench.chip(), SIDRA_KNOB_STUCK_CELL, 1ull << 32 | 9u << 24 | 8u << 16 | 255));
    queue.submit(program(offset, 0, 300, 0, 200, context.put(w), 200));
    queue.submit(program(pairs, 0, 256, 0, 128, context.put(d), 128));
    const auto compute = [&] {
        queue.submit(mvm(static_cast<uint16_t>(offset), SIDRA_TYPE_S8, SIDRA_TYPE_S32, 1, in, 300, out, 800));
        queue.submit(mvm(static_cast<uint16_t>(pairs), SIDRA_TYPE_S8, SIDRA_TYPE_S32, 1, in, 256, out + 4096, 512));
        bench.run();
        EXPECT_TRUE(retired(queue));
        return context.get<int32_t>(out, 2048);
    };
    const auto before = compute();
    const auto headers = bench.xbars(0, bench.crossbars_total());
    bench.l3()[12345] = 99;
    const uint64_t page = bench.bus().alloc_page();
    bench.bus().store64(page, 0x5eed);
    ASSERT_EQ(bench.admin(SIDRA_ADMIN_NVM_WRITE, 8192, page, 8), SIDRA_ADMIN_OK);
    move_to_another_chip(bench);
    EXPECT_EQ(compute(), before);
    const auto after = bench.xbars(0, bench.crossbars_total());
    EXPECT_EQ(std::memcmp(headers.data(), after.data(), headers.size() * sizeof headers[0]), 0);
    EXPECT_EQ(bench.telemetry().xbars_programmed, 3u);
    EXPECT_EQ(bench.l3()[12345], 99);
    bench.bus().store64(page, 0);
    ASSERT_EQ(bench.admin(SIDRA_ADMIN_NVM_READ, 8192, page, 8), SIDRA_ADMIN_OK);
    EXPECT_EQ(bench.bus().load64(page), 0x5eedu);
    int32_t sum = 0;  // of a column without stuck cells
    for (size_t k = 0; k < 300; k++) sum += x[k] * w[k * 200 + 50];
    EXPECT_EQ(before[50], sum);
    // It is still the same object: a partial write is allowed.
    queue.submit(program(offset, 3, 1, 4, 1, context.put(std::vector<int8_t>{1}), 1));
    bench.run();
    EXPECT_TRUE(retired(queue));
}

class SaveLevel : public testing::TestWithParam<uint32_t> {
   protected:
    BenchOptions chip() const { return {.level = GetParam()}; }
    unsigned cost() const {
        return GetParam() == SIDRA_CHIP_ACCURATE ? kSanitized ? 25 : 5 : kSanitized ? 5 : 1;
    }  // its streams are so much longer
};
INSTANTIATE_TEST_SUITE_P(, SaveLevel, testing::Values(SIDRA_CHIP_FAST, SIDRA_CHIP_ACCURATE), [](const auto& info) {
    return std::string(info.param == SIDRA_CHIP_ACCURATE ? "Accurate" : "Fast");
});

TEST(Save, FailureOfTheStream) {
    Bench bench;
    bench.l3()[0] = 1;
    const Stream stream = save(bench);
    for (size_t room = 0; room < stream.size(); room += 97 * kStep) {
        size_t left = room;
        const auto write = [](void* opaque, const void*, size_t size) {
            auto* rest = static_cast<size_t*>(opaque);
            if (size > *rest) return false;
            *rest -= size;
            return true;
        };
        ASSERT_EQ(sidra_chip_save(bench.chip(), write, &left), -1) << room;
    }
}

struct Interesting {
    Bench bench;
    Context& context = bench.context();
    Queue &queue = context.queue(), &parked = context.queue();
    explicit Interesting(const BenchOptions& options = {}) : bench(options) {
        const uint32_t weights = context.weights({.rows = 40, .cols = 30});
        queue.submit(program(weights, 0, 40, 0, 30, context.alloc(4096), 30));
        parked.submit(call(context.put(std::vector<sidra_cmd>{sem_wait(context.alloc(4096), 1), nop()}), 2));
        queue.arm(100);
        bench.run();
        sidra_chip_set_knob(bench.chip(), SIDRA_KNOB_STUCK_CELL, 3ull << 32 | 9u << 24 | 8u << 16 | 255);
        bench.l3()[5000] = 1;
        bench.drop_violation_checks();
        bench.bus().set_outside_refused(true);
    }
    // Whatever was loaded: it answers, runs, resets and works again.
    void still_a_chip() {
        bench.run();
        EXPECT_EQ(bench.read32(SIDRA_REG_ID), SIDRA_ID_MAGIC);
        sidra_chip_reset(bench.chip());
        EXPECT_EQ(bench.read32(SIDRA_REG_STATUS) & SIDRA_STATUS_READY, SIDRA_STATUS_READY);
    }
};

TEST_P(SaveLevel, TruncatedIsRefused) {
    Interesting rig(chip());
    const Stream stream = save(rig.bench);
    for (size_t size = 0; size < stream.size(); size += size < 2048 ? kStep : 1013 * kStep * cost()) {
        ASSERT_NE(load(rig.bench, {stream.begin(), stream.begin() + static_cast<ptrdiff_t>(size)}), "") << size;
        ASSERT_EQ(rig.bench.telemetry().xbars_programmed, 0u) << "as after power-on";
        ASSERT_EQ(rig.bench.l3()[5000], 0);
    }
    rig.still_a_chip();
    EXPECT_EQ(load(rig.bench, stream), "");
}

TEST_P(SaveLevel, DamageIsRefused) {
    Interesting rig(chip());
    const Stream stream = save(rig.bench);
    for (size_t at = 0; at < stream.size(); at += at < 4096 ? kStep : 769 * kStep * cost()) {
        Stream damaged = stream;
        damaged[at] ^= static_cast<uint8_t>(1 + at % 255);
        ASSERT_NE(load(rig.bench, damaged), "") << at;
    }
    rig.still_a_chip();
}

TEST_P(SaveLevel, OtherProfilesAndOtherThingsAreRefused) {
    Bench bench(chip());
    Stream stream = save(bench);
    Bench large({.profile = SIDRA_CHIP_Y1, .level = GetParam()});
    Bench another_level({.level = SIDRA_CHIP_ACCURATE - GetParam()});
    EXPECT_NE(load(another_level, stream).find("another level"), std::string::npos);
    EXPECT_NE(load(large, stream).find("another profile"), std::string::npos);
    EXPECT_NE(load(bench, Stream(4096, 'x')).find("not the saved"), std::string::npos);
    EXPECT_NE(load(bench, {}).find("ends early"), std::string::npos);
    stream[8]++;  // the first word of the head
    EXPECT_NE(load(bench, stream).find("another version"), std::string::npos);
}

// Damage with a valid checksum is malicious. Accepted or refused, it must not break the chip.
TEST_P(SaveLevel, ForgeriesDoNoHarm) {
    Interesting rig(chip());
    const Stream stream = save(rig.bench);
    const std::vector<Chunk> chunks = chunks_of(stream);
    std::mt19937_64 random(20260101);
    unsigned taken = 0;
    const unsigned count = rounds(3000) / cost();
    for (unsigned round = 0; round < count; round++) {
        Stream forged = stream;
        const Chunk& chunk = chunks[random() % (chunks.size() - 1)];
        const size_t reach = std::min<size_t>(chunk.bytes, 256);
        for (uint64_t changes = 1 + random() % 3; changes-- > 0;) {
            static constexpr uint8_t kValues[] = {0, 1, 2, 0x7f, 0x80, 0xff};
            forged[chunk.at + 8 + random() % reach] =
                random() % 2 ? kValues[random() % 6] : static_cast<uint8_t>(random());
        }
        sign(&forged);
        taken += load(rig.bench, forged).empty();
        rig.still_a_chip();
        if (HasFailure()) FAIL() << "round " << round;
    }
    EXPECT_GT(taken, count / 20) << "the sums are right";
}

}  // namespace
}  // namespace sidra::chip_test
