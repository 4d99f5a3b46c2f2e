// SPDX-License-Identifier: MIT
// The mailbox of the chip's firmware (SIDRA_REG_MAILBOX_*). Never waits for the firmware, which may be booting, hung or
// dead.
#ifndef SIDRA_EMBEDDED_MAILBOX_H
#define SIDRA_EMBEDDED_MAILBOX_H

#include <array>
#include <cstdint>
#include <vector>

#include "chip_host.h"
#include "host_memory.h"

namespace sidra::embedded {

// Not thread-safe: the driver's lock is held. The chip is reset before this object is destroyed.
class Mailbox {
   public:
    // Throws std::bad_alloc.
    explicit Mailbox(ChipHost& host) : host_(host), memory_(3 * SIDRA_PAGE_SIZE) {}

    // As in struct sidra_fw_header; 0: no answer yet. Sends HELLO to firmware that has restarted.
    uint32_t image_version();
    // Major << 16 | minor of that version.
    uint32_t firmware_version() {
        const uint32_t version = image_version();
        return version >> 24 << 16 | (version >> 16 & 0xff);
    }

    // Returns the crash dump that firmware left, unchanged: once, when the restarted firmware has answered. Requests it
    // first. Empty: none, or not yet.
    std::vector<uint8_t> take_crash_dump();

   private:
    static constexpr uint32_t kEntries = SIDRA_PAGE_SIZE / sizeof(sidra_mailbox_msg);
    // Requests that each firmware gets at most once, in this order.
    enum Request : uint32_t { kHello, kCrashDump, kRequests };
    uint32_t reg(uint64_t offset) { return static_cast<uint32_t>(host_.read_register(offset, 4)); }
    bool met();
    void ask(Request request, uint16_t opcode, uint32_t length, uint64_t payload, uint64_t word);
    void take_replies();
    // Returns false if there is no reply, or a reply to another request.
    bool answer(Request request, uint16_t opcode, sidra_mailbox_msg* reply);

    ChipHost& host_;
    HostMemory memory_;    // one page each for requests, replies and a dump
    uint64_t cookie_ = 1;  // cookie of the HELLO to the current firmware; events have 0
    uint32_t taken_ = 0;   // replies and events read from it
    std::array<sidra_mailbox_msg, kRequests> replies_{};
    bool dump_asked_ = false, dump_taken_ = false;  // for the current firmware
};

}  // namespace sidra::embedded

#endif
