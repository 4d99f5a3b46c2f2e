// SPDX-License-Identifier: MIT
// What a call of a model does with memory, and how long a chip takes for it, found by the rules and the cost model of
// the chip.
#ifndef SIDRA_OBJDUMP_ANALYSIS_H
#define SIDRA_OBJDUMP_ANALYSIS_H

#include <cstdint>
#include <string>
#include <vector>

#include "model_generated.h"
#include "placement.h"

namespace sidra::objdump {

// Bytes of the memory Work, from the first to behind the last one that a call reads or writes.
struct Access {
    uint64_t begin, end;
    bool write;
};

struct CallAnalysis {
    std::string problem;  // why libsidra or the chip would refuse the call; empty: nothing was found
    std::vector<Access> accesses;
    // At the nominal clock, in picoseconds: the products of a layer on crossbars, everything that the compute engine
    // does, and the packet itself.
    uint64_t product_ps = 0, compute_ps = 0, packet_ps = 0;
    uint64_t energy_pj = 0;
    bool timed = false;  // the above is known

    uint64_t total_ps() const { return product_ps + compute_ps + packet_ps; }
};

// All calls of a variant.
std::vector<CallAnalysis> analyse(const format::Model& model, const format::Variant& variant,
                                  const Placement& placement);

}  // namespace sidra::objdump

#endif
