// SPDX-License-Identifier: MIT
// A reset of a stream drops its work, and with it what a thread of the library does for it.
#include <atomic>
#include <functional>
#include <mutex>
#include <thread>
#include <utility>

#include "buffer.h"
#include "chip_fixture.h"

namespace sidra::test {
namespace {

using ChipReset = ChipTest;

MemoryLife* life_of(sidra_buffer* handle) {
    return HandleTable<sidra_buffer>::find(parts_of(handle))->memory->life().get();
}

// The memory of the target may be used again when the reset returns. The copy is stopped between the locks of both
// memories, and goes on once its point is dropped.
TEST_F(ChipReset, WaitsForACopyThatIsUnderWay) {
    sidra_context* other = nullptr;
    sidra_stream* target = nullptr;
    sidra_event* event = nullptr;
    ASSERT_OK(sidra_context_create(device, &other));
    ASSERT_OK(sidra_stream_create(other, nullptr, &target));
    ASSERT_OK(sidra_event_create(other, SIDRA_EVENT_DEFAULT, &event));
    {
        const Buffer from(context, 64), to(other, 64);
        from.as<uint64_t>()[0] = 1;
        MemoryLife *first = life_of(from.get()), *second = life_of(to.get());
        if (std::less<>()(second, first)) std::swap(first, second);
        std::atomic<bool> stopped{false};
        std::thread stopping([&] {
            const std::lock_guard lock(second->mutex);
            stopped = true;
            EXPECT_TRUE(eventually([&] { return sidra_event_query(event) == SIDRA_ERROR_FAULT; }));
        });
        EXPECT_TRUE(eventually([&] { return stopped.load(); }));
        EXPECT_OK(sidra_copy_peer_async(target, to.at(), stream, from.at(), 64));
        EXPECT_OK(sidra_event_record(event, target));
        EXPECT_TRUE(eventually([&] {
            const std::unique_lock lock(first->mutex, std::try_to_lock);
            return !lock.owns_lock();
        })) << "the copy has begun";
        EXPECT_OK(sidra_stream_reset(target));
        to.as<uint64_t>()[0] = 2;
        stopping.join();
        synchronize();
        EXPECT_EQ(2u, to.as<uint64_t>()[0]);
    }
    EXPECT_OK(sidra_event_destroy(event));
    EXPECT_OK(sidra_stream_destroy(target));
    EXPECT_OK(sidra_context_destroy(other));
}

}  // namespace
}  // namespace sidra::test
