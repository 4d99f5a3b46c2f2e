// SPDX-License-Identifier: MIT
#include "svg.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "names.h"

namespace sidra::objdump {
namespace {

constexpr std::string_view kStyle = R"(<style>
  text { font-family: system-ui, -apple-system, "Segoe UI", "DejaVu Sans", sans-serif }
  .page { fill: #ffffff }
  .ink { fill: #1b1f24 }
  .soft { fill: #57606a }
  .line { stroke: #57606a; stroke-width: 1 }
  .grid { stroke: #d8dee4; stroke-width: 1 }
  .peak { stroke: #cf222e; stroke-width: 1.5; stroke-dasharray: 5 4 }
  .alarm { fill: #cf222e }
  .free { fill: #e7ebef }
  .cluster { fill: none; stroke: #afb8c1; stroke-width: 1 }
  @media (prefers-color-scheme: dark) {
    .page { fill: #15181c }
    .ink { fill: #e6edf3 }
    .soft { fill: #9da7b1 }
    .line { stroke: #9da7b1 }
    .grid { stroke: #2b3138 }
    .peak { stroke: #ff7b72 }
    .alarm { fill: #ff7b72 }
    .free { fill: #2a3037 }
    .cluster { stroke: #4a535d }
  }
</style>
)";

}  // namespace

std::string escaped(std::string_view text) {
    std::string out;
    for (const char c : text) {
        switch (c) {
            case '&':
                out += "&amp;";
                break;
            case '<':
                out += "&lt;";
                break;
            case '>':
                out += "&gt;";
                break;
            case '"':
                out += "&quot;";
                break;
            default:
                out += c;
        }
    }
    return out;
}

std::string colour(size_t number) {
    // Hues by the golden angle, in three lightnesses that both kinds of page show.
    constexpr double kGolden = 137.50776405003785, kSaturation = 0.62;
    constexpr double kLightness[] = {0.50, 0.64, 0.40};
    const double hue = std::fmod(210 + kGolden * static_cast<double>(number), 360) / 60;
    const double lightness = kLightness[number % 3];
    const double chroma = (1 - std::abs(2 * lightness - 1)) * kSaturation;
    const auto channel = [&](double shift) {
        const double at = std::fmod(hue + shift, 6);
        const double share = std::clamp(std::min(at, 4 - at), 0.0, 1.0);
        return static_cast<unsigned>(std::lround(255 * (lightness - chroma / 2 + chroma * share)));
    };
    return fmt::format("#{:02x}{:02x}{:02x}", channel(2), channel(0), channel(4));
}

std::vector<double> ticks(double end, unsigned count, bool binary) {
    const double rough = std::max(end / count, 1e-9);
    double step = std::exp2(std::ceil(std::log2(rough)));
    if (!binary) {
        const double power = std::pow(10, std::floor(std::log10(rough)));
        step = power * (rough <= power ? 1 : rough <= 2 * power ? 2 : rough <= 5 * power ? 5 : 10);
    }
    std::vector<double> all;
    for (unsigned i = 0; i * step <= end * 1.0001; ++i) all.push_back(i * step);
    return all;
}

double width_of(std::string_view text, double size) { return static_cast<double>(characters_of(text)) * size * 0.64; }

std::string fitting(const std::string& text, double size, double width) {
    constexpr size_t kFewest = 6;
    const auto most = static_cast<size_t>(std::max(width, 0.0) / (size * 0.64));
    if (characters_of(text) <= most) return text;
    return most < kFewest ? "" : shortened(text, most);
}

void Svg::rect(double x, double y, double width, double height, std::string_view paint, const std::string& hint) {
    body_ +=
        fmt::format(R"(<rect x="{:.2f}" y="{:.2f}" width="{:.2f}" height="{:.2f}" {})", x, y, width, height, paint);
    body_ += hint.empty() ? std::string("/>\n") : fmt::format("><title>{}</title></rect>\n", escaped(hint));
}

void Svg::line(double x1, double y1, double x2, double y2, std::string_view paint) {
    body_ += fmt::format(R"(<line x1="{:.2f}" y1="{:.2f}" x2="{:.2f}" y2="{:.2f}" {}/>)"
                         "\n",
                         x1, y1, x2, y2, paint);
}

void Svg::text(double x, double y, const std::string& text, std::string_view paint, Anchor anchor, double size) {
    constexpr std::string_view kAnchors[] = {"start", "middle", "end"};
    body_ += fmt::format(R"(<text x="{:.2f}" y="{:.2f}" font-size="{}" text-anchor="{}" {}>{}</text>)"
                         "\n",
                         x, y, size, kAnchors[static_cast<size_t>(anchor)], paint, escaped(text));
}

std::string Svg::file(double width, double height) const {
    width = std::ceil(width), height = std::ceil(height);
    return fmt::format(
               R"(<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {0:.0f} {1:.0f}" width="{0:.0f}" height="{1:.0f}" role="img">
<title>{2}</title>
)",
               width, height, escaped(title_)) +
           std::string(kStyle) +
           fmt::format(R"(<rect class="page" width="{:.0f}" height="{:.0f}"/>)"
                       "\n",
                       width, height) +
           body_ + "</svg>\n";
}

}  // namespace sidra::objdump
