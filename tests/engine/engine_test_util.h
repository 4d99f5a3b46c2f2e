// SPDX-License-Identifier: MIT
// Shared by the engine tests: the engines of this machine, memory that faults when read beyond its end, random data,
// ULP distance.
#ifndef SIDRA_TESTS_ENGINE_TEST_UTIL_H
#define SIDRA_TESTS_ENGINE_TEST_UTIL_H

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>
#include <new>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "avx_vnni_with_avx512.h"
#include "kernels.h"

namespace sidra::engine::test {

// Kernels that this machine runs, the widest last.
inline std::vector<const Kernels*> all_kernels() {
    std::vector<const Kernels*> found;
#if defined(__x86_64__)
    static const Kernels with_avx512 = [] {
        Kernels kernels = *find(SIDRA_CHIP_ENGINE_SCALAR);
        kernels.can.name = "avx-vnni with avx512";
        kernels.mvm = avx_vnni_mvm_with_avx512;
        kernels.matmul = avx_vnni_matmul_with_avx512;
        return kernels;
    }();
    if (find(SIDRA_CHIP_ENGINE_AVX512)) found.push_back(&with_avx512);
#endif
    for (const auto id : {SIDRA_CHIP_ENGINE_SCALAR, SIDRA_CHIP_ENGINE_AVX2, SIDRA_CHIP_ENGINE_AVX_VNNI,
                          SIDRA_CHIP_ENGINE_AVX512, SIDRA_CHIP_ENGINE_AMX, SIDRA_CHIP_ENGINE_NEON}) {
        if (const Kernels* kernels = find(id)) found.push_back(kernels);
    }
    return found;
}

// An array that ends at an inaccessible page, so that any access beyond it faults: sanitizers do not see into assembly.
// Filled with 0xa5.
template <class T>
class Guarded {
   public:
    explicit Guarded(size_t count) : count_(count) {
        const auto page = static_cast<size_t>(sysconf(_SC_PAGESIZE));
        const size_t bytes = count * sizeof(T);
        const size_t whole = (bytes + page - 1) / page * page;
        size_ = whole + page;
        void* base = mmap(nullptr, size_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        if (base == MAP_FAILED || mprotect(static_cast<char*>(base) + whole, page, PROT_NONE) != 0)
            throw std::bad_alloc();
        base_ = base;
        data_ = reinterpret_cast<T*>(static_cast<char*>(base) + whole - bytes);
        std::memset(static_cast<void*>(data_), 0xa5, bytes);
    }
    Guarded(Guarded&& other) noexcept
        : base_(std::exchange(other.base_, nullptr)), size_(other.size_), data_(other.data_), count_(other.count_) {}
    Guarded& operator=(Guarded&&) = delete;
    ~Guarded() {
        if (base_ != nullptr) munmap(base_, size_);
    }

    T* data() { return data_; }
    const T* data() const { return data_; }
    size_t size() const { return count_; }
    T& operator[](size_t i) { return data_[i]; }
    const T& operator[](size_t i) const { return data_[i]; }
    T* begin() { return data_; }
    T* end() { return data_ + count_; }

   private:
    void* base_ = nullptr;
    size_t size_ = 0;
    T* data_ = nullptr;
    size_t count_ = 0;
};

using Random = std::mt19937;

inline uint32_t between(Random& random, uint32_t low, uint32_t high) {
    return std::uniform_int_distribution<uint32_t>(low, high)(random);
}

template <class T>
void fill_bits(Random& random, T* data, size_t count) {
    for (size_t i = 0; i < count * sizeof(T); ++i)
        reinterpret_cast<unsigned char*>(data)[i] = static_cast<unsigned char>(random());
}

// Floats of every kind: ordinary ones, any bit pattern, and the corner cases.
inline float any_float(Random& random) {
    static const float special[] = {
        0.0f,           -0.0f,         1.0f,          -1.0f,          0.5f,           1.5f,           2.5f,
        -0.5f,          -2.5f,         127.5f,        128.5f,         255.5f,         -128.5f,        INFINITY,
        -INFINITY,      NAN,           -NAN,          1e-45f,         -1e-45f,        1.1754942e-38f, 3.4028235e38f,
        -3.4028235e38f, 2147483520.0f, 2147483648.0f, -2147483648.0f, -2147483904.0f, 88.7f,          88.8f,
        -87.4f,         -103.9f,       -104.1f,       0.625f,         9.0f,           -14.4f,         -14.6f,
        16777217.0f};
    switch (random() % 4) {
        case 0:
            return special[random() % std::size(special)];
        case 1:
            return std::bit_cast<float>(static_cast<uint32_t>(random()));
        default:
            return std::normal_distribution<float>(0.0f, 8.0f)(random);
    }
}

// Finite floats of moderate size.
inline float plain_float(Random& random) { return std::normal_distribution<float>(0.0f, 4.0f)(random); }

// A packed plane of zeros.
struct Plane {
    explicit Plane(uint32_t cols)
        : bytes((cols + kPanelCols - 1) / kPanelCols * size_t{kPanelCols} * kTileRows), sums(cols) {
        std::memset(bytes.data(), 0, bytes.size());
    }
    Guarded<int8_t> bytes;  // a multiple of the page size, so 64-byte aligned
    std::vector<int32_t> sums;
};

// The rounding rule of sidra_cmd.h, in double: to nearest even, NaN to 0, and saturated to s32.
inline int64_t rounded(double x) {
    if (std::isnan(x)) return 0;
    const double r = std::nearbyint(x);
    if (r > 2147483647.0) return 2147483647;
    if (r < -2147483648.0) return -2147483648ll;
    return static_cast<int64_t>(r);
}
inline int64_t saturated(int64_t x, int64_t low, int64_t high) { return x < low ? low : x > high ? high : x; }

// Distance of a result from the exact value in units in the last place of the exact value's binary32 format.
inline double ulp_error(float got, long double exact) {
    if (std::isnan(exact)) return std::isnan(got) ? 0.0 : std::numeric_limits<double>::infinity();
    if (std::isnan(got)) return std::numeric_limits<double>::infinity();
    const long double largest = std::numeric_limits<float>::max();
    if (std::isinf(got)) {  // right if the exact value rounds to infinity, up to an ulp
        return (got > 0) == (exact > 0) && std::fabs(exact) >= largest ? 0.0 : std::numeric_limits<double>::infinity();
    }
    if (std::fabs(exact) > largest)
        return std::fabs(got) == std::numeric_limits<float>::max() ? 1.0 : std::numeric_limits<double>::infinity();
    int exponent = -126;
    if (exact != 0) exponent = std::max(-126, std::ilogb(exact));
    return static_cast<double>(std::fabs(static_cast<long double>(got) - exact) / std::ldexp(1.0L, exponent - 23));
}

}  // namespace sidra::engine::test

#endif
