// SPDX-License-Identifier: MIT
#include <gtest/gtest.h>

#include "engine_test_util.h"
#if defined(__aarch64__)
#include "neon.h"
#endif

namespace sidra::engine::test {
namespace {

TEST(Find, AutoAndScalarAreAlwaysThere) {
    ASSERT_NE(nullptr, find(SIDRA_CHIP_ENGINE_AUTO));
    ASSERT_NE(nullptr, find(SIDRA_CHIP_ENGINE_SCALAR));
    EXPECT_STREQ("scalar", find(SIDRA_CHIP_ENGINE_SCALAR)->name);
}

TEST(Find, GivesWhatWasAskedForOrNothing) {
    for (const auto& [id, name] : {std::pair{SIDRA_CHIP_ENGINE_SCALAR, "scalar"},
                                   {SIDRA_CHIP_ENGINE_AVX2, "avx2"},
                                   {SIDRA_CHIP_ENGINE_AVX512, "avx512"},
                                   {SIDRA_CHIP_ENGINE_AMX, "amx"},
                                   {SIDRA_CHIP_ENGINE_NEON, "neon"}}) {
        const Engine* engine = find(id);
        if (engine == nullptr) continue;
        EXPECT_EQ(id, engine->id);
        EXPECT_STREQ(name, engine->name);
        EXPECT_EQ(engine, find(id));
    }
    EXPECT_EQ(nullptr, find(static_cast<sidra_chip_engine>(7)));
}

TEST(Find, AutoPrefersTheWidest) {
    const Engine* best = find(SIDRA_CHIP_ENGINE_SCALAR);
    for (const Engine* engine : engines()) best = engine;
    EXPECT_EQ(best, find(SIDRA_CHIP_ENGINE_AUTO));
}

TEST(Find, SimdEnginesFollowTheCpu) {
#if defined(__x86_64__)
    EXPECT_EQ(__builtin_cpu_supports("avx2") != 0, find(SIDRA_CHIP_ENGINE_AVX2) != nullptr);
    EXPECT_EQ(nullptr, find(SIDRA_CHIP_ENGINE_NEON));
    if (__builtin_cpu_supports("avx512vnni") == 0) {
        EXPECT_EQ(nullptr, find(SIDRA_CHIP_ENGINE_AVX512));
        EXPECT_EQ(nullptr, find(SIDRA_CHIP_ENGINE_AMX));
    }
#elif defined(__aarch64__)
    EXPECT_NE(nullptr, find(SIDRA_CHIP_ENGINE_NEON));
    EXPECT_EQ(nullptr, find(SIDRA_CHIP_ENGINE_AVX2));
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
