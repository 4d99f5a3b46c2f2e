// SPDX-License-Identifier: MIT
#include "charts.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "sidra-objdump/svg.h"

namespace sidra::compiler {
namespace {

using objdump::Anchor;
using objdump::Svg;

constexpr double kLeft = 300, kWidth = 720, kRight = 170, kTop = 84, kGap = 6, kBar = 14, kSmall = 11;
constexpr std::array kColours = {"#d4762c", "#4a8fd8", "#8a8f98"};

double length(const Chart& chart, const Bar& bar) {
    double sum = 0, most = 0;
    for (const double part : bar.parts) {
        const double shown = std::isfinite(part) ? std::max(part, 0.0) : 0;
        sum += shown, most = std::max(most, shown);
    }
    return chart.stacked ? sum : most;
}

// The longest ones, in their order.
std::vector<Bar> longest(const Chart& chart, std::span<const Bar> bars) {
    std::vector<size_t> order(bars.size());
    for (size_t i = 0; i < order.size(); i++) order[i] = i;
    std::ranges::stable_sort(order,
                             [&](size_t a, size_t b) { return length(chart, bars[a]) > length(chart, bars[b]); });
    order.resize(std::min(order.size(), kBarsMax));
    std::ranges::sort(order);
    std::vector<Bar> shown;
    for (const size_t i : order) shown.push_back(bars[i]);
    return shown;
}

}  // namespace

std::string bar_chart(const Chart& chart, std::span<const Bar> bars) {
    if (bars.empty()) return {};
    const std::vector<Bar> shown = longest(chart, bars);
    double most = 0;
    for (const Bar& bar : shown) most = std::max(most, length(chart, bar));
    if (most <= 0) most = 1;
    const double lines = chart.stacked ? 1 : static_cast<double>(chart.parts.size());
    const double step = lines * kBar + kGap, bottom = kTop + step * static_cast<double>(shown.size());
    const auto wide = [&](double value) { return std::isfinite(value) ? kWidth * std::max(value, 0.0) / most : 0; };

    std::string title = chart.title;
    if (shown.size() < bars.size()) title += fmt::format(" (the {} largest of {})", shown.size(), bars.size());
    Svg svg(title);
    svg.text(16, 28, title, R"(class="ink" font-weight="bold")", Anchor::kStart, Svg::kTitleSize);
    double at = kLeft;
    for (size_t i = 0; i < chart.parts.size(); i++) {
        svg.rect(at, 44, 12, 12, fmt::format(R"(fill="{}")", kColours.at(i)));
        svg.text(at + 18, 54, chart.parts[i]);
        at += 18 + objdump::width_of(chart.parts[i], Svg::kSize) + 16;
    }
    for (const double tick : objdump::ticks(most, 8, false)) {
        svg.line(kLeft + wide(tick), kTop - 6, kLeft + wide(tick), bottom, R"(class="grid")");
        svg.text(kLeft + wide(tick), bottom + 18, fmt::format("{:g}", tick), R"(class="soft")", Anchor::kMiddle);
    }
    svg.text(kLeft + kWidth / 2, bottom + 38, chart.unit, R"(class="soft")", Anchor::kMiddle);
    double y = kTop;
    for (const Bar& bar : shown) {
        svg.text(kLeft - 8, y + step / 2 + 1, objdump::fitting(bar.name, kSmall, kLeft - 24), R"(class="ink")",
                 Anchor::kEnd, kSmall);
        double x = kLeft, end = kLeft;
        for (size_t i = 0; i < bar.parts.size(); i++) {
            const double top = chart.stacked ? y : y + static_cast<double>(i) * kBar;
            if (!chart.stacked) x = kLeft;
            if (wide(bar.parts[i]) > 0)
                svg.rect(x, top, wide(bar.parts[i]), kBar, fmt::format(R"(fill="{}")", kColours.at(i)),
                         fmt::format("{}\n{}: {:.4g} {}", bar.name, chart.parts[i], bar.parts[i], chart.unit));
            x += wide(bar.parts[i]), end = std::max(end, x);
        }
        svg.text(end + 6, y + step / 2 + 1, bar.label, R"(class="soft")", Anchor::kStart, kSmall);
        y += step;
    }
    svg.line(kLeft, kTop - 6, kLeft, bottom, R"(class="line")");
    return svg.file(kLeft + kWidth + kRight, bottom + 54);
}

}  // namespace sidra::compiler
