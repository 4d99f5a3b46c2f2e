// SPDX-License-Identifier: MIT
// The report as a page. Everything in it is escaped: names come from the network.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "charts.h"
#include "common/units.h"
#include "network_report.h"
#include "sidra-objdump/names.h"
#include "sidra-objdump/svg.h"

namespace sidra::compiler {
namespace {

using objdump::escaped;
using objdump::time_text;

constexpr std::string_view kStyle = R"(
  :root { color-scheme: light dark }
  body { margin: 2rem auto; padding: 0 1rem; max-width: 80rem; background: #ffffff; color: #1b1f24;
         font: 15px/1.45 system-ui, -apple-system, "Segoe UI", "DejaVu Sans", sans-serif }
  h1 { font-size: 1.6rem; margin: 0 0 0.5rem } h2 { font-size: 1.2rem; margin: 2rem 0 0.5rem }
  p { max-width: 60rem } .soft { color: #57606a }
  .wide { overflow-x: auto }
  table { border-collapse: collapse; font-variant-numeric: tabular-nums; font-size: 0.8rem }
  th, td { padding: 0.2rem 0.45rem; text-align: right; border-bottom: 1px solid #d8dee4; white-space: nowrap }
  th { position: sticky; top: 0; background: inherit } thead { background: #ffffff }
  td.name, th.name { text-align: left; max-width: 19rem; overflow: hidden; text-overflow: ellipsis }
  td.text { text-align: left; white-space: normal; overflow-wrap: anywhere }
  tfoot td { font-weight: bold }
  svg { display: block; margin: 0.5rem 0 } h3 { font-size: 1rem; margin: 1.5rem 0 0.5rem }
  summary { font-size: 1.2rem; font-weight: bold; margin: 2rem 0 0.5rem; cursor: pointer }
  @media (prefers-color-scheme: dark) {
    body, thead { background: #15181c; color: #e6edf3 } .soft { color: #9da7b1 }
    th, td { border-color: #2b3138 }
  }
)";

std::string energy_text(uint64_t pj) { return tools::scaled(static_cast<double>(pj), "J", -4); }
std::string percent(double part, double whole) { return fmt::format("{:.1f} %", whole == 0 ? 0 : 100 * part / whole); }
std::string decibels(double ratio) {
    return std::isinf(ratio) && ratio > 0 ? "exact" : fmt::format("{:.1f} dB", ratio);
}

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

std::string texts(const VariantReport& variant) {
    std::string text;
    for (const ReportInput& input : variant.inputs) text += fmt::format("{}{}", text.empty() ? "" : ", ", input.text());
    return text;
}

std::string calls_text(uint32_t calls, uint32_t on_host) {
    return fmt::format("{}, of which the host computes {}", calls, on_host);
}

std::string summary(const NetworkReport& report) {
    const ChipReport& chip = report.chips.front();
    const VariantReport& variant = chip.variants.front();
    std::vector<std::array<std::string, 2>> rows;
    if (report.chips.size() == 1)
        rows = {{"crossbars", fmt::format("{} of {}", chip.crossbars, report.chip_crossbars)},
                {"weights", fmt::format("{}", chip.weights)},
                {"constants", fmt::format("{} bytes", chip.constant_bytes)}};
    if (report.chips.size() == 1 && chip.variants.size() == 1) {
        rows.insert(rows.begin(), {{"inputs", texts(variant)},
                                   {"time of a run", time_text(variant.time_ps)},
                                   {"energy of a run", energy_text(variant.energy_pj)}});
        rows.insert(rows.end(), {{"work memory", fmt::format("{} bytes", variant.work_bytes)},
                                 {"calls", calls_text(variant.calls, variant.host_calls)}});
    }
    rows.insert(rows.end(), {{"compiled file", fmt::format("{} bytes", report.file_bytes)},
                             {"network", report.source},
                             {"compiler", report.producer},
                             {"options", report.options.empty() ? "none" : report.options}});
    std::string text = "<div class=\"wide\"><table><tbody>\n";
    for (const auto& [name, value] : rows)
        text += fmt::format("<tr><th class=\"name\">{}</th><td class=\"text\">{}</td></tr>\n", escaped(name),
                            escaped(value));
    return text + "</tbody></table></div>\n";
}

// A row for each variant, or for each chip that works on variant 0.
std::string overview(const NetworkReport& report) {
    std::string text;
    if (report.chips.size() > 1) {
        uint64_t slowest = 1, all = 0;
        for (const ChipReport& chip : report.chips)
            slowest = std::max(slowest, chip.variants.front().time_ps), all += chip.variants.front().time_ps;
        std::vector<std::vector<std::string>> rows;
        for (size_t c = 0; c < report.chips.size(); c++) {
            const ChipReport& chip = report.chips[c];
            const VariantReport& run = chip.variants.front();
            rows.push_back(
                {fmt::format("{}", c), fmt::format("{} of {}", chip.crossbars, report.chip_crossbars),
                 fmt::format("{}", chip.weights), fmt::format("{}", chip.constant_bytes), time_text(run.time_ps),
                 percent(static_cast<double>(run.time_ps), static_cast<double>(slowest)), energy_text(run.energy_pj)});
        }
        text += "<h2>Chips</h2>\n" +
                table({"chip", "crossbars", "weights", "bytes of constants", "time", "of the slowest chip", "energy"},
                      rows, {}) +
                fmt::format(
                    "<p class=\"soft\">The chips work at the same time on successive runs. A run takes {} and the "
                    "copies between chips; the next one "
                    "ends {} later, if no copy takes longer.</p>\n",
                    time_text(all), time_text(slowest));
    }
    const std::vector<VariantReport>& variants = report.chips.front().variants;
    if (variants.size() > 1) {
        std::vector<std::vector<std::string>> rows;
        for (size_t v = 0; v < variants.size(); v++) {
            uint64_t time = 0, energy = 0, work = 0;
            uint32_t calls = 0, on_host = 0;
            for (const ChipReport& chip : report.chips) {
                const VariantReport& run = chip.variants[v];
                time += run.time_ps, energy += run.energy_pj, work += run.work_bytes, calls += run.calls,
                    on_host += run.host_calls;
            }
            rows.push_back({fmt::format("{}: {}", v, texts(variants[v])), time_text(time), energy_text(energy),
                            fmt::format("{}", work), fmt::format("{}", calls), fmt::format("{}", on_host)});
        }
        text += "<h2>Variants</h2>\n" +
                table({"variant", "time", "energy", "bytes of work memory", "calls", "on the host"}, rows, {});
    }
    return text;
}

std::string layers(const ChipReport& chip, const VariantReport& variant) {
    const bool measured =
        std::ranges::any_of(variant.rows, [](const ReportRow& row) { return row.accuracy.has_value(); });
    std::vector<std::string> head = {"layer or call", "kind",   "matrix", "crossbars", "cells in use", "products",
                                     "copies",        "inputs", "time",   "share",     "energy"};
    if (measured) head.insert(head.end(), {"fast", "accurate", "clipped"});
    std::vector<std::vector<std::string>> rows;
    for (const ReportRow& row : variant.rows) {
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
            of_layer(fmt::format("{} bits", row.input_bits)),
            time_text(row.time_ps()),
            percent(static_cast<double>(row.time_ps()), static_cast<double>(variant.time_ps)),
            energy_text(row.energy_pj)};
        if (measured && row.accuracy)
            texts.insert(texts.end(), {decibels(row.accuracy->fast), decibels(row.accuracy->accurate),
                                       percent(static_cast<double>(row.accuracy->clipped),
                                               static_cast<double>(row.accuracy->inputs))});
        else if (measured) texts.insert(texts.end(), 3, "");
        rows.push_back(std::move(texts));
    }
    std::vector<std::string> foot(head.size());
    foot[0] = "sum", foot[3] = fmt::format("{}", chip.crossbars), foot[8] = time_text(variant.time_ps);
    foot[9] = percent(1, 1), foot[10] = energy_text(variant.energy_pj);
    return table(head, rows, foot);
}

std::string charts(const VariantReport& variant) {
    std::vector<Bar> time, energy, use, accuracy;
    for (const ReportRow& row : variant.rows) {
        constexpr double kMicro = 1e-6;
        time.push_back({row.name,
                        {static_cast<double>(row.product_ps) * kMicro, static_cast<double>(row.compute_ps) * kMicro,
                         static_cast<double>(row.packet_ps) * kMicro},
                        time_text(row.time_ps())});
        energy.push_back({row.name, {static_cast<double>(row.energy_pj) * kMicro}, energy_text(row.energy_pj)});
        if (row.matrices != 0) use.push_back({row.name, {100 * row.utilisation()}, percent(row.utilisation(), 1)});
        if (row.accuracy)
            accuracy.push_back({row.name,
                                {row.accuracy->fast, row.accuracy->accurate},
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
        rows.push_back({effect.what, tools::scaled(1e12 * effect.seconds, "s", -4),
                        tools::scaled(1e12 * effect.joules, "J", -4), fmt::format("{}", effect.weights),
                        decibels(effect.fast), decibels(effect.accurate)});
    return table({"a run", "time", "energy", "weights", "fast", "accurate"}, rows, {});
}

std::string picture(const std::string& title, const ReportPicture& picture) {
    return fmt::format(
        "<h3>{}</h3>\n<div class=\"wide\">\n{}</div>\n", escaped(title),
        picture.svg.empty() ? fmt::format("<p>There is no picture: {}</p>\n", escaped(picture.problem)) : picture.svg);
}

std::string variant_part(const ChipReport& chip, const VariantReport& variant) {
    std::string text = layers(chip, variant) + charts(variant);
    for (const ReportPicture& one : variant.pictures) text += picture(one.title, one);
    return text;
}

}  // namespace

std::string page_of(const NetworkReport& report) {
    const bool several_chips = report.chips.size() > 1, several_variants = report.chips.front().variants.size() > 1;
    const std::string title =
        fmt::format("{} on {}", escaped(report.name),
                    several_chips ? fmt::format("{} Y1 chips", report.chips.size()) : "a Y1 chip");
    std::string page = fmt::format(
        "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\"/>\n"
        "<meta name=\"viewport\" content=\"width=device-width, "
        "initial-scale=1\"/>\n<title>{}</title>\n<style>{}</style>\n"
        "</head>\n<body>\n<h1>{}</h1>\n",
        title, kStyle, title);
    page += fmt::format(
        "<p class=\"soft\">One run{} with {}{} on {}. Times and energies are by the chip's cost model at the nominal "
        "clock.</p>\n",
        several_variants ? " of each variant" : "", report.from_samples ? "the first sample" : "zeros as inputs",
        several_variants && report.from_samples ? " (of variant 0; the others with zeros)" : "",
        several_chips ? "embedded chips" : "an embedded chip");
    page += "<h2>Summary</h2>\n" + summary(report) + overview(report);
    if (!report.effects.empty())
        page += "<h2>Effects of optimisations</h2>\n" + effects_table(report) +
                "<p class=\"soft\">fast, accurate: signal-to-noise ratio of the outputs at that level, compared with "
                "inputs and weights of 16 "
                "bits at level fast.</p>\n";
    for (size_t c = 0; c < report.chips.size(); c++) {
        const ChipReport& chip = report.chips[c];
        for (size_t v = 0; v < chip.variants.size(); v++) {
            std::string heading = several_chips ? fmt::format("Chip {}", c) : "";
            if (several_variants)
                heading += fmt::format("{}ariant {}: {}", heading.empty() ? "V" : ", v", v, texts(chip.variants[v]));
            if (heading.empty()) heading = "Layers";
            // The first variant is open, and others are for those who want to know.
            page += fmt::format("<details{}><summary>{}</summary>\n{}</details>\n", v == 0 ? " open=\"\"" : "",
                                escaped(heading), variant_part(chip, chip.variants[v]));
        }
        page += picture(several_chips ? fmt::format("{} of chip {}", chip.picture.title, c) : chip.picture.title,
                        chip.picture);
    }
    page +=
        "<p class=\"soft\">A layer has its matrices, with all copies, and the programs in the same calls; the other "
        "rows are calls of the "
        "compute engine. fast, accurate: signal-to-noise ratio of a layer's results at that level with the errors of "
        "all layers before it, "
        "compared with inputs and weights of 16 bits at level fast. clipped: inputs outside the range of codes.</p>\n";
    return page + "</body>\n</html>\n";
}

}  // namespace sidra::compiler
