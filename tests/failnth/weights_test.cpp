// SPDX-License-Identifier: MIT
// Weights: created, programmed, named, opened, shared, looked at.
#include "sweep.h"

namespace sidra::test {
namespace {

constexpr uint32_t kRows = 16, kCols = 16;
constexpr char kName[] = "fail-nth";

uint64_t address(const void* pointer) { return reinterpret_cast<uintptr_t>(pointer); }

// Weights that have been programmed, of which a name can be made.
struct Weights : Bench {
    Weights() {
        sidra_ioctl_weights_create create{context.handle, SIDRA_ENCODING_OFFSET, kRows, kCols, SIDRA_WEIGHTS_RIGHTS};
        EXPECT_EQ(node.call(SIDRA_IOCTL_WEIGHTS_CREATE, create), 0);
        index = create.index;
        sidra_cmd cmd = packet(SIDRA_CMD_PROGRAM);
        cmd.weights.weights = static_cast<uint16_t>(index);
        cmd.weights.rows = kRows;
        cmd.weights.cols = cmd.weights.stride = kCols;
        cmd.weights.addr = buffer.va;
        EXPECT_EQ(user.wait(user.push(cmd)), 0);
    }
    ~Weights() { unlink(); }
    int unlink(uint32_t flags = 0) const {
        sidra_ioctl_weights_unlink args{address(kName), flags, 0};
        return node.call(SIDRA_IOCTL_WEIGHTS_UNLINK, args);
    }
    int publish() const {
        sidra_ioctl_weights_publish args{};
        args.context = context.handle;
        args.index = index;
        args.name = address(kName);
        args.data = address(data.data());
        args.data_size = data.size();
        args.mode = 0600;
        return node.call(SIDRA_IOCTL_WEIGHTS_PUBLISH, args);
    }
    int share(int* fd) const {
        sidra_ioctl_weights_share args{context.handle, index, SIDRA_WEIGHTS_COMPUTE, -1, address(data.data()),
                                       data.size(),    0};
        const int error = node.call(SIDRA_IOCTL_WEIGHTS_SHARE, args);
        *fd = args.fd;
        return error;
    }
    int destroy(uint32_t which) const {
        sidra_ioctl_weights args{context.handle, which, 0, 0};
        return node.call(SIDRA_IOCTL_WEIGHTS_DESTROY, args);
    }
    uint32_t index = 0;
    const std::string data = std::string(3000, 'd');
};

TEST_F(FailNth, WeightsCreate) {
    sweep([](Attempt& attempt) {
        Bench bench;
        attempt([&] {
            sidra_ioctl_weights_create create{bench.context.handle, SIDRA_ENCODING_OFFSET, 600, 300,
                                              SIDRA_WEIGHTS_RIGHTS};
            return bench.node.call(SIDRA_IOCTL_WEIGHTS_CREATE, create);
        });
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
            sidra_ioctl_weights_query query{weights.context.handle, weights.index, address(crossbars), 4, 0, 0, 0};
            return weights.node.call(SIDRA_IOCTL_WEIGHTS_QUERY, query);
        });
        expect_works(weights);
    });
}

TEST_F(FailNth, WeightsList) {
    sweep([](Attempt& attempt) {
        Weights weights;
        ASSERT_EQ(weights.publish(), 0);
        sidra_nvm_entry entry{};
        attempt([&] {
            sidra_ioctl_weights_list list{address(&entry), 0, 0};
            return weights.node.call(SIDRA_IOCTL_WEIGHTS_LIST, list);
        });
        EXPECT_STREQ(entry.name, kName);
        expect_works(weights);
    });
}

TEST_F(FailNth, WeightsReport) {
    sweep([](Attempt& attempt) {
        Weights weights;
        sidra_hw_xbar_report report{};
        attempt([&] {
            sidra_ioctl_weights_report args{weights.context.handle, weights.index, 0, 0, address(&report)};
            return weights.node.call(SIDRA_IOCTL_WEIGHTS_REPORT, args);
        });
        EXPECT_NE(report.programs, 0u);
        expect_works(weights);
    });
}

}  // namespace
}  // namespace sidra::test
