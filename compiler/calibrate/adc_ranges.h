// SPDX-License-Identifier: MIT
// Vectors of which the ADCs of each matrix's crossbars learn their range: inputs that the layers have with samples.
#ifndef SIDRA_COMPILER_ADC_RANGES_H
#define SIDRA_COMPILER_ADC_RANGES_H

#include <mlir/Pass/Pass.h>

#include <cstdint>
#include <memory>
#include <random>
#include <span>
#include <vector>

#include "calibrate.h"

namespace sidra::compiler {

// Some of many vectors, of which each one has the same chance.
class VectorSample {
   public:
    static constexpr size_t kMost = 128;

    explicit VectorSample(size_t elements) : elements_(elements) {}
    // One or more of them, one behind another.
    void add(std::span<const uint8_t> vectors);
    // Those that were chosen, one behind another: all, or kMost.
    std::span<const uint8_t> vectors() const { return vectors_; }

   private:
    const size_t elements_;
    size_t seen_ = 0;
    std::vector<uint8_t> vectors_;
    std::mt19937 random_;
};

// A pass that runs behind xbar-schedule, and gives each matrix its vectors.
std::unique_ptr<mlir::Pass> make_adc_ranges_pass(const Calibration& calibration);

}  // namespace sidra::compiler

#endif
