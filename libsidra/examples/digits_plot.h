// SPDX-License-Identifier: MIT
// Line plots side by side.
#ifndef SIDRA_EXAMPLES_DIGITS_PLOT_H
#define SIDRA_EXAMPLES_DIGITS_PLOT_H

#include <span>
#include <string>
#include <vector>

namespace sidra::digits {

struct PlotPoint {
    std::string x;  // labels of the x axis; points are evenly spaced
    double percent;
};
struct Panel {
    std::string title;
    std::vector<PlotPoint> points;
};

// Returns SVG with percentages and a dashed line at `reference`.
std::string draw_plot(const std::string& headline, const std::string& subtitle, double reference,
                      std::span<const Panel> panels);

}  // namespace sidra::digits

#endif
