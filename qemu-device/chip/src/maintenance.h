// SPDX-License-Identifier: MIT
// Executes the orders of the management core's sequencer: verification and refresh of crossbars, calibration of ADCs,
// and the policy of programming.
#ifndef SIDRA_CHIP_MAINTENANCE_H
#define SIDRA_CHIP_MAINTENANCE_H

#include "adcs.h"
#include "array.h"
#include "chip_clock.h"
#include "counters.h"
#include "unit.h"

namespace sidra::chip {

// On the thread that runs the management core.
class Maintenance {
   public:
    Maintenance(Array& array, Adcs& adcs, const ChipClock& clock, Counters& counters)
        : array_(array), adcs_(adcs), clock_(clock), counters_(counters) {}

    management::Sequencer::Outcome run(const management::Sequencer::Order& order);
    // Returns false if there is no memory for it.
    bool follow(const management::Policy& policy);

   private:
    management::Sequencer::Outcome look_at_cells(const management::Sequencer::Order& order);
    management::Sequencer::Outcome calibrate(const management::Sequencer::Order& order);

    Array& array_;
    Adcs& adcs_;
    const ChipClock& clock_;
    Counters& counters_;
};

}  // namespace sidra::chip

#endif
