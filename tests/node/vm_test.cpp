// SPDX-License-Identifier: MIT
// Address spaces that contexts share, addresses that the caller chooses, and a queue that continues a former one.
#include <algorithm>
#include <atomic>
#include <cstdio>
#include <memory>
#include <thread>

#include "node.h"

namespace sidra::test {
namespace {

using Vm = NodeTest;

int bind_at(const Node& node, uint32_t vm, uint32_t handle, uint64_t address) {
    sidra_ioctl_buffer_bind a{vm, handle, SIDRA_BIND_READ | SIDRA_BIND_WRITE | SIDRA_BIND_FIXED, 0, address, {}};
    const int error = node.call(SIDRA_IOCTL_BUFFER_BIND, a);
    EXPECT_EQ(a.address, error == 0 ? address : 0u);
    return error;
}

TEST_F(Vm, ContextsShareAnAddressSpace) {
    Node node;
    const uint32_t vm = create_vm(node);
    sidra_ioctl_vm destroy{vm, 0};
    {
        Context first(node, vm), second(node, vm);
        sidra_ioctl_context_query query{};
        query.context = second.handle;
        EXPECT_EQ(node.call(SIDRA_IOCTL_CONTEXT_QUERY, query), 0);
        EXPECT_EQ(query.vm, vm);
        Queue a(first, SIDRA_QUEUE_USER), b(second, SIDRA_QUEUE_KERNEL);
        auto shared = std::make_unique<Buffer>(first, 4096);
        shared->words[0] = 5;
        EXPECT_EQ(a.wait(a.push(copy(shared->va + 8, shared->va, 8))), 0);
        uint64_t value = 0;
        ASSERT_EQ(b.submit({copy(shared->va + 16, shared->va + 8, 8)}, &value), 0);
        EXPECT_EQ(b.wait(value), 0);
        EXPECT_EQ(shared->words[2], 5u) << "bound once, for both";
        EXPECT_EQ(node.call(SIDRA_IOCTL_VM_DESTROY, destroy), -EBUSY);
        const uint64_t va = shared->va;
        shared.reset();
        EXPECT_EQ(a.wait(a.push(copy(va, va + 8, 8))), -EIO);
        EXPECT_EQ(a.state->fault.cause, SIDRA_FAULT_TRANSLATION);
        ASSERT_EQ(b.submit({copy(va, va + 8, 8)}, &value), 0);
        EXPECT_EQ(b.wait(value), -EIO) << "both have let go of it";
    }
    EXPECT_EQ(node.call(SIDRA_IOCTL_VM_DESTROY, destroy), 0);
    EXPECT_EQ(node.call(SIDRA_IOCTL_VM_DESTROY, destroy), -ENOENT);
}

// One of two contexts of an address space ends: its ring leaves the address space, and the other one goes on.
TEST_F(Vm, OutlivesOneOfItsContexts) {
    Node node;
    const uint32_t vm = create_vm(node);
    Context stays(node, vm);
    Buffer buffer(stays, 4096);
    Queue queue(stays, SIDRA_QUEUE_USER);
    for (uint64_t round = 1; round <= 20; round++) {
        {
            Context goes(node, vm);
            Queue other(goes, SIDRA_QUEUE_USER);
            buffer.words[0] = round;
            other.push(copy(buffer.va + 8, buffer.va, 8));
            if (round % 2) EXPECT_EQ(other.wait(1), 0);
        }
        ASSERT_EQ(queue.wait(queue.push(copy(buffer.va + 16, buffer.va, 8))), 0) << round;
        ASSERT_EQ(buffer.words[2], round);
    }
}

// Another thread ends the address space as soon as it may: not before the context has let go of its ring.
TEST_F(Vm, EndsAfterItsLastContext) {
    Node node;
    for (int round = 0; round < rounds(50, 5'000); round++) {
        const uint32_t vm = create_vm(node);
        auto context = std::make_unique<Context>(node, vm);
        const Queue queue(*context, SIDRA_QUEUE_USER);
        std::atomic<int> error{-EBUSY};
        std::thread other([&] {
            sidra_ioctl_vm destroy{vm, 0};
            while (error == -EBUSY) error = node.call(SIDRA_IOCTL_VM_DESTROY, destroy);
        });
        context.reset();
        other.join();
        ASSERT_EQ(error, 0) << round;
    }
}

// Handles can be guessed, so another thread may end an address space before VM_CREATE has returned it.
TEST_F(Vm, MayEndBeforeItsCreatorKnowsIt) {
    Node node;
    std::atomic<uint32_t> next{create_vm(node) + 1};
    std::atomic<bool> stop{false};
    uint64_t guessed = 0;
    std::thread other([&] {
        while (!stop) {
            sidra_ioctl_vm destroy{next, 0};
            guessed += node.call(SIDRA_IOCTL_VM_DESTROY, destroy) == 0;
        }
    });
    for (int round = 0; round < rounds(200, 20'000); round++) {
        const uint32_t vm = create_vm(node);
        EXPECT_EQ(vm, next);
        sidra_ioctl_vm destroy{vm, 0};
        const int error = node.call(SIDRA_IOCTL_VM_DESTROY, destroy);
        EXPECT_TRUE(error == 0 || error == -ENOENT) << error;
        next = vm + 1;
    }
    stop = true;
    other.join();
    std::printf("%llu of them ended by the other thread\n", static_cast<unsigned long long>(guessed));
}

TEST_F(Vm, OfOthersDoesNotExist) {
    Node node, other;
    const uint32_t vm = create_vm(other);
    sidra_ioctl_context_create create{};
    for (const uint32_t handle : {0u, vm, vm + 100, UINT32_MAX}) {
        create = {};
        create.vm = handle;
        EXPECT_EQ(node.call(SIDRA_IOCTL_CONTEXT_CREATE, create), -ENOENT) << handle;
    }
    sidra_ioctl_vm destroy{vm, 0};
    EXPECT_EQ(node.call(SIDRA_IOCTL_VM_DESTROY, destroy), -ENOENT);
}

// Others wait for the end of such a call: it takes a command of the chip for each context, not for each binding. Those
// of another buffer, which lie in between, stay.
TEST_F(Vm, AHandleWithManyBindingsIsClosedAtOnce) {
    constexpr uint64_t kBindings = 200;
    const Card card;
    ASSERT_TRUE(card.known());
    Node node;
    Context context(node), neighbour(node, context.vm);
    Queue queue(context, SIDRA_QUEUE_USER);
    card.counter("mmio_writes");  // counted from now on
    uint64_t before = 0;
    const Buffer stays(context, 4096);
    std::vector<uint64_t> addresses;
    {
        const Buffer buffer(context, 4096);
        for (uint64_t i = 0; i < kBindings; i++) {
            Buffer::bind(context, buffer.handle);
            addresses.push_back(Buffer::bind(context, stays.handle));
        }
        before = card.counter("mmio_writes");
    }
    EXPECT_LT(card.counter("mmio_writes") - before, kBindings);
    for (uint64_t i = 0; i < kBindings; i++) {
        stays.words[0] = i + 1;
        ASSERT_EQ(queue.wait(queue.push(copy(addresses[i] + 8, stays.va, 8))), 0) << i;
        ASSERT_EQ(stays.words[1], i + 1);
    }
}

TEST_F(Vm, BuffersTakeTheAddressThatIsAskedFor) {
    Node node;
    Context context(node);
    Buffer buffer(context, 3 * 4096), source(context, 4096);
    Queue queue(context, SIDRA_QUEUE_USER);
    constexpr uint64_t kAt = uint64_t{5} << 30, kEnd = uint64_t{1} << SIDRA_VA_BITS;
    ASSERT_EQ(bind_at(node, context.vm, buffer.handle, kAt), 0);
    source.words[0] = 77;
    EXPECT_EQ(queue.wait(queue.push(copy(kAt + 2 * 4096 + 8, source.va, 8))), 0);
    EXPECT_EQ(buffer.words[1025], 77u);
    for (const uint64_t taken : {kAt - 2 * 4096, kAt - 4096, kAt, kAt + 2 * 4096, kAt + 3 * 4096})
        EXPECT_EQ(bind_at(node, context.vm, buffer.handle, taken), -EEXIST) << std::hex << taken;
    for (const uint64_t wrong :
         {uint64_t{0}, uint64_t{4096}, kAt + 8, kEnd - 3 * 4096, kEnd, kEnd + kAt, ~uint64_t{4095}})
        EXPECT_EQ(bind_at(node, context.vm, buffer.handle, wrong), -EINVAL) << std::hex << wrong;
    EXPECT_EQ(bind_at(node, context.vm, buffer.handle, kEnd - 4 * 4096), 0);
    sidra_ioctl_buffer_unbind unbind{context.vm, buffer.handle, kAt};
    EXPECT_EQ(node.call(SIDRA_IOCTL_BUFFER_UNBIND, unbind), 0);
    EXPECT_EQ(bind_at(node, context.vm, source.handle, kAt), 0) << "free again";
}

// What a checkpoint holds of a process's work: memory, where it was bound, and the queue.
struct Checkpoint {
    std::vector<uint64_t> words;
    uint64_t va;
    sidra_ioctl_queue_query queue;
};

constexpr uint64_t kSteps = 150;  // more than the ring has places

// word[i + 1] = word[i] + word[i - 1], as if nothing had happened in between.
void step(Queue& queue, const Buffer& buffer, uint64_t va, uint64_t i) {
    ASSERT_EQ(queue.wait(queue.push(copy(va + 8 * (i + 1), va + 8 * i, 8))), 0);
    buffer.words[i + 1] += buffer.words[i - 1];
}

TEST_F(Vm, WorkContinuesFromACheckpoint) {
    std::vector<uint64_t> expected(kSteps + 2);
    expected[0] = expected[1] = 1;
    for (uint64_t i = 1; i <= kSteps; i++) expected[i + 1] = expected[i] + expected[i - 1];
    Checkpoint saved;
    {
        Node node;
        Context context(node);
        Buffer buffer(context, 4096);
        Queue queue(context, SIDRA_QUEUE_USER);
        buffer.words[0] = buffer.words[1] = 1;
        for (uint64_t i = 1; i <= 100; i++) step(queue, buffer, buffer.va, i);
        saved.words.assign(buffer.words, buffer.words + 512);
        saved.va = buffer.va;
        saved.queue = {};
        saved.queue.context = context.handle;
        saved.queue.queue = queue.create.queue;
        ASSERT_EQ(node.call(SIDRA_IOCTL_QUEUE_QUERY, saved.queue), 0);
        EXPECT_EQ(saved.queue.timeline, 100u);
        EXPECT_EQ(saved.queue.submitted, 100u);
    }
    // Another open file, as of another process: packets name the same addresses, and positions go on.
    Node node;
    Context context(node);
    sidra_ioctl_buffer_create memory{4096, 0, 0, 0};
    ASSERT_EQ(node.call(SIDRA_IOCTL_BUFFER_CREATE, memory), 0);
    ASSERT_EQ(bind_at(node, context.vm, memory.handle, saved.va), 0);
    Buffer buffer(context, 4096);  // for its mapping, bound a second time
    Queue queue(context, saved.queue.kind, saved.queue.ring_log2, saved.queue.timeline);
    std::copy(saved.words.begin(), saved.words.end(), buffer.words);
    ASSERT_EQ(queue.wait(queue.push(copy(saved.va, buffer.va, 4096))), 0);
    EXPECT_EQ(queue.timeline(), 101u);
    for (uint64_t i = 101; i <= kSteps; i++) step(queue, buffer, buffer.va, i);
    EXPECT_TRUE(std::equal(expected.begin(), expected.end(), buffer.words));
    EXPECT_EQ(queue.wait(100), 0) << "positions before the start have retired";
    sidra_ioctl_queue_query now{};
    now.context = context.handle;
    now.queue = queue.create.queue;
    ASSERT_EQ(node.call(SIDRA_IOCTL_QUEUE_QUERY, now), 0);
    EXPECT_EQ(now.kind, saved.queue.kind);
    EXPECT_EQ(now.ring_log2, saved.queue.ring_log2);
    EXPECT_EQ(now.priority, saved.queue.priority);
    EXPECT_EQ(now.queue_flags, saved.queue.queue_flags);
    EXPECT_EQ(now.submitted, 101 + kSteps - 100);
}

TEST_F(Vm, KernelQueuesBeginWhereTheyAreTold) {
    Node node;
    Context context(node);
    for (const uint64_t start : {uint64_t{1}, uint64_t{1000}, uint64_t{SIDRA_QUEUE_START_MAX}}) {
        Queue queue(context, SIDRA_QUEUE_KERNEL, 6, start);
        uint64_t value = 0;
        for (uint64_t i = 1; i <= 70; i++) {
            ASSERT_EQ(queue.submit({nop()}, &value), 0);
            EXPECT_EQ(value, start + i);
            ASSERT_EQ(queue.wait(value), 0);
        }
        uint64_t retired = 0;
        EXPECT_EQ(queue.reset(&retired), 0);
        EXPECT_EQ(retired, start + 70);
    }
    sidra_ioctl_queue_create beyond{};
    beyond.context = context.handle;
    beyond.ring_log2 = 6;
    beyond.start = SIDRA_QUEUE_START_MAX + 1;
    EXPECT_EQ(node.call(SIDRA_IOCTL_QUEUE_CREATE, beyond), -EINVAL);
}

TEST_F(Vm, WrongMappingsAreRefused) {
    Node node;
    const Context context(node);
    const Queue user(context, SIDRA_QUEUE_USER), jobs(context, SIDRA_QUEUE_KERNEL);
    sidra_ioctl_buffer_create local{SIDRA_PAGE_SIZE, SIDRA_BUFFER_LOCAL, 0, 0};
    ASSERT_EQ(node.call(SIDRA_IOCTL_BUFFER_CREATE, local), 0);
    alignas(SIDRA_PAGE_SIZE) static uint8_t memory[SIDRA_PAGE_SIZE];
    sidra_ioctl_buffer_register pinned{reinterpret_cast<uintptr_t>(memory), sizeof memory, 0, 0};
    ASSERT_EQ(node.call(SIDRA_IOCTL_BUFFER_REGISTER, pinned), 0);
    sidra_ioctl_context_create other{};
    other.vm = context.vm;
    ASSERT_EQ(node.call(SIDRA_IOCTL_CONTEXT_CREATE, other), 0);
    sidra_ioctl_context destroy{other.context, 0};
    ASSERT_EQ(node.call(SIDRA_IOCTL_CONTEXT_DESTROY, destroy), 0);
    const auto refused = [&](uint64_t offset, size_t size, int protection, int flags = MAP_SHARED) {
        void* const at = mmap(nullptr, size, protection, flags, node.fd, static_cast<off_t>(offset));
        if (at == MAP_FAILED) return errno;
        munmap(at, size);
        return 0;
    };
    const uint64_t ring = user.create.ring_offset, state = user.create.state_offset, bells = other.doorbell_offset;
    EXPECT_EQ(refused(ring, 2 * user.create.ring_size, PROT_READ), EINVAL) << "beyond the ring";
    EXPECT_EQ(refused(ring, SIDRA_PAGE_SIZE, PROT_READ, MAP_PRIVATE), EINVAL);
    EXPECT_EQ(refused(state, 2 * SIDRA_PAGE_SIZE, PROT_READ), EINVAL) << "beyond the state page";
    EXPECT_EQ(refused(state, SIDRA_PAGE_SIZE, PROT_READ | PROT_WRITE), EACCES);
    EXPECT_EQ(refused(bells, SIDRA_PAGE_SIZE, PROT_READ | PROT_WRITE), ENOENT) << "the context is destroyed";
    EXPECT_EQ(refused(bells, 4 * SIDRA_DOORBELL_PAGE_SIZE, PROT_READ | PROT_WRITE), EINVAL) << "several contexts'";
    EXPECT_EQ(refused(local.mmap_offset, SIDRA_PAGE_SIZE, PROT_READ, MAP_PRIVATE), EINVAL);
    EXPECT_NE(refused(local.mmap_offset, 2 * SIDRA_PAGE_SIZE, PROT_READ), 0);
    // The ring of a kernel queue is the driver's. Its offset differs from that of its state page as that of a user
    // queue does.
    EXPECT_EQ(refused(jobs.create.state_offset - state + ring, SIDRA_PAGE_SIZE, PROT_READ), EACCES);
    // Offsets that no call returns: of another kind, of a queue that is none, of a queue's doorbells.
    for (const uint64_t offset : {ring | state, ring ^ uint64_t{7} << 12, bells | uint64_t{1} << 12})
        EXPECT_NE(refused(offset, SIDRA_PAGE_SIZE, PROT_READ), 0) << std::hex << offset;
}

// For mmap2(2) of 32-bit programs, whose offsets are pages in 32 bits.
TEST_F(Vm, OffsetsFitThirtyTwoBitPages) {
    Node node;
    Context context(node);
    Queue queue(context, SIDRA_QUEUE_USER);
    sidra_ioctl_buffer_create buffer{4096, 0, 0, 0};
    ASSERT_EQ(node.call(SIDRA_IOCTL_BUFFER_CREATE, buffer), 0);
    sidra_ioctl_context_create create{};
    create.vm = context.vm;
    ASSERT_EQ(node.call(SIDRA_IOCTL_CONTEXT_CREATE, create), 0);
    for (const uint64_t offset :
         {queue.create.ring_offset, queue.create.state_offset, buffer.mmap_offset, create.doorbell_offset}) {
        EXPECT_LT(offset, uint64_t{1} << 44);
        EXPECT_EQ(node.map(offset | uint64_t{1} << 44, 4096, PROT_READ), nullptr) << "bits above do not vanish";
    }
}

}  // namespace
}  // namespace sidra::test
