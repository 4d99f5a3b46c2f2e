// SPDX-License-Identifier: MIT
// Pooling and sorting in graphs, whose operands change between launches, and come and go. Plain loops over integers are
// the oracle.
#include <algorithm>
#include <numeric>
#include <string>
#include <vector>

#include "graph_fixture.h"
#include "sidra/sidra.hpp"

namespace sidra::test {
namespace {

// Pools square images of small integers, so that sums are exact and many elements are equal.
struct Pooling {
    sidra_pool_operation op;
    sidra_type type;  // U8 or F32
    uint32_t images, side, channels, kernel, step, pad;
    uint32_t windows() const { return (side + 2 * pad - kernel) / step + 1; }
    size_t results() const { return size_t{images} * windows() * windows() * channels; }
};

class ChipGraphPool : public GraphTest {
   protected:
    struct Objects {
        Numbers images, out;
    };
    Objects make(const Pooling& p) {
        const size_t elements = size_t{p.images} * p.side * p.side * p.channels;
        return {p.type == SIDRA_U8 ? numbers<uint8_t>(elements, 0, 30) : numbers<float>(elements, 0, 30),
                numbers<int32_t>(p.results(), kUntouched, kUntouched)};
    }
    sidra_status queue(const Pooling& p, const Objects& o) {
        auto pool = SIDRA_INIT(sidra_pool);
        pool.op = p.op;
        pool.windows =
            sidra_windows_image(o.images.at(), p.type, p.images, p.side, p.side, p.channels, p.kernel, p.kernel);
        pool.windows.stride_h = pool.windows.stride_w = p.step;
        pool.windows.pad_h = pool.windows.pad_w = p.pad;
        sidra_windows_fit(&pool.windows);
        pool.out = o.out.at();
        return sidra_pool_async(stream, &pool);
    }
    static float input(const Pooling& p, const Objects& o, size_t at) {
        return p.type == SIDRA_U8 ? o.images.as<uint8_t>()[at] : o.images.as<float>()[at];
    }
    static float output(const Pooling& p, const Objects& o, size_t at) {
        if (p.op == SIDRA_POOLING_ARGMAX) return static_cast<float>(o.out.as<int32_t>()[at]);
        return p.type == SIDRA_U8 ? o.out.as<uint8_t>()[at] : o.out.as<float>()[at];
    }
    static void expect(const Pooling& p, const Objects& o) {
        for (size_t at = 0; at < p.results(); ++at) {
            const size_t c = at % p.channels, window = at / p.channels;
            const size_t x = window % p.windows(), y = window / p.windows() % p.windows();
            const size_t image = window / p.windows() / p.windows();
            float largest = -1, sum = 0, count = 0, place = 0;
            for (size_t i = y * p.step; i < y * p.step + p.kernel; ++i)
                for (size_t j = x * p.step; j < x * p.step + p.kernel; ++j) {
                    if (i < p.pad || j < p.pad || i - p.pad >= p.side || j - p.pad >= p.side) continue;
                    const size_t pixel = (i - p.pad) * p.side + j - p.pad;
                    const float value = input(p, o, (image * p.side * p.side + pixel) * p.channels + c);
                    if (value > largest) largest = value, place = static_cast<float>(pixel);
                    sum += value;
                    ++count;
                }
            const float wanted = p.op == SIDRA_POOLING_MAX      ? largest
                                 : p.op == SIDRA_POOLING_ARGMAX ? place
                                                                : sum / count;
            ASSERT_EQ(wanted, output(p, o, at)) << at;
        }
    }

    static constexpr int kUntouched = 0x4d4d4d4d;
};

constexpr Pooling kMaxima{SIDRA_POOLING_MAX, SIDRA_U8, 2, 8, 5, 3, 2, 1},
    kAverages{SIDRA_POOLING_AVERAGE, SIDRA_F32, 3, 7, 17, 2, 1, 1},
    kPlaces{SIDRA_POOLING_ARGMAX, SIDRA_F32, 1, 11, 2, 4, 3, 0};

TEST_F(ChipGraphPool, EverythingChanges) {
    Objects one = make(kMaxima), two = make(kAverages), three = make(kMaxima), four = make(kPlaces);
    sidra_graph* graph = nullptr;
    ASSERT_OK(sidra_graph_begin(stream));
    ASSERT_OK(queue(kMaxima, one));
    ASSERT_OK(sidra_nop_async(stream));
    ASSERT_OK(queue(kMaxima, three));  // its pattern stands behind the other one's
    ASSERT_OK(sidra_graph_end(stream, &graph));
    launch(graph);
    expect(kMaxima, one);
    expect(kMaxima, three);
    // Operation, type, geometry and both operands.
    update(graph, 0, [&] { ASSERT_OK(queue(kAverages, two)); });
    for (const Objects* each : {&one, &three}) std::ranges::fill(each->out.as<int32_t>(), kUntouched);
    launch(graph);
    expect(kAverages, two);
    expect(kMaxima, three);
    EXPECT_EQ(kUntouched, one.out.as<int32_t>()[0]) << "the former output is left alone";
    // Several at once, of which the second one is no pool.
    for (const Objects* each : {&two, &three}) std::ranges::fill(each->out.as<int32_t>(), kUntouched);
    update(graph, 0, [&] {
        ASSERT_OK(queue(kPlaces, four));
        ASSERT_OK(sidra_nop_async(stream));
        ASSERT_OK(queue(kAverages, two));
    });
    launch(graph);
    expect(kPlaces, four);
    expect(kAverages, two);
    EXPECT_EQ(kUntouched, three.out.as<int32_t>()[0]);
    EXPECT_OK(sidra_graph_destroy(graph));
}

// A change while a launch is queued does not reach that launch.
TEST_F(ChipGraphPool, QueuedLaunchesKeepTheirPatterns) {
    std::vector<Objects> objects;
    constexpr uint32_t kLaunches = 12;
    const auto pooling = [](uint32_t i) {
        constexpr sidra_pool_operation kOps[] = {SIDRA_POOLING_MAX, SIDRA_POOLING_ARGMAX, SIDRA_POOLING_AVERAGE};
        const uint32_t kernel = i % 4 + 1;
        return Pooling{kOps[i % 3], SIDRA_F32, i % 2 + 1, 4 + i, i + 1, kernel, i % 3 + 1, kernel / 2};
    };
    for (uint32_t i = 0; i < kLaunches; ++i) objects.push_back(make(pooling(i)));
    launch_updated(kLaunches, [&](uint32_t i) { return queue(pooling(i), objects[i]); });
    for (uint32_t i = 0; i < kLaunches; ++i) expect(pooling(i), objects[i]);
}

// Images and output are needed, until an update names others; then the former ones are not.
TEST_F(ChipGraphPool, EachBufferHasToExist) {
    sidra_graph* graph = nullptr;
    Objects now = make(kMaxima);
    ASSERT_OK(sidra_graph_begin(stream));
    ASSERT_OK(queue(kMaxima, now));
    ASSERT_OK(sidra_graph_end(stream, &graph));
    for (Numbers Objects::*member : {&Objects::images, &Objects::out}) {
        launch(graph);
        expect(kMaxima, now);
        (now.*member).buffer.reset();
        expect_gone(graph, "buffer");
        Objects next = make(kMaxima);  // may well have the place of what is gone
        expect_gone(graph, "buffer");
        update(graph, 0, [&] { ASSERT_OK(queue(kMaxima, next)); });
        now = std::move(next);
    }
    launch(graph);
    expect(kMaxima, now);
    EXPECT_OK(sidra_graph_destroy(graph));
}

// Sorts rows of S16 numbers of which many are equal.
struct Sorting {
    uint32_t rows, cols, count;  // count 0: all
    bool descending, values, indices, wide;
    uint32_t results() const { return count != 0 ? count : cols; }
};

class ChipGraphSort : public GraphTest {
   protected:
    struct Objects {
        Numbers in, values, indices;
    };
    Objects make(const Sorting& s) {
        return {numbers<int16_t>(size_t{s.rows} * s.cols, -20, 20),
                numbers<int16_t>(size_t{s.rows} * s.results(), kUntouched, kUntouched),
                numbers<int64_t>(size_t{s.rows} * s.results(), kUntouched, kUntouched)};
    }
    sidra_status queue(const Sorting& s, const Objects& o) {
        auto sort = SIDRA_INIT(sidra_sort);
        sort.type = SIDRA_S16;
        sort.in = o.in.at();
        if (s.values) sort.values = o.values.at();
        if (s.indices) sort.indices = o.indices.at(), sort.index_type = s.wide ? SIDRA_S64 : SIDRA_S32;
        sort.rows = s.rows, sort.cols = s.cols, sort.count = s.count;
        sort.descending = s.descending;
        return sidra_sort_async(stream, &sort);
    }
    static void expect(const Sorting& s, const Objects& o) {
        std::vector<uint32_t> order(s.cols);
        for (size_t row = 0; row < s.rows; ++row) {
            const auto elements = o.in.as<int16_t>().subspan(row * s.cols, s.cols);
            std::iota(order.begin(), order.end(), 0u);
            std::ranges::stable_sort(order, [&](uint32_t a, uint32_t b) {
                return s.descending ? elements[a] > elements[b] : elements[a] < elements[b];
            });
            for (size_t i = 0; i < s.results(); ++i) {
                const size_t at = row * s.results() + i;
                if (s.values) ASSERT_EQ(elements[order[i]], o.values.as<int16_t>()[at]) << row << " " << i;
                if (s.indices)
                    ASSERT_EQ(order[i], s.wide ? o.indices.as<int64_t>()[at] : o.indices.as<int32_t>()[at])
                        << row << " " << i;
            }
        }
        if (!s.values) ASSERT_EQ(kUntouched, o.values.as<int16_t>()[0]);
        if (!s.indices) ASSERT_EQ(kUntouched, o.indices.as<int64_t>()[0]);
    }

    static constexpr int kUntouched = 77;
};

constexpr Sorting kAll{3, 40, 0, false, true, true, false}, kBest{7, 90, 5, true, true, true, true},
    kOrder{2, 300, 0, true, false, true, false}, kLeast{5, 17, 3, false, true, false, false};

TEST_F(ChipGraphSort, EverythingChanges) {
    Objects one = make(kAll), two = make(kBest), three = make(kOrder), four = make(kLeast);
    sidra_graph* graph = nullptr;
    ASSERT_OK(sidra_graph_begin(stream));
    ASSERT_OK(sidra_nop_async(stream));
    ASSERT_OK(queue(kAll, one));
    ASSERT_OK(queue(kOrder, three));
    ASSERT_OK(sidra_graph_end(stream, &graph));
    launch(graph);
    expect(kAll, one);
    expect(kOrder, three);
    update(graph, 1, [&] { ASSERT_OK(queue(kBest, two)); });
    std::ranges::fill(one.values.as<int16_t>(), int16_t{kUntouched});
    launch(graph);
    expect(kBest, two);
    expect(kOrder, three);
    EXPECT_EQ(kUntouched, one.values.as<int16_t>()[0]) << "the former output is left alone";
    // Indices go, and values come: both at once, and with other numbers in the same place.
    update(graph, 1, [&] {
        ASSERT_OK(queue(kLeast, four));
        ASSERT_OK(queue(kAll, one));
    });
    randomise(one.in.as<int16_t>(), -3, 3);
    launch(graph);
    expect(kLeast, four);
    expect(kAll, one);
    EXPECT_OK(sidra_graph_destroy(graph));
}

TEST_F(ChipGraphSort, QueuedLaunchesKeepTheirOperands) {
    std::vector<Objects> objects;
    constexpr uint32_t kLaunches = 12;
    const auto sorting = [](uint32_t i) {
        return Sorting{i % 4 + 1, 10 + i * 7, i % 3 * 4, i % 2 == 0, i % 5 != 0, true, i % 4 == 0};
    };
    for (uint32_t i = 0; i < kLaunches; ++i) objects.push_back(make(sorting(i)));
    launch_updated(kLaunches, [&](uint32_t i) { return queue(sorting(i), objects[i]); });
    for (uint32_t i = 0; i < kLaunches; ++i) expect(sorting(i), objects[i]);
}

TEST_F(ChipGraphSort, EachBufferHasToExist) {
    sidra_graph* graph = nullptr;
    Objects now = make(kBest);
    ASSERT_OK(sidra_graph_begin(stream));
    ASSERT_OK(queue(kBest, now));
    ASSERT_OK(sidra_graph_end(stream, &graph));
    for (Numbers Objects::*member : {&Objects::in, &Objects::values, &Objects::indices}) {
        launch(graph);
        expect(kBest, now);
        (now.*member).buffer.reset();
        expect_gone(graph, "buffer");
        Objects next = make(kBest);  // may well have the place of what is gone
        expect_gone(graph, "buffer");
        update(graph, 0, [&] { ASSERT_OK(queue(kBest, next)); });
        now = std::move(next);
    }
    launch(graph);
    expect(kBest, now);
    // What an update names no more is not needed.
    update(graph, 0, [&] { ASSERT_OK(queue({7, 90, 5, true, true, false, false}, now)); });
    now.indices.buffer.reset();
    launch(graph);
    EXPECT_OK(sidra_graph_destroy(graph));
}

class ChipGraphPoolAndSort : public ChipGraphPool {};

TEST_F(ChipGraphPoolAndSort, WhatIsRefusedChangesNothing) {
    const Objects pooled = make(kMaxima);
    constexpr uint32_t kCols = 50;
    const Numbers in = numbers<int32_t>(kCols, -9, 9), values = numbers<int32_t>(kCols, 0, 0);
    auto sort = SIDRA_INIT(sidra_sort);
    sort.type = SIDRA_S32;
    sort.in = in.at(), sort.values = values.at();
    sort.rows = 1, sort.cols = kCols;
    sidra_graph* graph = nullptr;
    ASSERT_OK(sidra_graph_begin(stream));
    ASSERT_OK(queue(kMaxima, pooled));
    ASSERT_OK(sidra_sort_async(stream, &sort));
    ASSERT_OK(sidra_graph_end(stream, &graph));
    const auto expect_as_before = [&] {
        std::ranges::fill(pooled.out.as<int32_t>(), kUntouched);
        std::ranges::fill(values.as<int32_t>(), kUntouched);
        launch(graph);
        expect(kMaxima, pooled);
        std::vector<int32_t> wanted(in.as<int32_t>().begin(), in.as<int32_t>().end());
        std::ranges::sort(wanted);
        EXPECT_TRUE(std::ranges::equal(wanted, values.as<int32_t>()));
    };
    const auto expect_text = [](const std::vector<std::string>& parts) {
        for (const std::string& part : parts)
            EXPECT_NE(std::string::npos, std::string(sidra_last_error()).find(part))
                << part << ": " << sidra_last_error();
    };
    const auto expect_refused = [&](uint32_t operation, const std::vector<std::string>& why, auto&& operations) {
        ASSERT_OK(sidra_graph_begin(stream));
        operations();
        EXPECT_FAILS(SIDRA_ERROR_INVALID_ARGUMENT, sidra_graph_update(graph, operation, stream));
        expect_text(why);
        expect_as_before();
    };
    const Objects other = make(kPlaces);
    auto descending = sort;
    descending.descending = true;
    expect_refused(0, {"operation 0 of graph", " is POOL, ", " SORT was recorded"},
                   [&] { EXPECT_OK(sidra_sort_async(stream, &descending)); });
    expect_refused(1, {"operation 1 of graph", " is SORT, ", " POOL was recorded"},
                   [&] { EXPECT_OK(queue(kPlaces, other)); });
    // The first one would do, the second one does not.
    expect_refused(0, {"operation 1 of graph"}, [&] {
        EXPECT_OK(queue(kPlaces, other));
        EXPECT_OK(queue(kPlaces, other));
    });
    expect_refused(1, {"no operation 2"}, [&] {
        EXPECT_OK(sidra_sort_async(stream, &descending));
        EXPECT_OK(sidra_sort_async(stream, &descending));
    });
    // A recording refuses what the call refuses, and has then nothing to put into the graph.
    expect_refused(0, {"no operation"}, [&] {
        Pooling outside = kMaxima;
        outside.side = 9;
        EXPECT_FAILS(SIDRA_ERROR_INVALID_ARGUMENT, queue(outside, pooled));
    });
    expect_refused(1, {"no operation"}, [&] {
        auto overlapping = sort;
        overlapping.values = in.at(8);
        EXPECT_FAILS(SIDRA_ERROR_INVALID_ARGUMENT, sidra_sort_async(stream, &overlapping));
    });
    // They have no program, so no parameters of one.
    EXPECT_FAILS(SIDRA_ERROR_INVALID_ARGUMENT, sidra_graph_set_param(graph, 0, 0, 1));
    expect_text({"operation 0 of graph", " POOL"});
    EXPECT_FAILS(SIDRA_ERROR_INVALID_ARGUMENT, sidra_graph_set_param(graph, 1, 0, 1));
    expect_text({"operation 1 of graph", " SORT"});
    expect_as_before();
    // A stream of another context.
    sidra_context* foreign = nullptr;
    sidra_stream* theirs = nullptr;
    ASSERT_OK(sidra_context_create(device, &foreign));
    ASSERT_OK(sidra_stream_create(foreign, nullptr, &theirs));
    {
        const Buffer memory(foreign, 4096);
        auto their_sort = sort;
        their_sort.in = memory.at(), their_sort.values = memory.at(2048);
        ASSERT_OK(sidra_graph_begin(theirs));
        ASSERT_OK(sidra_sort_async(theirs, &their_sort));
        EXPECT_FAILS(SIDRA_ERROR_WRONG_CONTEXT, sidra_graph_update(graph, 1, theirs));
    }
    expect_as_before();
    EXPECT_OK(sidra_stream_destroy(theirs));
    EXPECT_OK(sidra_context_destroy(foreign));
    EXPECT_OK(sidra_graph_destroy(graph));
}

TEST(ChipGraphPoolSortCpp, StreamsUpdatePoolsAndSorts) {
    choose_test_device();
    Device device = Device::open(0, {.profile = SIDRA_PROFILE_SMALL, .private_chip = !on_a_node()});
    Context context(device);
    Stream stream(context);
    sidra::Buffer data(context, 4096);
    const auto f32 = data.as<float>();
    const float first[] = {3, 1, 4, 1}, second[] = {5, 9, 2, 6};
    std::ranges::copy(first, f32.begin());
    std::ranges::copy(second, f32.begin() + 16);
    const auto pool = [&](size_t from) {
        sidra_pool whole{};
        whole.op = SIDRA_POOLING_AVERAGE;
        whole.windows = sidra_windows_image(data.at(from), SIDRA_F32, 1, 2, 2, 1, 2, 2);
        whole.out = data.at(2048);
        stream.pool(whole);
    };
    const auto sort = [&](size_t from) {
        sidra_sort whole{};
        whole.type = SIDRA_F32;
        whole.in = data.at(from), whole.values = data.at(1024);
        whole.rows = 1, whole.cols = 4;
        stream.sort(whole);
    };
    const Graph graph = stream.capture([&] { pool(0), sort(0); });
    const auto expect_results = [&](float average, std::vector<float> sorted) {
        stream.launch(graph);
        stream.synchronize();
        EXPECT_EQ(average, f32[512]);
        EXPECT_TRUE(std::ranges::equal(sorted, f32.subspan(256, 4)));
    };
    expect_results(2.25f, {1, 1, 3, 4});
    stream.update(graph, 0, [&] { pool(64); });
    expect_results(5.5f, {1, 1, 3, 4});
    stream.update(graph, 1, [&] { sort(64); });
    expect_results(5.5f, {2, 5, 6, 9});
    EXPECT_THROW(stream.update(graph, 0, [&] { sort(0); }), Error);
    expect_results(5.5f, {2, 5, 6, 9});
}

}  // namespace
}  // namespace sidra::test
