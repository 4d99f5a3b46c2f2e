// SPDX-License-Identifier: MIT
// What earlier readings of a chip found, as far as the health policy looks back.
#ifndef SIDRA_SMI_HISTORY_H
#define SIDRA_SMI_HISTORY_H

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "sidra/smi.h"

namespace sidra::smi {

// Times are seconds since the epoch.
struct Growth {
    uint64_t time_s;
    uint64_t count;
};

// Of one check.
class Past {
   public:
    // Takes the verdict of a reading. Returns the worst severity that has lasted for `hold_s`.
    sidra_smi_status lasting(sidra_smi_status now, uint64_t time_s, uint64_t hold_s);
    // For how long the problem has lasted.
    uint64_t lasted_s(uint64_t time_s) const;
    // Takes a counter. Returns by how much it grew within `window_s`. At first sight, all that was counted is new.
    uint64_t grown(uint64_t count, uint64_t time_s, uint64_t window_s);

    bool empty() const { return warning_since == 0 && growths.empty(); }

    uint64_t warning_since = 0, critical_since = 0;  // since when it is at least as bad; 0: it is not
    std::vector<Growth> growths;                     // of the counter, oldest first
};

struct History {
    uint64_t seen_s = 0;  // time of the latest reading
    std::map<std::string, Past> checks;
};
using Histories = std::map<std::string, History>;  // by UUID

// The file that keeps histories between runs of a program. A file that cannot be read is an empty one.
Histories read_histories(const std::string& path);
std::string histories_text(const Histories& histories);

}  // namespace sidra::smi

#endif
