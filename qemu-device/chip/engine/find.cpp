// SPDX-License-Identifier: MIT
// Selects the requested engine if the CPU supports it.
#if defined(__aarch64__)
#include <sys/auxv.h>
#endif

#if defined(__x86_64__)
#include "amx.h"
#endif
#include "engines.h"

namespace sidra::engine {
namespace {

#if defined(__x86_64__)

// The compiler's checks include whether the operating system saves the registers.
bool has_avx2() { return __builtin_cpu_supports("avx2") != 0 && __builtin_cpu_supports("fma") != 0; }

bool has_avx512() {
    return __builtin_cpu_supports("avx512f") != 0 && __builtin_cpu_supports("avx512bw") != 0 &&
           __builtin_cpu_supports("avx512vl") != 0 && __builtin_cpu_supports("avx512dq") != 0 &&
           __builtin_cpu_supports("avx512vnni") != 0;
}

const Engine* simd(sidra_chip_engine id) {
    static const bool avx2 = has_avx2();
    static const bool avx512 = avx2 && has_avx512();
    static const bool amx = avx512 && amx_permitted();
    if (amx && (id == SIDRA_CHIP_ENGINE_AUTO || id == SIDRA_CHIP_ENGINE_AMX)) return &kAmxEngine;
    if (avx512 && (id == SIDRA_CHIP_ENGINE_AUTO || id == SIDRA_CHIP_ENGINE_AVX512)) return &kAvx512Engine;
    if (avx2 && (id == SIDRA_CHIP_ENGINE_AUTO || id == SIDRA_CHIP_ENGINE_AVX2)) return &kAvx2Engine;
    return nullptr;
}

#elif defined(__aarch64__)

const Engine* simd(sidra_chip_engine id) {
    constexpr unsigned long kAsimdDp = 1ul << 20;  // HWCAP_ASIMDDP of the AArch64 Linux ABI
    static const bool dot = (getauxval(AT_HWCAP) & kAsimdDp) != 0;
    if (id == SIDRA_CHIP_ENGINE_AUTO || id == SIDRA_CHIP_ENGINE_NEON) return dot ? &kNeonDotEngine : &kNeonEngine;
    return nullptr;
}

#else

const Engine* simd(sidra_chip_engine) { return nullptr; }

#endif

}  // namespace

const Engine* find(sidra_chip_engine id) {
    if (const Engine* engine = simd(id)) return engine;
    return id == SIDRA_CHIP_ENGINE_AUTO || id == SIDRA_CHIP_ENGINE_SCALAR ? &kScalarEngine : nullptr;
}

}  // namespace sidra::engine
