// SPDX-License-Identifier: MIT
// Tables, doorbells, rings, order, reports and accounting.
#include <algorithm>
#include <array>
#include <atomic>
#include <random>

#include "bench.h"
#include "packets.h"

namespace sidra::chip_test {
namespace {

TEST(QueueTables, InvalidEntriesAreNotCached) {
    Bench bench;
    Context& context = bench.context();
    context.entry().flags = 0;
    context.store_entry();
    Queue& queue = context.queue({.valid = false});
    queue.submit(nop());
    bench.run();
    EXPECT_EQ(queue.run_state(), uint32_t{SIDRA_QUEUE_IDLE});
    context.entry().flags = SIDRA_HW_CONTEXT_VALID;
    context.store_entry();
    queue.doorbell();
    bench.run();
    EXPECT_EQ(queue.run_state(), uint32_t{SIDRA_QUEUE_IDLE});
    queue.entry().flags = SIDRA_HW_QUEUE_VALID;
    queue.store_entry();
    queue.doorbell();
    bench.run();
    EXPECT_TRUE(retired(queue));
    const sidra_queue_state state = queue.state();
    EXPECT_EQ(state.generation, queue.entry().generation);
    EXPECT_EQ(state.parked, 0u);
    EXPECT_EQ(state.fault.cause, 0u);
}

TEST(QueueTables, MappingsThatBecomeValidNeedNoCommand) {
    Bench bench;
    Context& context = bench.context();
    Queue& queue = context.queue();
    const uint64_t src = context.alloc(kPage);
    const uint64_t dst = context.reserve(kPage);
    context.store64(src, 99);
    const sidra_cmd cmd = copy(dst, src, 8);
    const uint64_t at = queue.submit(cmd);
    bench.run();
    ASSERT_TRUE(faulted(queue, at, cmd, {{SIDRA_FAULT_TRANSLATION}}, dst));
    context.map(dst, bench.bus().alloc_page());
    queue.reset();
    queue.submit(cmd);
    bench.run();
    EXPECT_TRUE(retired(queue));
    EXPECT_EQ(context.load64(dst), 99u);
}

// Entries that are valid but malformed: nothing of them executes, and other queues continue.
TEST(QueueTables, MalformedQueueEntriesDoNotRun) {
    Bench bench;
    Context& context = bench.context();
    Queue& good = context.queue();
    Queue& bad = context.queue();
    const sidra_hw_queue sound = bad.entry();
    const std::vector<std::pair<const char*, std::function<void(sidra_hw_queue&)>>> twists = {
        {"ring misaligned", [](auto& e) { e.ring += 64; }},
        {"write index misaligned", [](auto& e) { e.write_index += 4; }},
        {"state misaligned", [](auto& e) { e.state += 64; }},
        {"report misaligned", [](auto& e) { e.report += 16; }},
        {"ring too small", [](auto& e) { e.ring_log2 = SIDRA_QUEUE_LOG2_MIN - 1; }},
        {"ring too large", [](auto& e) { e.ring_log2 = SIDRA_QUEUE_LOG2_MAX + 1; }},
        {"ring far too large", [](auto& e) { e.ring_log2 = 255; }},
        {"priority", [](auto& e) { e.priority = SIDRA_PRIORITIES; }},
        {"vector 0", [](auto& e) { e.vector = 0; }},
        {"vector 32", [](auto& e) { e.vector = SIDRA_MSIX_VECTORS; }},
        {"unknown flag", [](auto& e) { e.flags |= 4; }},
        {"no epoch", [](auto& e) { e.epoch = 0; }},
        {"reserved", [](auto& e) { e.reserved = uint64_t{1} << 63; }},
    };
    for (const auto& [name, twist] : twists) {
        SCOPED_TRACE(name);
        bad.entry() = sound;
        bad.entry().flags = 0;
        bad.store_entry();
        bad.reset();
        bad.entry() = sound;
        twist(bad.entry());
        const sidra_hw_queue twisted = bad.entry();
        bad.entry() = sound;
        bad.push(nop());
        bad.publish();
        bad.entry() = twisted;
        bad.store_entry();
        bad.doorbell();
        good.submit(nop());
        bench.run();
        bad.entry() = sound;
        EXPECT_EQ(bad.timeline(), 0u);
        EXPECT_NE(bad.run_state(), uint32_t{SIDRA_QUEUE_RUNNING});
        EXPECT_TRUE(retired(good));
    }
    bad.entry() = sound;
    bad.entry().flags = 0;
    bad.store_entry();
    bad.reset();
    bad.entry() = sound;
    bad.store_entry();
    bad.submit(nop());
    bench.run();
    EXPECT_TRUE(retired(bad));
}

TEST(QueueTables, MalformedContextsDoNotRun) {
    Bench bench;
    Context& other = bench.context();
    Queue& good = other.queue();
    Context& context = bench.context();
    Queue& queue = context.queue();
    const sidra_hw_context sound = context.entry();
    const std::vector<std::pair<const char*, std::function<void(sidra_hw_context&)>>> twists = {
        {"page table misaligned", [](auto& e) { e.page_table += 8; }},
        {"too many weights", [](auto& e) { e.weights_count = SIDRA_WEIGHTS_MAX + 1; }},
        {"too many queues", [](auto& e) { e.queue_count = SIDRA_QUEUES_PER_CONTEXT_MAX + 1; }},
        {"no queues", [](auto& e) { e.queue_count = 0; }},
        {"unknown flag", [](auto& e) { e.flags |= 2; }},
        {"reserved", [](auto& e) { e.reserved[2] = 1; }},
    };
    for (const auto& [name, twist] : twists) {
        SCOPED_TRACE(name);
        twist(context.entry());
        context.store_entry();
        queue.submit(nop());
        good.submit(nop());
        bench.run();
        EXPECT_EQ(queue.timeline(), 0u);
        EXPECT_NE(queue.run_state(), uint32_t{SIDRA_QUEUE_RUNNING});
        EXPECT_TRUE(retired(good));
        context.entry() = sound;
        context.entry().flags = 0;
        context.store_entry();
        EXPECT_EQ(bench.admin(SIDRA_ADMIN_RESET_CONTEXT, context.index()), uint32_t{SIDRA_ADMIN_OK});
        queue.set_next(0);
        queue.publish();
        context.entry() = sound;
    }
    context.store_entry();
    queue.submit(nop());
    bench.run();
    EXPECT_TRUE(retired(queue));
}

TEST(QueueTables, TablesThatTheHostRefusesStopNobodyElse) {
    Bench bench;
    Context& other = bench.context();
    Queue& good = other.queue();
    Context& context = bench.context();
    Queue& queue = context.queue();
    for (const uint64_t table : {context.entry().queue_table, queue.entry().state}) {
        bench.bus().set_access(table, kPage, Access::kRefused);
        queue.submit(nop());
        good.submit(nop());
        bench.run();
        EXPECT_TRUE(retired(good));
        EXPECT_EQ(queue.timeline(), 0u);
        bench.bus().set_access(table, kPage, Access::kOpen);
        EXPECT_EQ(bench.admin(SIDRA_ADMIN_RESET_CONTEXT, context.index()), uint32_t{SIDRA_ADMIN_OK});
        queue.set_next(0);
        queue.publish();
    }
    queue.submit(nop());
    bench.run();
    EXPECT_TRUE(retired(queue));
}

class AnyQueue : public ::testing::TestWithParam<bool> {};  // kernel queue or user queue

TEST_P(AnyQueue, RunsAroundTheRingManyTimes) {
    Bench bench;
    Queue& queue = bench.context().queue({.kernel = GetParam()});
    std::mt19937_64 random(3);
    std::vector<uint32_t> cookies;
    while (queue.next() < 1000) {
        const uint64_t n = 1 + random() % queue.slots();
        for (uint64_t i = 0; i < n; ++i) {
            const sidra_cmd cmd = nop();
            cookies.push_back(cmd.hdr.cookie);
            queue.push(cmd);
        }
        queue.publish();
        queue.doorbell();
        bench.run();
        ASSERT_TRUE(retired(queue));
        for (uint64_t i = queue.next() - n; i < queue.next(); ++i) {
            const sidra_report report = queue.report(i);
            ASSERT_EQ(report.sequence, i);
            ASSERT_EQ(report.cookie, cookies[i]);
            ASSERT_EQ(report.opcode, SIDRA_CMD_NOP);
            ASSERT_EQ(report.cause, 0u);
        }
    }
    EXPECT_EQ(bench.telemetry().packets, queue.next());
}

TEST_P(AnyQueue, IndicesBeyond32Bits) {
    Bench bench;
    for (const uint64_t start :
         {(uint64_t{1} << 32) - 3, (uint64_t{1} << 40) + 17, (uint64_t{1} << 63) - 2, ~uint64_t{0} - 100}) {
        Queue& queue = bench.context().queue({.start = start, .kernel = GetParam()});
        queue.doorbell();
        bench.run();
        EXPECT_EQ(queue.timeline(), start);
        for (unsigned i = 0; i < 10; ++i) {
            queue.submit(nop());
        }
        bench.run();
        EXPECT_TRUE(retired(queue)) << start;
        EXPECT_EQ(queue.timeline(), start + 10);
        EXPECT_EQ(queue.report(start + 9).sequence, start + 9);
    }
}

TEST_P(AnyQueue, WriteIndexAheadOrBackwardsFaults) {
    Bench bench;
    Context& context = bench.context();
    Queue& queue = context.queue({.kernel = GetParam()});
    for (uint64_t i = 0; i < queue.slots(); ++i) {
        queue.push(nop());
    }
    queue.publish();
    queue.doorbell();
    bench.run();
    ASSERT_TRUE(retired(queue)) << "a full ring is allowed";

    for (const uint64_t wrong :
         {queue.slots() + queue.slots() + 1, queue.slots() - 1, uint64_t{0}, ~uint64_t{0}, uint64_t{1} << 32}) {
        SCOPED_TRACE(wrong);
        queue.reset();
        for (uint64_t i = 0; i < queue.slots(); ++i) {
            queue.push(nop());
        }
        queue.publish();
        queue.doorbell();
        bench.run();
        ASSERT_TRUE(retired(queue));
        queue.set_next(wrong);
        queue.publish();
        queue.doorbell();
        bench.run();
        const sidra_queue_state state = queue.state();
        EXPECT_EQ(state.run_state, uint32_t{SIDRA_QUEUE_FAULTED});
        EXPECT_EQ(state.fault.cause, SIDRA_FAULT_RING) << cause_name(state.fault.cause);
        EXPECT_EQ(state.timeline, queue.slots());
        EXPECT_EQ(state.fault.sequence, queue.slots());
    }
}

TEST_P(AnyQueue, LargestRing) {
    Bench bench({.pages = 16384});
    Queue& queue = bench.context().queue({.log2 = SIDRA_QUEUE_LOG2_MAX, .kernel = GetParam(), .reports = false});
    const sidra_cmd cmd = nop();
    for (uint64_t i = 0; i < queue.slots(); ++i) {
        queue.push(cmd);
    }
    queue.publish();
    queue.doorbell();
    bench.run();
    EXPECT_TRUE(retired(queue));
    EXPECT_EQ(queue.timeline(), uint64_t{1} << 16);
}

TEST_P(AnyQueue, ZeroedSlotsFault) {
    Bench bench;
    Queue& queue = bench.context().queue({.kernel = GetParam()});
    queue.submit(nop());
    sidra_cmd zero{};
    const uint64_t at = queue.submit(zero);
    queue.submit(nop());
    bench.run();
    EXPECT_TRUE(faulted(queue, at, zero, {{SIDRA_FAULT_OPCODE}}));
    // Doorbells do not revive it; a queue reset does.
    queue.doorbell();
    EXPECT_EQ(bench.admin(SIDRA_ADMIN_QUIESCE_QUEUE, queue.context().index(), queue.index()), uint32_t{SIDRA_ADMIN_OK});
    EXPECT_EQ(bench.admin(SIDRA_ADMIN_RESUME_QUEUE, queue.context().index(), queue.index()), uint32_t{SIDRA_ADMIN_OK});
    queue.doorbell();
    bench.run();
    EXPECT_EQ(queue.timeline(), at);
    EXPECT_EQ(queue.run_state(), uint32_t{SIDRA_QUEUE_FAULTED});
    queue.reset();
    queue.submit(nop());
    bench.run();
    EXPECT_TRUE(retired(queue));
    EXPECT_EQ(queue.timeline(), 1u);
}

TEST_P(AnyQueue, RingAndIndexThatCannotBeReadFault) {
    Bench bench;
    Context& context = bench.context();
    Queue& queue = context.queue({.kernel = GetParam()});
    const auto bus_of = [&](uint64_t address) { return GetParam() ? address : context.space().raw(address).address; };
    for (const uint64_t victim : {queue.entry().ring, queue.entry().write_index}) {
        bench.bus().set_access(bus_of(victim), 8, Access::kRefused);
        queue.submit(nop());
        bench.run();
        const sidra_queue_state state = queue.state();
        EXPECT_EQ(state.run_state, uint32_t{SIDRA_QUEUE_FAULTED});
        EXPECT_EQ(state.fault.cause, SIDRA_FAULT_BUS);
        EXPECT_EQ(state.fault.sequence, 0u);
        EXPECT_EQ(state.fault.address / kPage, victim / kPage);
        bench.bus().set_access(bus_of(victim), 8, Access::kOpen);
        queue.reset();
    }
    queue.submit(nop());
    bench.run();
    EXPECT_TRUE(retired(queue));
}

// Bus mastering is disabled between two reads of an idle queue, as before a suspend: the fault cannot be written to
// memory, and the driver resumes the queue after a reset.
TEST_P(AnyQueue, TheFaultOfABusThatIsGoneStaysUntold) {
    Bench bench;
    Context& context = bench.context();
    Queue& queue = context.queue({.kernel = GetParam()});
    const uint64_t index = queue.entry().write_index;
    const uint64_t index_bus = GetParam() ? index : context.space().raw(index).address;
    bool master = true;
    const auto set_master = [&](bool on) {
        master = on;
        for (const uint64_t page : {index_bus, queue.entry().state})
            bench.bus().set_access(page, 8, on ? Access::kOpen : Access::kRefused);
    };
    bench.set_dma_hook([&](uint64_t bus) {
        if (master && bus == index_bus) set_master(false);
    });
    queue.doorbell();
    bench.run();
    EXPECT_FALSE(master);
    const sidra_queue_state state = queue.state();
    EXPECT_EQ(state.run_state, uint32_t{SIDRA_QUEUE_RUNNING});
    EXPECT_EQ(state.fault.cause, SIDRA_FAULT_NONE);
    bench.set_dma_hook({});
    set_master(true);
    queue.reset();
    queue.submit(nop());
    bench.run();
    EXPECT_TRUE(retired(queue));
}

INSTANTIATE_TEST_SUITE_P(Kinds, AnyQueue, ::testing::Values(false, true),
                         [](const auto& kind) { return kind.param ? std::string("Kernel") : std::string("User"); });

TEST(QueueRing, UnmappedRingOrIndexFaults) {
    Bench bench;
    Context& context = bench.context();
    Queue& queue = context.queue();
    for (const uint64_t victim : {queue.entry().ring, queue.entry().write_index}) {
        for (const bool rights : {false, true}) {
            const uint64_t entry = context.space().entry(victim, 0);
            const uint64_t pte = bench.bus().load64(entry);
            queue.submit(nop());  // written through a mapping that the chip has not yet used
            bench.bus().store64(entry, rights ? (pte & ~kReadWrite) | kWrite : 0);
            bench.run();
            const sidra_queue_state state = queue.state();
            EXPECT_EQ(state.run_state, uint32_t{SIDRA_QUEUE_FAULTED});
            EXPECT_EQ(state.fault.cause, rights ? SIDRA_FAULT_PERMISSION : SIDRA_FAULT_TRANSLATION);
            EXPECT_EQ(state.fault.address / kPage, victim / kPage);
            bench.bus().store64(entry, pte);
            EXPECT_EQ(bench.admin(SIDRA_ADMIN_QUIESCE_CONTEXT, context.index()), uint32_t{SIDRA_ADMIN_OK});
            EXPECT_EQ(bench.admin(SIDRA_ADMIN_RESUME_CONTEXT, context.index()), uint32_t{SIDRA_ADMIN_OK});
            queue.reset();
        }
    }
    queue.submit(nop());
    bench.run();
    EXPECT_TRUE(retired(queue));
}

TEST(QueueRing, ReportsThatCannotBeWrittenAreTheOwnersLoss) {
    Bench bench;
    Context& context = bench.context();
    Queue& queue = context.queue();
    const uint64_t entry = context.space().entry(queue.entry().report, 0);
    const uint64_t pte = bench.bus().load64(entry);
    for (const uint64_t broken : {uint64_t{0}, (pte & ~kReadWrite) | kRead}) {
        bench.bus().store64(entry, broken);
        queue.submit(nop());
        bench.run();
        EXPECT_TRUE(retired(queue));
        bench.bus().store64(entry, pte);
        EXPECT_EQ(bench.admin(SIDRA_ADMIN_QUIESCE_RANGE, context.index(), queue.entry().report, kPage),
                  uint32_t{SIDRA_ADMIN_OK});
    }
    EXPECT_EQ(queue.report(1).sequence, 0u);
    queue.submit(nop());
    bench.run();
    EXPECT_EQ(queue.report(2).sequence, 2u);
}

TEST(QueueRing, RewritingASubmittedPacketAfterRetirementChangesNothing) {
    Bench bench;
    Context& context = bench.context();
    Queue& queue = context.queue();
    const uint64_t at = queue.submit(nop());
    bench.run();
    queue.write_ring(at, blank(SIDRA_CMD_INVALID));
    queue.submit(nop());
    bench.run();
    EXPECT_TRUE(retired(queue));
}

TEST(QueueRing, OnePollPicksUpWhatWasPublishedMeanwhile) {
    // A doorbell carries no index: the chip reads it from memory.
    Bench bench;
    Queue& queue = bench.context().queue();
    queue.push(nop());
    queue.doorbell();
    bench.run();
    EXPECT_EQ(queue.timeline(), 0u);
    queue.publish();
    queue.doorbell();
    queue.doorbell();
    bench.run();
    EXPECT_TRUE(retired(queue));
    EXPECT_EQ(bench.run(), 0u) << "an idle chip has nothing to run";
    EXPECT_FALSE(sidra_chip_pending(bench.chip()));
}

TEST(QueueRing, DoorbellKicksTheHost) {
    Bench bench;
    Queue& queue = bench.context().queue();
    const uint64_t before = bench.kicks();
    queue.submit(nop());
    EXPECT_GT(bench.kicks(), before);
    EXPECT_TRUE(sidra_chip_pending(bench.chip()));
    bench.run();
    EXPECT_FALSE(sidra_chip_pending(bench.chip()));
}

TEST(QueueOrder, LaterPacketsSeeEarlierEffects) {
    Bench bench;
    Context& context = bench.context();
    Queue& queue = context.queue({.log2 = 9});
    const uint64_t a = context.alloc(2 * kPage) + 4000;  // crosses a page
    const uint64_t b = context.alloc(2 * kPage) + 4001;
    std::vector<uint8_t> model_a(300), model_b(300);
    std::mt19937_64 random(9);
    for (unsigned i = 0; i < 400; ++i) {
        const bool to_a = random() % 2 != 0;
        const uint64_t from = random() % 200, to = random() % 200, n = 1 + random() % 100;
        if (random() % 3 == 0) {
            const auto pattern = static_cast<uint8_t>(random());
            queue.push(fill((to_a ? a : b) + to, n, pattern, 1));
            std::fill_n((to_a ? model_a : model_b).begin() + static_cast<ptrdiff_t>(to), n, pattern);
        } else {
            queue.push(copy((to_a ? a : b) + to, (to_a ? b : a) + from, n));
            std::copy_n((to_a ? model_b : model_a).begin() + static_cast<ptrdiff_t>(from), n,
                        (to_a ? model_a : model_b).begin() + static_cast<ptrdiff_t>(to));
        }
    }
    queue.publish();
    queue.doorbell();
    bench.run();
    ASSERT_TRUE(retired(queue));
    EXPECT_EQ(context.get<uint8_t>(a, 300), model_a);
    EXPECT_EQ(context.get<uint8_t>(b, 300), model_b);
}

TEST(QueueAccounting, TimeAndEnergyAddUp) {
    Bench bench;
    Context& context = bench.context();
    Queue& queue = context.queue({.log2 = 7});
    const uint64_t a = context.alloc(65536), b = context.alloc(65536);
    std::mt19937_64 random(4);
    for (unsigned i = 0; i < 100; ++i) {
        queue.push(random() % 2 != 0 ? copy(a, b, 1 + random() % 65536) : nop());
    }
    queue.publish();
    queue.doorbell();
    bench.run();
    ASSERT_TRUE(retired(queue));
    uint64_t ps = 0, pj = 0;
    for (uint64_t i = 0; i < 100; ++i) {
        const sidra_report report = queue.report(i);
        EXPECT_EQ(report.sequence, i);
        EXPECT_GT(report.device_ps, 0u);
        ps += report.device_ps;
        pj += report.energy_pj;
    }
    const sidra_queue_state state = queue.state();
    EXPECT_EQ(state.device_ps, ps);
    EXPECT_EQ(state.energy_pj, pj);
    EXPECT_GT(pj, 0u);
    EXPECT_GE(state.progress, 100u);
    const sidra_telemetry telemetry = bench.telemetry();
    EXPECT_EQ(telemetry.device_ps, ps);
    EXPECT_EQ(telemetry.energy_pj, pj);
}

TEST(QueueAccounting, ModelTimeDoesNotDependOnTheHost) {
    uint64_t ps[2];
    for (const bool scatter : {false, true}) {
        Bench bench({.workers = scatter ? 1u : 2u, .scatter = scatter, .seed = scatter ? 1u : 77u});
        Context& context = bench.context();
        Queue& queue = context.queue();
        const uint64_t a = context.alloc(300000), b = context.alloc(300000);
        bench.set_clock_step(scatter ? 1 : 1000);
        queue.submit(copy(a, b, 300000));
        bench.run();
        ASSERT_TRUE(retired(queue));
        ps[scatter] = queue.state().device_ps;
    }
    EXPECT_EQ(ps[0], ps[1]);
}

TEST(QueueAccounting, LargerCopiesTakeLonger) {
    Bench bench;
    Context& context = bench.context();
    Queue& queue = context.queue();
    const uint64_t a = context.alloc(1 << 20), b = context.alloc(1 << 20);
    queue.push(copy(a, b, 64));
    queue.push(copy(a, b, 1 << 20));
    queue.publish();
    queue.doorbell();
    bench.run();
    ASSERT_TRUE(retired(queue));
    EXPECT_GT(queue.report(1).device_ps, queue.report(0).device_ps);
    EXPECT_GT(queue.report(1).energy_pj, queue.report(0).energy_pj);
}

TEST(QueueAccounting, ProgressMovesInsideLongPackets) {
    // 128 MiB of device addresses on 2 MiB of memory each.
    Bench bench;
    Context& context = bench.context();
    Queue& queue = context.queue();
    constexpr uint64_t kHuge = SIDRA_HUGE_SIZE, kCount = 64;
    uint64_t ranges[2];
    for (uint64_t& range : ranges) {
        range = context.reserve(kCount * kHuge, kHuge);
        const uint64_t memory = bench.bus().alloc(kHuge, kHuge);
        for (uint64_t i = 0; i < kCount; ++i) {
            context.space().set(range + i * kHuge, 1, memory | kReadWrite | SIDRA_PTE_VALID | SIDRA_PTE_LEAF);
        }
    }
    queue.submit(copy(ranges[0], ranges[1], kCount * kHuge));
    uint64_t seen = 0, moves = 0;
    while (bench.run_once()) {
        const uint64_t progress = bench.bus().load64(queue.entry().state + 8);
        moves += progress != seen && queue.timeline() == 0;
        seen = progress;
    }
    EXPECT_GE(moves, 2u) << "no packet is unbounded: 128 MiB are many slices";
    EXPECT_TRUE(retired(queue));
}

TEST(QueueAccounting, ProgressMovesWithEachUnit) {
    Bench bench({.pages = 16384});
    Context& context = bench.context();
    Queue& queue = context.queue();
    constexpr uint64_t kBytes = 8 << 20, kUnits = 32;
    const uint64_t to = context.alloc(kBytes), from = context.alloc(kBytes);
    std::array<std::atomic<bool>, kUnits + 2> seen{};
    bench.set_dma_hook([&](uint64_t) {
        const uint64_t progress = bench.bus().load64(queue.entry().state + 8);
        if (progress < seen.size()) seen[progress].store(true);
    });
    queue.submit(copy(to, from, kBytes));
    bench.run();
    EXPECT_TRUE(retired(queue));
    bench.set_dma_hook(nullptr);
    EXPECT_GE(std::count_if(seen.begin(), seen.end(), [](const auto& of) { return of.load(); }), kUnits);
    EXPECT_EQ(queue.state().progress, kUnits + 1) << "its units, and the packet";
}

// Bus mastering is disabled in the middle of a packet: not even the time that it has taken is told.
TEST(QueueAccounting, NothingIsStoredWhenTheBusIsGone) {
    Bench bench({.later = false});
    Context& context = bench.context();
    Queue& queue = context.queue();
    const uint64_t from = context.alloc(kPage), to = context.alloc(kPage), from_bus = context.space().raw(from).address;
    const auto state_page = [&] {
        std::vector<uint8_t> bytes(kPage);
        bench.bus().read(queue.entry().state, bytes.data(), kPage);
        return bytes;
    };
    std::vector<uint8_t> before;
    bench.set_dma_hook([&](uint64_t bus) {
        if (bus != from_bus) return;
        bench.bus().set_access(Bus::kBase, BenchOptions{}.pages * kPage, Access::kRefused);
        before = state_page();
    });
    queue.submit(copy(to, from, 64));
    bench.run();
    EXPECT_EQ(before, state_page());
}

TEST(QueueEntry, BecomesValidWhileItIsRead) {
    // The driver writes the fields before the flags: a reader that reads the flags last may have the fields of the
    // previous entry.
    Bench bench;
    Context& context = bench.context();
    Queue& queue = context.queue();
    const uint64_t at = context.queue_entry_address(queue.index()), flags = at + 40;
    static_assert(offsetof(sidra_hw_queue, flags) == 44);
    const uint64_t valid = bench.bus().load64(flags);
    bench.bus().store64(flags, valid & 0xffff'ffff);
    bench.bus().store64(at + offsetof(sidra_hw_queue, state), bench.bus().alloc_page());  // of a queue that is gone
    bool published = false;
    bench.set_dma_hook([&](uint64_t bus) {
        if (published || bus != flags) {
            return;
        }
        published = true;
        bench.bus().store64(at + offsetof(sidra_hw_queue, state), queue.entry().state);
        bench.bus().store64(flags, valid);
    });
    queue.submit(nop());
    bench.run();
    EXPECT_TRUE(published);
    EXPECT_TRUE(retired(queue));
}

TEST(QueueEntry, AQueueThatCannotBeStartedTakesNoPlace) {
    Bench bench;
    Queue& queue = bench.context().queue();
    bench.bus().set_access(queue.entry().state, kPage, Access::kRefused);
    for (unsigned i = 0; i < 5; ++i) {
        queue.submit(nop());
        bench.run();
        EXPECT_EQ(bench.telemetry().queues, 0u);
    }
    bench.bus().set_access(queue.entry().state, kPage, Access::kOpen);
    queue.doorbell();
    bench.run();
    EXPECT_TRUE(retired(queue));
    EXPECT_EQ(bench.telemetry().queues, 1u);
}

TEST(Timestamp, TellsClockCostAndSequence) {
    Bench bench;
    Context& context = bench.context();
    Queue& queue = context.queue();
    const uint64_t at = context.alloc(2 * kPage, kWrite);
    bench.set_clock_step(0);
    bench.clock() = 1'000'000 + 5'000'000'000ull;
    const uint64_t device_clock = bench.read64(SIDRA_REG_CLOCK);
    queue.push(nop());
    queue.push(timestamp(at + kPage - 8));  // crosses a page
    queue.push(copy(at, queue.entry().ring, 64));
    queue.push(timestamp(at + 1024));
    queue.publish();
    queue.doorbell();
    bench.run();
    ASSERT_TRUE(retired(queue));
    sidra_timestamp first{}, second{};
    context.read(at + kPage - 8, &first, sizeof first);
    context.read(at + 1024, &second, sizeof second);
    EXPECT_EQ(first.sequence, 1u);
    EXPECT_EQ(second.sequence, 3u);
    EXPECT_EQ(first.clock_ns, device_clock);
    EXPECT_GE(first.device_ps, queue.report(0).device_ps);
    EXPECT_GE(second.device_ps, first.device_ps + queue.report(2).device_ps);
    EXPECT_GE(second.energy_pj, first.energy_pj + queue.report(2).energy_pj);
    EXPECT_LE(second.device_ps, queue.state().device_ps);
}

}  // namespace
}  // namespace sidra::chip_test
