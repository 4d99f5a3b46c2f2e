// SPDX-License-Identifier: MIT
// calibrate: has the firmware measure what a card's converters are off by, and trim that away.
#include <memory>

#include "campaign.h"

namespace sidra::smi_tool {

Run declare_calibrate(CLI::App& app) {
    const auto options = std::make_shared<Campaign>();
    add_campaign(app, *options);
    return [options](const Context& context) {
        return run_campaign(*options, SIDRA_SMI_CALIBRATE, 0, "crossbars trimmed anew", context);
    };
}

}  // namespace sidra::smi_tool
