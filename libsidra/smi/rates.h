// SPDX-License-Identifier: MIT
// What counters of the telemetry have grown by.
#ifndef SIDRA_SMI_RATES_H
#define SIDRA_SMI_RATES_H

#include "chip.h"

namespace sidra::smi {

// A chip that says nothing new for so long does nothing.
constexpr uint64_t kIdleNs = 1'000'000'000;

// In each nanosecond of the chip's clock, `scale` times. EAGAIN: there is nothing to compare with.
template <typename Get>
Maybe<double> rate(const sidra_smi_chip& chip, double scale, const Get& get) {
    using Rate = Maybe<double>;
    if (!chip.earlier || !chip.later) return Rate::none(EAGAIN);
    const sidra_telemetry &from = chip.earlier.value.page, &to = chip.later.value.page;
    if (chip.now.read_ns - chip.later_ns > kIdleNs) return 0.0;
    if (to.clock_ns <= from.clock_ns || get(to) < get(from)) return Rate::none(EAGAIN);
    return scale * static_cast<double>(get(to) - get(from)) / static_cast<double>(to.clock_ns - from.clock_ns);
}

}  // namespace sidra::smi

#endif
