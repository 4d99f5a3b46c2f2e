// SPDX-License-Identifier: MIT
#ifndef SIDRA_TESTS_KMOD_PURE_H
#define SIDRA_TESTS_KMOD_PURE_H

#include <gtest/gtest.h>

#define DIV_ROUND_UP(n, d) (((n) + (d)-1) / (d))
extern "C" {
#include "sidra_nvm.h"
#include "sidra_ptab.h"
#include "sidra_range.h"
#include "sidra_report.h"
#include "sidra_ring.h"
#include "sidra_xbar.h"
}

namespace sidra::test {

// Every test frees what it allocated.
class Pure : public testing::Test {
   protected:
    void SetUp() override { shim_fail_after = 0, before_ = shim_alive; }
    void TearDown() override { EXPECT_EQ(shim_alive, before_); }

   private:
    long before_ = 0;
};

}  // namespace sidra::test

#endif
