// SPDX-License-Identifier: MIT
// The driver's own ioctls, but for SUBMIT and weights.
#include <sys/resource.h>

#include "sweep.h"

namespace sidra::test {
namespace {

// A call that takes an argument and changes nothing but that.
template <class Argument>
std::function<void(Attempt&)> plain(unsigned long request, const std::function<Argument(Bench&)>& make) {
    return [=](Attempt& attempt) {
        Bench bench;
        attempt([&] {
            Argument argument = make(bench);
            return bench.node.call(request, argument);
        });
        expect_works(bench);
    };
}

TEST_F(FailNth, DeviceQuery) {
    sweep(plain<sidra_ioctl_device_query>(SIDRA_IOCTL_DEVICE_QUERY, [](Bench&) { return sidra_ioctl_device_query{}; }));
}

TEST_F(FailNth, DeviceClock) {
    for (const uint32_t type :
         {SIDRA_QUERY_DEVICE, SIDRA_QUERY_STATUS, SIDRA_QUERY_CLOCK, SIDRA_QUERY_LIMITS, SIDRA_QUERY_REFUSAL})
        sweep(plain<sidra_ioctl_device_query>(SIDRA_IOCTL_DEVICE_QUERY, [type](Bench&) {
            static uint64_t answer[64];
            return sidra_ioctl_device_query{type, 0, reinterpret_cast<uintptr_t>(answer), sizeof answer, 0};
        }));
}

TEST_F(FailNth, DeviceReset) {
    sweep([](Attempt& attempt) {
        {
            Bench bench;
            attempt([&] {
                sidra_ioctl_device_reset reset{};
                return bench.node.call(SIDRA_IOCTL_DEVICE_RESET, reset);
            });
            EXPECT_EQ(state_of(bench.context), uint32_t{SIDRA_CONTEXT_LOST});
        }
    });
}

TEST_F(FailNth, VmCreate) {
    sweep([](Attempt& attempt) {
        Node node;
        sidra_ioctl_vm_create create{};
        attempt([&] {
            create = {};
            return node.call(SIDRA_IOCTL_VM_CREATE, create);
        });
        EXPECT_NE(create.vm, 0u);
    });
}

TEST_F(FailNth, VmDestroy) {
    sweep([](Attempt& attempt) {
        Node node;
        const uint32_t vm = create_vm(node);
        attempt(
            [&] {
                sidra_ioctl_vm destroy{vm, 0};
                return node.call(SIDRA_IOCTL_VM_DESTROY, destroy);
            },
            {.afterwards = {-ENOENT}});
    });
}

TEST_F(FailNth, ContextCreate) {
    sweep([](Attempt& attempt) {
        Node node;
        const uint32_t vm = create_vm(node);
        sidra_ioctl_context_create create{};
        attempt([&] {
            create = {};
            create.vm = vm;
            return node.call(SIDRA_IOCTL_CONTEXT_CREATE, create);
        });
        EXPECT_NE(create.context, 0u);
    });
}

TEST_F(FailNth, ContextDestroy) {
    sweep([](Attempt& attempt) {
        Bench bench;
        attempt(
            [&] {
                sidra_ioctl_context destroy{bench.context.handle, 0};
                return bench.node.call(SIDRA_IOCTL_CONTEXT_DESTROY, destroy);
            },
            {.afterwards = {-ENOENT}});
    });
}

TEST_F(FailNth, ContextQuery) {
    sweep(plain<sidra_ioctl_context_query>(SIDRA_IOCTL_CONTEXT_QUERY, [](Bench& bench) {
        sidra_ioctl_context_query query{};
        query.context = bench.context.handle;
        return query;
    }));
}

TEST_F(FailNth, ContextRecover) {
    sweep([](Attempt& attempt) {
        Bench bench;
        sidra_ioctl_device_reset reset{};
        ASSERT_EQ(bench.node.call(SIDRA_IOCTL_DEVICE_RESET, reset), 0);
        attempt([&] {
            sidra_ioctl_context recover{bench.context.handle, 0};
            return bench.node.call(SIDRA_IOCTL_CONTEXT_RECOVER, recover);
        });
        EXPECT_EQ(state_of(bench.context), uint32_t{SIDRA_CONTEXT_OK});
        Queue queue(bench.context, SIDRA_QUEUE_USER);
        EXPECT_EQ(queue.wait(queue.push(copy(bench.buffer.va, bench.buffer.va + 8, 8))), 0);
    });
}

// ---- Buffers ----

void create_buffer(Attempt& attempt, uint32_t flags, const Answers& answers = {}) {
    Node node;
    Context context(node);
    sidra_ioctl_buffer_create create{};
    attempt(
        [&] {
            create = {2 * SIDRA_PAGE_SIZE, flags, 0, 0};
            return node.call(SIDRA_IOCTL_BUFFER_CREATE, create);
        },
        answers);
    EXPECT_NE(create.handle, 0u);
    auto* words = static_cast<uint64_t*>(node.map(create.mmap_offset, create.size));
    ASSERT_NE(words, nullptr);
    EXPECT_EQ(words[0], 0u);
    munmap(words, create.size);
}

// The kernel's shared memory says -ENOSPC when there is no memory for an inode. It asks for memory once more at times,
// so that a round can miss the place after it.
TEST_F(FailNth, BufferCreateHost) {
    for (int time = 0; time < 2; time++)
        sweep([](Attempt& attempt) { create_buffer(attempt, 0, {.refused = {-ENOSPC}}); });
}

TEST_F(FailNth, BufferCreateLocal) {
    sweep([](Attempt& attempt) { create_buffer(attempt, SIDRA_BUFFER_LOCAL); });
}

// Memory of the caller, of which some pages are here and the others come when they are pinned.
class OwnMemory {
   public:
    explicit OwnMemory(size_t bytes, size_t here = 1) : size(bytes) {
        words = static_cast<uint64_t*>(mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
        madvise(words, size, MADV_NOHUGEPAGE);
        for (size_t page = 0; page < here; page++) words[page * SIDRA_PAGE_SIZE / sizeof words[0]] = 1;
    }
    ~OwnMemory() { munmap(words, size); }
    OwnMemory(const OwnMemory&) = delete;
    OwnMemory& operator=(const OwnMemory&) = delete;
    const size_t size;
    uint64_t* words;
};

void register_memory(Attempt& attempt, uint32_t flags, size_t here = 1) {
    Node node;
    Context context(node);
    OwnMemory memory(4 * SIDRA_PAGE_SIZE, here);
    sidra_ioctl_buffer_register enroll{};
    attempt([&] {
        enroll = {reinterpret_cast<uintptr_t>(memory.words), memory.size, flags, 0};
        return node.call(SIDRA_IOCTL_BUFFER_REGISTER, enroll);
    });
    EXPECT_NE(enroll.handle, 0u);
}

TEST_F(FailNth, BufferRegister) {
    sweep([](Attempt& attempt) { register_memory(attempt, 0); });
}

// The first page, too, comes only when it is pinned: there may be no memory for it.
TEST_F(FailNth, BufferRegisterUntouched) {
    sweep([](Attempt& attempt) { register_memory(attempt, 0, 0); });
}

TEST_F(FailNth, BufferRegisterReadOnly) {
    sweep([](Attempt& attempt) { register_memory(attempt, SIDRA_REGISTER_READONLY); });
}

TEST_F(FailNth, BufferClose) {
    sweep([](Attempt& attempt) {
        Bench bench;
        OwnMemory memory(2 * SIDRA_PAGE_SIZE);
        sidra_ioctl_buffer_register enroll{reinterpret_cast<uintptr_t>(memory.words), memory.size, 0, 0};
        ASSERT_EQ(bench.node.call(SIDRA_IOCTL_BUFFER_REGISTER, enroll), 0);
        Buffer::bind(bench.context, enroll.handle);
        attempt(
            [&] {
                sidra_ioctl_buffer_close close{enroll.handle, 0};
                return bench.node.call(SIDRA_IOCTL_BUFFER_CLOSE, close);
            },
            {.afterwards = {-ENOENT}});
        expect_works(bench);
    });
}

// A buffer is bound while allocations fail; then the chip reads and writes it.
void bind(Attempt& attempt, Bench& bench, uint32_t handle, uint32_t flags = SIDRA_BIND_READ | SIDRA_BIND_WRITE) {
    sidra_ioctl_buffer_bind args{};
    attempt([&] {
        args = {bench.context.vm, handle, flags, 0, 0, {}};
        return bench.node.call(SIDRA_IOCTL_BUFFER_BIND, args);
    });
    const uint64_t from = args.address, to = flags & SIDRA_BIND_WRITE ? args.address + 8 : bench.buffer.va;
    EXPECT_EQ(bench.user.wait(bench.user.push(copy(to, from, 8))), 0);
    sidra_ioctl_buffer_unbind unbind{bench.context.vm, handle, args.address};
    EXPECT_EQ(bench.node.call(SIDRA_IOCTL_BUFFER_UNBIND, unbind), 0);
}

void create_and_bind(Attempt& attempt, uint32_t flags, uint64_t pages = 4) {
    Bench bench;
    sidra_ioctl_buffer_create create{pages * SIDRA_PAGE_SIZE, flags, 0, 0};
    ASSERT_EQ(bench.node.call(SIDRA_IOCTL_BUFFER_CREATE, create), 0);
    bind(attempt, bench, create.handle);
}

TEST_F(FailNth, BindHost) {
    sweep([](Attempt& attempt) { create_and_bind(attempt, 0); });
}

// So large that an IOMMU needs memory for its bus addresses.
TEST_F(FailNth, BindLarge) {
    sweep([](Attempt& attempt) { create_and_bind(attempt, 0, 64); });
}

TEST_F(FailNth, BindLocal) {
    sweep([](Attempt& attempt) { create_and_bind(attempt, SIDRA_BUFFER_LOCAL); });
}

// The first one of a context: it needs page tables of each level.
TEST_F(FailNth, BindFirst) {
    sweep([](Attempt& attempt) {
        Node node;
        Context context(node);
        sidra_ioctl_buffer_create create{SIDRA_PAGE_SIZE, SIDRA_BUFFER_LOCAL, 0, 0};
        ASSERT_EQ(node.call(SIDRA_IOCTL_BUFFER_CREATE, create), 0);
        attempt([&] {
            sidra_ioctl_buffer_bind args{context.vm, create.handle, SIDRA_BIND_READ | SIDRA_BIND_WRITE, 0, 0};
            return node.call(SIDRA_IOCTL_BUFFER_BIND, args);
        });
    });
}

TEST_F(FailNth, BindUserMemory) {
    sweep([](Attempt& attempt) {
        OwnMemory memory(4 * SIDRA_PAGE_SIZE);
        Bench bench;
        sidra_ioctl_buffer_register enroll{reinterpret_cast<uintptr_t>(memory.words), memory.size, 0, 0};
        ASSERT_EQ(bench.node.call(SIDRA_IOCTL_BUFFER_REGISTER, enroll), 0);
        bind(attempt, bench, enroll.handle);
    });
}

TEST_F(FailNth, BindUserMemoryReadOnly) {
    sweep([](Attempt& attempt) {
        OwnMemory memory(4 * SIDRA_PAGE_SIZE);
        Bench bench;
        sidra_ioctl_buffer_register enroll{reinterpret_cast<uintptr_t>(memory.words), memory.size,
                                           SIDRA_REGISTER_READONLY, 0};
        ASSERT_EQ(bench.node.call(SIDRA_IOCTL_BUFFER_REGISTER, enroll), 0);
        bind(attempt, bench, enroll.handle, SIDRA_BIND_READ);
    });
}

TEST_F(FailNth, BufferUnbind) {
    sweep([](Attempt& attempt) {
        Bench bench;
        sidra_ioctl_buffer_create create{2 * SIDRA_PAGE_SIZE, 0, 0, 0};
        ASSERT_EQ(bench.node.call(SIDRA_IOCTL_BUFFER_CREATE, create), 0);
        const uint64_t va = Buffer::bind(bench.context, create.handle);
        attempt(
            [&] {
                sidra_ioctl_buffer_unbind unbind{bench.context.vm, create.handle, va};
                return bench.node.call(SIDRA_IOCTL_BUFFER_UNBIND, unbind);
            },
            {.afterwards = {-ENOENT}});
        expect_works(bench);
    });
}

// ---- Queues ----

void create_queue(Attempt& attempt, uint32_t kind, uint32_t flags, uint32_t log2 = SIDRA_QUEUE_LOG2_MIN) {
    Node node;
    Context context(node);
    sidra_ioctl_queue_create create{};
    attempt([&] {
        create = {};
        create.context = context.handle;
        create.kind = kind;
        create.ring_log2 = log2;
        create.flags = flags;
        return node.call(SIDRA_IOCTL_QUEUE_CREATE, create);
    });
    Queue queue(context, kind);
    uint64_t value = 0;
    if (kind == SIDRA_QUEUE_KERNEL) ASSERT_EQ(queue.submit({nop()}, &value), 0);
    else value = queue.push(nop());
    EXPECT_EQ(queue.wait(value), 0);
}

TEST_F(FailNth, QueueCreateUser) {
    sweep([](Attempt& attempt) { create_queue(attempt, SIDRA_QUEUE_USER, 0); });
}

// As BindLarge: its ring has 64 pages.
TEST_F(FailNth, QueueCreateUserLarge) {
    sweep([](Attempt& attempt) { create_queue(attempt, SIDRA_QUEUE_USER, 0, 12); });
}

TEST_F(FailNth, QueueCreateUserWithReports) {
    sweep([](Attempt& attempt) { create_queue(attempt, SIDRA_QUEUE_USER, SIDRA_QUEUE_REPORTS); });
}

TEST_F(FailNth, QueueCreateKernel) {
    sweep([](Attempt& attempt) { create_queue(attempt, SIDRA_QUEUE_KERNEL, 0); });
}

void of_queue(Attempt& attempt, unsigned long request, const Answers& answers = {}) {
    Bench bench;
    Queue user(bench.context, SIDRA_QUEUE_USER), kernel(bench.context, SIDRA_QUEUE_KERNEL);
    uint64_t value = 0;
    ASSERT_EQ(kernel.submit({nop()}, &value), 0);
    user.push(nop());
    const Queue& queue = attempt.number() % 2 ? user : kernel;
    attempt(
        [&] {
            if (request == SIDRA_IOCTL_QUEUE_RESET) return queue.reset();
            sidra_ioctl_queue args{bench.context.handle, queue.create.queue, 0, 0};
            return bench.node.call(request, args);
        },
        answers);
    expect_works(bench);
}

TEST_F(FailNth, QueueDestroy) {
    sweep([](Attempt& attempt) { of_queue(attempt, SIDRA_IOCTL_QUEUE_DESTROY, {.afterwards = {-ENOENT}}); });
}

TEST_F(FailNth, QueueReset) {
    sweep([](Attempt& attempt) { of_queue(attempt, SIDRA_IOCTL_QUEUE_RESET); });
}

TEST_F(FailNth, QueueQuery) {
    sweep(plain<sidra_ioctl_queue_query>(SIDRA_IOCTL_QUEUE_QUERY, [](Bench& bench) {
        sidra_ioctl_queue_query query{};
        query.context = bench.context.handle;
        query.queue = bench.user.create.queue;
        return query;
    }));
}

void wait_for(Attempt& attempt, uint32_t count) {
    Bench bench;
    const uint64_t value = bench.user.push(nop());
    const std::vector<sidra_wait_item> items(
        count, {bench.context.handle, bench.user.create.queue, value, bench.user.epoch(), 0});
    attempt([&] {
        sidra_ioctl_wait wait{
            reinterpret_cast<uintptr_t>(items.data()), count, sizeof items[0], SIDRA_WAIT_ALL, 0, in_ms(kPatienceMs)};
        return bench.node.call(SIDRA_IOCTL_WAIT, wait);
    });
    expect_works(bench);
}

TEST_F(FailNth, WaitForOne) {
    sweep([](Attempt& attempt) { wait_for(attempt, 1); });
}

TEST_F(FailNth, WaitForMany) {
    sweep([](Attempt& attempt) { wait_for(attempt, 5); });
}

TEST_F(FailNth, Arm) {
    sweep([](Attempt& attempt) {
        Bench bench;
        const int event = eventfd(0, EFD_CLOEXEC);
        const uint64_t value = bench.user.next + 1;
        const auto arm = [&](int fd) {
            sidra_ioctl_arm args{bench.context.handle, bench.user.create.queue, value, fd, 0, bench.user.epoch(), 0};
            return bench.node.call(SIDRA_IOCTL_ARM, args);
        };
        attempt([&] { return arm(event); });
        bench.user.push(nop());
        pollfd fired{event, POLLIN, 0};
        EXPECT_EQ(poll(&fired, 1, static_cast<int>(kPatienceMs)), 1);
        close(event);
        expect_works(bench);
    });
}

TEST_F(FailNth, ArmCancels) {
    sweep([](Attempt& attempt) {
        Bench bench;
        const int event = eventfd(0, EFD_CLOEXEC);
        sidra_ioctl_arm args{bench.context.handle, bench.user.create.queue, 1000, event, 0, bench.user.epoch(), 0};
        ASSERT_EQ(bench.node.call(SIDRA_IOCTL_ARM, args), 0);
        attempt([&] {
            sidra_ioctl_arm cancel{bench.context.handle, bench.user.create.queue, 1000, -1, 0, bench.user.epoch(), 0};
            return bench.node.call(SIDRA_IOCTL_ARM, cancel);
        });
        close(event);
        expect_works(bench);
    });
}

}  // namespace
}  // namespace sidra::test
