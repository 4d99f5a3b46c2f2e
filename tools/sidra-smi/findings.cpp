// SPDX-License-Identifier: MIT
#include "findings.h"

#include <fmt/format.h>

namespace sidra::smi_tool {

const char* severity_name(sidra_smi_status severity) {
    return severity == SIDRA_SMI_CRITICAL ? "critical" : severity == SIDRA_SMI_WARNING ? "warning" : "ok";
}

std::string findings_text(std::span<const sidra_smi_finding> findings, const char* indent) {
    std::string out;
    for (const sidra_smi_finding& finding : findings) {
        out += fmt::format("{}{:<9} {:<12} {}\n", indent, severity_name(finding.severity), finding.check, finding.text);
        if (finding.advice != nullptr) out += fmt::format("{}{:<23}{}\n", indent, "", finding.advice);
    }
    return out;
}

tools::Json::Object finding_json(const sidra_smi_finding& finding) {
    return {{"check", finding.check},
            {"severity", severity_name(finding.severity)},
            {"text", finding.text},
            {"advice", finding.advice != nullptr ? tools::Json(finding.advice) : tools::Json()}};
}

tools::Json findings_json(std::span<const sidra_smi_finding> findings) {
    tools::Json::Array all;
    for (const sidra_smi_finding& finding : findings) all.emplace_back(finding_json(finding));
    return all;
}

}  // namespace sidra::smi_tool
