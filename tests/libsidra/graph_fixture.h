// SPDX-License-Identifier: MIT
// Graphs whose operations change between launches, and the buffers that they name.
#ifndef SIDRA_TESTS_GRAPH_FIXTURE_H
#define SIDRA_TESTS_GRAPH_FIXTURE_H

#include <memory>
#include <string>

#include "chip_fixture.h"

namespace sidra::test {

class GraphTest : public ChipTest {
   protected:
    // Numbers of one type in a buffer, not at its start.
    struct Numbers {
        static constexpr size_t kOffset = 64;
        Numbers(sidra_context* context, size_t count, size_t size)
            : buffer(std::make_unique<Buffer>(context, kOffset + count * size)) {}
        sidra_ref at(size_t offset = 0) const { return buffer->at(kOffset + offset); }
        template <typename T>
        std::span<T> as() const {
            return buffer->as<T>().subspan(kOffset / sizeof(T));
        }
        std::unique_ptr<Buffer> buffer;
    };
    template <typename T>
    Numbers numbers(size_t count, int low, int high) {
        Numbers made(context, count, sizeof(T));
        for (T& each : made.as<T>()) each = static_cast<T>(std::uniform_int_distribution<int>(low, high)(random));
        return made;
    }
    // Puts `queue` in place of operation `operation`.
    template <typename Queue>
    void update(sidra_graph* graph, uint32_t operation, const Queue& queue) {
        ASSERT_OK(sidra_graph_begin(stream));
        queue();
        ASSERT_OK(sidra_graph_update(graph, operation, stream));
    }
    void launch(sidra_graph* graph) {
        ASSERT_OK(sidra_graph_launch_async(stream, graph));
        synchronize();
    }
    // Queues launches of one operation, which queue(0) records, with an update by queue(i) before launch i. None runs
    // before all are queued.
    template <typename Queue>
    void launch_updated(uint32_t launches, const Queue& queue) {
        const Buffer words(context, 64);
        sidra_graph* graph = nullptr;
        ASSERT_OK(sidra_graph_begin(stream));
        ASSERT_OK(queue(0));
        ASSERT_OK(sidra_graph_end(stream, &graph));
        ASSERT_OK(sidra_semaphore_wait_async(stream, words.at(), 1));
        for (uint32_t i = 0; i < launches; ++i) {
            update(graph, 0, [&] { ASSERT_OK(queue(i)); });
            ASSERT_OK(sidra_graph_launch_async(stream, graph));
        }
        ASSERT_OK(sidra_semaphore_signal(context, words.at(), 1));
        synchronize();
        EXPECT_OK(sidra_graph_destroy(graph));
    }
    // A launch is refused because `what` is gone.
    void expect_gone(sidra_graph* graph, const std::string& what) {
        EXPECT_FAILS(SIDRA_ERROR_INVALID_HANDLE, sidra_graph_launch_async(stream, graph));
        EXPECT_NE(std::string::npos, std::string(sidra_last_error()).find(" " + what + " ")) << sidra_last_error();
    }
};

}  // namespace sidra::test

#endif
