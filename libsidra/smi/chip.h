// SPDX-License-Identifier: MIT
// A chip of a session.
#ifndef SIDRA_SMI_CHIP_H
#define SIDRA_SMI_CHIP_H

#include <memory>
#include <string>
#include <vector>

#include "card.h"
#include "file.h"
#include "findings.h"
#include "model.h"
#include "sample.h"
#include "sidra/smi.h"

namespace sidra::smi {

constexpr uint64_t kStaleNs = 5'000'000'000;  // a running process publishes every second

}  // namespace sidra::smi

struct sidra_smi_chip {
    sidra_smi* session = nullptr;
    uint32_t index = 0;
    sidra_smi_kind kind = SIDRA_SMI_CARD;
    std::string key;   // the same chip has the same one at the next refresh
    std::string name;  // sidra0, the BDF of a card without a driver, PID-N
    bool gone = false;
    bool hung = false;  // the latest reading has not completed
    std::shared_ptr<sidra::smi::Card> card;
    std::shared_ptr<sidra::smi::Model> model;
    sidra::smi::CardReader reader;
    sidra::smi::Aside asking;  // requests that require an answer from the chip

    sidra::smi::Sample now;
    // Rates are computed from these: counters as they were when they last changed, and before that.
    sidra::smi::Maybe<sidra_telemetry> later, earlier;
    uint64_t later_ns = 0;  // when `later` was first seen
    std::vector<sidra_smi_client> clients_before;
    uint64_t clients_before_ns = 0;
    sidra::smi::Maybe<uint64_t> heartbeat_moved_ns;  // time of the last change; absent while unknown

    std::vector<sidra_smi_crossbar> crossbars;
    uint64_t crossbars_ns = 0;  // when they were read; 0: never
    sidra::smi::Findings findings;
    std::string log;
    mutable std::string features;  // names of the features, as returned last

    // The data is too old to describe the present state: the kernel does not answer for the card, or the model's
    // process has not published for longer than a running process ever waits.
    bool stale() const {
        return !gone && now.read_ns != 0 &&
               (hung || (kind == SIDRA_SMI_MODEL && sidra::smi::now_ns() - now.data_ns > sidra::smi::kStaleNs));
    }
};

namespace sidra::smi {

// Takes over the result of a reading.
void take(sidra_smi_chip& chip, Sample sample);

}  // namespace sidra::smi

#endif
