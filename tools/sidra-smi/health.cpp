// SPDX-License-Identifier: MIT
// health: checks chips; the exit status is the worst result. Acknowledges the problems that it finds.
#include <fmt/format.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <ctime>
#include <memory>

#include "command.h"
#include "common/number.h"
#include "common/user.h"
#include "findings.h"
#include "format_option.h"
#include "output.h"
#include "report.h"
#include "session.h"

namespace sidra::smi_tool {
namespace {

constexpr long kBetweenNs = 200'000'000;  // long enough for a heartbeat of the firmware

struct Options {
    Format format = Format::kText;
    std::string acknowledge, withdraw, note;
    uint64_t for_s = 0;
};

tools::Json acknowledged_json(sidra_smi_chip* chip, const char* check) {
    sidra_smi_acknowledgement known = {};
    if (!sidra_smi_acknowledged(chip, check, &known)) return {};
    return tools::Json::Object{{"by", known.by},
                               {"note", known.note},
                               {"time", time_text(known.time_s)},
                               {"until", known.until_s != 0 ? tools::Json(time_text(known.until_s)) : tools::Json()}};
}

tools::Json chip_json(sidra_smi_chip* chip, sidra_smi_status status, std::span<const sidra_smi_finding> findings) {
    tools::Json::Array all;
    for (const sidra_smi_finding& finding : findings) {
        tools::Json::Object object = finding_json(finding);
        object.emplace_back("acknowledged", acknowledged_json(chip, finding.check));
        all.emplace_back(std::move(object));
    }
    return tools::Json::Object{{"index", to_json(value_of(chip, "index"))},
                               {"name", text_of(chip, "name")},
                               {"health", severity_name(status)},
                               {"findings", std::move(all)}};
}

// Changes what is acknowledged. With several chips, those where the check reports a problem.
void acknowledge(const Options& options, const Session& session, const std::vector<sidra_smi_chip*>& chips) {
    const uint64_t until_s = options.for_s != 0 ? static_cast<uint64_t>(std::time(nullptr)) + options.for_s : 0;
    const std::string user = tools::user_name(getuid());
    size_t done = 0;
    sidra_smi_status status = SIDRA_SMI_OK;
    for (sidra_smi_chip* chip : chips) {
        status = options.withdraw.empty() ? sidra_smi_acknowledge(chip, options.acknowledge.c_str(), until_s,
                                                                  user.c_str(), options.note.c_str())
                                          : sidra_smi_withdraw(chip, options.withdraw.c_str());
        if (status == SIDRA_SMI_OK) ++done;
        else if (status != SIDRA_SMI_USAGE) session.check(status);
    }
    if (done == 0) session.check(status);
}

sidra_smi_status health(const Options& options, const Context& context) {
    Session session(context.root, context.runtime);
    session.check(sidra_smi_policy_load(session.get()));
    session.check(sidra_smi_history_load(session.get()));
    const std::vector<sidra_smi_chip*> chips = session.select_read_twice(context.selectors, kBetweenNs);
    if (!options.acknowledge.empty() || !options.withdraw.empty()) acknowledge(options, session, chips);
    sidra_smi_status worst = SIDRA_SMI_OK;
    std::string out;
    tools::Json::Array all;
    for (sidra_smi_chip* chip : chips) {
        const sidra_smi_finding* findings = nullptr;
        uint32_t count = 0;
        const sidra_smi_status status = sidra_smi_health(chip, nullptr, &findings, &count);
        if (status != SIDRA_SMI_OK && status != SIDRA_SMI_WARNING && status != SIDRA_SMI_CRITICAL)
            session.check(status);
        worst = std::max(worst, status);
        out += fmt::format("{}: {}\n{}", text_of(chip, "name"), severity_name(status),
                           findings_text({findings, count}, "  "));
        all.push_back(chip_json(chip, status, {findings, count}));
    }
    session.check(sidra_smi_history_save(session.get()));
    tools::Json::Object whole = json_head("health");
    whole.emplace_back("chips", all);
    print(options.format == Format::kJson ? tools::Json(whole).text() + '\n' : out);
    return worst;
}

// 90s, 15m, 12h, 7d.
uint64_t parse_duration(const std::string& text) {
    constexpr std::pair<char, uint64_t> kUnits[] = {{'s', 1}, {'m', 60}, {'h', 3600}, {'d', 86'400}};
    constexpr uint64_t kMost = 3650;  // of the largest unit
    for (const auto& [unit, seconds] : kUnits) {
        if (!text.ends_with(unit)) continue;
        const auto number = tools::parse_number(std::string_view(text).substr(0, text.size() - 1));
        if (number && *number > 0 && *number <= kMost * 86'400 / seconds) return *number * seconds;
    }
    throw CLI::ValidationError("--for",
                               fmt::format("'{}' is no duration: give a number and s, m, h or d, such as 12h", text));
}

}  // namespace

Run declare_health(CLI::App& app) {
    const auto options = std::make_shared<Options>();
    add_format(app, options->format, Formats::kTextJson);
    CLI::Option* const acknowledge =
        app.add_option("--acknowledge", options->acknowledge,
                       "acknowledge the problem that this check reports: it is ok until it gets worse");
    app.add_option_function<std::string>(
           "--for", [options](const std::string& text) { options->for_s = parse_duration(text); },
           "with --acknowledge: for how long, such as 12h or 7d; without it, until the problem changes")
        ->needs(acknowledge);
    app.add_option("--note", options->note, "with --acknowledge: a text that is shown with the problem")
        ->needs(acknowledge);
    app.add_option("--withdraw", options->withdraw, "withdraw the acknowledgement of this check")
        ->excludes(acknowledge);
    return [options](const Context& context) { return health(*options, context); };
}

}  // namespace sidra::smi_tool
