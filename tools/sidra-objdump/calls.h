// SPDX-License-Identifier: MIT
// The calls and programs of a compiled model, as text and as JSON.
#ifndef SIDRA_OBJDUMP_CALLS_H
#define SIDRA_OBJDUMP_CALLS_H

#include <cstdint>
#include <optional>
#include <span>
#include <string>

#include "analysis.h"
#include "common/json.h"

namespace sidra::objdump {

// The calls of all variants, or of the one that is given; in JSON, the others are null.
std::string variants_text(const format::Model& model, const Placement& placement, std::optional<uint32_t> only = {});
tools::Json variants_json(const format::Model& model, const Placement& placement, std::optional<uint32_t> only = {});

// analyses: of the variant's calls.
std::string calls_text(const format::Model& model, const format::Variant& variant,
                       std::span<const CallAnalysis> analyses);
tools::Json calls_json(const format::Variant& variant, std::span<const CallAnalysis> analyses);

// The text of a program, as docs/vector-programs.md describes it.
std::string program_text(const format::Program& program);
std::string programs_text(const format::Model& model);
tools::Json programs_json(const format::Model& model);

}  // namespace sidra::objdump

#endif
