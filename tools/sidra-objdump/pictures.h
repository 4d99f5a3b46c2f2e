// SPDX-License-Identifier: MIT
// Pictures of a compiled model, as files of SVG.
#ifndef SIDRA_OBJDUMP_PICTURES_H
#define SIDRA_OBJDUMP_PICTURES_H

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "analysis.h"
#include "placement.h"

namespace sidra::objdump {

// What lies in a range of the memory Work from one call to another.
struct Value {
    enum class Kind { kIntermediate, kInput, kOutput };

    uint64_t begin, end;   // bytes
    uint32_t first, last;  // calls: the first one that has it, and the last one that uses it
    Kind kind = Kind::kIntermediate;
    std::string name;  // of the input, the output or the call that writes it
};

// The values of a variant in the order of their beginning. A range that a call writes after its content was read is a
// new value; before that, several calls may write parts of one.
std::vector<Value> values_of(const format::Variant& variant, std::span<const CallAnalysis> analyses);

// The call at which most bytes have a value, and how many.
struct Peak {
    uint32_t call = 0;
    uint64_t bytes = 0;
};
Peak peak_of(std::span<const Value> values, uint32_t calls);

// Each throws std::runtime_error if the model has no such picture: too many calls, a call that no chip runs, too many
// crossbars.
std::string memory_picture(const format::Model& model, uint32_t variant, std::span<const CallAnalysis> analyses);
// stage: of a model for several chips; pictures of different stages can be in one document.
std::string chip_picture(const format::Model& model, const Placement& placement, uint32_t stage = 0);
std::string timeline_picture(const format::Model& model, uint32_t variant, std::span<const CallAnalysis> analyses);

inline constexpr uint32_t kPictureCallsMax = 10'000;

// Throws std::runtime_error if the calls are too many, or one cannot be run.
void require_runnable(std::span<const CallAnalysis> analyses);

}  // namespace sidra::objdump

#endif
