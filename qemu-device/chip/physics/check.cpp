// SPDX-License-Identifier: MIT
#include "check.h"

#include <sstream>
#include <stdexcept>

namespace sidra::physics {

void check_range(const char* parameter, double value, double low, double high) {
    if (value >= low && value <= high) return;
    std::ostringstream text;
    text << parameter << " is " << value << ": it must be from " << low << " to " << high;
    throw std::invalid_argument(text.str());
}

}  // namespace sidra::physics
