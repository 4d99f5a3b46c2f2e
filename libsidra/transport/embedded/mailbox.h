// SPDX-License-Identifier: MIT
// The mailbox of the chip's firmware (SIDRA_REG_MAILBOX_*). Nobody waits for it: it may still boot, hang or be dead.
#ifndef SIDRA_EMBEDDED_MAILBOX_H
#define SIDRA_EMBEDDED_MAILBOX_H

#include <cstdint>

#include "chip_host.h"
#include "host_memory.h"

namespace sidra::embedded {

// Not thread-safe: the driver's lock is held around it. The chip is reset before it goes.
class Mailbox {
   public:
    // Throws std::bad_alloc.
    explicit Mailbox(ChipHost& host) : host_(host), rings_(2 * SIDRA_PAGE_SIZE) {}

    // Major << 16 | minor; 0: none has answered yet. Says HELLO to firmware that it has not met.
    uint32_t firmware_version();

   private:
    static constexpr uint32_t kEntries = SIDRA_PAGE_SIZE / sizeof(sidra_mailbox_msg);
    void say_hello();

    ChipHost& host_;
    HostMemory rings_;    // a page of requests, a page of replies
    uint64_t hello_ = 0;  // cookie of the last one
};

}  // namespace sidra::embedded

#endif
