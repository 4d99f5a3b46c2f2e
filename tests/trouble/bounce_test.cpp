// SPDX-License-Identifier: MIT
// A machine that copies all memory that is mapped for devices (swiotlb=force). The chip would work on the copies, so
// the driver refuses buffers in the machine's memory, whether allocated, registered or imported. Its rings and tables
// are coherent memory, which is not copied, so buffers in the memory of the card work.
#include <libdrm/drm.h>
#include <sys/mman.h>

#include "node.h"

namespace sidra::test {
namespace {

constexpr uint64_t kBytes = 2 * SIDRA_PAGE_SIZE;

int bind(const Context& context, uint32_t handle) {
    sidra_ioctl_buffer_bind args{context.vm, handle, SIDRA_BIND_READ | SIDRA_BIND_WRITE, 0, 0};
    return context.node.call(SIDRA_IOCTL_BUFFER_BIND, args);
}

TEST(Bounce, AllocatedMemoryIsRefused) {
    const Node node;
    const Context context(node);
    sidra_ioctl_buffer_create args{kBytes, 0, 0, 0};
    ASSERT_EQ(node.call(SIDRA_IOCTL_BUFFER_CREATE, args), 0);
    EXPECT_EQ(bind(context, args.handle), -EOPNOTSUPP);
}

TEST(Bounce, RegisteredMemoryIsRefused) {
    const Node node;
    const Context context(node);
    void* memory = mmap(nullptr, kBytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);
    ASSERT_NE(memory, MAP_FAILED);
    sidra_ioctl_buffer_register args{reinterpret_cast<uintptr_t>(memory), kBytes, 0, 0};
    ASSERT_EQ(node.call(SIDRA_IOCTL_BUFFER_REGISTER, args), 0);
    EXPECT_EQ(bind(context, args.handle), -EOPNOTSUPP);
    munmap(memory, kBytes);
}

TEST(Bounce, ImportedMemoryIsRefused) {
    const Node node;
    drm_prime_handle args{0, 0, foreign_buffer(kBytes)};
    ASSERT_GE(args.fd, 0);
    EXPECT_EQ(node.call(DRM_IOCTL_PRIME_FD_TO_HANDLE, args), -EOPNOTSUPP);
    close(args.fd);
}

TEST(Bounce, QueuesAreRefused) {
    const Node node;
    const Context context(node);
    for (const uint32_t kind : {SIDRA_QUEUE_USER, SIDRA_QUEUE_KERNEL}) {
        sidra_ioctl_queue_create args{};
        args.context = context.handle;
        args.kind = kind;
        args.ring_log2 = 6;
        args.priority = 1;
        EXPECT_EQ(node.call(SIDRA_IOCTL_QUEUE_CREATE, args), -EOPNOTSUPP) << kind;
    }
}

TEST(Bounce, MemoryOfTheCardIsNot) {
    const Node node;
    const Context context(node);
    const Buffer buffer(context, kBytes, SIDRA_BUFFER_LOCAL);
    ASSERT_NE(buffer.words, nullptr);
    buffer.words[3] = 0x1234;
    EXPECT_EQ(buffer.words[3], 0x1234u);
}

}  // namespace
}  // namespace sidra::test
