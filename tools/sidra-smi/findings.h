// SPDX-License-Identifier: MIT
// Findings of health and doctor as text and JSON.
#ifndef SIDRA_SMI_FINDINGS_TEXT_H
#define SIDRA_SMI_FINDINGS_TEXT_H

#include <sidra/smi.h>

#include <span>
#include <string>

#include "common/json.h"

namespace sidra::smi_tool {

std::string findings_text(std::span<const sidra_smi_finding> findings, const char* indent);
tools::Json::Object finding_json(const sidra_smi_finding& finding);
tools::Json findings_json(std::span<const sidra_smi_finding> findings);
const char* severity_name(sidra_smi_status severity);

}  // namespace sidra::smi_tool

#endif
