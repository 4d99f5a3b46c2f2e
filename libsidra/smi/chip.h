// SPDX-License-Identifier: MIT
// A chip of a session.
#ifndef SIDRA_SMI_CHIP_H
#define SIDRA_SMI_CHIP_H

#include <memory>
#include <string>
#include <vector>

#include "card.h"
#include "findings.h"
#include "model.h"
#include "sample.h"
#include "sidra/smi.h"

struct sidra_smi_chip {
    sidra_smi* session = nullptr;
    uint32_t index = 0;
    sidra_smi_kind kind = SIDRA_SMI_CARD;
    std::string key;   // the same chip has the same one at the next refresh
    std::string name;  // sidra0, the BDF of a card without a driver, PID-N
    bool gone = false;
    bool hung = false;  // the latest reading is not done
    std::shared_ptr<sidra::smi::Card> card;
    std::shared_ptr<sidra::smi::Model> model;
    sidra::smi::CardReader reader;
    sidra::smi::Aside asking;  // what needs an answer of the chip

    sidra::smi::Sample now;
    // What rates are taken from: counters as they were when they last moved on, and before that.
    sidra::smi::Maybe<sidra::smi::Telemetry> later, earlier;
    uint64_t later_ns = 0;  // when `later` was first seen
    std::vector<sidra_smi_client> clients_before;
    uint64_t clients_before_ns = 0;
    sidra::smi::Maybe<uint64_t> heartbeat_moved_ns;  // since when it is what it is; absent while nobody knows

    std::vector<sidra_smi_crossbar> crossbars;
    uint64_t crossbars_ns = 0;  // when they were read; 0: never
    sidra::smi::Findings findings;
    std::string log;
};

namespace sidra::smi {

// Takes what a reading has brought.
void take(sidra_smi_chip& chip, Sample sample);

}  // namespace sidra::smi

#endif
