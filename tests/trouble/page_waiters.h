// SPDX-License-Identifier: MIT
// Calls of the driver that wait for a page of the program's memory, which somebody else has to provide.
#ifndef SIDRA_TESTS_PAGE_WAITERS_H
#define SIDRA_TESTS_PAGE_WAITERS_H

#include <linux/userfaultfd.h>
#include <sys/mman.h>

#include <utility>

#include "fence_waiters.h"

namespace sidra::test {

// Pages that are missing until come() is called.
class MissingPages {
   public:
    explicit MissingPages(size_t count) : size_(count * SIDRA_PAGE_SIZE) {
        fd_ = static_cast<int>(syscall(SYS_userfaultfd, O_CLOEXEC));
        if (fd_ < 0) return;
        memory_ = mmap(nullptr, size_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        EXPECT_NE(memory_, MAP_FAILED);
        uffdio_api api{UFFD_API, 0, 0};
        EXPECT_EQ(ioctl(fd_, UFFDIO_API, &api), 0);
        uffdio_register range{{reinterpret_cast<uintptr_t>(memory_), size_}, UFFDIO_REGISTER_MODE_MISSING, 0};
        EXPECT_EQ(ioctl(fd_, UFFDIO_REGISTER, &range), 0);
    }
    ~MissingPages() {
        if (fd_ < 0) return;
        close(fd_);
        munmap(memory_, size_);
    }
    MissingPages(const MissingPages&) = delete;
    MissingPages& operator=(const MissingPages&) = delete;

    // The kernel can do this (CONFIG_USERFAULTFD).
    bool known() const { return fd_ >= 0; }
    uint64_t address(size_t page) const { return reinterpret_cast<uintptr_t>(memory_) + page * SIDRA_PAGE_SIZE; }
    // From now on all pages are there, and contain zeros.
    void come() {
        if (std::exchange(came_, true)) return;
        uffdio_zeropage range{{reinterpret_cast<uintptr_t>(memory_), size_}, 0, 0};
        EXPECT_EQ(ioctl(fd_, UFFDIO_ZEROPAGE, &range), 0);
    }

   private:
    const size_t size_;
    int fd_ = -1;
    void* memory_ = nullptr;
    bool came_ = false;
};

// One call for each kind of copy.
class PageWaiters {
   public:
    PageWaiters(const Context& context, MissingPages& pages)
        : node_(context.node), pages_(pages), queue_(context, SIDRA_QUEUE_KERNEL) {
        sidra_ioctl_weights_create weights{
            context.handle, SIDRA_ENCODING_OFFSET, 16, 16, SIDRA_WEIGHTS_RIGHTS, 0, 0, 0, 0};
        EXPECT_EQ(node_.call(SIDRA_IOCTL_WEIGHTS_CREATE, weights), 0);

        sidra_ioctl_submit packets = queue_.request({nop()}), points = queue_.request(nops_);
        packets.packets = pages.address(0);
        points.in_points = pages.address(1);
        points.in_count = 1;
        call("SUBMIT, packets", SIDRA_IOCTL_SUBMIT, packets);
        call("SUBMIT, in-fences", SIDRA_IOCTL_SUBMIT, points);
        call("WAIT", SIDRA_IOCTL_WAIT,
             sidra_ioctl_wait{pages.address(2), 1, sizeof(sidra_wait_item), 0, 0, SIDRA_DEADLINE_NEVER});
        call("WEIGHTS_SHARE", SIDRA_IOCTL_WEIGHTS_SHARE,
             sidra_ioctl_weights_share{context.handle, weights.index, SIDRA_WEIGHTS_COMPUTE, -1, pages.address(3), 64,
                                       0});
        for (const Caller& caller : callers_) EXPECT_TRUE(eventually([&] { return caller.sleeps(); })) << caller.name;
    }
    ~PageWaiters() { pages_.come(); }
    PageWaiters(const PageWaiters&) = delete;
    PageWaiters& operator=(const PageWaiters&) = delete;
    static constexpr size_t kPages = 4;

    // They still wait, and return @error once the pages are there.
    void expect_wait(int error) {
        for (const Caller& caller : callers_) EXPECT_FALSE(caller.done()) << caller.name;
        pages_.come();
        for (Caller& caller : callers_) EXPECT_EQ(caller.result(), error) << caller.name;
    }

   private:
    template <class Argument>
    void call(const std::string& name, unsigned long request, Argument argument) {
        callers_.emplace_back(name,
                              [this, request, argument]() mutable { return ioctl(node_.fd, request, &argument); });
    }

    const Node& node_;
    MissingPages& pages_;
    const Queue queue_;
    const std::vector<sidra_cmd> nops_ = {nop()};
    std::list<Caller> callers_;
};

}  // namespace sidra::test

#endif
