// SPDX-License-Identifier: MIT
// Usage of an open file in fdinfo, compared with the state pages that the chip writes and with the calls made.
#include <map>
#include <memory>

#include "attributes.h"

namespace sidra::test {
namespace {

using Fdinfo = NodeTest;

// Values by key from lines "key:\\tvalue unit". Sizes in bytes.
std::map<std::string, uint64_t> numbers_of(int fd) {
    std::map<std::string, uint64_t> all;
    std::istringstream text(read_file("/proc/self/fdinfo/" + std::to_string(fd)).bytes);
    for (std::string line; std::getline(text, line);) {
        const size_t colon = line.find(':');
        std::istringstream rest(line.substr(colon + 1));
        uint64_t value = 0;
        std::string unit;
        if (!(rest >> value)) continue;
        rest >> unit;
        all[line.substr(0, colon)] = unit == "KiB" ? value << 10 : unit == "MiB" ? value << 20 : value;
    }
    return all;
}
std::map<std::string, uint64_t> numbers_of(const Node& node) { return numbers_of(node.fd); }

constexpr const char* kEngines[] = {"drm-engine-mvm", "drm-engine-vec", "drm-engine-copy", "drm-engine-program"};

// Usage of idle queues.
struct Used {
    uint64_t engine_ns[SIDRA_HW_ENGINE_COUNT] = {}, device_ps = 0, energy_pj = 0;

    Used& operator+=(const sidra_queue_state& state) {
        for (size_t i = 0; i < SIDRA_HW_ENGINE_COUNT; i++) engine_ns[i] += state.engine_ns[i];
        device_ps += state.device_ps;
        energy_pj += state.energy_pj;
        return *this;
    }
};
void expect_used(const Node& node, const Used& used) {
    std::map<std::string, uint64_t> told = numbers_of(node);
    for (size_t i = 0; i < SIDRA_HW_ENGINE_COUNT; i++)
        EXPECT_EQ(told.at(kEngines[i]), used.engine_ns[i]) << kEngines[i];
    EXPECT_EQ(told.at("sidra-device-time"), used.device_ps);
    EXPECT_EQ(told.at("sidra-energy"), used.energy_pj);
}

void work(Queue& queue, const Buffer& buffer, uint64_t packets) {
    for (uint64_t i = 0; i < packets; i++) {
        const sidra_cmd packet = copy(buffer.va + 8192, buffer.va, 8192);
        uint64_t value = 0;
        if (queue.ring) value = queue.push(packet);
        else ASSERT_EQ(queue.submit({packet}, &value), 0);
        ASSERT_EQ(queue.wait(value), 0);
    }
}

TEST_F(Fdinfo, HasTheKeysOfDrmUsageStats) {
    const Node own;
    const Node accel(accel_path());
    ASSERT_GE(accel.fd, 0) << accel_path();
    const Card card;
    for (const Node* node : {&own, &accel}) {
        const std::string text = read_file("/proc/self/fdinfo/" + std::to_string(node->fd)).bytes;
        EXPECT_NE(text.find("drm-driver:\tsidra\n"), std::string::npos) << text;
        EXPECT_NE(text.find("drm-pdev:\t" + card.name() + '\n'), std::string::npos) << text;
        EXPECT_NE(text.find("drm-client-id:\t"), std::string::npos) << text;
        for (const char* key : kEngines)
            EXPECT_NE(text.find(std::string(key) + ":\t0 ns\n"), std::string::npos) << text;
        EXPECT_EQ(numbers_of(*node).count("drm-total-memory"), 1u);
        EXPECT_EQ(numbers_of(*node).count("drm-total-l3"), 1u);
    }
    EXPECT_NE(numbers_of(own).at("drm-client-id"), numbers_of(accel).at("drm-client-id"));
}

TEST_F(Fdinfo, WhatQueuesHaveUsed) {
    const Node node, idle;
    Used gone;
    {
        const Context context(node);
        const Buffer buffer(context, 16384);
        Queue user(context, SIDRA_QUEUE_USER), kernel(context, SIDRA_QUEUE_KERNEL);
        EXPECT_EQ(numbers_of(node).at("sidra-contexts"), 1u);
        EXPECT_EQ(numbers_of(node).at("sidra-queues"), 2u);
        for (int round = 0; round < 3; round++) {
            work(user, buffer, 5);
            work(kernel, buffer, 7);
            Used used;
            used += *user.state;
            used += *kernel.state;
            EXPECT_GT(used.device_ps, 0u);
            EXPECT_GT(used.energy_pj, 0u);
            EXPECT_GT(used.engine_ns[SIDRA_HW_ENGINE_COPY], 0u);
            EXPECT_EQ(used.engine_ns[SIDRA_HW_ENGINE_MVM] + used.engine_ns[SIDRA_HW_ENGINE_VEC] +
                          used.engine_ns[SIDRA_HW_ENGINE_PROGRAM],
                      0u)
                << "copies are all that there was";
            expect_used(node, used);
        }
        gone += *user.state;
        sidra_ioctl_queue destroy{context.handle, user.create.queue, 0, 0};
        ASSERT_EQ(node.call(SIDRA_IOCTL_QUEUE_DESTROY, destroy), 0);
        EXPECT_EQ(numbers_of(node).at("sidra-queues"), 1u);
        work(kernel, buffer, 1);
        Used both = gone;
        expect_used(node, both += *kernel.state);
        gone += *kernel.state;
    }
    expect_used(node, gone);
    EXPECT_EQ(numbers_of(node).at("sidra-contexts"), 0u);
    EXPECT_EQ(numbers_of(node).at("sidra-queues"), 0u);
    expect_used(idle, {});
}

// The chip begins at zero with each; the sum does not.
TEST_F(Fdinfo, AfterResetsOfAQueue) {
    const Node node;
    const Context context(node);
    const Buffer buffer(context, 16384);
    Queue queue(context, SIDRA_QUEUE_USER);
    Used before;
    for (int round = 0; round < 3; round++) {
        work(queue, buffer, 4);
        before += *queue.state;
        expect_used(node, before);
        ASSERT_EQ(queue.reset(), 0);
        expect_used(node, before);
    }
}

TEST_F(Fdinfo, AfterAResetOfTheDevice) {
    const Node node;
    const Context context(node);
    const Buffer buffer(context, 16384);
    Used used;
    {
        Queue queue(context, SIDRA_QUEUE_USER);
        work(queue, buffer, 4);
        used += *queue.state;
        sidra_ioctl_device_reset reset{};
        ASSERT_EQ(node.call(SIDRA_IOCTL_DEVICE_RESET, reset), 0);
        expect_used(node, used);
    }
    sidra_ioctl_context recover{context.handle, 0};
    ASSERT_EQ(node.call(SIDRA_IOCTL_CONTEXT_RECOVER, recover), 0);
    expect_used(node, used);
    Queue queue(context, SIDRA_QUEUE_USER);
    work(queue, buffer, 4);
    expect_used(node, used += *queue.state);
}

TEST_F(Fdinfo, Memory) {
    const Node node;
    const Context context(node);
    std::map<std::string, uint64_t> before = numbers_of(node);
    auto host = std::make_unique<Buffer>(context, 5 * SIDRA_PAGE_SIZE);
    auto local = std::make_unique<Buffer>(context, 3 * SIDRA_PAGE_SIZE, SIDRA_BUFFER_LOCAL);
    std::map<std::string, uint64_t> after = numbers_of(node);
    for (const char* what : {"total", "resident"}) {
        EXPECT_EQ(after.at(std::string("drm-") + what + "-memory") - before[std::string("drm-") + what + "-memory"],
                  5 * SIDRA_PAGE_SIZE);
        EXPECT_EQ(after.at(std::string("drm-") + what + "-l3") - before[std::string("drm-") + what + "-l3"],
                  3 * SIDRA_PAGE_SIZE);
    }
    host.reset();
    local.reset();
    EXPECT_EQ(numbers_of(node).at("drm-total-memory"), before.at("drm-total-memory"));
    EXPECT_EQ(numbers_of(node).at("drm-total-l3"), before.at("drm-total-l3"));
}

// DRM does not call a driver that has been unbound.
TEST_F(Fdinfo, OfADeviceThatHasGone) {
    const Card card;
    ASSERT_TRUE(card.known());
    const Node node;
    const Context context(node);
    const Queue queue(context, SIDRA_QUEUE_USER);
    EXPECT_TRUE(card.unbind());
    const Answer answer = read_file("/proc/self/fdinfo/" + std::to_string(node.fd));
    EXPECT_EQ(answer.error, 0);
    EXPECT_EQ(answer.bytes.find("sidra-"), std::string::npos) << answer.bytes;
    EXPECT_TRUE(card.bind());
}

}  // namespace
}  // namespace sidra::test
