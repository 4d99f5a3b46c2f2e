// SPDX-License-Identifier: MIT
// Selects the requested kernels if the CPU supports them.
#if defined(__aarch64__)
#include <sys/auxv.h>
#endif

#if defined(__x86_64__)
#include <cpuid.h>

#include "amx.h"
#endif
#include "tables.h"

namespace sidra::engine {
namespace {

#if defined(__x86_64__)

bool has_avx_vnni() {
    constexpr uint32_t kLeaf = 7, kSubleaf = 1, kAvxVnni = 1u << 4;
    uint32_t a, b, c, d;
    return __get_cpuid_count(kLeaf, 0, &a, &b, &c, &d) && a >= kSubleaf &&
           __get_cpuid_count(kLeaf, kSubleaf, &a, &b, &c, &d) && (a & kAvxVnni);
}

// The compiler's checks include whether the operating system saves the registers.
bool has_avx2() { return __builtin_cpu_supports("avx2") != 0 && __builtin_cpu_supports("fma") != 0; }

bool has_avx512() {
    return __builtin_cpu_supports("avx512f") != 0 && __builtin_cpu_supports("avx512bw") != 0 &&
           __builtin_cpu_supports("avx512vl") != 0 && __builtin_cpu_supports("avx512dq") != 0 &&
           __builtin_cpu_supports("avx512vnni") != 0;
}

const Kernels* simd(sidra_chip_engine id) {
    static const bool avx2 = has_avx2();
    static const bool avx_vnni = avx2 && has_avx_vnni();
    static const bool avx512 = avx2 && has_avx512();
    static const bool amx = avx512 && amx_permitted();
    if (amx && (id == SIDRA_CHIP_ENGINE_AUTO || id == SIDRA_CHIP_ENGINE_AMX)) return &kAmxKernels;
    if (avx512 && (id == SIDRA_CHIP_ENGINE_AUTO || id == SIDRA_CHIP_ENGINE_AVX512)) return &kAvx512Kernels;
    if (avx_vnni && (id == SIDRA_CHIP_ENGINE_AUTO || id == SIDRA_CHIP_ENGINE_AVX_VNNI)) return &kAvxVnniKernels;
    if (avx2 && (id == SIDRA_CHIP_ENGINE_AUTO || id == SIDRA_CHIP_ENGINE_AVX2)) return &kAvx2Kernels;
    return nullptr;
}

#elif defined(__aarch64__)

const Kernels* simd(sidra_chip_engine id) {
    constexpr unsigned long kAsimdDp = 1ul << 20;  // HWCAP_ASIMDDP of the AArch64 Linux ABI
    static const bool dot = (getauxval(AT_HWCAP) & kAsimdDp) != 0;
    if (id == SIDRA_CHIP_ENGINE_AUTO || id == SIDRA_CHIP_ENGINE_NEON) return dot ? &kNeonDotKernels : &kNeonKernels;
    return nullptr;
}

#else

const Kernels* simd(sidra_chip_engine) { return nullptr; }

#endif

}  // namespace

const Kernels* find(sidra_chip_engine id) {
    if (const Kernels* engine = simd(id)) return engine;
    return id == SIDRA_CHIP_ENGINE_AUTO || id == SIDRA_CHIP_ENGINE_SCALAR ? &kScalarKernels : nullptr;
}

}  // namespace sidra::engine
