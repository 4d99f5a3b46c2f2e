// SPDX-License-Identifier: MIT
// From addresses to buffers, against a plain list of all buffers.
#include <atomic>
#include <cstdlib>
#include <random>
#include <thread>
#include <vector>

#include "chip_fixture.h"
#include "fake_fixture.h"
#include "sidra/sidra.hpp"

namespace sidra::test {
namespace {

class Find : public FakeTest {};

TEST_F(Find, EveryByteOfABufferAndNoOther) {
    sidra_buffer* second = nullptr;
    ASSERT_OK(sidra_buffer_create(context, 4096, 0, &second));
    for (sidra_buffer* each : {buffer, second}) {
        void* address = nullptr;
        size_t size = 0;
        ASSERT_OK(sidra_buffer_map(each, &address));
        ASSERT_OK(sidra_buffer_size(each, &size));
        for (const size_t offset : {size_t{0}, size_t{1}, size / 2, size - 1}) {
            sidra_ref ref{};
            ASSERT_OK(sidra_buffer_find(context, static_cast<char*>(address) + offset, &ref));
            EXPECT_EQ(each, ref.buffer);
            EXPECT_EQ(offset, ref.offset);
        }
    }
    sidra_ref ref{nullptr, 77};
    int local = 0;
    EXPECT_FAILS(SIDRA_ERROR_NOT_FOUND, sidra_buffer_find(context, &local, &ref));
    EXPECT_FAILS(SIDRA_ERROR_NOT_FOUND, sidra_buffer_find(context, nullptr, &ref));
    EXPECT_FAILS(SIDRA_ERROR_INVALID_ARGUMENT, sidra_buffer_find(context, &local, nullptr));
    EXPECT_FAILS(SIDRA_ERROR_INVALID_HANDLE, sidra_buffer_find(nullptr, &local, &ref));
    EXPECT_EQ(77u, ref.offset);
    void* gone = nullptr;
    ASSERT_OK(sidra_buffer_map(second, &gone));
    ASSERT_OK(sidra_buffer_destroy(second));
    EXPECT_FAILS(SIDRA_ERROR_NOT_FOUND, sidra_buffer_find(context, gone, &ref));
    // Another context does not know it.
    sidra_context* other = nullptr;
    ASSERT_OK(sidra_context_create(device, &other));
    void* address = nullptr;
    ASSERT_OK(sidra_buffer_map(buffer, &address));
    EXPECT_FAILS(SIDRA_ERROR_NOT_FOUND, sidra_buffer_find(other, address, &ref));
    EXPECT_OK(sidra_context_destroy(other));
    // A destruction that fails leaves it known.
    fake->fail(SIDRA_IOCTL_BUFFER_UNBIND, EIO);
    EXPECT_NE(SIDRA_OK, sidra_buffer_destroy(buffer));
    EXPECT_OK(sidra_buffer_find(context, address, &ref));
}

TEST_F(Find, OfOverlappingBuffersTheLastOneMade) {
    struct Known {
        sidra_buffer* handle;
        size_t begin, size;
    };
    constexpr size_t kBytes = 400;
    std::vector<char> memory(kBytes);
    std::vector<Known> known;  // in order of their creation
    std::mt19937 random(5);
    const auto any = [&](size_t low, size_t high) { return std::uniform_int_distribution<size_t>(low, high)(random); };
    for (int round = 0; round < 400; ++round) {
        if (known.size() < 12 && any(0, 2) != 0) {
            Known made{};
            made.begin = any(0, kBytes - 1);
            made.size = any(1, kBytes - made.begin);
            ASSERT_OK(sidra_buffer_register(context, memory.data() + made.begin, made.size, false, &made.handle));
            known.push_back(made);
        } else if (!known.empty()) {
            const auto at = known.begin() + static_cast<std::ptrdiff_t>(any(0, known.size() - 1));
            ASSERT_OK(sidra_buffer_destroy(at->handle));
            known.erase(at);
        }
        for (size_t byte = 0; byte < kBytes; ++byte) {
            const Known* wanted = nullptr;
            for (const Known& each : known)
                if (byte >= each.begin && byte < each.begin + each.size) wanted = &each;
            sidra_ref ref{};
            const sidra_status status = sidra_buffer_find(context, memory.data() + byte, &ref);
            ASSERT_EQ(wanted != nullptr ? SIDRA_OK : SIDRA_ERROR_NOT_FOUND, status) << byte;
            if (wanted == nullptr) continue;
            ASSERT_EQ(wanted->handle, ref.buffer) << byte;
            ASSERT_EQ(byte - wanted->begin, ref.offset);
        }
    }
    for (const Known& each : known) ASSERT_OK(sidra_buffer_destroy(each.handle));
}

class ChipFind : public ChipTest {};

TEST_F(ChipFind, WhileOthersComeAndGo) {
    const Buffer steady(context, 8192), local(context, 4096, SIDRA_BUFFER_DEVICE);
    std::atomic<bool> end{false};
    std::thread churn([&] {
        std::vector<sidra_buffer*> others(16);
        while (!end) {
            for (sidra_buffer*& other : others) EXPECT_OK(sidra_buffer_create(context, 4096, 0, &other));
            for (sidra_buffer* other : others) EXPECT_OK(sidra_buffer_destroy(other));
        }
    });
    for (size_t i = 0; i < 20000; ++i) {
        sidra_ref ref{};
        const size_t offset = i % 8192;
        ASSERT_OK(sidra_buffer_find(context, steady.as().data() + offset, &ref));
        ASSERT_EQ(steady.get(), ref.buffer);
        ASSERT_EQ(offset, ref.offset);
        ASSERT_OK(sidra_buffer_find(context, local.as().data() + offset / 2, &ref));
        ASSERT_EQ(local.get(), ref.buffer);
    }
    end = true;
    churn.join();
    // What it finds is what an operation takes.
    sidra_ref ref{};
    ASSERT_OK(sidra_buffer_find(context, steady.as().data() + 256, &ref));
    ASSERT_OK(sidra_fill_async(stream, ref, 7, 1, 4));
    synchronize();
    EXPECT_EQ(7, steady.as()[256]);
    EXPECT_EQ(0, steady.as()[255]);
}

}  // namespace
}  // namespace sidra::test
