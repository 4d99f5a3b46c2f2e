// SPDX-License-Identifier: MIT
#include "uuid.h"

#include <sys/random.h>
#include <time.h>

#include <cstring>

namespace sidra::embedded {

void make_uuid(uint8_t (&uuid)[16]) {
    // Always complete for 16 bytes once the pool is ready; before that, use the time, which does not repeat.
    if (getrandom(uuid, sizeof uuid, 0) != sizeof uuid) {
        timespec now;
        clock_gettime(CLOCK_REALTIME, &now);
        std::memcpy(uuid, &now, sizeof uuid);
    }
    uuid[6] = static_cast<uint8_t>((uuid[6] & 0x0f) | 0x40);  // version 4, random
    uuid[8] = static_cast<uint8_t>((uuid[8] & 0x3f) | 0x80);
}

}  // namespace sidra::embedded
