// SPDX-License-Identifier: MIT
// Graphs whose operations change between launches: later launches compute with the new values, earlier ones with those
// that they were queued with.
#include <algorithm>
#include <string>
#include <vector>

#include "chip_fixture.h"
#include "sidra/sidra.hpp"

namespace sidra::test {
namespace {

class ChipGraphUpdate : public ChipTest {
   protected:
    static constexpr uint32_t kK = 32, kN = 16;

    sidra_weights* make_weights(int8_t value) {
        const std::vector<int8_t> values(kK * kN, value);
        sidra_weights* made = nullptr;
        EXPECT_OK(sidra_weights_create_s8(context, kK, kN, values.data(), kN, nullptr, nullptr, &made));
        EXPECT_OK(sidra_weights_program_async(stream, made));
        EXPECT_OK(sidra_stream_synchronize(stream, soon()));
        return made;
    }
    sidra_status product(sidra_weights* weights, sidra_ref in, sidra_ref out) {
        auto mvm = SIDRA_INIT(sidra_mvm);
        mvm.batch = 1;
        mvm.in_type = SIDRA_U8, mvm.out_type = SIDRA_S32;
        mvm.in = in, mvm.out = out;
        return sidra_mvm_async(stream, weights, &mvm);
    }
    // out = in + p0, for four f32.
    sidra_status add(sidra_program* program, sidra_ref in, sidra_ref out, float p0) {
        const uint32_t size[4] = {1, 1, 1, 4};
        const sidra_vector_operand operands[] = {sidra_operand_dense(in, SIDRA_F32, size),
                                                 sidra_operand_dense(out, SIDRA_F32, size)};
        auto vector = SIDRA_INIT(sidra_vector);
        vector.program = program;
        std::copy(std::begin(size), std::end(size), vector.size);
        vector.param[0] = sidra_param_f32(p0);
        vector.operands = operands, vector.operand_count = 2;
        return sidra_vector_async(stream, &vector);
    }
    sidra_program* make_program() {
        sidra_program* program = nullptr;
        EXPECT_OK(sidra_program_assemble(context, "pass:\nv0 = load o0\nv1 = add v0, p0\nstore o1, v1", &program));
        return program;
    }
};

TEST_F(ChipGraphUpdate, ParametersAndPlacesChange) {
    const Buffer data(context, 8192);
    const auto f32 = data.as<float>();
    std::fill_n(f32.begin(), 4, 1.0f);          // at 0
    std::fill_n(f32.begin() + 256, 4, 100.0f);  // at 1024
    sidra_program* program = make_program();
    sidra_graph* graph = nullptr;
    ASSERT_OK(sidra_graph_begin(stream));
    ASSERT_OK(sidra_nop_async(stream));
    ASSERT_OK(add(program, data.at(0), data.at(4096), 5));
    ASSERT_OK(add(program, data.at(4096), data.at(5120), 10));
    ASSERT_OK(sidra_graph_end(stream, &graph));
    const auto run = [&] {
        EXPECT_OK(sidra_graph_launch_async(stream, graph));
        EXPECT_OK(sidra_stream_synchronize(stream, soon()));
        return f32[1280];
    };
    EXPECT_EQ(16, run());
    ASSERT_OK(sidra_graph_set_param(graph, 1, 0, sidra_param_f32(7)));
    EXPECT_EQ(18, run());
    // Input of the first one, parameter and output of the second one.
    ASSERT_OK(sidra_graph_begin(stream));
    ASSERT_OK(add(program, data.at(1024), data.at(4096), 1));
    ASSERT_OK(add(program, data.at(4096), data.at(6144), 2));
    ASSERT_OK(sidra_graph_update(graph, 1, stream));
    run();
    EXPECT_EQ(101, f32[1024]);
    EXPECT_EQ(103, f32[1536]);
    EXPECT_EQ(103, f32[1539]);
    EXPECT_EQ(18, f32[1280]) << "the former output is left alone";
    uint32_t count = 0;
    ASSERT_OK(sidra_graph_operations(graph, &count));
    EXPECT_EQ(3u, count);
    EXPECT_OK(sidra_graph_destroy(graph));
    EXPECT_OK(sidra_program_destroy(program));
}

// Many launches are queued before the first one runs, each with a number of its own.
TEST_F(ChipGraphUpdate, QueuedLaunchesKeepTheirValues) {
    constexpr int kLaunches = 40;
    const Buffer data(context, 8192), words(context, 64);
    std::fill_n(data.as<float>().begin(), 4, 0.0f);
    sidra_program* program = make_program();
    sidra_stream* other = nullptr;
    ASSERT_OK(sidra_stream_create(context, nullptr, &other));
    sidra_graph* graph = nullptr;
    ASSERT_OK(sidra_graph_begin(stream));
    ASSERT_OK(add(program, data.at(0), data.at(1024), 0));
    ASSERT_OK(sidra_graph_end(stream, &graph));
    for (int pass = 1; pass <= 2; ++pass) {  // the second pass uses the copies of the first one again
        for (sidra_stream* each : {stream, other})
            ASSERT_OK(sidra_semaphore_wait_async(each, words.at(), static_cast<uint64_t>(pass)));
        for (int i = 0; i < kLaunches; ++i) {
            sidra_stream* const on = i % 2 == 0 ? stream : other;
            ASSERT_OK(sidra_graph_begin(stream));
            const auto at = static_cast<size_t>(4096 + i * 16);
            ASSERT_OK(add(program, data.at(0), data.at(at), 0));
            ASSERT_OK(sidra_graph_update(graph, 0, stream));
            ASSERT_OK(sidra_graph_set_param(graph, 0, 0, sidra_param_f32(static_cast<float>(pass * 1000 + i))));
            ASSERT_OK(sidra_graph_launch_async(on, graph));
        }
        ASSERT_OK(sidra_semaphore_signal(context, words.at(), static_cast<uint64_t>(pass)));
        synchronize();
        ASSERT_OK(sidra_stream_synchronize(other, soon()));
        for (int i = 0; i < kLaunches; ++i)
            ASSERT_EQ(static_cast<float>(pass * 1000 + i), data.as<float>()[static_cast<size_t>(1024 + i * 4)]) << i;
    }
    EXPECT_OK(sidra_graph_destroy(graph));
    EXPECT_OK(sidra_stream_destroy(other));
    EXPECT_OK(sidra_program_destroy(program));
}

TEST_F(ChipGraphUpdate, ProductsAndTheirWeightsChange) {
    const Buffer data(context, 8192);
    std::fill_n(data.as().begin(), kK, uint8_t{1});
    std::fill_n(data.as().begin() + 64, kK, uint8_t{2});
    sidra_weights *ones = make_weights(1), *threes = make_weights(3);
    sidra_graph* graph = nullptr;
    ASSERT_OK(sidra_graph_begin(stream));
    ASSERT_OK(product(ones, data.at(0), data.at(1024)));
    ASSERT_OK(sidra_graph_end(stream, &graph));
    ASSERT_OK(sidra_graph_begin(stream));
    ASSERT_OK(product(threes, data.at(64), data.at(2048)));
    ASSERT_OK(sidra_graph_update(graph, 0, stream));
    ASSERT_OK(sidra_graph_launch_async(stream, graph));
    synchronize();
    EXPECT_EQ(0, data.as<int32_t>()[256]);
    EXPECT_EQ(int32_t{2 * 3 * kK}, data.as<int32_t>()[512]);
    // It no longer needs what it names no more, and needs what it names now.
    ASSERT_OK(sidra_weights_destroy(ones));
    EXPECT_OK(sidra_graph_launch_async(stream, graph));
    synchronize();
    ASSERT_OK(sidra_weights_destroy(threes));
    EXPECT_FAILS(SIDRA_ERROR_INVALID_HANDLE, sidra_graph_launch_async(stream, graph));
    EXPECT_NE(std::string::npos, std::string(sidra_last_error()).find("weights ")) << sidra_last_error();
    ones = make_weights(1);
    ASSERT_OK(sidra_graph_begin(stream));
    ASSERT_OK(product(ones, data.at(0), data.at(1024)));
    ASSERT_OK(sidra_graph_update(graph, 0, stream));
    ASSERT_OK(sidra_graph_launch_async(stream, graph));
    synchronize();
    EXPECT_EQ(int32_t{kK}, data.as<int32_t>()[256]);
    EXPECT_OK(sidra_graph_destroy(graph));
    EXPECT_OK(sidra_weights_destroy(ones));
}

// An update of cells in a graph has a copy of its data, which lives as long as launches need it.
TEST_F(ChipGraphUpdate, StagedDataChanges) {
    const Buffer words(context, 64);
    sidra_weights* weights = make_weights(1);
    const std::vector<int8_t> twos(kK * kN, 2), fives(kK * kN, 5);
    sidra_graph* graph = nullptr;
    ASSERT_OK(sidra_graph_begin(stream));
    ASSERT_OK(sidra_weights_update_async(stream, weights, 0, kK, 0, kN, twos.data(), kN));
    ASSERT_OK(sidra_graph_end(stream, &graph));
    ASSERT_OK(sidra_semaphore_wait_async(stream, words.at(), 1));
    ASSERT_OK(sidra_graph_launch_async(stream, graph));
    ASSERT_OK(sidra_semaphore_wait_async(stream, words.at(), 2));
    ASSERT_OK(sidra_graph_begin(stream));
    ASSERT_OK(sidra_weights_update_async(stream, weights, 0, kK, 0, kN, fives.data(), kN));
    ASSERT_OK(sidra_graph_update(graph, 0, stream));
    sidra_stream* reader = nullptr;
    ASSERT_OK(sidra_stream_create(context, nullptr, &reader));
    std::vector<int8_t> read(kK * kN);
    ASSERT_OK(sidra_semaphore_signal(context, words.at(), 1));
    ASSERT_TRUE(eventually([&] {
        uint64_t completed = 0;
        EXPECT_OK(sidra_weights_read(reader, weights, read.data(), kN, soon()));
        EXPECT_OK(sidra_stream_timeline(stream, nullptr, &completed));
        return read == twos;
    }));
    ASSERT_OK(sidra_semaphore_signal(context, words.at(), 2));
    ASSERT_OK(sidra_graph_launch_async(stream, graph));
    synchronize();
    ASSERT_OK(sidra_weights_read(stream, weights, read.data(), kN, soon()));
    EXPECT_EQ(fives, read);
    EXPECT_OK(sidra_stream_destroy(reader));
    EXPECT_OK(sidra_graph_destroy(graph));
    EXPECT_OK(sidra_weights_destroy(weights));
}

TEST_F(ChipGraphUpdate, WhatIsRefusedChangesNothing) {
    const Buffer data(context, 8192);
    std::fill_n(data.as<float>().begin(), 4, 1.0f);
    sidra_program *program = make_program(), *one = nullptr;
    ASSERT_OK(sidra_program_assemble(context, "pass:\nv0 = load o0\nstore o0, v0", &one));
    sidra_graph* graph = nullptr;
    ASSERT_OK(sidra_graph_begin(stream));
    ASSERT_OK(sidra_nop_async(stream));
    ASSERT_OK(add(program, data.at(0), data.at(1024), 5));
    ASSERT_OK(sidra_graph_end(stream, &graph));
    const auto expect_refused = [&](sidra_status status, uint32_t operation, const std::string& why,
                                    auto&& operations) {
        ASSERT_OK(sidra_graph_begin(stream));
        operations();
        EXPECT_FAILS(status, sidra_graph_update(graph, operation, stream));
        EXPECT_NE(std::string::npos, std::string(sidra_last_error()).find(why)) << sidra_last_error();
        EXPECT_FAILS(SIDRA_ERROR_NOT_RECORDABLE, sidra_graph_update(graph, operation, stream));
        data.as<float>()[256] = 0;
        ASSERT_OK(sidra_graph_launch_async(stream, graph));
        synchronize();
        EXPECT_EQ(6, data.as<float>()[256]);
    };
    const auto vector = [&] { EXPECT_OK(add(program, data.at(0), data.at(2048), 9)); };
    expect_refused(SIDRA_ERROR_INVALID_ARGUMENT, 0, "NOP", vector);
    expect_refused(SIDRA_ERROR_INVALID_ARGUMENT, 2, "has no operation 2", vector);
    expect_refused(SIDRA_ERROR_INVALID_ARGUMENT, UINT32_MAX, "has no operation", vector);
    expect_refused(SIDRA_ERROR_INVALID_ARGUMENT, 1, "has no operation 2", [&] { vector(), vector(); });
    expect_refused(SIDRA_ERROR_INVALID_ARGUMENT, 1, "no operation", [] {});
    expect_refused(SIDRA_ERROR_INVALID_ARGUMENT, 1, "operands", [&] {
        const uint32_t size[4] = {1, 1, 1, 4};
        const sidra_vector_operand operand = sidra_operand_dense(data.at(0), SIDRA_F32, size);
        auto call = SIDRA_INIT(sidra_vector);
        call.program = one;
        std::copy(std::begin(size), std::end(size), call.size);
        call.operands = &operand, call.operand_count = 1;
        EXPECT_OK(sidra_vector_async(stream, &call));
    });
    // The checks of the operation itself are those of recording.
    ASSERT_OK(sidra_graph_begin(stream));
    EXPECT_FAILS(SIDRA_ERROR_INVALID_ARGUMENT, add(program, data.at(0), data.at(8190), 9));
    EXPECT_FAILS(SIDRA_ERROR_INVALID_HANDLE, sidra_graph_update(nullptr, 1, stream));
    EXPECT_FAILS(SIDRA_ERROR_NOT_RECORDABLE, sidra_graph_update(graph, 1, stream));
    EXPECT_FAILS(SIDRA_ERROR_INVALID_ARGUMENT, sidra_graph_set_param(graph, 0, 0, 1));
    EXPECT_FAILS(SIDRA_ERROR_INVALID_ARGUMENT, sidra_graph_set_param(graph, 1, 4, 1));
    EXPECT_FAILS(SIDRA_ERROR_INVALID_ARGUMENT, sidra_graph_set_param(graph, 2, 0, 1));
    EXPECT_FAILS(SIDRA_ERROR_INVALID_HANDLE, sidra_graph_set_param(nullptr, 1, 0, 1));
    ASSERT_OK(sidra_graph_launch_async(stream, graph));
    synchronize();
    EXPECT_EQ(6, data.as<float>()[256]);
    EXPECT_OK(sidra_graph_destroy(graph));
    for (sidra_program* each : {program, one}) EXPECT_OK(sidra_program_destroy(each));
}

TEST(ChipGraphUpdateCpp, StreamsUpdateGraphs) {
    choose_test_device();
    Device device = Device::open(0, {.profile = SIDRA_PROFILE_SMALL, .private_chip = !on_a_node()});
    Context context(device);
    Stream stream(context);
    sidra::Buffer data(context, 4096);
    const auto program = Program::assemble(context, "pass:\nv0 = load o0\nv1 = add v0, p0\nstore o1, v1");
    const Size size{1, 1, 1, 4};
    Graph graph = stream.capture([&] {
        stream.vector(program, size, {dense(data.at(0), SIDRA_F32, size), dense(data.at(64), SIDRA_F32, size)}, {1.0f});
    });
    graph.set_param(0, 0, 2.5f);
    stream.launch(graph);
    stream.synchronize();
    EXPECT_EQ(2.5f, data.as<float>()[16]);
    stream.update(graph, 0, [&] {
        stream.vector(program, size, {dense(data.at(64), SIDRA_F32, size), dense(data.at(128), SIDRA_F32, size)},
                      {4.0f});
    });
    stream.launch(graph);
    stream.synchronize();
    EXPECT_EQ(6.5f, data.as<float>()[32]);
    EXPECT_THROW(stream.update(graph, 0, [&] { stream.nop(); }), Error);
}

}  // namespace
}  // namespace sidra::test
