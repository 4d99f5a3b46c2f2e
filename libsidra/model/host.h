// SPDX-License-Identifier: MIT
// Functions that the host computes in the middle of a compiled model, because the chip cannot. docs/sidra-format.md
// describes each one. For libsidra, which runs them, and for the compiler, which runs them on constants.
#ifndef SIDRA_MODEL_HOST_H
#define SIDRA_MODEL_HOST_H

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "model_generated.h"

namespace sidra::format {

// A dense, row-major array.
struct HostArray {
    Type type;
    std::vector<uint64_t> shape;
};

struct HostCall {
    std::vector<HostArray> inputs;
    HostArray output;
    std::vector<int64_t> parameters;
};

struct HostFunction {
    std::string_view name;
    // What is wrong with a call, to be read behind its name; "": nothing. No other call may be run.
    std::string (*check)(const HostCall& call);
    // Computes the output, which overlaps with no input. Returns what is wrong with the values of the inputs, or "".
    std::string (*run)(const HostCall& call, std::span<const std::byte* const> inputs, std::byte* output);
};

// Null: there is none with this name.
const HostFunction* find_host_function(std::string_view name);

// Bytes of an array of a call that was checked.
uint64_t bytes_of(const HostArray& array);

// As the manifest has it.
HostCall host_call(const Host& host);

}  // namespace sidra::format

#endif
