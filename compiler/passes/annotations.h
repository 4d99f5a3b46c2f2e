// SPDX-License-Identifier: MIT
// What passes say of a layer, or of its weights, to those behind them, in attributes that a layer may have but does not
// need.
#ifndef SIDRA_COMPILER_ANNOTATIONS_H
#define SIDRA_COMPILER_ANNOTATIONS_H

#include <llvm/ADT/StringRef.h>

namespace sidra::compiler {

// #xnn.values: what rounding took away from the weights, as many numbers of 8 bits in units of their steps / 254, so
// that a half of a step is 127. From xnn-weights, for the calibration.
inline constexpr llvm::StringRef kRest = "rest";
inline constexpr float kRestUnits = 254;
// f32: how much too large each column of the result is on average with codes for weights and inputs. From the
// calibration, for xnn-quantise.
inline constexpr llvm::StringRef kError = "error";
// i32: of how many copies the layer becomes the mean. From the calibration, for xnn-average.
inline constexpr llvm::StringRef kCopies = "copies";
// string, of xbar.weights: the hash of codes (u8) in the store, vectors of as many as there are inputs, of which ADCs
// learn their ranges. From the calibration, for emission.
inline constexpr llvm::StringRef kAdcInputs = "xbar.adc_inputs";

}  // namespace sidra::compiler

#endif
