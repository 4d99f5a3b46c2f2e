// SPDX-License-Identifier: MIT
// The packet that each operation writes into the ring, and its negative twins, which are refused. With the fake driver,
// where packets can be inspected.
#include <array>
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>

#include "fake_fixture.h"
#include "sidra_cmd.h"

namespace sidra::test {
namespace {

constexpr float kNan = std::numeric_limits<float>::quiet_NaN();
constexpr float kInfinity = std::numeric_limits<float>::infinity();
// Types for vector programs only, and none.
constexpr sidra_type kOtherTypes[] = {SIDRA_S16, SIDRA_S64,  SIDRA_BOOL,
                                      SIDRA_F16, SIDRA_BF16, static_cast<sidra_type>(9)};

// Operations on two buffers and weights of 6 inputs and 10 outputs.
class Packets : public FakeTest {
   protected:
    static constexpr uint32_t kK = 6, kN = 10;

    void SetUp() override {
        FakeTest::SetUp();
        ASSERT_OK(sidra_buffer_create(context, kBufferSize, 0, &second));
        ASSERT_OK(sidra_buffer_register(context, memory, sizeof memory, true, &readonly));
        std::array<int8_t, kK * kN> values{};
        std::array<float, kN> scale;
        scale.fill(0.5f);
        ASSERT_OK(sidra_weights_create_s8(context, kK, kN, values.data(), kN, scale.data(), nullptr, &weights));
        ASSERT_OK(sidra_weights_program_async(stream, weights));
        base = address_of(buffer);
        second_base = address_of(second);
    }
    void TearDown() override {
        EXPECT_OK(sidra_weights_destroy(weights));
        EXPECT_OK(sidra_buffer_destroy(readonly));
        EXPECT_OK(sidra_buffer_destroy(second));
        FakeTest::TearDown();
    }
    uint64_t address_of(sidra_buffer* of) {
        EXPECT_OK(sidra_timestamp_async(stream, {of, 0}));
        return last_packet().timestamp.addr;
    }
    // A refused operation leaves no packet.
    template <typename Operation>
    void refuses(sidra_status status, Operation&& operation) {
        uint64_t before = 0, after = 0;
        EXPECT_OK(sidra_stream_timeline(stream, &before, nullptr));
        EXPECT_FAILS(status, operation());
        EXPECT_OK(sidra_stream_timeline(stream, &after, nullptr));
        EXPECT_EQ(before, after) << sidra_last_error();
    }

    alignas(64) unsigned char memory[4096] = {};
    sidra_buffer* second = nullptr;
    sidra_buffer* readonly = nullptr;
    sidra_weights* weights = nullptr;
    uint64_t base = 0, second_base = 0;
};

TEST_F(Packets, NopAndBarrierAreEmpty) {
    for (const auto& [operation, opcode] :
         {std::pair{&sidra_nop_async, SIDRA_CMD_NOP}, std::pair{&sidra_barrier_async, SIDRA_CMD_BARRIER}}) {
        EXPECT_OK(operation(stream));
        const sidra_cmd packet = last_packet();
        EXPECT_EQ(opcode, packet.hdr.opcode);
        for (int word = 1; word < 8; ++word) EXPECT_EQ(0u, packet.raw[word]);
    }
}

TEST_F(Packets, Copy) {
    EXPECT_OK(sidra_copy_async(stream, {second, 100}, at(7), 1000));
    const sidra_cmd packet = last_packet();
    EXPECT_EQ(SIDRA_CMD_COPY, packet.hdr.opcode);
    EXPECT_EQ(second_base + 100, packet.copy.dst);
    EXPECT_EQ(base + 7, packet.copy.src);
    EXPECT_EQ(1000u, packet.copy.row_bytes);
    EXPECT_EQ(1u, packet.copy.rows);
    EXPECT_EQ(0u, packet.copy.dst_stride);
    EXPECT_EQ(0u, packet.copy.src_stride);

    refuses(SIDRA_ERROR_INVALID_ARGUMENT, [&] { return sidra_copy_async(stream, {second, 0}, at(0), 0); });
    refuses(SIDRA_ERROR_INVALID_ARGUMENT, [&] { return sidra_copy_async(stream, {second, 1}, at(0), kBufferSize); });
    refuses(SIDRA_ERROR_INVALID_ARGUMENT, [&] { return sidra_copy_async(stream, {second, 0}, at(1), kBufferSize); });
    refuses(SIDRA_ERROR_INVALID_ARGUMENT, [&] { return sidra_copy_async(stream, {second, SIZE_MAX}, at(0), 2); });
    refuses(SIDRA_ERROR_INVALID_ARGUMENT, [&] { return sidra_copy_async(stream, {second, 0}, at(0), SIZE_MAX); });
    refuses(SIDRA_ERROR_INVALID_ARGUMENT, [&] { return sidra_copy_async(stream, at(0), at(99), 100); });
    refuses(SIDRA_ERROR_INVALID_ARGUMENT, [&] { return sidra_copy_async(stream, at(5), at(5), 1); });
    refuses(SIDRA_ERROR_PERMISSION, [&] { return sidra_copy_async(stream, {readonly, 0}, at(0), 1); });
    EXPECT_OK(sidra_copy_async(stream, at(0), {readonly, 0}, sizeof memory));
    EXPECT_OK(sidra_copy_async(stream, at(0), at(100), 100));
    EXPECT_OK(sidra_copy_async(stream, {second, 0}, at(0), kBufferSize));
}

TEST_F(Packets, Copy2d) {
    EXPECT_OK(sidra_copy_2d_async(stream, {second, 0}, 32, at(64), 100, 16, 5));
    const sidra_cmd packet = last_packet();
    EXPECT_EQ(32u, packet.copy.dst_stride);
    EXPECT_EQ(100u, packet.copy.src_stride);
    EXPECT_EQ(16u, packet.copy.row_bytes);
    EXPECT_EQ(5u, packet.copy.rows);
    EXPECT_OK(sidra_copy_2d_async(stream, {second, 0}, 7, at(64), 7, 16, 1)) << "the strides of one row do not count";
    EXPECT_EQ(0u, last_packet().copy.dst_stride);
    EXPECT_OK(sidra_copy_2d_async(stream, at(16), 64, at(0), 64, 16, 8)) << "columns of one matrix do not overlap";
    EXPECT_OK(sidra_copy_2d_async(stream, at(0), 64, at(16), 64, 16, 8));
    // Exactly to the end.
    EXPECT_OK(sidra_copy_2d_async(stream, {second, kBufferSize - 64 - 16}, 64, at(0), 64, 16, 2));
    refuses(SIDRA_ERROR_INVALID_ARGUMENT, [&] {
        return sidra_copy_2d_async(stream, {second, kBufferSize - 64 - 15}, 64, at(0), 64, 16, 2);
    });
    refuses(SIDRA_ERROR_INVALID_ARGUMENT, [&] { return sidra_copy_2d_async(stream, at(15), 64, at(0), 64, 16, 8); });
    refuses(SIDRA_ERROR_INVALID_ARGUMENT, [&] {
        return sidra_copy_2d_async(stream, {second, 0}, 15, at(0), 64, 16, 2);
    });
    refuses(SIDRA_ERROR_INVALID_ARGUMENT, [&] {
        return sidra_copy_2d_async(stream, {second, 0}, 64, at(0), 15, 16, 2);
    });
    refuses(SIDRA_ERROR_INVALID_ARGUMENT, [&] {
        return sidra_copy_2d_async(stream, {second, 0}, 64, at(0), 64, 0, 2);
    });
    refuses(SIDRA_ERROR_INVALID_ARGUMENT, [&] {
        return sidra_copy_2d_async(stream, {second, 0}, 64, at(0), 64, 16, 0);
    });
    refuses(SIDRA_ERROR_INVALID_ARGUMENT, [&] {
        return sidra_copy_2d_async(stream, {second, 0}, SIZE_MAX / 2, at(0), 64, 16, 4);
    });
}

TEST_F(Packets, Fill) {
    EXPECT_OK(sidra_fill_async(stream, at(8), 0x1122334455667788u, 4, 400));
    const sidra_cmd packet = last_packet();
    EXPECT_EQ(SIDRA_CMD_FILL, packet.hdr.opcode);
    EXPECT_EQ(base + 8, packet.fill.dst);
    EXPECT_EQ(400u, packet.fill.bytes);
    EXPECT_EQ(0x55667788u, packet.fill.pattern) << "high bytes must be dropped";
    EXPECT_EQ(4u, packet.fill.pattern_bytes);
    EXPECT_OK(sidra_fill_async(stream, at(8), UINT64_MAX, 8, 8));
    EXPECT_EQ(UINT64_MAX, last_packet().fill.pattern);
    for (const uint32_t size : {0u, 3u, 5u, 16u, 1u << 31})
        refuses(SIDRA_ERROR_INVALID_ARGUMENT, [&] { return sidra_fill_async(stream, at(0), 0, size, 240); });
    refuses(SIDRA_ERROR_INVALID_ARGUMENT, [&] { return sidra_fill_async(stream, at(0), 0, 1, 0); });
    refuses(SIDRA_ERROR_INVALID_ARGUMENT, [&] { return sidra_fill_async(stream, at(2), 0, 4, 8); });
    refuses(SIDRA_ERROR_INVALID_ARGUMENT, [&] { return sidra_fill_async(stream, at(0), 0, 4, 6); });
    refuses(SIDRA_ERROR_INVALID_ARGUMENT, [&] { return sidra_fill_async(stream, at(8), 0, 8, kBufferSize); });
    refuses(SIDRA_ERROR_PERMISSION, [&] { return sidra_fill_async(stream, {readonly, 0}, 0, 8, 8); });
}

TEST_F(Packets, TimestampAndSemaphores) {
    EXPECT_OK(sidra_timestamp_async(stream, at(kBufferSize - 32)));
    EXPECT_EQ(base + kBufferSize - 32, last_packet().timestamp.addr);
    refuses(SIDRA_ERROR_INVALID_ARGUMENT, [&] { return sidra_timestamp_async(stream, at(kBufferSize - 24)); });
    refuses(SIDRA_ERROR_INVALID_ARGUMENT, [&] { return sidra_timestamp_async(stream, at(4)); });
    refuses(SIDRA_ERROR_PERMISSION, [&] { return sidra_timestamp_async(stream, {readonly, 0}); });

    EXPECT_OK(sidra_semaphore_signal_async(stream, at(16), 5));
    EXPECT_EQ(SIDRA_CMD_SEM_SIGNAL, last_packet().hdr.opcode);
    EXPECT_EQ(base + 16, last_packet().sem.addr);
    EXPECT_EQ(5u, last_packet().sem.value);
    EXPECT_OK(sidra_semaphore_wait_async(stream, {readonly, 8}, 5));
    EXPECT_EQ(SIDRA_CMD_SEM_WAIT, last_packet().hdr.opcode);
    EXPECT_EQ(0u, last_packet().hdr.flags);
    refuses(SIDRA_ERROR_INVALID_ARGUMENT, [&] { return sidra_semaphore_wait_async(stream, at(12), 5); });
    refuses(SIDRA_ERROR_INVALID_ARGUMENT, [&] { return sidra_semaphore_signal_async(stream, at(kBufferSize), 5); });
    refuses(SIDRA_ERROR_PERMISSION, [&] { return sidra_semaphore_signal_async(stream, {readonly, 0}, 5); });
}

TEST_F(Packets, HostSignalsRaiseTheWordAndRingEveryStream) {
    void* address = nullptr;
    ASSERT_OK(sidra_buffer_map(buffer, &address));
    auto* word = static_cast<uint64_t*>(address) + 1;
    sidra_stream* other = nullptr;
    ASSERT_OK(sidra_stream_create(context, nullptr, &other));
    const size_t doorbells = fake->doorbells();
    EXPECT_OK(sidra_semaphore_signal(context, at(8), 7));
    EXPECT_EQ(7u, *word);
    EXPECT_EQ(doorbells + 2, fake->doorbells());
    EXPECT_OK(sidra_semaphore_signal(context, at(8), 3));
    EXPECT_EQ(7u, *word) << "a signal must never lower the word";
    EXPECT_FAILS(SIDRA_ERROR_INVALID_ARGUMENT, sidra_semaphore_signal(context, at(9), 9));
    EXPECT_FAILS(SIDRA_ERROR_PERMISSION, sidra_semaphore_signal(context, {readonly, 0}, 9));
    EXPECT_EQ(7u, *word);
    EXPECT_OK(sidra_stream_destroy(other));
}

TEST_F(Packets, Mvm) {
    auto mvm = SIDRA_INIT(sidra_mvm);
    mvm.batch = 3;
    mvm.in_type = SIDRA_S8;
    mvm.out_type = SIDRA_U8;
    mvm.in = at(0);
    mvm.out = {second, 0};
    mvm.bias = at(1024);
    mvm.in_scale = 0.25f;
    mvm.out_scale = 2.0f;
    mvm.in_zero = -3;
    mvm.out_zero = 200;
    mvm.cookie = 77;
    EXPECT_OK(sidra_mvm_async(stream, weights, &mvm));
    const sidra_cmd_mvm packet = last_packet().mvm;
    EXPECT_EQ(SIDRA_CMD_MVM, packet.opcode);
    EXPECT_EQ(0, packet.flags);
    EXPECT_EQ(SIDRA_MVM_TYPES(SIDRA_TYPE_S8, SIDRA_TYPE_U8), packet.types);
    EXPECT_EQ(77u, packet.cookie);
    EXPECT_EQ(200, packet.out_zero);
    EXPECT_EQ(-3, packet.in_zero);
    EXPECT_EQ(3u, packet.batch);
    EXPECT_EQ(base, packet.in);
    EXPECT_EQ(second_base, packet.out);
    EXPECT_EQ(kK, packet.in_stride);
    EXPECT_EQ(kN, packet.out_stride);
    EXPECT_EQ(base + 1024, packet.bias);
    EXPECT_EQ(0.25f, std::bit_cast<float>(packet.in_scale));
    EXPECT_EQ(0.5f, std::bit_cast<float>(packet.out_factor));
    EXPECT_NE(0u, packet.scale);

    mvm.out_type = SIDRA_S32;
    mvm.in_scale = mvm.out_scale = 0;
    mvm.out_zero = 0;
    EXPECT_OK(sidra_mvm_async(stream, weights, &mvm));
    EXPECT_EQ(0u, last_packet().mvm.scale) << "sums have no factors";
    EXPECT_EQ(kN * 4, last_packet().mvm.out_stride);
    EXPECT_EQ(0u, last_packet().mvm.in_scale);
    EXPECT_EQ(0u, last_packet().mvm.out_factor);

    mvm.out_type = SIDRA_F32;
    mvm.in_scale = 1.0f;
    EXPECT_OK(sidra_mvm_async(stream, weights, &mvm));
    EXPECT_EQ(0u, last_packet().mvm.in_scale) << "1 is the default";
}

TEST_F(Packets, MvmRefuses) {
    auto good = SIDRA_INIT(sidra_mvm);
    good.batch = 2;
    good.in_type = SIDRA_U8;
    good.out_type = SIDRA_S32;
    good.in = at(0);
    good.out = {second, 0};
    EXPECT_OK(sidra_mvm_async(stream, weights, &good));
    const auto refuses_with = [&](sidra_status status, auto&& change) {
        sidra_mvm bad = good;
        change(bad);
        refuses(status, [&] { return sidra_mvm_async(stream, weights, &bad); });
    };
    const auto invalid = [&](auto&& change) { refuses_with(SIDRA_ERROR_INVALID_ARGUMENT, change); };
    invalid([](sidra_mvm& m) { m.batch = 0; });
    invalid([](sidra_mvm& m) { m.batch = SIDRA_CMD_BATCH_MAX + 1; });
    invalid([](sidra_mvm& m) { m.in_type = SIDRA_S32; });
    for (const sidra_type type : kOtherTypes) {
        invalid([&](sidra_mvm& m) { m.in_type = type; });
        invalid([&](sidra_mvm& m) { m.out_type = type; });
    }
    invalid([](sidra_mvm& m) { m.out_type = static_cast<sidra_type>(-1); });
    invalid([](sidra_mvm& m) { m.in_stride = kK - 1; });
    invalid([](sidra_mvm& m) { m.in_stride = size_t{1} << 32; });
    invalid([](sidra_mvm& m) { m.out_stride = kN * 4 - 4; });
    invalid([](sidra_mvm& m) { m.out_stride = kN * 4 + 2; });
    invalid([](sidra_mvm& m) { m.out.offset = 2; });
    invalid([](sidra_mvm& m) { m.out.offset = kBufferSize - 2 * kN * 4 + 4; });
    invalid([](sidra_mvm& m) { m.in.offset = kBufferSize - 2 * kK + 1; });
    invalid([&](sidra_mvm& m) { m.out = at(8); });  // over the input
    invalid([](sidra_mvm& m) { m.in_scale = 1; });
    invalid([](sidra_mvm& m) { m.out_scale = 1; });
    invalid([](sidra_mvm& m) { m.in_zero = -1; });
    invalid([](sidra_mvm& m) { m.in_zero = 256; });
    invalid([](sidra_mvm& m) { m.in_type = SIDRA_S8, m.in_zero = 128; });
    invalid([](sidra_mvm& m) { m.in_type = SIDRA_S8, m.in_zero = -129; });
    invalid([](sidra_mvm& m) { m.out_zero = 1; });
    invalid([](sidra_mvm& m) { m.out_type = SIDRA_S8, m.out_zero = 128; });
    invalid([](sidra_mvm& m) { m.out_type = SIDRA_U8, m.out_zero = -1; });
    invalid([](sidra_mvm& m) { m.bias.offset = 4; });
    invalid([&](sidra_mvm& m) { m.bias = at(2); });
    invalid([&](sidra_mvm& m) { m.bias = at(kBufferSize - kN * 4 + 4); });
    for (const float bad : {-1.0f, kNan, kInfinity, 1e-45f}) {
        invalid([&](sidra_mvm& m) { m.out_type = SIDRA_F32, m.in_scale = bad; });
        invalid([&](sidra_mvm& m) { m.out_type = SIDRA_S8, m.out_scale = bad; });
    }
    invalid([](sidra_mvm& m) { m.in_type = SIDRA_F32, m.in_scale = 1, m.in.offset = 2; });
    invalid([](sidra_mvm& m) { m.in_type = SIDRA_F32, m.in_scale = 1, m.in_stride = kK * 4 + 1; });
    // A scale that was forgotten.
    invalid([](sidra_mvm& m) { m.in_type = SIDRA_F32; });
    EXPECT_NE(nullptr, std::strstr(sidra_last_error(), "in_scale is 0, but F32 input needs one")) << sidra_last_error();
    invalid([](sidra_mvm& m) { m.out_type = SIDRA_S8; });
    EXPECT_NE(nullptr, std::strstr(sidra_last_error(), "out_scale is 0, but S8 output needs one"))
        << sidra_last_error();
    invalid([](sidra_mvm& m) { m.out_type = SIDRA_U8; });
    refuses_with(SIDRA_ERROR_PERMISSION, [&](sidra_mvm& m) { m.out = {readonly, 0}; });
    refuses_with(SIDRA_ERROR_INVALID_HANDLE, [](sidra_mvm& m) { m.in.buffer = nullptr; });
    refuses_with(SIDRA_ERROR_INVALID_HANDLE, [](sidra_mvm& m) { m.out.buffer = nullptr; });

    sidra_weights* fresh = nullptr;
    const int8_t value = 1;
    ASSERT_OK(sidra_weights_create_s8(context, 1, 1, &value, 1, nullptr, nullptr, &fresh));
    refuses(SIDRA_ERROR_UNPROGRAMMED, [&] { return sidra_mvm_async(stream, fresh, &good); });
    EXPECT_OK(sidra_weights_destroy(fresh));
}

TEST_F(Packets, BatchRingsOnce) {
    const size_t doorbells = fake->doorbells();
    fake->set_automatic(false);
    ASSERT_OK(sidra_batch_begin(stream));
    EXPECT_FAILS(SIDRA_ERROR_INVALID_ARGUMENT, sidra_batch_begin(stream));
    uint64_t start = 0, end = 0;
    EXPECT_OK(sidra_stream_timeline(stream, &start, nullptr));
    for (int i = 0; i < 64; ++i) EXPECT_OK(sidra_nop_async(stream));
    EXPECT_EQ(doorbells, fake->doorbells());
    EXPECT_EQ(start, *fake->queue(0).write_word) << "the chip sees a packet before the batch ends";
    EXPECT_EQ(SIDRA_ERROR_NOT_READY, sidra_stream_query(stream));
    EXPECT_OK(sidra_batch_end(stream));
    EXPECT_EQ(doorbells + 1, fake->doorbells());
    EXPECT_EQ(start + 64, *fake->queue(0).write_word);
    EXPECT_OK(sidra_stream_timeline(stream, &end, nullptr));
    EXPECT_EQ(start + 64, end);
    EXPECT_FAILS(SIDRA_ERROR_INVALID_ARGUMENT, sidra_batch_end(stream));
    EXPECT_EQ(doorbells + 1, fake->doorbells());
    fake->retire(0, end);
    EXPECT_OK(sidra_stream_query(stream));
}

TEST_F(Packets, SynchronizeSubmitsAnOpenBatch) {
    ASSERT_OK(sidra_batch_begin(stream));
    EXPECT_OK(sidra_nop_async(stream));
    EXPECT_OK(sidra_stream_synchronize(stream, sidra_deadline_after_ns(1'000'000'000)));
    EXPECT_OK(sidra_nop_async(stream));
    EXPECT_EQ(SIDRA_ERROR_NOT_READY, sidra_stream_query(stream));
    EXPECT_OK(sidra_batch_end(stream));
    EXPECT_OK(sidra_stream_query(stream));
}

TEST_F(Packets, FullRingSubmitsABatchEarly) {
    ASSERT_OK(sidra_batch_begin(stream));
    const size_t doorbells = fake->doorbells();
    for (int i = 0; i < 5000; ++i) ASSERT_OK(sidra_nop_async(stream));
    ASSERT_OK(sidra_batch_end(stream));
    EXPECT_GE(fake->doorbells() - doorbells, 4u);
    EXPECT_LE(fake->doorbells() - doorbells, 6u);
    EXPECT_OK(sidra_stream_query(stream));
}

}  // namespace
}  // namespace sidra::test
