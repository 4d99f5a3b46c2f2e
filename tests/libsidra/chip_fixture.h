// SPDX-License-Identifier: MIT
// A device, context and stream on a small chip.
#ifndef SIDRA_TESTS_CHIP_FIXTURE_H
#define SIDRA_TESTS_CHIP_FIXTURE_H

#include <gtest/gtest.h>

#include <random>
#include <span>
#include <vector>

#include "expect.h"
#include "patience.h"
#include "sidra/functions.h"
#include "sidra_cmd.h"
#include "sidra_hw.h"
#include "test_device.h"

namespace sidra::test {

class ChipTest : public testing::Test {
   protected:
    void SetUp() override {
        choose_test_device();
        open_chip({});
    }
    void TearDown() override {
        EXPECT_OK(sidra_stream_destroy(stream));
        EXPECT_OK(sidra_context_destroy(context));
        EXPECT_OK(sidra_device_close(device));
    }

    // What a test wants of its chip. Level accurate cannot be had on a node, whose level is given to QEMU.
    struct Wanted {
        sidra_level level = SIDRA_LEVEL_FAST;
        uint32_t stuck_ppm = 0;
        uint32_t workers = 2;
    };
    void open_chip(const Wanted& wanted) {
        auto options = SIDRA_INIT(sidra_device_options);
        options.profile = SIDRA_PROFILE_SMALL;
        options.private_chip = !on_a_node();
        options.level = wanted.level;
        options.stuck_ppm = wanted.stuck_ppm;
        options.workers = wanted.workers;
        ASSERT_OK(sidra_device_open(0, &options, &device));
        ASSERT_OK(sidra_context_create(device, &context));
        ASSERT_OK(sidra_stream_create(context, nullptr, &stream));
    }

    // A buffer that lives as long as the test.
    class Buffer {
       public:
        Buffer(sidra_context* context, size_t size, uint32_t flags = SIDRA_BUFFER_HOST) : size_(size) {
            EXPECT_OK(sidra_buffer_create(context, size, flags, &handle_));
            EXPECT_OK(sidra_buffer_map(handle_, &address_));
        }
        Buffer(const Buffer&) = delete;
        Buffer& operator=(const Buffer&) = delete;
        ~Buffer() { EXPECT_OK(sidra_buffer_destroy(handle_)); }
        sidra_ref at(size_t offset = 0) const { return {handle_, offset}; }
        template <typename T = uint8_t>
        std::span<T> as() const {
            return {static_cast<T*>(address_), size_ / sizeof(T)};
        }
        sidra_buffer* get() const { return handle_; }

       private:
        sidra_buffer* handle_ = nullptr;
        void* address_ = nullptr;
        size_t size_;
    };

    void synchronize() { ASSERT_OK(sidra_stream_synchronize(stream, soon())); }

    template <typename T>
    void randomise(std::span<T> values, int low, int high) {
        std::uniform_int_distribution<int> any(low, high);
        for (T& value : values) value = static_cast<T>(any(random));
    }
    void randomise(std::span<float> values, float low, float high) {
        std::uniform_real_distribution<float> any(low, high);
        for (float& value : values) value = any(random);
    }

    sidra_device* device = nullptr;
    sidra_context* context = nullptr;
    sidra_stream* stream = nullptr;
    std::mt19937 random{20260101};
};

}  // namespace sidra::test

#endif
