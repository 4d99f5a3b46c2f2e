// SPDX-License-Identifier: MIT
// refresh: has the firmware look through a card's cells, and program those anew that have drifted.
#include <fmt/format.h>
#include <time.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <cstdio>
#include <cstring>
#include <memory>

#include "command.h"
#include "output.h"
#include "session.h"
#include "timeout_option.h"

namespace sidra::smi_tool {
namespace {

struct Options {
    bool verify = false, abort = false, show = false, no_wait = false;
    uint32_t first = 0, count = 0, ppm = 20'000;
    Timeout timeout{5};
};

constexpr long kBetweenNs = 200'000'000;
constexpr int kBarWidth = 40;

// On a terminal only; standard output is for the result.
void bar(uint32_t percent, bool end) {
    if (!isatty(STDERR_FILENO)) return;
    const int full = static_cast<int>(percent) * kBarWidth / 100;
    std::fprintf(stderr, "\r[%s%s] %3u %%%s", std::string(static_cast<size_t>(full), '#').c_str(),
                 std::string(static_cast<size_t>(kBarWidth - full), '.').c_str(), percent, end ? "\n" : "");
}

std::string text(sidra_smi_chip* chip, const sidra_smi_campaign& campaign) {
    if (std::strcmp(campaign.state, "none") == 0)
        return fmt::format("{}: no campaign since its firmware started\n", text_of(chip, "name"));
    return fmt::format("{}: campaign {} {}, {} %, {} cells off\n", text_of(chip, "name"), campaign.number,
                       campaign.state, campaign.percent, campaign.off);
}

sidra_smi_status refresh(const Options& options, const Context& context) {
    Session session(context.root, context.runtime);
    session.refresh();
    sidra_smi_chip* const chip = session.select_card(context.selectors);
    sidra_smi_campaign campaign;
    if (options.abort) {
        session.check(sidra_smi_campaign_abort(chip, options.timeout.ns()));
    } else if (!options.show) {
        const sidra_smi_value total = value_of(chip, "crossbars.total");
        const uint64_t all = total.type == SIDRA_SMI_UINT ? total.u : 0;
        if (all != 0 && (options.first >= all || options.count > all - options.first))
            throw Failure(SIDRA_SMI_USAGE, fmt::format("{} has crossbars 0 to {}", text_of(chip, "name"), all - 1));
        if (all == 0 && options.count == 0)
            throw Failure(SIDRA_SMI_USAGE,
                          fmt::format("how many crossbars {} has cannot be read: say --count", text_of(chip, "name")));
        const uint32_t count = options.count != 0 ? options.count : static_cast<uint32_t>(all - options.first);
        session.check(sidra_smi_campaign_start(chip, options.verify ? SIDRA_SMI_VERIFY : SIDRA_SMI_REFRESH,
                                               options.first, count, options.ppm, options.timeout.ns()));
    }
    session.check(sidra_smi_campaign_info(chip, options.timeout.ns(), &campaign));
    const bool wait = !options.abort && !options.show && !options.no_wait;
    while (wait && std::strcmp(campaign.state, "running") == 0) {
        bar(campaign.percent, false);
        const struct timespec between = {0, kBetweenNs};
        nanosleep(&between, nullptr);
        session.check(sidra_smi_campaign_info(chip, options.timeout.ns(), &campaign));
    }
    if (wait) bar(campaign.percent, true);
    print(text(chip, campaign));
    return std::strcmp(campaign.state, "failed") == 0 ? SIDRA_SMI_WARNING : SIDRA_SMI_OK;
}

}  // namespace

Run declare_refresh(CLI::App& app) {
    const auto options = std::make_shared<Options>();
    app.add_flag("--verify", options->verify, "count cells that are off, and leave them");
    app.add_option("--first", options->first, "the first crossbar")->capture_default_str();
    app.add_option("--count", options->count, "crossbars; 0: all from the first on")->capture_default_str();
    app.add_option("--ppm", options->ppm, "how much a cell may be off: millionths of its range")
        ->check(CLI::Range(1u, 1'000'000u))
        ->capture_default_str();
    app.add_flag("--no-wait", options->no_wait, "do not wait for its end");
    auto* const show = app.add_flag("--show", options->show, "how the latest one gets on");
    app.add_flag("--abort", options->abort, "end the one that goes on")->excludes(show);
    add_timeout(app, options->timeout);
    return [options](const Context& context) { return refresh(*options, context); };
}

}  // namespace sidra::smi_tool
