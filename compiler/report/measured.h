// SPDX-License-Identifier: MIT
// What runs with samples have measured, for reports.
#ifndef SIDRA_COMPILER_MEASURED_H
#define SIDRA_COMPILER_MEASURED_H

#include <cmath>
#include <cstdint>
#include <string>

namespace sidra::compiler {

// Of the powers; infinity: there is no noise.
inline double in_decibels(double signal, double noise) {
    return noise == 0 ? INFINITY : 10 * std::log10(signal / noise);
}

// Of all layers that share one matrix.
struct LayerAccuracy {
    std::string matrix;  // its name
    int bits = 8;        // of the inputs; the most, if the layers differ
    // Signal-to-noise ratio of the results at a level, in decibels, compared with inputs and weights of 16 bits without
    // errors of analog hardware; infinity: they are the same.
    double fast = 0, accurate = 0;
    uint64_t inputs = 0, clipped = 0;  // values that came in, and those of them outside the range that codes stand for
};

// Of an optimisation.
struct Effect {
    std::string what;
    double seconds = 0, joules = 0;  // of a run, by the chip's cost model
    uint64_t weights = 0;            // on crossbars
    double fast = 0, accurate = 0;   // of the outputs, as in LayerAccuracy
};

}  // namespace sidra::compiler

#endif
