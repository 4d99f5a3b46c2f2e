// SPDX-License-Identifier: MIT
// A graph computes with the objects that it was recorded with, or not at all: whatever has their address or index now.
#include <algorithm>
#include <cstring>
#include <numeric>
#include <string>

#include "chip_fixture.h"

namespace sidra::test {
namespace {

class ChipGraph : public ChipTest {
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
    sidra_graph* record_product(sidra_weights* weights, sidra_ref in, sidra_ref out, sidra_ref bias = {}) {
        auto mvm = SIDRA_INIT(sidra_mvm);
        mvm.batch = 1;
        mvm.in_type = SIDRA_U8, mvm.out_type = SIDRA_S32;
        mvm.in = in, mvm.out = out, mvm.bias = bias;
        sidra_graph* graph = nullptr;
        EXPECT_OK(sidra_graph_begin(stream));
        EXPECT_OK(sidra_mvm_async(stream, weights, &mvm));
        EXPECT_OK(sidra_graph_end(stream, &graph));
        return graph;
    }
    void expect_refused(sidra_graph* graph, const std::string& object) {
        EXPECT_FAILS(SIDRA_ERROR_INVALID_HANDLE, sidra_graph_launch_async(stream, graph));
        const std::string text = sidra_last_error();
        for (const std::string& part : {std::string("graph "), object, std::string("destroyed"), std::string("record")})
            EXPECT_NE(std::string::npos, text.find(part)) << text;
        EXPECT_FAILS(SIDRA_ERROR_INVALID_HANDLE, sidra_graph_launch_async(stream, graph));
        uint64_t before = 0, after = 0;
        EXPECT_OK(sidra_stream_timeline(stream, &before, nullptr));
        EXPECT_FAILS(SIDRA_ERROR_INVALID_HANDLE, sidra_graph_launch_async(stream, graph));
        EXPECT_OK(sidra_stream_timeline(stream, &after, nullptr));
        EXPECT_EQ(before, after) << "nothing was queued";
    }
};

TEST_F(ChipGraph, WeightsThatAreGoneAreNotReplacedByOthers) {
    const Buffer buffer(context, 4096);
    std::fill_n(buffer.as().begin(), kK, uint8_t{1});
    sidra_weights* weights = make_weights(1);
    sidra_graph* graph = record_product(weights, buffer.at(), buffer.at(1024));
    ASSERT_OK(sidra_graph_launch_async(stream, graph));
    synchronize();
    EXPECT_EQ(int32_t{kK}, buffer.as<int32_t>()[256]);
    ASSERT_OK(sidra_weights_destroy(weights));
    sidra_weights* other = make_weights(5);
    expect_refused(graph, "weights ");
    synchronize();
    EXPECT_EQ(int32_t{kK}, buffer.as<int32_t>()[256]) << "not computed with the other ones";
    EXPECT_OK(sidra_graph_destroy(graph));
    EXPECT_OK(sidra_weights_destroy(other));
}

TEST_F(ChipGraph, BuffersThatAreGoneAreNotReplacedByOthers) {
    for (const uint32_t flags : {uint32_t{SIDRA_BUFFER_HOST}, uint32_t{SIDRA_BUFFER_DEVICE}})
        for (const int which : {0, 1, 2}) {
            sidra_weights* weights = make_weights(1);
            sidra_buffer* buffers[3];  // input, output, bias
            for (sidra_buffer*& buffer : buffers) ASSERT_OK(sidra_buffer_create(context, 4096, flags, &buffer));
            sidra_graph* graph = record_product(weights, {buffers[0], 64}, {buffers[1], 128}, {buffers[2], 0});
            ASSERT_OK(sidra_graph_launch_async(stream, graph));
            synchronize();
            ASSERT_OK(sidra_buffer_destroy(buffers[which]));
            ASSERT_OK(sidra_buffer_create(context, 4096, flags, &buffers[which]));
            expect_refused(graph, "buffer ");
            synchronize();
            EXPECT_OK(sidra_graph_destroy(graph));
            for (sidra_buffer* buffer : buffers) EXPECT_OK(sidra_buffer_destroy(buffer));
            EXPECT_OK(sidra_weights_destroy(weights));
        }
}

TEST_F(ChipGraph, EveryOperationNamesItsBuffers) {
    const Buffer kept(context, 65536);
    const auto names = [&](const char* what, auto&& operation) {
        sidra_buffer* gone = nullptr;
        ASSERT_OK(sidra_buffer_create(context, 65536, 0, &gone)) << what;
        sidra_graph* graph = nullptr;
        ASSERT_OK(sidra_graph_begin(stream));
        EXPECT_OK(operation(sidra_ref{gone, 8192})) << what;
        ASSERT_OK(sidra_graph_end(stream, &graph));
        ASSERT_OK(sidra_graph_launch_async(stream, graph));
        synchronize();
        ASSERT_OK(sidra_buffer_destroy(gone));
        expect_refused(graph, "buffer ");
        EXPECT_OK(sidra_graph_destroy(graph));
    };
    const auto add = [&](sidra_ref in, sidra_ref in2, sidra_ref out) {
        const uint32_t size[4] = {1, 1, 1, 4};
        const auto array = [&](sidra_ref ref) { return sidra_operand_dense(ref, SIDRA_F32, size); };
        const sidra_array a = array(in), b = array(in2), sum = array(out);
        return sidra_add(stream, size, &sum, &a, &b);
    };
    names("copy to", [&](sidra_ref ref) { return sidra_copy_async(stream, ref, kept.at(), 64); });
    names("copy from", [&](sidra_ref ref) { return sidra_copy_async(stream, kept.at(), ref, 64); });
    names("fill", [&](sidra_ref ref) { return sidra_fill_async(stream, ref, 1, 1, 64); });
    names("timestamp", [&](sidra_ref ref) { return sidra_timestamp_async(stream, ref); });
    names("signal", [&](sidra_ref ref) { return sidra_semaphore_signal_async(stream, ref, 1); });
    names("a", [&](sidra_ref ref) { return add(ref, kept.at(256), kept.at(512)); });
    names("b", [&](sidra_ref ref) { return add(kept.at(), ref, kept.at(512)); });
    names("out", [&](sidra_ref ref) { return add(kept.at(), kept.at(256), ref); });
}

TEST_F(ChipGraph, TheSameObjectsWithOtherContentsAreTheSame) {
    const Buffer buffer(context, 4096);
    std::fill_n(buffer.as().begin(), kK, uint8_t{1});
    sidra_weights* weights = make_weights(1);
    sidra_graph* graph = record_product(weights, buffer.at(), buffer.at(1024));
    const Buffer bystander(context, 4096);
    sidra_buffer* gone = nullptr;
    ASSERT_OK(sidra_buffer_create(context, 4096, 0, &gone));
    ASSERT_OK(sidra_buffer_destroy(gone));  // of no concern to the graph
    const std::vector<int8_t> twos(kK * kN, 2);
    ASSERT_OK(sidra_weights_update_async(stream, weights, 0, kK, 0, kN, twos.data(), kN));
    ASSERT_OK(sidra_graph_launch_async(stream, graph));
    synchronize();
    EXPECT_EQ(int32_t{2 * kK}, buffer.as<int32_t>()[256]);
    // So they are after a recovery.
    if (sidra_device_reset(device) == SIDRA_OK) {
        ASSERT_OK(sidra_context_recover(context));
        buffer.as<int32_t>()[256] = 0;
        ASSERT_OK(sidra_graph_launch_async(stream, graph));
        synchronize();
        EXPECT_EQ(int32_t{2 * kK}, buffer.as<int32_t>()[256]);
    }
    EXPECT_OK(sidra_graph_destroy(graph));
    EXPECT_OK(sidra_weights_destroy(weights));
}

// The launch is queued, then the objects that it uses are destroyed and others are created. The launch must not use the
// new ones.
TEST_F(ChipGraph, DestructionBehindTheLaunchFaults) {
    const Buffer words(context, 4096), buffer(context, 4096);
    for (const bool of_weights : {false, true}) {
        sidra_weights* weights = make_weights(1);
        sidra_buffer* out = nullptr;
        ASSERT_OK(sidra_buffer_create(context, 4096, 0, &out));
        sidra_graph* graph = record_product(weights, buffer.at(), {out, 0});
        const size_t word = of_weights ? 8 : 0;
        ASSERT_OK(sidra_semaphore_wait_async(stream, words.at(word), 1));
        ASSERT_OK(sidra_graph_launch_async(stream, graph));
        sidra_stream* helper = nullptr;  // programs the other objects meanwhile
        ASSERT_OK(sidra_stream_create(context, nullptr, &helper));
        if (of_weights) {
            ASSERT_OK(sidra_weights_destroy(weights));
            const std::vector<int8_t> nines(kK * kN, 9);
            ASSERT_OK(sidra_weights_create_s8(context, kK, kN, nines.data(), kN, nullptr, nullptr, &weights));
            ASSERT_OK(sidra_weights_program_async(helper, weights));
            ASSERT_OK(sidra_stream_synchronize(helper, soon()));
        } else {
            ASSERT_OK(sidra_buffer_destroy(out));
            ASSERT_OK(sidra_buffer_create(context, 4096, 0, &out));
        }
        void* address = nullptr;
        ASSERT_OK(sidra_buffer_map(out, &address));
        std::memset(address, 0x77, 4096);
        ASSERT_OK(sidra_semaphore_signal(context, words.at(word), 1));
        EXPECT_FAILS(SIDRA_ERROR_FAULT, sidra_stream_synchronize(stream, soon()));
        auto fault = SIDRA_INIT(sidra_fault_info);
        ASSERT_OK(sidra_stream_fault(stream, &fault));
        EXPECT_EQ(of_weights ? uint32_t{SIDRA_FAULT_WEIGHTS} : uint32_t{SIDRA_FAULT_TRANSLATION}, fault.cause);
        const auto* bytes = static_cast<const uint8_t*>(address);
        EXPECT_TRUE(std::all_of(bytes, bytes + 4096, [](uint8_t byte) { return byte == 0x77; }));
        ASSERT_OK(sidra_stream_reset(stream));
        EXPECT_OK(sidra_graph_destroy(graph));
        EXPECT_OK(sidra_stream_destroy(helper));
        EXPECT_OK(sidra_buffer_destroy(out));
        EXPECT_OK(sidra_weights_destroy(weights));
    }
}

}  // namespace
}  // namespace sidra::test
