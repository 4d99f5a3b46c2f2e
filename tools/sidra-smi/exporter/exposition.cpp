// SPDX-License-Identifier: MIT
#include "exposition.h"

#include <fmt/format.h>

#include <cmath>

namespace sidra::exporter {
namespace {

std::string escaped(std::string_view text, bool quotes) {
    std::string out;
    for (const char c : text) {
        if (c == '\\') out += "\\\\";
        else if (c == '\n') out += "\\n";
        else if (c == '"' && quotes) out += "\\\"";
        else out += c >= 0x20 && c < 0x7f ? c : '?';
    }
    return out;
}

}  // namespace

void Exposition::family(const Family& family) {
    name_ = family.name;
    pending_ =
        fmt::format("# HELP {} {}\n# TYPE {} {}\n", family.name, escaped(family.help, false), family.name, family.type);
}

void Exposition::line(const Labels& labels, std::string_view value) {
    text_ += pending_;
    pending_.clear();
    text_ += name_;
    std::string inside;
    for (const auto& [name, of] : labels)
        if (!of.empty()) inside += fmt::format("{}{}=\"{}\"", inside.empty() ? "" : ",", name, escaped(of, true));
    if (!inside.empty()) text_ += fmt::format("{{{}}}", inside);
    text_ += fmt::format(" {}\n", value);
}

void Exposition::sample(const Labels& labels, uint64_t value) { line(labels, fmt::format("{}", value)); }

void Exposition::sample(const Labels& labels, double value) {
    if (std::isnan(value)) return line(labels, "NaN");
    if (std::isinf(value)) return line(labels, value > 0 ? "+Inf" : "-Inf");
    line(labels, fmt::format("{}", value));
}

}  // namespace sidra::exporter
