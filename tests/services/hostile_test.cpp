// SPDX-License-Identifier: MIT
// A malicious or faulty host. Whatever it sends: each request that was read gets one well-formed reply, nothing else in
// the host's memory is accessed, and the running chip is unaffected.
#include <iterator>
#include <random>

#include "desk.h"

namespace sidra::test {
namespace {

using Random = std::mt19937_64;

class Hostile : public Desk {
   protected:
    void SetUp() override {
        Desk::SetUp();
        fill(SIDRA_MGMT_SLOT_RECOVERY, shipped());
        running_ = copy_of_slot(SIDRA_MGMT_SLOT_A);
    }
    void TearDown() override {
        board.while_copy = nullptr;
        board.fail_at = {};
        open();
        expect_alive();
        EXPECT_EQ(copy_of_slot(SIDRA_MGMT_SLOT_A), running_) << "what runs is nobody's to write";
        EXPECT_TRUE(std::equal(running_.begin(), running_.end(), slot(SIDRA_MGMT_SLOT_RECOVERY).begin()));
    }

    sidra_mailbox_msg random_message(Random& random) {
        static constexpr uint16_t kKnown[] = {
            SIDRA_MAILBOX_HELLO,        SIDRA_MAILBOX_STATUS,      SIDRA_MAILBOX_CALIBRATE, SIDRA_MAILBOX_ISPP_CAMPAIGN,
            SIDRA_MAILBOX_ISPP_REFRESH, SIDRA_MAILBOX_OP_QUERY,    SIDRA_MAILBOX_OP_ABORT,  SIDRA_MAILBOX_DVFS,
            SIDRA_MAILBOX_POWER_LIMIT,  SIDRA_MAILBOX_LOG_RING,    SIDRA_MAILBOX_FW_BEGIN,  SIDRA_MAILBOX_FW_DATA,
            SIDRA_MAILBOX_FW_COMMIT,    SIDRA_MAILBOX_FW_CONFIRM,  SIDRA_MAILBOX_FW_INFO,   SIDRA_MAILBOX_CRASH_DUMP,
            SIDRA_MAILBOX_LOOPBACK,     SIDRA_MAILBOX_FW_ACTIVATE, SIDRA_MAILBOX_FW_BUILD};
        uint64_t words[8];
        for (uint64_t& word : words) word = random() >> random() % 64;
        sidra_mailbox_msg request;
        static_assert(sizeof request == sizeof words);
        std::memcpy(&request, words, sizeof request);
        if (random() % 8 != 0) request.opcode = kKnown[random() % std::size(kKnown)];
        if (random() % 8 != 0) request.flags = 0;
        if (random() % 8 != 0) request.deadline = 0;
        if (random() % 2 != 0) request.payload = kData + random() % 100;
        if (random() % 2 != 0) request.length %= 40'000;
        if (random() % 4 == 0) request.length = static_cast<uint32_t>(8 + random() % 3 * 8);
        if (random() % 32 == 0)  // nearly right
            request = message(SIDRA_MAILBOX_CALIBRATE, {random() % 12 | random() % 12 << 32});
        if (random() % 16 == 0)
            request = message(SIDRA_MAILBOX_ISPP_REFRESH, {random() % 12 | random() % 12 << 32, random() % 120'000});
        return request;
    }
    // All stores for `request` are in its payload or in the reply's slot.
    void expect_in_bounds(const sidra_mailbox_msg& request, uint64_t place) {
        for (const Board::Range& range : board.stored) {
            const bool is_reply = range.begin == place && range.size == sizeof(sidra_mailbox_msg);
            const bool is_payload = range.begin >= request.payload && range.size <= request.length &&
                                    range.begin - request.payload <= request.length - range.size;
            EXPECT_TRUE(is_reply || is_payload)
                << std::hex << range.begin << " + " << range.size << ", opcode " << request.opcode;
        }
        board.stored.clear();
    }

    bool reply_lost() const {
        const uint64_t place = kReplies - Board::kHost + board.reply_read % kEntries * sizeof(sidra_mailbox_msg);
        sidra_mailbox_msg reply;
        std::memcpy(&reply, &board.host[place], sizeof reply);
        return !replied() || reply.sequence != board.reply_read;
    }

   private:
    std::vector<uint8_t> running_;
};

TEST_F(Hostile, RandomMessages) {
    Random random(1);
    for (int i = 0; i < 50'000 && !HasFailure(); i++) {
        const sidra_mailbox_msg request = random_message(random);
        const uint32_t place = board.reply_index % kEntries;
        const uint32_t meals = board.meals;
        post(request);
        mailbox_serve();
        expect_in_bounds(request, kReplies + place * sizeof request);
        expect_answers(take(), request);
        EXPECT_GT(board.meals, meals) << "each one feeds the watchdog";
        if (random() % 1000 == 0) board.fail_at[Board::kSequencer] = 1 + static_cast<uint32_t>(random() % 8);
        campaign_step();
    }
    EXPECT_GT(board.orders.size(), 100u);
    uint32_t calibrated = 0;
    for (const auto& order : board.orders) {
        EXPECT_LT(order.xbar, Board::kXbars);
        EXPECT_LE(order.count, Board::kXbars - order.xbar);
        if (order.command == SIDRA_MGMT_SEQUENCER_CALIBRATE) calibrated++;
        else EXPECT_TRUE(order.tolerance_ppm != 0 && order.tolerance_ppm <= SIDRA_MGMT_ISPP_TOLERANCE_MAX);
    }
    EXPECT_GT(calibrated, 50u);
}

// A message that changes while it is served is processed as first read.
TEST_F(Hostile, MessagesThatChangeWhileTheyAreServed) {
    Random random(2);
    for (int i = 0; i < 20'000 && !HasFailure(); i++) {
        const sidra_mailbox_msg request = random_message(random);
        const uint64_t at = kRequests - Board::kHost + board.doorbell % kEntries * sizeof request;
        const uint64_t place = kReplies + board.reply_index % kEntries * sizeof request;
        post(request);
        unsigned copies = 0;
        board.while_copy = [&] {
            if (copies++ == 0) return;
            for (size_t byte = 0; byte < sizeof request; byte++) board.host[at + byte] = static_cast<uint8_t>(random());
        };
        mailbox_serve();
        board.while_copy = nullptr;
        expect_in_bounds(request, place);
        expect_answers(take(), request);
    }
}

TEST_F(Hostile, RingsThatVanishAndIndicesThatLie) {
    Random random(3);
    const auto some = [&](std::initializer_list<uint64_t> values) { return values.begin()[random() % values.size()]; };
    for (int i = 0; i < 20'000 && !HasFailure(); i++) {
        if (random() % 4 == 0) open();
        if (random() % 4 == 0) board.request = some({0, kRequests, kRequests + Board::kHostSize - 64, ~0ull, random()});
        if (random() % 4 == 0) board.reply = some({0, kReplies, kReplies + Board::kHostSize, ~0ull - 100, random()});
        if (random() % 4 == 0)
            board.entries = static_cast<uint32_t>(some({0, 1, 2, 8, 256, 257, 512, ~0ull, random()}));
        if (random() % 4 == 0) board.doorbell += static_cast<uint32_t>(some({1, 2, 8, 9, 1000, ~0ull, random()}));
        if (random() % 4 == 0) board.reply_read += static_cast<uint32_t>(some({1, 8, 1000, ~0ull, random()}));
        if (random() % 4 == 0) board.fail_at[Board::kCopy] = static_cast<uint32_t>(random() % 4);
        post(random_message(random));
        const uint32_t before = board.reply_index;
        mailbox_serve();
        EXPECT_LE(board.reply_index - before, 256u) << "no more than a ring holds";
    }
}

// A doorbell that never stops is served alternately with the firmware's other work.
TEST_F(Hostile, ADoorbellThatNeverRests) {
    for (int i = 0; i < 3; i++) post(message(SIDRA_MAILBOX_STATUS));
    board.while_copy = [&] { board.doorbell++; };
    const uint32_t before = board.reply_index;
    mailbox_serve();
    EXPECT_EQ(board.reply_index - before, 3u);
}

// ---- Updates ----

// Mutated update sequences: only signed images may ever be started.
TEST_F(Hostile, UpdatesWithAMistakeInThem) {
    Random random(4);
    const std::vector<uint8_t> good = shipped();
    unsigned accepted = 0, refused = 0;
    for (int i = 0; i < 200 && !HasFailure(); i++) {
        std::vector<uint8_t> image = good;
        if (random() % 8 != 0) image[random() % image.size()] ^= static_cast<uint8_t>(1 + random() % 255);
        if (random() % 8 == 0) image.resize(1 + random() % image.size());
        std::fill(slot(SIDRA_MGMT_SLOT_B).begin(), slot(SIDRA_MGMT_SLOT_B).end(), uint8_t{0x5a});
        const bool whole = image == good;
        const uint32_t status = send(image, 1, 1 + static_cast<uint32_t>(random() % 32768));
        EXPECT_EQ(status == SIDRA_MAILBOX_OK, whole) << i;
        whole ? accepted++ : refused++;
        const sidra_mailbox_msg info = ask(message(SIDRA_MAILBOX_FW_INFO));
        EXPECT_EQ(info.inline_data[0] >> 32 == SIDRA_MGMT_SLOT_B, whole) << "tried next";
    }
    EXPECT_GT(accepted, 5u);
    EXPECT_GT(refused, 100u);
}

TEST_F(Hostile, UpdatesOutOfTheirOrder) {
    const std::vector<uint8_t> good = shipped();
    ASSERT_EQ(status_of(message(SIDRA_MAILBOX_FW_BEGIN, {good.size()})), SIDRA_MAILBOX_OK);
    EXPECT_EQ(status_of(message(SIDRA_MAILBOX_FW_COMMIT, {1})), SIDRA_MAILBOX_BAD_ARGUMENT) << "nothing of it is here";
    EXPECT_EQ(status_of(with_data(SIDRA_MAILBOX_FW_DATA, 100, 100)), SIDRA_MAILBOX_BAD_ARGUMENT) << "not the next";
    EXPECT_EQ(status_of(with_data(SIDRA_MAILBOX_FW_DATA, 0)), SIDRA_MAILBOX_BAD_LENGTH);
    EXPECT_EQ(status_of(with_data(SIDRA_MAILBOX_FW_DATA, 32769)), SIDRA_MAILBOX_BAD_LENGTH);
    EXPECT_EQ(status_of(message(SIDRA_MAILBOX_FW_COMMIT, {2})), SIDRA_MAILBOX_BAD_ARGUMENT);
    EXPECT_EQ(status_of(message(SIDRA_MAILBOX_FW_COMMIT)), SIDRA_MAILBOX_BAD_LENGTH);
    for (const uint64_t bytes : {uint64_t{0}, uint64_t{255}, uint64_t{SIDRA_MGMT_FLASH_SLOT_SIZE} + 1, ~uint64_t{0}})
        EXPECT_EQ(status_of(message(SIDRA_MAILBOX_FW_BEGIN, {bytes})), SIDRA_MAILBOX_BAD_ARGUMENT) << bytes;
    EXPECT_EQ(send(good, 0), uint32_t{SIDRA_MAILBOX_OK}) << "and all is well again";
}

// Blocks that fail, at any one of their commands, in the middle of an update.
TEST_F(Hostile, BlocksThatFail) {
    const std::vector<uint8_t> good = shipped();
    for (const Board::Block block : {Board::kCopy, Board::kFlash, Board::kVerify}) {
        bool reached = true;
        unsigned failures = 0;
        for (uint32_t at = 1; reached && !HasFailure(); at += block == Board::kFlash ? 13 : 1) {
            std::copy(good.begin(), good.end(), slot(SIDRA_MGMT_SLOT_B).begin());
            open();
            board.fail_at[block] = at;
            uint32_t status = SIDRA_MAILBOX_OK;
            const auto step = [&](const sidra_mailbox_msg& request) {
                post(request);
                mailbox_serve();
                // The host continues whatever the reply; it notices lost requests and replies.
                status = reply_lost() ? uint32_t{SIDRA_MAILBOX_INTERNAL} : take().status;
                board.reply_read = board.reply_index;
            };
            step(message(SIDRA_MAILBOX_FW_BEGIN, {good.size()}));
            for (size_t from = 0; from < good.size(); from += 32768) {
                const auto bytes = static_cast<uint32_t>(std::min<size_t>(32768, good.size() - from));
                std::copy_n(good.begin() + static_cast<long>(from), bytes, board.host.begin() + (kData - Board::kHost));
                step(with_data(SIDRA_MAILBOX_FW_DATA, bytes, from));
            }
            step(message(SIDRA_MAILBOX_FW_COMMIT, {1}));
            reached = board.fail_at[block] == 0;
            board.fail_at = {};
            if (!reached) break;
            failures++;
            EXPECT_TRUE(status != SIDRA_MAILBOX_OK ||
                        std::equal(good.begin(), good.end(), slot(SIDRA_MGMT_SLOT_B).begin()))
                << "block " << block << ", command " << at;
            open();
            EXPECT_EQ(send(good, 1), uint32_t{SIDRA_MAILBOX_OK}) << "and all is well again";
        }
        EXPECT_GE(failures, 5u) << "block " << block;
    }
}

}  // namespace
}  // namespace sidra::test
