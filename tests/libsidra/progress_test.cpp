// SPDX-License-Identifier: MIT
// Progress of programming: the library reads it from the queue's state page without asking the driver. (With a chip:
// chip_program_test.cpp.)
#include <vector>

#include "fake_fixture.h"

namespace sidra::test {
namespace {

class Progress : public FakeTest {
   protected:
    static constexpr uint32_t kRows = 300, kCols = 400, kTotal = kRows * 4;  // tiles of 128 columns

    void SetUp() override {
        FakeTest::SetUp();
        const std::vector<int8_t> values(size_t{kRows} * kCols);
        ASSERT_OK(sidra_weights_create_s8(context, kRows, kCols, values.data(), kCols, nullptr, nullptr, &weights));
        fake->set_automatic(false);
    }
    void TearDown() override {
        EXPECT_OK(sidra_weights_destroy(weights));
        FakeTest::TearDown();
    }
    uint32_t done() {
        uint32_t done = 99, total = 0;
        EXPECT_OK(sidra_weights_progress(weights, &done, &total));
        known_total = total == kTotal;  // the fake driver reports 1
        return done;
    }
    size_t asked() const { return fake->requests(SIDRA_IOCTL_WEIGHTS_QUERY); }

    sidra_weights* weights = nullptr;
    bool known_total = false;
};

TEST_F(Progress, IsReadWhereItIsKnown) {
    ASSERT_OK(sidra_nop_async(stream));
    ASSERT_OK(sidra_weights_program_async(stream, weights));
    for (int i = 0; i < 10; i++) EXPECT_EQ(done(), 0u);
    EXPECT_TRUE(known_total);
    EXPECT_EQ(asked(), 0u) << "the queue has not come to it";
    fake->retire(0, 1);
    EXPECT_EQ(done(), 0u);
    EXPECT_EQ(asked(), 1u) << "under way: which tiles are done only the driver knows";
    fake->retire(0, 2);
    for (int i = 0; i < 10; i++) EXPECT_EQ(done(), kTotal);
    EXPECT_TRUE(known_total);
    fake->lose_all();
    EXPECT_EQ(done(), kTotal) << "cells stay";
    EXPECT_EQ(asked(), 1u);
    EXPECT_OK(sidra_context_recover(context));
}

TEST_F(Progress, IsAskedForWhereItIsNot) {
    EXPECT_EQ(done(), 0u);
    EXPECT_EQ(asked(), 1u) << "who has the object, too, may have programmed it";
    ASSERT_OK(sidra_weights_program_async(stream, weights));
    fake->fault(0, {.cause = SIDRA_FAULT_RING});
    EXPECT_EQ(done(), 0u);
    EXPECT_EQ(asked(), 2u) << "some of the tiles may be";
    EXPECT_OK(sidra_stream_reset(stream));
    EXPECT_EQ(done(), 0u);
    EXPECT_EQ(asked(), 3u);
}

// The first programming was dropped when it had done all rows, so those say nothing about the second one.
TEST_F(Progress, ValuesStayWhileTheyAreProgrammedAgain) {
    ASSERT_OK(sidra_weights_program_async(stream, weights));
    EXPECT_OK(sidra_stream_reset(stream));
    ASSERT_OK(sidra_weights_program_async(stream, weights));
    fake->programmed_rows = 1;
    const size_t buffers = fake->live_buffers();
    EXPECT_EQ(done(), 1u);
    EXPECT_EQ(buffers, fake->live_buffers()) << "the device may still read the values";
    fake->retire(0, 2);
    EXPECT_EQ(done(), kTotal);
    EXPECT_EQ(buffers - 1, fake->live_buffers());
}

}  // namespace
}  // namespace sidra::test
