// SPDX-License-Identifier: MIT
#include "instruction_set.h"

#include <gtest/gtest.h>

namespace sidra::test {
namespace {

using physics::has;
using physics::InstructionSet;

TEST(InstructionSet, TheBestOfThisCpu) {
    EXPECT_TRUE(has(InstructionSet::kScalar));
#if defined(__x86_64__)
    const bool avx512 = __builtin_cpu_supports("avx512f") != 0;
    const bool avx2 = __builtin_cpu_supports("avx2") != 0 && __builtin_cpu_supports("fma") != 0;
    EXPECT_EQ(has(InstructionSet::kAvx512), avx512);
    EXPECT_EQ(has(InstructionSet::kAvx2), avx2);
    EXPECT_FALSE(has(InstructionSet::kNeon));
    EXPECT_EQ(physics::best_instruction_set(), avx512 ? InstructionSet::kAvx512
                                               : avx2 ? InstructionSet::kAvx2
                                                      : InstructionSet::kScalar);
#elif defined(__aarch64__)
    EXPECT_FALSE(has(InstructionSet::kAvx512));
    EXPECT_FALSE(has(InstructionSet::kAvx2));
    EXPECT_EQ(physics::best_instruction_set(), InstructionSet::kNeon);
#endif
}

}  // namespace
}  // namespace sidra::test
