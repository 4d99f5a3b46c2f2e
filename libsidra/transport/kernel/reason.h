// SPDX-License-Identifier: MIT
// Explains an errno of the kernel in words.
#ifndef SIDRA_KERNEL_REASON_H
#define SIDRA_KERNEL_REASON_H

#include <string>

#include "sidra_accel.h"

namespace sidra::kernel {

// The reason why a request of sidra_accel.h failed with `error` (negative); "" if errno is sufficient.
std::string reason_of(unsigned long request, int error, const void* argument);

// Whether the driver may be able to tell which argument was the reason.
bool may_name_an_argument(int error);

// The same in terms of the argument that the driver says it refused; "" if it says none, or one of another request.
std::string reason_of_refusal(unsigned long request, int error, const sidra_query_refusal& refusal);

// The reason why a node could not be opened: its owner, its permissions, and what to do.
std::string reason_of_open(const std::string& node, int error);

}  // namespace sidra::kernel

#endif
