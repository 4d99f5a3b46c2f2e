// SPDX-License-Identifier: MIT
// Expectations on calls of the C API.
#ifndef SIDRA_TESTS_EXPECT_H
#define SIDRA_TESTS_EXPECT_H

#include <gtest/gtest.h>

#include <string_view>

#include "sidra/sidra.h"

// A failure must have a message that begins with the name of the call and explains it.
#define EXPECT_FAILS(expected, expression)                                     \
    do {                                                                       \
        EXPECT_EQ(expected, (expression)) << sidra_last_error();               \
        const std::string_view text_of_failure = sidra_last_error();           \
        EXPECT_TRUE(text_of_failure.starts_with("sidra_")) << text_of_failure; \
        EXPECT_GT(text_of_failure.size(), 20u) << text_of_failure;             \
    } while (0)
#define EXPECT_OK(expression) EXPECT_EQ(SIDRA_OK, (expression)) << sidra_last_error()
#define ASSERT_OK(expression) ASSERT_EQ(SIDRA_OK, (expression)) << sidra_last_error()

#endif
