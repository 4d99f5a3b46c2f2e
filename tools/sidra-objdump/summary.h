// SPDX-License-Identifier: MIT
// What a compiled model is and needs, as text and as JSON (its schema is in sidra-objdump(1)).
#ifndef SIDRA_OBJDUMP_SUMMARY_H
#define SIDRA_OBJDUMP_SUMMARY_H

#include <string>

#include "common/json.h"
#include "file.h"
#include "placement.h"

namespace sidra::objdump {

std::string summary_text(const ModelFile& file, const Contents& contents, const Placement& placement);
// The members of the document's object.
tools::Json::Object summary_json(const ModelFile& file, const Contents& contents, const Placement& placement);

}  // namespace sidra::objdump

#endif
