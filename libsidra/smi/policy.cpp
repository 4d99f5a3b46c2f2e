// SPDX-License-Identifier: MIT
#include "policy.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "text.h"
#include "toml.h"

namespace sidra::smi {
namespace {

constexpr Check kChecks[] = {
    {"presence", nullptr, false}, {"state", nullptr, false}, {"firmware", "s", false},  {"temperature", "C", false},
    {"power", nullptr, false},    {"cells", "%", false},     {"endurance", "%", false}, {"converters", "days", false},
    {"link", nullptr, false},     {"dma", "errors", true},
};
constexpr uint64_t kLongest = uint64_t{30} * 24 * 3600;  // seconds

std::string names() {
    std::string all;
    for (const Check& check : kChecks) all += fmt::format("{}{}", all.empty() ? "" : ", ", check.name);
    return all;
}

// Reads one file, and knows where a mistake is.
class Reader {
   public:
    explicit Reader(const std::string& name) : name_(name) {}

    [[noreturn]] void fail(const toml::source_region& where, std::string_view what) const {
        throw BadPolicy(fmt::format("{}:{}: {}", name_, where.begin.line, what));
    }

    Rule rule(const Check& check, const toml::table& table) const {
        Rule rule;
        for (const auto& [key, value] : table) {
            const std::string_view name = key.str();
            const auto& where = key.source();
            if (check.unit != nullptr && name == "warning") rule.warning = threshold(value, where, "warning");
            else if (check.unit != nullptr && name == "critical") rule.critical = threshold(value, where, "critical");
            else if (name == "hold") rule.hold_s = seconds(value, where, "hold");
            else if (check.window && name == "window") rule.window_s = seconds(value, where, "window");
            else
                fail(where,
                     fmt::format("the check '{}' has no '{}'; it has {}hold{}", check.name, clean(name),
                                 check.unit != nullptr ? "warning, critical, " : "", check.window ? ", window" : ""));
        }
        if (rule.warning && rule.critical && *rule.warning > *rule.critical)
            fail(table.source(), fmt::format("the warning of '{}' ({}) is above its critical ({})", check.name,
                                             *rule.warning, *rule.critical));
        return rule;
    }

   private:
    double threshold(const toml::node& value, const toml::source_region& where, const char* key) const {
        const std::optional<double> number = value.is_number() ? value.value<double>() : std::nullopt;
        if (!number || !std::isfinite(*number) || *number <= 0)
            fail(where, fmt::format("'{}' is not a number above 0", key));
        return *number;
    }

    uint64_t seconds(const toml::node& value, const toml::source_region& where, const char* key) const {
        const std::optional<int64_t> number = value.is_integer() ? value.value<int64_t>() : std::nullopt;
        if (!number || *number < 0 || static_cast<uint64_t>(*number) > kLongest)
            fail(where, fmt::format("'{}' is not a whole number of seconds from 0 to {}", key, kLongest));
        return static_cast<uint64_t>(*number);
    }

    const std::string& name_;
};

}  // namespace

std::span<const Check> checks() { return kChecks; }

bool known_check(std::string_view name) {
    return std::ranges::any_of(kChecks, [name](const Check& check) { return name == check.name; });
}

const Rule& Policy::rule(std::string_view check) const {
    static const Rule kNone;
    const auto found = rules_.find(check);
    return found == rules_.end() ? kNone : found->second;
}

bool Policy::looks_back() const {
    return std::ranges::any_of(rules_,
                               [](const auto& each) { return each.second.hold_s != 0 || each.second.window_s != 0; });
}

Policy parse_policy(std::string_view text, const std::string& name) {
    const Reader reader(name);
    const toml::parse_result parsed = toml::parse(text);
    if (!parsed) reader.fail(parsed.error().source(), clean(parsed.error().description()));
    Policy policy;
    for (const auto& [key, value] : parsed.table()) {
        const std::string_view name_of_check = key.str();
        const auto check = std::ranges::find(kChecks, name_of_check, &Check::name);
        if (check == std::end(kChecks))
            reader.fail(key.source(), fmt::format("no such check: '{}'; there are {}", clean(name_of_check), names()));
        if (!value.is_table())
            reader.fail(key.source(), fmt::format("'{0}' is not a table: begin it with a line [{0}]", check->name));
        policy.rules_[check->name] = reader.rule(*check, *value.as_table());
    }
    return policy;
}

}  // namespace sidra::smi
