// SPDX-License-Identifier: MIT
// Finds the ranges of the layers' inputs: compiles the network with those inputs as further outputs, and runs it on an
// embedded chip with samples.
#ifndef SIDRA_COMPILER_CALIBRATE_H
#define SIDRA_COMPILER_CALIBRATE_H

#include <mlir/Pass/Pass.h>

#include <memory>
#include <vector>

#include "observer.h"
#include "passes.h"
#include "samples.h"

namespace sidra::compiler {

struct LayerAccuracy;  // accuracy.h

// A signal-to-noise ratio in decibels that no layer has with inputs of 8 bits.
inline constexpr double kAllLayers = 200;

struct Calibration {
    std::vector<Samples> samples;
    Method method = Method::kMse;
    // Layers whose results would have a worse signal-to-noise ratio with one range of inputs of 8 bits, in decibels,
    // get a range for each row, or 16 bits.
    double enough = 20;
    // What codes do to the mean of a layer's results is subtracted from them.
    bool bias_correction = true;
    // Above 1: layers get copies, so that all of them together take so many times as many crossbars. The layers in
    // which a crossbar removes the most noise of the outputs get them first.
    int copies = 1;
    // Inputs and weights of 16 bits for all layers, which others are compared with.
    bool exact = false;
    // Gets how exact each layer is, for which the network runs with samples again. Not with `exact`.
    std::vector<LayerAccuracy>* accuracies = nullptr;
    CallsOptions calls;  // of the file that is being made
    Progress progress;
};

// A pass that runs behind xnn-weights (with `rest`), and gives each layer its range and bits. All functions are the
// same network in other sizes; the samples have the size of the first one. `optimization`: of the network that runs.
std::unique_ptr<mlir::Pass> make_calibrate_pass(Calibration calibration, int optimization);

}  // namespace sidra::compiler

#endif
