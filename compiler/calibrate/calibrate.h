// SPDX-License-Identifier: MIT
// Finds the ranges of the layers' inputs: compiles the network with those inputs as further outputs, and runs it on an
// embedded chip with samples.
#ifndef SIDRA_COMPILER_CALIBRATE_H
#define SIDRA_COMPILER_CALIBRATE_H

#include <mlir/Pass/Pass.h>

#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "observer.h"

namespace sidra::compiler {

// Values of one input: those of one run after another, in the input's type and shape.
struct Samples {
    std::string input;  // empty: the only one
    uint32_t type = 0;  // enum sidra_type
    std::span<const std::byte> data;
};

struct Calibration {
    std::vector<Samples> samples;
    Method method = Method::kMse;
    // Layers whose results would have a worse signal-to-noise ratio with inputs of 8 bits, in decibels, get 16.
    double enough = 20;
    std::function<void(size_t done, size_t runs)> progress;
};

// A pass that runs behind xnn-weights, and gives each layer its range and bits. All functions are the same network in
// other sizes; the samples have the size of the first one. `optimization`: of the network that runs.
std::unique_ptr<mlir::Pass> make_calibrate_pass(Calibration calibration, int optimization);

}  // namespace sidra::compiler

#endif
