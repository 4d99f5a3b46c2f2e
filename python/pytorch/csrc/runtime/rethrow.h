// SPDX-License-Identifier: MIT
#ifndef SIDRA_PYTORCH_RETHROW_H
#define SIDRA_PYTORCH_RETHROW_H

#include <string>

namespace sidra::pytorch {

// While an exception of PyTorch's is handled: throws it again with a text in front of its own. An error of a device
// stays what it is, also for Python.
[[noreturn]] void rethrow_behind(const std::string& text);

}  // namespace sidra::pytorch

#endif
