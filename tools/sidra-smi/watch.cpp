// SPDX-License-Identifier: MIT
// watch: values of fields, again and again: a line each time, and each as soon as it is known.
#include <fmt/format.h>
#include <time.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cerrno>
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
    std::string fields = "name,status,temperature,power,clock,utilization,mvm.utilization";  // 80 columns
    Format format = Format::kText;
    bool why = false;
    double seconds = 1;
    uint64_t count = 0;
};

constexpr uint64_t kHeadEvery = 20;  // lines of text

// As wide as its head and its usual values: names of chips and their states are longer than figures.
size_t width_of(const sidra_smi_field& field) {
    return std::max<size_t>(field.type == SIDRA_SMI_TEXT ? 10 : 8, std::string_view(field.name).size());
}

// Where each value has a prefix of its own, its unit is behind that.
std::string cell(const sidra_smi_field& field, const sidra_smi_value& value) {
    if (has_prefixes(field.unit)) return readable(field, value);
    return value.type == SIDRA_SMI_REAL ? fmt::format("{:.1f}", value.real) : to_text(value);
}

// One line a chip, below the names of the fields and their units.
std::string table(const Report& report, const std::vector<sidra_smi_chip*>& chips, bool head) {
    std::string out;
    const auto row = [&](const auto& text) {
        std::string line;
        for (const uint32_t number : report.fields) {
            const sidra_smi_field& field = *sidra_smi_field_at(number);
            line += fmt::format("{}{:>{}}", line.empty() ? "" : " ", text(number, field), width_of(field));
        }
        out += line.substr(0, line.find_last_not_of(' ') + 1) + '\n';
    };
    if (head) {
        row([](uint32_t, const sidra_smi_field& field) { return std::string(field.name); });
        row([](uint32_t, const sidra_smi_field& field) {
            return std::string(has_prefixes(field.unit) ? "" : field.unit);
        });
    }
    for (sidra_smi_chip* chip : chips)
        row([chip](uint32_t number, const sidra_smi_field& field) { return cell(field, sidra_smi_get(chip, number)); });
    return out;
}

class Ticks {
   public:
    explicit Ticks(double seconds) : step_ns_(static_cast<int64_t>(seconds * 1e9)) {
        clock_gettime(CLOCK_MONOTONIC, &next_);
    }
    // Sleeps until the next one. One that was missed, since the machine slept, is not made up for.
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
    // Those that were named, or whatever is here each time.
    std::vector<sidra_smi_chip*> chips = session.select(context.selectors);
    Ticks ticks(options.seconds);
    for (uint64_t n = 0;; ++n) {
        if (n > 0) {
            ticks.wait();
            session.refresh();
            if (context.selectors.empty())
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
                print(table(report, chips, n % kHeadEvery == 0));
                break;
            case Format::kCsv:
                print((n == 0 ? csv_head(report, true) : "") + csv_lines(report, chips, time_text()));
                break;
            case Format::kJson:
                print(json_report(report, chips).line() + '\n');
                break;
        }
        if (options.count != 0 && n + 1 >= options.count) return SIDRA_SMI_OK;
    }
}

}  // namespace

Run declare_watch(CLI::App& app) {
    const auto options = std::make_shared<Options>();
    app.add_option("--fields", options->fields, "names with commas between them, as with query")->capture_default_str();
    add_format(app, options->format);
    app.add_flag("--why", options->why, "say why values are absent (csv, json)");
    app.add_option("-n,--interval", options->seconds, "seconds between readings")
        ->check(within(0.01, 86400.0))
        ->capture_default_str();
    app.add_option("-c,--count", options->count, "readings; 0: until it is interrupted")
        ->check(CLI::Range(uint64_t{0}, uint64_t{UINT32_MAX}))  // not -1
        ->capture_default_str();
    return [options](const Context& context) { return watch(*options, context); };
}

}  // namespace sidra::smi_tool
