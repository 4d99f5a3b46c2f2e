// SPDX-License-Identifier: MIT
// Runs of a compiled model with samples, on an embedded chip of their own.
#ifndef SIDRA_COMPILER_SAMPLES_H
#define SIDRA_COMPILER_SAMPLES_H

#include <cstdint>
#include <functional>
#include <sidra/sidra.hpp>
#include <span>
#include <stdexcept>
#include <string>
#include <vector>

namespace sidra::compiler {

// Values of one input: those of one run after another, in the input's type and shape.
struct Samples {
    std::string input;  // empty: the only one
    uint32_t type = 0;  // enum sidra_type
    std::span<const std::byte> data;
};

// What is wrong with samples or with a run.
struct SamplesError : std::runtime_error {
    using runtime_error::runtime_error;
};

using Progress = std::function<void(size_t done, size_t runs)>;

// What runs took by the chip's cost model.
struct Runs {
    size_t count = 0;
    double seconds = 0, joules = 0;  // of all of them
};

// What one run of each variant takes by the cost model, on an embedded chip of level fast for each stage: by variant,
// and then by stage. The first variant gets the first samples, if there are any, and others zeros. Throws SamplesError.
std::vector<std::vector<Cost>> run_each_variant(const std::string& file, const std::vector<Samples>& samples);

// Runs variant 0 of a file with all whole sets of samples, up to `most`, and calls `look` after each: the outputs are
// in the model's memory. Throws SamplesError.
Runs run_samples(const std::string& file, const std::vector<Samples>& samples, sidra_level level, size_t most,
                 const Progress& progress, const std::function<void(const Model&)>& look);

}  // namespace sidra::compiler

#endif
