// SPDX-License-Identifier: MIT
// Launches of a graph are noted in any order, and the graph is in use until the last one of them is done.
#include "uses.h"

#include "fake_fixture.h"
#include "stream.h"

namespace sidra::test {
namespace {

class UsesTest : public FakeTest {
   protected:
    void SetUp() override {
        FakeTest::SetUp();
        fake->set_automatic(false);
    }
    Point queue_one() {
        sidra_stream* object = stream;
        Point point;
        EXPECT_OK(sidra_nop_async(stream));
        EXPECT_OK(check("sidra_test", "stream", object));
        EXPECT_OK(current_point("sidra_test", object, &point));
        return point;
    }
};

TEST_F(UsesTest, TheLastOneIsNotedFirst) {
    Uses launches;
    launches.begin();
    launches.begin();
    const Point one = queue_one(), two = queue_one();
    launches.end(&two);
    fake->retire(0, 2);
    EXPECT_TRUE(launches.busy()) << "one is being queued";
    fake->retire(0, 0);
    launches.end(&one);
    fake->retire(0, 1);
    EXPECT_TRUE(launches.busy());
    fake->retire(0, 2);
    EXPECT_FALSE(launches.busy());
}

TEST_F(UsesTest, OneOfAnEarlierEpochIsNotedLast) {
    Uses launches;
    launches.begin();
    launches.begin();
    const Point dropped = queue_one();
    EXPECT_OK(sidra_stream_reset(stream));
    const Point point = queue_one();
    launches.end(&point);
    launches.end(&dropped);
    EXPECT_TRUE(launches.busy());
    fake->retire(0, point.value);
    EXPECT_FALSE(launches.busy());
}

TEST_F(UsesTest, OneThatWasNotQueued) {
    Uses launches;
    launches.begin();
    EXPECT_TRUE(launches.busy());
    launches.end(nullptr);
    EXPECT_FALSE(launches.busy());
}

}  // namespace
}  // namespace sidra::test
