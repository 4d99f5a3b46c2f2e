// SPDX-License-Identifier: MIT
// calibrate: lets the firmware measure and correct the offsets of the converters of a card.
#include <memory>

#include "campaign.h"

namespace sidra::smi_tool {

Run declare_calibrate(CLI::App& app) {
    const auto options = std::make_shared<Campaign>();
    add_campaign(app, *options);
    return [options](const Context& context) {
        return run_campaign("calibrate", *options, SIDRA_SMI_CALIBRATE, 0, "crossbars corrected", context);
    };
}

}  // namespace sidra::smi_tool
