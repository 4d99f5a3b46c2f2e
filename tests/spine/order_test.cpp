// SPDX-License-Identifier: MIT
// Order across streams, through the public interface: random graphs of dependent operations against a sequential
// oracle, and litmus tests in which the notification of a message must not overtake the message.
#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <chrono>
#include <random>
#include <thread>
#include <vector>

#include "../libsidra/patience.h"
#include "../libsidra/test_device.h"
#include "sidra/functions.h"

namespace {

#if defined(__SANITIZE_THREAD__)
constexpr int kScale = 8;  // everything is slower
#elif defined(__SANITIZE_ADDRESS__)
constexpr int kScale = 3;
#else
constexpr int kScale = 1;
#endif

using sidra::test::soon;

#define OK(expression) ASSERT_EQ(SIDRA_OK, (expression)) << sidra_last_error()

class Order : public testing::TestWithParam<unsigned> {
   protected:
    static constexpr size_t kStreams = 6;
    static constexpr size_t kSlots = 24;  // rows of s32
    static constexpr size_t kColumns = 512;
    static constexpr size_t kRow = kColumns * sizeof(int32_t);

    void SetUp() override {
        sidra::test::choose_test_device();
        sidra_device_options options = SIDRA_INIT(sidra_device_options);
        options.profile = SIDRA_PROFILE_SMALL;
        options.private_chip = !sidra::test::on_a_node();
        options.workers = 2;
        OK(sidra_device_open(0, &options, &device));
        OK(sidra_context_create(device, &context));
        for (auto& stream : streams) OK(sidra_stream_create(context, nullptr, &stream));
        OK(sidra_buffer_create(context, kSlots * kRow, SIDRA_BUFFER_HOST, &memory));
        OK(sidra_buffer_create(context, 4096, SIDRA_BUFFER_HOST, &words));
        OK(sidra_buffer_map(memory, reinterpret_cast<void**>(&data)));
        OK(sidra_buffer_map(words, reinterpret_cast<void**>(&word)));
    }
    void TearDown() override {
        for (auto& stream : streams) OK(sidra_stream_destroy(stream));
        OK(sidra_buffer_destroy(memory));
        OK(sidra_buffer_destroy(words));
        OK(sidra_context_destroy(context));
        OK(sidra_device_close(device));
    }

    sidra_ref slot(size_t index) const { return {memory, index * kRow}; }
    static constexpr uint32_t kSize[4] = {1, 1, 1, kColumns};
    sidra_array array(size_t index) const { return sidra_operand_dense(slot(index), SIDRA_S32, kSize); }
    // Keeps a stream busy for a random time, so that others can overtake it.
    void delay(sidra_stream* stream) {
        for (unsigned n = random() % 8 == 0 ? random() % 200 : 0; n != 0; --n) OK(sidra_nop_async(stream));
    }

    sidra_device* device = nullptr;
    sidra_context* context = nullptr;
    std::array<sidra_stream*, kStreams> streams{};
    sidra_buffer* memory = nullptr;
    sidra_buffer* words = nullptr;
    int32_t* data = nullptr;
    uint64_t* word = nullptr;
    std::mt19937 random{20261120};
};

// Each operation adds two random rows into a third on a random stream, and waits (by an event or by a semaphore word)
// for the operations that wrote what it reads, and for those that read or wrote what it overwrites. The same operations
// done one by one are the oracle.
TEST_P(Order, RandomGraphsEqualTheSequentialOracle) {
    random.seed(GetParam());
    const size_t operations = 1200 / kScale;
    std::vector<int32_t> expected(kSlots * kColumns);
    for (size_t i = 0; i < expected.size(); ++i) expected[i] = data[i] = static_cast<int32_t>(random());

    struct Access {
        size_t stream;
        uint64_t number;  // of the operation on that stream
    };
    std::vector<sidra_event*> events(operations);
    std::vector<Access> place(operations);
    std::vector<std::vector<size_t>> users(kSlots);  // operations since the last write (first, if any)
    std::array<uint64_t, kStreams> count{};
    const auto wait_for = [&](size_t stream, size_t operation) {
        const Access& access = place[operation];
        if (access.stream == stream) return;
        if (random() % 2) OK(sidra_stream_wait_event(streams[stream], events[operation]));
        else OK(sidra_semaphore_wait_async(streams[stream], {words, access.stream * 64}, access.number));
    };

    for (size_t op = 0; op < operations; ++op) {
        const size_t stream = random() % kStreams;
        const size_t a = random() % kSlots, b = random() % kSlots, c = random() % kSlots;
        delay(streams[stream]);
        for (size_t read : {a, b})
            if (!users[read].empty()) wait_for(stream, users[read].front());
        for (size_t before : users[c]) wait_for(stream, before);

        const sidra_array out = array(c), left = array(a), right = array(b);
        OK(sidra_add(streams[stream], kSize, &out, &left, &right));
        place[op] = {stream, ++count[stream]};
        OK(sidra_semaphore_signal_async(streams[stream], {words, stream * 64}, count[stream]));
        OK(sidra_event_create(context, SIDRA_EVENT_DEFAULT, &events[op]));
        OK(sidra_event_record(events[op], streams[stream]));

        for (size_t i = 0; i < kColumns; ++i)
            expected[c * kColumns + i] = static_cast<int32_t>(static_cast<uint32_t>(expected[a * kColumns + i]) +
                                                              static_cast<uint32_t>(expected[b * kColumns + i]));
        users[c] = {op};
        for (size_t read : {a, b})
            if (read != c) users[read].push_back(op);
    }
    OK(sidra_context_synchronize(context, soon()));
    EXPECT_TRUE(std::equal(expected.begin(), expected.end(), data));
    for (sidra_event* event : events) {
        EXPECT_EQ(SIDRA_OK, sidra_event_query(event));
        OK(sidra_event_destroy(event));
    }
}
INSTANTIATE_TEST_SUITE_P(Seeds, Order, testing::Range(1u, 13u));

using Litmus = Order;

// Message passing: one stream writes a row and then notifies in one of four ways; the receiver must see the row.
TEST_F(Litmus, NewsNeverOvertakesItsMessage) {
    sidra_event* event;
    OK(sidra_event_create(context, SIDRA_EVENT_DEFAULT, &event));
    for (unsigned round = 1; round <= 2000u / kScale; ++round) {
        sidra_stream* writer = streams[random() % 3];
        sidra_stream* reader = streams[3 + random() % 3];
        delay(writer);
        OK(sidra_fill_async(writer, slot(0), round, 4, kRow));
        switch (random() % 4) {
            case 0:  // an event, awaited by another stream
                OK(sidra_event_record(event, writer));
                OK(sidra_stream_wait_event(reader, event));
                break;
            case 1:  // a semaphore, awaited by another stream
                OK(sidra_semaphore_signal_async(writer, {words, 1024}, round));
                OK(sidra_semaphore_wait_async(reader, {words, 1024}, round));
                break;
            case 2: {  // a semaphore word, polled by this thread while the executor works
                OK(sidra_semaphore_signal_async(writer, {words, 1024}, round));
                const uint64_t limit = soon();
                while (__atomic_load_n(&word[1024 / 8], __ATOMIC_ACQUIRE) < round)
                    ASSERT_LT(sidra_deadline_after_ns(0), limit);
                ASSERT_EQ(data[0], static_cast<int32_t>(round));
                ASSERT_EQ(data[kColumns - 1], static_cast<int32_t>(round));
                break;
            }
            default: {  // the timeline, polled by this thread
                uint64_t submitted, completed;
                const uint64_t limit = soon();
                do {
                    OK(sidra_stream_timeline(writer, &submitted, &completed));
                    ASSERT_LT(sidra_deadline_after_ns(0), limit);
                } while (completed < submitted);
                ASSERT_EQ(data[0], static_cast<int32_t>(round));
                ASSERT_EQ(data[kColumns - 1], static_cast<int32_t>(round));
            }
        }
        OK(sidra_copy_async(reader, slot(1), slot(0), kRow));
        OK(sidra_stream_synchronize(reader, soon()));
        ASSERT_EQ(data[kColumns], static_cast<int32_t>(round));
        ASSERT_EQ(data[2 * kColumns - 1], static_cast<int32_t>(round));
    }
    OK(sidra_event_destroy(event));
}

// A host thread signals parked streams: store, then doorbell. No wake-up is ever lost, whatever the delays.
TEST_F(Litmus, HostSignalsAreNeverLost) {
    const unsigned rounds = 400u / kScale;
    std::atomic<unsigned> ready{0};
    std::thread signaller([&] {
        std::mt19937 delays(7);
        for (unsigned round = 1; round <= rounds; ++round) {
            while (ready.load() < round) std::this_thread::yield();
            if (delays() % 4 == 0) std::this_thread::sleep_for(std::chrono::microseconds(delays() % 60));
            ASSERT_EQ(SIDRA_OK, sidra_semaphore_signal(context, {words, 2048}, round)) << sidra_last_error();
        }
    });
    for (unsigned round = 1; round <= rounds; ++round) {
        sidra_stream* stream = streams[round % kStreams];
        const bool early = random() % 2;
        if (early) ready.store(round);
        OK(sidra_semaphore_wait_async(stream, {words, 2048}, round));
        OK(sidra_fill_async(stream, slot(2), round, 4, kRow));
        if (!early) ready.store(round);
        OK(sidra_stream_synchronize(stream, soon()));
        ASSERT_EQ(data[2 * kColumns], static_cast<int32_t>(round));
    }
    signaller.join();
}

// Two streams each signal and then wait for the other, again and again: neither may miss the other's signal while
// parking.
TEST_F(Litmus, TwoParkedStreamsMeet) {
    for (uint64_t round = 1; round <= 3000u / kScale; ++round) {
        for (size_t i : {size_t{0}, size_t{1}}) {
            delay(streams[i]);
            OK(sidra_semaphore_signal_async(streams[i], {words, 64 * i}, round));
            OK(sidra_semaphore_wait_async(streams[i], {words, 64 * (1 - i)}, round));
        }
        if (random() % 64 == 0) OK(sidra_stream_synchronize(streams[random() % 2], soon()));
    }
    OK(sidra_context_synchronize(context, soon()));
}

}  // namespace
