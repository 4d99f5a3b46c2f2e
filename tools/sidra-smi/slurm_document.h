// SPDX-License-Identifier: MIT
// Lines of gres.conf, the file that tells Slurm which devices a machine has.
#ifndef SIDRA_SMI_SLURM_DOCUMENT_H
#define SIDRA_SMI_SLURM_DOCUMENT_H

#include <map>
#include <string>
#include <vector>

namespace sidra::smi_tool {

struct SlurmCard {
    std::string node;    // /dev/sidra0
    std::string uuid;    // for the comment
    std::string cpus;    // nearest CPUs, as "0-3,8"; empty: unknown
    std::string bridge;  // PCI address of its port; empty: unknown
};

// Slurm's number of the core of each CPU: cores are counted socket by socket, and the threads of a core are one.
using Cores = std::map<unsigned, unsigned>;
// From sysfs below `root`; empty if the topology is unknown.
Cores read_cores(const std::string& root);

std::string slurm_document(const std::vector<SlurmCard>& cards, const Cores& cores);

}  // namespace sidra::smi_tool

#endif
