// SPDX-License-Identifier: MIT
// Stream-ordered memory: which memory an allocation gets, on a fake driver where streams stand still.
#include <atomic>
#include <string>
#include <thread>
#include <vector>

#include "../chip/failing_new.h"
#include "fake_fixture.h"
#include "patience.h"
#include "says_nothing.h"

namespace sidra::test {
namespace {

constexpr size_t kKiB = 1024, kMiB = 1024 * kKiB;

class PoolOrder : public FakeTest {
   protected:
    void SetUp() override {
        FakeTest::SetUp();
        ASSERT_OK(sidra_stream_create(context, nullptr, &other));
        created = fake->requests(SIDRA_IOCTL_BUFFER_CREATE);
        fake->set_automatic(false);
    }
    void TearDown() override {
        EXPECT_OK(sidra_stream_destroy(other));
        FakeTest::TearDown();
    }
    sidra_buffer* allocate(sidra_stream* of, size_t size) {
        sidra_buffer* made = nullptr;
        EXPECT_OK(sidra_malloc_async(of, size, &made));
        return made;
    }
    static char* address(sidra_buffer* of) {
        void* result = nullptr;
        EXPECT_OK(sidra_buffer_map(of, &result));
        return static_cast<char*>(result);
    }
    sidra_pool_stats stats() {
        auto result = SIDRA_INIT(sidra_pool_stats);
        EXPECT_OK(sidra_pool_get_stats(context, &result));
        return result;
    }
    size_t chunks() const { return fake->requests(SIDRA_IOCTL_BUFFER_CREATE) - created; }
    // Ends what both streams have queued.
    void retire_all() {
        uint64_t written = 0;
        EXPECT_OK(sidra_stream_timeline(stream, &written, nullptr));
        fake->retire(0, written);
        EXPECT_OK(sidra_stream_timeline(other, &written, nullptr));
        fake->retire(1, written);
    }

    sidra_stream* other = nullptr;
    size_t created = 0;
};

TEST_F(PoolOrder, TheSameStreamReusesAtOnce) {
    sidra_buffer* first = allocate(stream, 1000);
    char* const at = address(first);
    ASSERT_OK(sidra_fill_async(stream, {first, 0}, 1, 1, 1000));
    ASSERT_OK(sidra_free_async(stream, first));
    EXPECT_EQ(1024u, stats().pending);
    sidra_buffer* second = allocate(stream, 900);
    EXPECT_EQ(at, address(second));
    EXPECT_EQ(1u, chunks());
    size_t size = 0;
    ASSERT_OK(sidra_buffer_size(second, &size));
    EXPECT_EQ(900u, size) << "what was asked for";
    EXPECT_FAILS(SIDRA_ERROR_INVALID_ARGUMENT, sidra_fill_async(stream, {second, 0}, 1, 1, 901));
    sidra_ref ref{};
    ASSERT_OK(sidra_buffer_find(context, at + 899, &ref));
    EXPECT_EQ(second, ref.buffer);
    EXPECT_FAILS(SIDRA_ERROR_NOT_FOUND, sidra_buffer_find(context, at + 900, &ref));
    EXPECT_OK(sidra_free_async(stream, second));
    EXPECT_FAILS(SIDRA_ERROR_NOT_FOUND, sidra_buffer_find(context, at, &ref));
}

TEST_F(PoolOrder, AnotherStreamReusesAfterTheWork) {
    sidra_buffer* first = allocate(stream, 4096);
    char* const at = address(first);
    ASSERT_OK(sidra_nop_async(stream));
    ASSERT_OK(sidra_free_async(stream, first));
    sidra_buffer* second = allocate(other, 4096);
    EXPECT_NE(at, address(second)) << "the stream still uses it";
    fake->retire(0, 1);
    sidra_buffer* third = allocate(other, 2 * kMiB - 8192);
    EXPECT_NE(nullptr, third);
    ASSERT_OK(sidra_free_async(other, third));
    ASSERT_OK(sidra_free_async(other, second));
    EXPECT_EQ(0u, stats().pending);
    sidra_buffer* fourth = allocate(other, 4096);
    EXPECT_EQ(at, address(fourth)) << "now it is free";
    EXPECT_OK(sidra_free_async(other, fourth));
}

// The stream that frees decides, not the one that allocated.
TEST_F(PoolOrder, AFreeOnAnotherStreamWaitsForThatOne) {
    sidra_buffer* first = allocate(stream, 4096);
    char* const at = address(first);
    ASSERT_OK(sidra_nop_async(other));
    ASSERT_OK(sidra_free_async(other, first));
    sidra_buffer* second = allocate(stream, 4096);
    EXPECT_NE(at, address(second));
    sidra_buffer* third = allocate(other, 4096);
    EXPECT_EQ(at, address(third));
    for (sidra_buffer* each : {second, third}) EXPECT_OK(sidra_free_async(other, each));
    retire_all();
}

TEST_F(PoolOrder, DroppedWorkNoLongerUsesMemory) {
    sidra_buffer* first = allocate(stream, 4096);
    char* const at = address(first);
    ASSERT_OK(sidra_nop_async(stream));
    ASSERT_OK(sidra_free_async(stream, first));
    ASSERT_OK(sidra_stream_reset(stream));
    sidra_buffer* second = allocate(other, 4096);
    EXPECT_EQ(0u, stats().pending);
    sidra_buffer* third = allocate(other, 4096);
    EXPECT_EQ(at, address(third));
    for (sidra_buffer* each : {second, third}) EXPECT_OK(sidra_free_async(other, each));
    // A stream that has stopped takes frees, and gives nothing.
    first = allocate(stream, 4096);
    ASSERT_OK(sidra_nop_async(stream));
    uint64_t written = 0;
    ASSERT_OK(sidra_stream_timeline(stream, &written, nullptr));
    fake->fault(0, {.sequence = written - 1, .cause = SIDRA_FAULT_VALUE});
    sidra_buffer* none = nullptr;
    EXPECT_FAILS(SIDRA_ERROR_FAULT, sidra_malloc_async(stream, 4096, &none));
    EXPECT_NE(std::string::npos, std::string(sidra_last_error()).find("out of range")) << sidra_last_error();
    EXPECT_OK(sidra_free_async(stream, first));
    EXPECT_EQ(0u, stats().pending);
    EXPECT_EQ(0u, stats().used);
    ASSERT_OK(sidra_stream_reset(stream));
}

// The stream may have been about to wait for another one that uses the memory, too.
TEST_F(PoolOrder, AFreeThatNeverComesWaitsForAllStreams) {
    sidra_stream* third = nullptr;
    ASSERT_OK(sidra_stream_create(context, nullptr, &third));
    const auto fault = [&] {
        ASSERT_OK(sidra_nop_async(stream));
        fake->fault(0, {.sequence = 0, .cause = SIDRA_FAULT_VALUE});
    };
    // The memory at `at`, which `stream` has freed, is in use until `other` has done its work.
    const auto expect_held = [&](char* at, const char* what) {
        EXPECT_EQ(4096u, stats().pending) << what;
        for (sidra_stream* each : {third, other}) {
            sidra_buffer* elsewhere = allocate(each, 4096);
            EXPECT_NE(at, address(elsewhere)) << what;
            ASSERT_OK(sidra_free_async(each, elsewhere));
        }
        ASSERT_OK(sidra_stream_reset(stream));
        sidra_buffer* elsewhere = allocate(stream, 4096);
        EXPECT_NE(at, address(elsewhere)) << what << ", after the reset";
        ASSERT_OK(sidra_free_async(stream, elsewhere));
        ASSERT_OK(sidra_pool_trim(context, 0));
        retire_all();
        EXPECT_EQ(0u, stats().pending) << what;
        ASSERT_OK(sidra_pool_trim(context, 0));
        EXPECT_EQ(0u, stats().reserved) << what;
    };
    sidra_buffer* first = allocate(stream, 4096);
    char* at = address(first);
    ASSERT_OK(sidra_nop_async(other));  // uses it
    ASSERT_OK(sidra_nop_async(stream));
    ASSERT_OK(sidra_free_async(stream, first));
    fault();
    expect_held(at, "freed before the fault");

    first = allocate(stream, 4096);
    at = address(first);
    ASSERT_OK(sidra_nop_async(other));
    fault();
    ASSERT_OK(sidra_free_async(stream, first));
    expect_held(at, "freed after the fault");

    first = allocate(stream, 4096);
    at = address(first);
    ASSERT_OK(sidra_nop_async(other));
    ASSERT_OK(sidra_nop_async(stream));
    ASSERT_OK(sidra_free_async(stream, first));
    sidra_buffer* second = allocate(stream, 4096);
    EXPECT_EQ(at, address(second));
    fault();
    ASSERT_OK(sidra_stream_reset(stream));
    ASSERT_OK(sidra_free_async(stream, second));  // no work comes before this free, but it comes after the other one
    expect_held(at, "allocated again before the fault");

    first = allocate(third, 4096);
    at = address(first);
    ASSERT_OK(sidra_nop_async(other));
    ASSERT_OK(sidra_nop_async(third));
    ASSERT_OK(sidra_free_async(third, first));
    EXPECT_OK(sidra_stream_destroy(third));
    ASSERT_OK(sidra_stream_create(context, nullptr, &third));
    expect_held(at, "freed by a stream that was destroyed");
    EXPECT_OK(sidra_stream_destroy(third));
}

// What the stream had queued for one block before it was reset does not hide its later work on the neighbour.
TEST_F(PoolOrder, AResetHidesNoLaterUse) {
    sidra_buffer *first = allocate(stream, 4096), *second = allocate(stream, 4096);
    char* const at = address(first);
    ASSERT_EQ(at + 4096, address(second));
    for (int i = 0; i < 10; ++i) ASSERT_OK(sidra_nop_async(stream));
    ASSERT_OK(sidra_free_async(stream, first));
    ASSERT_OK(sidra_stream_reset(stream));
    ASSERT_OK(sidra_nop_async(stream));
    ASSERT_OK(sidra_free_async(stream, second));
    EXPECT_EQ(8192u, stats().pending) << "joined, and in use";
    sidra_buffer* other_one = allocate(other, 8192);
    EXPECT_NE(at, address(other_one));
    EXPECT_OK(sidra_free_async(other, other_one));
    retire_all();
}

TEST_F(PoolOrder, BlocksAreDividedAndJoined) {
    std::vector<sidra_buffer*> parts(64);
    for (sidra_buffer*& part : parts) part = allocate(stream, 32 * kKiB);
    EXPECT_EQ(1u, chunks()) << "2 MiB";
    for (size_t i = 0; i + 1 < parts.size(); ++i) EXPECT_EQ(address(parts[i]) + 32 * kKiB, address(parts[i + 1]));
    // Every second one, then the others: the joined blocks are as the chunk was.
    for (size_t i = 0; i < parts.size(); i += 2) ASSERT_OK(sidra_free_async(stream, parts[i]));
    sidra_buffer* large = allocate(stream, 64 * kKiB);
    EXPECT_EQ(2u, chunks()) << "no two neighbours are free";
    for (size_t i = 1; i < parts.size(); i += 2) ASSERT_OK(sidra_free_async(stream, parts[i]));
    for (int i = 0; i < 2; ++i) parts[static_cast<size_t>(i)] = allocate(stream, kMiB);
    EXPECT_EQ(2u, chunks());
    EXPECT_EQ(2u, stats().misses);
    for (sidra_buffer* each : {large, parts[0], parts[1]}) ASSERT_OK(sidra_free_async(stream, each));
}

TEST_F(PoolOrder, StatisticsCountWhatIsThere) {
    EXPECT_EQ(0u, stats().reserved);
    sidra_buffer* small = allocate(stream, 1);
    EXPECT_EQ(512u, stats().used);
    EXPECT_EQ(2 * kMiB, stats().reserved);
    sidra_buffer* medium = allocate(stream, 3 * kMiB + 1);
    EXPECT_EQ(512 + 3 * kMiB + kMiB / 4, stats().used) << "an eighth of the power of two below";
    EXPECT_EQ(18 * kMiB, stats().reserved);
    sidra_buffer* large = allocate(stream, 100 * kMiB);
    EXPECT_EQ(2 * kMiB + 16 * kMiB + 104 * kMiB, stats().reserved);
    const sidra_pool_stats full = stats();
    EXPECT_EQ(full.used, full.used_peak);
    EXPECT_EQ(3u, full.allocations);
    EXPECT_EQ(3u, full.misses);
    ASSERT_OK(sidra_nop_async(stream));
    ASSERT_OK(sidra_free_async(stream, large));
    EXPECT_EQ(104 * kMiB, stats().pending);
    ASSERT_OK(sidra_pool_trim(context, 0));
    EXPECT_EQ(full.reserved, stats().reserved) << "work that is queued may still use it";
    retire_all();
    ASSERT_OK(sidra_pool_trim(context, full.reserved));
    EXPECT_EQ(full.reserved, stats().reserved) << "no more than asked for";
    const size_t live = fake->live_buffers();
    ASSERT_OK(sidra_pool_trim(context, 0));
    EXPECT_EQ(18 * kMiB, stats().reserved);
    EXPECT_EQ(live - 1, fake->live_buffers());
    EXPECT_EQ(full.used, stats().used_peak);
    EXPECT_EQ(full.reserved, stats().reserved_peak);
    ASSERT_OK(sidra_pool_reset_peak(context));
    EXPECT_EQ(stats().used, stats().used_peak);
    EXPECT_EQ(18 * kMiB, stats().reserved_peak);
    for (sidra_buffer* each : {small, medium}) ASSERT_OK(sidra_free_async(stream, each));
    EXPECT_EQ(0u, stats().used);
    EXPECT_EQ(3u, stats().frees);
}

TEST_F(PoolOrder, WithoutMemoryItReturnsWhatIsUnused) {
    sidra_buffer* first = allocate(stream, 4 * kMiB);
    ASSERT_OK(sidra_free_async(stream, first));
    const size_t live = fake->live_buffers();
    fake->fail(SIDRA_IOCTL_BUFFER_CREATE, ENOMEM, "no memory");
    const SaysNothing quiet;
    first = allocate(stream, 32 * kMiB);
    EXPECT_EQ(live, fake->live_buffers()) << "one chunk went, another came";
    EXPECT_EQ(32 * kMiB, stats().reserved);
    fake->fail(SIDRA_IOCTL_BUFFER_CREATE, ENOMEM, "no memory");
    sidra_buffer* second = allocate(stream, 2 * kMiB);
    EXPECT_EQ(34 * kMiB, stats().reserved) << "less than a whole chunk";
    for (sidra_buffer* each : {first, second}) EXPECT_OK(sidra_free_async(stream, each));
}

TEST_F(PoolOrder, WithoutMemoryItWaitsForFrees) {
    sidra_buffer* first = allocate(other, 32 * kMiB);
    ASSERT_OK(sidra_nop_async(other));
    ASSERT_OK(sidra_free_async(other, first));
    fake->fail(SIDRA_IOCTL_BUFFER_CREATE, ENOMEM, "no memory", 1'000'000'000);  // more often than it is tried
    sidra_buffer* second = nullptr;
    ASSERT_OK(sidra_stream_set_deadline(stream, 0));
    EXPECT_FAILS(SIDRA_ERROR_OUT_OF_MEMORY, sidra_malloc_async(stream, 32 * kMiB, &second));
    const std::string text = sidra_last_error();
    for (const char* part : {"33554432 bytes for context", "has 33554432 bytes", "of which 0 are used",
                             "33554432 are freed by work that is not done", "deadline"})
        EXPECT_NE(std::string::npos, text.find(part)) << text;
    std::atomic<int> tries{0};
    std::thread device_goes_on([&] {
        EXPECT_TRUE(eventually([&] { return tries.load() >= 2; }));
        fake->retire(1, 1);
    });
    sidra_status status = SIDRA_ERROR_OUT_OF_MEMORY;
    for (; status == SIDRA_ERROR_OUT_OF_MEMORY && tries < 100'000; ++tries) {
        // The fake driver never sleeps, so each try is short.
        ASSERT_OK(sidra_stream_set_deadline(stream, sidra_deadline_after_ns(1'000'000)));
        status = sidra_malloc_async(stream, 32 * kMiB, &second);
    }
    device_goes_on.join();
    ASSERT_OK(status);
    sidra_buffer* third = nullptr;
    EXPECT_FAILS(SIDRA_ERROR_OUT_OF_MEMORY, sidra_malloc_async(stream, 512, &third));
    EXPECT_NE(std::string::npos, std::string(sidra_last_error()).find("of which 33554432 are used"))
        << sidra_last_error();
    EXPECT_EQ(nullptr, third);
    fake->fail(SIDRA_IOCTL_BUFFER_CREATE, EIO, "the device is broken", 1);
    EXPECT_NE(SIDRA_OK, sidra_malloc_async(stream, 512, &third));
    EXPECT_NE(std::string::npos, std::string(sidra_last_error()).find("the device is broken")) << sidra_last_error();
    EXPECT_OK(sidra_free_async(stream, second));
}

TEST_F(PoolOrder, FreesThatAreWrongChangeNothing) {
    sidra_buffer* first = allocate(stream, 4096);
    EXPECT_FAILS(SIDRA_ERROR_INVALID_ARGUMENT, sidra_buffer_destroy(first));
    EXPECT_FAILS(SIDRA_ERROR_INVALID_ARGUMENT, sidra_free_async(stream, buffer));
    EXPECT_FAILS(SIDRA_ERROR_BUSY, sidra_context_destroy(context));
    int foreign = 0;
    EXPECT_FAILS(SIDRA_ERROR_INVALID_HANDLE, sidra_free_async(stream, reinterpret_cast<sidra_buffer*>(&foreign)));
    sidra_context* elsewhere = nullptr;
    sidra_stream* theirs = nullptr;
    ASSERT_OK(sidra_context_create(device, &elsewhere));
    ASSERT_OK(sidra_stream_create(elsewhere, nullptr, &theirs));
    EXPECT_FAILS(SIDRA_ERROR_WRONG_CONTEXT, sidra_free_async(theirs, first));
    EXPECT_OK(sidra_stream_destroy(theirs));
    EXPECT_OK(sidra_context_destroy(elsewhere));
    EXPECT_EQ(4096u, stats().used);
    EXPECT_OK(sidra_free_async(stream, first));
    EXPECT_FAILS(SIDRA_ERROR_INVALID_HANDLE, sidra_free_async(stream, first));
    EXPECT_NE(std::string::npos, std::string(sidra_last_error()).find("destroyed")) << sidra_last_error();
    EXPECT_EQ(1u, stats().frees);
    EXPECT_OK(sidra_free_async(stream, nullptr));
    sidra_buffer* none = nullptr;
    EXPECT_FAILS(SIDRA_ERROR_INVALID_ARGUMENT, sidra_malloc_async(stream, 0, &none));
    EXPECT_FAILS(SIDRA_ERROR_INVALID_ARGUMENT, sidra_malloc_async(stream, 1, nullptr));
    EXPECT_FAILS(SIDRA_ERROR_OUT_OF_MEMORY, sidra_malloc_async(stream, size_t{1} << 60, &none));
    EXPECT_FAILS(SIDRA_ERROR_INVALID_HANDLE, sidra_pool_trim(nullptr, 0));
    auto unset = sidra_pool_stats{};
    EXPECT_FAILS(SIDRA_ERROR_INVALID_ARGUMENT, sidra_pool_get_stats(context, &unset));
}

TEST_F(PoolOrder, AnAllocationThatFailsLeavesNothing) {
    sidra_buffer* first = allocate(stream, 4096);
    char* const at = address(first);
    ASSERT_OK(sidra_free_async(stream, first));
    sidra_status status = SIDRA_ERROR_OUT_OF_MEMORY;
    uint64_t failed = 0;
    for (; status == SIDRA_ERROR_OUT_OF_MEMORY; ++failed) {
        sidra_ref ref{};
        EXPECT_FAILS(SIDRA_ERROR_NOT_FOUND, sidra_buffer_find(context, at, &ref));
        const FailingNew none(failed, 1, FailingNew::Of::kThisThread);
        status = sidra_malloc_async(stream, 4096, &first);
    }
    ASSERT_OK(status);
    EXPECT_GT(failed, 1u);
    EXPECT_EQ(at, address(first));
    EXPECT_OK(sidra_free_async(stream, first));
    EXPECT_EQ(0u, stats().used);
    // The context has no object that nobody knows: it can be destroyed.
}

// What was freed by work that is done, or was dropped, is there again, whatever the host has no memory for.
TEST_F(PoolOrder, AShortageOfTheHostLosesNoBlock) {
    for (uint64_t first = 0, failed = 1; failed != 0; ++first) {
        SCOPED_TRACE(first);
        std::vector<sidra_buffer*> blocks;
        for (const size_t size : {2 * kMiB, size_t{4096}})
            for (int i = 0; i < 6; ++i) blocks.push_back(allocate(stream, size));
        for (sidra_stream* each : {stream, other}) ASSERT_OK(sidra_nop_async(each));
        std::vector<sidra_status> freed(blocks.size());
        {
            const FailingNew none(0, UINT64_MAX, FailingNew::Of::kThisThread);
            for (size_t i = 0; i < blocks.size(); ++i)
                freed[i] = sidra_free_async(i % 2 == 0 ? stream : other, blocks[i]);
        }
        for (const sidra_status status : freed) EXPECT_EQ(SIDRA_OK, status);
        // One stream does its work, and the other one drops it.
        uint64_t submitted = 0;
        ASSERT_OK(sidra_stream_timeline(stream, &submitted, nullptr));
        fake->retire(0, submitted);
        ASSERT_OK(sidra_stream_reset(other));
        sidra_status trimmed = SIDRA_OK;
        {
            const FailingNew failing(first, 1, FailingNew::Of::kThisThread);
            trimmed = sidra_pool_trim(context, 0);
            failed = failing.failed();
        }
        EXPECT_EQ(failed != 0 ? SIDRA_ERROR_OUT_OF_MEMORY : SIDRA_OK, trimmed);
        ASSERT_OK(sidra_pool_trim(context, 0));
        EXPECT_EQ(0u, stats().reserved);
    }
}

// A graph may be launched on any stream, at any time.
TEST_F(PoolOrder, AGraphGetsMemoryThatNobodyUses) {
    sidra_buffer* first = allocate(stream, 4096);
    char* const at = address(first);
    ASSERT_OK(sidra_nop_async(stream));
    ASSERT_OK(sidra_free_async(stream, first));
    ASSERT_OK(sidra_graph_begin(stream));
    sidra_buffer* second = allocate(stream, 4096);
    EXPECT_NE(at, address(second));
    ASSERT_OK(sidra_fill_async(stream, {second, 0}, 1, 1, 16));
    EXPECT_FAILS(SIDRA_ERROR_NOT_RECORDABLE, sidra_free_async(stream, second));
    sidra_graph* graph = nullptr;
    ASSERT_OK(sidra_graph_end(stream, &graph));
    EXPECT_OK(sidra_graph_launch_async(stream, graph));
    // Other memory comes and goes; this memory must stay.
    sidra_buffer* third = allocate(other, 4096);
    EXPECT_OK(sidra_free_async(other, third));
    EXPECT_OK(sidra_graph_launch_async(stream, graph));
    ASSERT_OK(sidra_free_async(stream, second));
    EXPECT_FAILS(SIDRA_ERROR_INVALID_HANDLE, sidra_graph_launch_async(stream, graph));
    second = allocate(stream, 4096);
    EXPECT_FAILS(SIDRA_ERROR_INVALID_HANDLE, sidra_graph_launch_async(stream, graph));
    EXPECT_OK(sidra_free_async(stream, second));
    EXPECT_OK(sidra_graph_destroy(graph));
}

TEST_F(PoolOrder, RecoveryFreesWhatWasPending) {
    sidra_buffer *kept = allocate(stream, 4096), *freed = allocate(stream, 4096);
    ASSERT_OK(sidra_nop_async(stream));
    ASSERT_OK(sidra_free_async(stream, freed));
    fake->lose_all();
    EXPECT_FAILS(SIDRA_ERROR_CONTEXT_LOST, sidra_malloc_async(stream, 4096, &freed));
    ASSERT_OK(sidra_context_recover(context));
    EXPECT_EQ(0u, stats().pending);
    EXPECT_EQ(4096u, stats().used);
    EXPECT_OK(sidra_fill_async(stream, {kept, 0}, 1, 1, 16));
    EXPECT_OK(sidra_free_async(stream, kept));
}

}  // namespace
}  // namespace sidra::test
