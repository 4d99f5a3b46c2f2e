// SPDX-License-Identifier: MIT
// What the parts of a compiled model are called.
#ifndef SIDRA_OBJDUMP_NAMES_H
#define SIDRA_OBJDUMP_NAMES_H

#include <string>
#include <string_view>

#include "model_generated.h"

namespace sidra::objdump {

// Text of a file for terminals, JSON and XML: valid UTF-8 without control characters. What is not becomes U+FFFD.
std::string printable(std::string_view text);
inline std::string printable(const flatbuffers::String* text) { return printable(text->string_view()); }

// At most so many characters, the end replaced by "...".
std::string shortened(const std::string& text, size_t characters);
size_t characters_of(std::string_view text);

const char* type_name(format::Type type);              // "f32"
const char* encoding_name(format::Encoding encoding);  // "differential"
const char* memory_name(format::Memory memory);        // "work"
const char* step_name(format::Step step);              // "layer"
const char* pooling_name(format::Pooling pooling);     // "max"
std::string place_text(const format::Place& place);    // "work+0x1000"
std::string shape_text(const format::Tensor& tensor);  // "1 x 64"; "scalar"

// Picoseconds as "12.3 us".
std::string time_text(uint64_t ps);

}  // namespace sidra::objdump

#endif
