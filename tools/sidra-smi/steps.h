// SPDX-License-Identifier: MIT
// The steps of a diagnosis, each with its time and result.
#ifndef SIDRA_SMI_STEPS_H
#define SIDRA_SMI_STEPS_H

#include <functional>
#include <string>

#include "report.h"

namespace sidra::smi_tool {

class Steps {
   public:
    explicit Steps(Format format) : format_(format) {}
    // Runs `work`, which throws std::runtime_error if a check fails, and prints or stores the result. Returns false on
    // failure.
    bool run(const char* name, const std::function<std::string()>& work);
    const tools::Json::Array& json() const { return json_; }

   private:
    const Format format_;
    tools::Json::Array json_;
};

// Opens the device of SIDRA_DEVICE through libsidra and, if `full`, copies, programs and multiplies; compares the
// results with exact ones. Returns false if a step failed.
bool compute_steps(Steps& steps, bool full);

}  // namespace sidra::smi_tool

#endif
