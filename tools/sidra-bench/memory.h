// SPDX-License-Identifier: MIT
// Memory for the peers: page-aligned, touched, in huge pages where the kernel gives them, so that no peer suffers from
// its memory.
#ifndef SIDRA_BENCH_MEMORY_H
#define SIDRA_BENCH_MEMORY_H

#include <sys/mman.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <random>
#include <span>
#include <utility>

#include "error.h"

namespace sidra::bench {

class Memory {
   public:
    explicit Memory(size_t size) : mapped_(round_up(size) + kHuge) {
        base_ = mmap(nullptr, mapped_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        if (base_ == MAP_FAILED) throw Error("out of memory");
        data_ = reinterpret_cast<std::byte*>(round_up(reinterpret_cast<uintptr_t>(base_)));
        madvise(data_, round_up(size), MADV_HUGEPAGE);
        std::memset(data_, 1, size);
    }
    ~Memory() {
        if (base_ != nullptr) munmap(base_, mapped_);
    }
    Memory(Memory&& other) noexcept
        : mapped_(other.mapped_), base_(std::exchange(other.base_, nullptr)), data_(other.data_) {}
    Memory& operator=(Memory&&) = delete;

    void* data() const { return data_; }
    template <typename T>
    T* as() const {
        return reinterpret_cast<T*>(data_);
    }

   private:
    static constexpr size_t kHuge = size_t{2} << 20;
    static size_t round_up(size_t n) { return (n + kHuge - 1) / kHuge * kHuge; }

    size_t mapped_;
    void* base_;
    std::byte* data_;
};

// Uniform integers in [low, high], the same in every run.
template <typename T>
void fill_random(std::span<T> values, int low, int high, uint32_t seed) {
    std::minstd_rand generator(seed);
    const auto range = static_cast<uint32_t>(high - low + 1);
    std::generate(values.begin(), values.end(),
                  [&] { return static_cast<T>(low + static_cast<int>((generator() >> 8) % range)); });
}

}  // namespace sidra::bench

#endif
