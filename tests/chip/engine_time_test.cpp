// SPDX-License-Identifier: MIT
// Time of engines: the clock advances while a packet's memory is accessed, by an amount that identifies the packet.
#include <algorithm>
#include <barrier>
#include <map>
#include <mutex>

#include "bench.h"
#include "packets.h"

namespace sidra::chip_test {
namespace {

constexpr uint64_t kNs[SIDRA_HW_ENGINE_COUNT] = {1'000'000, 30'000, 2'000, 700};
using Times = std::array<uint64_t, SIDRA_HW_ENGINE_COUNT>;

class EngineTime : public testing::Test {
   protected:
    EngineTime() {
        bench.set_clock_step(0);
        bench.set_dma_hook([this](uint64_t bus) {
            const auto found = owners_.find(bus / kPage * kPage);
            if (found == owners_.end()) return;
            bench.clock() += kNs[found->second];
            const std::lock_guard guard(lock_);
            expected_[found->second] += kNs[found->second];
        });
        touches(in_mvm, SIDRA_HW_ENGINE_MVM);
        touches(in_vec, SIDRA_HW_ENGINE_VEC);
        touches(in_copy, SIDRA_HW_ENGINE_COPY);
        touches(in_program, SIDRA_HW_ENGINE_PROGRAM);
        run({programs});
    }
    void touches(uint64_t va, sidra_hw_engine engine) { owners_[context.space().raw(va).address] = engine; }
    void run(const std::vector<sidra_cmd>& cmds) {
        queue.submit(cmds);
        bench.run();
        ASSERT_TRUE(retired(queue));
        ASSERT_EQ(chips(), expected_);
        ASSERT_EQ(of(queue), expected_);
    }
    Times chips() {
        const sidra_telemetry t = bench.telemetry();
        return std::to_array(t.engine_ns);
    }
    static Times of(const Queue& which) { return std::to_array(which.state().engine_ns); }
    // Of the clock, for that.
    uint64_t looks(const std::vector<sidra_cmd>& cmds) {
        bench.set_dma_hook(nullptr);
        bench.set_clock_step(1);
        const uint64_t before = bench.clock();
        queue.submit(cmds);
        bench.run();
        EXPECT_TRUE(retired(queue));
        bench.set_clock_step(0);
        return bench.clock() - before;
    }

    Bench bench;
    Context& context = bench.context();
    Queue& queue = context.queue();
    const uint32_t weights = context.weights({.rows = 20, .cols = 20});
    const uint64_t in_mvm = context.alloc(kPage), in_vec = context.alloc(kPage), in_copy = context.alloc(kPage),
                   in_program = context.alloc(kPage), out = context.alloc(kPage);
    const sidra_cmd programs = program(weights, 0, 20, 0, 20, in_program, 20),
                    multiplies =
                        mvm(static_cast<uint16_t>(weights), SIDRA_TYPE_S8, SIDRA_TYPE_S32, 1, in_mvm, 20, out, 80),
                    computes = sort(SIDRA_TYPE_F32, 1, 8, in_vec, out), copies = copy(out, in_copy, 64),
                    fills = fill(in_copy, 64, 0, 8), reads_back = readback(weights, 0, 20, 0, 20, in_program, 20);

   private:
    std::map<uint64_t, sidra_hw_engine> owners_;
    std::mutex lock_;  // while the chip runs
    Times expected_{};
};

TEST_F(EngineTime, IsThatOfThePacketsOfItsKind) {
    const auto grows = [&](const sidra_cmd& cmd, sidra_hw_engine engine) {
        const Times before = chips();
        run({cmd});
        for (uint32_t i = 0; i < SIDRA_HW_ENGINE_COUNT; i++)
            EXPECT_EQ(chips()[i] != before[i], i == engine) << "packet " << +cmd.hdr.opcode << ", engine " << i;
    };
    grows(multiplies, SIDRA_HW_ENGINE_MVM);
    grows(computes, SIDRA_HW_ENGINE_VEC);
    grows(copies, SIDRA_HW_ENGINE_COPY);
    grows(fills, SIDRA_HW_ENGINE_COPY);
    grows(programs, SIDRA_HW_ENGINE_PROGRAM);
    grows(reads_back, SIDRA_HW_ENGINE_PROGRAM);
    const Times before = chips();
    run({nop(), timestamp(out), nop()});
    EXPECT_EQ(chips(), before) << "no engine works for those";
}

TEST_F(EngineTime, IsToldApartWithinOneSlice) {
    std::vector<sidra_cmd> mixed;
    for (int i = 0; i < 5; i++)
        for (const sidra_cmd& cmd : {multiplies, computes, nop(), computes, copies, reads_back, multiplies})
            mixed.push_back(cmd);
    run(mixed);
    const Times times = chips();
    EXPECT_EQ(times[0] + times[1] + times[2] + times[3], bench.telemetry().busy_ns) << "one queue, one at a time";
}

// And so does a packet of a CALL.
TEST_F(EngineTime, OfQueuesAddsUp) {
    Queue& other = context.queue();
    const std::vector<sidra_cmd> body = {computes, multiplies};
    run({multiplies});
    const Times first = of(queue);
    other.submit(call(context.put(body), 2));
    bench.run();
    ASSERT_TRUE(retired(other));
    EXPECT_GT(of(other)[SIDRA_HW_ENGINE_VEC], 0u);
    for (uint32_t i = 0; i < SIDRA_HW_ENGINE_COUNT; i++) EXPECT_EQ(chips()[i], first[i] + of(other)[i]);
}

TEST_F(EngineTime, TheClockIsReadWhereTheKindChangesOnly) {
    const uint64_t one = looks({copies});
    EXPECT_EQ(looks({copies, copies, copies, copies, copies, copies}), one);
    EXPECT_EQ(looks({copies, computes, copies, computes, copies, computes}), one + 5);
    EXPECT_EQ(looks({nop(), nop(), nop(), nop()}) + 2, one) << "those of nothing but no-ops are not measured";
}

TEST_F(EngineTime, BeginsAnewWithAQueueThatIsReset) {
    run({multiplies, copies});
    const Times before = chips();
    queue.reset();
    EXPECT_EQ(chips(), before) << "since power-on";
    queue.submit(computes);
    bench.run();
    EXPECT_EQ(of(queue)[SIDRA_HW_ENGINE_MVM], 0u);
    EXPECT_EQ(of(queue)[SIDRA_HW_ENGINE_VEC], kNs[SIDRA_HW_ENGINE_VEC]);
    EXPECT_EQ(chips()[SIDRA_HW_ENGINE_MVM], before[SIDRA_HW_ENGINE_MVM]);
}

// A packet that takes long is not credited at its end: the time that is under way counts at each reading.
TEST_F(EngineTime, CountsTheTimeOfAPacketThatIsUnderWay) {
    std::mutex lock;
    std::vector<sidra_telemetry> readings;
    bench.set_clock_step(0);
    bench.set_dma_hook([&](uint64_t) {
        const std::lock_guard guard(lock);
        bench.clock() += 1'000;
        sidra_telemetry& t = readings.emplace_back();
        sidra_chip_get_telemetry(bench.chip(), &t);
    });
    const uint64_t from = context.alloc(64 * kPage), to = context.alloc(64 * kPage);
    queue.submit(copy(to, from, 64 * kPage));
    bench.run();
    bench.set_dma_hook(nullptr);
    ASSERT_TRUE(retired(queue));
    uint64_t within = 0;
    for (size_t i = 1; i < readings.size(); i++) {
        const sidra_telemetry &before = readings[i - 1], &now = readings[i];
        const uint64_t busy = now.engine_ns[SIDRA_HW_ENGINE_COPY] - before.engine_ns[SIDRA_HW_ENGINE_COPY];
        EXPECT_EQ(now.busy_ns - before.busy_ns, busy);
        EXPECT_LE(busy, now.clock_ns - before.clock_ns);
        within += busy == 1'000;
    }
    EXPECT_GE(within, 64u) << "at each page of it";
}

// Two executors, each in a packet of its own: what both do at once is the time of one.
TEST_F(EngineTime, OfTwoExecutorsAtOnceIsThatOfOne) {
    Queue& other = context.queue();
    const uint64_t in_other = context.alloc(kPage);
    const uint64_t first = context.space().raw(in_copy).address, second = context.space().raw(in_other).address;
    std::barrier both(2);
    std::atomic<bool> met{false};
    bench.set_dma_hook([&](uint64_t bus) {
        if (bus / kPage * kPage != first && bus / kPage * kPage != second) return;
        if (met.load()) return;
        both.arrive_and_wait();  // each is in its packet
        met = true;
        if (bus / kPage * kPage == first) bench.clock() += 1'000'000;
        both.arrive_and_wait();
    });
    const sidra_telemetry before = bench.telemetry();
    queue.submit(copies);
    other.submit(copy(out + 2'048, in_other, 64));
    bench.start_threads(2);
    EXPECT_TRUE(bench.wait(queue, queue.next()));
    EXPECT_TRUE(bench.wait(other, other.next()));
    bench.stop_threads();
    bench.set_dma_hook(nullptr);
    const sidra_telemetry after = bench.telemetry();
    ASSERT_EQ(after.clock_ns - before.clock_ns, 1'000'000u);
    EXPECT_EQ(after.engine_ns[SIDRA_HW_ENGINE_COPY] - before.engine_ns[SIDRA_HW_ENGINE_COPY], 1'000'000u);
    EXPECT_EQ(after.busy_ns - before.busy_ns, 1'000'000u);
}

// Four executors with packets of all kinds, read all the time by somebody else.
TEST_F(EngineTime, NeverRunsAheadOfTheClock) {
    std::vector<Queue*> queues = {&queue};
    while (queues.size() < 4) queues.push_back(&context.queue());
    std::map<Queue*, uint64_t> outs;
    for (Queue* each : queues) outs[each] = context.alloc(kPage);
    bench.set_dma_hook([&](uint64_t) { bench.clock() += 100; });
    bench.set_clock_step(1);
    sidra_telemetry before{};
    sidra_chip_get_telemetry(bench.chip(), &before);
    const auto look = [&] {
        sidra_telemetry now{};
        sidra_chip_get_telemetry(bench.chip(), &now);
        const uint64_t passed = now.clock_ns - before.clock_ns, busy = now.busy_ns - before.busy_ns;
        EXPECT_LE(busy, passed);
        for (uint32_t i = 0; i < SIDRA_HW_ENGINE_COUNT; i++) EXPECT_LE(now.engine_ns[i] - before.engine_ns[i], busy);
        before = now;
    };
    bench.start_threads(4);
    for (unsigned round = 0; round < rounds(100) && !HasFailure(); round++) {
        for (Queue* each : queues) {
            const uint64_t to = outs[each];
            std::vector<sidra_cmd> cmds;
            for (unsigned i = 0; i < 5; i++) {
                cmds.push_back(multiplies);
                cmds.back().mvm.out = to;
                cmds.push_back(computes);
                cmds.back().sort.values = to;
                cmds.push_back(copy(to, in_copy, 64));
            }
            each->submit(cmds);
        }
        const auto works = [](Queue* each) { return each->timeline() < each->next(); };
        while (std::any_of(queues.begin(), queues.end(), works)) look();
    }
    for (Queue* each : queues) EXPECT_TRUE(bench.wait(*each, each->next()));
    look();
    bench.stop_threads();
    EXPECT_GT(before.busy_ns, 0u);
}

}  // namespace
}  // namespace sidra::chip_test
