// SPDX-License-Identifier: MIT
#include <gtest/gtest.h>

#include <fstream>
#include <iterator>

#include "engine_test_util.h"
#if defined(__aarch64__)
#include "neon.h"
#endif

namespace sidra::engine::test {
namespace {

TEST(Find, AutoAndScalarAreAlwaysThere) {
    ASSERT_NE(nullptr, find(SIDRA_CHIP_ENGINE_AUTO));
    ASSERT_NE(nullptr, find(SIDRA_CHIP_ENGINE_SCALAR));
    EXPECT_STREQ("scalar", find(SIDRA_CHIP_ENGINE_SCALAR)->can.name);
}

TEST(Find, GivesWhatWasAskedForOrNothing) {
    for (const auto& [id, name] : {std::pair{SIDRA_CHIP_ENGINE_SCALAR, "scalar"},
                                   {SIDRA_CHIP_ENGINE_AVX2, "avx2"},
                                   {SIDRA_CHIP_ENGINE_AVX_VNNI, "avx-vnni"},
                                   {SIDRA_CHIP_ENGINE_AVX512, "avx512"},
                                   {SIDRA_CHIP_ENGINE_AMX, "amx"},
                                   {SIDRA_CHIP_ENGINE_NEON, "neon"}}) {
        const Kernels* kernels = find(id);
        if (kernels == nullptr) continue;
        EXPECT_EQ(id, kernels->can.id);
        EXPECT_STREQ(name, kernels->can.name);
        EXPECT_EQ(kernels, find(id));
    }
    EXPECT_EQ(nullptr, find(static_cast<sidra_chip_engine>(7)));
}

TEST(Find, AutoPrefersTheWidest) {
    const Kernels* best = find(SIDRA_CHIP_ENGINE_SCALAR);
    for (const Kernels* kernels : all_kernels()) best = kernels;
    EXPECT_EQ(best, find(SIDRA_CHIP_ENGINE_AUTO));
}

TEST(Find, SimdEnginesFollowTheCpu) {
#if defined(__x86_64__)
    EXPECT_EQ(__builtin_cpu_supports("avx2") != 0, find(SIDRA_CHIP_ENGINE_AVX2) != nullptr);
    EXPECT_EQ(nullptr, find(SIDRA_CHIP_ENGINE_NEON));
    std::ifstream cpuinfo("/proc/cpuinfo");
    const std::string flags{std::istreambuf_iterator<char>(cpuinfo), {}};
    EXPECT_EQ(flags.find(" avx_vnni ") != std::string::npos, find(SIDRA_CHIP_ENGINE_AVX_VNNI) != nullptr);
    if (__builtin_cpu_supports("avx512vnni") == 0) {
        EXPECT_EQ(nullptr, find(SIDRA_CHIP_ENGINE_AVX512));
        EXPECT_EQ(nullptr, find(SIDRA_CHIP_ENGINE_AMX));
    }
#elif defined(__aarch64__)
    EXPECT_NE(nullptr, find(SIDRA_CHIP_ENGINE_NEON));
    EXPECT_EQ(nullptr, find(SIDRA_CHIP_ENGINE_AVX2));
    EXPECT_EQ(nullptr, find(SIDRA_CHIP_ENGINE_AVX_VNNI));
    EXPECT_EQ(nullptr, find(SIDRA_CHIP_ENGINE_AVX512));
    EXPECT_EQ(nullptr, find(SIDRA_CHIP_ENGINE_AMX));
    // The field DP of the register that describes the instructions; Linux lets programs read it.
    uint64_t instructions;
    __asm__("mrs %0, id_aa64isar0_el1" : "=r"(instructions));
    EXPECT_EQ((instructions >> 44 & 0xf) != 0, find(SIDRA_CHIP_ENGINE_NEON)->mvm == neon_dot_mvm);
#endif
}

}  // namespace
}  // namespace sidra::engine::test
