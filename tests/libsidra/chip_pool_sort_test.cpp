// SPDX-License-Identifier: MIT
// Values of pooling and sorting on a chip, against plain loops.
#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <numeric>
#include <vector>

#include "chip_fixture.h"

namespace sidra::test {
namespace {

class ChipPoolSort : public ChipTest {
   protected:
    uint32_t one_to(uint32_t most) { return std::uniform_int_distribution<uint32_t>(1, most)(random); }

    // Pools images of random geometry. Elements are small integers, so that there are equal ones, and sums are exact.
    template <typename T>
    void pool_any(sidra_type type, sidra_pool_operation op) {
        const Buffer images(context, 1 << 16), out(context, 1 << 16);
        auto pool = SIDRA_INIT(sidra_pool);
        pool.op = op;
        sidra_windows& w = pool.windows;
        w = sidra_windows_image(images.at(), type, one_to(2), 2 + one_to(9), 2 + one_to(9), one_to(20), one_to(3),
                                one_to(3));
        w.stride_h = one_to(3), w.stride_w = one_to(3);
        w.pad_h = w.kernel_h / 2, w.pad_w = w.kernel_w / 2;
        if (w.kernel_h < 3) w.dilation_h = one_to(2);
        sidra_windows_fit(&w);
        pool.out = out.at();
        randomise(images.as<T>(), 0, 30);
        ASSERT_OK(sidra_pool_async(stream, &pool));
        synchronize();
        const auto in = images.as<T>();
        size_t at = 0;
        for (uint32_t image = 0; image < w.images; ++image)
            for (uint32_t y = 0; y < w.rows; ++y)
                for (uint32_t x = 0; x < w.columns; ++x)
                    for (uint32_t c = 0; c < w.channels; ++c, ++at) {
                        float largest = -1, sum = 0;
                        int32_t place = 0, count = 0;
                        for (uint32_t i = 0; i < w.kernel_h; ++i)
                            for (uint32_t j = 0; j < w.kernel_w; ++j) {
                                const int64_t row = int64_t{y} * w.stride_h + i * w.dilation_h - w.pad_h;
                                const int64_t pixel = int64_t{x} * w.stride_w + j * w.dilation_w - w.pad_w;
                                if (row < 0 || row >= w.height || pixel < 0 || pixel >= w.width) continue;
                                const int64_t number = row * w.width + pixel;
                                const auto value = static_cast<float>(
                                    in[static_cast<size_t>(image * int64_t{w.height} * w.width + number) * w.channels +
                                       c]);
                                if (value > largest) largest = value, place = static_cast<int32_t>(number);
                                sum += value;
                                ++count;
                            }
                        SCOPED_TRACE(testing::Message() << "type " << type << ", op " << op << ", element " << at);
                        const auto all = static_cast<float>(w.kernel_h * w.kernel_w);
                        if (op == SIDRA_POOLING_ARGMAX) ASSERT_EQ(place, out.as<int32_t>()[at]);
                        else if (op == SIDRA_POOLING_MAX) ASSERT_EQ(static_cast<T>(largest), out.as<T>()[at]);
                        else
                            ASSERT_EQ(
                                static_cast<T>(sum / (op == SIDRA_POOLING_AVERAGE ? static_cast<float>(count) : all)),
                                out.as<T>()[at]);
                    }
    }

    // Sorts rows of values of which many are equal.
    template <typename T>
    void sort_any(sidra_type type) {
        const uint32_t rows = one_to(20), cols = one_to(300);
        const Buffer in(context, rows * (cols + 3) * sizeof(T)), values(context, rows * (cols + 2) * sizeof(T)),
            indices(context, rows * (cols + 1) * sizeof(int64_t));
        randomise(in.as<T>(), type == SIDRA_U8 || type == SIDRA_BOOL ? 0 : -30, type == SIDRA_BOOL ? 1 : 30);
        auto sort = SIDRA_INIT(sidra_sort);
        sort.type = type, sort.index_type = one_to(2) == 1 ? SIDRA_S32 : SIDRA_S64;
        sort.in = in.at(), sort.values = values.at(), sort.indices = indices.at();
        sort.in_stride = (cols + 3) * sizeof(T);
        sort.rows = rows, sort.cols = cols;
        sort.descending = one_to(2) == 1;
        sort.count = one_to(3) == 1 ? 0 : one_to(cols);
        ASSERT_OK(sidra_sort_async(stream, &sort));
        synchronize();
        const uint32_t count = sort.count != 0 ? sort.count : cols;
        for (uint32_t row = 0; row < rows; ++row) {
            const auto elements = in.as<T>().subspan(size_t{row} * (cols + 3), cols);
            std::vector<uint32_t> order(cols);
            std::iota(order.begin(), order.end(), 0u);
            std::stable_sort(order.begin(), order.end(), [&](uint32_t a, uint32_t b) {
                return sort.descending ? elements[a] > elements[b] : elements[a] < elements[b];
            });
            for (uint32_t i = 0; i < count; ++i) {
                SCOPED_TRACE(testing::Message() << "type " << type << ", row " << row << ", number " << i);
                const size_t at = size_t{row} * count + i;
                ASSERT_EQ(elements[order[i]], values.as<T>()[at]);
                ASSERT_EQ(order[i],
                          sort.index_type == SIDRA_S64 ? indices.as<int64_t>()[at] : indices.as<int32_t>()[at]);
            }
        }
    }
};

TEST_F(ChipPoolSort, PoolsOfAllTypes) {
    for (int round = 0; round < 5; ++round)
        for (const sidra_pool_operation op : {SIDRA_POOLING_MAX, SIDRA_POOLING_ARGMAX}) {
            pool_any<uint8_t>(SIDRA_U8, op);
            pool_any<int8_t>(SIDRA_S8, op);
            pool_any<int16_t>(SIDRA_S16, op);
            pool_any<int32_t>(SIDRA_S32, op);
            pool_any<float>(SIDRA_F32, op);
        }
    for (int round = 0; round < 10; ++round)
        for (const sidra_pool_operation op : {SIDRA_POOLING_AVERAGE, SIDRA_POOLING_AVERAGE_ALL})
            pool_any<float>(SIDRA_F32, op);
}

TEST_F(ChipPoolSort, SortsOfAllTypes) {
    for (int round = 0; round < 10; ++round) {
        sort_any<uint8_t>(SIDRA_U8);
        sort_any<int8_t>(SIDRA_S8);
        sort_any<int16_t>(SIDRA_S16);
        sort_any<int32_t>(SIDRA_S32);
        sort_any<int64_t>(SIDRA_S64);
        sort_any<uint8_t>(SIDRA_BOOL);
        sort_any<float>(SIDRA_F32);
    }
}

TEST_F(ChipPoolSort, NanIsTheLargest) {
    const Buffer data(context, 4096);
    const float nan = std::numeric_limits<float>::quiet_NaN(), infinity = std::numeric_limits<float>::infinity();
    const float row[] = {1, nan, -0.0f, 0.0f, infinity, -1, nan};
    std::copy(std::begin(row), std::end(row), data.as<float>().data());
    auto sort = SIDRA_INIT(sidra_sort);
    sort.type = SIDRA_F32, sort.index_type = SIDRA_S32;
    sort.in = data.at(), sort.indices = data.at(1024);
    sort.rows = 1, sort.cols = 7;
    const auto expect = [&](const std::vector<int32_t>& order) {
        ASSERT_OK(sidra_sort_async(stream, &sort));
        synchronize();
        const auto found = data.as<int32_t>().subspan(256, order.size());
        EXPECT_TRUE(std::equal(order.begin(), order.end(), found.begin()));
    };
    expect({5, 2, 3, 0, 4, 1, 6});
    sort.descending = true;
    expect({1, 6, 4, 0, 2, 3, 5});
    sort.count = 3;
    expect({1, 6, 4});

    auto pool = SIDRA_INIT(sidra_pool);
    pool.windows = sidra_windows_image(data.at(), SIDRA_F32, 1, 1, 7, 1, 1, 3);
    pool.out = data.at(1024);
    pool.op = SIDRA_POOLING_MAX;
    ASSERT_OK(sidra_pool_async(stream, &pool));
    synchronize();
    const auto out = data.as<float>().subspan(256);
    EXPECT_TRUE(std::isnan(out[0]) && std::isnan(out[1]) && std::isnan(out[4]));
    EXPECT_EQ(infinity, out[2]);
    EXPECT_EQ(infinity, out[3]);
    pool.op = SIDRA_POOLING_ARGMAX;
    ASSERT_OK(sidra_pool_async(stream, &pool));
    synchronize();
    const int32_t places[] = {1, 1, 4, 4, 6};
    EXPECT_EQ(0, std::memcmp(places, out.data(), sizeof places));
}

// A top-k of the maxima of a picture, as one graph.
TEST_F(ChipPoolSort, InAGraph) {
    const Buffer image(context, 4096), maxima(context, 4096), best(context, 4096);
    auto pool = SIDRA_INIT(sidra_pool);
    pool.op = SIDRA_POOLING_MAX;
    pool.windows = sidra_windows_image(image.at(), SIDRA_U8, 1, 8, 8, 1, 2, 2);
    pool.windows.stride_h = pool.windows.stride_w = 2;
    sidra_windows_fit(&pool.windows);
    pool.out = maxima.at();
    auto sort = SIDRA_INIT(sidra_sort);
    sort.type = SIDRA_U8;
    sort.in = maxima.at(), sort.values = best.at();
    sort.rows = 1, sort.cols = 16, sort.count = 3;
    sort.descending = true;
    sidra_graph* graph = nullptr;
    ASSERT_OK(sidra_graph_begin(stream));
    ASSERT_OK(sidra_pool_async(stream, &pool));
    ASSERT_OK(sidra_sort_async(stream, &sort));
    ASSERT_OK(sidra_graph_end(stream, &graph));
    for (int round = 0; round < 3; ++round) {
        randomise(image.as(), 0, 255);
        ASSERT_OK(sidra_graph_launch_async(stream, graph));
        synchronize();
        std::vector<uint8_t> wanted;
        for (size_t y = 0; y < 8; y += 2)
            for (size_t x = 0; x < 8; x += 2) {
                const auto pixel = [&](size_t i, size_t j) { return image.as()[(y + i) * 8 + x + j]; };
                wanted.push_back(std::max({pixel(0, 0), pixel(0, 1), pixel(1, 0), pixel(1, 1)}));
            }
        std::sort(wanted.rbegin(), wanted.rend());
        for (size_t i = 0; i < 3; ++i) ASSERT_EQ(wanted[i], best.as()[i]);
    }
    EXPECT_OK(sidra_graph_destroy(graph));
}

}  // namespace
}  // namespace sidra::test
