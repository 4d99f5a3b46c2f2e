// SPDX-License-Identifier: MIT
// What tests of several users of one card need.
#ifndef SIDRA_TESTS_USERS_H
#define SIDRA_TESTS_USERS_H

#include "node.h"

namespace sidra::test {

// A limit of /sys/class/sidra/sidra0/user_limits while it lives.
class Limit {
   public:
    Limit(const char* name, uint64_t most) : path_(std::string("/sys/class/sidra/sidra0/user_limits/") + name) {
        std::ifstream(path_) >> old_;
        good = write_text(path_, std::to_string(most));
    }
    ~Limit() { write_text(path_, old_); }
    Limit(const Limit&) = delete;
    Limit& operator=(const Limit&) = delete;
    bool good;

   private:
    const std::string path_;
    std::string old_;
};

// Weights of one crossbar that are programmed.
struct Programmed {
    explicit Programmed(const Node& its_node) : node(its_node), context(node), buffer(context, 4096) {
        sidra_ioctl_weights_create create{};
        create.context = context.handle;
        create.encoding = SIDRA_ENCODING_OFFSET;
        create.rows = create.cols = 16;
        create.rights = SIDRA_WEIGHTS_RIGHTS;
        EXPECT_EQ(node.call(SIDRA_IOCTL_WEIGHTS_CREATE, create), 0);
        index = create.index;
        Queue queue(context, SIDRA_QUEUE_USER);
        sidra_cmd cmd = packet(SIDRA_CMD_PROGRAM);
        cmd.weights.weights = static_cast<uint16_t>(index);
        cmd.weights.rows = 16;
        cmd.weights.cols = cmd.weights.stride = 16;
        cmd.weights.addr = buffer.va;
        EXPECT_EQ(queue.wait(queue.push(cmd)), 0);
    }
    int publish(const char* name, uint32_t mode, uint64_t data_size = 0) const {
        const std::vector<uint8_t> data(data_size);
        sidra_ioctl_weights_publish a{};
        a.context = context.handle;
        a.index = index;
        a.name = reinterpret_cast<uintptr_t>(name);
        a.mode = mode;
        a.data = reinterpret_cast<uintptr_t>(data.data());
        a.data_size = data_size;
        return node.call(SIDRA_IOCTL_WEIGHTS_PUBLISH, a);
    }
    const Node& node;
    Context context;
    Buffer buffer;
    uint32_t index = 0;
};

}  // namespace sidra::test

#endif
