// SPDX-License-Identifier: MIT
// Children of fork(): they can always destroy the parent's handles, whatever the parent's threads were doing.
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <thread>

#include "fake_fixture.h"
#include "patience.h"

namespace sidra::test {
namespace {

using Forked = FakeTest;

// Each thread holds a lock of the context most of the time, which the child may inherit.
TEST_F(Forked, LocksOfOtherThreadsHangNobody) {
    constexpr int kChildren = 50;
    void* address = nullptr;
    sidra_buffer* allocation = nullptr;
    sidra_program* program = nullptr;
    ASSERT_OK(sidra_buffer_map(buffer, &address));
    ASSERT_OK(sidra_malloc_async(stream, 4096, &allocation));
    ASSERT_OK(sidra_program_assemble(context, "pass:\nv0 = load o0\nstore o1, v0", &program));
    std::atomic<bool> end{false};
    std::thread finder([&] {
        for (sidra_ref ref{}; !end;) EXPECT_OK(sidra_buffer_find(context, address, &ref));
    });
    std::thread counter([&] {
        for (auto stats = SIDRA_INIT(sidra_pool_stats); !end;) EXPECT_OK(sidra_pool_get_stats(context, &stats));
    });
    for (int i = 0; i < kChildren && !HasFailure(); ++i) {
        const pid_t child = fork();
        EXPECT_GE(child, 0);
        if (child == 0) {
            alarm(60);  // only a hang lasts that long
            const bool destroyed =
                sidra_buffer_destroy(buffer) == SIDRA_OK && sidra_buffer_destroy(allocation) == SIDRA_OK &&
                sidra_program_destroy(program) == SIDRA_OK && sidra_stream_destroy(stream) == SIDRA_OK &&
                sidra_context_destroy(context) == SIDRA_OK && sidra_device_close(device) == SIDRA_OK;
            _exit(destroyed && sidra_buffer_destroy(buffer) == SIDRA_ERROR_INVALID_HANDLE ? 0 : 1);
        }
        int status = 0;
        EXPECT_EQ(child, waitpid(child, &status, 0));
        EXPECT_TRUE(WIFEXITED(status)) << "the child died of signal " << WTERMSIG(status);
        EXPECT_EQ(0, WEXITSTATUS(status));
    }
    end = true;
    finder.join();
    counter.join();
    EXPECT_OK(sidra_program_destroy(program));
    EXPECT_OK(sidra_free_async(stream, allocation));
}

}  // namespace
}  // namespace sidra::test
