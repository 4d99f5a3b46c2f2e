// SPDX-License-Identifier: MIT
#include "host_memory.h"

#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <new>
#include <system_error>

#if defined(__SANITIZE_THREAD__)
#define SIDRA_THREAD_SANITIZER 1
#elif defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define SIDRA_THREAD_SANITIZER 1
#endif
#endif
#ifndef SIDRA_THREAD_SANITIZER
#define SIDRA_THREAD_SANITIZER 0
#endif

namespace sidra::embedded {
namespace {

// ThreadSanitizer orders accesses by virtual address: it does not see that a release through one mapping and an acquire
// through the other synchronise. With it, both names are the writable mapping; the test of the write protection checks
// this constant.
constexpr bool kOneMapping = SIDRA_THREAD_SANITIZER;

uint8_t* map_pages(size_t size, int protection, int flags, int fd) {
    void* pages = mmap(nullptr, size, protection, flags, fd, 0);
    if (pages == MAP_FAILED) throw std::bad_alloc();
    return static_cast<uint8_t*>(pages);
}

// Pages come at their first use, when it is too late for an error: what the machine never has is refused here.
size_t machine_memory() {
    static const size_t bytes =
        static_cast<size_t>(sysconf(_SC_PHYS_PAGES)) * static_cast<size_t>(sysconf(_SC_PAGESIZE));
    return bytes;
}

}  // namespace

HostMemory::HostMemory(size_t size, Fork fork) : size_(page_ceil(size)) {
    constexpr size_t kHuge = SIDRA_HUGE_SIZE;
    const bool huge = size_ >= kHuge;
    const size_t slack = huge ? kHuge - SIDRA_PAGE_SIZE : 0;
    if (size_ < size || size_ + slack < size_ || size_ > machine_memory()) throw std::bad_alloc();
    uint8_t* pages = map_pages(size_ + slack, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1);
    data_ = pages;
    if (huge) {  // unmap the unaligned ends
        const size_t before = (kHuge - reinterpret_cast<uintptr_t>(pages) % kHuge) % kHuge;
        data_ = pages + before;
        if (before != 0) munmap(pages, before);
        if (before != slack) munmap(data_ + size_, slack - before);
        madvise(data_, size_, MADV_HUGEPAGE);  // only a hint
    }
    if (fork == Fork::kDrop && madvise(data_, size_, MADV_DONTFORK) != 0) {
        munmap(data_, size_);
        throw std::bad_alloc();
    }
}

HostMemory::~HostMemory() { munmap(data_, size_); }

StatePages::StatePages(uint32_t count) : size_(size_t{count} * SIDRA_PAGE_SIZE) {
    free_.reserve(count);
    for (uint32_t number = count; number-- > 0;) free_.push_back(number);
    const int fd = memfd_create("sidra-state", MFD_CLOEXEC);
    if (fd < 0) throw std::system_error(errno, std::generic_category(), "no file for the state pages of queues");
    try {
        if (ftruncate(fd, static_cast<off_t>(size_)) != 0) throw std::bad_alloc();
        writable_ = map_pages(size_, PROT_READ | PROT_WRITE, MAP_SHARED, fd);
        readonly_ = writable_;
        if (!kOneMapping) {
            try {
                readonly_ = map_pages(size_, PROT_READ, MAP_SHARED, fd);
            } catch (...) {
                munmap(writable_, size_);
                throw;
            }
        }
    } catch (...) {
        close(fd);
        throw;
    }
    close(fd);
    madvise(writable_, size_, MADV_DONTFORK);
    madvise(readonly_, size_, MADV_DONTFORK);
}

StatePages::~StatePages() {
    munmap(writable_, size_);
    if (readonly_ != writable_) munmap(readonly_, size_);
}

std::shared_ptr<StatePages::Page> StatePages::take() {
    uint32_t number;
    {
        std::lock_guard guard(lock_);
        if (free_.empty()) return nullptr;
        number = free_.back();
        free_.pop_back();
    }
    auto page = std::make_shared<Page>(*this, number);
    std::memset(static_cast<void*>(page->state()), 0, SIDRA_PAGE_SIZE);
    return page;
}

void StatePages::put(uint32_t number) {
    std::lock_guard guard(lock_);
    free_.push_back(number);  // never reallocates: capacity is reserved for all
}

}  // namespace sidra::embedded
