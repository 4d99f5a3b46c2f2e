// SPDX-License-Identifier: MIT
// Clients of a card: the processes that its driver lists, and the /proc entries of the files that they have opened.
#ifndef SIDRA_SMI_CLIENTS_H
#define SIDRA_SMI_CLIENTS_H

#include "card.h"
#include "sample.h"

namespace sidra::smi {

// The content of one file of /proc/PID/fdinfo.
struct Fdinfo {
    std::string pdev;
    sidra_smi_client client;
};
// ENODEV: the file does not belong to a SIDRA card.
Maybe<Fdinfo> to_fdinfo(std::string_view text);
sidra_smi_client no_client(int32_t pid);

void read_clients(const Card& card, Sample& sample);

}  // namespace sidra::smi

#endif
