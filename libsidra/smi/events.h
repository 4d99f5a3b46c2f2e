// SPDX-License-Identifier: MIT
// Events of chips: differences between readings, and what the kernel reports.
#ifndef SIDRA_SMI_EVENTS_H
#define SIDRA_SMI_EVENTS_H

#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "sidra/smi.h"
#include "uevent.h"

namespace sidra::smi {

// What a chip was like at the latest reading.
struct Seen {
    std::string uuid, status, link;
    std::map<std::string, uint64_t> numbers;           // values of fields
    std::map<std::string, sidra_smi_status> findings;  // severity by check
    bool reset_without_cause = false;                  // not reported yet: the next reading does
};

class Events {
   public:
    // `live`: also listen to the kernel of this machine.
    explicit Events(bool live);
    void wait(uint64_t timeout_ns) const;
    // Compares all chips with what they were like; appends what the kernel reported since. Replaces the earlier events.
    sidra_smi_status take(sidra_smi& session);

    const std::vector<sidra_smi_event>& all() const { return events_; }

   private:
    void add(sidra_smi_chip& chip, const char* type, sidra_smi_status severity, std::string text,
             const char* check = nullptr, uint64_t count = 0);
    void report(sidra_smi_chip& chip, Seen& seen, const Uevent& event);
    void compare(sidra_smi_chip& chip, Seen& before, Seen now);
    void add_reset(sidra_smi_chip& chip, const std::string& why);
    void compare_resets(sidra_smi_chip& chip, const Seen& before, Seen& now);
    sidra_smi_status compare_health(sidra_smi_chip& chip, const Seen& before, Seen& now);

    std::unique_ptr<Uevents> kernel_;
    std::map<const sidra_smi_chip*, Seen> seen_;
    std::vector<sidra_smi_event> events_;
    std::deque<std::string> texts_;  // that the events point to
    bool first_ = true;
};

}  // namespace sidra::smi

#endif
