// SPDX-License-Identifier: MIT
#include "bus.h"

#include <sys/mman.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <numeric>
#include <random>

#if defined(__SANITIZE_ADDRESS__)
#define SIDRA_TEST_ASAN 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define SIDRA_TEST_ASAN 1
#endif
#endif
#ifdef SIDRA_TEST_ASAN
#include <sanitizer/asan_interface.h>
#endif

namespace sidra::chip_test {

namespace {

constexpr auto kRelaxed = std::memory_order_relaxed;

[[noreturn]] void die(const char* what) {
    std::fprintf(stderr, "test bus: %s\n", what);
    std::abort();
}

std::string describe(const char* what, uint64_t bus, uint64_t length, bool write) {
    char text[128];
    std::snprintf(text, sizeof text, "%s of bus 0x%llx, %llu bytes, %s", what, static_cast<unsigned long long>(bus),
                  static_cast<unsigned long long>(length), write ? "write" : "read");
    return text;
}

}  // namespace

Bus::Bus(size_t pages, bool scatter, uint64_t seed)
    : pages_(pages),
      scatter_(scatter),
      slot_(pages),
      access_(std::make_unique<std::atomic<Access>[]>(pages)),
      maps_(std::make_unique<std::atomic<int32_t>[]>(pages)) {
    // Scattered: every second page of the storage is a gap that must never be touched.
    memory_bytes_ = pages * kPage * (scatter ? 2 : 1);
    void* memory =
        mmap(nullptr, memory_bytes_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (memory == MAP_FAILED) {
        die("out of memory");
    }
    memory_ = static_cast<uint8_t*>(memory);
    madvise(memory, memory_bytes_, MADV_NOHUGEPAGE);

    std::mt19937_64 random(seed ^ 0x5bd1e995u);
    std::iota(slot_.begin(), slot_.end(), 0u);
    if (scatter) {
        std::shuffle(slot_.begin(), slot_.end(), random);
    }
    page_at_.resize(pages);
    for (size_t page = 0; page < pages; ++page) {
        page_at_[slot_[page]] = static_cast<uint32_t>(page);
        access_[page].store(Access::kNone, kRelaxed);
        maps_[page].store(0, kRelaxed);
    }
    singles_.resize(pages / 2);
    std::iota(singles_.begin(), singles_.end(), static_cast<uint32_t>(pages - pages / 2));
    std::shuffle(singles_.begin(), singles_.end(), random);
#ifdef SIDRA_TEST_ASAN
    if (scatter_) {
        for (size_t slot = 0; slot < pages; ++slot) {
            ASAN_POISON_MEMORY_REGION(memory_ + (2 * slot + 1) * kPage, kPage);
        }
    }
#endif
}

Bus::~Bus() {
#ifdef SIDRA_TEST_ASAN
    ASAN_UNPOISON_MEMORY_REGION(memory_, memory_bytes_);
#endif
    munmap(memory_, memory_bytes_);
}

uint8_t* Bus::page_storage(size_t page) const { return memory_ + size_t{slot_[page]} * kPage * (scatter_ ? 2 : 1); }

bool Bus::page_of(uint64_t bus, size_t* page) const {
    if (bus < kBase || bus - kBase >= pages_ * kPage) {
        return false;
    }
    *page = static_cast<size_t>((bus - kBase) / kPage);
    return true;
}

uint64_t Bus::alloc(uint64_t bytes, uint64_t align) {
    const uint64_t align_pages = std::max<uint64_t>(align / kPage, 1);
    const uint64_t count = (bytes + kPage - 1) / kPage;
    const uint64_t first = (next_ + align_pages - 1) / align_pages * align_pages;
    if (first + count > pages_ - pages_ / 2) {
        die("contiguous pages used up");
    }
    next_ = first + count + 1;  // one page is never granted, so that overruns are violations
    const uint64_t bus = kBase + first * kPage;
    set_access(bus, count * kPage, Access::kOpen);
    return bus;
}

uint64_t Bus::alloc_page() {
    if (singles_.empty()) {
        die("single pages used up");
    }
    const uint64_t bus = kBase + uint64_t{singles_.back()} * kPage;
    singles_.pop_back();
    set_access(bus, kPage, Access::kOpen);
    return bus;
}

void Bus::set_access(uint64_t bus, uint64_t bytes, Access access) {
    for (uint64_t at = bus & ~(kPage - 1); at < bus + bytes; at += kPage) {
        size_t page = 0;
        if (!page_of(at, &page)) {
            die("set_access outside");
        }
        access_[page].store(access, kRelaxed);
    }
}

void Bus::revoke(uint64_t bus, uint64_t bytes) {
    set_access(bus, bytes, Access::kRevoked);
    for (uint64_t at = bus & ~(kPage - 1); at < bus + bytes; at += kPage) {
        size_t page = 0;
        page_of(at, &page);
        if (maps_[page].load(kRelaxed) != 0) {
            violation(describe("mapping still held at revocation", at, kPage, false));
        }
        mprotect(page_storage(page), kPage, PROT_NONE);
    }
}

uint8_t* Bus::storage(uint64_t bus) const {
    size_t page = 0;
    if (!page_of(bus, &page)) {
        die("storage outside");
    }
    return page_storage(page) + bus % kPage;
}

void Bus::write(uint64_t bus, const void* data, uint64_t bytes) {
    const auto* from = static_cast<const uint8_t*>(data);
    while (bytes > 0) {
        const uint64_t n = std::min(bytes, kPage - bus % kPage);
        std::memcpy(storage(bus), from, n);
        bus += n;
        from += n;
        bytes -= n;
    }
}

void Bus::read(uint64_t bus, void* data, uint64_t bytes) const {
    auto* to = static_cast<uint8_t*>(data);
    while (bytes > 0) {
        const uint64_t n = std::min(bytes, kPage - bus % kPage);
        std::memcpy(to, storage(bus), n);
        bus += n;
        to += n;
        bytes -= n;
    }
}

uint64_t Bus::load64(uint64_t bus) const {
    return std::atomic_ref<uint64_t>(*reinterpret_cast<uint64_t*>(storage(bus))).load(std::memory_order_acquire);
}

void Bus::store64(uint64_t bus, uint64_t value) {
    std::atomic_ref<uint64_t>(*reinterpret_cast<uint64_t*>(storage(bus))).store(value, std::memory_order_release);
}

uint32_t Bus::load32(uint64_t bus) const {
    return std::atomic_ref<uint32_t>(*reinterpret_cast<uint32_t*>(storage(bus))).load(std::memory_order_acquire);
}

bool Bus::allowed(uint64_t bus, bool write, const char* what) {
    size_t page = 0;
    if (!page_of(bus, &page)) {
        if (!outside_refused_.load(kRelaxed)) {
            violation(describe(what, bus, 0, write) + ": outside of all memory");
        }
        return false;
    }
    switch (access_[page].load(kRelaxed)) {
        case Access::kOpen:
            return true;
        case Access::kReadOnly:
            return !write;
        case Access::kRefused:
            return false;
        case Access::kNone:
            violation(describe(what, bus, 0, write) + ": never given to the device");
            return false;
        case Access::kRevoked:
            violation(describe(what, bus, 0, write) + ": taken back from the device");
            return false;
    }
    return false;
}

void* Bus::map(uint64_t bus, uint64_t* length, bool write) {
    calls_.fetch_add(1, kRelaxed);
    if (*length == 0) {
        violation(describe("map of nothing", bus, 0, write));
        return nullptr;
    }
    if (bus + *length - 1 < bus) {
        violation(describe("map that wraps", bus, *length, write));
        return nullptr;
    }
    if (!allowed(bus, write, "map")) {
        return nullptr;
    }
    size_t first = 0;
    page_of(bus, &first);
    uint64_t n = std::min(*length, kPage - bus % kPage);
    size_t pages = 1;
    if (!scatter_) {
        while (n < *length && first + pages < pages_) {
            const Access access = access_[first + pages].load(kRelaxed);
            if (access != Access::kOpen && (write || access != Access::kReadOnly)) {
                break;
            }
            n = std::min(*length, n + kPage);
            ++pages;
        }
    }
    if (bus - short_page_.load(kRelaxed) < kPage) {
        n = std::min(n, short_bytes_.load(kRelaxed));
        pages = 1;
    }
    *length = n;
    for (size_t i = 0; i < pages; ++i) {
        maps_[first + i].fetch_add(1, kRelaxed);
    }
    live_maps_.fetch_add(1, kRelaxed);
    return page_storage(first) + bus % kPage;
}

void Bus::unmap(void* pointer, uint64_t length, bool write) {
    calls_.fetch_add(1, kRelaxed);
    const auto offset = static_cast<uint64_t>(static_cast<uint8_t*>(pointer) - memory_);
    if (offset >= memory_bytes_ || length == 0 || (scatter_ && offset / kPage % 2 != 0)) {
        violation(describe("unmap of a pointer that is not of a map", offset, length, write));
        return;
    }
    const size_t slot = offset / kPage / (scatter_ ? 2 : 1);
    const size_t pages = (offset % kPage + length + kPage - 1) / kPage;
    if (slot + pages > pages_ || (scatter_ && pages > 1)) {
        violation(describe("unmap longer than the map", offset, length, write));
        return;
    }
    for (size_t i = 0; i < pages; ++i) {
        if (maps_[page_at_[slot + i]].fetch_sub(1, kRelaxed) <= 0) {
            violation(describe("unmap without map", kBase + page_at_[slot + i] * kPage, length, write));
        }
    }
    live_maps_.fetch_sub(1, kRelaxed);
}

uint64_t* Bus::word(uint64_t bus, bool write, const char* what) {
    calls_.fetch_add(1, kRelaxed);
    if (bus % 8 != 0) {
        violation(describe(what, bus, 8, write) + ": misaligned");
        return nullptr;
    }
    return allowed(bus, write, what) ? reinterpret_cast<uint64_t*>(storage(bus)) : nullptr;
}

bool Bus::load_acquire(uint64_t bus, uint64_t* value) {
    uint64_t* at = word(bus, false, "load64");
    if (at == nullptr) {
        return false;
    }
    *value = std::atomic_ref<uint64_t>(*at).load(std::memory_order_acquire);
    return true;
}

bool Bus::max_release(uint64_t bus, uint64_t value) {
    uint64_t* at = word(bus, true, "max64");
    if (at == nullptr) {
        return false;
    }
    std::atomic_ref<uint64_t> word(*at);
    uint64_t old = word.load(kRelaxed);
    while (old < value && !word.compare_exchange_weak(old, value, std::memory_order_release, kRelaxed)) {
    }
    return true;
}

void Bus::violation(const std::string& text) {
    const std::lock_guard lock(violations_mutex_);
    if (violations_.size() < 16) {
        violations_.push_back(text);
    }
}

std::vector<std::string> Bus::violations() const {
    const std::lock_guard lock(violations_mutex_);
    return violations_;
}

size_t Bus::touched_gaps() const {
    if (!scatter_) {
        return 0;
    }
    // Under qemu-user, mincore() refuses ranges with revoked pages.
    const auto revoked = [&](size_t i) {
        return i % 2 == 0 && access_[page_at_[i / 2]].load(kRelaxed) == Access::kRevoked;
    };
    const size_t count = memory_bytes_ / kPage;
    std::vector<unsigned char> resident(count);
    for (size_t first = 0, end = 0; first < count; first = end + 1) {
        for (end = first; end < count && !revoked(end);) {
            ++end;
        }
        if (mincore(memory_ + first * kPage, (end - first) * kPage, &resident[first]) != 0) {
            std::perror("test bus: mincore");
            std::abort();
        }
    }
    size_t touched = 0;
    for (size_t i = 1; i < count; i += 2) {
        touched += resident[i] & 1u;
    }
    return touched;
}

}  // namespace sidra::chip_test
