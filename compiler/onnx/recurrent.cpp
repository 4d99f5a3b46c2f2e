// SPDX-License-Identifier: MIT
#include "operators.h"
namespace sidra::compiler {
std::span<const Operator> recurrent_operators() { return {}; }
}  // namespace sidra::compiler
