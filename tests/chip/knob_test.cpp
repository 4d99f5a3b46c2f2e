// SPDX-License-Identifier: MIT
// Fault knobs: each causes exactly its documented fault, and everything works again afterwards.
#include <set>

#include "bench.h"
#include "packets.h"

namespace sidra::chip_test {
namespace {

struct Rig {
    Bench bench;
    Context& context = bench.context();
    Queue& queue = context.queue();

    bool set(uint32_t knob, uint64_t value) { return sidra_chip_set_knob(bench.chip(), knob, value); }
};

TEST(Knob, Names) {
    std::set<std::string> names;
    for (uint32_t knob = 0; knob < SIDRA_KNOB_COUNT; ++knob) {
        const char* name = sidra_chip_knob_name(knob);
        ASSERT_NE(name, nullptr);
        EXPECT_FALSE(std::string(name).empty());
        EXPECT_EQ(std::string(name).find_first_not_of("abcdefghijklmnopqrstuvwxyz0123456789-"), std::string::npos)
            << name;
        names.insert(name);
    }
    EXPECT_EQ(names.size(), size_t{SIDRA_KNOB_COUNT});
    EXPECT_TRUE(names.contains("dma-error-at"));
    EXPECT_TRUE(names.contains("no-quiesce-ack"));
    EXPECT_EQ(sidra_chip_knob_name(SIDRA_KNOB_COUNT), nullptr);
    EXPECT_EQ(sidra_chip_knob_name(~0u), nullptr);
    std::set<std::string> lies;
    for (uint32_t lie = 0; lie < SIDRA_LIE_COUNT; ++lie) lies.insert(sidra_chip_lie_name(lie));
    EXPECT_EQ(lies.size(), size_t{SIDRA_LIE_COUNT});
    EXPECT_TRUE(lies.contains("short-read"));
    EXPECT_EQ(sidra_chip_lie_name(SIDRA_LIE_COUNT), nullptr);
}

TEST(Knob, RefusesWhatIsNotAllowed) {
    Rig rig;
    EXPECT_FALSE(rig.set(SIDRA_KNOB_COUNT, 0));
    EXPECT_FALSE(rig.set(~0u, 1));
    EXPECT_FALSE(rig.set(SIDRA_KNOB_SPURIOUS_MSIX, SIDRA_MSIX_VECTORS));
    EXPECT_FALSE(rig.set(SIDRA_KNOB_STUCK_CELL, uint64_t{rig.bench.crossbars_total()} << 32));
    EXPECT_FALSE(rig.set(SIDRA_KNOB_LIE, SIDRA_LIE_COUNT));
    EXPECT_EQ(rig.bench.interrupts_total(), 0u);
}

TEST(Knob, DmaErrorAt) {
    unsigned faults = 0, clean = 0;
    for (uint64_t n = 1; n <= 24; ++n) {
        SCOPED_TRACE(n);
        Rig rig;
        const uint64_t a = rig.context.alloc(8 * kPage), b = rig.context.alloc(8 * kPage);
        rig.queue.submit(nop());
        rig.bench.run();
        ASSERT_TRUE(rig.set(SIDRA_KNOB_DMA_ERROR_AT, n));
        rig.queue.submit(copy(b, a, 8 * kPage));
        rig.bench.run();
        const sidra_queue_state state = rig.queue.state();
        if (state.run_state == SIDRA_QUEUE_FAULTED) {
            EXPECT_STREQ(cause_name(state.fault.cause), cause_name(SIDRA_FAULT_BUS));
            EXPECT_EQ(state.fault.sequence, state.timeline);  // 1: in the copy; 2: while looking for more
            EXPECT_TRUE(state.timeline == 1 || state.timeline == 2);
            EXPECT_GE(rig.bench.telemetry().dma_errors, 1u);
            ++faults;
        } else if (state.timeline == 2) {
            ++clean;
        } else {
            EXPECT_EQ(state.timeline, 1u) << "the state page itself could not be reached: nothing happens";
        }
        ASSERT_TRUE(rig.set(SIDRA_KNOB_DMA_ERROR_AT, 0));
        rig.queue.reset();
        rig.queue.submit(copy(b, a, 8 * kPage));
        rig.bench.run();
        EXPECT_TRUE(retired(rig.queue)) << "one shot";
    }
    EXPECT_GE(faults, 8u) << "16 scattered pages are as many translations";
    EXPECT_GE(clean, 1u);
}

TEST(Knob, LoseMsix) {
    Rig rig;
    ASSERT_TRUE(rig.set(SIDRA_KNOB_LOSE_MSIX, 2));
    for (uint64_t i = 1; i <= 4; ++i) {
        rig.queue.arm(i);
        rig.queue.submit(nop());
        rig.bench.run();
    }
    EXPECT_EQ(rig.bench.interrupts(1), 2u);
    EXPECT_TRUE(retired(rig.queue));
    // Re-arming a reached value finds it.
    rig.queue.arm(4);
    rig.bench.run();
    EXPECT_EQ(rig.bench.interrupts(1), 3u);
}

TEST(Knob, SpuriousMsix) {
    Rig rig;
    for (const uint64_t vector : {0u, 7u, 31u}) {
        ASSERT_TRUE(rig.set(SIDRA_KNOB_SPURIOUS_MSIX, vector));
        rig.bench.run();
        EXPECT_EQ(rig.bench.interrupts(static_cast<uint32_t>(vector)), 1u);
    }
}

TEST(Knob, LinkLost) {
    Rig rig;
    rig.queue.submit(nop());
    rig.bench.run();
    const uint64_t calls = rig.bench.bus().calls();
    ASSERT_TRUE(rig.set(SIDRA_KNOB_LINK_LOST, 1));
    EXPECT_EQ(rig.bench.read32(SIDRA_REG_ID), 0xffffffffu);
    EXPECT_EQ(rig.bench.read64(SIDRA_REG_CLOCK), ~uint64_t{0});
    EXPECT_EQ(rig.bench.read64(SIDRA_BAR_TELEMETRY), ~uint64_t{0});
    EXPECT_EQ(rig.bench.read32(SIDRA_BAR_DOORBELL), 0xffffffffu);
    rig.bench.write32(SIDRA_REG_SCRATCH, 1);
    rig.queue.submit(nop());
    rig.queue.arm(1);
    rig.bench.write32(SIDRA_REG_TEST_IRQ, 3);
    rig.bench.run();
    EXPECT_EQ(rig.bench.bus().calls(), calls) << "no DMA without link";
    EXPECT_EQ(rig.bench.interrupts_total(), 0u);
    EXPECT_EQ(rig.queue.timeline(), 1u);
    ASSERT_TRUE(rig.set(SIDRA_KNOB_LINK_LOST, 0));
    EXPECT_EQ(rig.bench.read32(SIDRA_REG_ID), SIDRA_ID_MAGIC);
    EXPECT_EQ(rig.bench.read32(SIDRA_REG_SCRATCH), ~0u) << "writes went nowhere";
    // A driver resets the device after such an event.
    rig.bench.write32(SIDRA_REG_RESET, SIDRA_RESET_MAGIC);
    rig.bench.run();
    rig.bench.enable();
    rig.queue.set_next(0);
    rig.queue.submit(nop());
    rig.bench.run();
    EXPECT_TRUE(retired(rig.queue));
}

TEST(Knob, LinkLostInMidFlight) {
    Rig rig;
    const uint64_t a = rig.context.alloc(1 << 20), b = rig.context.alloc(1 << 20);
    for (unsigned i = 0; i < 40; ++i) {
        rig.queue.push(copy(a, b, 1 << 20));
    }
    rig.queue.publish();
    rig.queue.doorbell();
    rig.bench.run_once();
    ASSERT_TRUE(rig.set(SIDRA_KNOB_LINK_LOST, 1));
    rig.bench.run();
    const uint64_t timeline = rig.queue.timeline();
    EXPECT_LT(timeline, 40u);
    const uint64_t calls = rig.bench.bus().calls();
    rig.bench.run();
    EXPECT_EQ(rig.bench.bus().calls(), calls);
    ASSERT_TRUE(rig.set(SIDRA_KNOB_LINK_LOST, 0));
    sidra_chip_reset(rig.bench.chip());
    rig.bench.enable();
    rig.queue.set_next(0);
    rig.queue.submit(nop());
    rig.bench.run();
    EXPECT_TRUE(retired(rig.queue));
}

TEST(Knob, CorruptFetch) {
    for (const uint64_t n : {1u, 2u, 5u}) {
        Rig rig;
        ASSERT_TRUE(rig.set(SIDRA_KNOB_CORRUPT_FETCH, n));
        for (unsigned i = 0; i < 6; ++i) {
            rig.queue.push(nop());
        }
        rig.queue.publish();
        rig.queue.doorbell();
        rig.bench.run();
        const sidra_queue_state state = rig.queue.state();
        EXPECT_EQ(state.run_state, uint32_t{SIDRA_QUEUE_FAULTED});
        EXPECT_STREQ(cause_name(state.fault.cause), cause_name(SIDRA_FAULT_FETCH));
        EXPECT_EQ(state.timeline, n - 1);
        rig.queue.reset();
        for (unsigned i = 0; i < 6; ++i) {
            rig.queue.push(nop());
        }
        rig.queue.publish();
        rig.queue.doorbell();
        rig.bench.run();
        EXPECT_TRUE(retired(rig.queue));
    }
}

// A small 2 x 2 object and one MVM with it; the number of row tiles is a parameter.
struct MvmRig : Rig {
    explicit MvmRig(uint32_t encoding, uint32_t rows = 2)
        : rows_(rows), weights(context.weights({.rows = rows, .cols = 2, .encoding = encoding})) {
        program_it();
    }
    void program_it() {
        std::vector<int8_t> w(rows_ * 2);
        for (size_t i = 0; i < w.size(); ++i) {
            w[i] = static_cast<int8_t>(i % 2 == 0 ? 3 : -4);
        }
        queue.submit(program(weights, 0, rows_, 0, 2, context.put(w), 2));
        bench.run();
        EXPECT_TRUE(retired(queue));
    }
    std::vector<int32_t> mvm_once() {
        const std::vector<int8_t> x(rows_, 1);
        const uint64_t out = context.alloc(64);
        queue.submit(
            mvm(static_cast<uint16_t>(weights), SIDRA_TYPE_S8, SIDRA_TYPE_S32, 1, context.put(x), rows_, out, 8));
        bench.run();
        EXPECT_TRUE(retired(queue));
        return context.get<int32_t>(out, 2);
    }
    uint32_t rows_;
    uint32_t weights;
};

TEST(Knob, SlowTile) {
    MvmRig rig(SIDRA_ENCODING_OFFSET, 600);  // 3 crossbars
    rig.mvm_once();
    const uint64_t fast = rig.queue.report(rig.queue.next() - 1).device_ps;
    ASSERT_TRUE(rig.set(SIDRA_KNOB_SLOW_TILE_NS, 5000));
    rig.mvm_once();
    const uint64_t slow = rig.queue.report(rig.queue.next() - 1).device_ps;
    EXPECT_GE(slow, fast + 5'000'000);
    ASSERT_TRUE(rig.set(SIDRA_KNOB_SLOW_TILE_NS, 0));
    rig.mvm_once();
    EXPECT_EQ(rig.queue.report(rig.queue.next() - 1).device_ps, fast);
}

TEST(Knob, NoQuiesceAck) {
    Rig rig;
    rig.queue.submit(nop());
    rig.bench.run();
    for (const uint32_t op : {SIDRA_ADMIN_QUIESCE_RANGE, SIDRA_ADMIN_QUIESCE_WEIGHTS, SIDRA_ADMIN_QUIESCE_QUEUE,
                              SIDRA_ADMIN_QUIESCE_CONTEXT, SIDRA_ADMIN_QUIESCE_DEVICE}) {
        SCOPED_TRACE(op);
        ASSERT_TRUE(rig.set(SIDRA_KNOB_NO_QUIESCE_ACK, 1));
        const uint64_t page = rig.bench.bus().alloc_page();
        EXPECT_EQ(rig.bench.admin(SIDRA_ADMIN_TEST_DMA, page, page + 8, 8), uint32_t{SIDRA_ADMIN_OK})
            << "only quiesces hang";
        const auto result = rig.bench.try_admin(op, rig.context.index(), rig.queue.index(), kPage);
        EXPECT_FALSE(result.done);
        // The escalation: a device reset ends it.
        rig.bench.write32(SIDRA_REG_RESET, SIDRA_RESET_MAGIC);
        rig.bench.run();
        EXPECT_EQ(rig.bench.read32(SIDRA_REG_ADMIN_STATUS) & SIDRA_ADMIN_BUSY, 0u);
        ASSERT_TRUE(rig.set(SIDRA_KNOB_NO_QUIESCE_ACK, 0));
        rig.bench.enable();
        EXPECT_EQ(rig.bench.admin(op, rig.context.index(), rig.queue.index(), kPage), uint32_t{SIDRA_ADMIN_OK});
        for (const uint32_t resume :
             {SIDRA_ADMIN_RESUME_QUEUE, SIDRA_ADMIN_RESUME_CONTEXT, SIDRA_ADMIN_RESUME_DEVICE}) {
            EXPECT_EQ(rig.bench.admin(resume, rig.context.index(), rig.queue.index()), uint32_t{SIDRA_ADMIN_OK});
        }
        rig.queue.set_next(0);
        rig.queue.submit(nop());
        rig.bench.run();
        EXPECT_TRUE(retired(rig.queue));
    }
}

TEST(Knob, StuckCell) {
    MvmRig rig(SIDRA_ENCODING_OFFSET);
    const uint32_t crossbar = [&] {
        uint32_t index = 0;
        rig.bench.bus().read(rig.context.weights_entry(rig.weights).tiles, &index, 4);
        return index;
    }();
    EXPECT_EQ(rig.mvm_once(), (std::vector<int32_t>{6, -8}));
    ASSERT_TRUE(rig.set(SIDRA_KNOB_STUCK_CELL, uint64_t{crossbar} << 32 | 1u << 24 | 0u << 16 | 200));  // w = 200 - 128
    rig.program_it();
    EXPECT_EQ(rig.mvm_once(), (std::vector<int32_t>{3 + 72, -8}));
    const uint64_t at = rig.context.alloc(kPage);
    rig.queue.submit(readback(rig.weights, 0, 2, 0, 2, at, 2));
    rig.bench.run();
    ASSERT_TRUE(retired(rig.queue));
    EXPECT_EQ(rig.context.get<int8_t>(at, 4), (std::vector<int8_t>{3, -4, 72, -4}));
    EXPECT_EQ(rig.bench.xbars(crossbar, 1)[0].stuck_cells, 1u);
    ASSERT_TRUE(rig.set(SIDRA_KNOB_STUCK_CELL, ~uint64_t{0}));
    rig.program_it();
    EXPECT_EQ(rig.mvm_once(), (std::vector<int32_t>{6, -8}));
    EXPECT_EQ(rig.bench.xbars(crossbar, 1)[0].stuck_cells, 0u);
}

TEST(Knob, StuckCellOfAPair) {
    MvmRig rig(SIDRA_ENCODING_DIFFERENTIAL);
    uint32_t crossbar = 0;
    rig.bench.bus().read(rig.context.weights_entry(rig.weights).tiles, &crossbar, 4);
    EXPECT_EQ(rig.mvm_once(), (std::vector<int32_t>{6, -8}));
    // Column 2 is the positive cell of output 1: the weight -4 cannot follow any more.
    ASSERT_TRUE(rig.set(SIDRA_KNOB_STUCK_CELL, uint64_t{crossbar} << 32 | 0u << 24 | 2u << 16 | 255));
    rig.program_it();
    const auto sums = rig.mvm_once();
    EXPECT_EQ(sums[0], 6);
    EXPECT_GT(sums[1], -8);
    ASSERT_TRUE(rig.set(SIDRA_KNOB_STUCK_CELL, ~uint64_t{0}));
    rig.program_it();
    EXPECT_EQ(rig.mvm_once(), (std::vector<int32_t>{6, -8}));
}

TEST(Knob, AdcOffset) {
    for (const uint32_t encoding : {uint32_t{SIDRA_ENCODING_OFFSET}, uint32_t{SIDRA_ENCODING_DIFFERENTIAL}}) {
        MvmRig rig(encoding, 600);  // 3 row tiles
        EXPECT_EQ(rig.mvm_once(), (std::vector<int32_t>{1800, -2400}));
        ASSERT_TRUE(rig.set(SIDRA_KNOB_ADC_OFFSET, 7));
        EXPECT_EQ(rig.mvm_once(), (std::vector<int32_t>{1800 + 21, -2400 + 21}));
        ASSERT_TRUE(rig.set(SIDRA_KNOB_ADC_OFFSET, static_cast<uint32_t>(-5)));
        EXPECT_EQ(rig.mvm_once(), (std::vector<int32_t>{1800 - 15, -2400 - 15}));
        ASSERT_TRUE(rig.set(SIDRA_KNOB_ADC_OFFSET, 0));
        EXPECT_EQ(rig.mvm_once(), (std::vector<int32_t>{1800, -2400}));
    }
}

TEST(Knob, Stall) {
    Rig rig;
    ASSERT_TRUE(rig.set(SIDRA_KNOB_STALL, 1));
    rig.queue.submit(nop());
    rig.bench.run();
    EXPECT_EQ(rig.queue.timeline(), 0u);
    const uint64_t progress = rig.queue.state().progress;
    const uint64_t clock = rig.bench.read64(SIDRA_REG_CLOCK);
    rig.bench.clock() += 1000;
    rig.bench.run();
    EXPECT_EQ(rig.queue.state().progress, progress);
    EXPECT_GE(rig.bench.read64(SIDRA_REG_CLOCK), clock + 1000);
    const uint64_t kicks = rig.bench.kicks();
    ASSERT_TRUE(rig.set(SIDRA_KNOB_STALL, 0));
    EXPECT_GT(rig.bench.kicks(), kicks) << "there is work again";
    rig.bench.run();
    EXPECT_TRUE(retired(rig.queue));
}

// Each false value is returned once; the next read is true again.
TEST(Lie, AboutRegisters) {
    Bench bench;
    const struct {
        uint32_t lie;
        uint64_t offset, told;
    } lies[] = {
        {SIDRA_LIE_ADMIN_STATUS, SIDRA_REG_ADMIN_STATUS, 0xa5a58000},
        {SIDRA_LIE_INT_STATUS, SIDRA_REG_INT_STATUS, 0x7fffffc0},
        {SIDRA_LIE_L3_SIZE, SIDRA_REG_L3_SIZE, uint64_t{1} << 62},
        {SIDRA_LIE_NO_L3, SIDRA_REG_L3_SIZE, 0},
        {SIDRA_LIE_GEOMETRY, SIDRA_REG_GEOMETRY0, 0xffffffff},
        {SIDRA_LIE_CLOCK, SIDRA_REG_CLOCK, uint64_t{1} << 63},
        {SIDRA_LIE_REPLY_INDEX, SIDRA_REG_MAILBOX_REPLY_INDEX, 0xffffffff},
    };
    for (const auto& one : lies) {
        SCOPED_TRACE(sidra_chip_lie_name(one.lie));
        const bool wide = one.lie == SIDRA_LIE_L3_SIZE || one.lie == SIDRA_LIE_NO_L3 || one.lie == SIDRA_LIE_CLOCK;
        const auto read = [&] { return wide ? bench.read64(one.offset) : bench.read32(one.offset); };
        EXPECT_NE(read(), one.told);
        ASSERT_TRUE(sidra_chip_set_knob(bench.chip(), SIDRA_KNOB_LIE, one.lie));
        EXPECT_EQ(bench.read32(SIDRA_REG_ID), SIDRA_ID_MAGIC) << "not asked about that";
        EXPECT_EQ(read(), one.told);
        EXPECT_NE(read(), one.told);
        ASSERT_TRUE(sidra_chip_set_knob(bench.chip(), SIDRA_KNOB_LIE, one.lie));
        ASSERT_TRUE(sidra_chip_set_knob(bench.chip(), SIDRA_KNOB_LIE, 0));
        EXPECT_NE(read(), one.told) << "taken back";
    }
}

TEST(Lie, AboutQueues) {
    Rig rig;
    const auto run = [&](const sidra_cmd& cmd) {
        rig.queue.submit(cmd);
        rig.bench.run();
        return rig.queue.state();
    };
    ASSERT_TRUE(rig.set(SIDRA_KNOB_LIE, SIDRA_LIE_RUN_STATE));
    EXPECT_EQ(run(nop()).run_state, 77u);
    EXPECT_EQ(rig.queue.timeline(), 1u) << "it runs all the same";
    ASSERT_TRUE(rig.set(SIDRA_KNOB_LIE, SIDRA_LIE_TIMELINE_AHEAD));
    EXPECT_EQ(run(nop()).timeline, 2 + (uint64_t{1} << 40));
    EXPECT_EQ(run(nop()).timeline, 3u);
    ASSERT_TRUE(rig.set(SIDRA_KNOB_LIE, SIDRA_LIE_TIMELINE_BACK));
    EXPECT_EQ(run(nop()).timeline, 0u);
    EXPECT_EQ(run(nop()).timeline, 5u);
    ASSERT_TRUE(rig.set(SIDRA_KNOB_LIE, SIDRA_LIE_FAULT_RECORD));
    const sidra_queue_state state = run({});
    EXPECT_EQ(state.run_state, uint32_t{SIDRA_QUEUE_FAULTED});
    EXPECT_EQ(state.fault.cause, 0xffffu);
    EXPECT_EQ(state.fault.context, ~0u);
    rig.queue.reset();
    EXPECT_EQ(run({}).fault.cause, uint16_t{SIDRA_FAULT_OPCODE});
}

TEST(Lie, AboutCommandsAndResets) {
    Rig rig;
    const uint64_t page = rig.bench.bus().alloc_page();
    const auto words = [&] { return std::pair{rig.bench.bus().load64(page), rig.bench.bus().load64(page + 24)}; };
    const std::pair<uint64_t, uint64_t> before{1, 2}, zeros, ones{~uint64_t{0}, ~uint64_t{0}};
    const auto ask = [&](uint32_t lie, uint32_t op, uint64_t count) {
        rig.bench.bus().store64(page, before.first);
        rig.bench.bus().store64(page + 24, before.second);
        EXPECT_TRUE(rig.set(SIDRA_KNOB_LIE, lie));
        return rig.bench.admin(op, 0, page, count);
    };
    for (const auto& [op, count] : {std::pair{SIDRA_ADMIN_NVM_READ, 32u}, std::pair{SIDRA_ADMIN_XBAR_READ, 1u},
                                    std::pair{SIDRA_ADMIN_XBAR_REPORT, 1u}}) {
        EXPECT_EQ(ask(SIDRA_LIE_SHORT_READ, op, count), uint32_t{SIDRA_ADMIN_OK});
        EXPECT_EQ(words(), before);
        EXPECT_EQ(ask(op == SIDRA_ADMIN_NVM_READ ? SIDRA_LIE_NVM : SIDRA_LIE_XBAR_HEADERS, op, count),
                  uint32_t{SIDRA_ADMIN_OK});
        EXPECT_EQ(words(), ones);
        EXPECT_EQ(ask(SIDRA_LIE_NONE, op, count), uint32_t{SIDRA_ADMIN_OK});
        EXPECT_EQ(words(), zeros);
    }
    EXPECT_EQ(ask(SIDRA_LIE_ADMIN_RESULT, SIDRA_ADMIN_XBAR_READ, 1), 0xeeu);
    EXPECT_EQ(words(), zeros) << "done all the same";

    ASSERT_TRUE(rig.set(SIDRA_KNOB_LIE, SIDRA_LIE_NEVER_READY));
    for (const bool ready : {false, true}) {
        rig.bench.write32(SIDRA_REG_RESET, SIDRA_RESET_MAGIC);
        rig.bench.run();
        EXPECT_EQ((rig.bench.read32(SIDRA_REG_STATUS) & SIDRA_STATUS_READY) != 0, ready);
    }
}

TEST(Knob, AQuiesceThatIsLetGoWaitsForAThread) {
    Bench bench;
    ASSERT_TRUE(sidra_chip_set_knob(bench.chip(), SIDRA_KNOB_NO_QUIESCE_ACK, 1));
    const uint32_t tag = bench.start_admin(SIDRA_ADMIN_QUIESCE_DEVICE);
    bench.run();
    EXPECT_FALSE(sidra_chip_pending(bench.chip())) << "nothing to do for now";
    ASSERT_TRUE(sidra_chip_set_knob(bench.chip(), SIDRA_KNOB_NO_QUIESCE_ACK, 0));
    EXPECT_TRUE(sidra_chip_pending(bench.chip()));
    bench.run();
    EXPECT_EQ(bench.read32(SIDRA_REG_ADMIN_STATUS), SIDRA_ADMIN_OK | tag << 16);
}

TEST(Knob, CellsThatStickAndAreFreedAtTheSameTimeAreCounted) {
    Bench bench;
    constexpr uint64_t kCells = 64;
    const auto stick = [&](uint64_t cell) {
        EXPECT_TRUE(sidra_chip_set_knob(bench.chip(), SIDRA_KNOB_STUCK_CELL, cell << 16 | 7));
    };
    const auto free_all = [&] { EXPECT_TRUE(sidra_chip_set_knob(bench.chip(), SIDRA_KNOB_STUCK_CELL, ~uint64_t{0})); };
    for (unsigned round = 0; round < rounds(100); ++round) {
        std::atomic<bool> done{false};
        std::thread sticking([&] {
            for (uint64_t i = 0; i < 10 * kCells; ++i) {
                stick(i % kCells);
            }
            done.store(true);
        });
        while (!done.load()) {
            free_all();
        }
        sticking.join();
        for (uint64_t i = 0; i < kCells; ++i) {
            stick(i);
        }
        ASSERT_EQ(bench.xbars(0, 1)[0].stuck_cells, kCells) << round;
        free_all();
        ASSERT_EQ(bench.xbars(0, 1)[0].stuck_cells, 0u) << round;
    }
}

}  // namespace
}  // namespace sidra::chip_test
