// SPDX-License-Identifier: MIT
// The cost of a submit in deterministic counts: allocations, doorbells, requests to the driver. Also behaviour after
// fork.
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>

#include "../chip/failing_new.h"
#include "chip_fixture.h"

namespace sidra::test {
namespace {

class HotPath : public ChipTest {
   protected:
    sidra_telemetry telemetry() {
        sidra_telemetry now{};
        EXPECT_OK(sidra_device_telemetry(device, &now, sizeof now));
        return now;
    }
};

TEST_F(HotPath, ASubmitIsOneDoorbellAndNoAllocation) {
    // Fits into the ring: with a full ring this thread would run the chip, which may allocate.
    constexpr int kRounds = 100, kSubmits = 10;
    const Buffer buffer(context, 1 << 16);
    const int8_t values[] = {1, 2, 3, 4};
    sidra_weights* weights = nullptr;
    sidra_event* event = nullptr;
    sidra_graph* graph = nullptr;
    ASSERT_OK(sidra_weights_create_s8(context, 2, 2, values, 2, nullptr, nullptr, &weights));
    ASSERT_OK(sidra_weights_program_async(stream, weights));
    ASSERT_OK(sidra_event_create(context, SIDRA_EVENT_DEFAULT, &event));
    ASSERT_OK(sidra_graph_begin(stream));
    ASSERT_OK(sidra_nop_async(stream));
    ASSERT_OK(sidra_graph_end(stream, &graph));
    auto mvm = SIDRA_INIT(sidra_mvm);
    mvm.batch = 1;
    mvm.in_type = SIDRA_U8, mvm.out_type = SIDRA_S32;
    mvm.in = buffer.at(0), mvm.out = buffer.at(64);
    const uint32_t two[4] = {1, 1, 1, 2};
    const sidra_array sums = sidra_operand_dense(buffer.at(64), SIDRA_S32, two);
    sidra_program* program = nullptr;
    ASSERT_OK(sidra_program_assemble(context, "pass:\nv0 = load o0\nv1 = add v0, p0\nstore o1, v1", &program));
    const uint32_t size[4] = {1, 1, 2, 8};
    const sidra_vector_operand operands[] = {sidra_operand_dense(buffer.at(8192), SIDRA_F32, size),
                                             sidra_operand_dense(buffer.at(12288), SIDRA_F32, size)};
    auto vector = SIDRA_INIT(sidra_vector);
    vector.program = program;
    std::copy(std::begin(size), std::end(size), vector.size);
    vector.param[0] = sidra_param_f32(1.0f);
    vector.operands = operands, vector.operand_count = 2;
    ASSERT_OK(sidra_vector_async(stream, &vector));    // makes the stream's operand tables
    ASSERT_OK(sidra_relu(stream, two, &sums, &sums));  // makes the programs of functions
    const uint32_t square[4] = {1, 1, 2, 2};
    const sidra_vector_operand factors[] = {sidra_operand_dense(buffer.at(16384), SIDRA_F32, square),
                                            sidra_operand_dense(buffer.at(20480), SIDRA_F32, square),
                                            sidra_operand_dense(buffer.at(24576), SIDRA_F32, square)};
    auto matmul = SIDRA_INIT(sidra_matmul);
    matmul.m = matmul.n = matmul.k = 2;
    matmul.operands = factors, matmul.operand_count = 3;
    ASSERT_OK(sidra_matmul_async(stream, &matmul));
    sidra_program* store_sums = nullptr;
    ASSERT_OK(sidra_program_assemble(context, "pass:\nv0 = load sums\nstore o0, v0", &store_sums));
    auto layer = SIDRA_INIT(sidra_layer);
    layer.program = store_sums;
    layer.windows = sidra_windows_matrix(buffer.at(0), SIDRA_U8, 2, 2);
    layer.operands = factors + 2, layer.operand_count = 1;
    synchronize();

    const sidra_telemetry before = telemetry();
    const uint64_t allocations_before = thread_allocations();
    int failures = 0;
    for (int i = 0; i < kRounds; ++i) {
        failures += sidra_nop_async(stream) != SIDRA_OK;
        failures += sidra_barrier_async(stream) != SIDRA_OK;
        failures += sidra_copy_async(stream, buffer.at(1024), buffer.at(2048), 64) != SIDRA_OK;
        failures += sidra_fill_async(stream, buffer.at(4096), 1, 8, 64) != SIDRA_OK;
        failures += sidra_mvm_async(stream, weights, &mvm) != SIDRA_OK;
        failures += sidra_relu(stream, two, &sums, &sums) != SIDRA_OK;
        failures += sidra_vector_async(stream, &vector) != SIDRA_OK;
        failures += sidra_matmul_async(stream, &matmul) != SIDRA_OK;
        failures += sidra_layer_async(stream, weights, &layer) != SIDRA_OK;
        failures += sidra_graph_launch_async(stream, graph) != SIDRA_OK;
        failures += sidra_event_record(event, stream) != SIDRA_OK;
        static_cast<void>(sidra_event_query(event));
        static_cast<void>(sidra_stream_query(stream));
    }
    const uint64_t allocated = thread_allocations() - allocations_before;
    EXPECT_EQ(0, failures);
    EXPECT_EQ(0u, allocated) << "allocations in " << kRounds * kSubmits << " submits";
    synchronize();
    const sidra_telemetry after = telemetry();
    EXPECT_EQ(uint64_t{kRounds} * kSubmits, after.doorbells - before.doorbells);
    EXPECT_EQ(uint64_t{kRounds} * kSubmits, after.packets - before.packets);
    EXPECT_OK(sidra_program_destroy(store_sums));
    EXPECT_OK(sidra_program_destroy(program));
    EXPECT_OK(sidra_graph_destroy(graph));
    EXPECT_OK(sidra_event_destroy(event));
    EXPECT_OK(sidra_weights_destroy(weights));
}

TEST_F(HotPath, ABatchIsOneDoorbell) {
    synchronize();
    const sidra_telemetry before = telemetry();
    uint64_t allocated = 0;
    for (int round = 0; round < 50; ++round) {
        const uint64_t allocations_before = thread_allocations();
        ASSERT_EQ(SIDRA_OK, sidra_batch_begin(stream));
        for (int i = 0; i < 64; ++i) ASSERT_EQ(SIDRA_OK, sidra_nop_async(stream));
        ASSERT_EQ(SIDRA_OK, sidra_batch_end(stream));
        allocated += thread_allocations() - allocations_before;
        ASSERT_EQ(SIDRA_OK, sidra_stream_synchronize(stream, soon()));  // may go to sleep in the driver
    }
    EXPECT_EQ(0u, allocated);
    const sidra_telemetry after = telemetry();
    EXPECT_EQ(50u, after.doorbells - before.doorbells);
    EXPECT_EQ(50u * 64, after.packets - before.packets);
}

// The child creates threads, which sanitizers do not support: their allocator locks are copied while other threads of
// the parent hold them, and the child then deadlocks.
#if !defined(__SANITIZE_THREAD__) && !defined(__SANITIZE_ADDRESS__)
TEST_F(HotPath, AChildCannotUseItsParentsHandles) {
    const Buffer buffer(context, 4096);
    sidra_event* event = nullptr;
    sidra_weights* weights = nullptr;
    sidra_graph* graph = nullptr;
    sidra_program* program = nullptr;
    const int8_t value = 3;
    ASSERT_OK(sidra_event_create(context, SIDRA_EVENT_DEFAULT, &event));
    ASSERT_OK(sidra_program_assemble(context, "pass:\ns0 = load o0\nstore o1, s0", &program));
    const uint32_t one[4] = {1, 1, 1, 1};
    const sidra_vector_operand operands[] = {sidra_operand_dense(buffer.at(0), SIDRA_F32, one),
                                             sidra_operand_dense(buffer.at(64), SIDRA_F32, one)};
    auto vector = SIDRA_INIT(sidra_vector);
    vector.program = program;
    std::copy(std::begin(one), std::end(one), vector.size);
    vector.operands = operands, vector.operand_count = 2;
    ASSERT_OK(sidra_vector_async(stream, &vector));
    ASSERT_OK(sidra_neg(stream, one, &operands[0], &operands[0]));
    ASSERT_OK(sidra_weights_create_s8(context, 1, 1, &value, 1, nullptr, nullptr, &weights));
    ASSERT_OK(sidra_graph_begin(stream));
    ASSERT_OK(sidra_nop_async(stream));
    ASSERT_OK(sidra_graph_end(stream, &graph));
    ASSERT_OK(sidra_stream_add_callback(
        stream, [](sidra_status, void*) {}, nullptr));
    synchronize();
    const pid_t child = fork();
    ASSERT_GE(child, 0);
    if (child == 0) {
        // No assertions of the framework here: the number of the first thing that is wrong is the exit status.
        int step = 0;
        const auto require = [&](bool good) {
            ++step;
            if (good) return;
            dprintf(2, "step %d: %s\n", step, sidra_last_error());
            _exit(step);
        };
        require(sidra_nop_async(stream) == SIDRA_ERROR_FORKED);
        require(std::strstr(sidra_last_error(), "parent") != nullptr);
        require(sidra_stream_synchronize(stream, 0) == SIDRA_ERROR_FORKED);
        require(sidra_stream_query(stream) == SIDRA_ERROR_FORKED);
        require(sidra_context_status(context) == SIDRA_ERROR_FORKED);
        require(sidra_event_query(event) == SIDRA_ERROR_FORKED);
        require(sidra_weights_program_async(stream, weights) == SIDRA_ERROR_FORKED);
        uint32_t count = 0;
        require(sidra_graph_operations(graph, &count) == SIDRA_ERROR_FORKED);
        void* address = nullptr;
        require(sidra_buffer_map(buffer.get(), &address) == SIDRA_ERROR_FORKED);
        size_t needed = 0;
        require(sidra_program_disassemble(program, nullptr, 0, &needed) == SIDRA_ERROR_FORKED);
        require(sidra_neg(stream, one, &operands[0], &operands[0]) == SIDRA_ERROR_FORKED);
        auto info = SIDRA_INIT(sidra_device_info);
        require(sidra_device_get_info(device, &info) == SIDRA_ERROR_FORKED);
        // The child may open the device again, and destroy the inherited handles.
        auto options = SIDRA_INIT(sidra_device_options);
        options.profile = SIDRA_PROFILE_SMALL;
        sidra_device* own_device = nullptr;
        sidra_context* own_context = nullptr;
        sidra_stream* own_stream = nullptr;
        require(sidra_device_open(0, &options, &own_device) == SIDRA_OK);
        require(sidra_context_create(own_device, &own_context) == SIDRA_OK);
        require(sidra_stream_create(own_context, nullptr, &own_stream) == SIDRA_OK);
        require(sidra_copy_async(own_stream, buffer.at(0), buffer.at(8), 8) == SIDRA_ERROR_FORKED);
        require(sidra_nop_async(own_stream) == SIDRA_OK);
        require(sidra_stream_synchronize(own_stream, soon()) == SIDRA_OK);
        require(sidra_stream_destroy(own_stream) == SIDRA_OK);
        require(sidra_context_destroy(own_context) == SIDRA_OK);
        require(sidra_device_close(own_device) == SIDRA_OK);
        require(sidra_graph_destroy(graph) == SIDRA_OK);
        require(sidra_weights_destroy(weights) == SIDRA_OK);
        require(sidra_event_destroy(event) == SIDRA_OK);
        require(sidra_program_destroy(program) == SIDRA_OK);
        require(sidra_buffer_destroy(buffer.get()) == SIDRA_OK);
        require(sidra_stream_destroy(stream) == SIDRA_OK);
        require(sidra_context_destroy(context) == SIDRA_OK);
        require(sidra_device_close(device) == SIDRA_OK);
        _exit(0);
    }
    int status = 0;
    ASSERT_EQ(child, waitpid(child, &status, 0));
    EXPECT_TRUE(WIFEXITED(status)) << "the child died of signal " << WTERMSIG(status);
    EXPECT_EQ(0, WEXITSTATUS(status)) << "the child failed in this step";
    // The parent continues.
    ASSERT_OK(sidra_fill_async(stream, buffer.at(), 9, 8, 8));
    synchronize();
    EXPECT_EQ(9u, buffer.as<uint64_t>()[0]);
    EXPECT_OK(sidra_program_destroy(program));
    EXPECT_OK(sidra_graph_destroy(graph));
    EXPECT_OK(sidra_weights_destroy(weights));
    EXPECT_OK(sidra_event_destroy(event));
}
#endif

}  // namespace
}  // namespace sidra::test
