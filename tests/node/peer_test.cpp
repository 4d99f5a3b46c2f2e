// SPDX-License-Identifier: MIT
// L3 of a card in the address space of another card.
#include "peer.h"

namespace sidra::test {
namespace {

class Peer : public NodeTest {};

TEST_F(Peer, CopiesInBothDirections) {
    const Parameter trust("trust_peer_path", "1");
    ASSERT_TRUE(trust.good);
    for (const bool small_exports : {false, true}) {
        const Node node(small_exports ? "/dev/sidra1" : "/dev/sidra0"),
            other(small_exports ? "/dev/sidra0" : "/dev/sidra1");
        const Context context(node), its_context(other);
        const Buffer local(context, 2 * SIDRA_PAGE_SIZE, SIDRA_BUFFER_LOCAL), host(its_context, 2 * SIDRA_PAGE_SIZE);
        const Queue queue(its_context, SIDRA_QUEUE_KERNEL);
        const int fd = export_buffer(node, local.handle);
        ASSERT_GE(fd, 0);
        uint32_t handle = 0;
        ASSERT_EQ(import_buffer(other, fd, &handle), 0);
        close(fd);
        const uint64_t va = Buffer::bind(its_context, handle), words = local.size / 8;
        for (uint64_t n = 0; n < words; n++) {
            local.words[n] = 3 * n + 1;
            host.words[n] = 0;
        }
        uint64_t value = 0;
        ASSERT_EQ(queue.submit({copy(host.va, va, local.size)}, &value), 0);
        ASSERT_EQ(queue.wait(value), 0);
        for (uint64_t n = 0; n < words; n++) ASSERT_EQ(host.words[n], 3 * n + 1) << n;
        for (uint64_t n = 0; n < words; n++) host.words[n] = 7 * n;
        ASSERT_EQ(queue.submit({copy(va, host.va, local.size)}, &value), 0);
        ASSERT_EQ(queue.wait(value), 0);
        for (uint64_t n = 0; n < words; n++) ASSERT_EQ(local.words[n], 7 * n) << n;
        // The exporter's own chip sees it, too.
        const Buffer seen(context, local.size);
        const Queue own(context, SIDRA_QUEUE_KERNEL);
        ASSERT_EQ(own.submit({copy(seen.va, local.va, local.size)}, &value), 0);
        ASSERT_EQ(own.wait(value), 0);
        for (uint64_t n = 0; n < words; n++) ASSERT_EQ(seen.words[n], 7 * n) << n;
    }
}

// Without the parameter, the kernel has to know a way between the cards: it knows none between two root ports here.
TEST_F(Peer, OnlyWhereThereIsAWay) {
    const Parameter trust("trust_peer_path", "0");
    ASSERT_TRUE(trust.good);
    const Node node, other("/dev/sidra1");
    const Context context(node);
    const Buffer local(context, SIDRA_PAGE_SIZE, SIDRA_BUFFER_LOCAL);
    const int fd = export_buffer(node, local.handle);
    ASSERT_GE(fd, 0);
    uint32_t handle = 0;
    EXPECT_EQ(import_buffer(other, fd, &handle), -EOPNOTSUPP);
    close(fd);
}

TEST_F(Peer, OneHandleForEachFile) {
    const Parameter trust("trust_peer_path", "1");
    const Node node, same_card, other("/dev/sidra1");
    const Context context(node), its_context(same_card);
    const Buffer local(context, SIDRA_PAGE_SIZE, SIDRA_BUFFER_LOCAL);
    const int fd = export_buffer(node, local.handle), again = export_buffer(node, local.handle);
    ASSERT_GE(fd, 0);
    ASSERT_GE(again, 0);
    uint32_t first = 0, second = 0;
    EXPECT_EQ(import_buffer(node, fd, &first), 0);
    EXPECT_EQ(first, local.handle) << "it is its own buffer";
    EXPECT_EQ(import_buffer(other, fd, &first), 0);
    EXPECT_EQ(import_buffer(other, again, &second), 0);
    EXPECT_EQ(first, second);
    // Another file of the same card has the buffer itself.
    EXPECT_EQ(import_buffer(same_card, fd, &first), 0);
    const uint64_t va = Buffer::bind(its_context, first);
    const Buffer host(its_context, SIDRA_PAGE_SIZE);
    const Queue queue(its_context, SIDRA_QUEUE_KERNEL);
    local.words[0] = 77;
    uint64_t value = 0;
    ASSERT_EQ(queue.submit({copy(host.va, va, 8)}, &value), 0);
    ASSERT_EQ(queue.wait(value), 0);
    EXPECT_EQ(host.words[0], 77u);
    close(fd);
    close(again);
}

// The memory is not anybody else's as long as somebody has it.
TEST_F(Peer, OutlivesItsHandle) {
    const Parameter trust("trust_peer_path", "1");
    const Node node, other("/dev/sidra1");
    const Context context(node), its_context(other);
    const uint64_t before = status_of(node).l3_free;
    uint32_t handle = 0;
    {
        const Buffer local(context, SIDRA_PAGE_SIZE, SIDRA_BUFFER_LOCAL);
        const int fd = export_buffer(node, local.handle);
        ASSERT_EQ(import_buffer(other, fd, &handle), 0);
        close(fd);
        local.words[0] = 5;
    }
    const uint64_t va = Buffer::bind(its_context, handle);
    EXPECT_EQ(status_of(node).l3_free, before - SIDRA_PAGE_SIZE);
    const Buffer host(its_context, SIDRA_PAGE_SIZE);
    const Queue queue(its_context, SIDRA_QUEUE_KERNEL);
    uint64_t value = 0;
    ASSERT_EQ(queue.submit({copy(host.va, va, 8)}, &value), 0);
    ASSERT_EQ(queue.wait(value), 0);
    EXPECT_EQ(host.words[0], 5u);
    sidra_ioctl_buffer_close close{handle, 0};
    EXPECT_EQ(other.call(SIDRA_IOCTL_BUFFER_CLOSE, close), 0);
    EXPECT_TRUE(eventually([&] { return status_of(node).l3_free == before; }));
}

}  // namespace
}  // namespace sidra::test
