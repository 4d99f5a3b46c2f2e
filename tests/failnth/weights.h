// SPDX-License-Identifier: MIT
#ifndef SIDRA_TESTS_FAILNTH_WEIGHTS_H
#define SIDRA_TESTS_FAILNTH_WEIGHTS_H

#include "sweep.h"

namespace sidra::test {

inline constexpr uint32_t kRows = 16, kCols = 16;
inline constexpr char kName[] = "fail-nth";

inline uint64_t address(const void* pointer) { return reinterpret_cast<uintptr_t>(pointer); }

inline int unlink_weights(const Node& node, uint32_t flags = 0) {
    sidra_ioctl_weights_unlink args{address(kName), flags, SIDRA_OWNER_CALLER};
    return node.call(SIDRA_IOCTL_WEIGHTS_UNLINK, args);
}

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
    ~Weights() {
        if (!kept) unlink();
    }
    int unlink(uint32_t flags = 0) const { return unlink_weights(node, flags); }
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
    bool kept = false;  // the name stays
    const std::string data = std::string(3000, 'd');
};

}  // namespace sidra::test

#endif
