// SPDX-License-Identifier: MIT
// Draws test digits with the answers of the chip.
#ifndef SIDRA_EXAMPLES_DIGITS_PICTURE_H
#define SIDRA_EXAMPLES_DIGITS_PICTURE_H

#include <cstdint>
#include <span>
#include <string>

#include "digits_model.h"

namespace sidra::digits {

// Returns SVG: headline, subtitles, the first digits, then those with wrong answers or with answers that differ from
// float.
std::string draw_answers(const Model& model, std::span<const int32_t> chip, std::span<const int32_t> cpu_float,
                         const std::string& headline, std::span<const std::string> subtitles);

}  // namespace sidra::digits

#endif
