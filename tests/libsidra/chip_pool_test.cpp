// SPDX-License-Identifier: MIT
// Stream-ordered memory on a chip that works meanwhile: nobody overwrites what another one still uses.
#include <map>
#include <thread>
#include <vector>

#include "chip_fixture.h"
#include "sidra/sidra.hpp"

namespace sidra::test {
namespace {

class ChipPool : public ChipTest {};

// Each allocation is filled with a number of its own, and copied into a result before it is freed. All in the order of
// its stream: the host never waits, but for the ring.
TEST_F(ChipPool, EveryAllocationKeepsItsContent) {
    constexpr uint32_t kThreads = 4, kRounds = 600;
    const Buffer results(context, kThreads * kRounds * 2 * sizeof(uint64_t));
    std::vector<std::thread> threads;
    for (uint32_t t = 0; t < kThreads; ++t)
        threads.emplace_back([&, t] {
            struct Live {
                sidra_buffer* buffer;
                size_t size;
                uint64_t number;
            };
            std::mt19937 any(t);
            sidra_stream* own = nullptr;
            ASSERT_OK(sidra_stream_create(context, nullptr, &own));
            std::vector<Live> live;
            const auto end_one = [&](size_t which) {
                const Live gone = live[which];
                live.erase(live.begin() + static_cast<std::ptrdiff_t>(which));
                const size_t slot = (gone.number - 1) * 2 * sizeof(uint64_t);
                ASSERT_OK(sidra_copy_async(own, results.at(slot), {gone.buffer, 0}, 8));
                ASSERT_OK(sidra_copy_async(own, results.at(slot + 8), {gone.buffer, gone.size - 8}, 8));
                ASSERT_OK(sidra_free_async(own, gone.buffer));
            };
            for (uint32_t round = 0; round < kRounds; ++round) {
                Live made{nullptr, (size_t{8} << any() % 15) + any() % 100 * 8, t * kRounds + round + 1};
                ASSERT_OK(sidra_malloc_async(own, made.size, &made.buffer));
                ASSERT_OK(sidra_fill_async(own, {made.buffer, 0}, made.number, 8, made.size));
                live.push_back(made);
                if (live.size() > 12) end_one(any() % live.size());
            }
            while (!live.empty()) end_one(live.size() - 1);
            EXPECT_OK(sidra_stream_synchronize(own, soon()));
            EXPECT_OK(sidra_stream_destroy(own));
        });
    for (std::thread& thread : threads) thread.join();
    for (uint64_t number = 1; number <= kThreads * kRounds; ++number) {
        ASSERT_EQ(number, results.as<uint64_t>()[(number - 1) * 2]);
        ASSERT_EQ(number, results.as<uint64_t>()[(number - 1) * 2 + 1]);
    }
    auto stats = SIDRA_INIT(sidra_pool_stats);
    ASSERT_OK(sidra_pool_get_stats(context, &stats));
    EXPECT_EQ(0u, stats.used);
    EXPECT_EQ(0u, stats.pending);
    EXPECT_EQ(uint64_t{kThreads} * kRounds, stats.allocations);
    EXPECT_EQ(stats.allocations, stats.frees);
    EXPECT_LT(stats.misses, 20u) << "the pool exists to avoid them";
    ASSERT_OK(sidra_pool_trim(context, 0));
    ASSERT_OK(sidra_pool_get_stats(context, &stats));
    EXPECT_EQ(0u, stats.reserved) << "all blocks were joined";
}

TEST_F(ChipPool, AllocationsThatLiveShareNoByte) {
    std::map<char*, size_t> ranges;
    std::map<char*, sidra_buffer*> live;
    sidra_stream* other = nullptr;
    ASSERT_OK(sidra_stream_create(context, nullptr, &other));
    for (int round = 0; round < 3000; ++round) {
        sidra_stream* on = random() % 2 != 0 ? stream : other;
        if (live.size() > 40 || (!live.empty() && random() % 3 == 0)) {
            auto at = live.begin();
            std::advance(at, random() % live.size());
            ASSERT_OK(sidra_free_async(on, at->second));
            ranges.erase(at->first);
            live.erase(at);
            ASSERT_OK(sidra_nop_async(on));
            continue;
        }
        const size_t size = random() % 4 == 0 ? random() % (3 << 20) + 1 : random() % 5000 + 1;
        sidra_buffer* made = nullptr;
        void* address = nullptr;
        ASSERT_OK(sidra_malloc_async(on, size, &made));
        ASSERT_OK(sidra_buffer_map(made, &address));
        auto* const begin = static_cast<char*>(address);
        EXPECT_EQ(0u, reinterpret_cast<uintptr_t>(begin) % 512);
        const auto next = ranges.lower_bound(begin);
        if (next != ranges.end()) ASSERT_GE(next->first, begin + size);
        if (next != ranges.begin()) ASSERT_LE(std::prev(next)->first + std::prev(next)->second, begin);
        ranges[begin] = size;
        live[begin] = made;
    }
    for (const auto& [begin, buffer] : live) ASSERT_OK(sidra_free_async(stream, buffer));
    ASSERT_OK(sidra_stream_synchronize(other, soon()));
    synchronize();
    EXPECT_OK(sidra_stream_destroy(other));
}

TEST(ChipPoolCpp, AllocationsEndWithTheirObjects) {
    choose_test_device();
    Device device = Device::open(0, {.profile = SIDRA_PROFILE_SMALL, .private_chip = !on_a_node()});
    sidra::Context context(device);
    Allocation late;
    {
        Stream stream(context);
        Allocation first = stream.allocate(4096);
        stream.fill(first, uint32_t{7}, 4096);
        Allocation second = std::move(first);
        EXPECT_EQ(nullptr, first.get());
        EXPECT_EQ(second.get(), context.find(second.as<char>().data()).buffer);
        stream.synchronize();
        EXPECT_EQ(7u, second.as<uint32_t>()[1023]);
        EXPECT_EQ(4096u, context.pool().used);
        second.free(stream);
        EXPECT_EQ(0u, context.pool().used);
        late = stream.allocate(100);
    }
    EXPECT_EQ(512u, context.pool().used) << "it keeps the stream on which it is freed";
    context.reset_pool_peak();
    late = Allocation();
    EXPECT_EQ(0u, context.pool().used);
    EXPECT_EQ(512u, context.pool().used_peak);
    context.trim_pool();
    EXPECT_EQ(0u, context.pool().reserved);
}

// Whatever frees them: nothing may keep the context, and with it the chip.
class CppAllocations : public testing::Test {
   protected:
    CppAllocations() {
        choose_test_device();
        device = Device::open(0, {.profile = SIDRA_PROFILE_SMALL, .private_chip = !on_a_node()});
        context = sidra::Context(device);
        stream = Stream(context);
    }
    void expect_nothing_left() {
        EXPECT_EQ(0u, context.pool().used);
        EXPECT_NO_THROW(stream.close());
        EXPECT_NO_THROW(context.close());
        EXPECT_NO_THROW(device.close());
    }
    Device device;
    sidra::Context context;
    Stream stream;
};

TEST_F(CppAllocations, MayEndInARecording) {
    Allocation before = stream.allocate(64);
    Graph graph = stream.capture([&] {
        const Allocation inside = stream.allocate(64);
        stream.fill(inside, uint32_t{7}, 64);
        before = Allocation();
        EXPECT_EQ(1024u, context.pool().used) << "nothing is freed while a graph is recorded";
    });
    EXPECT_EQ(0u, context.pool().used);
    EXPECT_THROW(stream.launch(graph), Error) << "it needs the memory";
    graph.close();
    before = stream.allocate(64);
    EXPECT_THROW(static_cast<void>(stream.capture([&] {
                     before = Allocation();
                     throw std::runtime_error("of the user");
                 })),
                 std::runtime_error);
    expect_nothing_left();
}

TEST_F(CppAllocations, MayEndInAnUpdate) {
    Buffer data(context, 64);
    const Graph graph = stream.capture([&] { stream.fill(data, uint32_t{1}, 64); });
    stream.update(graph, 0, [&] {
        static_cast<void>(stream.allocate(64));
        stream.fill(data, uint32_t{7}, 64);
    });
    EXPECT_EQ(0u, context.pool().used);
    stream.launch(graph);
    stream.synchronize();
    EXPECT_EQ(7u, data.as<uint32_t>()[15]);
}

TEST_F(CppAllocations, MayEndInARecordingOfC) {
    ASSERT_OK(sidra_graph_begin(stream.get()));
    static_cast<void>(stream.allocate(64));
    stream = Stream();
    expect_nothing_left();
}

TEST_F(CppAllocations, EndBeforeTheirStreamIsClosed) {
    Allocation memory = stream.allocate(64);
    try {
        stream.close();
        FAIL() << "no exception";
    } catch (const Error& error) {
        EXPECT_EQ(SIDRA_ERROR_BUSY, error.status());
    }
    stream.fill(memory, uint32_t{7}, 64);
    memory.free(stream);
    expect_nothing_left();
}

}  // namespace
}  // namespace sidra::test
