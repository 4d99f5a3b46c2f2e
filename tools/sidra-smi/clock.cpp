// SPDX-License-Identifier: MIT
// clock: clocks of chips, and the highest clock level of a card.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <memory>
#include <optional>
#include <vector>

#include "command.h"
#include "format_option.h"
#include "output.h"
#include "session.h"
#include "timeout_option.h"
#include "units.h"

namespace sidra::smi_tool {
namespace {

struct Options {
    std::optional<uint32_t> level;
    Format format = Format::kText;
    Timeout timeout{5};
};

// Clock levels of a chip; an embedded model has none.
struct Levels {
    sidra_smi_chip* chip;
    std::optional<sidra_smi_clock> info;
};

tools::Json json(const std::vector<Levels>& all) {
    tools::Json::Array chips;
    for (const Levels& one : all) {
        tools::Json::Array levels;
        for (uint32_t n = 0; one.info && n < one.info->count; ++n) levels.emplace_back(one.info->khz[n] / 1e3);
        chips.emplace_back(tools::Json::Object{{"index", to_json(value_of(one.chip, "index"))},
                                               {"name", text_of(one.chip, "name")},
                                               {"clock", to_json(value_of(one.chip, "clock"))},
                                               {"clock.max", to_json(value_of(one.chip, "clock.max"))},
                                               {"level", one.info ? tools::Json(one.info->level) : tools::Json()},
                                               {"levels", one.info ? tools::Json(levels) : tools::Json()}});
    }
    tools::Json::Object whole = json_head("clock");
    whole.emplace_back("chips", chips);
    return whole;
}

std::string text(const std::vector<Levels>& all) {
    std::string out;
    for (const auto& [chip, info] : all) {
        out += fmt::format("{}: {}, highest {}\n", text_of(chip, "name"), rounded(value_of(chip, "clock"), 0, " MHz"),
                           rounded(value_of(chip, "clock.max"), 0, " MHz"));
        for (uint32_t n = 0; info && n < info->count; ++n)
            out += fmt::format("  level {}  {:>5} MHz{}\n", n, info->khz[n] / 1000,
                               n == info->level ? "  highest allowed" : "");
    }
    return out;
}

sidra_smi_status clock(const Options& options, const Context& context) {
    Session session(context.root, context.runtime);
    session.refresh();
    if (options.level) {
        sidra_smi_chip* const chip = session.select_card(context.selectors);
        sidra_smi_clock info;
        session.check(sidra_smi_clock_info(chip, &info));
        if (*options.level >= info.count)
            throw Failure(SIDRA_SMI_USAGE, fmt::format("{} has clock levels 0 to {}, but no level {}",
                                                       text_of(chip, "name"), info.count - 1, *options.level));
        session.check(sidra_smi_set_clock(chip, *options.level, options.timeout.ns()));
        session.refresh();
    }
    std::vector<Levels> all;
    for (sidra_smi_chip* chip : session.select(context.selectors)) {
        Levels& one = all.emplace_back(Levels{chip, {}});
        if (sidra_smi_kind_of(chip) == SIDRA_SMI_MODEL) continue;
        session.check(sidra_smi_clock_info(chip, &one.info.emplace()));
    }
    print(options.format == Format::kJson ? json(all).text() + '\n' : text(all));
    return SIDRA_SMI_OK;
}

}  // namespace

Run declare_clock(CLI::App& app) {
    const auto options = std::make_shared<Options>();
    app.add_option("--level", options->level, "set the highest level that the firmware of one card may choose (root)");
    add_format(app, options->format, Formats::kTextJson);
    add_timeout(app, options->timeout);
    return [options](const Context& context) { return clock(*options, context); };
}

}  // namespace sidra::smi_tool
