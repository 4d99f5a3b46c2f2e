// SPDX-License-Identifier: MIT
// Named weights on a card with a state file: one guest creates them, and the next one computes with them:
// tests/vm/power-off, tests/vm/power-on.
#include "node.h"
#include "sidra/sidra.h"

namespace sidra::test {
namespace {

constexpr char kName[] = "left-behind";

class PowerOff : public NodeTest {
   protected:
    void SetUp() override {
        NodeTest::SetUp();
        setenv("SIDRA_DEVICE", kOwnNode, 1);
        ASSERT_EQ(sidra_device_open(0, nullptr, &device_), SIDRA_OK) << sidra_last_error();
        ASSERT_EQ(sidra_context_create(device_, &context_), SIDRA_OK) << sidra_last_error();
        ASSERT_EQ(sidra_stream_create(context_, nullptr, &stream_), SIDRA_OK) << sidra_last_error();
    }
    void TearDown() override {
        EXPECT_EQ(sidra_weights_destroy(weights_), SIDRA_OK) << sidra_last_error();
        EXPECT_EQ(sidra_stream_destroy(stream_), SIDRA_OK);
        EXPECT_EQ(sidra_context_destroy(context_), SIDRA_OK);
        EXPECT_EQ(sidra_device_close(device_), SIDRA_OK);
    }

    sidra_device* device_ = nullptr;
    sidra_context* context_ = nullptr;
    sidra_stream* stream_ = nullptr;
    sidra_weights* weights_ = nullptr;
};

TEST_F(PowerOff, Leaves) {
    ASSERT_EQ(sidra_weights_open(context_, kName, &weights_), SIDRA_ERROR_NOT_FOUND);
    const int8_t matrix[3 * 2] = {1, 2, 3, 4, 5, 6};
    ASSERT_EQ(sidra_weights_create_s8(context_, 3, 2, matrix, 2, nullptr, nullptr, &weights_), SIDRA_OK)
        << sidra_last_error();
    ASSERT_EQ(sidra_weights_program_async(stream_, weights_), SIDRA_OK) << sidra_last_error();
    ASSERT_EQ(sidra_stream_synchronize(stream_, SIDRA_NEVER), SIDRA_OK) << sidra_last_error();
    EXPECT_EQ(sidra_weights_publish(weights_, kName, 0600), SIDRA_OK) << sidra_last_error();
}

TEST_F(PowerOff, Finds) {
    ASSERT_EQ(sidra_weights_open(context_, kName, &weights_), SIDRA_OK) << sidra_last_error();
    sidra_buffer* buffer = nullptr;
    void* address = nullptr;
    ASSERT_EQ(sidra_buffer_create(context_, 4096, SIDRA_BUFFER_HOST, &buffer), SIDRA_OK) << sidra_last_error();
    ASSERT_EQ(sidra_buffer_map(buffer, &address), SIDRA_OK) << sidra_last_error();
    auto* in = static_cast<uint8_t*>(address);
    in[0] = 10;
    in[1] = 20;
    in[2] = 30;
    sidra_mvm mvm = SIDRA_INIT(sidra_mvm);
    mvm.batch = 1;
    mvm.in_type = SIDRA_U8;
    mvm.out_type = SIDRA_S32;
    mvm.in = {buffer, 0};
    mvm.out = {buffer, 1024};
    EXPECT_EQ(sidra_mvm_async(stream_, weights_, &mvm), SIDRA_OK) << sidra_last_error();
    EXPECT_EQ(sidra_stream_synchronize(stream_, SIDRA_NEVER), SIDRA_OK) << sidra_last_error();
    const auto* out = reinterpret_cast<const int32_t*>(in + 1024);
    EXPECT_EQ(out[0], 10 * 1 + 20 * 3 + 30 * 5);
    EXPECT_EQ(out[1], 10 * 2 + 20 * 4 + 30 * 6);
    EXPECT_EQ(sidra_weights_unlink(context_, kName), SIDRA_OK) << sidra_last_error();
    EXPECT_EQ(sidra_buffer_destroy(buffer), SIDRA_OK);
}

}  // namespace
}  // namespace sidra::test
