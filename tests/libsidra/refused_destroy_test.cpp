// SPDX-License-Identifier: MIT
// Objects whose destruction the driver refuses: they are what they were, and can be destroyed later.
#include <algorithm>

#include "fake_fixture.h"

namespace sidra::test {
namespace {

class RefusedDestroy : public FakeTest {
   protected:
    void SetUp() override {
        FakeTest::SetUp();
        ASSERT_OK(sidra_program_assemble(context, "pass:\nv0 = load o0\nv0 = add v0, p0\nstore o1, v0", &program));
        ASSERT_OK(sidra_buffer_create(context, 4096, 0, &memory));
    }
    // A graph of one operation, which uses the program and the memory.
    sidra_graph* record() {
        const uint32_t size[4] = {1, 1, 1, 4};
        const sidra_vector_operand operands[] = {sidra_operand_dense({memory, 0}, SIDRA_F32, size),
                                                 sidra_operand_dense({memory, 64}, SIDRA_F32, size)};
        auto vector = SIDRA_INIT(sidra_vector);
        vector.program = program;
        std::copy(std::begin(size), std::end(size), vector.size);
        vector.operands = operands, vector.operand_count = 2;
        sidra_graph* made = nullptr;
        EXPECT_OK(sidra_graph_begin(stream));
        EXPECT_OK(sidra_vector_async(stream, &vector));
        EXPECT_OK(sidra_graph_end(stream, &made));
        return made;
    }
    // The address of the packets that a launch of the graph executes.
    uint64_t launch(sidra_graph* graph) {
        EXPECT_OK(sidra_graph_launch_async(stream, graph));
        return last_packet().call.addr;
    }

    sidra_program* program = nullptr;
    sidra_buffer* memory = nullptr;
};

TEST_F(RefusedDestroy, AGraphFindsOutLaterThatAnObjectIsGone) {
    for (const bool of_buffer : {true, false}) {
        SCOPED_TRACE(of_buffer);
        sidra_graph* graph = record();
        launch(graph);
        const auto destroy = [&] { return of_buffer ? sidra_buffer_destroy(memory) : sidra_program_destroy(program); };
        fake->fail(SIDRA_IOCTL_BUFFER_UNBIND, EBUSY);
        EXPECT_FAILS(SIDRA_ERROR_BUSY, destroy());
        launch(graph);
        EXPECT_OK(destroy());
        EXPECT_FAILS(SIDRA_ERROR_INVALID_HANDLE, sidra_graph_launch_async(stream, graph));
        EXPECT_OK(sidra_graph_destroy(graph));
        if (of_buffer) ASSERT_OK(sidra_buffer_create(context, 4096, 0, &memory));
    }
    EXPECT_OK(sidra_buffer_destroy(memory));
}

TEST_F(RefusedDestroy, AGraphOfSeveralVersionsGoesOn) {
    sidra_graph* graph = record();
    fake->set_automatic(false);
    const uint64_t first = launch(graph);
    ASSERT_OK(sidra_graph_set_param(graph, 0, 0, 1));
    const uint64_t second = launch(graph);
    ASSERT_NE(first, second);
    fake->retire(0, 2);
    fake->fail(SIDRA_IOCTL_BUFFER_UNBIND, EBUSY, {}, 1, 1);
    EXPECT_FAILS(SIDRA_ERROR_BUSY, sidra_graph_destroy(graph));
    EXPECT_EQ(second, launch(graph));
    ASSERT_OK(sidra_graph_set_param(graph, 0, 0, 2));
    const uint64_t third = launch(graph);
    EXPECT_NE(first, third) << "which the device does not know any more";
    EXPECT_NE(second, third);
    fake->retire(0, 4);
    EXPECT_OK(sidra_graph_destroy(graph));
    EXPECT_OK(sidra_program_destroy(program));
    EXPECT_OK(sidra_buffer_destroy(memory));
}

}  // namespace
}  // namespace sidra::test
