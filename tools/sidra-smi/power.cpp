// SPDX-License-Identifier: MIT
// power: what cards take, and may take at most.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <memory>
#include <optional>

#include "command.h"
#include "output.h"
#include "session.h"
#include "timeout_option.h"
#include "units.h"

namespace sidra::smi_tool {
namespace {

struct Options {
    std::optional<double> limit;
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
            throw Failure(SIDRA_SMI_USAGE, fmt::format("{} W is not between {} W and {} W, the limits of {}",
                                                       *options.limit, least.real, most.real, text_of(chip, "name")));
        session.check(sidra_smi_set_power_limit(chip, *options.limit, options.timeout.ns()));
        session.refresh();
    }
    std::string out;
    for (sidra_smi_chip* chip : session.select(context.selectors))
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
    app.add_option("--limit", options->limit, "watts that one card may take from now on (root)");
    add_timeout(app, options->timeout);
    return [options](const Context& context) { return power(*options, context); };
}

}  // namespace sidra::smi_tool
