// SPDX-License-Identifier: MIT
#include "history.h"

#include <algorithm>
#include <cmath>

namespace sidra::top {

void History::push(std::optional<double> value) {
    if (value && !std::isfinite(*value)) value.reset();
    ring_[next_] = value;
    next_ = (next_ + 1) % kCapacity;
    size_ = std::min(size_ + 1, kCapacity);
}

std::optional<double> History::at(size_t age) const {
    if (age >= size_) return std::nullopt;
    return ring_[(next_ + kCapacity - 1 - age) % kCapacity];
}

double History::largest(size_t count) const {
    double found = 0;
    for (size_t age = 0; age < std::min(count, size_); ++age) found = std::max(found, at(age).value_or(0));
    return found;
}

}  // namespace sidra::top
