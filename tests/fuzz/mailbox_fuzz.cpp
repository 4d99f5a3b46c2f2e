// SPDX-License-Identifier: MIT
// Mailbox of the firmware, built for this machine: what a host asks, in rings that it moves about and memory that it
// changes meanwhile. Each request that was read is answered once, nothing else of the host's memory is stored to, and
// the image that runs stays as it is. An input is records of 32 bytes.
#include <iterator>

#include "desk.h"
#include "input.h"

namespace sidra::fuzz {
namespace {

constexpr size_t kRecordSize = 32, kRecordsMost = 64;

// A test, for what tests of the services share. Its expectations throw (LLVMFuzzerInitialize), which ends the target.
class Player : public test::Desk {
   public:
    void play(Input in) {
        SetUp();
        fill(SIDRA_MGMT_SLOT_RECOVERY, shipped());
        const std::vector<uint8_t> running = copy_of_slot(SIDRA_MGMT_SLOT_A);
        for (size_t i = 0; i < kRecordsMost && !in.empty(); i++) record(in.part(kRecordSize));
        board.while_copy = nullptr;
        board.fail_at = {};
        open();
        expect_alive();
        EXPECT_EQ(copy_of_slot(SIDRA_MGMT_SLOT_A), running);
        EXPECT_TRUE(std::equal(running.begin(), running.end(), slot(SIDRA_MGMT_SLOT_RECOVERY).begin()));
        for (const auto& order : board.orders) {
            EXPECT_LT(order.xbar, test::Board::kXbars);
            EXPECT_LE(order.count, test::Board::kXbars - order.xbar);
        }
    }

   private:
    void TestBody() override {}

    static uint64_t number(Input& in) {
        const uint8_t kind = in.u8();
        const uint16_t value = in.u16();
        switch (kind % 6) {
            case 0:
                return value;
            case 1:
                return uint64_t{value} << kind / 6;
            case 2:
                return ~uint64_t{value};
            case 3:
                return kData + value;
            case 4:
                return test::Board::kHost + test::Board::kHostSize - value;
            default:
                return value % 16u | uint64_t{value / 16u % 16u} << 32;
        }
    }

    // The next message of an update that is in order: its images are long, and no input has room for one.
    sidra_mailbox_msg next_of_update(Input& in) {
        const std::vector<uint8_t> image = shipped();
        const uint8_t step = in.u8();
        if (step < 64) {
            sent_ = 0;
            return message(SIDRA_MAILBOX_FW_BEGIN, {image.size()});
        }
        if (step < 192 && sent_ < image.size()) {
            const auto bytes = static_cast<uint32_t>(std::min<size_t>(image.size() - sent_, 1u + step % 4 * 10'000u));
            std::copy_n(image.begin() + static_cast<long>(sent_), bytes,
                        board.host.begin() + (kData - test::Board::kHost));
            const sidra_mailbox_msg made = with_data(SIDRA_MAILBOX_FW_DATA, bytes, sent_);
            sent_ += bytes;
            return made;
        }
        return message(SIDRA_MAILBOX_FW_COMMIT, {step % 3u});
    }

    sidra_mailbox_msg request(Input& in) {
        static constexpr uint16_t kKnown[] = {
            SIDRA_MAILBOX_HELLO,        SIDRA_MAILBOX_STATUS,      SIDRA_MAILBOX_CALIBRATE, SIDRA_MAILBOX_ISPP_CAMPAIGN,
            SIDRA_MAILBOX_ISPP_REFRESH, SIDRA_MAILBOX_OP_QUERY,    SIDRA_MAILBOX_OP_ABORT,  SIDRA_MAILBOX_DVFS,
            SIDRA_MAILBOX_POWER_LIMIT,  SIDRA_MAILBOX_LOG_RING,    SIDRA_MAILBOX_FW_BEGIN,  SIDRA_MAILBOX_FW_DATA,
            SIDRA_MAILBOX_FW_COMMIT,    SIDRA_MAILBOX_FW_CONFIRM,  SIDRA_MAILBOX_FW_INFO,   SIDRA_MAILBOX_CRASH_DUMP,
            SIDRA_MAILBOX_LOOPBACK,     SIDRA_MAILBOX_FW_ACTIVATE, SIDRA_MAILBOX_FW_BUILD};
        const uint8_t opcode = in.u8(), odd = in.u8();
        sidra_mailbox_msg made = opcode % 4 == 3 ? next_of_update(in) : message(kKnown[opcode / 4 % std::size(kKnown)]);
        if (odd & 1) made.length = static_cast<uint32_t>(number(in));
        else if (opcode % 4 != 3) made.length = 8u * (odd >> 6);
        if (odd & 2) made.payload = number(in);
        if (opcode % 4 != 3 || odd & 4)
            for (uint64_t& word : made.inline_data) word = number(in);
        if (odd & 8) made.flags = in.u16();
        if (odd & 16) made.deadline = number(in);
        if (odd & 32) made.opcode = in.u16();
        return made;
    }

    void serve(const sidra_mailbox_msg& request, bool changes) {
        const uint64_t at = kRequests - test::Board::kHost + board.doorbell % kEntries * sizeof request;
        const uint64_t place = kReplies + board.reply_index % kEntries * sizeof request;
        post(request);
        unsigned copies = 0;
        if (changes)
            board.while_copy = [&] {
                if (copies++ != 0) std::fill_n(&board.host[at], sizeof request, uint8_t{0xa5});
            };
        mailbox_serve();
        board.while_copy = nullptr;
        for (const test::Board::Range& range : board.stored) {
            const bool is_reply = range.begin == place && range.size == sizeof request;
            const bool is_payload = range.begin >= request.payload && range.size <= request.length &&
                                    range.begin - request.payload <= request.length - range.size;
            EXPECT_TRUE(is_reply || is_payload) << "opcode " << request.opcode;
        }
        board.stored.clear();
        expect_answers(take(), request);
        EXPECT_FALSE(replied());
    }

    void record(Input in) {
        const uint8_t kind = in.u8();
        switch (kind % 16) {
            case 12: {  // rings that are not where they were, of a host that then does what it should
                const sidra_mailbox_msg asked = request(in);
                board.request = number(in);
                board.reply = number(in);
                board.entries = static_cast<uint32_t>(number(in));
                board.doorbell += static_cast<uint32_t>(number(in));
                post(asked);
                const uint32_t before = board.reply_index;
                mailbox_serve();
                EXPECT_LE(board.reply_index - before, 256u);
                open();
                break;
            }
            case 13: {  // a block fails: whatever is answered, nothing that nobody asked for
                board.fail_at[in.u8() % test::Board::kBlocks] = 1 + in.u8() % 8;
                post(request(in));
                mailbox_serve();
                board.fail_at = {};
                open();
                break;
            }
            case 14:
                board.pass(number(in) % 1'000'000'000, in.u16());
                break;
            case 15:
                campaign_step();
                break;
            default: {
                const sidra_mailbox_msg asked = request(in);
                serve(asked, kind & 128);
                break;
            }
        }
    }

    size_t sent_ = 0;
};

}  // namespace
}  // namespace sidra::fuzz

extern "C" int LLVMFuzzerInitialize(int*, char***) {
    GTEST_FLAG_SET(throw_on_failure, true);
    return 0;
}

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
    static auto& player = *new sidra::fuzz::Player;
    player.play(sidra::fuzz::Input({data, size}));
    return 0;
}
