// SPDX-License-Identifier: MIT
#include <sys/mman.h>
#include <sys/resource.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <thread>

#include "../chip/failing_new.h"
#include "fixture.h"

namespace sidra::test {
namespace {

struct Pages {
    explicit Pages(size_t bytes, int protection = PROT_READ | PROT_WRITE) : size(bytes) {
        data = static_cast<uint8_t*>(mmap(nullptr, size, protection, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
        EXPECT_NE(data, MAP_FAILED);
    }
    ~Pages() { munmap(data, size); }
    uint8_t* data;
    size_t size;
};

TEST(Buffer, IsZeroedAndCopies) {
    for (uint32_t flags : {0u, SIDRA_BUFFER_LOCAL}) {
        Bench s;
        Buffer from(s.client, s.context, 10'000, flags), to(s.client, s.context, 10'000);
        EXPECT_EQ(from.size, 12'288u);
        EXPECT_TRUE(std::all_of(from.data, from.data + from.size, [](uint8_t b) { return b == 0; }));
        for (size_t i = 0; i < from.size; i++) from.data[i] = static_cast<uint8_t>(i * 7);
        ASSERT_EQ(s.queue->run(copy(to.va, from.va, 10'000)), 0) << s.client.detail;
        EXPECT_EQ(std::memcmp(to.data, from.data, 10'000), 0);
        EXPECT_EQ(to.data[10'000], 0u);
    }
}

TEST(Buffer, LargeOnesUseHugePages) {
    Bench s;
    Buffer from(s.client, s.context, 5 << 20), to(s.client, s.context, 5 << 20);
    EXPECT_EQ(reinterpret_cast<uintptr_t>(from.data) % SIDRA_HUGE_SIZE, 0u);
    EXPECT_EQ(from.va % SIDRA_HUGE_SIZE, 0u);
    for (size_t i = 0; i < from.size; i += 997) from.data[i] = static_cast<uint8_t>(i);
    ASSERT_EQ(s.queue->run(copy(to.va + 1, from.va, (5 << 20) - 1)), 0) << s.client.detail;
    EXPECT_EQ(std::memcmp(to.data + 1, from.data, (5 << 20) - 1), 0);
}

TEST(Buffer, CreateRefusesBadRequests) {
    Client client;
    for (uint64_t size : {uint64_t{0}, uint64_t{1} << SIDRA_VA_BITS, ~uint64_t{0}, ~uint64_t{0} - 4094}) {
        sidra_ioctl_buffer_create a{size, 0, 0, 0};
        EXPECT_EQ(client.call(SIDRA_IOCTL_BUFFER_CREATE, a), -EINVAL) << size;
        EXPECT_EQ(a.handle, 0u);
    }
    sidra_ioctl_buffer_create flagged{4096, 2, 0, 0};
    EXPECT_EQ(client.call(SIDRA_IOCTL_BUFFER_CREATE, flagged), -EINVAL);
    sidra_ioctl_buffer_close unknown{123, 0};
    EXPECT_EQ(client.call(SIDRA_IOCTL_BUFFER_CLOSE, unknown), -ENOENT);
    sidra_ioctl_buffer_create good{1, 0, 0, 0};
    ASSERT_EQ(client.call(SIDRA_IOCTL_BUFFER_CREATE, good), 0);
    sidra_ioctl_buffer_close pad{good.handle, 1};
    EXPECT_EQ(client.call(SIDRA_IOCTL_BUFFER_CLOSE, pad), -EINVAL);
    EXPECT_EQ(client.close_buffer(good.handle), 0);
    EXPECT_EQ(client.close_buffer(good.handle), -ENOENT);
}

TEST(Buffer, LocalMemoryIsAccountedAndZeroedOnFree) {
    Client client;
    const uint64_t all = client.device().l3_size;
    const uint32_t context = client.create_context();
    {
        Buffer whole(client, context, all, SIDRA_BUFFER_LOCAL);
        std::memset(whole.data, 0xee, whole.size);
        EXPECT_EQ(client.status().l3_free, 0u);
        sidra_ioctl_buffer_create more{1, SIDRA_BUFFER_LOCAL, 0, 0};
        EXPECT_EQ(client.call(SIDRA_IOCTL_BUFFER_CREATE, more), -ENOSPC);
    }
    EXPECT_EQ(client.status().l3_free, all);
    Buffer again(client, context, all, SIDRA_BUFFER_LOCAL);
    EXPECT_TRUE(std::all_of(again.data, again.data + again.size, [](uint8_t b) { return b == 0; }))
        << "a former tenant's data";
}

TEST(Buffer, LocalMemoryIsNotLostWhenTheHostsRunsOut) {
    Client client;
    const uint64_t all = client.device().l3_size;
    for (uint64_t attempt = 0; attempt < 100; attempt++) {
        const uint64_t first = attempt / 3;  // memory allocated by one attempt is reused by the next
        sidra_ioctl_buffer_create a{3 * 4096, SIDRA_BUFFER_LOCAL, 0, 0};
        int error;
        {
            FailingNew failing(first, 1, FailingNew::Of::kThisThread);
            error = client->ioctl(SIDRA_IOCTL_BUFFER_CREATE, &a);
        }
        if (error == 0) break;
        EXPECT_EQ(error, -ENOMEM);
        ASSERT_EQ(client.status().l3_free, all) << first;
        ASSERT_LT(attempt, 99u);
    }
    // Freeing never fails, and loses nothing.
    std::vector<uint32_t> handles;
    sidra_ioctl_buffer_create a{4096, SIDRA_BUFFER_LOCAL, 0, 0};
    while (client.status().l3_free != 0) {
        ASSERT_EQ(client.call(SIDRA_IOCTL_BUFFER_CREATE, a), 0) << client.detail;
        handles.push_back(a.handle);
    }
    for (size_t i = 0; i < handles.size(); i += 2) {
        FailingNew failing(0, ~uint64_t{0}, FailingNew::Of::kThisThread);
        sidra_ioctl_buffer_close gone{handles[i], 0};
        if (client->ioctl(SIDRA_IOCTL_BUFFER_CLOSE, &gone) != 0) std::abort();
    }
    EXPECT_EQ(client.status().l3_free, (handles.size() + 1) / 2 * 4096);
    ASSERT_EQ(client.call(SIDRA_IOCTL_BUFFER_CREATE, a), 0) << "given back by now: " << client.detail;
}

TEST(Buffer, MappingKeepsMemoryReadable) {
    Client client;
    sidra_ioctl_buffer_create a{8192, SIDRA_BUFFER_LOCAL, 0, 0};
    ASSERT_EQ(client.call(SIDRA_IOCTL_BUFFER_CREATE, a), 0);
    auto* data = static_cast<uint8_t*>(client->map(a.mmap_offset, a.size, true));
    ASSERT_NE(data, nullptr);
    data[100] = 42;
    EXPECT_EQ(client->map(a.mmap_offset, a.size + 1, true), nullptr);
    EXPECT_EQ(client->map(a.mmap_offset, 0, true), nullptr);
    EXPECT_EQ(client->map(a.mmap_offset + 1, 4096, true), nullptr);
    EXPECT_EQ(client->map(0, 4096, true), nullptr);
    const uint64_t before = client.status().l3_free;
    EXPECT_EQ(client.close_buffer(a.handle), 0);
    EXPECT_EQ(client->map(a.mmap_offset, a.size, true), nullptr) << "the handle is gone";
    EXPECT_EQ(data[100], 42);
    EXPECT_EQ(client.status().l3_free, before) << "and L3 is not given to others under it";
    client->unmap(data, a.size);
    EXPECT_EQ(client.status().l3_free, before + 8192);
    client->unmap(data, a.size);  // no such mapping: nothing happens
}

TEST(Bind, RefusesBadRequests) {
    Bench s;
    Buffer buffer(s.client, s.context, 4096);
    const auto attempt = [&](uint32_t context, uint32_t handle, uint32_t flags, uint32_t pad) {
        sidra_ioctl_buffer_bind a{s.client.vm_of(context), handle, flags, pad, 0, {}};
        const int error = s.client.call(SIDRA_IOCTL_BUFFER_BIND, a);
        EXPECT_EQ(a.address, 0u);
        return error;
    };
    EXPECT_EQ(attempt(s.context, buffer.handle, SIDRA_BIND_WRITE, 0), -EINVAL);
    EXPECT_EQ(attempt(s.context, buffer.handle, 0, 0), -EINVAL);
    EXPECT_EQ(attempt(s.context, buffer.handle, 9, 0), -EINVAL);
    EXPECT_EQ(attempt(s.context, buffer.handle, SIDRA_BIND_READ, 1), -EINVAL);
    EXPECT_EQ(attempt(s.context, buffer.handle + 100, SIDRA_BIND_READ, 0), -ENOENT);
    EXPECT_EQ(attempt(s.context + 100, buffer.handle, SIDRA_BIND_READ, 0), -ENOENT);
    EXPECT_EQ(s.client.unbind(s.context, buffer.handle, buffer.va + 4096), -ENOENT);
    EXPECT_EQ(s.client.unbind(s.context, buffer.handle + 100, buffer.va), -ENOENT);
    EXPECT_EQ(s.client.unbind(s.context + 100, buffer.handle, buffer.va), -ENOENT);
    EXPECT_EQ(s.client.unbind(s.context, buffer.handle, buffer.va), 0);
    EXPECT_EQ(s.client.unbind(s.context, buffer.handle, buffer.va), -ENOENT);
}

TEST(Bind, GivesRightsAndPlacesOfItsOwn) {
    Bench s;
    Buffer buffer(s.client, s.context, 4096), source(s.client, s.context, 4096);
    uint64_t readable;
    ASSERT_EQ(s.client.bind(s.context, buffer.handle, SIDRA_BIND_READ, &readable), 0);
    EXPECT_NE(readable, buffer.va);
    source.words()[0] = 0x1234;
    ASSERT_EQ(s.queue->run(copy(buffer.va, source.va, 8)), 0);
    ASSERT_EQ(s.queue->run(copy(source.va + 8, readable, 8)), 0);
    EXPECT_EQ(source.words()[1], 0x1234u);
    EXPECT_EQ(s.queue->run(copy(readable, source.va, 8)), -EIO);
    EXPECT_EQ(s.queue->fault(), SIDRA_FAULT_PERMISSION);
    EXPECT_EQ(s.client.unbind(s.context, buffer.handle, readable), 0);
}

TEST(Bind, TakesTheAddressThatIsAskedFor) {
    Bench s;
    Buffer buffer(s.client, s.context, 3 * 4096), source(s.client, s.context, 4096);
    const auto bind = [&](uint32_t handle, uint64_t address) {
        sidra_ioctl_buffer_bind a{
            s.client.vm_of(s.context), handle, SIDRA_BIND_READ | SIDRA_BIND_WRITE | SIDRA_BIND_FIXED, 0, address, {}};
        const int error = s.client.call(SIDRA_IOCTL_BUFFER_BIND, a);
        EXPECT_EQ(a.address, error == 0 ? address : 0u);
        return error;
    };
    constexpr uint64_t kAt = uint64_t{5} << 30;
    constexpr uint64_t kEnd = uint64_t{1} << SIDRA_VA_BITS;
    ASSERT_EQ(bind(buffer.handle, kAt), 0) << s.client.detail;
    source.words()[0] = 77;
    ASSERT_EQ(s.queue->run(copy(kAt + 2 * 4096 + 8, source.va, 8)), 0);
    EXPECT_EQ(buffer.words()[1025], 77u);
    for (const uint64_t taken : {kAt - 2 * 4096, kAt - 4096, kAt, kAt + 2 * 4096, kAt + 3 * 4096})
        EXPECT_EQ(bind(buffer.handle, taken), -EEXIST) << std::hex << taken;
    for (const uint64_t wrong :
         {uint64_t{0}, uint64_t{4096}, kAt + 8, kEnd - 3 * 4096, kEnd, kEnd + kAt, ~uint64_t{4095}})
        EXPECT_EQ(bind(buffer.handle, wrong), -EINVAL) << std::hex << wrong;
    EXPECT_EQ(bind(buffer.handle, kEnd - 4 * 4096), 0) << "the last one that has room for the page behind it";
    EXPECT_EQ(bind(buffer.handle, kAt + 4 * 4096), 0);
    EXPECT_EQ(s.client.unbind(s.context, buffer.handle, kAt), 0);
    EXPECT_EQ(bind(source.handle, kAt), 0) << "free again";
    // Memory of the caller keeps its offset in the page.
    std::vector<uint8_t> memory(4096);
    const auto offset = reinterpret_cast<uintptr_t>(memory.data()) % SIDRA_PAGE_SIZE;
    uint32_t handle;
    ASSERT_EQ(s.client.reg(memory.data(), 100, 0, &handle), 0);
    EXPECT_EQ(bind(handle, 2 * kAt + offset + 1), -EINVAL);
    EXPECT_EQ(bind(handle, 2 * kAt + offset), 0) << s.client.detail;
}

TEST(Vm, ContextsShareAnAddressSpace) {
    Client client;
    uint64_t doorbells[2];
    const uint32_t vm = client.create_vm();
    const uint32_t first = client.create_context(&doorbells[0], vm), second = client.create_context(&doorbells[1], vm);
    EXPECT_EQ(client.query_context(second).vm, vm);
    Queue a(client, first, doorbells[0]), b(client, second, doorbells[1]);
    auto shared = std::make_unique<Buffer>(client, first, 4096);
    shared->words()[0] = 5;
    ASSERT_EQ(a.run(copy(shared->va + 8, shared->va, 8)), 0);
    ASSERT_EQ(b.run(copy(shared->va + 16, shared->va + 8, 8)), 0) << "bound once, for both";
    EXPECT_EQ(shared->words()[2], 5u);
    sidra_ioctl_vm destroy{vm, 1};
    EXPECT_EQ(client.call(SIDRA_IOCTL_VM_DESTROY, destroy), -EINVAL);
    destroy.flags = 0;
    EXPECT_EQ(client.call(SIDRA_IOCTL_VM_DESTROY, destroy), -EBUSY);
    const uint64_t va = shared->va;
    shared.reset();
    for (Queue* queue : {&a, &b}) {
        EXPECT_EQ(queue->run(copy(va, va + 8, 8)), -EIO) << "both have let go of it";
        EXPECT_EQ(queue->fault(), SIDRA_FAULT_TRANSLATION);
    }
    a.release();
    EXPECT_EQ(client.destroy_context(first), 0);
    EXPECT_EQ(client.call(SIDRA_IOCTL_VM_DESTROY, destroy), -EBUSY);
    ASSERT_EQ(b.reset(), 0);
    Buffer more(client, second, 4096);
    more.words()[0] = 6;
    ASSERT_EQ(b.run(copy(more.va + 8, more.va, 8)), 0) << "the other one goes on";
    EXPECT_EQ(more.words()[1], 6u);
    b.release();
    EXPECT_EQ(client.destroy_context(second), 0);
    EXPECT_EQ(client.call(SIDRA_IOCTL_VM_DESTROY, destroy), 0);
    EXPECT_EQ(client.call(SIDRA_IOCTL_VM_DESTROY, destroy), -ENOENT);
    sidra_ioctl_context_create without{};
    EXPECT_EQ(client.call(SIDRA_IOCTL_CONTEXT_CREATE, without), -ENOENT);
    sidra_ioctl_vm_create flagged{1, 0};
    EXPECT_EQ(client.call(SIDRA_IOCTL_VM_CREATE, flagged), -EINVAL);
}

TEST(Bind, OverrunsFaultInsteadOfHittingTheNeighbour) {
    Bench s;
    Buffer first(s.client, s.context, 4096), second(s.client, s.context, 4096);
    EXPECT_EQ(s.queue->run(copy(first.va + 4000, second.va, 200)), -EIO);
    EXPECT_EQ(s.queue->fault(), SIDRA_FAULT_TRANSLATION);
}

TEST(Register, AnyAlignment) {
    Bench s;
    std::vector<uint8_t> memory(100'000);
    uint8_t* const start = memory.data() + 13;
    uint32_t handle;
    uint64_t va;
    ASSERT_EQ(s.client.reg(start, 50'001, 0, &handle), 0) << s.client.detail;
    ASSERT_EQ(s.client.bind(s.context, handle, SIDRA_BIND_READ | SIDRA_BIND_WRITE, &va), 0) << s.client.detail;
    EXPECT_EQ(va % SIDRA_PAGE_SIZE, reinterpret_cast<uintptr_t>(start) % SIDRA_PAGE_SIZE);
    for (size_t i = 0; i < 20'000; i++) start[i] = static_cast<uint8_t>(i * 3);
    ASSERT_EQ(s.queue->run(copy(va + 30'001, va, 20'000)), 0);
    EXPECT_EQ(std::memcmp(start + 30'001, start, 20'000), 0);
    EXPECT_EQ(s.client.close_buffer(handle), 0);
    EXPECT_EQ(s.queue->run(copy(va, va + 100, 8)), -EIO) << "closed: unbound";
}

TEST(Register, RefusesWhatIsNotThere) {
    Client client;
    uint32_t handle;
    Pages pages(16 * 4096);
    EXPECT_EQ(client.reg(nullptr, 4096, 0, &handle), -EFAULT);
    EXPECT_EQ(client.reg(pages.data, 0, 0, &handle), -EINVAL);
    EXPECT_EQ(client.reg(pages.data, 4096, 2, &handle), -EINVAL);
    EXPECT_EQ(client.reg(pages.data, ~uint64_t{0}, 0, &handle), -EINVAL);
    EXPECT_EQ(client.reg(pages.data, uint64_t{1} << 38, 0, &handle), -EFAULT);
    EXPECT_EQ(client.reg(reinterpret_cast<void*>(~uintptr_t{0} - 100), 90, 0, &handle), -EINVAL);
    // Protected instead of unmapped: otherwise a thread of the library or of a sanitizer might map something there,
    // which ~Pages would then unmap.
    ASSERT_EQ(mprotect(pages.data + 4 * 4096, 4096, PROT_NONE), 0);
    EXPECT_EQ(client.reg(pages.data + 4000, 4 * 4096, 0, &handle), -EFAULT) << "the last page cannot be touched";
    EXPECT_EQ(client.reg(pages.data + 4000, 100, 0, &handle), 0);
    EXPECT_NE(client.detail.empty(), false);
    Pages readonly(4096, PROT_READ);
    EXPECT_EQ(client.reg(readonly.data, 4096, 0, &handle), -EFAULT) << "the device's write would crash the process";
    ASSERT_EQ(client.reg(readonly.data, 4096, SIDRA_REGISTER_READONLY, &handle), 0) << client.detail;
    uint64_t va;
    const uint32_t context = client.create_context();
    EXPECT_EQ(client.bind(context, handle, SIDRA_BIND_READ | SIDRA_BIND_WRITE, &va), -EACCES);
    EXPECT_EQ(client.bind(context, handle, SIDRA_BIND_READ, &va), 0);
    EXPECT_EQ(client->map((uint64_t{7} << 29 | handle << 8) << SIDRA_PAGE_SHIFT, 4096, true), nullptr)
        << "the caller has it mapped already";
}

// The guarantee of unbind: when it returns, the device does not access the memory any more. The page is unmapped right
// afterwards, under a queue that copies there without end; a late access would crash this process.
TEST(Unbind, NothingTouchesTheMemoryAfterwards) {
    Bench s;
    Buffer source(s.client, s.context, 1 << 20);
    const size_t size = 1 << 20;
    for (int round = 0; round < 30; round++) {
        Pages target(size);
        uint32_t handle;
        uint64_t va;
        ASSERT_EQ(s.client.reg(target.data, size, 0, &handle), 0);
        ASSERT_EQ(s.client.bind(s.context, handle, SIDRA_BIND_READ | SIDRA_BIND_WRITE, &va), 0);
        std::atomic<bool> stop{false};
        std::thread hostile([&] {
            while (!stop.load()) {
                if (s.queue->next - s.queue->timeline() < 60) s.queue->submit(copy(va, source.va, size));
                s.client->help();
            }
        });
        const uint64_t before = s.queue->timeline();
        while (s.queue->timeline() < before + 2) sleep_ms(0);
        sleep_ms(round % 4);
        EXPECT_EQ(s.client.unbind(s.context, handle, va), 0);
        mprotect(target.data, size, PROT_NONE);
        while (s.queue->run_state() != SIDRA_QUEUE_FAULTED) sleep_ms(1);
        stop.store(true);
        hostile.join();
        EXPECT_EQ(s.queue->fault(), SIDRA_FAULT_TRANSLATION);
        EXPECT_EQ(s.queue->reset(), 0);
        EXPECT_EQ(s.client.close_buffer(handle), 0);
    }
}

// If it failed for want of memory, the buffer would be there still, but not for the device.
TEST(Unbind, NeedsNoMemory) {
    Bench s;
    Buffer source(s.client, s.context, 4096);
    Pages pages(4096);
    uint32_t handle;
    ASSERT_EQ(s.client.reg(pages.data, pages.size, 0, &handle), 0);
    std::array<uint64_t, 5> places{};
    for (uint64_t& place : places) ASSERT_EQ(s.client.bind(s.context, handle, SIDRA_BIND_READ, &place), 0);
    for (const size_t i : {1, 3, 2, 0, 4}) {
        sidra_ioctl_buffer_unbind gone{s.client.vm_of(s.context), handle, places[i]};
        int error = 0;
        {
            FailingNew failing(0, ~uint64_t{0}, FailingNew::Of::kThisThread);
            error = s.client->ioctl(SIDRA_IOCTL_BUFFER_UNBIND, &gone);
        }
        EXPECT_EQ(error, 0) << i;
    }
    EXPECT_EQ(s.client.close_buffer(handle), 0);
}

TEST(Unbind, CloseAndDestroyKeepThePromiseToo) {
    for (int how = 0; how < 2; how++) {
        Bench s;
        Buffer source(s.client, s.context, 1 << 20);
        Pages target(1 << 20);
        uint32_t handle;
        uint64_t va;
        ASSERT_EQ(s.client.reg(target.data, target.size, 0, &handle), 0);
        ASSERT_EQ(s.client.bind(s.context, handle, SIDRA_BIND_READ | SIDRA_BIND_WRITE, &va), 0);
        for (int i = 0; i < 60; i++) s.queue->submit(copy(va, source.va, 1 << 20));
        if (how == 0) EXPECT_EQ(s.client.close_buffer(handle), 0);
        else EXPECT_EQ(s.client.destroy_context(s.context), 0);
        mprotect(target.data, target.size, PROT_NONE);
        while (s.queue->run_state() <= SIDRA_QUEUE_RUNNING) sleep_ms(1);  // idle: not started yet
        EXPECT_EQ(s.queue->run_state(), how == 0 ? SIDRA_QUEUE_FAULTED : SIDRA_QUEUE_LOST);
    }
}

TEST(Unbind, CloseEndsEachBindingOfTheBufferAndNoOther) {
    Bench s;
    Buffer before(s.client, s.context, 4096), after(s.client, s.context, 4096);
    Pages pages(4096);
    uint32_t handle;
    ASSERT_EQ(s.client.reg(pages.data, pages.size, 0, &handle), 0);
    std::array<uint64_t, 3> places{};
    for (uint64_t& place : places) ASSERT_EQ(s.client.bind(s.context, handle, SIDRA_BIND_READ, &place), 0);
    for (const uint64_t place : places) EXPECT_EQ(s.queue->run(copy(before.va, place, 8)), 0);
    EXPECT_EQ(s.client.close_buffer(handle), 0);
    for (const uint64_t place : places) {
        EXPECT_EQ(s.queue->run(copy(before.va, place, 8)), -EIO);
        EXPECT_EQ(s.queue->fault(), SIDRA_FAULT_TRANSLATION);
        ASSERT_EQ(s.queue->reset(), 0);
    }
    EXPECT_EQ(s.queue->run(copy(before.va, after.va, 8)), 0);
}

}  // namespace
}  // namespace sidra::test
