// SPDX-License-Identifier: MIT
// Creates a unique identity.
#ifndef SIDRA_EMBEDDED_UUID_H
#define SIDRA_EMBEDDED_UUID_H

#include <cstdint>

namespace sidra::embedded {

void make_uuid(uint8_t (&uuid)[16]);

}  // namespace sidra::embedded

#endif
