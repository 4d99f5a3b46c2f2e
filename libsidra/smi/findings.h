// SPDX-License-Identifier: MIT
// A list of findings, with the texts that they point to.
#ifndef SIDRA_SMI_FINDINGS_H
#define SIDRA_SMI_FINDINGS_H

#include <memory>
#include <string>
#include <vector>

#include "sidra/smi.h"

namespace sidra::smi {

class Findings {
   public:
    // `measure`: what was measured; an acknowledgement covers no larger one.
    void add(sidra_smi_status severity, const char* check, std::string text, std::string advice = "",
             double measure = 0);
    // Changes the verdict of a finding.
    void amend(size_t number, sidra_smi_status severity, std::string text);
    void acknowledge(size_t number, std::string text);
    const sidra_smi_finding& at(size_t number) const { return findings_[number]; }
    double measure(size_t number) const { return more_[number].measure; }
    bool acknowledged(size_t number) const { return more_[number].acknowledged; }
    const sidra_smi_finding* data() const { return findings_.data(); }
    uint32_t count() const { return static_cast<uint32_t>(findings_.size()); }
    sidra_smi_status worst() const;
    void clear();

   private:
    struct More {
        double measure;
        bool acknowledged;
    };
    const char* keep(std::string text);

    std::vector<sidra_smi_finding> findings_;
    std::vector<More> more_;  // of each finding
    std::vector<std::unique_ptr<std::string>> texts_;
};

}  // namespace sidra::smi

#endif
