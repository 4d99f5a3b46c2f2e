// SPDX-License-Identifier: MIT
// Bar charts: a line for each row, in the style of the pictures of sidra-objdump.
#ifndef SIDRA_COMPILER_CHARTS_H
#define SIDRA_COMPILER_CHARTS_H

#include <span>
#include <string>
#include <vector>

namespace sidra::compiler {

struct Bar {
    std::string name;
    std::vector<double> parts;  // as many as the chart has; beside each other
    std::string label;          // behind the bar
};

struct Chart {
    std::string title, unit;
    std::vector<std::string> parts;  // what the parts of each bar are
    bool stacked = true;             // the parts follow each other; otherwise each has a line of its own
};

// Of at most kBarsMax bars: those that are longest, in their order. "" without bars.
std::string bar_chart(const Chart& chart, std::span<const Bar> bars);

inline constexpr size_t kBarsMax = 120;

}  // namespace sidra::compiler

#endif
