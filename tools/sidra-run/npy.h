// SPDX-License-Identifier: MIT
// Files of NumPy (.npy, versions 1.0 and 2.0) with one array in C order.
#ifndef SIDRA_RUN_NPY_H
#define SIDRA_RUN_NPY_H

#include <span>
#include <stdexcept>
#include <string>

#include "array.h"

namespace sidra::run {

// The file is none, or has something that no model takes; the text has no name of the file.
class NpyError : public std::runtime_error {
    using std::runtime_error::runtime_error;
};

Array parse_npy(std::span<const uint8_t> file);
// bf16 is written as NumPy's package ml_dtypes does: as two bytes of no type.
std::string npy_file(const Array& array);

}  // namespace sidra::run

#endif
