// SPDX-License-Identifier: MIT
// Who uses chips, as a table.
#ifndef SIDRA_SMI_PROCESSES_H
#define SIDRA_SMI_PROCESSES_H

#include <sidra/smi.h>

#include <string>
#include <vector>

namespace sidra::smi_tool {

// Lines of at most 80 columns, a head first; what cannot be known is said.
std::string processes_text(const std::vector<sidra_smi_chip*>& chips);

}  // namespace sidra::smi_tool

#endif
