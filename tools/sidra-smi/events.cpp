// SPDX-License-Identifier: MIT
// events: what happens to chips, one line for each event.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <memory>

#include "command.h"
#include "findings.h"
#include "format_option.h"
#include "number_option.h"
#include "output.h"
#include "session.h"

namespace sidra::smi_tool {
namespace {

struct Options {
    Format format = Format::kText;
    bool follow = false;
    double seconds = 1;
};

std::string line(const sidra_smi_event& event, Format format) {
    const std::string time = time_text_ms(event.time_ns / 1'000'000), name = text_of(event.chip, "name");
    if (format == Format::kText)
        return fmt::format("{}  {:<12} {:<8} {:<17} {}\n", time, name, severity_name(event.severity), event.type,
                           event.text);
    const tools::Json::Object object = {
        {"schema", "sidra-smi/1"},
        {"command", "events"},
        {"time", time},
        {"index", to_json(value_of(event.chip, "index"))},
        {"name", name},
        {"uuid", to_json(value_of(event.chip, "uuid"))},
        {"type", event.type},
        {"severity", severity_name(event.severity)},
        {"text", event.text},
        {"check", event.check != nullptr ? tools::Json(event.check) : tools::Json()},
        {"count", event.count != 0 ? tools::Json(event.count) : tools::Json()},
        {"initial", event.initial},
    };
    return tools::Json(object).line() + '\n';
}

// A mistake in the policy, which leaves the former one in force.
void say_once(const std::string& what) {
    static std::string last;
    if (what != last) say(what);
    last = what;
}

sidra_smi_status events(const Options& options, const Context& context) {
    Session session(context.root, context.runtime);
    session.check(sidra_smi_policy_load(session.get()));
    session.check(sidra_smi_history_load(session.get()));
    const auto timeout_ns = static_cast<uint64_t>(options.seconds * 1e9);
    std::vector<sidra_smi_chip*> chips;  // none: all, also those that come later
    bool first = true;
    do {
        const sidra_smi_event* all = nullptr;
        uint32_t count = 0;
        session.check(sidra_smi_events(session.get(), timeout_ns, &all, &count));
        if (first && (context.selectors || !options.follow)) chips = session.select(context.selectors);
        first = false;
        std::string out;
        for (const sidra_smi_event& event : std::span(all, count))
            if (chips.empty() || std::ranges::find(chips, event.chip) != chips.end())
                out += line(event, options.format);
        if (!out.empty()) print(out);
        if (options.follow) require_reader();
        if (sidra_smi_policy_load(session.get()) != SIDRA_SMI_OK) say_once(sidra_smi_error(session.get()));
    } while (options.follow);
    return SIDRA_SMI_OK;
}

}  // namespace

Run declare_events(CLI::App& app) {
    const auto options = std::make_shared<Options>();
    add_format(app, options->format, Formats::kTextJson);
    CLI::Option* const follow =
        app.add_flag("-f,--follow", options->follow, "then print what happens, until interrupted");
    app.add_option("-n,--interval", options->seconds, "with --follow: seconds between readings")
        ->check(within(0.01, 86400.0))
        ->needs(follow)
        ->capture_default_str();
    return [options](const Context& context) { return events(*options, context); };
}

}  // namespace sidra::smi_tool
