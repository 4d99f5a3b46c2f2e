// SPDX-License-Identifier: MIT
// The driver's end of the mailbox, with firmware that answers correctly, late, twice or unasked.
#include "pure.h"

namespace sidra::test {
namespace {

class Ring : public Pure {
   protected:
    sidra_ring_memory memory{};
    sidra_ring ring{};
    u32 given = 0;  // messages of the firmware

    Ring() {
        ring.memory = &memory;
        sidra_ring_begin(&ring);
    }
    sidra_mailbox_msg ask(uint16_t opcode) {
        sidra_mailbox_msg msg{};
        msg.opcode = opcode;
        sidra_ring_put(&ring, &msg);
        return memory.requests[(ring.sent - 1) % SIDRA_RING_ENTRIES];
    }
    // The reply of correct firmware.
    sidra_mailbox_msg answer_to(const sidra_mailbox_msg& request) const {
        sidra_mailbox_msg reply{};
        reply.opcode = static_cast<uint16_t>(request.opcode | SIDRA_MAILBOX_REPLY);
        reply.cookie = request.cookie;
        reply.sequence = given;
        reply.length = sizeof reply.inline_data;
        reply.inline_data[0] = request.inline_data[0] + 1;
        return reply;
    }
    sidra_mailbox_msg event() const {
        sidra_mailbox_msg msg{};
        msg.opcode = SIDRA_MAILBOX_EVENT | 5;
        msg.sequence = given;
        return msg;
    }
    u32 give(const sidra_mailbox_msg& msg) {
        memory.replies[given % SIDRA_RING_ENTRIES] = msg;
        return ++given;
    }
    // Both ends are where they would be after so many requests.
    void old(u32 requests) { ring.sent = ring.taken = given = requests; }
    void one_round() {
        const sidra_mailbox_msg request = ask(SIDRA_MAILBOX_STATUS);
        sidra_mailbox_msg reply{};
        EXPECT_EQ(sidra_ring_take(&ring, given, &reply), 0);
        const u32 index = give(answer_to(request));
        ASSERT_EQ(sidra_ring_take(&ring, index, &reply), 1);
        EXPECT_EQ(reply.inline_data[0], request.inline_data[0] + 1);
        EXPECT_FALSE(ring.owed);
        EXPECT_EQ(sidra_ring_take(&ring, index, &reply), 0) << "once";
    }
};

TEST_F(Ring, AReplyToEachRequest) {
    u64 cookie = 0;
    for (u32 i = 0; i < 3 * SIDRA_RING_ENTRIES; i++) {
        one_round();
        EXPECT_EQ(ring.sent, i + 1);
        EXPECT_EQ(memory.requests[i % SIDRA_RING_ENTRIES].sequence, i);
        EXPECT_GT(ring.cookie, cookie) << "never used twice";
        cookie = ring.cookie;
    }
}

TEST_F(Ring, CountsGoRound) {
    old(0u - 5);
    for (int i = 0; i < 10; i++) one_round();
    EXPECT_EQ(ring.taken, 5u);
}

TEST_F(Ring, EventsComeInBetween) {
    const sidra_mailbox_msg request = ask(SIDRA_MAILBOX_HELLO);
    for (u32 i = 0; i < SIDRA_RING_ENTRIES - 1; i++) give(event());
    sidra_mailbox_msg reply{};
    EXPECT_EQ(sidra_ring_take(&ring, given, &reply), 0);
    for (int i = 0; i < 3; i++) give(event());
    ASSERT_EQ(sidra_ring_take(&ring, give(answer_to(request)), &reply), 1);
    EXPECT_EQ(ring.taken, given);
    one_round();
}

// An index that is behind, or ahead by more than the length of the ring, belongs to another start of the firmware.
TEST_F(Ring, AnIndexThatCannotBeSaysNothing) {
    for (int i = 0; i < 5; i++) one_round();
    const sidra_mailbox_msg request = ask(SIDRA_MAILBOX_STATUS);
    sidra_mailbox_msg reply{};
    for (const u32 index : {0u, 4u, ring.taken - 1, ring.taken + SIDRA_RING_ENTRIES + 1, ~0u, 1u << 31})
        EXPECT_EQ(sidra_ring_take(&ring, index, &reply), 0) << index;
    EXPECT_EQ(ring.taken, 5u);
    EXPECT_EQ(sidra_ring_take(&ring, give(answer_to(request)), &reply), 1);
}

TEST_F(Ring, EveryFlippedBitIsNoticedOrData) {
    constexpr size_t kBits = sizeof(sidra_mailbox_msg) * 8;
    size_t accepted = 0;
    for (size_t bit = 0; bit < kBits; bit++) {
        sidra_ring_begin(&ring);
        given = 0;
        sidra_mailbox_msg reply = answer_to(ask(SIDRA_MAILBOX_STATUS)), taken{};
        reinterpret_cast<uint8_t*>(&reply)[bit / 8] ^= static_cast<uint8_t>(1 << bit % 8);
        const int result = sidra_ring_take(&ring, give(reply), &taken);
        const size_t byte = bit / 8;
        const bool data = byte >= offsetof(sidra_mailbox_msg, deadline);  // nothing is done with a payload's address
        const bool status = byte >= offsetof(sidra_mailbox_msg, status) && byte < offsetof(sidra_mailbox_msg, cookie);
        const bool length = byte >= offsetof(sidra_mailbox_msg, length) && byte < offsetof(sidra_mailbox_msg, sequence);
        if (result == 1) {
            accepted++;
            EXPECT_TRUE(data || (status && taken.status <= SIDRA_MAILBOX_INTERNAL) ||
                        (length && taken.length <= sizeof taken.inline_data))
                << "bit " << bit;
        } else {
            EXPECT_EQ(result, -EPROTO) << "bit " << bit;
            EXPECT_FALSE(data) << "bit " << bit;
        }
    }
    // 40 bytes of data, four bits of a status, and of the length 24 those two that make it smaller.
    EXPECT_EQ(accepted, 40u * 8 + 4 + 2);
}

TEST_F(Ring, WhatNobodyHasAsked) {
    sidra_mailbox_msg reply{};
    const sidra_mailbox_msg first = ask(SIDRA_MAILBOX_HELLO);
    give(answer_to(first));
    const u32 index = give(answer_to(first));  // twice
    EXPECT_EQ(sidra_ring_take(&ring, index, &reply), 1);
    EXPECT_EQ(sidra_ring_take(&ring, index, &reply), -EPROTO);

    sidra_ring_begin(&ring);
    given = 0;
    EXPECT_EQ(sidra_ring_take(&ring, give(answer_to(first)), &reply), -EPROTO) << "of the time before";
    sidra_ring_begin(&ring);
    given = 0;
    ask(SIDRA_MAILBOX_HELLO);
    EXPECT_EQ(sidra_ring_take(&ring, give(answer_to(first)), &reply), -EPROTO) << "an old one";
    sidra_ring_begin(&ring);
    given = 0;
    one_round();
}

}  // namespace
}  // namespace sidra::test
