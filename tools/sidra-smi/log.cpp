// SPDX-License-Identifier: MIT
// log: prints the firmware log of a card.
#include <CLI/CLI.hpp>
#include <memory>

#include "command.h"
#include "format_option.h"
#include "output.h"
#include "session.h"
#include "timeout_option.h"

namespace sidra::smi_tool {

Run declare_log(CLI::App& app) {
    struct Options {
        Format format = Format::kText;
        Timeout timeout{5};
    };
    const auto options = std::make_shared<Options>();
    add_format(app, options->format, Formats::kTextJson);
    add_timeout(app, options->timeout);
    return [options](const Context& context) {
        Session session(context.root, context.runtime);
        session.refresh();
        const char* text = nullptr;
        sidra_smi_chip* const chip = session.select_card(context.selectors);
        session.check(sidra_smi_log(chip, options->timeout.ns(), &text));
        if (options->format == Format::kJson) {
            tools::Json::Object whole = json_head("log");
            whole.emplace_back("name", text_of(chip, "name"));
            whole.emplace_back("text", text);
            print(tools::Json(whole).text() + '\n');
        } else {
            print(text);
        }
        return SIDRA_SMI_OK;
    };
}

}  // namespace sidra::smi_tool
