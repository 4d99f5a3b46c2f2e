// SPDX-License-Identifier: MIT
// A failure that ends the program: a message for standard error and the exit status.
#ifndef SIDRA_SMI_FAILURE_H
#define SIDRA_SMI_FAILURE_H

#include <sidra/smi.h>

#include <stdexcept>
#include <string>

namespace sidra::smi_tool {

class Failure : public std::runtime_error {
   public:
    Failure(sidra_smi_status status, const std::string& sentence) : std::runtime_error(sentence), status_(status) {}
    sidra_smi_status status() const { return status_; }

   private:
    sidra_smi_status status_;
};

}  // namespace sidra::smi_tool

#endif
