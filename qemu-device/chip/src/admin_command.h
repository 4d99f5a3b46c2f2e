// SPDX-License-Identifier: MIT
// An admin command as software has written it.
#ifndef SIDRA_CHIP_ADMIN_COMMAND_H
#define SIDRA_CHIP_ADMIN_COMMAND_H

#include <array>
#include <cstdint>

#include "address.h"
#include "sidra_hw.h"

namespace sidra::chip {

struct AdminCommand {
    uint32_t word = 0;  // op | tag << 16
    std::array<uint64_t, 3> arg{};

    uint32_t op() const { return word & 0xff; }
    // The tag, where ADMIN_STATUS has it.
    uint32_t tag() const { return word & 0xffff0000u; }

    bool is_quiesce() const { return op() >= SIDRA_ADMIN_QUIESCE_RANGE && op() <= SIDRA_ADMIN_QUIESCE_DEVICE; }
    bool is_resume() const {
        return op() == SIDRA_ADMIN_RESUME_QUEUE || op() == SIDRA_ADMIN_RESUME_CONTEXT ||
               op() == SIDRA_ADMIN_RESUME_DEVICE;
    }
    // What it is about: memory and crossbars, or else queues: one, those of a context, or all.
    bool of_memory() const { return op() >= SIDRA_ADMIN_TEST_DMA; }
    bool of_queue() const {
        return op() == SIDRA_ADMIN_QUIESCE_QUEUE || op() == SIDRA_ADMIN_RESUME_QUEUE || op() == SIDRA_ADMIN_RESET_QUEUE;
    }
    bool of_device() const { return op() == SIDRA_ADMIN_QUIESCE_DEVICE || op() == SIDRA_ADMIN_RESUME_DEVICE; }
    uint32_t context() const { return static_cast<uint32_t>(arg[0]); }
    uint32_t queue() const { return static_cast<uint32_t>(arg[1]); }

    // Checks the op and the objects that it names. Commands on memory check their other arguments when they run.
    uint8_t check() const {
        const bool known = (op() >= SIDRA_ADMIN_QUIESCE_RANGE && op() <= SIDRA_ADMIN_RESET_CONTEXT) ||
                           (op() >= SIDRA_ADMIN_TEST_DMA && op() < SIDRA_ADMIN_OP_COUNT);
        if ((word & 0xff00) || !known) return SIDRA_ADMIN_BAD_OP;
        if (of_memory() || of_device()) return SIDRA_ADMIN_OK;
        if (arg[0] >= SIDRA_CONTEXTS_MAX) return SIDRA_ADMIN_BAD_ARG;
        if (of_queue() && arg[1] >= SIDRA_QUEUES_PER_CONTEXT_MAX) return SIDRA_ADMIN_BAD_ARG;
        if (op() == SIDRA_ADMIN_QUIESCE_WEIGHTS && arg[1] >= SIDRA_WEIGHTS_MAX) return SIDRA_ADMIN_BAD_ARG;
        if (op() == SIDRA_ADMIN_QUIESCE_RANGE && !Range(Space::kDevice, arg[1], arg[2]).valid())
            return SIDRA_ADMIN_BAD_ARG;
        return SIDRA_ADMIN_OK;
    }
};

}  // namespace sidra::chip

#endif
