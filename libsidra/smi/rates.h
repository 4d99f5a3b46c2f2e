// SPDX-License-Identifier: MIT
// Rates from the counters of the telemetry.
#ifndef SIDRA_SMI_RATES_H
#define SIDRA_SMI_RATES_H

#include "chip.h"

namespace sidra::smi {

// A chip whose telemetry does not change for this time is idle.
constexpr uint64_t kIdleNs = 1'000'000'000;

// Growth per nanosecond of the chip's clock, times `scale`. EAGAIN: no earlier sample to compare with.
template <typename Get>
Maybe<double> rate(const sidra_smi_chip& chip, double scale, const Get& get) {
    using Rate = Maybe<double>;
    if (!chip.earlier || !chip.later) return Rate::none(EAGAIN);
    const sidra_telemetry &from = chip.earlier.value, &to = chip.later.value;
    if (chip.now.read_ns - chip.later_ns > kIdleNs) return 0.0;
    if (to.clock_ns <= from.clock_ns || get(to) < get(from)) return Rate::none(EAGAIN);
    return scale * static_cast<double>(get(to) - get(from)) / static_cast<double>(to.clock_ns - from.clock_ns);
}

}  // namespace sidra::smi

#endif
