// SPDX-License-Identifier: MIT
// sidra-smi: what an operator sees of SIDRA chips, and what mends them. docs: sidra-smi(1).
#include <fmt/format.h>
#include <signal.h>

#include <CLI/CLI.hpp>
#include <vector>

#include "command.h"
#include "common/program.h"
#include "common/standard_files.h"
#include "failure.h"
#include "output.h"

namespace sidra::smi_tool {
namespace {

sidra_smi_status main_inner(int argc, char** argv) {
    Context context;
    CLI::App app("Shows SIDRA chips, and mends them. Without a command: a summary.", "sidra-smi");
    tools::offer_version(app);
    app.add_option("-i,--chip", context.selectors,
                   "index, BDF, node, UUID or its beginning, process; several with commas");
    app.add_option("--root", context.root,
                   "prefix of /sys, /proc, /dev, /run and /tmp: where those of the host are in a container")
        ->check(CLI::ExistingDirectory);
    app.add_option("--runtime", context.runtime, "the one folder where chips inside of processes are looked for");
    app.require_subcommand(0, 1);
    app.fallthrough();
    std::vector<Run> runs;
    std::vector<CLI::App*> apps;
    for (const Command& command : commands()) {
        apps.push_back(app.add_subcommand(command.name, command.description));
        runs.push_back(command.declare(*apps.back()));
    }
    try {
        app.parse(argc, argv);
    } catch (const CLI::ParseError& e) {
        if (e.get_exit_code() == 0) {
            app.exit(e);  // --help, --version
            return SIDRA_SMI_OK;
        }
        throw Failure(SIDRA_SMI_USAGE, fmt::format("{} (sidra-smi --help)", e.what()));
    }
    for (size_t n = 0; n < apps.size(); ++n)
        if (apps[n]->parsed()) return runs[n](context);
    return summary(context);
}

}  // namespace
}  // namespace sidra::smi_tool

int main(int argc, char** argv) {
    try {
        // A pipe that nobody reads is an error of write() with a sentence, not a death.
        signal(SIGPIPE, SIG_IGN);
        sidra::tools::open_standard_files();
        const sidra_smi_status status = sidra::smi_tool::main_inner(argc, argv);
        sidra::tools::flush_output();
        return status;
    } catch (const sidra::smi_tool::Failure& e) {
        sidra::smi_tool::say(e.what());
        return e.status();
    } catch (const std::exception& e) {
        sidra::smi_tool::say(e.what());
        return SIDRA_SMI_INTERNAL;
    }
}
