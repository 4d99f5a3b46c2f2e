// SPDX-License-Identifier: MIT
// Collects the chip's telemetry from its parts.
#ifndef SIDRA_CHIP_TELEMETRY_H
#define SIDRA_CHIP_TELEMETRY_H

#include "adcs.h"
#include "array.h"
#include "busy.h"
#include "chip_clock.h"
#include "counters.h"
#include "dma.h"
#include "loader.h"
#include "management.h"
#include "objects.h"
#include "sidra_hw.h"

namespace sidra::chip {

// Any thread.
class Telemetry {
   public:
    struct Parts {
        const ChipClock& clock;
        const Bus& bus;
        const Array& array;
        const Adcs& adcs;
        const Objects& objects;
        const Loader& loader;
        const Counters& counters;
        const Busy& busy;
        const Management& management;
    };
    explicit Telemetry(const Parts& parts) : parts_(parts) {}

    // All but `status` and `generation`, which are the registers'.
    sidra_telemetry collect() const;

   private:
    const Parts parts_;
};

}  // namespace sidra::chip

#endif
