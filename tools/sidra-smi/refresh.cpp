// SPDX-License-Identifier: MIT
// refresh: lets the firmware verify the cells of a card and reprogram those that have drifted.
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
    app.add_flag("--verify", options->verify, "only count the cells that are out of tolerance");
    app.add_option("--ppm", options->ppm, "tolerance, ppm of full range")
        ->check(CLI::Range(1u, 1'000'000u))
        ->capture_default_str();
    auto* const show =
        app.add_flag("--show", options->show, "show the progress of the latest campaign, also of calibrate");
    app.add_flag("--abort", options->abort, "abort the running campaign")->excludes(show);
    add_campaign(app, *options);
    return [options](const Context& context) {
        const auto kind = options->verify ? SIDRA_SMI_VERIFY : SIDRA_SMI_REFRESH;
        return run_campaign("refresh", *options, kind, options->ppm, "cells out of tolerance", context);
    };
}

}  // namespace sidra::smi_tool
