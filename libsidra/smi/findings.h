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
    void add(sidra_smi_status severity, const char* check, std::string text, std::string advice = "");
    const sidra_smi_finding* data() const { return findings_.data(); }
    uint32_t count() const { return static_cast<uint32_t>(findings_.size()); }
    sidra_smi_status worst() const;
    void clear();

   private:
    std::vector<sidra_smi_finding> findings_;
    std::vector<std::unique_ptr<std::string>> texts_;
};

}  // namespace sidra::smi

#endif
