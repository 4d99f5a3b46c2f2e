// SPDX-License-Identifier: MIT
// Background operations, with a sequencer that may fail. (With real crossbars: tests/chip.)
#include "desk.h"

namespace sidra::test {
namespace {

class Campaign : public Desk {
   protected:
    static constexpr uint64_t kPpm = 20'000, kVerify = 2;
    static uint64_t pair(uint64_t first, uint64_t count) { return first | count << 32; }
    // Its number.
    uint64_t begin(uint64_t first, uint64_t count) {
        const sidra_mailbox_msg reply = ask(message(SIDRA_MAILBOX_ISPP_REFRESH, {pair(first, count), kPpm}));
        EXPECT_EQ(reply.status, uint32_t{SIDRA_MAILBOX_ACCEPTED});
        return reply.inline_data[0];
    }
    sidra_operation query(uint64_t number) {
        sidra_mailbox_msg request = with_data(SIDRA_MAILBOX_OP_QUERY, sizeof(sidra_operation), number);
        EXPECT_EQ(status_of(request), uint32_t{SIDRA_MAILBOX_OK});
        sidra_operation found;
        std::memcpy(&found, &board.host[kData - Board::kHost], sizeof found);
        return found;
    }
};

TEST_F(Campaign, OneCrossbarAStep) {
    const uint64_t number = begin(2, 5);
    for (uint32_t done = 0; done < 5; done++) {
        const sidra_operation now = query(number);
        EXPECT_EQ(now.state, uint32_t{SIDRA_OPERATION_RUNNING});
        EXPECT_EQ(now.done, done);
        EXPECT_EQ(board.orders.size(), done);
        EXPECT_EQ(campaign_step(), 1);
    }
    EXPECT_EQ(campaign_step(), 0);
    const sidra_operation end = query(number);
    EXPECT_EQ(end.state, uint32_t{SIDRA_OPERATION_DONE});
    EXPECT_EQ(end.cells, 500u);
    EXPECT_EQ(end.off, 5 * 33u);
    EXPECT_EQ(end.failed, 5u);
    EXPECT_EQ(end.pulses, 5 * 64u);
    EXPECT_EQ(end.error_sum, 500 * 9'000u);
    EXPECT_EQ(end.time_ns, 5'000u);
    EXPECT_EQ(end.energy_pj, 35u);
    for (uint32_t i = 0; i < 5; i++) {
        EXPECT_EQ(board.orders[i].xbar, 2 + i);
        EXPECT_EQ(board.orders[i].command, uint32_t{SIDRA_MGMT_SEQUENCER_REFRESH});
        EXPECT_EQ(board.orders[i].tolerance_ppm, kPpm);
    }
}

TEST_F(Campaign, EndsWhereTheSequencerFails) {
    const uint64_t number = begin(0, 8);
    board.fail_at[Board::kSequencer] = 4;
    while (campaign_step()) {
    }
    const sidra_operation end = query(number);
    EXPECT_EQ(end.state, uint32_t{SIDRA_OPERATION_FAILED});
    EXPECT_EQ(end.result, uint32_t{SIDRA_MGMT_NOT_KEPT});
    EXPECT_EQ(end.done, 3u);
    EXPECT_EQ(end.cells, 300u) << "of those that were done";
    EXPECT_NE(begin(0, 1), number) << "and the next one begins";
}

// ---- Restarts of the core ----

TEST_F(Campaign, GoesOnWhereItWas) {
    const uint64_t number = begin(1, 7);
    for (const uint32_t reason : {SIDRA_BOOT_RESET, SIDRA_BOOT_PANIC, SIDRA_BOOT_WATCHDOG, SIDRA_BOOT_UPDATE}) {
        EXPECT_EQ(campaign_step(), 1);
        board.boot.reason = reason;
        campaign_start();
        EXPECT_EQ(query(number).state, uint32_t{SIDRA_OPERATION_RUNNING});
    }
    while (campaign_step()) {
    }
    campaign_start();
    const sidra_operation end = query(number);
    EXPECT_EQ(end.state, uint32_t{SIDRA_OPERATION_DONE}) << "and it is known yet";
    EXPECT_EQ(end.resumed, 4u);
    EXPECT_EQ(end.cells, 700u);
    EXPECT_EQ(end.time_ns, 7'000u);
    ASSERT_EQ(board.orders.size(), 7u);
    for (uint32_t i = 0; i < 7; i++) EXPECT_EQ(board.orders[i].xbar, 1 + i);
    EXPECT_EQ(begin(0, 1), number + 1);
}

// A reset between the command and its record, or while the record is written.
TEST_F(Campaign, WhatWasDoneIsNotDoneAgain) {
    const uint64_t number = begin(0, 8);
    for (uint32_t done = 1; done < 8; done++) {
        EXPECT_EQ(campaign_step(), 1);
        const bool second = board.operations[1].sequence > board.operations[0].sequence;
        board.operations[second].magic = 0;
        campaign_start();
        EXPECT_EQ(query(number).done, done);
        EXPECT_EQ(board.orders.size(), done);
        EXPECT_EQ(query(number).cells, done * 100u);
    }
}

// The sequencer has executed something since, but not this command.
TEST_F(Campaign, WhatAStartCalibratesIsNotTakenForItsCrossbars) {
    const uint64_t number = begin(0, 8);
    EXPECT_EQ(campaign_step(), 1);
    campaign_start();
    calibrate_all();
    EXPECT_EQ(sequencer_commands(), board.orders.size());
    campaign_start();
    EXPECT_EQ(query(number).done, 1u) << "one more command than it knows of";
    while (campaign_step()) {
    }
    ASSERT_EQ(board.orders.size(), 9u);
    for (uint32_t i = 1; i < 8; i++) EXPECT_EQ(board.orders[i + 1].xbar, i);
}

TEST_F(Campaign, CalibratesARunAStep) {
    const sidra_mailbox_msg reply = ask(message(SIDRA_MAILBOX_CALIBRATE, {pair(2, 6)}));
    ASSERT_EQ(reply.status, uint32_t{SIDRA_MAILBOX_ACCEPTED});
    const uint64_t number = reply.inline_data[0];
    EXPECT_EQ(query(number).kind, uint32_t{SIDRA_OPERATION_CALIBRATE});
    EXPECT_EQ(status_of(message(SIDRA_MAILBOX_CALIBRATE, {pair(0, 1)})), uint32_t{SIDRA_MAILBOX_BUSY});
    EXPECT_EQ(campaign_step(), 1);
    EXPECT_EQ(campaign_step(), 0);
    ASSERT_EQ(board.orders.size(), 1u);
    EXPECT_EQ(board.orders[0].command, SIDRA_MGMT_SEQUENCER_CALIBRATE);
    EXPECT_EQ(board.orders[0].xbar, 2u);
    EXPECT_EQ(board.orders[0].count, 6u);
    const sidra_operation end = query(number);
    EXPECT_EQ(end.state, uint32_t{SIDRA_OPERATION_DONE});
    EXPECT_EQ(end.done, 6u);
    EXPECT_EQ(end.off, 33u);
    // As above: a reset before the command was recorded.
    const bool second = board.operations[1].sequence > board.operations[0].sequence;
    board.operations[second].magic = 0;
    campaign_start();
    EXPECT_EQ(query(number).state, uint32_t{SIDRA_OPERATION_DONE});
    EXPECT_EQ(board.orders.size(), 1u);
}

TEST_F(Campaign, CalibrationIsAbortedLikeTheOthers) {
    const sidra_mailbox_msg reply = ask(message(SIDRA_MAILBOX_CALIBRATE, {pair(0, 8)}));
    EXPECT_EQ(status_of(message(SIDRA_MAILBOX_OP_ABORT, {reply.inline_data[0]})), uint32_t{SIDRA_MAILBOX_OK});
    EXPECT_EQ(campaign_step(), 0);
    EXPECT_EQ(query(reply.inline_data[0]).state, uint32_t{SIDRA_OPERATION_ABORTED});
    EXPECT_TRUE(board.orders.empty());
}

TEST_F(Campaign, CalibrationsThatAreRefused) {
    for (const auto& [first, count] : {std::pair{0ull, 0ull}, {8, 1}, {0, 9}, {7, 2}, {1, ~0u}, {~0u, 2}})
        EXPECT_EQ(status_of(message(SIDRA_MAILBOX_CALIBRATE, {pair(first, count)})),
                  uint32_t{SIDRA_MAILBOX_BAD_ARGUMENT})
            << first << " " << count;
    EXPECT_EQ(status_of(message(SIDRA_MAILBOX_CALIBRATE)), uint32_t{SIDRA_MAILBOX_BAD_LENGTH});
    EXPECT_EQ(status_of(message(SIDRA_MAILBOX_CALIBRATE, {pair(0, 8), 0})), uint32_t{SIDRA_MAILBOX_BAD_LENGTH});
    EXPECT_EQ(campaign_step(), 0);
    EXPECT_TRUE(board.orders.empty());
}

TEST_F(Campaign, AStartIsNotStoppedByASequencerThatFails) {
    calibrate_all();
    ASSERT_EQ(board.orders.size(), 1u);
    EXPECT_EQ(board.orders[0].count, Board::kXbars);
    board.fail_at[Board::kSequencer] = 1;
    calibrate_all();
    const sidra_mailbox_msg reply = ask(with_data(SIDRA_MAILBOX_LOG_RING, 8192));
    const std::string log(board.host.begin() + (kData - Board::kHost),
                          board.host.begin() + static_cast<long>(kData - Board::kHost + reply.inline_data[0]));
    EXPECT_NE(log.find("] calibrate: crossbars with a new trim 0x00000021\n"), std::string::npos) << log;
    EXPECT_NE(log.find("] calibrate: sequencer error 0x00000006\n"), std::string::npos) << log;
}

TEST_F(Campaign, ThatKillsTheCoreIsGivenUp) {
    const uint64_t number = begin(0, 8);
    for (int step = 0; step < 2; step++) {
        for (const uint32_t reason : {SIDRA_BOOT_RESET, SIDRA_BOOT_PANIC, SIDRA_BOOT_WATCHDOG, SIDRA_BOOT_RESET}) {
            board.boot.reason = reason;
            campaign_start();
            EXPECT_EQ(query(number).state, uint32_t{SIDRA_OPERATION_RUNNING});
        }
        EXPECT_EQ(campaign_step(), 1) << "so it was something else";
    }
    for (int death = 1; death <= 3; death++) {
        board.boot.reason = SIDRA_BOOT_WATCHDOG;
        campaign_start();
        EXPECT_EQ(query(number).state, uint32_t{death < 3 ? SIDRA_OPERATION_RUNNING : SIDRA_OPERATION_FAILED});
    }
    EXPECT_EQ(query(number).result, SIDRA_OPERATION_DEADLY);
    EXPECT_EQ(query(number).done, 2u);
    EXPECT_EQ(campaign_step(), 0);
    campaign_start();
    EXPECT_EQ(query(number).state, uint32_t{SIDRA_OPERATION_FAILED}) << "for good";
    EXPECT_EQ(board.orders.size(), 2u);
    begin(0, 8);
    EXPECT_EQ(campaign_step(), 1);
}

TEST_F(Campaign, WhatIsFoundInMemoryMayBeNonsense) {
    begin(0, 8);
    campaign_step();
    const sidra_kept_operation good = board.operations[board.operations[1].sequence > board.operations[0].sequence];
    const auto refused = [&](auto&& spoil) {
        for (sidra_kept_operation& each : board.operations) spoil(each = good);
        campaign_start();
        return campaign_operation(0) == nullptr && campaign_step() == 0;
    };
    EXPECT_FALSE(refused([](sidra_kept_operation&) {}));
    EXPECT_TRUE(refused([](sidra_kept_operation& bad) { bad.magic ^= 1; }));
    EXPECT_TRUE(refused([](sidra_kept_operation& bad) { bad.size -= 4; }));
    EXPECT_TRUE(refused([](sidra_kept_operation& bad) { bad.operation.number = 0; }));
    EXPECT_TRUE(refused([](sidra_kept_operation& bad) { bad.operation.count = 0; }));
    EXPECT_TRUE(refused([](sidra_kept_operation& bad) { bad.operation.done = 9; }));
    EXPECT_TRUE(refused([](sidra_kept_operation& bad) { bad.operation.kind = 3; }));
    EXPECT_TRUE(refused([](sidra_kept_operation& bad) { bad.operation.first = 8; }));
    EXPECT_TRUE(refused([](sidra_kept_operation& bad) { bad.operation.first = 1; }));
}

TEST_F(Campaign, IsOneAtATime) {
    const uint64_t number = begin(0, 8);
    EXPECT_EQ(status_of(message(SIDRA_MAILBOX_ISPP_REFRESH, {pair(0, 1), kPpm})), uint32_t{SIDRA_MAILBOX_BUSY});
    EXPECT_EQ(status_of(message(SIDRA_MAILBOX_ISPP_CAMPAIGN, {kVerify, pair(0, 1), kPpm})),
              uint32_t{SIDRA_MAILBOX_BUSY});
    EXPECT_EQ(status_of(message(SIDRA_MAILBOX_OP_ABORT, {number + 1})), uint32_t{SIDRA_MAILBOX_BAD_ARGUMENT});
    EXPECT_EQ(status_of(message(SIDRA_MAILBOX_OP_ABORT, {number})), uint32_t{SIDRA_MAILBOX_OK});
    EXPECT_EQ(campaign_step(), 0);
    EXPECT_EQ(query(number).state, uint32_t{SIDRA_OPERATION_ABORTED});
    EXPECT_TRUE(board.orders.empty());
}

TEST_F(Campaign, CrossbarsThatAreNotThere) {
    for (const uint64_t range :
         {pair(0, 0), pair(0, 9), pair(8, 1), pair(7, 2), pair(0xffffffff, 2), pair(1, 0xffffffff)})
        EXPECT_EQ(status_of(message(SIDRA_MAILBOX_ISPP_REFRESH, {range, kPpm})), uint32_t{SIDRA_MAILBOX_BAD_ARGUMENT});
    for (const uint64_t ppm : {uint64_t{0}, uint64_t{100'001}, ~uint64_t{0}, uint64_t{1} << 32})
        EXPECT_EQ(status_of(message(SIDRA_MAILBOX_ISPP_REFRESH, {pair(0, 1), ppm})),
                  uint32_t{SIDRA_MAILBOX_BAD_ARGUMENT});
    EXPECT_EQ(campaign_step(), 0);
}

}  // namespace
}  // namespace sidra::test
