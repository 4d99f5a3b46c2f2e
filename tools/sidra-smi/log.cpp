// SPDX-License-Identifier: MIT
// log: what the firmware says.
#include <CLI/CLI.hpp>
#include <memory>

#include "command.h"
#include "output.h"
#include "session.h"
#include "timeout_option.h"

namespace sidra::smi_tool {

Run declare_log(CLI::App& app) {
    const auto timeout = std::make_shared<Timeout>(Timeout{5});
    add_timeout(app, *timeout);
    return [timeout](const Context& context) {
        Session session(context.root, context.runtime);
        session.refresh();
        const char* text = nullptr;
        session.check(sidra_smi_log(session.select_card(context.selectors), timeout->ns(), &text));
        print(text);
        return SIDRA_SMI_OK;
    };
}

}  // namespace sidra::smi_tool
