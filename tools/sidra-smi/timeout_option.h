// SPDX-License-Identifier: MIT
// --timeout, the same for every command that sends a request to a chip.
#ifndef SIDRA_SMI_TIMEOUT_OPTION_H
#define SIDRA_SMI_TIMEOUT_OPTION_H

#include <CLI/CLI.hpp>
#include <cstdint>

#include "number_option.h"

namespace sidra::smi_tool {

struct Timeout {
    double seconds;
    uint64_t ns() const { return static_cast<uint64_t>(seconds * 1e9); }
};

inline void add_timeout(CLI::App& app, Timeout& timeout) {
    app.add_option("--timeout", timeout.seconds, "timeout in seconds")
        ->check(within(0.001, 3600.0))
        ->capture_default_str();
}

}  // namespace sidra::smi_tool

#endif
