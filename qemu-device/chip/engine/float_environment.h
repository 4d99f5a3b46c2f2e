// SPDX-License-Identifier: MIT
// The floating-point environment in which the chip computes: the default one, whatever the thread's is that runs the
// chip. It belongs to the application, which may round in another way, flush subnormals to zero, or trap.
#ifndef SIDRA_CHIP_ENGINE_FLOAT_ENVIRONMENT_H
#define SIDRA_CHIP_ENGINE_FLOAT_ENVIRONMENT_H

#include <cstdint>
#if defined(__x86_64__)
#include <xmmintrin.h>
#elif !defined(__aarch64__)
#include <cfenv>
#endif

namespace sidra::engine {

#if defined(__x86_64__) || defined(__aarch64__)

// Sets the default environment while it exists. Threads that are created meanwhile inherit it. It is in the hot path of
// a packet, so it reads the control register, and writes it only if that differs.
class FloatEnvironment {
   public:
    FloatEnvironment() : before_(read()) {
        if (differs()) write(kDefault);
    }
    ~FloatEnvironment() {
        if (differs()) write(before_);
    }
    FloatEnvironment(const FloatEnvironment&) = delete;
    FloatEnvironment& operator=(const FloatEnvironment&) = delete;

   private:
#if defined(__x86_64__)
    using Register = uint32_t;                                   // MXCSR
    static constexpr Register kDefault = 0x1f80, kFlags = 0x3f;  // what has happened so far
    static Register read() { return _mm_getcsr(); }
    static void write(Register value) { _mm_setcsr(value); }
#else
    using Register = uint64_t;  // FPCR
    static constexpr Register kDefault = 0, kFlags = 0;
    static Register read() {
        Register value;
        asm volatile("mrs %0, fpcr" : "=r"(value));
        return value;
    }
    static void write(Register value) { asm volatile("msr fpcr, %0" : : "r"(value) : "memory"); }
#endif
    bool differs() const { return (before_ & ~kFlags) != kDefault; }

    const Register before_;
};

#else

class FloatEnvironment {
   public:
    FloatEnvironment() {
        std::fegetenv(&before_);
        std::fesetenv(FE_DFL_ENV);
    }
    ~FloatEnvironment() { std::fesetenv(&before_); }
    FloatEnvironment(const FloatEnvironment&) = delete;
    FloatEnvironment& operator=(const FloatEnvironment&) = delete;

   private:
    std::fenv_t before_;
};

#endif

}  // namespace sidra::engine

#endif
