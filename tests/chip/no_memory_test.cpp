// SPDX-License-Identifier: MIT
// The host's memory runs out at any allocation of the chip: nothing escapes, a packet that needed it faults, and
// everything works again afterwards.
#include <pthread.h>

#include <system_error>
#include <thread>

#include "bench.h"
#include "failing_new.h"
#include "packets.h"
#include "vectors.h"

namespace sidra::chip_test {
namespace {

using test::FailingNew;

// Packets of all kinds that need memory: scratch for rows that lie apart, weights, many mappings, threads, waiting.
struct Mixture {
    explicit Mixture(uint32_t level) : bench({.workers = 2, .level = level}) {
        Context& context = bench.context();
        compute = &context.queue();
        waiter = &context.queue();
        moves = &bench.context().queue();

        constexpr uint32_t kSize = 300, kBatch = 600;
        const uint32_t weights = context.weights({.rows = kSize, .cols = kSize});
        const uint64_t values = context.put(std::vector<int8_t>(kSize * kSize, 3));
        const uint64_t in = context.alloc(kBatch * kSize * 4), out = context.alloc(kBatch * kSize * 4);
        const uint64_t word = context.alloc(kPage);
        compute->push(program(weights, 0, kSize, 0, kSize, values, kSize));
        compute->push(
            mvm(static_cast<uint16_t>(weights), SIDRA_TYPE_U8, SIDRA_TYPE_S32, kBatch, in, kSize, out, kSize * 4));
        compute->push(
            mvm(static_cast<uint16_t>(weights), SIDRA_TYPE_S8, SIDRA_TYPE_F32, kBatch, in, kSize, out, kSize * 4));
        compute->push(add(context, kBatch, kSize, {in}, {in}, {out}));
        sidra_cmd sort = blank(SIDRA_CMD_SORT);
        sort.sort.type = SIDRA_TYPE_F32, sort.sort.index_type = SIDRA_TYPE_S32;
        sort.sort.in = in, sort.sort.in_stride = kSize * 4;
        sort.sort.indices = out, sort.sort.indices_stride = kSize * 4;
        sort.sort.rows = kBatch, sort.sort.cols = sort.sort.count = kSize;
        compute->push(sort);
        sidra_pattern pattern{};
        pattern.addr = in, pattern.type = SIDRA_TYPE_F32;
        pattern.height = kBatch / 2, pattern.width = 2, pattern.channels = kSize;
        pattern.pixel_stride = kSize * 4, pattern.row_stride = kSize * 8;
        pattern.kernel_h = 20, pattern.kernel_w = 2;
        pattern.stride_h = 100, pattern.stride_w = pattern.dilation_h = pattern.dilation_w = 1;
        sidra_cmd pool = blank(SIDRA_CMD_POOL);
        pool.pool.op = SIDRA_POOL_MAX;
        pool.pool.pattern = context.put(std::vector<sidra_pattern>{pattern});
        pool.pool.out = out;
        pool.pool.size[0] = pool.pool.size[2] = 1, pool.pool.size[1] = 3;
        pool.pool.out_stride[1] = kSize * 4;
        compute->push(pool);
        compute->push(readback(weights, 0, kSize, 0, kSize, out, kSize));
        compute->push(sem_signal(word, 1));
        waiter->push(sem_wait(word, 1));
        waiter->push(compute->waited_for(2));
        Context& other = moves->context();
        const uint64_t to = other.alloc(1 << 20), from = other.alloc(1 << 20);
        moves->push(copy(to, from, 1 << 20));
        moves->push(fill(to, 1 << 20, 7, 1));
        for (Queue* queue : {waiter, compute, moves}) queue->publish();
    }
    void start() const {
        for (Queue* queue : {waiter, compute, moves}) queue->doorbell();
    }
    // Either faulted for lack of memory, or finished, or (while it still waits) neither.
    void expect_outcome() const {
        for (Queue* queue : {waiter, compute, moves}) {
            if (queue->run_state() != SIDRA_QUEUE_FAULTED) continue;
            EXPECT_EQ(queue->state().fault.cause, SIDRA_FAULT_BUS) << cause_name(queue->state().fault.cause);
        }
        EXPECT_TRUE(moves->run_state() == SIDRA_QUEUE_FAULTED || retired(*moves));
        EXPECT_TRUE(compute->run_state() == SIDRA_QUEUE_FAULTED || retired(*compute));
    }
    void expect_recovery() {
        for (Queue* queue : {waiter, compute, moves}) {
            queue->reset();
            queue->submit(nop());
        }
        bench.run();
        for (Queue* queue : {waiter, compute, moves}) EXPECT_TRUE(retired(*queue));
    }

    Bench bench;
    Queue *compute, *waiter, *moves;
};

// Each attempt runs on a new thread, which has no scratch memory yet.
uint64_t failures_of(uint64_t first, uint64_t count, uint32_t level = SIDRA_CHIP_FAST) {
    uint64_t failed = 0;
    std::thread([&] {
        Mixture mixture(level);
        {
            FailingNew failing(first, count);
            mixture.start();
            mixture.bench.run();
            failed = failing.failed();
        }
        mixture.bench.run();
        mixture.expect_outcome();
        mixture.expect_recovery();
    }).join();
    return failed;
}

TEST(NoMemory, AnyOneAllocationFails) {
    uint64_t first = 0;
    for (; failures_of(first, 1) != 0 && first < 1000; first += kStep) {
        ASSERT_FALSE(HasFailure()) << "allocation " << first;
    }
    EXPECT_GT(first, 10u) << "the mixture needs memory in many places";
    EXPECT_LT(first, 1000u);
}

// Only some allocations: each attempt solves for the wires of four crossbars.
TEST(NoMemory, AllocationsFailAtLevelAccurate) {
    uint64_t first = 0;
    for (; failures_of(first, 1, SIDRA_CHIP_ACCURATE) != 0 && first < 1'000'000;
         first += kStep + (kSanitized ? 3 * first : first / 2)) {
        ASSERT_FALSE(HasFailure()) << "allocation " << first;
    }
    EXPECT_GT(first, 30u) << "cells, wires and readouts need memory, too";
    EXPECT_LT(first, 1'000'000u);
}

TEST(NoMemory, AllOfThemFailFromOneOn) {
    for (uint64_t first = 0; failures_of(first, ~uint64_t{0} - first) != 0 && first < 1000; first += kStep) {
        ASSERT_FALSE(HasFailure()) << "from allocation " << first;
    }
}

TEST(NoThreads, AreDoneWithout) {
    Bench bench({.workers = 4, .pages = 16384});
    Context& context = bench.context();
    Queue& queue = context.queue();
    constexpr uint64_t kBytes = 8 << 20;
    const uint64_t to = context.alloc(kBytes);
    pthread_attr_t usual, too_large;
    ASSERT_EQ(pthread_getattr_default_np(&usual), 0);
    ASSERT_EQ(pthread_getattr_default_np(&too_large), 0);
    ASSERT_EQ(pthread_attr_setstacksize(&too_large, size_t{1} << 47), 0);
    ASSERT_EQ(pthread_setattr_default_np(&too_large), 0);
    EXPECT_THROW(std::thread([] {}).join(), std::system_error) << "no address space has room for such a stack";
    queue.submit(fill(to, kBytes, 1, 1));
    bench.run();
    ASSERT_EQ(pthread_setattr_default_np(&usual), 0);
    EXPECT_TRUE(retired(queue));
    queue.submit(fill(to, kBytes, 2, 1));
    bench.run();
    EXPECT_TRUE(retired(queue));
    EXPECT_EQ(context.get<uint8_t>(to + kBytes - 1, 1)[0], 2);
    pthread_attr_destroy(&usual);
    pthread_attr_destroy(&too_large);
}

TEST(NoMemory, AdminCommandsSaySo) {
    Bench bench;
    const uint64_t buffer = bench.bus().alloc(kPage);
    const auto attempt = [&](uint32_t op, uint64_t arg1, uint64_t arg2, uint64_t failures) {
        const uint32_t tag = bench.start_admin(op, 0, arg1, arg2);
        FailingNew failing(0, failures);
        bench.run();
        EXPECT_EQ(bench.read32(SIDRA_REG_ADMIN_STATUS) >> 16, tag);
        return bench.read32(SIDRA_REG_ADMIN_STATUS) & 0xffffu;
    };
    for (const uint32_t op : {SIDRA_ADMIN_XBAR_READ, SIDRA_ADMIN_XBAR_REPORT, SIDRA_ADMIN_NVM_WRITE}) {
        EXPECT_EQ(attempt(op, buffer, 4, 1), uint32_t{SIDRA_ADMIN_BUS_ERROR});
        EXPECT_EQ(attempt(op, buffer, 4, 0), uint32_t{SIDRA_ADMIN_OK});
    }
    EXPECT_EQ(attempt(SIDRA_ADMIN_QUIESCE_DEVICE, 0, 0, ~uint64_t{0}), uint32_t{SIDRA_ADMIN_OK}) << "needs none";
    FailingNew failing(0, 1);
    EXPECT_FALSE(sidra_chip_set_knob(bench.chip(), SIDRA_KNOB_STUCK_CELL, 0));
}

}  // namespace
}  // namespace sidra::chip_test
