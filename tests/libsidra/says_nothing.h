// SPDX-License-Identifier: MIT
#ifndef SIDRA_TESTS_SAYS_NOTHING_H
#define SIDRA_TESTS_SAYS_NOTHING_H

#include <string>

#include "expect.h"

namespace sidra::test {

// While it lives, calls of this thread succeed, and so leave its last error alone.
class SaysNothing {
   public:
    SaysNothing() {
        EXPECT_FAILS(SIDRA_ERROR_INVALID_HANDLE, sidra_nop_async(nullptr));
        text_ = sidra_last_error();
    }
    SaysNothing(const SaysNothing&) = delete;
    SaysNothing& operator=(const SaysNothing&) = delete;
    ~SaysNothing() { EXPECT_EQ(text_, sidra_last_error()); }

   private:
    std::string text_;
};

}  // namespace sidra::test

#endif
