// SPDX-License-Identifier: MIT
#include "admin.h"

#include <time.h>

#include <algorithm>
#include <cerrno>

#include "futex.h"

namespace sidra::embedded {

int Admin::execute(sidra_admin_op op, uint64_t arg0, uint64_t arg1, uint64_t arg2) {
    if (++tag_ == 0) tag_ = 1;
    host_.write_register(SIDRA_REG_ADMIN_ARG0, arg0, 8);
    host_.write_register(SIDRA_REG_ADMIN_ARG1, arg1, 8);
    host_.write_register(SIDRA_REG_ADMIN_ARG2, arg2, 8);
    host_.write_register(SIDRA_REG_ADMIN_CMD, static_cast<uint32_t>(op) | static_cast<uint32_t>(tag_) << 16, 4);

    const uint64_t start = monotonic_ns();
    for (unsigned idle = 0;;) {
        const bool late = monotonic_ns() - start > timeout_ns_;  // first: after a suspension, check once more
        if (host_.help()) {
            idle = 0;
        } else if (++idle < 1000) {
            cpu_relax();
        } else {  // another thread runs it, and may need this CPU
            const timespec pause{0, std::min<long>(20'000L * (idle / 1000), 1'000'000L)};
            nanosleep(&pause, nullptr);
            idle += 999;
        }
        const auto status = static_cast<uint32_t>(host_.read_register(SIDRA_REG_ADMIN_STATUS, 4));
        if (status == ~0u && static_cast<uint32_t>(host_.read_register(SIDRA_REG_ID, 4)) != SIDRA_ID_MAGIC)
            return -ENODEV;
        if (status >> 16 != tag_ && (status & SIDRA_ADMIN_BUSY)) return -EBUSY;  // an earlier command still runs
        if (status >> 16 == tag_ && !(status & SIDRA_ADMIN_BUSY))
            return static_cast<int>(status & SIDRA_ADMIN_RESULT_MASK);
        if (late) return -ETIMEDOUT;
    }
}

}  // namespace sidra::embedded
