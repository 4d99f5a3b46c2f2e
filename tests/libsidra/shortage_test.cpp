// SPDX-License-Identifier: MIT
// Shortages of the system are named in the error: address space, file descriptors, threads. Once the resource is
// available again, the same call works.
#include <pthread.h>
#include <sys/resource.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <string>

#include "chip_fixture.h"

namespace sidra::test {
namespace {

// Lowers a limit of this process while it lives.
class Limit {
   public:
    Limit(__rlimit_resource resource, rlim_t lower) : resource_(resource) {
        EXPECT_EQ(0, getrlimit(resource, &before_));
        const rlimit limit{lower, before_.rlim_max};
        EXPECT_EQ(0, setrlimit(resource, &limit));
    }
    ~Limit() { EXPECT_EQ(0, setrlimit(resource_, &before_)); }
    Limit(const Limit&) = delete;
    Limit& operator=(const Limit&) = delete;

   private:
    const __rlimit_resource resource_;
    rlimit before_{};
};

// Limits the address space to this much more.
Limit address_space(uint64_t more) {
    uint64_t pages = 0;
    FILE* file = std::fopen("/proc/self/statm", "re");
    EXPECT_EQ(1, std::fscanf(file, "%lu", &pages));
    std::fclose(file);
    return {RLIMIT_AS, pages * static_cast<uint64_t>(sysconf(_SC_PAGESIZE)) + more};
}

// Limits descriptors to those in use.
Limit no_descriptors() {
    const int free = dup(STDERR_FILENO);
    EXPECT_GE(free, 0);
    close(free);
    return {RLIMIT_NOFILE, static_cast<rlim_t>(free)};
}

// New threads ask for more stack than there is address space.
class NoThreads {
   public:
    NoThreads() {
        EXPECT_EQ(0, pthread_getattr_default_np(&before_));
        pthread_attr_t huge;
        EXPECT_EQ(0, pthread_attr_init(&huge));
        EXPECT_EQ(0, pthread_attr_setstacksize(&huge, size_t{1} << 48));
        EXPECT_EQ(0, pthread_setattr_default_np(&huge));
        EXPECT_EQ(0, pthread_attr_destroy(&huge));
    }
    ~NoThreads() {
        EXPECT_EQ(0, pthread_setattr_default_np(&before_));
        EXPECT_EQ(0, pthread_attr_destroy(&before_));
    }
    NoThreads(const NoThreads&) = delete;
    NoThreads& operator=(const NoThreads&) = delete;

   private:
    pthread_attr_t before_;
};

// A private chip in this process, whatever the suite runs on.
sidra_status open_embedded_chip(sidra_profile profile, sidra_engine engine, sidra_device** device) {
    auto options = SIDRA_INIT(sidra_device_options);
    options.profile = profile;
    options.engine = engine;
    options.workers = 1;
    options.private_chip = true;
    return sidra_device_open(0, &options, device);
}

TEST(Shortage, OfAddressSpaceForAChipIsOneOfMemory) {
    constexpr uint64_t kTooLittle = 64 << 20;  // the cells alone need 400 MiB
    sidra_device* device = nullptr;
    for (const sidra_engine engine : {SIDRA_ENGINE_AUTO, SIDRA_ENGINE_SCALAR}) {
        {
            const Limit limit = address_space(kTooLittle);
            EXPECT_FAILS(SIDRA_ERROR_OUT_OF_MEMORY, open_embedded_chip(SIDRA_PROFILE_Y1, engine, &device));
        }
        EXPECT_EQ(nullptr, device);
        ASSERT_OK(open_embedded_chip(SIDRA_PROFILE_Y1, engine, &device));
        EXPECT_OK(sidra_device_close(device));
        device = nullptr;
    }
}

TEST(Shortage, OfThreadsToRunAChipIsALimit) {
    sidra_device* device = nullptr;
    {
        const NoThreads none;
        EXPECT_FAILS(SIDRA_ERROR_LIMIT, open_embedded_chip(SIDRA_PROFILE_SMALL, SIDRA_ENGINE_AUTO, &device));
    }
    EXPECT_EQ(nullptr, device);
    ASSERT_OK(open_embedded_chip(SIDRA_PROFILE_SMALL, SIDRA_ENGINE_AUTO, &device));
    EXPECT_OK(sidra_device_close(device));
}

class ShortageOnAChip : public ChipTest {
   protected:
    sidra_status add_callback() {
        return sidra_stream_add_callback(
            stream, [](sidra_status, void*) {}, nullptr);
    }
};

TEST_F(ShortageOnAChip, OfDescriptorsIsALimit) {
    const int8_t value = 1;
    sidra_weights* weights = nullptr;
    ASSERT_OK(sidra_weights_create_s8(context, 1, 1, &value, 1, nullptr, nullptr, &weights));
    int fd = -1;
    {
        const Limit limit = no_descriptors();
        EXPECT_FAILS(SIDRA_ERROR_LIMIT, sidra_stream_get_fd(stream, &fd));
        EXPECT_FAILS(SIDRA_ERROR_LIMIT, sidra_weights_export(weights, true, &fd));
    }
    EXPECT_OK(sidra_stream_get_fd(stream, &fd));
    ASSERT_OK(sidra_weights_export(weights, true, &fd));
    close(fd);
    EXPECT_OK(sidra_weights_destroy(weights));
}

TEST_F(ShortageOnAChip, OfThreadsForCallbacksIsALimit) {
    {
        const NoThreads none;
        EXPECT_FAILS(SIDRA_ERROR_LIMIT, add_callback());
    }
    EXPECT_OK(add_callback());
}

// UndefinedBehaviorSanitizer checks caught exceptions through a pipe of its own, and reports them as damaged when it
// gets no descriptors for that.
#if !defined(__SANITIZE_ADDRESS__)
TEST(Shortage, OfDescriptorsForAChipIsALimit) {
    sidra_device* device = nullptr;
    {
        const Limit limit = no_descriptors();
        EXPECT_FAILS(SIDRA_ERROR_LIMIT, open_embedded_chip(SIDRA_PROFILE_SMALL, SIDRA_ENGINE_AUTO, &device));
    }
    EXPECT_EQ(nullptr, device);
    ASSERT_OK(open_embedded_chip(SIDRA_PROFILE_SMALL, SIDRA_ENGINE_AUTO, &device));
    EXPECT_OK(sidra_device_close(device));
}

TEST_F(ShortageOnAChip, OfDescriptorsForCallbacksIsALimit) {
    {
        const Limit limit = no_descriptors();
        EXPECT_FAILS(SIDRA_ERROR_LIMIT, add_callback());
    }
    EXPECT_OK(add_callback());
}
#endif

}  // namespace
}  // namespace sidra::test
