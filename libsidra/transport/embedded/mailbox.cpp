// SPDX-License-Identifier: MIT
#include "mailbox.h"

#include <cstring>

namespace sidra::embedded {

// Reads events first: firmware that has no room for a reply does not process the request before the next doorbell.
void Mailbox::ask(Request request, uint16_t opcode, uint32_t length, uint64_t payload, uint64_t word) {
    take_replies();
    sidra_mailbox_msg msg{};
    msg.opcode = opcode;
    msg.length = length;
    msg.sequence = request;
    msg.cookie = cookie_ + request;
    msg.payload = payload;
    msg.inline_data[0] = word;
    std::memcpy(memory_.data() + request * sizeof msg, &msg, sizeof msg);
    host_.write_register(SIDRA_REG_MAILBOX_DOORBELL, request + 1, 4);
}

// Collects replies, and discards events.
void Mailbox::take_replies() {
    const uint32_t given = reg(SIDRA_REG_MAILBOX_REPLY_INDEX);
    if (given - taken_ > kEntries) return;  // the firmware is starting
    for (; taken_ != given; taken_++) {
        sidra_mailbox_msg reply;
        std::memcpy(&reply, memory_.data() + SIDRA_PAGE_SIZE + taken_ % kEntries * sizeof reply, sizeof reply);
        if (const uint64_t request = reply.cookie - cookie_; request < kRequests) replies_[request] = reply;
    }
    host_.write_register(SIDRA_REG_MAILBOX_REPLY_READ, taken_, 4);
}

bool Mailbox::answer(Request request, uint16_t opcode, sidra_mailbox_msg* reply) {
    take_replies();
    *reply = replies_[request];
    return reply->opcode == (opcode | SIDRA_MAILBOX_REPLY);
}

// Whether the firmware runs and knows the rings. If not, sets up the rings and sends HELLO as the first request.
bool Mailbox::met() {
    if (!(reg(SIDRA_REG_STATUS) & SIDRA_STATUS_FIRMWARE_ALIVE)) return false;
    if (reg(SIDRA_REG_MAILBOX_ENTRIES) == kEntries) return true;  // cleared when the firmware starts
    cookie_ += kRequests;
    taken_ = 0;
    replies_ = {};
    dump_asked_ = dump_taken_ = false;
    host_.write_register(SIDRA_REG_MAILBOX_REQUEST, memory_.bus(), 8);
    host_.write_register(SIDRA_REG_MAILBOX_REPLY, memory_.bus() + SIDRA_PAGE_SIZE, 8);
    host_.write_register(SIDRA_REG_MAILBOX_REPLY_READ, 0, 4);
    host_.write_register(SIDRA_REG_MAILBOX_ENTRIES, kEntries, 4);
    // Version 1.0 of the protocol in docs/firmware.md.
    ask(kHello, SIDRA_MAILBOX_HELLO, sizeof(sidra_mailbox_msg::inline_data[0]), 0, uint64_t{1} << 16);
    return true;
}

uint32_t Mailbox::image_version() {
    sidra_mailbox_msg reply;
    if (!met() || !answer(kHello, SIDRA_MAILBOX_HELLO, &reply)) return 0;
    return static_cast<uint32_t>(reply.inline_data[1]);
}

std::vector<uint8_t> Mailbox::take_crash_dump() {
    if (reg(SIDRA_REG_BOOT_REASON) != SIDRA_BOOT_PANIC || !met() || dump_taken_) return {};
    uint8_t* const dump = memory_.data() + 2 * SIDRA_PAGE_SIZE;
    if (!dump_asked_) {
        dump_asked_ = true;
        ask(kCrashDump, SIDRA_MAILBOX_CRASH_DUMP, SIDRA_PAGE_SIZE, memory_.bus() + 2 * SIDRA_PAGE_SIZE, 0);
        return {};
    }
    sidra_mailbox_msg reply;
    if (!answer(kCrashDump, SIDRA_MAILBOX_CRASH_DUMP, &reply)) return {};
    dump_taken_ = true;
    if (reply.status != SIDRA_MAILBOX_OK || reply.inline_data[0] > SIDRA_PAGE_SIZE) return {};
    return {dump, dump + reply.inline_data[0]};
}

}  // namespace sidra::embedded
