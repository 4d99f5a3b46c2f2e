// SPDX-License-Identifier: MIT
// The report as a page. Everything in it is escaped: names come from the network.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "charts.h"
#include "common/units.h"
#include "network_report.h"
#include "sidra-objdump/names.h"
#include "sidra-objdump/svg.h"

namespace sidra::compiler {
namespace {

using objdump::escaped;

constexpr std::string_view kStyle = R"(
  :root { color-scheme: light dark }
  body { margin: 2rem auto; padding: 0 1rem; max-width: 80rem; background: #ffffff; color: #1b1f24;
         font: 15px/1.45 system-ui, -apple-system, "Segoe UI", "DejaVu Sans", sans-serif }
  h1 { font-size: 1.6rem; margin: 0 0 0.5rem } h2 { font-size: 1.2rem; margin: 2rem 0 0.5rem }
  p { max-width: 60rem } .soft { color: #57606a }
  .wide { overflow-x: auto }
  table { border-collapse: collapse; font-variant-numeric: tabular-nums; font-size: 0.85rem }
  th, td { padding: 0.2rem 0.6rem; text-align: right; border-bottom: 1px solid #d8dee4; white-space: nowrap }
  th { position: sticky; top: 0; background: inherit } thead { background: #ffffff }
  td.name, th.name { text-align: left; max-width: 22rem; overflow: hidden; text-overflow: ellipsis }
  tfoot td { font-weight: bold }
  svg { display: block; margin: 0.5rem 0 }
  @media (prefers-color-scheme: dark) {
    body, thead { background: #15181c; color: #e6edf3 } .soft { color: #9da7b1 }
    th, td { border-color: #2b3138 }
  }
)";

std::string time_text(uint64_t ps) { return objdump::time_text(ps); }
std::string energy_text(uint64_t pj) { return tools::scaled(static_cast<double>(pj), "J", -4); }
std::string percent(double part, double whole) { return fmt::format("{:.1f} %", whole == 0 ? 0 : 100 * part / whole); }
std::string decibels(double ratio) { return std::isinf(ratio) && ratio > 0 ? "exact" : fmt::format("{:.1f} dB", ratio); }

std::string cells(const std::vector<std::string>& texts, const char* tag) {
    std::string row = "<tr>";
    for (size_t i = 0; i < texts.size(); i++)
        row += fmt::format("<{0}{1}>{2}</{0}>", tag, i == 0 ? R"( class="name")" : "", escaped(texts[i]));
    return row + "</tr>\n";
}

std::string table(const std::vector<std::string>& head, const std::vector<std::vector<std::string>>& rows,
                  const std::vector<std::string>& foot) {
    std::string text = "<div class=\"wide\"><table>\n<thead>" + cells(head, "th") + "</thead>\n<tbody>\n";
    for (const std::vector<std::string>& row : rows) text += cells(row, "td");
    text += "</tbody>\n";
    if (!foot.empty()) text += "<tfoot>" + cells(foot, "td") + "</tfoot>\n";
    return text + "</table></div>\n";
}

std::string summary(const NetworkReport& report) {
    std::vector<std::vector<std::string>> rows = {
        {"time of a run", time_text(report.time_ps)},
        {"energy of a run", energy_text(report.energy_pj)},
        {"crossbars", fmt::format("{} of {}", report.crossbars, report.chip_crossbars)},
        {"weights", fmt::format("{}", report.weights)},
        {"compiled file", fmt::format("{} bytes", report.file_bytes)},
        {"constants", fmt::format("{} bytes", report.constant_bytes)},
        {"work memory", fmt::format("{} bytes", report.work_bytes)},
        {"calls", fmt::format("{}, of which the host computes {}", report.calls, report.host_calls)},
        {"variants", fmt::format("{}; this is variant 0", report.variants)},
        {"network", report.source},
        {"compiler", report.producer},
        {"options", report.options.empty() ? "none" : report.options}};
    std::string text = "<div class=\"wide\"><table><tbody>\n";
    for (const std::vector<std::string>& row : rows)
        text += fmt::format("<tr><th class=\"name\">{}</th><td class=\"name\">{}</td></tr>\n", escaped(row[0]), escaped(row[1]));
    return text + "</tbody></table></div>\n";
}

std::string layers(const NetworkReport& report) {
    const bool measured = std::ranges::any_of(report.rows, [](const ReportRow& row) { return row.accuracy.has_value(); });
    std::vector<std::string> head = {"layer or call", "kind",   "matrix", "crossbars", "cells in use", "products",
                                     "copies",        "inputs", "time",   "share",     "energy"};
    if (measured) head.insert(head.end(), {"fast", "accurate", "clipped"});
    std::vector<std::vector<std::string>> rows;
    for (const ReportRow& row : report.rows) {
        const bool layer = row.matrices != 0;
        const auto of_layer = [&](const std::string& text) { return layer ? text : std::string(); };
        std::vector<std::string> texts = {
            row.name,
            row.kind,
            of_layer(fmt::format("{} x {}", row.k, row.n)),
            of_layer(fmt::format("{}", row.crossbars)),
            of_layer(percent(row.utilisation(), 1)),
            of_layer(fmt::format("{}", row.products)),
            of_layer(fmt::format("{}", row.matrices)),
            of_layer(fmt::format("{} bits", row.accuracy ? row.accuracy->bits : 8)),
            time_text(row.time_ps()),
            percent(static_cast<double>(row.time_ps()), static_cast<double>(report.time_ps)),
            energy_text(row.energy_pj)};
        if (measured && row.accuracy)
            texts.insert(texts.end(),
                         {decibels(row.accuracy->fast), decibels(row.accuracy->accurate),
                          percent(static_cast<double>(row.accuracy->clipped), static_cast<double>(row.accuracy->inputs))});
        else if (measured) texts.insert(texts.end(), 3, "");
        rows.push_back(std::move(texts));
    }
    std::vector<std::string> foot(head.size());
    foot[0] = "sum", foot[3] = fmt::format("{}", report.crossbars), foot[8] = time_text(report.time_ps);
    foot[9] = percent(1, 1), foot[10] = energy_text(report.energy_pj);
    return table(head, rows, foot);
}

std::string charts(const NetworkReport& report) {
    std::vector<Bar> time, energy, use, accuracy;
    for (const ReportRow& row : report.rows) {
        constexpr double kMicro = 1e-6;
        time.push_back({row.name,
                        {static_cast<double>(row.product_ps) * kMicro, static_cast<double>(row.compute_ps) * kMicro,
                         static_cast<double>(row.packet_ps) * kMicro},
                        time_text(row.time_ps())});
        energy.push_back({row.name, {static_cast<double>(row.energy_pj) * kMicro}, energy_text(row.energy_pj)});
        if (row.matrices != 0) use.push_back({row.name, {100 * row.utilisation()}, percent(row.utilisation(), 1)});
        if (row.accuracy)
            accuracy.push_back({row.name, {row.accuracy->fast, row.accuracy->accurate},
                                fmt::format("{}, {}", decibels(row.accuracy->fast), decibels(row.accuracy->accurate))});
    }
    const std::pair<Chart, std::span<const Bar>> all[] = {
        {{"Time by layer", "us", {"crossbars", "compute engine", "packets"}}, time},
        {{"Energy by layer", "uJ", {"energy"}}, energy},
        {{"Cells in use by layer", "% of the cells of the layer's crossbars", {"cells in use"}}, use},
        {{"Signal-to-noise ratio by layer", "dB", {"fast", "accurate"}, false}, accuracy}};
    std::string text;
    for (const auto& [chart, bars] : all)
        if (!bars.empty()) text += "<div class=\"wide\">\n" + bar_chart(chart, bars) + "</div>\n";
    return text;
}

std::string effects_table(const NetworkReport& report) {
    std::vector<std::vector<std::string>> rows;
    for (const Effect& effect : report.effects)
        rows.push_back({effect.what, tools::scaled(1e12 * effect.seconds, "s", -4), tools::scaled(1e12 * effect.joules, "J", -4),
                        fmt::format("{}", effect.weights), decibels(effect.fast), decibels(effect.accurate)});
    return table({"a run", "time", "energy", "weights", "fast", "accurate"}, rows, {});
}

}  // namespace

std::string page_of(const NetworkReport& report) {
    const std::string title = escaped(report.name);
    std::string page = fmt::format(
        "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\"/>\n"
        "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\"/>\n<title>{} on a Y1 chip</title>\n<style>{}</style>\n"
        "</head>\n<body>\n<h1>{} on a Y1 chip</h1>\n",
        title, kStyle, title);
    page += fmt::format(
        "<p class=\"soft\">One run with {} on an embedded chip. Times and energies are by the chip's cost model at the nominal clock.</p>\n",
        report.from_samples ? "the first sample" : "zeros as inputs");
    page += "<h2>Summary</h2>\n" + summary(report) + "<h2>Layers</h2>\n" + layers(report);
    page +=
        "<p class=\"soft\">A layer has its matrices, with all copies, and the programs in the same calls; the other rows are calls of the "
        "compute engine. fast, accurate: signal-to-noise ratio of a layer's results at that level with the errors of all layers before it, "
        "compared with inputs and weights of 16 bits at level fast. clipped: inputs outside the range of codes.</p>\n";
    page += charts(report);
    if (!report.effects.empty())
        page += "<h2>Effects of optimisations</h2>\n" + effects_table(report) +
                "<p class=\"soft\">fast, accurate: signal-to-noise ratio of the outputs at that level, compared with inputs and weights of 16 "
                "bits at level fast.</p>\n";
    for (const ReportPicture& picture : report.pictures)
        page += fmt::format("<h2>{}</h2>\n<div class=\"wide\">\n{}</div>\n", escaped(picture.title),
                            picture.svg.empty() ? fmt::format("<p>There is no picture: {}</p>\n", escaped(picture.problem)) : picture.svg);
    return page + "</body>\n</html>\n";
}

}  // namespace sidra::compiler
