// SPDX-License-Identifier: MIT
// Problems that an operator has acknowledged.
#ifndef SIDRA_SMI_ACKNOWLEDGEMENT_H
#define SIDRA_SMI_ACKNOWLEDGEMENT_H

#include <cstdint>
#include <string>
#include <vector>

#include "sidra/smi.h"

namespace sidra::smi {

// Covers a problem of one check of one chip while it is no worse than it was then. Times are seconds since the epoch.
struct Acknowledgement {
    std::string uuid, check;
    sidra_smi_status severity = SIDRA_SMI_WARNING;
    double measure = 0;    // what the check measured
    uint64_t time_s = 0;   // when it was acknowledged
    uint64_t until_s = 0;  // 0: until it changes
    std::string by, note;

    bool covers(sidra_smi_status now, double measured, uint64_t at_s) const {
        return now <= severity && measured <= measure && (until_s == 0 || at_s < until_s);
    }
    bool operator==(const Acknowledgement&) const = default;
};

// The content of a file of acknowledgements. A damaged file has none, and `error` says what is wrong with it.
std::vector<Acknowledgement> parse_acknowledgements(const std::string& text, std::string& error);
std::string acknowledgements_text(const std::vector<Acknowledgement>& all);

}  // namespace sidra::smi

#endif
