// SPDX-License-Identifier: MIT
// The CDI file of this machine's cards: the devices for a container that requests `sidra/card=0`. Container Device
// Interface, specification 0.6.0.
#ifndef SIDRA_SMI_CDI_DOCUMENT_H
#define SIDRA_SMI_CDI_DOCUMENT_H

#include <string>
#include <vector>

#include "common/json.h"

namespace sidra::smi_tool {

inline constexpr const char* kCdiKind = "sidra/card";

struct CdiCard {
    std::string node;  // /dev/sidra0
    std::string uuid;  // "": unknown
    bool operator==(const CdiCard&) const = default;
};

// Each card has a device named by the number of its node and one named by its UUID; `all` contains all cards. A UUID
// that is not a valid device name, or that two cards share, gets no device; `left_out` returns the nodes of such cards.
// Throws std::invalid_argument for an invalid node name.
tools::Json cdi_document(const std::vector<CdiCard>& cards, std::vector<std::string>* left_out);

}  // namespace sidra::smi_tool

#endif
