// SPDX-License-Identifier: MIT
// User queues: creation, running, faults, reset, destruction; the memory that they map.
#include <sys/eventfd.h>
#include <unistd.h>

#include <atomic>
#include <thread>

#include "fixture.h"
#include "user_memory.h"

namespace sidra::test {
namespace {

TEST(Queue, RunsPacketsInOrderRoundTheRing) {
    Bench s;
    Buffer buffer(s.client, s.context, 4096);
    buffer.words()[0] = 0xbeef;
    for (uint64_t i = 0; i < 1000; i++) {  // each one copies the word to the next place
        while (s.queue->next - s.queue->timeline() >= 60) s.client->help();
        s.queue->submit(copy(buffer.va + 8 * ((i + 1) % 512), buffer.va + 8 * (i % 512), 8));
    }
    EXPECT_EQ(s.queue->wait(1000), 0) << s.client.detail;
    EXPECT_EQ(buffer.words()[1000 % 512], 0xbeefu);
    EXPECT_EQ(s.queue->timeline(), 1000u);
    EXPECT_EQ(s.queue->run_state(), SIDRA_QUEUE_RUNNING);
}

TEST(Queue, WritesReports) {
    Client client;
    uint64_t doorbells;
    const uint32_t context = client.create_context(&doorbells);
    Queue queue(client, context, doorbells, SIDRA_QUEUE_REPORTS);
    ASSERT_NE(queue.reports, nullptr);
    EXPECT_EQ(queue.create.ring_size, 3u * SIDRA_PAGE_SIZE);
    sidra_cmd cmd = nop();
    cmd.hdr.cookie = 0xabcd;
    ASSERT_EQ(queue.run(nop()), 0);
    ASSERT_EQ(queue.run(cmd), 0);
    EXPECT_EQ(queue.reports[1].sequence, 1u);
    EXPECT_EQ(queue.reports[1].cookie, 0xabcdu);
    EXPECT_EQ(queue.reports[1].opcode, SIDRA_CMD_NOP);
    EXPECT_EQ(queue.reports[1].cause, 0u);
}

TEST(Queue, CreateRefusesBadRequests) {
    Client client;
    const uint32_t context = client.create_context();
    sidra_ioctl_queue_create good{};
    good.context = context;
    good.ring_log2 = 6;
    const auto attempt = [&](auto change) {
        sidra_ioctl_queue_create a = good;
        change(a);
        const int error = client.call(SIDRA_IOCTL_QUEUE_CREATE, a);
        EXPECT_EQ(a.ring_size, error == 0 ? 2u * SIDRA_PAGE_SIZE : 0u);
        return error;
    };
    EXPECT_EQ(attempt([](auto& a) { a.context += 50; }), -ENOENT);
    EXPECT_EQ(attempt([](auto& a) { a.context = 0; }), -ENOENT);
    EXPECT_EQ(attempt([](auto& a) { a.kind = 2; }), -EINVAL);
    EXPECT_EQ(attempt([](auto& a) { a.ring_log2 = 5; }), -EINVAL);
    EXPECT_EQ(attempt([](auto& a) { a.ring_log2 = 17; }), -EINVAL);
    EXPECT_EQ(attempt([](auto& a) { a.priority = 3; }), -EINVAL);
    EXPECT_EQ(attempt([](auto& a) { a.flags = 2; }), -EINVAL);
    EXPECT_EQ(attempt([](auto& a) { a.kind = SIDRA_QUEUE_KERNEL, a.flags = SIDRA_QUEUE_REPORTS; }), -EINVAL);
    for (uint32_t i = 0; i < SIDRA_QUEUES_PER_CONTEXT_MAX; i++) ASSERT_EQ(attempt([](auto&) {}), 0) << client.detail;
    EXPECT_EQ(attempt([](auto&) {}), -EMFILE);
    for (uint32_t i = 0; i < 3; i++) {
        good.context = client.create_context();
        for (uint32_t q = 0; q < SIDRA_QUEUES_PER_CONTEXT_MAX; q++)
            ASSERT_EQ(attempt([](auto&) {}), 0) << client.detail;
    }
    good.context = client.create_context();
    EXPECT_EQ(attempt([](auto&) {}), -EMFILE) << "1024 on the chip";
}

TEST(Queue, NameRefusals) {
    Bench s;
    sidra_ioctl_queue padded{s.context, s.queue->number, 0, 1};
    EXPECT_EQ(s.client.call(SIDRA_IOCTL_QUEUE_DESTROY, padded), -EINVAL);
    const auto refused = [&](unsigned long request, auto flagged) {
        flagged.context = s.context, flagged.queue = s.queue->number, flagged.flags = 1;
        auto wrong = flagged, foreign = flagged;
        wrong.flags = foreign.flags = 0;
        wrong.queue = 99;
        foreign.context += 9;
        EXPECT_EQ(s.client.call(request, flagged), -EINVAL);
        EXPECT_EQ(s.client.call(request, wrong), -ENOENT);
        EXPECT_EQ(s.client.call(request, foreign), -ENOENT);
    };
    refused(SIDRA_IOCTL_QUEUE_DESTROY, sidra_ioctl_queue{});
    refused(SIDRA_IOCTL_QUEUE_RESET, sidra_ioctl_queue_reset{});
    sidra_ioctl_queue_query query{};
    query.context = s.context;
    query.queue = 99;
    EXPECT_EQ(s.client.call(SIDRA_IOCTL_QUEUE_QUERY, query), -ENOENT);
    query.queue = s.queue->number;
    query.flags = 1;
    EXPECT_EQ(s.client.call(SIDRA_IOCTL_QUEUE_QUERY, query), -EINVAL);
    EXPECT_EQ(s.queue->run(nop()), 0) << "nothing of this did anything";
}

TEST(Queue, FaultStopsOnlyItself) {
    Bench s;
    Queue other(s.client, s.context, s.doorbells);
    sidra_cmd bad = nop();
    bad.hdr.opcode = 200;
    bad.hdr.cookie = 77;
    s.queue->push(nop());
    const uint64_t value = s.queue->submit(bad);
    EXPECT_EQ(s.queue->wait(value), -EIO);
    EXPECT_EQ(s.queue->wait(1), 0) << "what came before is done";
    sidra_ioctl_queue_query query{};
    query.context = s.context;
    query.queue = s.queue->number;
    ASSERT_EQ(s.client.call(SIDRA_IOCTL_QUEUE_QUERY, query), 0);
    EXPECT_EQ(query.run_state, SIDRA_QUEUE_FAULTED);
    EXPECT_EQ(query.timeline, 1u);
    EXPECT_EQ(query.fault.cause, SIDRA_FAULT_OPCODE);
    EXPECT_EQ(query.fault.sequence, 1u);
    EXPECT_EQ(query.fault.cookie, 77u);
    EXPECT_EQ(s.client.query_context(s.context).fault.cookie, 77u);
    EXPECT_EQ(other.run(nop()), 0);
    EXPECT_EQ(s.queue->destroy(), 0);
    EXPECT_EQ(s.client.query_context(s.context).fault.cookie, 77u) << "the context remembers";
}

TEST(Queue, ResetDropsAndGoesOn) {
    Bench s;
    Buffer buffer(s.client, s.context, 4096);
    sidra_cmd bad = nop();
    bad.hdr.opcode = 200;
    s.queue->push(bad);
    for (int i = 0; i < 5; i++) s.queue->push(copy(buffer.va, buffer.va + 64, 8));
    s.queue->kick();
    EXPECT_EQ(s.queue->wait(6), -EIO);
    ASSERT_EQ(s.queue->reset(), 0) << s.client.detail;
    EXPECT_EQ(s.queue->next, 6u) << "goes on behind what was dropped";
    EXPECT_EQ(s.queue->fault(), 0u);
    buffer.words()[9] = 5;
    EXPECT_EQ(s.queue->run(copy(buffer.va + 8, buffer.va + 72, 8)), 0) << s.client.detail;
    EXPECT_EQ(buffer.words()[1], 5u);
    EXPECT_EQ(s.queue->timeline(), 7u);
}

TEST(Queue, ResetTellsThoseWhoWait) {
    Bench s;
    Buffer buffer(s.client, s.context, 4096);
    const uint64_t value = s.queue->submit(sem_wait(buffer.va, 1));
    int result = 0;
    const uint32_t former = s.queue->epoch();
    std::thread waiter([&] { result = s.queue->wait_epoch(former, value); });
    sleep_ms(30);
    sidra_ioctl_queue_reset name{s.context, s.queue->number, 0, 0, 0};
    EXPECT_EQ(s.client->ioctl(SIDRA_IOCTL_QUEUE_RESET, &name), 0);
    waiter.join();
    EXPECT_EQ(result, -ECANCELED) << "dropped is not done";
    EXPECT_EQ(s.queue->wait_epoch(former, value), -ECANCELED) << "nor later";
}

// The state page shows a new epoch while those who waited for the former one are still woken, before the chip runs the
// queue again. Another queue may wait for the new epoch already then.
TEST(Queue, AWaitForAnEpochThatBeginsIsNoMistake) {
    Bench s;
    Queue consumer(s.client, s.context, s.doorbells);
    const int event = eventfd(0, EFD_CLOEXEC);
    uint32_t last = s.queue->epoch();
    std::atomic<bool> stop{false};
    std::thread resets([&] {
        for (int round = 0; round < 50 && !testing::Test::HasFailure(); round++) {
            for (int i = 0; i < 300; i++) {
                sidra_ioctl_arm a{s.context, s.queue->number, 1, event, 0, s.queue->epoch(), 0};
                EXPECT_EQ(s.client->ioctl(SIDRA_IOCTL_ARM, &a), 0);
            }
            sidra_ioctl_queue_reset a{s.context, s.queue->number, 0, 0, 0};
            EXPECT_EQ(s.client->ioctl(SIDRA_IOCTL_QUEUE_RESET, &a), 0);
        }
        stop = true;
    });
    int waits = 0;
    while (!stop) {
        const uint32_t epoch = s.queue->epoch();
        if (epoch == last) continue;
        last = epoch;
        waits++;
        const int result = consumer.run(sem_wait_queue(s.queue->number, epoch, 0));
        EXPECT_EQ(result, 0) << consumer.fault();
        if (result != 0) EXPECT_EQ(consumer.reset(), 0);
    }
    resets.join();
    close(event);
    EXPECT_GT(waits, 0);
}

TEST(Queue, ResetWithAWildWriteIndex) {
    Bench s;
    ASSERT_EQ(s.queue->run(nop()), 0);
    __atomic_store_n(s.queue->write_word, 1'000'000u, __ATOMIC_RELEASE);
    s.queue->kick();
    EXPECT_EQ(s.queue->wait(2), -EIO);
    EXPECT_EQ(s.queue->fault(), SIDRA_FAULT_RING);
    EXPECT_EQ(s.queue->reset(), 0);
    EXPECT_EQ(s.queue->next, 1u);
    EXPECT_EQ(s.queue->run(nop()), 0);
}

TEST(Queue, DestroyIsTwoCommands) {
    setenv("SIDRA_PUBLISH", "0", 1);  // otherwise the query of the firmware's version would be counted
    Bench s;
    unsetenv("SIDRA_PUBLISH");
    ASSERT_EQ(s.queue->run(nop()), 0);
    const auto writes = [&] {
        sidra_telemetry telemetry{};
        EXPECT_EQ(s.client->telemetry(&telemetry), 0);
        return telemetry.mmio_writes - telemetry.doorbells - telemetry.arms;
    };
    const uint64_t before = writes();
    ASSERT_EQ(s.queue->destroy(), 0);
    EXPECT_EQ(writes() - before, 8u) << "three arguments and the command: RESET_QUEUE, and QUIESCE_RANGE of its ring";
}

TEST(Queue, DestroyFaultsWhoWaitsForIt) {
    Bench s;
    Buffer buffer(s.client, s.context, 4096);
    Queue peer(s.client, s.context, s.doorbells);
    peer.submit(sem_wait(buffer.va, 1));
    const uint64_t value = s.queue->submit(sem_wait_queue(peer.number, peer.epoch(), 1));
    EXPECT_EQ(s.queue->wait(value, in_ms(20)), -ETIMEDOUT);
    EXPECT_EQ(peer.destroy(), 0);
    EXPECT_EQ(s.queue->wait(value), -EIO);
    EXPECT_EQ(s.queue->fault(), SIDRA_FAULT_PRODUCER);
    EXPECT_EQ(peer.run_state(), SIDRA_QUEUE_LOST) << "the mapping stays, and says so";
    EXPECT_EQ(peer.destroy(), -ENOENT);
}

TEST(Queue, AResetFaultsNobodyWhoWaitsForWhatHadRetired) {
    // The chip evaluates the wait while the driver hides the other queue and shows it again.
    Bench s;
    Queue peer(s.client, s.context, s.doorbells);
    for (int i = 0; i < 2000; i++) {
        ASSERT_EQ(peer.run(nop()), 0);
        const sidra_cmd wait = sem_wait_queue(peer.number, peer.epoch(), peer.next);
        for (int n = 0; n < 8; n++) s.queue->push(wait);
        s.queue->kick();
        ASSERT_EQ(peer.reset(), 0);
        ASSERT_EQ(s.queue->wait(s.queue->next), 0) << i << ": " << s.queue->fault();
    }
}

TEST(Queue, NumberIsReusedCleanly) {
    Bench s;
    for (int i = 0; i < 20; i++) {
        Queue queue(s.client, s.context, s.doorbells);
        EXPECT_EQ(queue.number, 1u);
        EXPECT_EQ(queue.timeline(), 0u);
        for (int n = 0; n < 5; n++) queue.push(nop());
        queue.kick();
        EXPECT_EQ(queue.wait(5), 0) << s.client.detail;
        EXPECT_EQ(queue.destroy(), 0);
    }
}

TEST(Queue, RingIsNotWritableByPackets) {
    Bench s;
    Buffer buffer(s.client, s.context, 4096);
    Queue other(s.client, s.context, s.doorbells);
    // The ring's device address is not published; it is the next mapping of the address space.
    unsigned found = 0;
    for (uint64_t va = SIDRA_HUGE_SIZE; va < SIDRA_HUGE_SIZE + 16 * SIDRA_PAGE_SIZE; va += SIDRA_PAGE_SIZE) {
        if (va == buffer.va) continue;
        EXPECT_EQ(s.queue->run(copy(va, buffer.va, 64)), -EIO) << std::hex << va;
        found += s.queue->fault() == SIDRA_FAULT_PERMISSION;
        ASSERT_EQ(s.queue->reset(), 0);
    }
    EXPECT_EQ(found, 4u) << "packets and write index of two queues";
    EXPECT_EQ(other.run(nop()), 0);
}

TEST(Queue, StatePageCannotBeMappedWritable) {
    Bench s;
    EXPECT_EQ(s.client->map(s.queue->create.state_offset, SIDRA_PAGE_SIZE, true), nullptr);
    EXPECT_EQ(s.client->map(s.queue->create.state_offset, 2 * SIDRA_PAGE_SIZE, false), nullptr);
    EXPECT_EQ(s.client->map(s.queue->create.ring_offset, s.queue->create.ring_size + 1, true), nullptr);
}

#if defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define SIDRA_ONE_MAPPING
#endif
#elif defined(__SANITIZE_THREAD__)
#define SIDRA_ONE_MAPPING
#endif
#ifndef SIDRA_ONE_MAPPING  // see host_memory.cpp
TEST(Queue, StatePageIsWriteProtected) {
    Bench s;
    ASSERT_EQ(s.queue->run(nop()), 0);
    const uint64_t forged = 1'000;
    // The kernel's copy honours the protection that a store would run into.
    EXPECT_FALSE(
        embedded::copy_to_user(reinterpret_cast<uintptr_t>(&s.queue->state->timeline), &forged, sizeof forged));
    EXPECT_EQ(s.queue->timeline(), 1u);
    EXPECT_TRUE(embedded::copy_to_user(reinterpret_cast<uintptr_t>(s.queue->ring), &forged, sizeof forged))
        << "(it could elsewhere)";
}
#endif

}  // namespace
}  // namespace sidra::test
