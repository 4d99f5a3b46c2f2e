// SPDX-License-Identifier: MIT
// refresh: has the firmware look through a card's cells, and program those anew that have drifted.
#include <memory>

#include "campaign.h"

namespace sidra::smi_tool {
namespace {

struct Options : Campaign {
    bool verify = false;
    uint32_t ppm = 20'000;
};

}  // namespace

Run declare_refresh(CLI::App& app) {
    const auto options = std::make_shared<Options>();
    app.add_flag("--verify", options->verify, "count cells that are off, and leave them");
    app.add_option("--ppm", options->ppm, "how much a cell may be off: millionths of its range")
        ->check(CLI::Range(1u, 1'000'000u))
        ->capture_default_str();
    auto* const show = app.add_flag("--show", options->show, "how the latest one gets on, calibrate's too");
    app.add_flag("--abort", options->abort, "end the one that goes on")->excludes(show);
    add_campaign(app, *options);
    return [options](const Context& context) {
        const auto kind = options->verify ? SIDRA_SMI_VERIFY : SIDRA_SMI_REFRESH;
        return run_campaign(*options, kind, options->ppm, "cells off", context);
    };
}

}  // namespace sidra::smi_tool
