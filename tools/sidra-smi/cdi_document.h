// SPDX-License-Identifier: MIT
// The CDI file of this machine's cards: what a container runtime gives to a container that asks for `sidra/card=0`.
// Container Device Interface, specification 0.6.0.
#ifndef SIDRA_SMI_CDI_DOCUMENT_H
#define SIDRA_SMI_CDI_DOCUMENT_H

#include <string>
#include <vector>

#include "common/json.h"

namespace sidra::smi_tool {

struct CdiCard {
    std::string node;  // /dev/sidra0
    std::string uuid;  // "": not known
};

// Every card has a device by the number of its node, one by its UUID, and all of them are in `all`. A UUID that cannot
// be the name of a device there, or that two cards have, names none; `left_out` gets the nodes of such cards. Throws
// std::invalid_argument if a node is none.
tools::Json cdi_document(const std::vector<CdiCard>& cards, std::vector<std::string>* left_out);

}  // namespace sidra::smi_tool

#endif
