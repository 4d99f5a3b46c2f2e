// SPDX-License-Identifier: MIT
// Scratch memory of one thread, for the unit that it works at. What is in it means nothing to the next unit, which may
// be another context's: begin() takes all of it back, and AddressSanitizer then sees who still uses it.
#ifndef SIDRA_CHIP_SCRATCH_H
#define SIDRA_CHIP_SCRATCH_H

#include <cstdint>
#include <memory>
#include <new>

#if defined(__SANITIZE_ADDRESS__)
#define SIDRA_SCRATCH_ASAN 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define SIDRA_SCRATCH_ASAN 1
#endif
#endif
#ifdef SIDRA_SCRATCH_ASAN
#include <sanitizer/asan_interface.h>
#endif

namespace sidra::chip {

class Scratch {
   public:
    // Pages of it that no unit has used take no memory of the host.
    static constexpr uint64_t kSize = 8u << 20;

    Scratch() = default;
    ~Scratch() { open(kSize); }
    Scratch(const Scratch&) = delete;
    Scratch& operator=(const Scratch&) = delete;

    void begin() {
        used_ = 0;
        close();
    }

    // Uninitialised, for as long as the unit runs. std::bad_alloc: the host has no memory, or the unit takes more than
    // kSize.
    uint8_t* take(uint64_t bytes) {
        constexpr uint64_t kAlignment = 64;
        if (!memory_) {
            memory_.reset(new (std::align_val_t{kAlignment}) uint8_t[kSize]);
            close();
        }
        if (bytes > kSize - used_) throw std::bad_alloc();
        uint8_t* const taken = memory_.get() + used_;
#ifdef SIDRA_SCRATCH_ASAN
        ASAN_UNPOISON_MEMORY_REGION(taken, bytes);
#endif
        used_ += (bytes + kAlignment - 1) / kAlignment * kAlignment;
        return taken;
    }
    template <typename T>
    T* take_array(uint64_t count) {
        return reinterpret_cast<T*>(take(count * sizeof(T)));
    }

    // What the unit has taken so far.
    uint64_t used() const { return used_; }

   private:
    struct Free {
        void operator()(uint8_t* memory) const { operator delete[](memory, std::align_val_t{64}); }
    };
    void close() {
#ifdef SIDRA_SCRATCH_ASAN
        if (memory_) ASAN_POISON_MEMORY_REGION(memory_.get(), kSize);
#endif
    }
    void open([[maybe_unused]] uint64_t bytes) {
#ifdef SIDRA_SCRATCH_ASAN
        if (memory_) ASAN_UNPOISON_MEMORY_REGION(memory_.get(), bytes);
#endif
    }

    std::unique_ptr<uint8_t[], Free> memory_;
    uint64_t used_ = 0;
};

}  // namespace sidra::chip

#endif
