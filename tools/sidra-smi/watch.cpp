// SPDX-License-Identifier: MIT
// watch: prints fields periodically. Each line is written as soon as it is complete.
#include <fmt/chrono.h>
#include <fmt/format.h>
#include <time.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cerrno>
#include <ctime>
#include <memory>

#include "command.h"
#include "format_option.h"
#include "number_option.h"
#include "output.h"
#include "report.h"
#include "session.h"
#include "units.h"

namespace sidra::smi_tool {
namespace {

struct Options {
    std::string fields = "name,status,temperature,power,clock,utilization";  // 80 columns
    Format format = Format::kText;
    bool why = false;
    double seconds = 1;
    uint64_t count = 0;
};

constexpr uint64_t kHeadEvery = 20;  // lines of text

// If each value has its own prefix, print the unit after the value.
std::string cell(const sidra_smi_field& field, const sidra_smi_value& value) {
    if (has_prefixes(field.unit)) return readable(field, value);
    return value.type == SIDRA_SMI_REAL ? fmt::format("{:.1f}", value.real) : to_text(value);
}

// One line per chip, below the names of the fields and their units. Columns grow with their contents and never shrink,
// so that lines stay aligned.
class Table {
   public:
    explicit Table(const Report& report) : report_(report) {
        for (const uint32_t number : report.fields) {
            const sidra_smi_field& field = *sidra_smi_field_at(number);
            widths_.push_back(
                std::max<size_t>(field.type == SIDRA_SMI_TEXT ? 10 : 8, std::string_view(field.name).size()));
        }
    }

    std::string lines(const std::vector<sidra_smi_chip*>& chips, const std::string& time) {
        std::vector<std::vector<std::string>> rows;
        bool grown = false;
        for (sidra_smi_chip* chip : chips) {
            std::vector<std::string>& row = rows.emplace_back();
            for (size_t n = 0; n < report_.fields.size(); ++n) {
                row.push_back(cell(field(n), sidra_smi_get(chip, report_.fields[n])));
                grown = grown || row[n].size() > widths_[n];
                widths_[n] = std::max(widths_[n], row[n].size());
            }
        }
        std::string out;
        if (grown || readings_++ % kHeadEvery == 0) {
            std::vector<std::string> names, units;
            for (size_t n = 0; n < report_.fields.size(); ++n) {
                names.emplace_back(field(n).name);
                units.emplace_back(has_prefixes(field(n).unit) ? "" : field(n).unit);
            }
            out += line("time", names) + line("", units);
        }
        for (const auto& row : rows) out += line(time, row);
        return out;
    }

   private:
    const sidra_smi_field& field(size_t n) const { return *sidra_smi_field_at(report_.fields[n]); }
    std::string line(const std::string& time, const std::vector<std::string>& cells) const {
        std::string text = fmt::format("{:<8}", time);
        for (size_t n = 0; n < cells.size(); ++n) text += fmt::format(" {:>{}}", cells[n], widths_[n]);
        return text.substr(0, text.find_last_not_of(' ') + 1) + '\n';
    }

    const Report& report_;
    std::vector<size_t> widths_;
    uint64_t readings_ = 0;
};

// The local time of day.
std::string clock_text() {
    const std::time_t now = std::time(nullptr);
    return fmt::format("{:%H:%M:%S}", fmt::localtime(now));
}

class Ticks {
   public:
    explicit Ticks(double seconds) : step_ns_(static_cast<int64_t>(seconds * 1e9)) {
        clock_gettime(CLOCK_MONOTONIC, &next_);
    }
    // Sleeps until the next tick. Ticks missed during a suspend are skipped.
    void wait() {
        struct timespec now;
        clock_gettime(CLOCK_MONOTONIC, &now);
        do add();
        while (next_.tv_sec < now.tv_sec || (next_.tv_sec == now.tv_sec && next_.tv_nsec <= now.tv_nsec));
        while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &next_, nullptr) == EINTR) {
        }
    }

   private:
    void add() {
        next_.tv_sec += step_ns_ / 1'000'000'000;
        next_.tv_nsec += step_ns_ % 1'000'000'000;
        if (next_.tv_nsec >= 1'000'000'000) {
            next_.tv_nsec -= 1'000'000'000;
            ++next_.tv_sec;
        }
    }
    int64_t step_ns_;
    struct timespec next_;
};

sidra_smi_status watch(const Options& options, const Context& context) {
    const Report report{parse_fields(options.fields), options.why};
    Session session(context.root, context.runtime);
    session.refresh();
    // The selected chips, or all chips that are present at each reading.
    std::vector<sidra_smi_chip*> chips = session.select(context.selectors);
    Table table(report);
    Ticks ticks(options.seconds);
    for (uint64_t n = 0;; ++n) {
        if (n > 0) {
            ticks.wait();
            session.refresh();
            if (!context.selectors)
                for (uint32_t index = 0; index < sidra_smi_count(session.get()); ++index)
                    if (sidra_smi_chip* const chip = sidra_smi_chip_at(session.get(), index);
                        !sidra_smi_gone(chip) && std::find(chips.begin(), chips.end(), chip) == chips.end())
                        chips.push_back(chip);
        }
        std::erase_if(chips, [](sidra_smi_chip* chip) {
            if (sidra_smi_gone(chip)) say(text_of(chip, "name") + " is gone");
            return sidra_smi_gone(chip);
        });
        if (chips.empty()) return SIDRA_SMI_LOST;
        switch (options.format) {
            case Format::kText:
                print(table.lines(chips, clock_text()));
                break;
            case Format::kCsv:
                print((n == 0 ? csv_head(report, true) : "") + csv_lines(report, chips, time_text()));
                break;
            case Format::kJson:
                print(json_report("watch", report, chips).line() + '\n');
                break;
        }
        if (options.count != 0 && n + 1 >= options.count) return SIDRA_SMI_OK;
    }
}

}  // namespace

Run declare_watch(CLI::App& app) {
    const auto options = std::make_shared<Options>();
    app.add_option("--fields", options->fields, "field names with commas, as for query")->capture_default_str();
    add_format(app, options->format, Formats::kTextCsvJson);
    app.add_flag("--why", options->why, "say why values are absent (csv, json)");
    app.add_option("-n,--interval", options->seconds, "seconds between readings")
        ->check(within(0.01, 86400.0))
        ->capture_default_str();
    app.add_option("-c,--count", options->count, "number of readings; 0: until interrupted")
        ->check(CLI::Range(uint64_t{0}, uint64_t{UINT32_MAX}))  // not -1
        ->capture_default_str();
    return [options](const Context& context) { return watch(*options, context); };
}

}  // namespace sidra::smi_tool
