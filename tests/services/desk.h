// SPDX-License-Identifier: MIT
// A host that talks to the services through their mailbox, and checks their replies.
#ifndef SIDRA_TESTS_SERVICES_DESK_H
#define SIDRA_TESTS_SERVICES_DESK_H

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <vector>

#include "board.h"
#include "factory/factory.h"
#include "services/calibrate.h"
#include "services/campaign.h"
#include "services/mailbox.h"
#include "services/power.h"

namespace sidra::test {

class Desk : public testing::Test {
   protected:
    static constexpr uint32_t kEntries = 8;
    static constexpr uint64_t kRequests = Board::kHost, kReplies = kRequests + 0x10000, kData = kRequests + 0x20000;

    void SetUp() override {
        board.boot = {.magic = SIDRA_BOOT_INFO_MAGIC,
                      .size = sizeof board.boot,
                      .slot = SIDRA_MGMT_SLOT_A,
                      .trial = 0,
                      .reason = SIDRA_BOOT_POWER_ON,
                      .version = 0x01020003,
                      .security_version = 1,
                      .result = {},
                      .build_id = {},
                      .reserved = 0};
        board.dump = {};
        board.security = 0;
        board.power.set_around(60'000);
        board.power.clear();
        board.interrupts = 0;
        power_start();
        board.sequencer.clear();
        board.operations[0] = board.operations[1] = {};
        campaign_start();
        board.orders.clear();
        board.fail_at = {};
        board.while_copy = nullptr;
        std::fill(board.flash.bytes().begin(), board.flash.bytes().end(), management::Flash::kErased);
        fill(SIDRA_MGMT_SLOT_A, shipped());
        open();
    }
    // Resets the rings to a valid state without requests.
    void open() {
        board.request = kRequests;
        board.reply = kReplies;
        board.entries = kEntries;
        for (int i = 0; i < 2; i++) {
            board.reply_read = board.reply_index;
            mailbox_serve();
        }
        board.reply_read = board.reply_index;
        board.stored.clear();
    }

    static std::vector<uint8_t> shipped() { return {sidra_factory_runtime, sidra_factory_runtime_end}; }
    std::span<uint8_t> slot(uint32_t number) {
        return board.flash.bytes().subspan(SIDRA_MGMT_FLASH_SLOT(number), SIDRA_MGMT_FLASH_SLOT_SIZE);
    }
    std::vector<uint8_t> copy_of_slot(uint32_t number) { return {slot(number).begin(), slot(number).end()}; }
    void fill(uint32_t number, const std::vector<uint8_t>& bytes) {
        std::copy(bytes.begin(), bytes.end(), slot(number).begin());
    }

    static sidra_mailbox_msg message(uint16_t opcode, const std::vector<uint64_t>& words = {}) {
        static uint64_t cookie = 0x4321'0000'0000;
        sidra_mailbox_msg made{};
        made.opcode = opcode;
        made.cookie = ++cookie;
        made.length = static_cast<uint32_t>(words.size() * 8);
        std::copy(words.begin(), words.end(), made.inline_data);
        return made;
    }
    static sidra_mailbox_msg with_data(uint16_t opcode, uint32_t bytes, uint64_t word = 0) {
        sidra_mailbox_msg made = message(opcode, {word});
        made.length = bytes;
        made.payload = kData;
        return made;
    }
    void post(const sidra_mailbox_msg& request) {
        std::memcpy(&board.host[kRequests - Board::kHost + board.doorbell % kEntries * sizeof request], &request,
                    sizeof request);
        board.doorbell++;
    }
    bool replied() const { return board.reply_index != board.reply_read; }
    sidra_mailbox_msg take() {
        sidra_mailbox_msg reply;
        EXPECT_TRUE(replied());
        std::memcpy(&reply, &board.host[kReplies - Board::kHost + board.reply_read % kEntries * sizeof reply],
                    sizeof reply);
        EXPECT_EQ(reply.sequence, board.reply_read);
        board.reply_read++;
        return reply;
    }
    sidra_mailbox_msg ask(const sidra_mailbox_msg& request) {
        post(request);
        mailbox_serve();
        const sidra_mailbox_msg reply = take();
        expect_answers(reply, request);
        EXPECT_FALSE(replied()) << "one request, one reply";
        return reply;
    }
    uint32_t status_of(const sidra_mailbox_msg& request) { return ask(request).status; }
    static void expect_answers(const sidra_mailbox_msg& reply, const sidra_mailbox_msg& request) {
        EXPECT_EQ(reply.opcode, request.opcode | SIDRA_MAILBOX_REPLY);
        EXPECT_EQ(reply.cookie, request.cookie);
        EXPECT_EQ(reply.flags, 0);
        EXPECT_EQ(reply.deadline, 0u);
        EXPECT_EQ(reply.payload, 0u);
        EXPECT_LE(reply.status, uint32_t{SIDRA_MAILBOX_INTERNAL});
        EXPECT_LE(reply.length, sizeof reply.inline_data);
    }
    void expect_alive() { EXPECT_EQ(status_of(message(SIDRA_MAILBOX_HELLO, {1u << 16})), SIDRA_MAILBOX_OK); }

    // An image in pieces; the status of the first message that is not OK, or of the last.
    uint32_t send(const std::vector<uint8_t>& image, uint64_t tried, uint32_t piece = 32768) {
        uint32_t status = status_of(message(SIDRA_MAILBOX_FW_BEGIN, {image.size()}));
        for (size_t at = 0; at < image.size() && status == SIDRA_MAILBOX_OK; at += piece) {
            const auto bytes = static_cast<uint32_t>(std::min<size_t>(piece, image.size() - at));
            std::copy_n(image.begin() + static_cast<long>(at), bytes, board.host.begin() + (kData - Board::kHost));
            status = status_of(with_data(SIDRA_MAILBOX_FW_DATA, bytes, at));
        }
        return status == SIDRA_MAILBOX_OK ? status_of(message(SIDRA_MAILBOX_FW_COMMIT, {tried})) : status;
    }

    Board& board = Board::get();
};

}  // namespace sidra::test

#endif
