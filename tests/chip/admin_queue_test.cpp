// SPDX-License-Identifier: MIT
// The admin queue without its chip: what only happens between two of its steps.
#include "admin_queue.h"

#include <gtest/gtest.h>

#include <functional>
#include <memory>
#include <utility>

#include "arms.h"
#include "array.h"
#include "counters.h"
#include "engine.h"
#include "parked.h"
#include "sidra_hw.h"

namespace sidra::chip {
namespace {

sidra_chip_host host() {
    sidra_chip_host host{};
    host.dma_map = [](void*, uint64_t, uint64_t*, bool) -> void* { return nullptr; };
    host.dma_unmap = [](void*, void*, uint64_t, bool) {};
    host.load64_acquire = [](void*, uint64_t, uint64_t*) { return false; };
    host.max64_release = [](void*, uint64_t, uint64_t) { return false; };
    host.msix = [](void*, unsigned) {};
    host.clock_ns = [](void*) { return uint64_t{0}; };
    host.kick = [](void*) {};
    host.report = [](void*, const char*) {};
    return host;
}

class AdminQueueAlone : public ::testing::Test, public AdminQueue::Device {
   protected:
    void finish_reset() override {
        stops.device.store(false);
        if (const auto next = std::exchange(in_the_reset, nullptr)) next();
    }
    void tell_failure() override {  // before the end of each command
        if (const auto next = std::exchange(at_the_end, nullptr)) next();
    }
    uint32_t result() const { return queue.status() & (SIDRA_ADMIN_BUSY | SIDRA_ADMIN_RESULT_MASK); }
    void step_to_the_end() {
        while (queue.any()) ASSERT_TRUE(queue.step());
    }

    std::function<void()> at_the_end, in_the_reset;
    const sidra_chip_host its_host = host();
    Bus bus{its_host};
    ChipClock clock{its_host};
    LazyMemory l3{kGeometrySmall.l3_size};
    const std::unique_ptr<engine::Engine> engine = engine::make(SIDRA_CHIP_ENGINE_SCALAR, 1);
    Array array{kGeometrySmall, engine->kernels(), nullptr};
    Objects objects;
    Stops stops;
    Scheduler scheduler;
    Parked parked;
    Knobs knobs;
    Counters counters;
    Interrupts interrupts{its_host, bus, knobs, counters};
    Arms arms{interrupts};
    Wakeups wakeups{its_host, scheduler, parked};
    Loader loader{bus, knobs, scheduler, parked, wakeups, arms};
    Management management{bus, stops.device, counters.energy_pj, [](uint32_t) {}, [](uint32_t) { return false; }};
    Quiesce quiesce{{bus, objects, stops, scheduler, wakeups, loader, management}};
    AdminMemory memory{bus, array, l3, clock, knobs};
    AdminQueue queue{*this, quiesce, memory, knobs, interrupts, wakeups};
};

// A refused command has stopped nothing, so whatever it names, nothing of it is resumed.
TEST_F(AdminQueueAlone, ARefusedCommandIsReplacedBeforeItsEnd) {
    constexpr uint64_t kFar = 1u << 31;
    for (const auto& [context, id] : {std::pair{uint64_t{3}, kFar}, {kFar, uint64_t{0}}, {kFar, kFar}}) {
        for (const uint32_t op : {SIDRA_ADMIN_QUIESCE_QUEUE, SIDRA_ADMIN_RESET_QUEUE, SIDRA_ADMIN_QUIESCE_WEIGHTS,
                                  SIDRA_ADMIN_QUIESCE_CONTEXT}) {
            const AdminCommand refused{op, {context, id}}, next{SIDRA_ADMIN_RESET_CONTEXT, {context}};
            at_the_end = [&] { queue.start(next); };
            queue.start(refused);
            step_to_the_end();
            EXPECT_EQ(result(), uint32_t{next.check()}) << op << " " << context;
            EXPECT_FALSE(stops.stopped(3, 0));
        }
    }
}

// A saved chip tells twice whether a command waits, and twice its tag. If these disagreed, another command could take
// the place of one that is executed.
TEST_F(AdminQueueAlone, ASavedCommandMustBeTheOneOfTheStatus) {
    const AdminCommand test{SIDRA_ADMIN_TEST_DMA | 7u << 16, {}};
    const uint32_t busy = SIDRA_ADMIN_BUSY | 7u << 16;
    struct Case {
        uint32_t status;
        bool pending, good;
    };
    for (const Case& c : {Case{busy, true, true},
                          {SIDRA_ADMIN_BUSY | 8u << 16, true, false},
                          {7u << 16, true, false},
                          {0, true, false},
                          {busy, false, false},
                          {8u << 16 | SIDRA_ADMIN_BAD_OP, false, true}}) {
        for (const bool begun : {false, true}) {
            EXPECT_EQ(queue.load({c.status, test, c.pending, begun, false}), c.good) << std::hex << c.status;
            if (c.good) EXPECT_EQ(queue.status(), c.status);
        }
    }
}

// What a saved command has stopped is stopped again, so that it waits for claims whatever the saved stops say.
TEST_F(AdminQueueAlone, ASavedCommandDoesNotRelyOnSavedStops) {
    const AdminCommand reset{SIDRA_ADMIN_RESET_QUEUE | 7u << 16, {3, 5, 0}};
    ASSERT_TRUE(queue.load({SIDRA_ADMIN_BUSY | 7u << 16, reset, true, true, false}));
    Queue& stopped = objects.queue(3, 5);
    stopped.claim.store(Queue::kClaimed);
    EXPECT_TRUE(queue.step());
    EXPECT_TRUE(stops.stopped(3, 5));
    EXPECT_EQ(result(), SIDRA_ADMIN_BUSY);
    stopped.claim.store(0);
    queue.poke();
    step_to_the_end();
    EXPECT_FALSE(stops.stopped(3, 5));
    EXPECT_EQ(result(), uint32_t{SIDRA_ADMIN_OK});
}

// Whether it is written before the reset has aborted the one that waits, or after.
TEST_F(AdminQueueAlone, ACommandDuringAResetDoesNotSurviveIt) {
    const AdminCommand waits{SIDRA_ADMIN_TEST_DMA | 7u << 16, {}}, next{SIDRA_ADMIN_RESUME_DEVICE | 8u << 16, {}};
    for (const bool waiting : {false, true}) {
        if (waiting) queue.start(waits);
        in_the_reset = [&] { queue.start(next); };
        queue.start_reset();
        step_to_the_end();
        EXPECT_EQ(queue.status(), SIDRA_ADMIN_NOT_READY | 8u << 16);
    }
    queue.start_reset();
    queue.start(waits);
    EXPECT_EQ(queue.status(), SIDRA_ADMIN_NOT_READY | 7u << 16);
    step_to_the_end();
    EXPECT_EQ(queue.status(), SIDRA_ADMIN_NOT_READY | 7u << 16);
    queue.start(next);
    step_to_the_end();
    EXPECT_EQ(queue.status(), SIDRA_ADMIN_OK | 8u << 16) << "after the reset";
}

// A reset does not wait for the erasure of all crossbars.
TEST_F(AdminQueueAlone, AResetComesBetweenTheStepsOfAnErasure) {
    Array large{kGeometryY1, engine->kernels(), nullptr};
    AdminMemory its_memory{bus, large, l3, clock, knobs};
    AdminQueue its_queue{*this, quiesce, its_memory, knobs, interrupts, wakeups};
    const uint32_t last = kGeometryY1.xbars() - 1;
    const AdminCommand erase{SIDRA_ADMIN_XBAR_ERASE | 7u << 16, {0, last + 1}};
    const int8_t weight = 1;
    Cost spent;
    for (const uint32_t xbar : {0u, last}) {
        const TileBlock block{9, xbar, 0, SIDRA_ENCODING_OFFSET, 1, 1, 0, 1, 0, 1};
        ASSERT_FALSE(large.program(block, &weight, 1, 0, &spent));
    }
    its_queue.start(erase);
    ASSERT_TRUE(its_queue.step());
    EXPECT_EQ(its_queue.status(), SIDRA_ADMIN_BUSY | 7u << 16);
    its_queue.start_reset();
    while (its_queue.any()) ASSERT_TRUE(its_queue.step());
    EXPECT_EQ(its_queue.status(), SIDRA_ADMIN_ABORTED | 7u << 16);
    EXPECT_EQ(large.header(0).uid, 0u);
    EXPECT_EQ(large.header(last).uid, 9u);
    its_queue.start(erase);
    while (its_queue.any()) ASSERT_TRUE(its_queue.step());
    EXPECT_EQ(its_queue.status(), SIDRA_ADMIN_OK | 7u << 16);
    EXPECT_EQ(large.header(last).uid, 0u);
}

}  // namespace
}  // namespace sidra::chip
