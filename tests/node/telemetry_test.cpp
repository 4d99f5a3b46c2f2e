// SPDX-License-Identifier: MIT
// A card's telemetry as the driver shows it, compared with known work.
#include "node.h"
#include "sidra/sidra.h"

namespace sidra::test {
namespace {

#define ASSERT_DONE(call) ASSERT_EQ(SIDRA_OK, (call)) << sidra_last_error()

class NodeTelemetry : public NodeTest {};

sidra_telemetry telemetry() {
    sidra_telemetry now{};
    std::ifstream file("/sys/class/sidra/sidra0/telemetry", std::ios::binary);
    EXPECT_TRUE(file.read(reinterpret_cast<char*>(&now), sizeof now));
    EXPECT_EQ(now.magic, SIDRA_TELEMETRY_MAGIC);
    EXPECT_EQ(now.size, sizeof now);
    EXPECT_EQ(file.get(), std::char_traits<char>::eof()) << "and no more";
    return now;
}

TEST_F(NodeTelemetry, CountersAreExact) {
    constexpr uint64_t kRows = 300, kCols = 140, kTiles = 4, kProducts = 7, kBatch = 5, kCopies = 11, kBytes = 12'345;
    setenv("SIDRA_DEVICE", kOwnNode, 1);
    sidra_device* device = nullptr;
    sidra_context* context = nullptr;
    sidra_stream* stream = nullptr;
    sidra_buffer *in = nullptr, *out = nullptr;
    sidra_weights* weights = nullptr;
    ASSERT_DONE(sidra_device_open(0, nullptr, &device));
    ASSERT_DONE(sidra_context_create(device, &context));
    ASSERT_DONE(sidra_stream_create(context, nullptr, &stream));
    ASSERT_DONE(sidra_buffer_create(context, 1 << 16, SIDRA_BUFFER_HOST, &in));
    ASSERT_DONE(sidra_buffer_create(context, 1 << 16, SIDRA_BUFFER_HOST, &out));
    const std::vector<int8_t> matrix(kRows * kCols, 3);
    ASSERT_DONE(sidra_weights_create_s8(context, kRows, kCols, matrix.data(), kCols, nullptr, nullptr, &weights));
    const sidra_telemetry before = telemetry();
    ASSERT_DONE(sidra_weights_program_async(stream, weights));
    sidra_mvm mvm = SIDRA_INIT(sidra_mvm);
    mvm.batch = kBatch;
    mvm.in_type = SIDRA_U8;
    mvm.out_type = SIDRA_S32;
    mvm.in = {in, 0};
    mvm.out = {out, 0};
    for (uint64_t i = 0; i < kProducts; i++) ASSERT_DONE(sidra_mvm_async(stream, weights, &mvm));
    for (uint64_t i = 0; i < kCopies; i++) ASSERT_DONE(sidra_copy_async(stream, {out, 0}, {in, 0}, kBytes));
    ASSERT_DONE(sidra_stream_synchronize(stream, SIDRA_NEVER));
    const sidra_telemetry after = telemetry();
    EXPECT_EQ(after.mvms - before.mvms, kProducts * kBatch * kTiles);
    EXPECT_EQ(after.macs - before.macs, kProducts * kBatch * kRows * kCols);
    EXPECT_EQ(after.copy_bytes - before.copy_bytes, kCopies * kBytes);
    EXPECT_EQ(after.programmed_cells - before.programmed_cells, kRows * kCols * 2);
    EXPECT_EQ(after.packets - before.packets, kProducts + kCopies + 1);
    EXPECT_EQ(after.xbars_programmed - before.xbars_programmed, kTiles);
    EXPECT_GT(after.engine_ns[SIDRA_HW_ENGINE_MVM], before.engine_ns[SIDRA_HW_ENGINE_MVM]);
    EXPECT_GT(after.engine_ns[SIDRA_HW_ENGINE_COPY], before.engine_ns[SIDRA_HW_ENGINE_COPY]);
    EXPECT_GT(after.engine_ns[SIDRA_HW_ENGINE_PROGRAM], before.engine_ns[SIDRA_HW_ENGINE_PROGRAM]);
    EXPECT_EQ(after.engine_ns[SIDRA_HW_ENGINE_VEC], before.engine_ns[SIDRA_HW_ENGINE_VEC]);
    EXPECT_NE(after.status & SIDRA_STATUS_READY, 0u);
    EXPECT_EQ(sidra_weights_destroy(weights), SIDRA_OK);
    EXPECT_EQ(sidra_buffer_destroy(in), SIDRA_OK);
    EXPECT_EQ(sidra_buffer_destroy(out), SIDRA_OK);
    EXPECT_EQ(sidra_stream_destroy(stream), SIDRA_OK);
    EXPECT_EQ(sidra_context_destroy(context), SIDRA_OK);
    EXPECT_EQ(sidra_device_close(device), SIDRA_OK);
}

}  // namespace
}  // namespace sidra::test
