// SPDX-License-Identifier: MIT
// Lifetimes: fork, shared buffers, limits.
#include <grp.h>
#include <libdrm/drm.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include <algorithm>
#include <atomic>
#include <filesystem>
#include <fstream>
#include <functional>
#include <memory>
#include <thread>

#include "users.h"

namespace sidra::test {
namespace {

class Life : public NodeTest {};

// Runs `body` in a child; whether it returned true.
template <class Body>
bool in_child(Body body) {
    const pid_t child = fork();
    if (child == 0) _exit(body() ? 0 : 1);
    int status = 0;
    waitpid(child, &status, 0);
    return WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

bool mapped(const void* address) {
    unsigned char resident;
    return mincore(const_cast<void*>(address), 1, &resident) == 0;
}

TEST_F(Life, QueuesAreNotInheritedByForks) {
    Node node;
    Context context(node);
    Queue queue(context, SIDRA_QUEUE_USER);
    Buffer buffer(context, 4096);
    EXPECT_TRUE(mapped(queue.ring) && mapped(queue.state) && mapped(context.doorbells));
    EXPECT_TRUE(in_child([&] {
        return !mapped(queue.ring) && !mapped(queue.state) && !mapped(context.doorbells) && mapped(buffer.words);
    }));
    EXPECT_EQ(queue.wait(queue.push(nop())), 0);
}

TEST_F(Life, StatePageStaysReadOnly) {
    Node node;
    Context context(node);
    Queue queue(context, SIDRA_QUEUE_USER);
    EXPECT_EQ(node.map(queue.create.state_offset, SIDRA_PAGE_SIZE), nullptr);
    EXPECT_EQ(errno, EACCES);
    EXPECT_NE(mprotect(const_cast<sidra_queue_state*>(queue.state), SIDRA_PAGE_SIZE, PROT_READ | PROT_WRITE), 0);
    EXPECT_EQ(
        mmap(nullptr, SIDRA_PAGE_SIZE, PROT_READ, MAP_PRIVATE, node.fd, static_cast<off_t>(queue.create.state_offset)),
        MAP_FAILED);
}

TEST_F(Life, BuffersPassBetweenOpens) {
    Node a, b;
    Context context_a(a), context_b(b);
    Queue queue(context_b, SIDRA_QUEUE_USER);
    Buffer buffer(context_a, 8192), target(context_b, 8192);
    drm_prime_handle prime{buffer.handle, DRM_CLOEXEC | DRM_RDWR, -1};
    ASSERT_EQ(a.call(DRM_IOCTL_PRIME_HANDLE_TO_FD, prime), 0);
    drm_prime_handle import{0, 0, prime.fd};
    ASSERT_EQ(b.call(DRM_IOCTL_PRIME_FD_TO_HANDLE, import), 0);
    close(prime.fd);
    const uint64_t va = Buffer::bind(context_b, import.handle);
    buffer.words[3] = 0xabcdef;
    EXPECT_EQ(queue.wait(queue.push(copy(target.va, va, 4096))), 0);
    EXPECT_EQ(target.words[3], 0xabcdefu);
    drm_gem_close close_it{import.handle, 0};
    EXPECT_EQ(b.call(DRM_IOCTL_GEM_CLOSE, close_it), 0);
    EXPECT_EQ(queue.wait(queue.push(copy(target.va, va, 4096))), -EIO) << "DRM's own close unbinds too";
    alignas(SIDRA_PAGE_SIZE) static uint8_t memory[SIDRA_PAGE_SIZE];
    sidra_ioctl_buffer_register pinned{reinterpret_cast<uintptr_t>(memory), sizeof memory, 0, 0};
    ASSERT_EQ(a.call(SIDRA_IOCTL_BUFFER_REGISTER, pinned), 0);
    prime = {pinned.handle, DRM_CLOEXEC, -1};
    EXPECT_EQ(a.call(DRM_IOCTL_PRIME_HANDLE_TO_FD, prime), -EOPNOTSUPP) << "the caller's own memory";
}

TEST_F(Life, ForeignMemoryAndLimitsHaveErrnosOfTheirOwn) {
    Node node;
    Context context(node);
    Buffer buffer(context, 4096);
    sidra_ioctl_buffer_register enroll{reinterpret_cast<uintptr_t>(buffer.words), 4096, 0, 0};
    EXPECT_EQ(node.call(SIDRA_IOCTL_BUFFER_REGISTER, enroll), -EFAULT) << "another driver's mapping";
    ASSERT_EQ(geteuid(), 0u) << "the limit does not bind who may lock memory";
    EXPECT_TRUE(in_child([&] {
        const rlimit limit{16384, 16384};
        setrlimit(RLIMIT_MEMLOCK, &limit);
        void* memory = mmap(nullptr, 1 << 20, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        if (setgroups(0, nullptr) != 0 || setuid(65534) != 0) return false;
        sidra_ioctl_buffer_register big{reinterpret_cast<uintptr_t>(memory), 1 << 20, 0, 0}, fits = big;
        fits.size = 16384;
        if (node.call(SIDRA_IOCTL_BUFFER_REGISTER, big) != -EDQUOT) return false;
        if (node.call(SIDRA_IOCTL_BUFFER_REGISTER, fits) != 0) return false;
        if (node.call(SIDRA_IOCTL_BUFFER_REGISTER, big) != -EDQUOT) return false;
        sidra_ioctl_buffer_close close_it{fits.handle, 0};
        if (node.call(SIDRA_IOCTL_BUFFER_CLOSE, close_it) != 0) return false;
        if (node.call(SIDRA_IOCTL_BUFFER_REGISTER, fits) != 0) return false;  // released memory is no longer charged
        sidra_ioctl_device_reset reset{0};
        sidra_ioctl_queue_create high{};
        high.context = context.handle;
        high.ring_log2 = 6;
        high.priority = 2;
        return node.call(SIDRA_IOCTL_DEVICE_RESET, reset) == -EPERM &&
               node.call(SIDRA_IOCTL_QUEUE_CREATE, high) == -EPERM;
    }));
}

// A control group of its own, to which memory is charged.
class ControlGroup {
   public:
    ControlGroup() {
        EXPECT_EQ(mkdir(kMount.c_str(), 0700), 0);
        EXPECT_EQ(mount("none", kMount.c_str(), "cgroup2", 0, nullptr), 0);
        EXPECT_TRUE(write_text(kMount + "/cgroup.subtree_control", "+memory"));
        EXPECT_EQ(mkdir(kGroup.c_str(), 0700), 0);
    }
    ~ControlGroup() {
        EXPECT_EQ(rmdir(kGroup.c_str()), 0);
        EXPECT_EQ(umount(kMount.c_str()), 0);
        rmdir(kMount.c_str());
    }
    ControlGroup(const ControlGroup&) = delete;
    ControlGroup& operator=(const ControlGroup&) = delete;

    static bool enter() { return write_text(kGroup + "/cgroup.procs", "0"); }
    static uint64_t bytes() {
        uint64_t bytes = 0;
        std::ifstream(kGroup + "/memory.current") >> bytes;
        return bytes;
    }

   private:
    inline static const std::string kMount = "/tmp/sidra-cgroup", kGroup = kMount + "/sidra";
};

TEST_F(Life, MoreMemoryThanTheMachineHasIsRefused) {
    Node node;
    sidra_ioctl_buffer_create a{1ull << 38, 0, 0, 0};
    EXPECT_EQ(node.call(SIDRA_IOCTL_BUFFER_CREATE, a), -ENOMEM);
}

TEST_F(Life, DataOfSharedWeightsIsChargedToWhoSharesThem) {
    constexpr uint64_t kShares = 16, kBytes = 1 << 20;  // the maximum that a descriptor keeps
    const ControlGroup group;
    EXPECT_TRUE(in_child([] {
        if (!ControlGroup::enter()) return false;
        const Node node;
        const Context context(node);
        sidra_ioctl_weights_create weights{};
        weights.context = context.handle;
        weights.rows = weights.cols = 1;
        weights.rights = SIDRA_WEIGHTS_RIGHTS;
        if (node.call(SIDRA_IOCTL_WEIGHTS_CREATE, weights) != 0) return false;
        const std::vector<uint8_t> data(kBytes, 1);
        sidra_ioctl_weights_share share{context.handle,
                                        weights.index,
                                        SIDRA_WEIGHTS_RIGHTS,
                                        -1,
                                        reinterpret_cast<uintptr_t>(data.data()),
                                        data.size(),
                                        0};
        const uint64_t before = ControlGroup::bytes();
        for (uint64_t i = 0; i < kShares; i++)
            if (node.call(SIDRA_IOCTL_WEIGHTS_SHARE, share) != 0) return false;
        const uint64_t charged = ControlGroup::bytes() - before;
        std::printf("# %llu bytes for %llu descriptors\n", static_cast<unsigned long long>(charged),
                    static_cast<unsigned long long>(kShares));
        std::fflush(stdout);
        return charged >= kShares * kBytes;
    }));
}

TEST_F(Life, BuffersRingsAndTablesAreChargedToWhoAsksForThem) {
    const ControlGroup group;
    EXPECT_TRUE(in_child([] {
        if (!ControlGroup::enter()) return false;
        const Node node;
        const Context context(node);
        bool good = true;
        const auto charges = [&](const char* what, uint64_t least, const std::function<bool()>& work) {
            const uint64_t before = ControlGroup::bytes();
            const bool done = work();
            const uint64_t after = ControlGroup::bytes(), charged = after > before ? after - before : 0;
            std::printf("# %s: %llu bytes, at least %llu\n", what, static_cast<unsigned long long>(charged),
                        static_cast<unsigned long long>(least));
            std::fflush(stdout);
            good = good && done && charged >= least;
        };
        sidra_ioctl_buffer_create create{8 << 20, 0, 0, 0};
        charges("a buffer", create.size, [&] {
            if (node.call(SIDRA_IOCTL_BUFFER_CREATE, create) != 0) return false;
            Buffer::bind(context, create.handle);
            return true;
        });
        for (const uint32_t kind : {SIDRA_QUEUE_USER, SIDRA_QUEUE_KERNEL})
            charges(kind == SIDRA_QUEUE_USER ? "a user queue" : "a kernel queue", uint64_t{SIDRA_CMD_SIZE} << 15, [&] {
                sidra_ioctl_queue_create queue{};
                queue.context = context.handle;
                queue.kind = kind;
                queue.ring_log2 = 15;
                queue.priority = 1;
                return node.call(SIDRA_IOCTL_QUEUE_CREATE, queue) == 0;
            });
        // Each address in a gigabyte of its own needs a table or more of its own.
        constexpr uint64_t kTables = 400;
        sidra_ioctl_buffer_create page{4096, 0, 0, 0};
        if (node.call(SIDRA_IOCTL_BUFFER_CREATE, page) != 0) return false;
        const auto bind = [&](uint64_t address) {
            sidra_ioctl_buffer_bind a{context.vm, page.handle, SIDRA_BIND_READ | SIDRA_BIND_FIXED, 0, address, {}};
            return node.call(SIDRA_IOCTL_BUFFER_BIND, a) == 0;
        };
        charges("page tables", kTables * 4096, [&] {
            for (uint64_t i = 1; i <= kTables; i++)
                if (!bind(i << 30)) return false;
            return true;
        });
        // Where a page table exists, addresses so far apart need a node of an array each, of more than 500 bytes.
        constexpr uint64_t kNodes = 4096, kApart = 64 * 4096, kAt = (kTables + 1) << 30, kAround = (2 << 20) / kApart;
        for (uint64_t i = 0; i < kNodes; i += kAround)
            if (!bind(kAt + i * kApart)) return false;
        charges("bindings", (kNodes - kNodes / kAround) * 500, [&] {
            for (uint64_t i = 0; i < kNodes; i++)
                if (i % kAround != 0 && !bind(kAt + i * kApart)) return false;
            return true;
        });
        return good;
    }));
}

TEST_F(Life, LargeRegionsOfAnyAlignment) {
    Node node;
    Context context(node);
    Queue queue(context, SIDRA_QUEUE_USER);
    std::vector<uint8_t> memory(9 << 20);
    uint8_t* const start = memory.data() + 100;
    const uint64_t size = (8 << 20) + 77;
    sidra_ioctl_buffer_register enroll{reinterpret_cast<uintptr_t>(start), size, 0, 0};
    ASSERT_EQ(node.call(SIDRA_IOCTL_BUFFER_REGISTER, enroll), 0);
    const uint64_t va = Buffer::bind(context, enroll.handle);
    for (uint64_t i = 0; i < size / 2; i++) start[i] = static_cast<uint8_t>(i * 31 + (i >> 12));
    EXPECT_EQ(queue.wait(queue.push(copy(va + size / 2, va, size / 2))), 0);
    EXPECT_EQ(std::memcmp(start + size / 2, start, size / 2), 0);
}

// Whatever its number is: that of a device that was removed is free again only when its last file is closed.
TEST_F(Life, TheTwinNodeIsTheSameDevice) {
    Node twin(accel_path());
    ASSERT_GE(twin.fd, 0);
    EXPECT_NE(device_of(twin).xbars_total, 0u);
}

TEST_F(Life, AnOpenFileKeepsTheModule) {
    Node node;
    ASSERT_EQ(geteuid(), 0u) << "only root removes modules";
    EXPECT_NE(syscall(SYS_delete_module, "sidra", O_NONBLOCK), 0);
    sidra_ioctl_device_query query{};
    EXPECT_EQ(node.call(SIDRA_IOCTL_DEVICE_QUERY, query), 0);
}

TEST_F(Life, QueuesRunOut) {
    const Node node;
    const sidra_query_device device = device_of(node);
    const Limit limit("queues", device.queues_max);
    std::vector<std::unique_ptr<Context>> contexts;
    const auto create = [&] {
        sidra_ioctl_queue_create a{};
        a.context = contexts.back()->handle;
        a.ring_log2 = 6;
        return node.call(SIDRA_IOCTL_QUEUE_CREATE, a);
    };
    for (uint32_t made = 0; made < device.queues_max; made++) {
        if (made % device.queues_per_context_max == 0) {
            if (made) ASSERT_EQ(create(), -EMFILE) << "of a context";
            contexts.push_back(std::make_unique<Context>(node));
        }
        ASSERT_EQ(create(), 0) << made;
    }
    contexts.push_back(std::make_unique<Context>(node));
    EXPECT_EQ(create(), -EMFILE) << "of the device";
}

// Calls that have found a context, or an address space, find it destroyed when they get its lock.
TEST_F(Life, DestructionMeetsCallsOfOtherThreads) {
    constexpr int kRounds = 60;
    const Node node, look;
    const sidra_query_status before = status_of(look);
    std::atomic<uint32_t> context = 0, vm = 0;
    std::atomic<bool> over = false;
    std::atomic<int> unexpected = 0;
    const auto expect = [&](int returned) {
        constexpr int kFine[] = {0, -ENOENT, -EBUSY, -EMFILE, -ENOSPC};
        if (std::find(std::begin(kFine), std::end(kFine), returned) == std::end(kFine)) unexpected = returned;
    };
    const std::function<void()> calls[] = {
        [&] {
            sidra_ioctl_queue_create a{};
            a.context = context, a.ring_log2 = 6;
            expect(node.call(SIDRA_IOCTL_QUEUE_CREATE, a));
        },
        [&] {
            sidra_ioctl_weights_create a{};
            a.context = context, a.rows = a.cols = 1, a.rights = SIDRA_WEIGHTS_RIGHTS;
            expect(node.call(SIDRA_IOCTL_WEIGHTS_CREATE, a));
        },
        [&] {
            sidra_ioctl_context_query a{};
            a.context = context;
            expect(node.call(SIDRA_IOCTL_CONTEXT_QUERY, a));
            sidra_ioctl_context recover{context, 0};
            expect(node.call(SIDRA_IOCTL_CONTEXT_RECOVER, recover));
        },
        [&] {
            sidra_ioctl_buffer_create a{SIDRA_PAGE_SIZE, 0, 0, 0};
            expect(node.call(SIDRA_IOCTL_BUFFER_CREATE, a));
            sidra_ioctl_buffer_bind bind{vm, a.handle, SIDRA_BIND_READ, 0, 0, {}};
            expect(node.call(SIDRA_IOCTL_BUFFER_BIND, bind));
            sidra_ioctl_buffer_unbind unbind{vm, a.handle, bind.address};
            expect(node.call(SIDRA_IOCTL_BUFFER_UNBIND, unbind));
            sidra_ioctl_buffer_close close{a.handle, 0};
            expect(node.call(SIDRA_IOCTL_BUFFER_CLOSE, close));
        },
        [&] {
            sidra_ioctl_context_create a{};
            a.vm = vm;
            expect(node.call(SIDRA_IOCTL_CONTEXT_CREATE, a));
            sidra_ioctl_context destroy{a.context, 0};
            expect(node.call(SIDRA_IOCTL_CONTEXT_DESTROY, destroy));
        },
        [&] {
            sidra_ioctl_context destroy{context, 0};
            expect(node.call(SIDRA_IOCTL_CONTEXT_DESTROY, destroy));
            sidra_ioctl_vm a{vm, 0};
            expect(node.call(SIDRA_IOCTL_VM_DESTROY, a));
        },
    };
    std::vector<std::thread> threads;
    for (const auto& call : calls)
        threads.emplace_back([&] {
            while (!over) call();
        });
    for (int round = 0; round < kRounds; round++) {
        vm = create_vm(node);
        sidra_ioctl_context_create create{};
        create.vm = vm;
        expect(node.call(SIDRA_IOCTL_CONTEXT_CREATE, create));
        context = create.context;
        std::this_thread::yield();
        sidra_ioctl_context destroy{create.context, 0};
        expect(node.call(SIDRA_IOCTL_CONTEXT_DESTROY, destroy));
        sidra_ioctl_vm gone{vm, 0};
        expect(node.call(SIDRA_IOCTL_VM_DESTROY, gone));
    }
    over = true;
    for (std::thread& thread : threads) thread.join();
    EXPECT_EQ(unexpected, 0);
    const sidra_query_status after = status_of(look);
    EXPECT_EQ(after.contexts, before.contexts);
    EXPECT_EQ(after.queues, before.queues);
    EXPECT_EQ(after.xbars_free, before.xbars_free);
}

}  // namespace
}  // namespace sidra::test
