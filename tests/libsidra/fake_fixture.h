// SPDX-License-Identifier: MIT
// A device, context, stream and buffer on a fake driver.
#ifndef SIDRA_TESTS_FAKE_FIXTURE_H
#define SIDRA_TESTS_FAKE_FIXTURE_H

#include <gtest/gtest.h>

#include <memory>

#include "device.h"
#include "expect.h"
#include "fake_transport.h"

namespace sidra::test {

class FakeTest : public testing::Test {
   protected:
    static constexpr size_t kBufferSize = 1 << 16;

    void SetUp() override {
        auto transport = std::make_unique<FakeTransport>();
        fake = transport.get();
        ASSERT_OK(adopt_transport("sidra_device_open", 0, "sidra0", std::move(transport), &device));
        ASSERT_OK(sidra_context_create(device, &context));
        ASSERT_OK(sidra_stream_create(context, nullptr, &stream));
        ASSERT_OK(sidra_buffer_create(context, kBufferSize, 0, &buffer));
    }
    void TearDown() override {
        EXPECT_OK(sidra_buffer_destroy(buffer));
        EXPECT_OK(sidra_stream_destroy(stream));
        EXPECT_OK(sidra_context_destroy(context));
        EXPECT_EQ(0u, fake->live_buffers());
        EXPECT_EQ(0u, fake->live_maps());
        EXPECT_OK(sidra_device_close(device));
    }
    sidra_ref at(size_t offset) const { return {buffer, offset}; }
    // The packet that was queued last.
    sidra_cmd last_packet() const {
        uint64_t submitted = 0;
        EXPECT_OK(sidra_stream_timeline(stream, &submitted, nullptr));
        return fake->packet(0, submitted - 1);
    }

    FakeTransport* fake = nullptr;
    sidra_device* device = nullptr;
    sidra_context* context = nullptr;
    sidra_stream* stream = nullptr;
    sidra_buffer* buffer = nullptr;
};

}  // namespace sidra::test

#endif
