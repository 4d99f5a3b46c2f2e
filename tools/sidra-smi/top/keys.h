// SPDX-License-Identifier: MIT
// Effects of keys on the user's choices. The same table is the help, and the line at the bottom of the screen.
#ifndef SIDRA_SMI_TOP_KEYS_H
#define SIDRA_SMI_TOP_KEYS_H

#include <span>

#include "view.h"

namespace sidra::top {

// Keys that are not characters.
enum : int { kKeyUp = 0x110000, kKeyDown, kKeyLeft, kKeyRight, kKeyPageUp, kKeyPageDown };

struct Help {
    const char* keys;
    const char* what;   // in the line at the bottom, which shows as many as fit
    const char* about;  // in the help
};
std::span<const Help> keys();

enum class Result : unsigned char { kNothing, kDraw, kQuit };
// `chips`, `processes`: their numbers.
Result press(Choice& choice, int key, size_t chips, size_t processes);

}  // namespace sidra::top

#endif
