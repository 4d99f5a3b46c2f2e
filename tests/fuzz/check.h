// SPDX-License-Identifier: MIT
// How a fuzz target says what is wrong: a sentence, and then a signal that libFuzzer keeps the input for.
#ifndef SIDRA_TESTS_FUZZ_CHECK_H
#define SIDRA_TESTS_FUZZ_CHECK_H

#include <cstdarg>
#include <cstdio>
#include <cstdlib>

namespace sidra::fuzz {

[[noreturn]] __attribute__((format(printf, 1, 2))) inline void fail(const char* format, ...) {
    va_list arguments;
    va_start(arguments, format);
    std::fputs("fuzz: ", stderr);
    std::vfprintf(stderr, format, arguments);
    std::fputs("\n", stderr);
    va_end(arguments);
    std::abort();
}

}  // namespace sidra::fuzz

#endif
