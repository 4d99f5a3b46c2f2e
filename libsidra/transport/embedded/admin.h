// SPDX-License-Identifier: MIT
// Admin commands of the chip (SIDRA_REG_ADMIN_*): one at a time, complete when the status shows their tag.
#ifndef SIDRA_EMBEDDED_ADMIN_H
#define SIDRA_EMBEDDED_ADMIN_H

#include <cstdint>

#include "chip_host.h"

namespace sidra::embedded {

// Not thread-safe: the driver's lock is held. The waiting thread helps to run the chip.
class Admin {
   public:
    Admin(ChipHost& host, uint64_t timeout_ns) : host_(host), timeout_ns_(timeout_ns) {}

    // Returns an enum sidra_admin_result, or -ETIMEDOUT (no acknowledgement), -EBUSY (an earlier command is still in
    // progress), -ENODEV (link lost).
    int execute(sidra_admin_op op, uint64_t arg0 = 0, uint64_t arg1 = 0, uint64_t arg2 = 0);

   private:
    ChipHost& host_;
    const uint64_t timeout_ns_;
    uint16_t tag_ = 0;
};

}  // namespace sidra::embedded

#endif
