// SPDX-License-Identifier: MIT
// Weights: created, programmed, named, opened, shared, looked at.
#include "weights.h"

namespace sidra::test {
namespace {

TEST_F(FailNth, WeightsCreate) {
    sweep([](Attempt& attempt) {
        Bench bench;
        attempt([&] {
            sidra_ioctl_weights_create create{bench.context.handle, SIDRA_ENCODING_OFFSET, 2 * SIDRA_XBAR_ROWS, 16,
                                              SIDRA_WEIGHTS_RIGHTS};
            return bench.node.call(SIDRA_IOCTL_WEIGHTS_CREATE, create);
        });
        expect_works(bench);
    });
}

// On crossbars that the caller names: those that the driver has just chosen and got back.
TEST_F(FailNth, WeightsCreateOnWantedCrossbars) {
    sweep([](Attempt& attempt) {
        Bench bench;
        sidra_ioctl_weights_create create{bench.context.handle, SIDRA_ENCODING_OFFSET, 2 * SIDRA_XBAR_ROWS, 16,
                                          SIDRA_WEIGHTS_RIGHTS};
        sidra_ioctl_weights_create chosen = create;
        ASSERT_EQ(bench.node.call(SIDRA_IOCTL_WEIGHTS_CREATE, chosen), 0);
        std::vector<uint32_t> wanted(chosen.xbars);
        sidra_ioctl_weights_query query{};
        query.context = bench.context.handle;
        query.index = chosen.index;
        query.xbar_ids = address(wanted.data());
        query.xbars = chosen.xbars;
        query.xbar_stride = sizeof wanted[0];
        ASSERT_EQ(bench.node.call(SIDRA_IOCTL_WEIGHTS_QUERY, query), 0);
        sidra_ioctl_weights destroy{bench.context.handle, chosen.index, 0, 0};
        ASSERT_EQ(bench.node.call(SIDRA_IOCTL_WEIGHTS_DESTROY, destroy), 0);
        create.xbars = chosen.xbars;
        create.xbar_ids = address(wanted.data());
        create.xbar_stride = sizeof wanted[0];
        attempt(
            [&] {
                sidra_ioctl_weights_create args = create;
                return bench.node.call(SIDRA_IOCTL_WEIGHTS_CREATE, args);
            },
            {.afterwards = {-EBUSY}});
        expect_works(bench);
    });
}

// Of the crossbars that are free no two are neighbours: they are gathered.
TEST_F(FailNth, WeightsCreateScattered) {
    sweep([](Attempt& attempt) {
        Bench bench;
        const auto create = [&](uint32_t rows, uint32_t* index) {
            sidra_ioctl_weights_create args{bench.context.handle, SIDRA_ENCODING_OFFSET, rows, 1, SIDRA_WEIGHTS_RIGHTS};
            const int error = bench.node.call(SIDRA_IOCTL_WEIGHTS_CREATE, args);
            *index = args.index;
            return error;
        };
        std::vector<uint32_t> all;
        for (uint32_t index; create(1, &index) == 0;) all.push_back(index);
        ASSERT_GE(all.size(), 4u);
        for (size_t i = 0; i < all.size(); i += 2) {
            sidra_ioctl_weights destroy{bench.context.handle, all[i], 0, 0};
            ASSERT_EQ(bench.node.call(SIDRA_IOCTL_WEIGHTS_DESTROY, destroy), 0);
        }
        uint32_t index = 0;
        attempt([&] { return create(2 * SIDRA_XBAR_ROWS, &index); });
        expect_works(bench);
    });
}

TEST_F(FailNth, WeightsPublish) {
    sweep([](Attempt& attempt) {
        Weights weights;
        attempt([&] { return weights.publish(); }, {.afterwards = {-EEXIST}});
        expect_works(weights);
    });
}

TEST_F(FailNth, WeightsOpen) {
    sweep([](Attempt& attempt) {
        Weights weights;
        ASSERT_EQ(weights.publish(), 0);
        std::string data(weights.data.size(), '\0');
        attempt([&] {
            sidra_ioctl_weights_open open{};
            open.context = weights.context.handle;
            open.rights = SIDRA_WEIGHTS_COMPUTE;
            open.name = address(kName);
            open.owner = SIDRA_OWNER_CALLER;
            open.data = address(data.data());
            open.data_size = data.size();
            return weights.node.call(SIDRA_IOCTL_WEIGHTS_OPEN, open);
        });
        EXPECT_EQ(data, weights.data);
        expect_works(weights);
    });
}

TEST_F(FailNth, WeightsUnlink) {
    sweep([](Attempt& attempt) {
        Weights weights;
        ASSERT_EQ(weights.publish(), 0);
        attempt([&] { return weights.unlink(); }, {.afterwards = {-ENOENT}});
        expect_works(weights);
    });
}

TEST_F(FailNth, WeightsEvict) {
    sweep([](Attempt& attempt) {
        Weights weights;
        ASSERT_EQ(weights.publish(), 0);
        ASSERT_EQ(weights.destroy(weights.index), 0);
        attempt([&] { return weights.unlink(SIDRA_UNLINK_EVICT); }, {.afterwards = {-ENOENT}});
        expect_works(weights);
    });
}

TEST_F(FailNth, WeightsDestroy) {
    sweep([](Attempt& attempt) {
        Weights weights;
        attempt([&] { return weights.destroy(weights.index); }, {.afterwards = {-ENOENT}});
        expect_works(weights);
    });
}

TEST_F(FailNth, WeightsShare) {
    sweep([](Attempt& attempt) {
        Weights weights;
        int fd = -1;
        attempt([&] { return weights.share(&fd); });
        close(fd);
        expect_works(weights);
    });
}

TEST_F(FailNth, WeightsImport) {
    sweep([](Attempt& attempt) {
        Weights weights;
        int fd = -1;
        ASSERT_EQ(weights.share(&fd), 0);
        std::string data(weights.data.size(), '\0');
        attempt([&] {
            sidra_ioctl_weights_import import{};
            import.context = weights.context.handle;
            import.fd = fd;
            import.data = address(data.data());
            import.data_size = data.size();
            return weights.node.call(SIDRA_IOCTL_WEIGHTS_IMPORT, import);
        });
        EXPECT_EQ(data, weights.data);
        close(fd);
        expect_works(weights);
    });
}

// The last descriptor goes: the crossbars are free again, whatever is refused meanwhile.
TEST_F(FailNth, WeightsLastDescriptor) {
    sweep([](Attempt& attempt) {
        Weights weights;
        int fd = -1;
        ASSERT_EQ(weights.share(&fd), 0);
        ASSERT_EQ(weights.destroy(weights.index), 0);
        attempt([&] { return close(fd); }, {.never_fails = true});
        expect_works(weights);
    });
}

TEST_F(FailNth, WeightsQuery) {
    sweep([](Attempt& attempt) {
        Weights weights;
        uint32_t crossbars[4] = {};
        attempt([&] {
            sidra_ioctl_weights_query query{
                weights.context.handle, weights.index, address(crossbars), 4, 4, 0, 0, 0, 0};
            return weights.node.call(SIDRA_IOCTL_WEIGHTS_QUERY, query);
        });
        expect_works(weights);
    });
}

TEST_F(FailNth, WeightsList) {
    sweep([](Attempt& attempt) {
        Weights weights;
        ASSERT_EQ(weights.publish(), 0);
        sidra_weights_entry entry{};
        attempt([&] {
            sidra_ioctl_weights_list list{address(&entry), 1, sizeof entry, 0, 0};
            return weights.node.call(SIDRA_IOCTL_WEIGHTS_LIST, list);
        });
        EXPECT_STREQ(entry.name, kName);
        expect_works(weights);
    });
}

TEST_F(FailNth, WeightsReport) {
    sweep([](Attempt& attempt) {
        Weights weights;
        sidra_weights_tile report{};
        attempt([&] {
            sidra_ioctl_weights_report args{weights.context.handle, weights.index, 0, 0,
                                            address(&report),       sizeof report, 0};
            return weights.node.call(SIDRA_IOCTL_WEIGHTS_REPORT, args);
        });
        EXPECT_NE(report.programs, 0u);
        expect_works(weights);
    });
}

}  // namespace
}  // namespace sidra::test
