// SPDX-License-Identifier: MIT
// Pooling and sorting without a chip: the packets and patterns of their calls, and everything that is refused. With the
// fake driver.
#include <algorithm>
#include <array>
#include <cstring>
#include <functional>
#include <string>
#include <vector>

#include "fake_fixture.h"
#include "memory.h"
#include "stream.h"

namespace sidra::test {
namespace {

class PoolSort : public FakeTest {
   protected:
    void SetUp() override {
        FakeTest::SetUp();
        ASSERT_OK(sidra_buffer_create(context, kBufferSize, 0, &second));
        ASSERT_OK(sidra_buffer_register(context, memory, sizeof memory, true, &readonly));
        base = address_of(buffer);
        second_base = address_of(second);
        // Two images of 7 x 9 pixels of 4 channels, windows of 3 x 2.
        pool.op = SIDRA_POOLING_MAX;
        pool.windows = sidra_windows_image(at(0), SIDRA_S16, 2, 7, 9, 4, 3, 2);
        pool.windows.pad_h = 1, pool.windows.stride_w = 2;
        sidra_windows_fit(&pool.windows);
        pool.out = {second, 64};
        sort.type = SIDRA_F32, sort.index_type = SIDRA_S64;
        sort.in = at(0), sort.values = at(8192), sort.indices = {second, 0};
        sort.rows = 5, sort.cols = 100, sort.count = 10;
    }
    void TearDown() override {
        EXPECT_OK(sidra_buffer_destroy(readonly));
        EXPECT_OK(sidra_buffer_destroy(second));
        FakeTest::TearDown();
    }
    uint64_t address_of(sidra_buffer* of) {
        EXPECT_OK(sidra_timestamp_async(stream, {of, 0}));
        return last_packet().timestamp.addr;
    }
    sidra_pattern pattern_at(uint64_t address) {
        const DeviceMemory& tables = *HandleTable<sidra_stream>::find(parts_of(stream))->tables;
        sidra_pattern pattern;
        EXPECT_GE(address, tables.address());
        EXPECT_LE(address + sizeof pattern, tables.address() + tables.size());
        std::memcpy(&pattern, tables.host() + (address - tables.address()), sizeof pattern);
        return pattern;
    }
    // A call that is changed so fails with a text that has this part, and leaves no packet.
    template <typename Call, typename Struct>
    void refuses(Call&& call, Struct& changed, const std::function<void()>& change, const std::string& part,
                 sidra_status status = SIDRA_ERROR_INVALID_ARGUMENT) {
        const Struct before = changed;
        change();
        uint64_t first = 0, last = 0;
        EXPECT_OK(sidra_stream_timeline(stream, &first, nullptr));
        EXPECT_FAILS(status, call(stream, &changed));
        const std::string text = sidra_last_error();
        EXPECT_NE(std::string::npos, text.find(part)) << part << "\n" << text;
        EXPECT_OK(sidra_stream_timeline(stream, &last, nullptr));
        EXPECT_EQ(first, last) << text;
        changed = before;
    }

    alignas(64) unsigned char memory[4096] = {};
    sidra_buffer *second = nullptr, *readonly = nullptr;
    uint64_t base = 0, second_base = 0;
    sidra_pool pool = SIDRA_INIT(sidra_pool);
    sidra_sort sort = SIDRA_INIT(sidra_sort);
};

TEST_F(PoolSort, ThePacketOfAPool) {
    pool.cookie = 8;
    ASSERT_OK(sidra_pool_async(stream, &pool));
    const sidra_cmd_pool packet = last_packet().pool;
    EXPECT_EQ(SIDRA_CMD_POOL, packet.hdr.opcode);
    EXPECT_EQ(0, packet.hdr.flags);
    EXPECT_EQ(0, packet.hdr.pad);
    EXPECT_EQ(8u, packet.hdr.cookie);
    EXPECT_EQ(SIDRA_POOL_MAX, packet.op);
    EXPECT_EQ(second_base + 64, packet.out);
    EXPECT_EQ(2u, packet.size[0]);
    EXPECT_EQ(7u, packet.size[1]);
    EXPECT_EQ(4u, packet.size[2]);
    EXPECT_EQ(7u * 4 * 8, packet.out_stride[0]);
    EXPECT_EQ(4u * 8, packet.out_stride[1]);
    EXPECT_EQ(8u, packet.out_stride[2]);
    const sidra_pattern pattern = pattern_at(packet.pattern);
    EXPECT_EQ(base, pattern.addr);
    EXPECT_EQ(SIDRA_TYPE_S16, pattern.type);
    EXPECT_EQ(0, pattern.codes) << "not of a layer";
    EXPECT_EQ(0, pattern.zero);
    EXPECT_EQ(8u, pattern.pixel_stride);
    EXPECT_EQ(9u * 8, pattern.row_stride);
    EXPECT_EQ(7u * 9 * 8, pattern.image_stride);
    EXPECT_EQ(7u, pattern.height);
    EXPECT_EQ(9u, pattern.width);
    EXPECT_EQ(3, pattern.kernel_h);
    EXPECT_EQ(2, pattern.kernel_w);
    EXPECT_EQ(1, pattern.stride_h);
    EXPECT_EQ(2, pattern.stride_w);
    EXPECT_EQ(1, pattern.pad_h);
    EXPECT_EQ(0, pattern.pad_w);
    EXPECT_EQ(1, pattern.dilation_h);
    EXPECT_EQ(1, pattern.dilation_w);
    EXPECT_EQ(4u, pattern.channels);

    // Channels first, and images between the pixels; the positions are S32.
    pool.op = SIDRA_POOLING_ARGMAX;
    pool.out_stride[0] = 16, pool.out_stride[1] = 4 * 32, pool.out_stride[2] = 32;
    ASSERT_OK(sidra_pool_async(stream, &pool));
    EXPECT_EQ(SIDRA_POOL_ARGMAX, last_packet().pool.op);
    EXPECT_EQ(16u, last_packet().pool.out_stride[0]);
    EXPECT_EQ(128u, last_packet().pool.out_stride[1]);
    EXPECT_EQ(32u, last_packet().pool.out_stride[2]);
    for (const auto& [mine, theirs] :
         {std::pair{SIDRA_POOLING_AVERAGE, SIDRA_POOL_AVERAGE}, {SIDRA_POOLING_AVERAGE_ALL, SIDRA_POOL_AVERAGE_ALL}}) {
        pool.op = mine, pool.windows.type = SIDRA_BF16;
        ASSERT_OK(sidra_pool_async(stream, &pool));
        EXPECT_EQ(theirs, last_packet().pool.op);
    }
}

TEST_F(PoolSort, WhatAPoolRefuses) {
    const auto with = [&](const std::function<void()>& change, const std::string& part,
                          sidra_status status = SIDRA_ERROR_INVALID_ARGUMENT) {
        refuses(sidra_pool_async, pool, change, part, status);
    };
    sidra_windows& w = pool.windows;
    ASSERT_OK(sidra_pool_async(stream, &pool));
    for (const int op : {0, 5, -1}) with([&] { pool.op = static_cast<sidra_pool_operation>(op); }, "op is ");
    for (const sidra_type type : {SIDRA_S64, SIDRA_BOOL})
        with([&] { w.type = type; }, "a maximum needs a type other than these");
    for (const sidra_type type : {SIDRA_U8, SIDRA_S8, SIDRA_S16, SIDRA_S32, SIDRA_S64, SIDRA_BOOL})
        with([&] { pool.op = SIDRA_POOLING_AVERAGE, w.type = type; }, "an average needs F32, F16 or BF16");
    with([&] { w.type = static_cast<sidra_type>(9); }, "windows.type is 9");
    with([&] { w.images = 0; }, "windows.images is 0");
    with([&] { w.kernel_w = 257; }, "windows.kernel_w is 257");
    with([&] { w.stride_h = 65536; }, "windows.stride_h is 65536");
    with([&] { w.pixel_stride = 7; }, "a stride of `windows` is 7");
    with([&] { w.at.offset = kBufferSize - 8; }, "windows.at");
    with([&] { w.at.offset = 1; }, "2-byte aligned");
    with([&] { w = sidra_windows_image(at(0), SIDRA_U8, 1, 1, 1, 1u << 14, 9, 9), w.rows = w.columns = 1; },
         "has 1327104 elements: at most 1048576");
    with(
        [&] {
            pool.op = SIDRA_POOLING_ARGMAX;
            w = sidra_windows_matrix(at(0), SIDRA_U8, 1, 1);
            w.height = w.width = 1u << 16;
            w.pixel_stride = w.row_stride = w.image_stride = 0;
        },
        "windows.at");  // an image that large fits into no buffer here
    with([&] { pool.out = at(7 * 9 * 8 * 2 - 8); }, "`out` (offset 1000) reaches into");
    with([&] { pool.out.offset = kBufferSize - 8; }, "`out` needs 448 bytes");
    with([&] { pool.out.offset = 3; }, "2-byte aligned");
    with([&] { pool.out = {readonly, 0}; }, "`out` is written", SIDRA_ERROR_PERMISSION);
    with([&] { pool.out_stride[1] = 33; }, "out_stride[1] is 33: must be a multiple of 2");
    with([&] { pool.out_stride[2] = 6; }, "out_stride[2] is 6: neighbouring windows would overlap");
    with([&] { pool.out_stride[1] = 30; }, "out_stride[1] is 30: neighbouring rows of windows would overlap");
    with([&] { pool.out_stride[0] = 222; }, "out_stride[0] is 222: neighbouring images would overlap");
    with([&] { pool.out_stride[0] = SIZE_MAX - 1; }, "`out` needs more than 2^64 bytes");
    with([&] { pool.struct_size = 8; }, "struct_size of `sidra_pool` is 8");
    pool.out = at(7 * 9 * 8 * 2);
    EXPECT_OK(sidra_pool_async(stream, &pool)) << "right behind the images";
    w.images = w.rows = w.columns = 1;
    pool.out_stride[0] = pool.out_stride[1] = pool.out_stride[2] = 2;
    EXPECT_OK(sidra_pool_async(stream, &pool)) << "no dimension has a step";
}

// By trying each pixel of each window.
TEST_F(PoolSort, EachWindowHasAPixel) {
    uint32_t accepted = 0, refused = 0;
    for (uint32_t size = 1; size <= 4; ++size)
        for (uint32_t kernel = 1; kernel <= 3; ++kernel)
            for (uint32_t step = 1; step <= 3; ++step)
                for (uint32_t pad = 0; pad <= 8; ++pad)
                    for (uint32_t dilation = 1; dilation <= 6; ++dilation)
                        for (uint32_t count = 1; count <= 6; ++count) {
                            bool good = true;
                            for (uint32_t n = 0; n < count; ++n) {
                                bool pixel = false;
                                for (uint32_t i = 0; i < kernel; ++i) {
                                    const int64_t place = int64_t{n} * step + int64_t{i} * dilation - pad;
                                    pixel |= place >= 0 && place < size;
                                }
                                good &= pixel;
                            }
                            for (const bool rows : {false, true}) {
                                sidra_windows& w = pool.windows;
                                w = sidra_windows_image(at(0), SIDRA_U8, 1, 1, 1, 1, 1, 1);
                                (rows ? w.rows : w.columns) = count;
                                (rows ? w.height : w.width) = size;
                                (rows ? w.kernel_h : w.kernel_w) = kernel;
                                (rows ? w.stride_h : w.stride_w) = step;
                                (rows ? w.pad_h : w.pad_w) = pad;
                                (rows ? w.dilation_h : w.dilation_w) = dilation;
                                const sidra_status status = sidra_pool_async(stream, &pool);
                                ASSERT_EQ(good, status == SIDRA_OK)
                                    << size << " " << kernel << " " << step << " " << pad << " " << dilation << " "
                                    << count << " " << sidra_last_error();
                                ++(good ? accepted : refused);
                                if (good) continue;
                                const std::string text = sidra_last_error();
                                ASSERT_NE(std::string::npos, text.find("has no pixel of the image")) << text;
                            }
                        }
    EXPECT_GT(accepted, 1000u);
    EXPECT_GT(refused, 1000u);
}

TEST_F(PoolSort, ThePacketOfASort) {
    sort.descending = true;
    sort.cookie = 3;
    sort.in_stride = 404;
    ASSERT_OK(sidra_sort_async(stream, &sort));
    const sidra_cmd_sort packet = last_packet().sort;
    EXPECT_EQ(SIDRA_CMD_SORT, packet.opcode);
    EXPECT_EQ(SIDRA_SORT_DESCENDING, packet.flags);
    EXPECT_EQ(SIDRA_TYPE_F32, packet.type);
    EXPECT_EQ(SIDRA_TYPE_S64, packet.index_type);
    EXPECT_EQ(3u, packet.cookie);
    EXPECT_EQ(base, packet.in);
    EXPECT_EQ(base + 8192, packet.values);
    EXPECT_EQ(second_base, packet.indices);
    EXPECT_EQ(404u, packet.in_stride);
    EXPECT_EQ(40u, packet.values_stride);
    EXPECT_EQ(80u, packet.indices_stride);
    EXPECT_EQ(5u, packet.rows);
    EXPECT_EQ(100u, packet.cols);
    EXPECT_EQ(10u, packet.count);
    EXPECT_EQ(0u, packet.reserved);

    sort.values = {};
    sort.descending = false;
    sort.count = 0;
    sort.index_type = SIDRA_S32;
    ASSERT_OK(sidra_sort_async(stream, &sort));
    EXPECT_EQ(0, last_packet().sort.flags);
    EXPECT_EQ(0u, last_packet().sort.values);
    EXPECT_EQ(0u, last_packet().sort.values_stride);
    EXPECT_EQ(100u, last_packet().sort.count) << "all";
    EXPECT_EQ(400u, last_packet().sort.indices_stride);

    sort.indices = {}, sort.index_type = static_cast<sidra_type>(0);
    sort.values = at(8192);
    ASSERT_OK(sidra_sort_async(stream, &sort));
    EXPECT_EQ(0u, last_packet().sort.indices);
    EXPECT_EQ(0u, last_packet().sort.indices_stride);
    EXPECT_EQ(0, last_packet().sort.index_type);
}

TEST_F(PoolSort, WhatASortRefuses) {
    const auto with = [&](const std::function<void()>& change, const std::string& part,
                          sidra_status status = SIDRA_ERROR_INVALID_ARGUMENT) {
        refuses(sidra_sort_async, sort, change, part, status);
    };
    ASSERT_OK(sidra_sort_async(stream, &sort));
    with([&] { sort.type = static_cast<sidra_type>(9); }, "type is 9: not a sidra_type");
    for (const uint32_t rows : {0u, (1u << 24) + 1})
        with([&] { sort.rows = rows; }, "rows is " + std::to_string(rows) + ": must be 1..16777216");
    for (const uint32_t cols : {0u, 65537u})
        with([&] { sort.cols = cols; }, "cols is " + std::to_string(cols) + ": must be 1..65536");
    with([&] { sort.count = 101; }, "count is 101: must be 0..100");
    with([&] { sort.values = sort.indices = {}; }, "values.buffer and indices.buffer are NULL");
    for (const sidra_type type : {SIDRA_U8, SIDRA_F32, SIDRA_S16})
        with([&] { sort.index_type = type; }, "must be S32 or S64");
    with([&] { sort.indices = {}; }, "index_type is S64: must be 0 without indices");
    with([&] { sort.values = {nullptr, 4}; }, "values.buffer is NULL, but its offset or stride is not 0");
    with([&] { sort.values = {}, sort.values_stride = 40; }, "values.buffer is NULL, but its offset or stride");
    with([&] { sort.indices = {nullptr, 8}, sort.index_type = SIDRA_U8; }, "indices.buffer is NULL, but its offset");
    with([&] { sort.in_stride = 396; }, "in_stride is 396");
    with([&] { sort.in_stride = 402; }, "in_stride is 402: must be a multiple of 4");
    with([&] { sort.values_stride = 36; }, "values_stride is 36");
    with([&] { sort.indices_stride = 84; }, "indices_stride is 84: must be a multiple of 8");
    with([&] { sort.indices_stride = size_t{1} << 32; }, "indices_stride is 4294967296");
    with([&] { sort.in.offset = kBufferSize - 1996; }, "`in` needs 2000 bytes");
    with([&] { sort.values.offset = kBufferSize - 196; }, "`values` needs 200 bytes");
    with([&] { sort.indices.offset = kBufferSize - 392; }, "`indices` needs 400 bytes");
    with([&] { sort.in.offset = 2; }, "4-byte aligned");
    with([&] { sort.indices.offset = 4; }, "8-byte aligned");
    with([&] { sort.values = {readonly, 0}; }, "`values` is written", SIDRA_ERROR_PERMISSION);
    with([&] { sort.indices = {readonly, 0}; }, "`indices` is written", SIDRA_ERROR_PERMISSION);
    with([&] { sort.values.offset = 1996; },
         "`values` reaches into what lies between the first and the last byte of `in`");
    with([&] { sort.indices = at(1992); },
         "`indices` reaches into what lies between the first and the last byte of `in`");
    with([&] { sort.indices = at(8192 + 192); },
         "`indices` reaches into what lies between the first and the last byte of `values`");
    with([&] { sort.struct_size = 8; }, "struct_size of `sidra_sort` is 8");
    sort.values = at(2000);
    EXPECT_OK(sidra_sort_async(stream, &sort)) << "right behind the input";
}

// Graphs name what their operations use, and keep their patterns.
TEST_F(PoolSort, InGraphs) {
    sort.indices = {}, sort.index_type = static_cast<sidra_type>(0);
    for (const int which : {0, 1, 2, 3}) {
        sidra_buffer* gone = nullptr;
        ASSERT_OK(sidra_buffer_create(context, kBufferSize, 0, &gone));
        sidra_pool its_pool = pool;
        sidra_sort its_sort = sort;
        if (which == 0) its_pool.windows.at = {gone, 64};
        if (which == 1) its_pool.out = {gone, 64};
        if (which == 2) its_sort.in = {gone, 64};
        if (which == 3) its_sort.values = {gone, 64};
        sidra_graph* graph = nullptr;
        ASSERT_OK(sidra_graph_begin(stream));
        ASSERT_OK(sidra_pool_async(stream, &its_pool));
        ASSERT_OK(sidra_sort_async(stream, &its_sort));
        ASSERT_OK(sidra_graph_end(stream, &graph));
        uint32_t operations = 0;
        ASSERT_OK(sidra_graph_operations(graph, &operations));
        EXPECT_EQ(2u, operations);
        ASSERT_OK(sidra_graph_launch_async(stream, graph));
        ASSERT_OK(sidra_buffer_destroy(gone));
        EXPECT_FAILS(SIDRA_ERROR_INVALID_HANDLE, sidra_graph_launch_async(stream, graph));
        EXPECT_OK(sidra_graph_destroy(graph));
    }
}

}  // namespace
}  // namespace sidra::test
