// SPDX-License-Identifier: MIT
// Processes that die at any moment, beside one that must not notice.
#include <sys/wait.h>

#include <csignal>
#include <random>

#include "innocent.h"

namespace sidra::test {
namespace {

class Crash : public NodeTest {};

// Creates, uses and destroys all kinds of objects until it is killed. Whether a call succeeds does not matter, only
// being killed in the middle of it.
[[noreturn]] void work_until_killed(uint32_t seed) {
    std::minstd_rand random(seed);
    for (;;) {
        Node node;
        Context context(node);
        Queue queue(context, SIDRA_QUEUE_USER), kernel(context, SIDRA_QUEUE_KERNEL);
        Buffer buffer(context, 1 << 20), local(context, 65536, SIDRA_BUFFER_LOCAL);
        std::vector<uint8_t> memory(1 << 20);
        sidra_ioctl_buffer_register enroll{reinterpret_cast<uintptr_t>(memory.data()), memory.size(), 0, 0};
        if (node.call(SIDRA_IOCTL_BUFFER_REGISTER, enroll) != 0) continue;
        const uint64_t registered = Buffer::bind(context, enroll.handle);
        sidra_ioctl_weights_create weights{
            context.handle, SIDRA_ENCODING_OFFSET, 256, 256, SIDRA_WEIGHTS_RIGHTS, 0, 0, 0, 0};
        node.call(SIDRA_IOCTL_WEIGHTS_CREATE, weights);
        for (uint32_t i = 0; i < 32 && queue.run_state() <= SIDRA_QUEUE_RUNNING; i++) {
            switch (random() % 6) {
                case 0:
                    queue.push(copy(registered, buffer.va, memory.size()));
                    break;
                case 1:
                    queue.push(copy(local.va, registered, 65536));
                    break;
                case 2:
                    queue.push(sem_wait(buffer.va, 1));  // for ever
                    break;
                case 3: {
                    const std::vector<sidra_cmd> packets(8, copy(buffer.va, buffer.va + 65536, 65536));
                    sidra_ioctl_submit fenced = kernel.request(packets);
                    fenced.flags = SIDRA_SUBMIT_OUT_FENCE;
                    if (node.call(SIDRA_IOCTL_SUBMIT, fenced) == 0) close(fenced.out_fence_fd);
                    break;
                }
                case 4:
                    queue.push(packet(static_cast<sidra_cmd_opcode>(random() % 256)));
                    break;
                default:
                    queue.wait(queue.next, in_ms(1));
            }
        }
    }
}

TEST_F(Crash, KilledAtAnyMoment) {
    Innocent innocent;
    std::minstd_rand random(1);
    const Census census(innocent.node());
    for (int round = 0; round < rounds(40, 500); round++) {
        pid_t children[2];
        for (pid_t& child : children) {
            const auto life_us = static_cast<uint32_t>(1 + random() % 30'000), seed = static_cast<uint32_t>(random());
            child = fork();
            if (child == 0) {
                die_in(life_us);
                work_until_killed(seed);
            }
            ASSERT_GT(child, 0);
        }
        innocent.work();
        for (const pid_t child : children) {
            int status = 0;
            ASSERT_EQ(waitpid(child, &status, 0), child);
            ASSERT_TRUE(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL) << status;
        }
    }
    innocent.work();
    census.expect_unchanged();
}

}  // namespace
}  // namespace sidra::test
