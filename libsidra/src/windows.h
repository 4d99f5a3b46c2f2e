// SPDX-License-Identifier: MIT
// Windows of images: from those of the user (sidra_windows) to the pattern of a packet.
#ifndef SIDRA_WINDOWS_H
#define SIDRA_WINDOWS_H

#include "context.h"
#include "sidra_cmd.h"

namespace sidra {

// Fills in a pattern, except for codes and their zero, and checks that the images lie inside their buffer.
sidra_status make_pattern(const char* call, const sidra_context* context, const sidra_windows& windows,
                          sidra_pattern* pattern);

}  // namespace sidra

#endif
