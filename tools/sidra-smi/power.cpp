// SPDX-License-Identifier: MIT
// power: power and power limits of chips, and the limit of a card.
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
    std::optional<double> limit;
    Format format = Format::kText;
    Timeout timeout{5};
};

sidra_smi_status power(const Options& options, const Context& context) {
    Session session(context.root, context.runtime);
    session.refresh();
    if (options.limit) {
        sidra_smi_chip* const chip = session.select_card(context.selectors);
        const sidra_smi_value least = value_of(chip, "power.limit.min"), most = value_of(chip, "power.limit.max");
        if (least.type == SIDRA_SMI_REAL && most.type == SIDRA_SMI_REAL &&
            (*options.limit < least.real || *options.limit > most.real))
            throw Failure(SIDRA_SMI_USAGE, fmt::format("{} W is not between {} W and {} W, the range of {}",
                                                       *options.limit, least.real, most.real, text_of(chip, "name")));
        session.check(sidra_smi_set_power_limit(chip, *options.limit, options.timeout.ns()));
        session.refresh();
    }
    const std::vector<sidra_smi_chip*> chips = session.select(context.selectors);
    if (options.format == Format::kJson) {
        const Report report{parse_fields("index,name,power,power.limit,power.limit.min,power.limit.max"), false};
        print(json_report("power", report, chips).text() + '\n');
        return SIDRA_SMI_OK;
    }
    std::string out;
    for (sidra_smi_chip* chip : chips)
        out += fmt::format("{}: {}, limit {} ({} to {})\n", text_of(chip, "name"),
                           rounded(value_of(chip, "power"), 1, " W"), rounded(value_of(chip, "power.limit"), 1, " W"),
                           rounded(value_of(chip, "power.limit.min"), 1, ""),
                           rounded(value_of(chip, "power.limit.max"), 1, " W"));
    print(out);
    return SIDRA_SMI_OK;
}

}  // namespace

Run declare_power(CLI::App& app) {
    const auto options = std::make_shared<Options>();
    app.add_option("--limit", options->limit, "set the power limit of one card in watts (root)");
    add_format(app, options->format, Formats::kTextJson);
    add_timeout(app, options->timeout);
    return [options](const Context& context) { return power(*options, context); };
}

}  // namespace sidra::smi_tool
