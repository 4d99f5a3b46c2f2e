// SPDX-License-Identifier: MIT
#ifndef SIDRA_SMI_CDI_COMMAND_H
#define SIDRA_SMI_CDI_COMMAND_H

#include <string>

#include "sidra/smi.h"

namespace sidra::smi::cdi {

// sidra-smi cdi [--output FILE]: the CDI file of the cards of a session, to standard output ("") or to a file, whole or
// not at all. What has no node (chips that are embedded in processes, cards without a driver) is left out. NO_DEVICE:
// no card is left. Throws std::runtime_error if it cannot be written.
sidra_smi_status run(sidra_smi* session, const std::string& output);

}  // namespace sidra::smi::cdi

#endif
