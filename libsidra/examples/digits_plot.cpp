// SPDX-License-Identifier: MIT
#include "digits_plot.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <string_view>

namespace sidra::digits {
namespace {

constexpr double kMargin = 32, kWidth = 280, kHeight = 220, kGap = 56, kTop = 130, kLeft = 40;
constexpr std::string_view kInk = "#1f2733", kFaint = "#66707f", kGrid = "#d5dae1", kLine = "#1a5fb4";
constexpr double kTicks[] = {1, 2, 5, 10, 20, 25};  // distance of grid lines in percent
constexpr double kLinesMost = 6;

}  // namespace

std::string draw_plot(const std::string& headline, const std::string& subtitle, double reference,
                      std::span<const Panel> panels) {
    double least = reference;
    for (const Panel& panel : panels)
        for (const PlotPoint& point : panel.points) least = std::min(least, point.percent);
    const double tick = *std::find_if(std::begin(kTicks), std::end(kTicks) - 1,
                                      [&](double each) { return (100 - least) / each <= kLinesMost - 1; });
    const double bottom = std::max(std::floor(least / tick) * tick, 0.0);
    const auto y_of = [&](double percent) { return kTop + kHeight * (100 - percent) / (100 - bottom); };

    std::string svg;
    const auto out = std::back_inserter(svg);
    const auto text = [&](double x, double y, int size, std::string_view colour, std::string_view anchor,
                          std::string_view words) {
        fmt::format_to(out, R"(<text x="{:.1f}" y="{:.1f}" font-size="{}" fill="{}" text-anchor="{}">{}</text>)", x, y,
                       size, colour, anchor, words);
        svg += '\n';
    };
    const double width = 2 * kMargin + kLeft + static_cast<double>(panels.size()) * (kWidth + kGap) - kGap,
                 height = kTop + kHeight + 60;
    fmt::format_to(out,
                   R"(<svg xmlns="http://www.w3.org/2000/svg" width="{0:.0f}" height="{1:.0f}" )"
                   R"(viewBox="0 0 {0:.0f} {1:.0f}" font-family="DejaVu Sans, Verdana, Arial, sans-serif">)"
                   "\n<rect width=\"{0:.0f}\" height=\"{1:.0f}\" fill=\"#f6f7f9\"/>\n",
                   width, height);
    text(kMargin, kMargin + 26, 26, kInk, "start", headline);
    text(kMargin, kMargin + 51, 14, kFaint, "start", subtitle);
    for (size_t i = 0; i < panels.size(); i++) {
        const Panel& panel = panels[i];
        const double left = kMargin + kLeft + static_cast<double>(i) * (kWidth + kGap), right = left + kWidth;
        text(left, kTop - 14, 14, kInk, "start", panel.title);
        for (double percent = bottom; percent <= 100; percent += tick) {
            fmt::format_to(out, R"(<path d="M{:.1f} {:.1f}H{:.1f}" stroke="{}"/>)", left, y_of(percent), right, kGrid);
            text(left - 6, y_of(percent) + 4, 12, kFaint, "end", fmt::format("{:.0f} %", percent));
        }
        fmt::format_to(out, R"(<path d="M{:.1f} {:.1f}H{:.1f}" stroke="{}" stroke-dasharray="5 4"/>)", left,
                       y_of(reference), right, kInk);
        std::string path;
        const double step = kWidth / static_cast<double>(panel.points.size());
        for (size_t k = 0; k < panel.points.size(); k++) {
            const PlotPoint& point = panel.points[k];
            const double x = left + step * (static_cast<double>(k) + 0.5), y = y_of(point.percent);
            fmt::format_to(std::back_inserter(path), "{}{:.1f} {:.1f}", k == 0 ? "M" : "L", x, y);
            fmt::format_to(out, R"(<circle cx="{:.1f}" cy="{:.1f}" r="4" fill="{}"/>)", x, y, kLine);
            text(x, kTop + kHeight + 20, 12, kFaint, "middle", point.x);
        }
        fmt::format_to(out, "<path d=\"{}\" fill=\"none\" stroke=\"{}\" stroke-width=\"2\"/>\n", path, kLine);
    }
    svg += "</svg>\n";
    return svg;
}

}  // namespace sidra::digits
