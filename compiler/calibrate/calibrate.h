// SPDX-License-Identifier: MIT
// Finds the ranges of the layers' inputs: compiles the network with those inputs as further outputs, and runs it on an
// embedded chip with samples.
#ifndef SIDRA_COMPILER_CALIBRATE_H
#define SIDRA_COMPILER_CALIBRATE_H

#include <mlir/Pass/Pass.h>

#include <memory>
#include <vector>

#include "observer.h"
#include "samples.h"

namespace sidra::compiler {

struct Calibration {
    std::vector<Samples> samples;
    Method method = Method::kMse;
    // Layers whose results would have a worse signal-to-noise ratio with inputs of 8 bits, in decibels, get 16.
    double enough = 20;
    Progress progress;
};

// A pass that runs behind xnn-weights, and gives each layer its range and bits. All functions are the same network in
// other sizes; the samples have the size of the first one. `optimization`: of the network that runs.
std::unique_ptr<mlir::Pass> make_calibrate_pass(Calibration calibration, int optimization);

}  // namespace sidra::compiler

#endif
