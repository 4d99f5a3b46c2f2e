// SPDX-License-Identifier: MIT
// top: a live screen of chips, graphs, crossbars and processes.
#include <CLI/CLI.hpp>
#include <memory>

#include "command.h"
#include "number_option.h"
#include "session.h"
#include "top/loop.h"
#include "top/terminal.h"

namespace sidra::smi_tool {
namespace {

sidra_smi_status top(double interval, const Context& context) {
    Session session(context.root, context.runtime);
    session.refresh();
    try {
        session.check(top::run(session.get(), session.select(context.selectors), !context.selectors, interval));
    } catch (const top::NoTerminal& e) {
        throw Failure(SIDRA_SMI_USAGE, e.what());
    }
    return SIDRA_SMI_OK;
}

}  // namespace

Run declare_top(CLI::App& app) {
    const auto interval = std::make_shared<double>(1);
    app.add_option("-n,--interval", *interval, "seconds between readings, 0.1 to 60 (default 1)")
        ->check(within(0.1, 60.0));
    return [interval](const Context& context) { return top(*interval, context); };
}

}  // namespace sidra::smi_tool
