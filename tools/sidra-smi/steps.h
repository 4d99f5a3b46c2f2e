// SPDX-License-Identifier: MIT
// What a diagnosis does, step by step, each with its time.
#ifndef SIDRA_SMI_STEPS_H
#define SIDRA_SMI_STEPS_H

#include <functional>
#include <string>

namespace sidra::smi_tool {

// Runs `work`, which throws std::exception if something is not as it should be, and prints how it went. False: it has
// failed.
bool step(const char* name, const std::function<std::string()>& work);

// Opens the device that SIDRA_DEVICE names by libsidra, and, if `full`, has it copy, program and multiply; results are
// compared with exact ones. False: a step has failed.
bool compute_steps(bool full);

}  // namespace sidra::smi_tool

#endif
