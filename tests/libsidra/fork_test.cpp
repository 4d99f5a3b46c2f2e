// SPDX-License-Identifier: MIT
// Children of fork(): they can always destroy the parent's handles, whatever the parent's threads were doing.
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <thread>

#include "fake_fixture.h"
#include "model_fixture.h"
#include "patience.h"

namespace sidra::test {
namespace {

// Runs in a child, in which only a hang lasts longer than a minute.
template <typename Destroy>
void expect_destroyed(Destroy&& destroy) {
    const pid_t child = fork();
    ASSERT_GE(child, 0);
    if (child == 0) {
        alarm(60);
        _exit(destroy() ? 0 : 1);
    }
    int status = 0;
    ASSERT_EQ(child, waitpid(child, &status, 0));
    ASSERT_TRUE(WIFEXITED(status)) << "the child died of signal " << WTERMSIG(status);
    ASSERT_EQ(0, WEXITSTATUS(status));
}

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
    for (int i = 0; i < kChildren && !HasFailure(); ++i)
        expect_destroyed([&] {
            return sidra_buffer_destroy(buffer) == SIDRA_OK && sidra_buffer_destroy(allocation) == SIDRA_OK &&
                   sidra_program_destroy(program) == SIDRA_OK && sidra_stream_destroy(stream) == SIDRA_OK &&
                   sidra_context_destroy(context) == SIDRA_OK && sidra_device_close(device) == SIDRA_OK &&
                   sidra_buffer_destroy(buffer) == SIDRA_ERROR_INVALID_HANDLE;
        });
    end = true;
    finder.join();
    counter.join();
    EXPECT_OK(sidra_program_destroy(program));
    EXPECT_OK(sidra_free_async(stream, allocation));
}

using ForkedModel = ModelTest;

// Most of the time the thread reads the vectors of a calibration, which are damaged.
TEST_F(ForkedModel, ADeploymentHangsNobody) {
    constexpr int kChildren = 20;
    constexpr uint32_t kInputs = 1024, kVectors = 1024;
    TestModel test;
    test.add_variant(64);
    test.add_matrix("m", kInputs, 1, std::vector<int8_t>(kInputs, 1));
    test.calibrations = {Bytes(size_t{kInputs} * kVectors)};
    Bytes bytes = test.file();
    bytes.back() ^= 1;
    const TestFile file(bytes);
    sidra_model* model = load(file);
    sidra_graph* graph = nullptr;
    ASSERT_OK(sidra_graph_begin(stream));
    ASSERT_OK(sidra_nop_async(stream));
    ASSERT_OK(sidra_graph_end(stream, &graph));
    std::atomic<bool> end{false};
    std::thread deploying([&] {
        while (!end) EXPECT_EQ(SIDRA_ERROR_INVALID_ARGUMENT, sidra_model_deploy_async(stream, model));
    });
    for (int i = 0; i < kChildren && !HasFailure(); ++i)
        expect_destroyed([&] {
            return sidra_model_destroy(model) == SIDRA_OK && sidra_graph_destroy(graph) == SIDRA_OK &&
                   sidra_stream_destroy(stream) == SIDRA_OK && sidra_context_destroy(context) == SIDRA_OK &&
                   sidra_device_close(device) == SIDRA_OK;
        });
    end = true;
    deploying.join();
    EXPECT_OK(sidra_graph_destroy(graph));
}

}  // namespace
}  // namespace sidra::test
