// SPDX-License-Identifier: MIT
// The kernel answers with an errno; a person wants to know what it was about.
#ifndef SIDRA_KERNEL_REASON_H
#define SIDRA_KERNEL_REASON_H

#include <string>

namespace sidra::kernel {

// Why a request of sidra_accel.h failed with `error` (negative); "" if errno says all there is to say.
std::string reason_of(unsigned long request, int error, const void* argument);

// Why a node could not be opened: who owns it, who may, what to do.
std::string reason_of_open(const std::string& node, int error);

}  // namespace sidra::kernel

#endif
