// SPDX-License-Identifier: MIT
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <numeric>
#include <stdexcept>

#include "common/units.h"
#include "names.h"
#include "pictures.h"
#include "svg.h"

namespace sidra::objdump {
namespace {

constexpr double kLeft = 130, kTop = 96, kWidth = 1060, kRow = 76, kGap = 14, kRight = 30;
constexpr double kBottom = kTop + 2 * kRow + kGap;

const char* step_colour(format::Step step) {
    constexpr std::array kColours = {"#888888", "#d4762c", "#4a8fd8", "#2da44e", "#a371d8", "#cf5d9a", "#8a8f98"};
    static_assert(kColours.size() == static_cast<size_t>(format::Step::MAX) + 1);
    return kColours.at(static_cast<size_t>(step));
}

std::string share_text(uint64_t part, uint64_t whole) {
    return fmt::format("{:.1f} %", 100 * static_cast<double>(part) / static_cast<double>(std::max<uint64_t>(whole, 1)));
}

// The longest calls, as a table.
void draw_longest(const format::Variant& variant, std::span<const CallAnalysis> analyses, uint64_t whole, double y,
                  Svg* svg) {
    constexpr double kStep = 18;
    constexpr size_t kShown = 10;
    std::vector<uint32_t> order(analyses.size());
    std::iota(order.begin(), order.end(), 0);
    std::ranges::stable_sort(order,
                             [&](uint32_t a, uint32_t b) { return analyses[a].total_ps() > analyses[b].total_ps(); });
    order.resize(std::min(order.size(), kShown));
    svg->text(kLeft, y, "Longest calls", R"(class="ink" font-weight="bold")");
    for (const uint32_t i : order) {
        y += kStep;
        const format::Call& call = *variant.calls()->Get(i);
        const uint64_t time = analyses[i].total_ps();
        svg->rect(kLeft, y - 10, 12, 12, fmt::format(R"(fill="{}")", step_colour(call.step_type())));
        svg->text(kLeft + 60, y, fmt::format("{}", i), R"(class="soft")", Anchor::kEnd);
        svg->text(kLeft + 160, y, time_text(time), R"(class="ink")", Anchor::kEnd);
        svg->text(kLeft + 230, y, share_text(time, whole), R"(class="soft")", Anchor::kEnd);
        svg->text(kLeft + 250, y,
                  fitting(fmt::format("{} {}", step_name(call.step_type()), printable(call.name())), Svg::kSize,
                          kWidth - 250));
    }
}

}  // namespace

std::string timeline_picture(const format::Model& model, uint32_t number, std::span<const CallAnalysis> analyses) {
    require_runnable(analyses);
    for (const CallAnalysis& analysis : analyses)
        if (!analysis.timed)
            throw std::runtime_error("there is no timeline, because the chip has too few crossbars for the model");
    const format::Variant& variant = *model.variants()->Get(number);
    uint64_t whole = 0, energy = 0, product = 0, compute = 0;
    std::array<uint64_t, static_cast<size_t>(format::Step::MAX) + 1> by_step{};
    for (uint32_t i = 0; i < analyses.size(); ++i) {
        whole += analyses[i].total_ps(), energy += analyses[i].energy_pj;
        product += analyses[i].product_ps, compute += analyses[i].compute_ps;
        by_step.at(static_cast<size_t>(variant.calls()->Get(i)->step_type())) += analyses[i].total_ps();
    }
    const auto x = [&](uint64_t ps) {
        return kLeft + kWidth * static_cast<double>(ps) / static_cast<double>(std::max<uint64_t>(whole, 1));
    };

    const std::string title =
        fmt::format("One run of {}, variant {}: {} and {} on the chip", printable(model.name()), number,
                    time_text(whole), tools::scaled(static_cast<double>(energy), "J", -4));
    Svg svg(title);
    svg.text(kLeft, 28, fitting(title, Svg::kTitleSize, kWidth), R"(class="ink" font-weight="bold")", Anchor::kStart,
             Svg::kTitleSize);
    svg.text(kLeft, 50,
             "By the chip's cost model at the nominal clock. Calls run one after another; a layer takes the "
             "time of its product and that of its programs.",
             R"(class="soft")");
    double at = kLeft;
    for (size_t i = 0; i < by_step.size(); ++i) {
        if (by_step[i] == 0) continue;
        const auto step = static_cast<format::Step>(i);
        const std::string label =
            fmt::format("{} {} ({})", step_name(step), time_text(by_step[i]), share_text(by_step[i], whole));
        svg.rect(at, 64, 12, 12, fmt::format(R"(fill="{}")", step_colour(step)));
        svg.text(at + 18, 74, label);
        at += 18 + width_of(label, Svg::kSize) + 16;
    }
    // The unit of the axis: that of the whole time.
    const double power = whole >= 1'000'000'000'000 ? 1e12
                         : whole >= 1'000'000'000   ? 1e9
                         : whole >= 1'000'000       ? 1e6
                                                    : 1e3;
    const char* const unit = power == 1e12 ? "s" : power == 1e9 ? "ms" : power == 1e6 ? "us" : "ns";
    for (const double tick : ticks(static_cast<double>(whole) / power, 10, false)) {
        const double at_tick = x(static_cast<uint64_t>(tick * power));
        svg.line(at_tick, kTop - 6, at_tick, kBottom + 5, R"(class="grid")");
        svg.text(at_tick, kBottom + 20, fmt::format("{:g}", tick), R"(class="soft")", Anchor::kMiddle);
    }
    svg.text(kLeft + kWidth / 2, kBottom + 42, fmt::format("time on the chip ({})", unit), R"(class="soft")",
             Anchor::kMiddle);
    constexpr const char* kRows[] = {"crossbars", "compute engine"};
    const uint64_t busy[] = {product, compute};
    for (size_t row = 0; row < 2; ++row) {
        const double y = kTop + static_cast<double>(row) * (kRow + kGap);
        svg.text(kLeft - 12, y + kRow / 2, kRows[row], R"(class="ink")", Anchor::kEnd);
        svg.text(kLeft - 12, y + kRow / 2 + 16, share_text(busy[row], whole) + " busy", R"(class="soft")",
                 Anchor::kEnd);
        svg.line(kLeft, y + kRow, kLeft + kWidth, y + kRow, R"(class="line")");
    }
    uint64_t now = 0;
    for (uint32_t i = 0; i < analyses.size(); ++i) {
        const CallAnalysis& analysis = analyses[i];
        const format::Call& call = *variant.calls()->Get(i);
        const std::string name = printable(call.name());
        const std::string hint =
            fmt::format("call {} {}: {}\nfrom {} on, {}: crossbars {}, compute engine {}, packet {}", i,
                        step_name(call.step_type()), name, time_text(now), time_text(analysis.total_ps()),
                        time_text(analysis.product_ps), time_text(analysis.compute_ps), time_text(analysis.packet_ps));
        uint64_t begin = now + analysis.packet_ps;
        const auto box = [&](size_t row, uint64_t ps) {
            if (ps == 0) return;
            constexpr double kSmall = 10;
            const double y = kTop + static_cast<double>(row) * (kRow + kGap),
                         width = std::max(x(begin + ps) - x(begin), 0.25);
            svg.rect(x(begin), y, width, kRow,
                     fmt::format(R"(fill="{}" stroke="#000000" stroke-opacity="0.35" stroke-width="{}")",
                                 step_colour(call.step_type()), width > 3 ? 0.7 : 0),
                     hint);
            if (const std::string label = fitting(name, kSmall, width - 8); !label.empty())
                svg.text(x(begin) + 4, y + 14, label, "fill=\"#000000\" pointer-events=\"none\"", Anchor::kStart,
                         kSmall);
            begin += ps;
        };
        box(0, analysis.product_ps);
        box(1, analysis.compute_ps);
        now += analysis.total_ps();
    }
    draw_longest(variant, analyses, whole, kBottom + 76, &svg);
    return svg.file(kLeft + kWidth + kRight,
                    kBottom + 96 + 18 * static_cast<double>(std::min<size_t>(analyses.size(), 10)));
}

}  // namespace sidra::objdump
