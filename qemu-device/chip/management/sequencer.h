// SPDX-License-Identifier: MIT
// The sequencer checks cells of crossbars for the management core, pulses them again, trims ADCs, and holds the
// programming policy of all cells. The crossbars belong to the chip, which performs the commands.
#ifndef SIDRA_MANAGEMENT_SEQUENCER_H
#define SIDRA_MANAGEMENT_SEQUENCER_H

#include <cstdint>
#include <functional>

#include "sidra_management.h"

namespace sidra::management {

// The policy in the format of the registers.
struct Policy {
    uint32_t mode = SIDRA_MGMT_ISPP_ERROR_SIZED;
    uint32_t tries = 15;
    uint32_t tolerance_ppm = 10'000;
    uint32_t retries = 1;
    uint32_t spare = 4;
    bool operator==(const Policy&) const = default;
};
bool possible(const Policy& policy);

class Sequencer {
   public:
    struct Order {
        uint32_t command;  // SIDRA_MGMT_SEQUENCER_*
        uint32_t xbar, count, tolerance_ppm;
    };
    struct Outcome {
        uint32_t result;  // enum sidra_mgmt_result
        uint32_t cells, off, failed, pulses, worst_ppm, mean_ppm;
        uint64_t device_ps, energy_pj;
    };
    // Must be called first; without it there are no crossbars. If `follow` returns false, the policy does not change.
    void connect(uint32_t xbars, std::function<Outcome(const Order&)> work, std::function<bool(const Policy&)> follow);

    // Access its registers, at an offset from SIDRA_MGMT_SEQUENCER; false if there is none. store() also returns the
    // duration of a command.
    bool load(uint32_t offset, uint32_t* value) const;
    bool store(uint32_t offset, uint32_t value, uint64_t* took_ns);
    void clear();

    // The state for saving. A loaded state is not trusted: load() returns false without any change if it is impossible.
    struct Saved {
        Policy policy;
        uint32_t commands;
        uint32_t command, xbar, count, tolerance_ppm;
        uint32_t results[SIDRA_MGMT_SEQUENCER_RESULTS];
    };
    const Saved& save() const { return now_; }
    bool load(const Saved& saved);

   private:
    uint64_t run();
    uint32_t refuses() const;
    bool set(const Policy& policy);

    uint32_t xbars_ = 0;
    std::function<Outcome(const Order&)> work_;
    std::function<bool(const Policy&)> follow_;
    Saved now_{};
};

}  // namespace sidra::management

#endif
