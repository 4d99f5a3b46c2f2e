// SPDX-License-Identifier: MIT
// From a file with a network to a .sidra file: front end, passes and emission in their order.
#ifndef SIDRA_COMPILER_COMPILE_H
#define SIDRA_COMPILER_COMPILE_H

#include "calibrate.h"

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

#include "placement/chip_map.h"

namespace sidra::compiler {

struct CompileError : std::runtime_error {
    using runtime_error::runtime_error;
};
// The network can be compiled, but not so that it meets the target.
struct TargetMissed : CompileError {
    using CompileError::CompileError;
};

// Levels of optimisation: 0 does what the chip needs, 1 keeps the network's arithmetic, 2 replaces it where that is
// faster and the same but for rounding.
inline constexpr int kOptimizationMax = 2;

// How many of some samples a network should get right.
struct Target {
    double accuracy = 0;  // a share
    std::vector<Samples> samples;
    std::span<const int64_t> labels;  // of all runs, one after another
};

// As struct sidra_compile_options; an empty string: none.
struct Options {
    std::map<std::string, std::vector<int64_t>> dimensions;
    std::map<std::string, std::string> values;
    std::string pipeline, dump, reproducer;
    std::function<void(const std::string&)> report;
    std::string report_file;       // .json: as JSON, otherwise as HTML
    bool equalise = true;          // layers, at level 2
    int copies = 1;                // of each layer, whose results are averaged
    bool copies_by_layer = false;  // as many in all, with samples: first for the layers that need them most
    uint32_t chips = 1;            // stages of the file, each for a chip; 0: as few as hold the matrices
    double tmr = 0;                // the share of each layer's columns that are on crossbars three times
    bool predistort = false;
    bool adc_ranges = false;  // with samples: fixed, in the file
    Calibration calibration;  // without samples: none
    std::optional<Target> target;
    std::string chip_map;  // the file with the map of a chip; empty: libsidra places the matrices
    uint32_t bad_cells = kBadCells;
    // The cache of compiled files: what all of them may take, in bytes. nullopt: none is used.
    std::optional<uint64_t> cache_limit;
    // Gets a sentence about what people may want to know: what the cache did, what runs on the host, what a target
    // needs.
    std::function<void(const std::string&)> note = [](const std::string&) {};
    int optimization = kOptimizationMax;
};

inline constexpr uint64_t kCacheLimit = uint64_t{4} << 30;

// Throws CompileError, and with a target TargetMissed.
void compile(const std::string& input, const std::string& output, const Options& options);

}  // namespace sidra::compiler

#endif
