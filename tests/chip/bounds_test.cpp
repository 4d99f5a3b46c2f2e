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
    sidra_vec_pool geometry{};
    geometry.in_h = 256, geometry.in_w = 1024 + 255, geometry.out_h = 1, geometry.out_w = 1024;
    geometry.kernel_h = geometry.kernel_w = 256, geometry.stride_h = geometry.stride_w = 1;
    const uint64_t bytes = uint64_t{geometry.in_h} * geometry.in_w;
    const uint64_t in = context.alloc(bytes), out = context.alloc(geometry.out_w);
    uint8_t largest = 0xa7;
    context.write(in + bytes - 1, &largest, 1);
    sidra_cmd pool = vec(SIDRA_VEC_OP_POOL_MAX, SIDRA_TYPE_U8, SIDRA_TYPE_U8, 1, 1, in, out);
    pool.vec.in2 = context.put(std::vector<sidra_vec_pool>{geometry});
    pool.vec.in_stride = geometry.in_w;
    pool.vec.out_stride = geometry.out_w;
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
    constexpr uint64_t kOperations = uint64_t{1024} * 256 * 256;
    EXPECT_GE(slices, kOperations >> 22) << "none had more than 2^22 of them";
    const auto got = context.get<uint8_t>(out, geometry.out_w);
    for (uint32_t x = 0; x < geometry.out_w; x++) ASSERT_EQ(got[x], x + 1 == geometry.out_w ? largest : 0) << x;
}

// 2^24 rows of 65,535 pixels with 256 x 256 kernels: more than 2^64 operations, a count that once overflowed to zero.
TEST(Bounds, PoolingBeyondAllMeasureIsRefused) {
    Bench bench;
    Context& context = bench.context();
    Queue& queue = context.queue();
    sidra_vec_pool geometry{};
    geometry.in_h = 255, geometry.in_w = 65535, geometry.out_h = 256, geometry.out_w = 65535;
    geometry.kernel_h = geometry.kernel_w = 256, geometry.stride_h = geometry.stride_w = 1;
    geometry.pad_h = geometry.pad_w = 255;
    const uint64_t in2 = context.put(std::vector<sidra_vec_pool>{geometry});
    for (const uint32_t channels : {256u, 64u, 16u}) {
        sidra_cmd pool = vec(SIDRA_VEC_OP_POOL_MAX, SIDRA_TYPE_U8, SIDRA_TYPE_U8, 1u << 15, channels, kPage, kPage);
        pool.vec.in2 = in2;
        pool.vec.in_stride = pool.vec.out_stride = geometry.in_w * channels;
        queue.submit(pool);
        bench.run(1000);
        EXPECT_TRUE(faulted(queue, 0, pool, {{SIDRA_FAULT_LIMIT}})) << channels;
        queue.reset();
    }
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
