// SPDX-License-Identifier: MIT
// The health policy: thresholds, hold times and windows of the health checks, from a file (sidra-health.conf(5)).
#ifndef SIDRA_SMI_POLICY_H
#define SIDRA_SMI_POLICY_H

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>

namespace sidra::smi {

// The part of the policy for one check. An absent threshold is that of the check or of the chip.
struct Rule {
    std::optional<double> warning, critical;
    uint64_t hold_s = 0;    // a problem is reported when it has lasted for this time
    uint64_t window_s = 0;  // errors are counted within this time; 0: since power-on
};

// A check, and what the policy may say about it.
struct Check {
    const char* name;
    const char* unit;  // of its thresholds; nullptr: it has none
    bool window;
};
std::span<const Check> checks();
bool known_check(std::string_view name);

class Policy {
   public:
    const Rule& rule(std::string_view check) const;
    // Whether a verdict depends on earlier readings.
    bool looks_back() const;

   private:
    friend Policy parse_policy(std::string_view text, const std::string& name);
    std::map<std::string, Rule, std::less<>> rules_;
};

// A text that is no policy: "NAME:LINE: what is wrong".
class BadPolicy : public std::runtime_error {
    using std::runtime_error::runtime_error;
};
Policy parse_policy(std::string_view text, const std::string& name);

}  // namespace sidra::smi

#endif
