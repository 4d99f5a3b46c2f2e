// SPDX-License-Identifier: MIT
// Statuses and texts: every status has a name, every error number of a driver a meaning and a sentence.
#include "status.h"

#include <cerrno>
#include <set>
#include <string>
#include <thread>

#include "fake_fixture.h"

namespace sidra::test {
namespace {

TEST(Status, EveryStatusHasItsOwnName) {
    std::set<std::string> names;
    for (int status = 0; status < SIDRA_STATUS_COUNT; ++status) {
        const std::string name = sidra_status_string(static_cast<sidra_status>(status));
        EXPECT_TRUE(name == "SIDRA_OK" || name.starts_with("SIDRA_ERROR_")) << name;
        EXPECT_TRUE(names.insert(name).second) << name;
    }
    EXPECT_STREQ("SIDRA_ERROR_INTERNAL", sidra_status_string(SIDRA_ERROR_INTERNAL));
    EXPECT_STREQ("SIDRA_ERROR_TIMEOUT", sidra_status_string(SIDRA_ERROR_TIMEOUT));
    EXPECT_STREQ("SIDRA_ERROR_(unknown)", sidra_status_string(SIDRA_STATUS_COUNT));
}

TEST(Status, VersionIsTheHeaders) {
    EXPECT_EQ(uint32_t{SIDRA_VERSION_MAJOR << 16 | SIDRA_VERSION_MINOR << 8 | SIDRA_VERSION_PATCH}, sidra_version());
}

TEST(Status, TextsAreOfTheThread) {
    EXPECT_EQ(SIDRA_ERROR_INVALID_ARGUMENT, sidra_device_count(nullptr));
    std::string other = "not run";
    std::thread([&] { other = sidra_last_error(); }).join();
    EXPECT_EQ("", other);
    EXPECT_STREQ("sidra_device_count: `count` is NULL", sidra_last_error());
}

TEST(Status, LongTextsAreCut) {
    const std::string name(5000, 'x');
    EXPECT_EQ(SIDRA_ERROR_NOT_FOUND, fail(SIDRA_ERROR_NOT_FOUND, "sidra_test", "{}", name));
    EXPECT_EQ(1023u, std::string_view(sidra_last_error()).size());
}

TEST(Status, DeadlinesSaturate) {
    const uint64_t before = sidra_deadline_after_ns(0);
    const uint64_t later = sidra_deadline_after_ns(1'000'000);
    EXPECT_GE(later, before + 1'000'000);
    EXPECT_LT(later, before + 1'000'000'000'000);
    EXPECT_EQ(SIDRA_NEVER, sidra_deadline_after_ns(UINT64_MAX));
    EXPECT_EQ(SIDRA_NEVER, sidra_deadline_after_ns(UINT64_MAX - 1));
}

struct Meaning {
    int error;
    sidra_status status;
};

class DriverErrors : public FakeTest, public testing::WithParamInterface<Meaning> {};

TEST_P(DriverErrors, BecomeAStatusAndTheDriversOwnWords) {
    const Meaning meaning = GetParam();
    fake->fail(SIDRA_IOCTL_CONTEXT_CREATE, meaning.error, "words of the driver");
    sidra_context* made = reinterpret_cast<sidra_context*>(0x40);
    EXPECT_FAILS(meaning.status, sidra_context_create(device, &made));
    EXPECT_NE(std::string_view::npos, std::string_view(sidra_last_error()).find("words of the driver"))
        << sidra_last_error();
    EXPECT_EQ(reinterpret_cast<sidra_context*>(0x40), made);

    fake->fail(SIDRA_IOCTL_CONTEXT_CREATE, meaning.error, "Words that say what to do.");
    EXPECT_FAILS(meaning.status, sidra_context_create(device, &made));
    EXPECT_TRUE(std::string_view(sidra_last_error()).ends_with("failed: Words that say what to do."))
        << sidra_last_error();

    fake->fail(SIDRA_IOCTL_CONTEXT_CREATE, meaning.error);
    EXPECT_FAILS(meaning.status, sidra_context_create(device, &made));
    EXPECT_NE(std::string_view::npos, std::string_view(sidra_last_error()).find(fmt::format("errno {}", meaning.error)))
        << sidra_last_error();
}

INSTANTIATE_TEST_SUITE_P(
    All, DriverErrors,
    testing::Values(Meaning{EINVAL, SIDRA_ERROR_INVALID_ARGUMENT}, Meaning{EFAULT, SIDRA_ERROR_INVALID_ARGUMENT},
                    Meaning{ENOMEM, SIDRA_ERROR_OUT_OF_MEMORY}, Meaning{EMFILE, SIDRA_ERROR_LIMIT},
                    Meaning{ENOSPC, SIDRA_ERROR_LIMIT}, Meaning{ETIMEDOUT, SIDRA_ERROR_TIMEOUT},
                    Meaning{EACCES, SIDRA_ERROR_PERMISSION}, Meaning{EPERM, SIDRA_ERROR_PERMISSION},
                    Meaning{EDQUOT, SIDRA_ERROR_LIMIT}, Meaning{ENOENT, SIDRA_ERROR_NOT_FOUND},
                    Meaning{EEXIST, SIDRA_ERROR_EXISTS}, Meaning{EBUSY, SIDRA_ERROR_BUSY},
                    Meaning{ENODATA, SIDRA_ERROR_UNPROGRAMMED}, Meaning{EIO, SIDRA_ERROR_FAULT},
                    Meaning{ESTALE, SIDRA_ERROR_CONTEXT_LOST}, Meaning{ENODEV, SIDRA_ERROR_DEVICE_LOST},
                    Meaning{ENOTSUP, SIDRA_ERROR_NOT_SUPPORTED}, Meaning{ENOTTY, SIDRA_ERROR_NOT_SUPPORTED},
                    Meaning{EPROTO, SIDRA_ERROR_VERSION}, Meaning{EXDEV, SIDRA_ERROR_INTERNAL}),
    [](const auto& test) { return fmt::format("errno{}", test.param.error); });

class DriverRequests : public FakeTest {};

TEST_F(DriverRequests, AreRestartedAfterASignal) {
    const size_t before = fake->requests(SIDRA_IOCTL_CONTEXT_CREATE);
    fake->fail(SIDRA_IOCTL_CONTEXT_CREATE, EINTR, {}, 3);
    sidra_context* made = nullptr;
    ASSERT_OK(sidra_context_create(device, &made));
    EXPECT_EQ(before + 4, fake->requests(SIDRA_IOCTL_CONTEXT_CREATE));
    EXPECT_OK(sidra_context_destroy(made));
}

TEST_F(DriverRequests, ThatFailHaveTheMeaningOfTheirCall) {
    sidra_buffer* made = nullptr;
    fake->fail(SIDRA_IOCTL_BUFFER_CREATE, ENOSPC);
    EXPECT_FAILS(SIDRA_ERROR_OUT_OF_DEVICE_MEMORY, sidra_buffer_create(context, 64, SIDRA_BUFFER_DEVICE, &made));
    fake->fail(SIDRA_IOCTL_BUFFER_CREATE, ENOSPC);
    EXPECT_FAILS(SIDRA_ERROR_OUT_OF_MEMORY, sidra_buffer_create(context, 64, SIDRA_BUFFER_HOST, &made));
    fake->fail(SIDRA_IOCTL_BUFFER_CREATE, EINVAL, {}, 2);  // a size beyond the driver's own limit
    EXPECT_FAILS(SIDRA_ERROR_OUT_OF_DEVICE_MEMORY, sidra_buffer_create(context, 64, SIDRA_BUFFER_DEVICE, &made));
    EXPECT_FAILS(SIDRA_ERROR_OUT_OF_MEMORY, sidra_buffer_create(context, 64, SIDRA_BUFFER_HOST, &made));
    fake->fail(SIDRA_IOCTL_BUFFER_BIND, ENOSPC);
    EXPECT_FAILS(SIDRA_ERROR_OUT_OF_MEMORY, sidra_buffer_create(context, 64, SIDRA_BUFFER_HOST, &made));
    fake->fail(SIDRA_IOCTL_BUFFER_REGISTER, EDQUOT);
    int word = 0;
    EXPECT_FAILS(SIDRA_ERROR_MEMLOCK, sidra_buffer_register(context, &word, sizeof word, false, &made));
    EXPECT_EQ(1u, fake->live_buffers()) << "a failed call left a buffer behind";

    const int8_t value = 1;
    sidra_weights* weights = nullptr;
    fake->fail(SIDRA_IOCTL_WEIGHTS_CREATE, ENOSPC, {}, 2);
    EXPECT_FAILS(SIDRA_ERROR_OUT_OF_CROSSBARS,
                 sidra_weights_create_s8(context, 1, 1, &value, 1, nullptr, nullptr, &weights));
    EXPECT_EQ(1u, fake->live_buffers());
    fake->fail(SIDRA_IOCTL_BUFFER_BIND, EINVAL);
    EXPECT_FAILS(SIDRA_ERROR_INVALID_ARGUMENT,
                 sidra_weights_create_s8(context, 1, 1, &value, 1, nullptr, nullptr, &weights));
    EXPECT_EQ(1u, fake->live_buffers());

    sidra_stream* other = nullptr;
    fake->fail(SIDRA_IOCTL_QUEUE_CREATE, EMFILE);
    EXPECT_FAILS(SIDRA_ERROR_LIMIT, sidra_stream_create(context, nullptr, &other));
    EXPECT_EQ(nullptr, made);
    EXPECT_EQ(nullptr, weights);
    EXPECT_EQ(nullptr, other);
}

TEST_F(DriverRequests, ThatFailInDestroyKeepTheObject) {
    fake->fail(SIDRA_IOCTL_BUFFER_UNBIND, EBUSY);
    EXPECT_FAILS(SIDRA_ERROR_BUSY, sidra_buffer_destroy(buffer));
    size_t size = 0;
    EXPECT_OK(sidra_buffer_size(buffer, &size));
    EXPECT_EQ(kBufferSize, size);
    fake->fail(SIDRA_IOCTL_QUEUE_DESTROY, EBUSY);
    EXPECT_FAILS(SIDRA_ERROR_BUSY, sidra_stream_destroy(stream));
    EXPECT_OK(sidra_nop_async(stream));
}

TEST_F(DriverRequests, OfAWrongVersionAreRefused) {
    const uint32_t major = SIDRA_UAPI_VERSION_MAJOR, minor = SIDRA_UAPI_VERSION_MINOR;
    const uint32_t of_interface[] = {major + 1, minor, major - 1, 3};
    for (size_t i = 0; i < std::size(of_interface); i += 2) {
        auto other = std::make_unique<FakeTransport>();
        other->device.uapi_version = of_interface[i] << 16 | of_interface[i + 1];
        sidra_device* made = nullptr;
        EXPECT_FAILS(SIDRA_ERROR_VERSION, adopt_transport("sidra_device_open", 0, "sidra0", std::move(other), &made));
        const std::string named = fmt::format("driver interface {}.{} ", of_interface[i], of_interface[i + 1]);
        EXPECT_NE(nullptr, std::strstr(sidra_last_error(), named.c_str())) << sidra_last_error();
        EXPECT_EQ(nullptr, made);
    }
    auto other = std::make_unique<FakeTransport>();
    other->device.hw_version += 1u << 16;
    sidra_device* made = nullptr;
    EXPECT_FAILS(SIDRA_ERROR_VERSION, adopt_transport("sidra_device_open", 0, "sidra0", std::move(other), &made));
    EXPECT_EQ(nullptr, made);
    // Another minor version has the same calls, and perhaps more.
    auto newer = std::make_unique<FakeTransport>();
    newer->device.uapi_version = major << 16 | (minor + 1);
    ASSERT_OK(adopt_transport("sidra_device_open", 0, "sidra0", std::move(newer), &made));
    EXPECT_OK(sidra_device_close(made));
}

}  // namespace
}  // namespace sidra::test
