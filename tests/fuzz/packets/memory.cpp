// SPDX-License-Identifier: MIT
#include "memory.h"

#include <sys/mman.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <utility>

#include "check.h"

namespace sidra::fuzz {
namespace {

// Of a slice: a GATHER of bytes is the most that a well-meant packet asks for.
constexpr uint64_t kAskedMost = 1 << 20;

}  // namespace

void Region::Free::operator()(uint8_t* bytes) const { std::free(bytes); }

Region::Region(uint64_t bus, uint64_t pages)
    : bus_(bus),
      size_(pages * kPage),
      bytes_(static_cast<uint8_t*>(std::aligned_alloc(kPage, pages * kPage))),
      marked_(pages) {
    std::memset(bytes_.get(), 0, size_);
}

void Region::mark(uint64_t bus, uint64_t bytes) {
    for (uint64_t page = (bus - bus_) / kPage; page <= (bus - bus_ + bytes - 1) / kPage; page++) marked_[page] = 1;
}

void Region::keep() {
    kept_.assign(bytes_.get(), bytes_.get() + size_);
    std::fill(marked_.begin(), marked_.end(), uint8_t{0});
}

void Region::restore() {
    for (uint64_t page = 0; page < pages(); page++)
        if (std::exchange(marked_[page], uint8_t{0}))
            std::memcpy(bytes_.get() + page * kPage, kept_.data() + page * kPage, kPage);
}

Memory::Memory() {
    void* const wide =
        mmap(nullptr, kWideSize + kIdleSize, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (wide == MAP_FAILED) fail("no address space");
    wide_ = static_cast<uint8_t*>(wide);
}

Memory::~Memory() { munmap(wide_, kWideSize + kIdleSize); }

bool Memory::near_secrets(uint64_t value) {
    constexpr uint64_t kMask = ~uint64_t{0xff'ffff} & SIDRA_PTE_ADDR;
    return (value & kMask) == (kVictim & kMask) || (value & kMask) == (kTable & kMask) ||
           value >> 16 == kVictimUid >> 16;
}

bool Memory::is_idle(const void* pointer) {
    return static_cast<uint64_t>(static_cast<const uint8_t*>(pointer) - wide_) - kWideSize < kIdleSize;
}

void Memory::asked() {
    if (++asked_ > kAskedMost) fail("the chip asks its host %llu times in one slice", (unsigned long long)asked_);
}

void* Memory::map(uint64_t bus, uint64_t* length, bool write) {
    asked();
    if (*length == 0) fail("the chip maps nothing, at bus address 0x%llx", (unsigned long long)bus);
    if (hostile.holds(bus)) {
        if (refuses_ && ++maps_ % 16 == 0) return nullptr;
        if (scattered_) *length = std::min(*length, kPage - bus % kPage);
    }
    if (bus - kWide < kWideSize + kIdleSize && !write) {
        *length = std::min(*length, kIdle + kIdleSize - bus);
        live_++;
        return wide_ + (bus - kWide);
    }
    for (Region* region : {&hostile, &victim, &table}) {
        if (!region->holds(bus) || (write && region == &table)) continue;
        *length = std::min(*length, region->left(bus));
        if (write) region->mark(bus, *length);
        live_++;
        return region->at(bus);
    }
    return nullptr;
}

uint64_t* Memory::word(uint64_t bus, bool write) {
    if (bus % 8) return nullptr;
    uint64_t length = 8;
    void* const pointer = map(bus, &length, write);
    if (pointer) live_--;
    return static_cast<uint64_t*>(pointer);
}

void Memory::end_slice() const {
    if (live_ != 0) fail("%lld mappings outlive their slice", (long long)live_);
}

sidra_chip_host Memory::host() {
    return {
        this,
        [](void* self, uint64_t bus, uint64_t* length, bool write) {
            return static_cast<Memory*>(self)->map(bus, length, write);
        },
        [](void* self, void*, uint64_t, bool) { static_cast<Memory*>(self)->live_--; },
        [](void* self, uint64_t bus, uint64_t* value) {
            const uint64_t* const word = static_cast<Memory*>(self)->word(bus, false);
            if (word) *value = __atomic_load_n(word, __ATOMIC_ACQUIRE);
            return word != nullptr;
        },
        [](void* self, uint64_t bus, uint64_t value) {
            uint64_t* const word = static_cast<Memory*>(self)->word(bus, true);
            if (word) *word = std::max(*word, value);
            return word != nullptr;
        },
        [](void*, unsigned vector) {
            if (vector >= SIDRA_MSIX_VECTORS) fail("the chip raises MSI-X vector %u", vector);
        },
        // A clock that stands still: the firmware has booted, and has nothing to do from then on.
        [](void* self) { return static_cast<Memory*>(self)->clock_ns; },
        [](void*) {},
        [](void*, const char* line) { fail("the chip reports: %s", line); },
    };
}

}  // namespace sidra::fuzz
