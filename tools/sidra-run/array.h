// SPDX-License-Identifier: MIT
// Dense arrays in the host's memory, of the types that a chip computes with.
#ifndef SIDRA_RUN_ARRAY_H
#define SIDRA_RUN_ARRAY_H

#include <cstdint>
#include <string>
#include <vector>

#include "sidra/sidra.h"

namespace sidra::run {

using Shape = std::vector<uint32_t>;  // empty: one element

struct Array {
    sidra_type type = SIDRA_U8;
    Shape shape;
    std::vector<uint8_t> bytes;  // row-major
};

uint64_t elements_of(const Shape& shape);

std::string type_text(sidra_type type);      // "f32"
std::string shape_text(const Shape& shape);  // "1 x 64"; "scalar"

// An element as a number. s64 beyond 2^53 is rounded.
double element(const Array& array, size_t index);

// A line about the content: smallest, largest and mean element, the first ones, and the largest one's index if the
// array is a vector of several floats, such as the scores of classes.
std::string summary(const Array& array);

}  // namespace sidra::run

#endif
