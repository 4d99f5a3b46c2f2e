// SPDX-License-Identifier: MIT
// Programming of a whole weights object is one packet in the ring: a CALL of {TIMESTAMP, PROGRAM, TIMESTAMP}, which
// measures its device time and energy. An update with new factors is a CALL of {PROGRAM, COPY}. Users see one PROGRAM.
#ifndef SIDRA_PROGRAM_H
#define SIDRA_PROGRAM_H

#include <cstdint>

#include "sidra_cmd.h"

namespace sidra {

inline constexpr uint32_t kProgramCookie = 0x474f5250;  // marks the library's CALLs; users' CALLs have cookie 0
inline constexpr uint32_t kProgramPackets = 3;

inline bool is_program_call(const sidra_cmd& packet) {
    return packet.hdr.opcode == SIDRA_CMD_CALL && packet.hdr.cookie == kProgramCookie;
}

}  // namespace sidra

#endif
