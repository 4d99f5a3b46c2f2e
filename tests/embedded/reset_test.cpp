// SPDX-License-Identifier: MIT
// The failure ladder: device reset, a chip that does not acknowledge, a lost link; recovery; forked children.
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <thread>

#include "driver.h"
#include "fixture.h"
#include "impatient.h"
#include "session.h"

namespace sidra::test {
namespace {

int reset_device(Client& client) {
    sidra_ioctl_device_reset a{0};
    return client.call(SIDRA_IOCTL_DEVICE_RESET, a);
}

TEST(Reset, LosesContextsAndRecovers) {
    Bench s;
    Buffer buffer(s.client, s.context, 4096);
    const uint64_t value = s.queue->submit(sem_wait(buffer.va, 1));
    int waited = 0;
    std::thread waiter([&] { waited = s.queue->wait(value); });
    sleep_ms(20);
    sidra_ioctl_device_reset request{0};
    ASSERT_EQ(s.client->ioctl(SIDRA_IOCTL_DEVICE_RESET, &request), 0);
    waiter.join();
    EXPECT_EQ(waited, -EIO);
    EXPECT_EQ(s.client.status().generation, 1u);
    EXPECT_EQ(s.queue->run_state(), SIDRA_QUEUE_LOST);
    EXPECT_EQ(s.client.query_context(s.context).state, SIDRA_CONTEXT_LOST);
    EXPECT_EQ(s.client.query_context(s.context).fault.cause, SIDRA_FAULT_RESET);

    // The error is sticky: only query, release and recover are possible.
    uint64_t va;
    EXPECT_EQ(s.client.bind(s.context, buffer.handle, SIDRA_BIND_READ, &va), 0) << "address spaces are not lost";
    sidra_ioctl_queue_create create{};
    create.context = s.context;
    create.ring_log2 = 6;
    EXPECT_EQ(s.client.call(SIDRA_IOCTL_QUEUE_CREATE, create), -ESTALE);
    EXPECT_EQ(s.queue->reset(), -ESTALE);
    EXPECT_EQ(s.queue->wait(value), -EIO);
    s.queue->kick();  // a doorbell of a lost queue is nothing

    ASSERT_EQ(s.client.recover(s.context), 0) << s.client.detail;
    EXPECT_EQ(s.client.query_context(s.context).state, SIDRA_CONTEXT_OK);
    EXPECT_EQ(s.client.query_context(s.context).generation, 2u);
    EXPECT_EQ(s.queue->destroy(), -ENOENT) << "queues are gone";
    Queue fresh(s.client, s.context, s.doorbells);
    buffer.words()[1] = 11;
    EXPECT_EQ(fresh.run(copy(buffer.va + 16, buffer.va + 8, 8)), 0) << "buffers stay where they are";
    EXPECT_EQ(buffer.words()[2], 11u);
    EXPECT_EQ(s.queue->run_state(), SIDRA_QUEUE_LOST) << "the old mapping still says so";
}

TEST(Reset, WeightsAndL3Survive) {
    Bench s;
    Buffer local(s.client, s.context, 4096, SIDRA_BUFFER_LOCAL);
    sidra_ioctl_weights_create w{s.context, SIDRA_ENCODING_OFFSET, 16, 16, SIDRA_WEIGHTS_RIGHTS, 0, 0, 0, 0};
    ASSERT_EQ(s.client.call(SIDRA_IOCTL_WEIGHTS_CREATE, w), 0);
    for (size_t i = 0; i < 256; i++) local.data[i] = static_cast<uint8_t>(i);
    ASSERT_EQ(s.queue->run(program(w.index, 16, 16, local.va)), 0);
    ASSERT_EQ(reset_device(s.client), 0);
    ASSERT_EQ(s.client.recover(s.context), 0);
    Queue queue(s.client, s.context, s.doorbells);
    ASSERT_EQ(queue.run(readback(w.index, 16, 16, local.va + 512)), 0) << s.client.detail;
    EXPECT_EQ(std::memcmp(local.data, local.data + 512, 256), 0);
}

TEST(Reset, LostContextsCanBeFreed) {
    Bench s;
    auto buffer = std::make_unique<Buffer>(s.client, s.context, 4096);
    ASSERT_EQ(reset_device(s.client), 0);
    EXPECT_EQ(s.client.unbind(s.context, buffer->handle, buffer->va), 0);
    EXPECT_EQ(s.queue->destroy(), 0);
    buffer.reset();
    EXPECT_EQ(s.client.destroy_context(s.context), 0);
    const uint32_t context = s.client.create_context(&s.doorbells);
    Queue queue(s.client, context, s.doorbells);
    EXPECT_EQ(queue.run(nop()), 0);
}

class Escalation : public testing::TestWithParam<bool> {};

// A context that does not stop is reset; if it does not even do that, the device is.
TEST_P(Escalation, NoAcknowledgementEndsInAReset) {
    const bool of_the_device = GetParam();
    Impatient s;
    sidra_ioctl_context_create context{}, innocent{};
    for (sidra_ioctl_context_create* each : {&context, &innocent}) {
        sidra_ioctl_vm_create vm{};
        ASSERT_EQ(s.call(SIDRA_IOCTL_VM_CREATE, vm), 0) << s.detail;
        each->vm = vm.vm;
    }
    ASSERT_EQ(s.call(SIDRA_IOCTL_CONTEXT_CREATE, context), 0) << s.detail;
    ASSERT_EQ(s.call(SIDRA_IOCTL_CONTEXT_CREATE, innocent), 0);
    void* page = mmap(nullptr, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    sidra_ioctl_buffer_register memory{reinterpret_cast<uintptr_t>(page), 4096, 0, 0};
    ASSERT_EQ(s.call(SIDRA_IOCTL_BUFFER_REGISTER, memory), 0);
    sidra_ioctl_buffer_bind bind{context.vm, memory.handle, SIDRA_BIND_READ, 0, 0};
    ASSERT_EQ(s.call(SIDRA_IOCTL_BUFFER_BIND, bind), 0);
    ASSERT_TRUE(sidra_chip_set_knob(s.host->chip(), SIDRA_KNOB_NO_QUIESCE_ACK, of_the_device ? 3 : 1));
    sidra_ioctl_buffer_unbind unbind{context.vm, memory.handle, bind.address};
    EXPECT_EQ(s.call(SIDRA_IOCTL_BUFFER_UNBIND, unbind), 0) << "the promise is kept: by force";
    munmap(page, 4096);
    for (uint32_t each : {context.context, innocent.context}) {
        sidra_ioctl_context_query query{};
        query.context = each;
        ASSERT_EQ(s.call(SIDRA_IOCTL_CONTEXT_QUERY, query), 0);
        EXPECT_EQ(query.state, of_the_device || each == context.context ? SIDRA_CONTEXT_LOST : SIDRA_CONTEXT_OK);
    }
    ASSERT_TRUE(sidra_chip_set_knob(s.host->chip(), SIDRA_KNOB_NO_QUIESCE_ACK, 0));
    sidra_ioctl_context recover{context.context, 0};
    EXPECT_EQ(s.call(SIDRA_IOCTL_CONTEXT_RECOVER, recover), 0) << s.detail;
    sidra_ioctl_queue_create queue{};
    queue.context = context.context;
    queue.kind = SIDRA_QUEUE_KERNEL;
    queue.ring_log2 = 6;
    ASSERT_EQ(s.call(SIDRA_IOCTL_QUEUE_CREATE, queue), 0) << s.detail;
    const sidra_cmd cmd = nop();
    sidra_ioctl_submit submit{};
    submit.context = context.context;
    submit.queue = queue.queue;
    submit.packets = reinterpret_cast<uintptr_t>(&cmd);
    submit.count = 1;
    submit.packet_stride = SIDRA_CMD_SIZE;
    submit.in_fence_fd = submit.out_fence_fd = -1;
    ASSERT_EQ(s.call(SIDRA_IOCTL_SUBMIT, submit), 0) << s.detail;
    sidra_wait_item item{context.context, queue.queue, submit.value, submit.epoch, 0};
    sidra_ioctl_wait wait{reinterpret_cast<uintptr_t>(&item), 1, sizeof item, 0, 0, in_ms(kPatienceMs)};
    EXPECT_EQ(s.call(SIDRA_IOCTL_WAIT, wait), 0) << s.detail;
}
INSTANTIATE_TEST_SUITE_P(Of, Escalation, testing::Bool(),
                         [](const auto& of) { return of.param ? "TheDevice" : "TheContext"; });

TEST(Stall, QueuesWaitAndReleaseWorks) {
    Bench s;
    Buffer buffer(s.client, s.context, 4096);
    ASSERT_EQ(s.client.knob("stall", 1), 0);
    const uint64_t value = s.queue->submit(nop());
    EXPECT_EQ(s.queue->wait(value, in_ms(20)), -ETIMEDOUT);
    EXPECT_EQ(s.client.unbind(s.context, buffer.handle, buffer.va), 0);
    ASSERT_EQ(s.client.knob("stall", 0), 0);
    EXPECT_EQ(s.queue->wait(value), 0);
}

TEST(Link, LossIsNoDeviceAndEverythingCanBeFreed) {
    Bench s;
    auto buffer = std::make_unique<Buffer>(s.client, s.context, 4096);
    const uint64_t value = s.queue->submit(sem_wait(buffer->va, 1));
    int waited = 0;
    std::thread waiter([&] { waited = s.queue->wait(value); });
    sleep_ms(20);
    EXPECT_EQ(s.client->set_fault_knob("link-lost", 1), 0);
    waiter.join();
    EXPECT_TRUE(waited == -EIO || waited == -ENODEV) << waited;
    sidra_ioctl_device_query query{};
    EXPECT_EQ(s.client.call(SIDRA_IOCTL_DEVICE_QUERY, query), -ENODEV);
    sidra_telemetry telemetry;
    EXPECT_EQ(s.client->telemetry(&telemetry), -ENODEV);
    EXPECT_EQ(s.queue->run_state(), SIDRA_QUEUE_LOST);
    EXPECT_EQ(s.client.recover(s.context), -ENODEV);
    buffer.reset();
    EXPECT_EQ(s.queue->destroy(), 0);
    EXPECT_EQ(s.client.knob("link-lost", 0), 0);
    EXPECT_EQ(s.client.recover(s.context), 0) << s.client.detail;
    Queue queue(s.client, s.context, s.doorbells);
    EXPECT_EQ(queue.run(nop()), 0);
}

TEST(Fork, ChildHasAGenerationOfItsOwnAndFreesNothing) {
    auto s = std::make_unique<Bench>();
    ASSERT_EQ(s->queue->run(nop()), 0);
    const uint32_t generation = fork_generation();
    const pid_t child = fork();
    if (child == 0) {
        bool good = fork_generation() != generation;
        s->queue->ring = nullptr;  // pages of queues are not here
        s->queue->state = nullptr;
        s->client.close();  // frees nothing of the parent's
        Client fresh;       // and the device can be opened again
        uint64_t doorbells;
        const uint32_t context = fresh.create_context(&doorbells);
        Queue queue(fresh, context, doorbells);
        good = good && queue.run(nop()) == 0;
        _exit(good && !testing::Test::HasFailure() ? 0 : 1);
    }
    int status;
    ASSERT_EQ(waitpid(child, &status, 0), child);
    EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0) << status;
    EXPECT_EQ(fork_generation(), generation);
    EXPECT_EQ(s->queue->run(nop()), 0) << "the parent goes on";
}

TEST(Help, LendsATurnAtATime) {
    Impatient s;
    sidra_ioctl_vm_create vm{};
    ASSERT_EQ(s.call(SIDRA_IOCTL_VM_CREATE, vm), 0) << s.detail;
    sidra_ioctl_context_create context{};
    context.vm = vm.vm;
    ASSERT_EQ(s.call(SIDRA_IOCTL_CONTEXT_CREATE, context), 0) << s.detail;
    sidra_ioctl_buffer_create buffer{16 << 20, 0, 0, 0};
    ASSERT_EQ(s.call(SIDRA_IOCTL_BUFFER_CREATE, buffer), 0) << s.detail;
    sidra_ioctl_buffer_bind bind{context.vm, buffer.handle, SIDRA_BIND_READ | SIDRA_BIND_WRITE, 0, 0};
    ASSERT_EQ(s.call(SIDRA_IOCTL_BUFFER_BIND, bind), 0) << s.detail;
    sidra_ioctl_queue_create queue{};
    queue.context = context.context;
    queue.kind = SIDRA_QUEUE_KERNEL;
    queue.ring_log2 = 6;
    ASSERT_EQ(s.call(SIDRA_IOCTL_QUEUE_CREATE, queue), 0) << s.detail;
    s.host->executor().stop();  // only this thread works
    const sidra_cmd cmd = copy(bind.address, bind.address + (8 << 20), 8 << 20);
    sidra_ioctl_submit submit{};
    submit.context = context.context;
    submit.queue = queue.queue;
    submit.packets = reinterpret_cast<uintptr_t>(&cmd);
    submit.count = 1;
    submit.packet_stride = SIDRA_CMD_SIZE;
    submit.in_fence_fd = submit.out_fence_fd = -1;
    ASSERT_EQ(s.call(SIDRA_IOCTL_SUBMIT, submit), 0) << s.detail;
    const auto timeline = [&] {
        sidra_ioctl_queue_query query{};
        query.context = context.context;
        query.queue = queue.queue;
        EXPECT_EQ(s.call(SIDRA_IOCTL_QUEUE_QUERY, query), 0) << s.detail;
        return query.timeline;
    };
    unsigned turns = 0;
    while (timeline() == 0 && s.host->help()) turns++;
    EXPECT_EQ(timeline(), 1u);
    EXPECT_GE(turns, 3u) << "8 MiB are more than a turn";
    // A waiter in the driver keeps the thread there until its packet has retired, whatever else is in the ring.
    for (int i = 0; i < 20; i++) ASSERT_EQ(s.call(SIDRA_IOCTL_SUBMIT, submit), 0) << s.detail;
    sidra_wait_item item{context.context, queue.queue, 2, submit.epoch, 0};
    sidra_ioctl_wait wait{reinterpret_cast<uintptr_t>(&item), 1, sizeof item, 0, 0, in_ms(kPatienceMs)};
    ASSERT_EQ(s.call(SIDRA_IOCTL_WAIT, wait), 0) << s.detail;
    EXPECT_LE(timeline(), 3u);
}

}  // namespace
}  // namespace sidra::test
