// SPDX-License-Identifier: MIT
#include "findings.h"

#include <algorithm>

namespace sidra::smi {

const char* Findings::keep(std::string text) {
    return texts_.emplace_back(std::make_unique<std::string>(std::move(text)))->c_str();
}

void Findings::add(sidra_smi_status severity, const char* check, std::string text, std::string advice, double measure) {
    const char* const kept = keep(std::move(text));
    findings_.push_back({severity, check, kept, advice.empty() ? nullptr : keep(std::move(advice))});
    more_.push_back({measure, false});
}

void Findings::amend(size_t number, sidra_smi_status severity, std::string text) {
    sidra_smi_finding& finding = findings_[number];
    finding.severity = severity;
    finding.text = keep(std::move(text));
    if (severity == SIDRA_SMI_OK) finding.advice = nullptr;
}

void Findings::acknowledge(size_t number, std::string text) {
    amend(number, SIDRA_SMI_OK, std::move(text));
    more_[number].acknowledged = true;
}

sidra_smi_status Findings::worst() const {
    sidra_smi_status worst = SIDRA_SMI_OK;
    for (const sidra_smi_finding& finding : findings_) worst = std::max(worst, finding.severity);
    return worst;
}

void Findings::clear() {
    findings_.clear();
    more_.clear();
    texts_.clear();
}

}  // namespace sidra::smi
