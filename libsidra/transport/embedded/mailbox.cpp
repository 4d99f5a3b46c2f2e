// SPDX-License-Identifier: MIT
#include "mailbox.h"

#include <cstring>

namespace sidra::embedded {

void Mailbox::say_hello() {
    sidra_mailbox_msg hello{};
    hello.opcode = SIDRA_MAILBOX_HELLO;
    hello.length = sizeof hello.inline_data[0];
    hello.cookie = ++hello_;
    hello.inline_data[0] = uint64_t{1} << 16;  // version 1.0 of what docs/firmware.md says
    std::memcpy(rings_.data(), &hello, sizeof hello);
    host_.write_register(SIDRA_REG_MAILBOX_REQUEST, rings_.bus(), 8);
    host_.write_register(SIDRA_REG_MAILBOX_REPLY, rings_.bus() + SIDRA_PAGE_SIZE, 8);
    host_.write_register(SIDRA_REG_MAILBOX_REPLY_READ, 0, 4);
    host_.write_register(SIDRA_REG_MAILBOX_ENTRIES, kEntries, 4);
    host_.write_register(SIDRA_REG_MAILBOX_DOORBELL, 1, 4);
}

uint32_t Mailbox::firmware_version() {
    const auto reg = [this](uint64_t offset) { return static_cast<uint32_t>(host_.read_register(offset, 4)); };
    if (!(reg(SIDRA_REG_STATUS) & SIDRA_STATUS_FIRMWARE_ALIVE)) return 0;
    if (reg(SIDRA_REG_MAILBOX_ENTRIES) != kEntries) {  // cleared when the firmware starts
        say_hello();
        return 0;
    }
    if (reg(SIDRA_REG_MAILBOX_REPLY_INDEX) != 1) return 0;
    sidra_mailbox_msg reply;
    std::memcpy(&reply, rings_.data() + SIDRA_PAGE_SIZE, sizeof reply);
    if (reply.opcode != (SIDRA_MAILBOX_HELLO | SIDRA_MAILBOX_REPLY) || reply.cookie != hello_) return 0;
    const auto version = static_cast<uint32_t>(reply.inline_data[1]);  // major << 24 | minor << 16 | patch
    return version >> 24 << 16 | (version >> 16 & 0xff);
}

}  // namespace sidra::embedded
