// SPDX-License-Identifier: MIT
// The mailbox of the chip's firmware (SIDRA_REG_MAILBOX_*). Nobody waits for it: it may still boot, hang or be dead.
#ifndef SIDRA_EMBEDDED_MAILBOX_H
#define SIDRA_EMBEDDED_MAILBOX_H

#include <array>
#include <cstdint>
#include <vector>

#include "chip_host.h"
#include "host_memory.h"

namespace sidra::embedded {

// Not thread-safe: the driver's lock is held around it. The chip is reset before it goes.
class Mailbox {
   public:
    // Throws std::bad_alloc.
    explicit Mailbox(ChipHost& host) : host_(host), memory_(3 * SIDRA_PAGE_SIZE) {}

    // As struct sidra_fw_header has it; 0: none has answered yet. Says HELLO to firmware that it has not met.
    uint32_t image_version();
    // Major << 16 | minor of that.
    uint32_t firmware_version() {
        const uint32_t version = image_version();
        return version >> 24 << 16 | (version >> 16 & 0xff);
    }

    // What firmware left that panicked, as it came: once, when that which was started after it has answered. Asks for
    // it first. Empty: there is none, or not yet.
    std::vector<uint8_t> take_crash_dump();

   private:
    static constexpr uint32_t kEntries = SIDRA_PAGE_SIZE / sizeof(sidra_mailbox_msg);
    // Those that each firmware gets at most once, in this order.
    enum Request : uint32_t { kHello, kCrashDump, kRequests };
    uint32_t reg(uint64_t offset) { return static_cast<uint32_t>(host_.read_register(offset, 4)); }
    bool met();
    void ask(Request request, uint16_t opcode, uint32_t length, uint64_t payload, uint64_t word);
    void take_replies();
    // False: no reply yet, or one that is not to that.
    bool answer(Request request, uint16_t opcode, sidra_mailbox_msg* reply);

    ChipHost& host_;
    HostMemory memory_;    // a page of requests, a page of replies, a page for a dump
    uint64_t cookie_ = 1;  // of the HELLO to the firmware that was met last; events have 0
    uint32_t taken_ = 0;   // replies and events of the same
    std::array<sidra_mailbox_msg, kRequests> replies_{};
    bool dump_asked_ = false, dump_taken_ = false;  // of the same
};

}  // namespace sidra::embedded

#endif
