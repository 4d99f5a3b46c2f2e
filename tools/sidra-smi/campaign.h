// SPDX-License-Identifier: MIT
// What the firmware does to crossbars in the background, as far as its commands are alike.
#ifndef SIDRA_SMI_TOOL_CAMPAIGN_H
#define SIDRA_SMI_TOOL_CAMPAIGN_H

#include <sidra/smi.h>

#include <CLI/CLI.hpp>
#include <string>

#include "command.h"
#include "timeout_option.h"

namespace sidra::smi_tool {

struct Campaign {
    bool abort = false, show = false, no_wait = false;
    uint32_t first = 0, count = 0;
    Timeout timeout{5};
};

// Those of where and how long.
void add_campaign(CLI::App& app, Campaign& campaign);
// `found`: what is counted, in words. Of the latest one, which is shown or aborted, nobody knows what it was.
sidra_smi_status run_campaign(const Campaign& campaign, sidra_smi_campaign_kind kind, uint32_t ppm, const char* found,
                              const Context& context);

}  // namespace sidra::smi_tool

#endif
