// SPDX-License-Identifier: MIT
#include <numeric>
#include <random>
#include <set>

#include "pure.h"

namespace sidra::test {
namespace {

class Xbar : public Pure {
   protected:
    std::vector<u32> take(sidra_xbars& xbars, u32 count) {
        std::vector<u32> list(count);
        if (sidra_xbars_alloc(&xbars, count, list.data()) != 0) list.clear();
        return list;
    }
    using List = std::vector<u32>;
};

TEST_F(Xbar, PrefersTheFullestUnitAndWholeUnits) {
    sidra_xbars xbars;
    ASSERT_EQ(sidra_xbars_init(&xbars, 32, 8), 0);
    EXPECT_EQ(take(xbars, 6), (List{0, 1, 2, 3, 4, 5}));
    EXPECT_EQ(take(xbars, 3), (List{8, 9, 10})) << "not across a border";
    EXPECT_EQ(take(xbars, 2), (List{6, 7})) << "fills the unit that has least room";
    EXPECT_EQ(take(xbars, 10), (List{16, 17, 18, 19, 20, 21, 22, 23, 24, 25})) << "large ones begin with a unit";
    EXPECT_EQ(xbars.free, 11u);
    EXPECT_TRUE(take(xbars, 12).empty());
    EXPECT_TRUE(take(xbars, 0).empty());
    EXPECT_EQ(take(xbars, 11), (List{26, 27, 28, 29, 30, 31, 11, 12, 13, 14, 15})) << "the longest run first";
    EXPECT_EQ(xbars.free, 0u);
    const List some{3, 9, 31};
    sidra_xbars_free(&xbars, some.data(), 3);
    const List clash{3, 9, 10};
    EXPECT_EQ(sidra_xbars_reserve(&xbars, clash.data(), 3), -EBUSY);
    EXPECT_EQ(xbars.free, 3u);
    const List beyond{3, 32};
    EXPECT_EQ(sidra_xbars_reserve(&xbars, beyond.data(), 2), -EBUSY);
    EXPECT_EQ(sidra_xbars_reserve(&xbars, some.data(), 3), 0);
    EXPECT_EQ(xbars.free, 0u);
    sidra_xbars_fini(&xbars);
}

TEST_F(Xbar, NeverGivesOneTwice) {
    sidra_xbars xbars;
    ASSERT_EQ(sidra_xbars_init(&xbars, 100, 16), 0) << "the last unit is not whole";
    std::vector<List> live;
    std::set<u32> taken;
    std::mt19937 random(3);
    for (int step = 0; step < 5'000; step++) {
        if (random() % 2 == 0 && !live.empty()) {
            std::swap(live[random() % live.size()], live.back());
            sidra_xbars_free(&xbars, live.back().data(), static_cast<u32>(live.back().size()));
            for (u32 xbar : live.back()) taken.erase(xbar);
            live.pop_back();
            continue;
        }
        const u32 count = 1 + static_cast<u32>(random() % 40), free = xbars.free;
        const List list = take(xbars, count);
        ASSERT_EQ(list.empty(), count > free);
        for (u32 xbar : list) {
            ASSERT_LT(xbar, 100u);
            ASSERT_TRUE(taken.insert(xbar).second);
        }
        if (!list.empty()) live.push_back(list);
        ASSERT_EQ(xbars.free, 100 - taken.size());
    }
    sidra_xbars_fini(&xbars);
}

TEST_F(Xbar, NoMemory) {
    sidra_xbars xbars;
    shim_fail_after = 1;
    EXPECT_EQ(sidra_xbars_init(&xbars, 8, 4), -ENOMEM);
    shim_fail_after = 0;
    EXPECT_EQ(sidra_xbars_init(&xbars, 0, 4), -EINVAL);
}

}  // namespace
}  // namespace sidra::test
