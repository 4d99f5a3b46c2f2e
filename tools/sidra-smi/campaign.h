// SPDX-License-Identifier: MIT
// Campaigns: what the commands refresh and calibrate have in common.
#ifndef SIDRA_SMI_TOOL_CAMPAIGN_H
#define SIDRA_SMI_TOOL_CAMPAIGN_H

#include <sidra/smi.h>

#include <CLI/CLI.hpp>
#include <string>

#include "command.h"
#include "format_option.h"
#include "timeout_option.h"

namespace sidra::smi_tool {

struct Campaign {
    bool abort = false, show = false, no_wait = false;
    uint32_t first = 0, count = 0;
    Format format = Format::kText;
    Timeout timeout{5};
};

// Adds the options for the range of crossbars, the output and the timeout.
void add_campaign(CLI::App& app, Campaign& campaign);
// `found`: what the campaign counts, in words. The kind of a campaign that is shown or aborted is unknown.
sidra_smi_status run_campaign(const char* command, const Campaign& campaign, sidra_smi_campaign_kind kind, uint32_t ppm,
                              const char* found, const Context& context);

}  // namespace sidra::smi_tool

#endif
