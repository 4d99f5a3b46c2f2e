// SPDX-License-Identifier: MIT
// What was measured: tables for people as soon as each is complete, everything as JSON at the end.
#ifndef SIDRA_BENCH_REPORT_H
#define SIDRA_BENCH_REPORT_H

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "bars.h"
#include "common/json.h"
#include "contest.h"

namespace sidra::bench {

using tools::Json;

// One line on stderr that says what is being measured, if a person is watching.
class Progress {
   public:
    Progress();
    ~Progress();
    Progress(const Progress&) = delete;
    Progress& operator=(const Progress&) = delete;
    void show(std::string_view text);
    void clear();

   private:
    bool watched_;
};

// Columns as wide as their widest cell; numbers to the right, text (the first column, and those from `text_from` on) to
// the left.
class Table {
   public:
    explicit Table(std::vector<std::string> heads, size_t text_from = SIZE_MAX) : text_from_(text_from) {
        rows_.push_back(std::move(heads));
    }
    void add(std::vector<std::string> cells) { rows_.push_back(std::move(cells)); }
    std::string text() const;

   private:
    size_t text_from_;
    std::vector<std::vector<std::string>> rows_;
};

class Report {
   public:
    Progress& progress() { return progress_; }

    void print(std::string_view title, const Table& table);

    // One timing. `what`: the parameters. work, unit: rate = work / seconds. peer: another one's figure. Ratios: speed
    // against others.
    struct Entry {
        std::string group, name;
        Json::Object what;
        Timing timing;
        double work = 0;
        std::string unit;
        bool peer = false;
        std::vector<std::pair<std::string, Ratio>> ratios = {};
    };
    void add(Entry entry);
    // Any other figure.
    void add_value(std::string group, std::string name, Json::Object what, double value, std::string unit);

    // key: one of kBars. settled: false if the machine was too busy to trust the value.
    void set_bar(std::string_view key, double value, bool settled = true);
    // A figure without a target, under a key of its own.
    void set_figure(std::string key, double value, bool settled);
    void print_bars() const;

    // `head` comes first. A bar that was not measured is null.
    std::string json(Json::Object head) const;
    // Of its bars, and the figures without a target: all groups that run share one file.
    std::string figures(Json::Object tail, Figures file) const;

   private:
    struct Measured {
        std::string key;
        double value;
        bool settled;
    };
    const Measured* bar(std::string_view key) const;  // nullptr: not measured

    Progress progress_;
    Json::Array results_;
    std::vector<Measured> bars_;
    std::vector<Measured> figures_;
};

// Figures in tables: "12.3", "0.98x (0.97)", "1.2 us". A rate (work a second, at the best sample) that is not settled
// has a question mark.
std::string figure(double value);
std::string rate_text(double work, const Timing& timing);
std::string ratio_text(const Ratio& ratio);
std::string seconds_text(double seconds);

}  // namespace sidra::bench

#endif
