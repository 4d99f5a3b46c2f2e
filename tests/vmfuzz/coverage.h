// SPDX-License-Identifier: MIT
// What a child process executes of the driver (KCOV): Documentation/dev-tools/kcov.rst of the kernel.
#ifndef SIDRA_TESTS_VMFUZZ_COVERAGE_H
#define SIDRA_TESTS_VMFUZZ_COVERAGE_H

#include <fcntl.h>
#include <linux/kcov.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstdint>
#include <span>

namespace sidra::vmfuzz {

class Coverage {
   public:
    Coverage() : fd_(open("/sys/kernel/debug/kcov", O_RDWR | O_CLOEXEC)) {
        if (fd_ < 0 || ioctl(fd_, KCOV_INIT_TRACE, kWords)) return;
        void* at = mmap(nullptr, kWords * sizeof(uint64_t), PROT_READ | PROT_WRITE, MAP_SHARED, fd_, 0);
        if (at != MAP_FAILED) words_ = static_cast<uint64_t*>(at);
    }
    Coverage(const Coverage&) = delete;
    Coverage& operator=(const Coverage&) = delete;
    bool works() const { return words_; }

    // In the child: from here on, until it ends. `mode`: KCOV_TRACE_PC or KCOV_TRACE_CMP.
    bool begin(unsigned mode) const {
        __atomic_store_n(&words_[0], 0, __ATOMIC_RELAXED);
        return ioctl(fd_, KCOV_ENABLE, mode) == 0;
    }

    // In the parent, when the child has ended: the places that it has executed, each as often as it was.
    std::span<const uint64_t> places() const {
        const uint64_t count = __atomic_load_n(&words_[0], __ATOMIC_RELAXED);
        return {words_ + 1, count < kWords - 1 ? count : kWords - 1};
    }

    struct Comparison {
        uint64_t type, first, second, place;
    };
    // With KCOV_TRACE_CMP: what the driver has compared.
    std::span<const Comparison> comparisons() const {
        const uint64_t count = __atomic_load_n(&words_[0], __ATOMIC_RELAXED);
        const uint64_t most = (kWords - 1) / (sizeof(Comparison) / sizeof(uint64_t));
        return {reinterpret_cast<const Comparison*>(words_ + 1), count < most ? count : most};
    }

   private:
    static constexpr uint64_t kWords = 256 * 1024;
    const int fd_;
    uint64_t* words_ = nullptr;
};

}  // namespace sidra::vmfuzz

#endif
