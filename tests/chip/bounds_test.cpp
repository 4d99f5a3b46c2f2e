// SPDX-License-Identifier: MIT
// Bounds on one packet and on one slice: counts of slices, of mappings and of calls to the host, never times.
#include <algorithm>
#include <atomic>

#include "bench.h"
#include "packets.h"

namespace sidra::chip_test {
namespace {

// ---- Slices ---------------------------------------------------------------------------------------------------------

// A pooling that needs 2^26 comparisons for a single row of output.
TEST(Bounds, LongRowOfAPoolingIsManySlices) {
    Bench bench({.pages = 16384});
    Context& context = bench.context();
    Queue& queue = context.queue();
    Queue& other = context.queue();
    constexpr uint32_t kWindows = 1024;
    sidra_pattern pattern{};
    pattern.type = SIDRA_TYPE_U8, pattern.channels = 1;
    pattern.height = pattern.kernel_h = pattern.kernel_w = 256, pattern.width = kWindows + 255;
    pattern.stride_h = pattern.stride_w = pattern.dilation_h = pattern.dilation_w = 1;
    pattern.pixel_stride = 1, pattern.row_stride = pattern.width;
    const uint64_t bytes = uint64_t{pattern.height} * pattern.width;
    const uint64_t in = context.alloc(bytes), out = context.alloc(kWindows);
    uint8_t largest = 0xa7;
    context.write(in + bytes - 1, &largest, 1);
    pattern.addr = in;
    sidra_cmd pool = blank(SIDRA_CMD_POOL);
    pool.pool.op = SIDRA_POOL_MAX;
    pool.pool.pattern = context.put(std::vector<sidra_pattern>{pattern});
    pool.pool.out = out;
    pool.pool.size[0] = pool.pool.size[1] = 1, pool.pool.size[2] = kWindows;
    pool.pool.out_stride[2] = 1;
    queue.submit(pool);
    // Another queue is ready before every slice.
    unsigned slices = 0;
    while (queue.timeline() == 0 && slices < 100'000) {
        other.submit(nop());
        bench.run_once();
        slices++;
    }
    bench.run();
    EXPECT_TRUE(retired(queue));
    constexpr uint64_t kOperations = uint64_t{kWindows} * 256 * 256;
    EXPECT_GE(slices, kOperations >> 22) << "none had more than 2^22 of them";
    const auto got = context.get<uint8_t>(out, kWindows);
    for (uint32_t x = 0; x < kWindows; x++) ASSERT_EQ(got[x], x + 1 == kWindows ? largest : 0) << x;
}

// ---- Calls to the host ----------------------------------------------------------------------------------------------

uint64_t host_calls(Bench& bench) {
    const uint64_t before = bench.bus().calls();
    bench.run();
    return bench.bus().calls() - before;
}

TEST(Bounds, CallCostsNoMoreHostCallsThanTheRing) {
    constexpr uint32_t kPackets = 4000;
    Bench bench;
    Context& context = bench.context();
    Queue& queue = context.queue({.log2 = 12, .reports = false});
    std::vector<sidra_cmd> body(kPackets);
    for (sidra_cmd& cmd : body) cmd = nop();
    const uint64_t at = context.put(body);
    queue.submit(nop());
    bench.run();
    for (const sidra_cmd& cmd : body) queue.push(cmd);
    queue.publish();
    queue.doorbell();
    const uint64_t by_ring = host_calls(bench);
    queue.submit(call(at, kPackets));
    const uint64_t by_call = host_calls(bench);
    EXPECT_TRUE(retired(queue));
    EXPECT_EQ(bench.telemetry().call_packets, kPackets);
    EXPECT_LE(by_call, by_ring + 8) << "a page of packets is mapped once, wherever they are";
}

// A jump back to the first page is another mapping, and not more than that.
TEST(Bounds, ManyShortCallsMapWhatTheyCallOnce) {
    Bench bench;
    Context& context = bench.context();
    Queue& queue = context.queue({.log2 = 8, .reports = false});
    std::vector<sidra_cmd> body(16);
    for (sidra_cmd& cmd : body) cmd = nop();
    const uint64_t at = context.put(body);
    queue.submit(nop());
    bench.run();
    for (unsigned i = 0; i < 200; i++) queue.push(call(at, 16));
    queue.publish();
    queue.doorbell();
    EXPECT_LE(host_calls(bench), 60u);
    EXPECT_TRUE(retired(queue));
}

TEST(Bounds, TimestampsHoldNoMappings) {
    Bench bench;
    Context& context = bench.context();
    Queue& queue = context.queue({.log2 = 12, .reports = false});
    constexpr uint32_t kStamps = 3000;
    const uint64_t at = context.alloc(kStamps * sizeof(sidra_timestamp));
    for (uint32_t i = 0; i < kStamps; i++) queue.push(timestamp(at + i * sizeof(sidra_timestamp)));
    queue.publish();
    int64_t most = 0;
    bench.set_dma_hook([&](uint64_t) { most = std::max(most, bench.bus().live_maps()); });
    queue.doorbell();
    bench.run();
    bench.set_dma_hook(nullptr);
    EXPECT_TRUE(retired(queue));
    EXPECT_LE(most, 8) << "at once";
}

// ---- Memory ---------------------------------------------------------------------------------------------------------

// A guest's kernel may fill a weights table with objects that span the whole chip. Those that were evicted from the
// cache are read again.
TEST(Bounds, CachedWeightsHaveABudget) {
    constexpr uint32_t kObjects = 40, kTiles = 8;
    Bench bench({.pages = 16384});
    Context& context = bench.context();
    Queue& queue = context.queue({.log2 = 8, .reports = false});
    std::vector<uint32_t> all(kTiles);
    for (uint32_t i = 0; i < kTiles; i++) all[i] = i;
    ASSERT_EQ(bench.crossbars_total(), kTiles);
    std::vector<uint32_t> objects;
    for (uint32_t i = 0; i < kObjects; i++)
        objects.push_back(context.weights({.rows = 256, .cols = 256 * kTiles, .crossbars = all}));
    const uint64_t data = context.alloc(kPage);
    // All objects name the same crossbars, which the last one owns. Whether the others fault depends on the operation;
    // reading the table is enough here.
    const auto use_all = [&] {
        for (const uint32_t object : objects) queue.push(program(object, 0, 1, 0, 256, data, 256));
        queue.publish();
        queue.doorbell();
        return host_calls(bench);
    };
    use_all();
    ASSERT_TRUE(retired(queue));
    const uint64_t again = use_all();
    ASSERT_TRUE(retired(queue));
    // Each one that is read again costs the eight words of its entry, and its list of tiles.
    EXPECT_GE(again, (kObjects - 4) * 8) << "hardly any was kept";
    EXPECT_LE(again, kObjects * 40 + 100);
}

}  // namespace
}  // namespace sidra::chip_test
