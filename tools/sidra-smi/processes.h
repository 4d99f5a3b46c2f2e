// SPDX-License-Identifier: MIT
// The processes that use chips, as a table.
#ifndef SIDRA_SMI_PROCESSES_H
#define SIDRA_SMI_PROCESSES_H

#include <sidra/smi.h>

#include <string>
#include <vector>

namespace sidra::smi_tool {

// A header and lines of at most 80 columns; lists chips whose processes are unknown.
std::string processes_text(const std::vector<sidra_smi_chip*>& chips);

}  // namespace sidra::smi_tool

#endif
