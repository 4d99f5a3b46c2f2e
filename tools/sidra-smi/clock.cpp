// SPDX-License-Identifier: MIT
// clock: the highest level of a card's clock.
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
    std::optional<uint32_t> level;
    Timeout timeout{5};
};

sidra_smi_status clock(const Options& options, const Context& context) {
    Session session(context.root, context.runtime);
    session.refresh();
    sidra_smi_chip* const chip = session.select_card(context.selectors);
    sidra_smi_clock info;
    session.check(sidra_smi_clock_info(chip, &info));
    if (options.level) {
        if (*options.level >= info.count)
            throw Failure(SIDRA_SMI_USAGE, fmt::format("{} has levels 0 to {}, and no level {}", text_of(chip, "name"),
                                                       info.count - 1, *options.level));
        session.check(sidra_smi_set_clock(chip, *options.level, options.timeout.ns()));
        session.check(sidra_smi_clock_info(chip, &info));
        session.refresh();
    }
    std::string out = fmt::format("{}: {}\n", text_of(chip, "name"), rounded(value_of(chip, "clock"), 0, " MHz"));
    for (uint32_t n = 0; n < info.count; ++n)
        out +=
            fmt::format("  level {}  {:>5} MHz{}\n", n, info.khz[n] / 1000, n == info.level ? "  highest allowed" : "");
    print(out);
    return SIDRA_SMI_OK;
}

}  // namespace

Run declare_clock(CLI::App& app) {
    const auto options = std::make_shared<Options>();
    app.add_option("--level", options->level, "the highest level that the firmware may choose from now on (root)");
    add_timeout(app, options->timeout);
    return [options](const Context& context) { return clock(*options, context); };
}

}  // namespace sidra::smi_tool
