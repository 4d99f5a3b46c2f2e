// SPDX-License-Identifier: MIT
#include "findings.h"

#include <algorithm>

namespace sidra::smi {

void Findings::add(sidra_smi_status severity, const char* check, std::string text, std::string advice) {
    const auto keep = [this](std::string kept) {
        return texts_.emplace_back(std::make_unique<std::string>(std::move(kept)))->c_str();
    };
    const char* const kept = keep(std::move(text));
    findings_.push_back({severity, check, kept, advice.empty() ? nullptr : keep(std::move(advice))});
}

sidra_smi_status Findings::worst() const {
    sidra_smi_status worst = SIDRA_SMI_OK;
    for (const sidra_smi_finding& finding : findings_) worst = std::max(worst, finding.severity);
    return worst;
}

void Findings::clear() {
    findings_.clear();
    texts_.clear();
}

}  // namespace sidra::smi
