// SPDX-License-Identifier: MIT
// A picture of test digits and what the chip took them for.
#ifndef SIDRA_EXAMPLES_DIGITS_PICTURE_H
#define SIDRA_EXAMPLES_DIGITS_PICTURE_H

#include <cstdint>
#include <span>
#include <string>

#include "digits_model.h"

namespace sidra::digits {

// SVG: the headline and the lines below it, the first digits, then those that the chip got wrong or answers differently
// from float.
std::string draw_answers(const Model& model, std::span<const int32_t> chip, std::span<const int32_t> cpu_float,
                         const std::string& headline, std::span<const std::string> subtitles);

}  // namespace sidra::digits

#endif
