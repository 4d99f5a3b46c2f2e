// SPDX-License-Identifier: MIT
// Two cards of which one is removed or reset: a syncobj that a job on one card signals holds back a job on the other
// one, and one has L3 of the other.
#include <thread>

#include "peer.h"
#include "stuck_call.h"

namespace sidra::test {
namespace {

class TwoCards : public NodeTest {};

const char* const kNodes[] = {"/dev/sidra0", "/dev/sidra1"};

// Of its PCI function.
std::string name_of(unsigned card) {
    char target[256] = {};
    const std::string link = "/sys/class/sidra/sidra" + std::to_string(card) + "/device";
    EXPECT_GT(readlink(link.c_str(), target, sizeof target - 1), 0);
    const std::string name = target;
    return name.substr(name.rfind('/') + 1);
}

// The same syncobj in a file of another card.
uint32_t share_syncobj(const Node& from, uint32_t handle, const Node& to) {
    drm_syncobj_handle out{}, in{};
    out.handle = handle;
    EXPECT_EQ(from.call(DRM_IOCTL_SYNCOBJ_HANDLE_TO_FD, out), 0);
    in.fd = out.fd;
    EXPECT_EQ(to.call(DRM_IOCTL_SYNCOBJ_FD_TO_HANDLE, in), 0);
    close(out.fd);
    return in.handle;
}

// A stalled job on one card, and a job on the other card that waits for its point of a syncobj.
struct Pair {
    explicit Pair(unsigned its_first) : card(its_first), node(kNodes[card]), other(kNodes[1 - card]) {
        EXPECT_GE(node.fd, 0);
        EXPECT_GE(other.fd, 0);
        buffer.words[1] = 5;
        const uint32_t syncobj = create_syncobj(node);
        const sidra_syncobj_point out{syncobj, 0, 1}, in{share_syncobj(node, syncobj, other), 0, 1};
        const std::vector<sidra_cmd> packets = {nop()}, copies = {copy(buffer.va, buffer.va + 8, 8)};
        EXPECT_TRUE(knob("stall", 1, card));
        sidra_ioctl_submit first = queue.request(packets), second = waits.request(copies);
        first.out_points = reinterpret_cast<uintptr_t>(&out);
        second.in_points = reinterpret_cast<uintptr_t>(&in);
        first.out_count = second.in_count = 1;
        second.flags = SIDRA_SUBMIT_OUT_FENCE;
        EXPECT_EQ(node.call(SIDRA_IOCTL_SUBMIT, first), 0);
        EXPECT_EQ(other.call(SIDRA_IOCTL_SUBMIT, second), 0);
        fence = second.out_fence_fd;
        sleep_ms(50);
        EXPECT_EQ(status(fence), 0) << "the other card has not finished";
        EXPECT_EQ(buffer.words[0], 0u);
    }
    ~Pair() { close(fence); }
    Pair(const Pair&) = delete;
    Pair& operator=(const Pair&) = delete;

    const unsigned card;
    const Node node, other;
    const Context context{node}, its_context{other};
    const Queue queue{context, SIDRA_QUEUE_KERNEL}, waits{its_context, SIDRA_QUEUE_KERNEL};
    const Buffer buffer{its_context, 4096};
    int fence = -1;
};

TEST_F(TwoCards, ASyncobjHoldsBackAJobOnTheOtherCard) {
    for (unsigned card : {0u, 1u}) {
        const Pair pair(card);
        ASSERT_TRUE(knob("stall", 0, card));
        ASSERT_TRUE(signalled(pair.fence));
        EXPECT_EQ(status(pair.fence), 1);
        EXPECT_EQ(pair.buffer.words[0], 5u);
    }
}

TEST_F(TwoCards, RemovalOfTheCardThatWouldSignalFailsTheJobThatWaits) {
    const Card card;
    ASSERT_TRUE(card.known());
    const Pair pair(0);
    EXPECT_TRUE(card.unbind());
    ASSERT_TRUE(signalled(pair.fence));
    EXPECT_LT(status(pair.fence), 0);
    EXPECT_EQ(pair.buffer.words[0], 0u) << "it did not run";
    ASSERT_EQ(pair.waits.reset(), 0);
    uint64_t value = 0;
    ASSERT_EQ(pair.waits.submit({copy(pair.buffer.va, pair.buffer.va + 8, 8)}, &value), 0);
    EXPECT_EQ(pair.waits.wait(value), 0);
    EXPECT_EQ(pair.buffer.words[0], 5u);
    ASSERT_TRUE(knob("stall", 0, 0));
    ASSERT_TRUE(card.bind());
}

// L3 of sidra0 in a context of sidra1.
struct Lent {
    Lent() {
        EXPECT_TRUE(trust.good);
        fd = export_buffer(node, local.handle);
        EXPECT_GE(fd, 0);
        EXPECT_EQ(import_buffer(other, fd, &handle), 0);
        va = Buffer::bind(its_context, handle);
    }
    ~Lent() { close(fd); }
    Lent(const Lent&) = delete;
    Lent& operator=(const Lent&) = delete;
    int run(const std::vector<sidra_cmd>& packets) const {
        uint64_t value = 0;
        EXPECT_EQ(queue.submit(packets, &value), 0);
        return queue.wait(value);
    }

    const Parameter trust{"trust_peer_path", "1"};
    const Node node{kNodes[0]}, other{kNodes[1]};
    const Context context{node}, its_context{other};
    const Buffer local{context, SIDRA_PAGE_SIZE, SIDRA_BUFFER_LOCAL}, host{its_context, SIDRA_PAGE_SIZE};
    const Queue queue{its_context, SIDRA_QUEUE_KERNEL};
    int fd = -1;
    uint32_t handle = 0;
    uint64_t va = 0;
};

TEST_F(TwoCards, RemovalTakesBackWhatTheOtherHas) {
    const Card card;
    ASSERT_TRUE(card.known());
    {
        const Lent lent;
        lent.local.words[0] = 9;
        ASSERT_EQ(lent.run({copy(lent.host.va, lent.va, 8)}), 0);
        EXPECT_EQ(lent.host.words[0], 9u);
        ASSERT_TRUE(card.unbind());
        // It is bound no longer, and cannot be bound again.
        EXPECT_EQ(lent.run({copy(lent.host.va, lent.va, 8)}), -EIO);
        sidra_ioctl_buffer_bind bind{lent.its_context.vm, lent.handle, SIDRA_BIND_READ, 0, 0, {}};
        EXPECT_EQ(lent.other.call(SIDRA_IOCTL_BUFFER_BIND, bind), -ENODEV);
        sidra_ioctl_buffer_unbind unbind{lent.its_context.vm, lent.handle, lent.va};
        EXPECT_EQ(lent.other.call(SIDRA_IOCTL_BUFFER_UNBIND, unbind), -ENOENT);
        const Node again(kNodes[1]);
        uint32_t handle = 0;
        EXPECT_EQ(import_buffer(again, lent.fd, &handle), -ENODEV);
        EXPECT_EQ(export_buffer(lent.node, lent.local.handle), -ENODEV);
        // Everything else of the other card is as before.
        ASSERT_EQ(lent.queue.reset(), 0);
        EXPECT_EQ(lent.run({copy(lent.host.va + 8, lent.host.va, 8)}), 0);
        EXPECT_EQ(lent.host.words[1], 9u);
        ASSERT_TRUE(card.bind());
    }
    const Lent lent;
    lent.local.words[0] = 10;
    ASSERT_EQ(lent.run({copy(lent.host.va, lent.va, 8)}), 0);
    EXPECT_EQ(lent.host.words[0], 10u);
}

// The other card drops its bindings beside its calls, also while one of these waits for the chip.
TEST_F(TwoCards, RemovalHoldsUpNoCallOfTheOther) {
    const Card card;
    ASSERT_TRUE(card.known());
    const Lent lent;
    {
        StuckCall stuck(false, 1);
        Caller removal(
            "unbind", [&] { return card.unbind() ? 0 : -1; }, SYS_write);
        EXPECT_TRUE(stays_asleep([&] { return removal.state() == 'D'; }));
        EXPECT_EQ(state_of(lent.its_context), SIDRA_CONTEXT_OK);
        EXPECT_FALSE(stuck.ended()) << "this call waited for the other one";
        EXPECT_FALSE(removal.done()) << "the binding was dropped, and the chip may still use it";
        stuck.end();
        EXPECT_EQ(removal.result(), 0);
    }
    EXPECT_EQ(lent.run({copy(lent.host.va, lent.va, 8)}), -EIO) << "it is bound no longer";
    ASSERT_TRUE(card.bind());
}

TEST_F(TwoCards, RemovalOfTheImporterGivesItBack) {
    const Node node(kNodes[1]);
    const Context context(node);
    const Card card;  // sidra0, which imports here
    const Parameter trust("trust_peer_path", "1");
    const uint64_t before = status_of(node).l3_free;
    {
        const Buffer local(context, SIDRA_PAGE_SIZE, SIDRA_BUFFER_LOCAL);
        const Node other(kNodes[0]);
        const Context its_context(other);
        const int fd = export_buffer(node, local.handle);
        uint32_t handle = 0;
        ASSERT_EQ(import_buffer(other, fd, &handle), 0);
        Buffer::bind(its_context, handle);
        close(fd);
        ASSERT_TRUE(card.unbind());
    }
    EXPECT_TRUE(eventually([&] { return status_of(node).l3_free == before; }));
    ASSERT_TRUE(card.bind());
}

TEST_F(TwoCards, BothRemovalsAtOnce) {
    // Each has L3 of the other one.
    const Parameter trust("trust_peer_path", "1");
    const Node nodes[] = {Node(kNodes[0]), Node(kNodes[1])};
    const Context contexts[] = {Context(nodes[0]), Context(nodes[1])};
    for (unsigned from : {0u, 1u}) {
        const Buffer local(contexts[from], SIDRA_PAGE_SIZE, SIDRA_BUFFER_LOCAL);
        const int fd = export_buffer(nodes[from], local.handle);
        uint32_t handle = 0;
        ASSERT_EQ(import_buffer(nodes[1 - from], fd, &handle), 0);
        Buffer::bind(contexts[1 - from], handle);
        close(fd);
    }
    const std::string names[] = {name_of(0), name_of(1)};
    std::thread second([&] { EXPECT_TRUE(write_text("/sys/bus/pci/drivers/sidra/unbind", names[1])); });
    EXPECT_TRUE(write_text("/sys/bus/pci/drivers/sidra/unbind", names[0]));
    second.join();
    // In this order, so that they get their numbers again.
    for (const std::string& name : names) EXPECT_TRUE(write_text("/sys/bus/pci/drivers/sidra/bind", name));
    for (const char* node : kNodes) EXPECT_TRUE(eventually([=] { return access(node, R_OK | W_OK) == 0; }));
}

TEST_F(TwoCards, AResetLeavesItWhereItIs) {
    const Lent lent;
    lent.local.words[0] = 11;
    sidra_ioctl_device_reset reset{};
    ASSERT_EQ(lent.node.call(SIDRA_IOCTL_DEVICE_RESET, reset), 0);
    ASSERT_EQ(lent.run({copy(lent.host.va, lent.va, 8)}), 0);
    EXPECT_EQ(lent.host.words[0], 11u);
}

}  // namespace
}  // namespace sidra::test
