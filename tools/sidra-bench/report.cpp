// SPDX-License-Identifier: MIT
#include "report.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstdio>

#include "bars.h"

namespace sidra::bench {

Progress::Progress() : watched_(isatty(STDERR_FILENO) == 1) {}
Progress::~Progress() { clear(); }

void Progress::show(std::string_view text) {
    if (watched_) fmt::print(stderr, "\r\x1b[K{}", text);
}

void Progress::clear() {
    if (watched_) fmt::print(stderr, "\r\x1b[K");
}

std::string Table::text() const {
    std::vector<size_t> widths;
    for (const auto& row : rows_) {
        widths.resize(std::max(widths.size(), row.size()));
        for (size_t i = 0; i < row.size(); ++i) widths[i] = std::max(widths[i], row[i].size());
    }
    std::string out;
    for (const auto& row : rows_) {
        std::string line = " ";
        for (size_t i = 0; i < row.size(); ++i) {
            const std::string pad(widths[i] - row[i].size(), ' ');
            line += i == 0 || i >= text_from_ ? " " + row[i] + pad : "  " + pad + row[i];
            if (i + 1 >= text_from_) line += ' ';
        }
        line.erase(line.find_last_not_of(' ') + 1);
        out += line + '\n';
    }
    return out;
}

void Report::print(std::string_view title, const Table& table) {
    progress_.clear();
    fmt::print("\n{}\n{}", title, table.text());
    std::fflush(stdout);
}

void Report::add(Entry entry) {
    Json::Object row = {{"group", entry.group}, {"name", entry.name}, {"peer", entry.peer}};
    row.insert(row.end(), entry.what.begin(), entry.what.end());
    row.emplace_back("seconds_min", entry.timing.min_s);
    row.emplace_back("seconds_median", entry.timing.median_s);
    row.emplace_back("samples", entry.timing.samples);
    row.emplace_back("settled", entry.timing.settled);
    row.emplace_back("rate", entry.work / entry.timing.min_s);
    row.emplace_back("rate_median", entry.work / entry.timing.median_s);
    row.emplace_back("unit", entry.unit);
    if (!entry.ratios.empty()) {
        Json::Object ratios;
        for (const auto& [name, ratio] : entry.ratios) {
            ratios.emplace_back(name, Json::Object{{"best", ratio.best}, {"median", ratio.median}});
        }
        row.emplace_back("speed_vs", std::move(ratios));
    }
    results_.emplace_back(std::move(row));
}

void Report::add_value(std::string group, std::string name, Json::Object what, double value, std::string unit) {
    Json::Object row = {{"group", std::move(group)}, {"name", std::move(name)}, {"peer", false}};
    row.insert(row.end(), what.begin(), what.end());
    row.emplace_back("value", value);
    row.emplace_back("unit", std::move(unit));
    results_.emplace_back(std::move(row));
}

void Report::set_bar(std::string_view key, double value, bool settled) {
    bars_.push_back({std::string(key), value, settled});
}

void Report::set_figure(std::string key, double value, bool settled) {
    figures_.push_back({std::move(key), value, settled});
}

const Report::Measured* Report::bar(std::string_view key) const {
    const auto found = std::find_if(bars_.begin(), bars_.end(), [&](const Measured& m) { return m.key == key; });
    return found == bars_.end() ? nullptr : &*found;
}

void Report::print_bars() const {
    if (bars_.empty()) return;
    Table table({"bar", "measured", "target", "", "what it is"}, 3);
    for (const Bar& b : kBars) {
        const Measured* m = bar(b.key);
        if (m == nullptr) continue;
        const std::string verdict = met(b, m->value) ? "PASS" : "below";
        table.add({std::string(b.key), figure(m->value),
                   fmt::format("{} {}", b.at_least ? ">=" : "<=", figure(b.target)),
                   m->settled ? verdict : verdict + " (unsettled)", std::string(b.text)});
    }
    fmt::print(
        "\nBars: ratios of the best samples. An unsettled figure did not reach its best twice, or other processes were "
        "busy.\n{}",
        table.text());
}

std::string Report::json(Json::Object head) const {
    Json::Array bars;
    for (const Bar& b : kBars) {
        Json value, reached, settled;  // null: not measured
        if (const Measured* m = bar(b.key)) {
            value = m->value;
            reached = met(b, m->value);
            settled = m->settled;
        }
        bars.emplace_back(Json::Object{{"key", b.key},
                                       {"what", b.text},
                                       {"value", value},
                                       {"target", b.target},
                                       {"at_least", b.at_least},
                                       {"met", reached},
                                       {"settled", settled}});
    }
    head.emplace_back("bars", std::move(bars));
    head.emplace_back("results", results_);
    return Json(std::move(head)).text() + '\n';
}

std::string Report::figures(Json::Object tail, Figures file) const {
    Json::Object flat;
    std::string unsettled;
    const auto add = [&](std::string_view key, const Measured* m) {
        flat.emplace_back(key, m != nullptr ? Json(m->value) : Json());
        if (m != nullptr && !m->settled) unsettled += (unsettled.empty() ? "" : ", ") + m->key;
    };
    for (const Bar& b : kBars) {
        if (b.file == file) add(b.key, bar(b.key));
    }
    for (const Measured& m : figures_) add(m.key, &m);
    flat.emplace_back("unsettled", unsettled);
    flat.insert(flat.end(), tail.begin(), tail.end());
    return Json(std::move(flat)).text() + '\n';
}

std::string figure(double value) {
    const double size = std::fabs(value);
    if (size >= 1e6) return fmt::format("{:.4g} M", value / 1e6);
    if (size >= 1000) return fmt::format("{:.0f}", value);
    if (size >= 100) return fmt::format("{:.1f}", value);
    return size >= 1 ? fmt::format("{:.3g}", value) : fmt::format("{:.2g}", value);
}

std::string rate_text(double work, const Timing& timing) {
    return figure(work / timing.min_s) + (timing.settled ? "" : "?");
}

std::string ratio_text(const Ratio& ratio) { return fmt::format("{:.2f}x ({:.2f})", ratio.best, ratio.median); }

std::string seconds_text(double seconds) {
    if (seconds < 1e-6) return fmt::format("{:.0f} ns", seconds * 1e9);
    if (seconds < 1e-3) return fmt::format("{:.3g} us", seconds * 1e6);
    if (seconds < 1) return fmt::format("{:.3g} ms", seconds * 1e3);
    return fmt::format("{:.3g} s", seconds);
}

}  // namespace sidra::bench
