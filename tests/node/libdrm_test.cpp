// SPDX-License-Identifier: MIT
// The nodes as any program of DRM uses them: by libdrm, whose functions know nothing of this driver. Each subtest runs
// on both kinds of nodes.
#include <xf86drm.h>

#include "fences.h"

namespace sidra::test {
namespace {

class Libdrm : public testing::TestWithParam<const char*> {
   protected:
    Libdrm() : node(std::string(GetParam()) == "accel" ? accel_path() : kOwnNode) {}
    void SetUp() override {
        ASSERT_GE(node.fd, 0) << "there is no node of kind " << GetParam()
                              << ": these tests run in the VM (make vm-check)";
    }

    template <class Argument>
    int call(unsigned long request, Argument& argument) const {
        return drmIoctl(node.fd, request, &argument) == 0 ? 0 : -errno;
    }
    uint64_t capability(uint64_t which) const {
        uint64_t value = 0;
        return drmGetCap(node.fd, which, &value) == 0 ? value : 0;
    }

    const Node node;
};

// Some functions of libdrm return -1 and set errno.
int error_of(int returned) { return returned == 0 ? 0 : -errno; }

TEST_P(Libdrm, VersionNamesTheDriver) {
    drmVersionPtr version = drmGetVersion(node.fd);
    ASSERT_NE(version, nullptr);
    EXPECT_EQ(std::string(version->name, static_cast<size_t>(version->name_len)), "sidra");
    drmFreeVersion(version);
}

TEST_P(Libdrm, CapabilitiesAreThoseOfTheDriver) {
    EXPECT_EQ(capability(DRM_CAP_SYNCOBJ), 1u);
    EXPECT_EQ(capability(DRM_CAP_SYNCOBJ_TIMELINE), 1u);
    EXPECT_EQ(capability(DRM_CAP_PRIME), uint64_t{DRM_PRIME_CAP_IMPORT | DRM_PRIME_CAP_EXPORT});
    EXPECT_EQ(capability(DRM_CAP_DUMB_BUFFER), 0u);
}

TEST_P(Libdrm, UnknownCallIsRefused) {
    uint64_t argument = 0;
    EXPECT_EQ(call(DRM_IOWR(DRM_COMMAND_BASE + 0x5f, uint64_t), argument), -ENOTTY);
}

TEST_P(Libdrm, SubmittedJobSignalsATimelineSyncobj) {
    const Context context(node);
    const Queue queue(context, SIDRA_QUEUE_KERNEL);
    uint32_t handle = 0;
    ASSERT_EQ(drmSyncobjCreate(node.fd, 0, &handle), 0);
    const std::vector<sidra_cmd> packets{nop()};
    sidra_ioctl_submit job = queue.request(packets);
    const sidra_syncobj_point point{handle, 0, 7};
    job.out_points = reinterpret_cast<uintptr_t>(&point);
    job.out_count = 1;
    ASSERT_EQ(call(SIDRA_IOCTL_SUBMIT, job), 0);
    uint64_t wanted = 7, reached = 0;
    EXPECT_EQ(
        drmSyncobjTimelineWait(node.fd, &handle, &wanted, 1, static_cast<int64_t>(in_ms(kPatienceMs)), 0, nullptr), 0);
    EXPECT_EQ(drmSyncobjQuery(node.fd, &handle, &reached, 1), 0);
    EXPECT_EQ(reached, 7u);
    EXPECT_EQ(drmSyncobjDestroy(node.fd, handle), 0);
}

TEST_P(Libdrm, SyncobjHoldsBackAJob) {
    const Context context(node);
    const Queue queue(context, SIDRA_QUEUE_KERNEL);
    uint32_t handle = 0;
    ASSERT_EQ(drmSyncobjCreate(node.fd, 0, &handle), 0);
    // A job waits only for a fence that exists: that of a job of another queue.
    const Queue first(context, SIDRA_QUEUE_KERNEL);
    const std::vector<sidra_cmd> packets{nop()};
    const sidra_syncobj_point point{handle, 0, 3};
    sidra_ioctl_submit signals = first.request(packets);
    signals.out_points = reinterpret_cast<uintptr_t>(&point);
    signals.out_count = 1;
    ASSERT_EQ(call(SIDRA_IOCTL_SUBMIT, signals), 0);
    sidra_ioctl_submit waits = queue.request(packets);
    waits.in_points = reinterpret_cast<uintptr_t>(&point);
    waits.in_count = 1;
    waits.flags = SIDRA_SUBMIT_OUT_FENCE;
    ASSERT_EQ(call(SIDRA_IOCTL_SUBMIT, waits), 0);
    const int fence = waits.out_fence_fd;
    EXPECT_TRUE(signalled(fence));
    EXPECT_EQ(status(fence), 1);
    close(fence);
    EXPECT_EQ(drmSyncobjDestroy(node.fd, handle), 0);
}

TEST_P(Libdrm, SyncobjGoesToAnotherFile) {
    const Node other(node_path());
    uint32_t handle = 0, imported = 0;
    int fd = -1;
    ASSERT_EQ(drmSyncobjCreate(node.fd, DRM_SYNCOBJ_CREATE_SIGNALED, &handle), 0);
    ASSERT_EQ(drmSyncobjHandleToFD(node.fd, handle, &fd), 0);
    ASSERT_EQ(drmSyncobjFDToHandle(other.fd, fd, &imported), 0);
    EXPECT_EQ(drmSyncobjWait(other.fd, &imported, 1, 0, 0, nullptr), 0);
    EXPECT_EQ(drmSyncobjReset(node.fd, &handle, 1), 0);
    EXPECT_EQ(drmSyncobjWait(other.fd, &imported, 1, 0, 0, nullptr), -EINVAL) << "without a fence";
    close(fd);
}

TEST_P(Libdrm, SyncobjsOfNobodyAreRefused) {
    uint32_t handle = 12345;
    EXPECT_EQ(error_of(drmSyncobjDestroy(node.fd, handle)), -EINVAL);
    EXPECT_EQ(drmSyncobjWait(node.fd, &handle, 1, 0, 0, nullptr), -ENOENT);
    const Context context(node);
    const Queue queue(context, SIDRA_QUEUE_KERNEL);
    const std::vector<sidra_cmd> packets{nop()};
    const sidra_syncobj_point point{handle, 0, 1};
    sidra_ioctl_submit job = queue.request(packets);
    job.in_points = reinterpret_cast<uintptr_t>(&point);
    job.in_count = 1;
    EXPECT_EQ(call(SIDRA_IOCTL_SUBMIT, job), -ENOENT);
}

TEST_P(Libdrm, PrimeSharesPages) {
    const Node other(node_path());
    const Context context(node), others(other);
    const Buffer buffer(context, 8192);
    int fd = -1;
    uint32_t imported = 0;
    ASSERT_EQ(drmPrimeHandleToFD(node.fd, buffer.handle, DRM_CLOEXEC | DRM_RDWR, &fd), 0);
    ASSERT_EQ(drmPrimeFDToHandle(other.fd, fd, &imported), 0);
    auto* words = static_cast<uint64_t*>(mmap(nullptr, 8192, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0));
    ASSERT_NE(static_cast<void*>(words), MAP_FAILED);
    // The chip writes through the importer's mapping; the exporter sees it.
    buffer.words[0] = 0x0123456789abcdef;
    Queue queue(others, SIDRA_QUEUE_USER);
    const uint64_t va = Buffer::bind(others, imported);
    EXPECT_EQ(queue.wait(queue.push(copy(va + 4096, va, 8))), 0);
    EXPECT_EQ(buffer.words[512], 0x0123456789abcdefu);
    EXPECT_EQ(words[512], 0x0123456789abcdefu);
    munmap(words, 8192);
    close(fd);
    EXPECT_EQ(drmCloseBufferHandle(other.fd, imported), 0);
}

TEST_P(Libdrm, PrimeIntoTheSameFileIsTheSameHandle) {
    const Context context(node);
    const Buffer buffer(context, 4096);
    int fd = -1;
    uint32_t again = 0;
    ASSERT_EQ(drmPrimeHandleToFD(node.fd, buffer.handle, DRM_CLOEXEC, &fd), 0);
    ASSERT_EQ(drmPrimeFDToHandle(node.fd, fd, &again), 0);
    EXPECT_EQ(again, buffer.handle);
    close(fd);
}

TEST_P(Libdrm, PrimeOfAnotherDriver) {
    const int foreign = foreign_buffer(8192);
    ASSERT_GE(foreign, 0) << "the guest's kernel has udmabuf";
    uint32_t handle = 0;
    ASSERT_EQ(drmPrimeFDToHandle(node.fd, foreign, &handle), 0);
    const Context context(node);
    EXPECT_NE(Buffer::bind(context, handle), 0u);
    EXPECT_EQ(drmCloseBufferHandle(node.fd, handle), 0);
    close(foreign);
}

TEST_P(Libdrm, ClosedHandlesAreGone) {
    sidra_ioctl_buffer_create buffer{4096, 0, 0, 0};
    ASSERT_EQ(call(SIDRA_IOCTL_BUFFER_CREATE, buffer), 0);
    EXPECT_EQ(drmCloseBufferHandle(node.fd, buffer.handle), 0);
    EXPECT_EQ(error_of(drmCloseBufferHandle(node.fd, buffer.handle)), -EINVAL);
    int fd = -1;
    EXPECT_NE(drmPrimeHandleToFD(node.fd, buffer.handle, DRM_CLOEXEC, &fd), 0);
}

INSTANTIATE_TEST_SUITE_P(Node, Libdrm, testing::Values("own", "accel"),
                         [](const auto& one) { return std::string(one.param); });

}  // namespace
}  // namespace sidra::test
