// SPDX-License-Identifier: MIT
// Scratch memory of one thread for its current unit. Its content is invalid for the next unit, which may belong to
// another context: begin() frees all of it, and AddressSanitizer then detects any use.
#ifndef SIDRA_CHIP_ENGINE_SCRATCH_H
#define SIDRA_CHIP_ENGINE_SCRATCH_H

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

namespace sidra::engine {

class Scratch {
   public:
    // Unused pages take no host memory.
    static constexpr uint64_t kSize = 8u << 20;

    Scratch() = default;
    ~Scratch() { open(0, kSize); }
    Scratch(const Scratch&) = delete;
    Scratch& operator=(const Scratch&) = delete;

    void begin() { rewind(0); }

    // Uninitialised memory, valid until the unit ends. Throws std::bad_alloc if the host is out of memory or the unit
    // exceeds kSize.
    uint8_t* take(uint64_t bytes) {
        constexpr uint64_t kAlignment = 64;
        if (!memory_) {
            memory_.reset(new (std::align_val_t{kAlignment}) uint8_t[kSize]);
            close(0, kSize);
        }
        if (bytes > kSize - used_) throw std::bad_alloc();
        uint8_t* const taken = memory_.get() + used_;
        open(used_, bytes);
        used_ += (bytes + kAlignment - 1) / kAlignment * kAlignment;
        return taken;
    }
    template <typename T>
    T* take_array(uint64_t count) {
        return reinterpret_cast<T*>(take(count * sizeof(T)));
    }

    uint64_t used() const { return used_; }
    // Frees what was taken after used() had this value.
    void rewind(uint64_t used) {
        close(used, used_ - used);
        used_ = used;
    }

   private:
    struct Free {
        void operator()(uint8_t* memory) const { operator delete[](memory, std::align_val_t{64}); }
    };
    // Nothing may touch these bytes.
    void close([[maybe_unused]] uint64_t from, [[maybe_unused]] uint64_t bytes) {
#ifdef SIDRA_SCRATCH_ASAN
        if (memory_) ASAN_POISON_MEMORY_REGION(memory_.get() + from, bytes);
#endif
    }
    void open([[maybe_unused]] uint64_t from, [[maybe_unused]] uint64_t bytes) {
#ifdef SIDRA_SCRATCH_ASAN
        if (memory_) ASAN_UNPOISON_MEMORY_REGION(memory_.get() + from, bytes);
#endif
    }

    std::unique_ptr<uint8_t[], Free> memory_;
    uint64_t used_ = 0;
};

}  // namespace sidra::engine

#endif
