// SPDX-License-Identifier: MIT
// sidra-smi: monitors and manages SIDRA devices. docs: sidra-smi(1).
#include <fmt/format.h>
#include <signal.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <vector>

#include "command.h"
#include "common/program.h"
#include "common/standard_files.h"
#include "failure.h"
#include "output.h"

namespace sidra::smi_tool {
namespace {

// Edit distance: number of insertions, deletions, replacements and swaps of neighbours.
size_t distance(std::string_view a, std::string_view b) {
    std::vector<std::vector<size_t>> table(a.size() + 1, std::vector<size_t>(b.size() + 1));
    for (size_t i = 0; i <= a.size(); ++i)
        for (size_t j = 0; j <= b.size(); ++j) {
            if (i == 0 || j == 0) {
                table[i][j] = i + j;
                continue;
            }
            table[i][j] =
                std::min({table[i - 1][j] + 1, table[i][j - 1] + 1, table[i - 1][j - 1] + (a[i - 1] != b[j - 1])});
            if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
                table[i][j] = std::min(table[i][j], table[i - 2][j - 2] + 1);
        }
    return table[a.size()][b.size()];
}

std::string unknown_command(const std::string& word, const std::vector<CLI::App*>& apps) {
    constexpr size_t kLongest = 20, kFar = 3;  // longer words are not mistyped commands
    const CLI::App* nearest = nullptr;
    size_t least = word.size() <= kLongest ? kFar : 0;
    for (const CLI::App* app : apps)
        if (const size_t far = distance(word, app->get_name()); far < least) nearest = app, least = far;
    return fmt::format("no such command: '{}' ({})", word,
                       nearest != nullptr ? fmt::format("did you mean '{}'?", nearest->get_name())
                                          : std::string("see sidra-smi help"));
}

sidra_smi_status main_inner(int argc, char** argv) {
    Context context;
    CLI::App app("Monitors and manages SIDRA devices. Without a command it prints a summary.", "sidra-smi");
    tools::offer_version(app);
    app.add_option_function<std::string>(
        "-i,--chip", [&context](const std::string& selectors) { context.selectors = selectors; },
        "chips by index, BDF, node, UUID or its beginning, or process; several with commas");
    app.add_option("--root", context.root, "prefix of /sys, /proc, /dev, /run and /tmp, for the host's in a container")
        ->check(CLI::ExistingDirectory);
    app.add_option("--runtime", context.runtime, "the only folder in which embedded models are searched");
    app.require_subcommand(0, 1);
    app.fallthrough();
    std::vector<Run> runs;
    std::vector<CLI::App*> apps;
    for (const Command& command : commands()) {
        apps.push_back(app.add_subcommand(command.name, command.description));
        runs.push_back(command.declare(*apps.back()));
    }
    std::string topic;
    CLI::App* const help = app.add_subcommand("help", "print the help of a command");
    help->add_option("command", topic, "the command; without it, all commands are listed");
    try {
        app.parse(argc, argv);
    } catch (const CLI::ParseError& e) {
        if (e.get_exit_code() == 0) {
            app.exit(e);  // --help, --version
            return SIDRA_SMI_OK;
        }
        if (const std::vector<std::string> rest = app.remaining(); app.get_subcommands().empty() && !rest.empty())
            if (!rest[0].starts_with('-')) throw Failure(SIDRA_SMI_USAGE, unknown_command(rest[0], apps));
        throw Failure(SIDRA_SMI_USAGE, fmt::format("{} (see sidra-smi --help)", e.what()));
    }
    if (help->parsed()) {
        const auto about = std::ranges::find_if(apps, [&](const CLI::App* one) { return one->get_name() == topic; });
        if (!topic.empty() && about == apps.end()) throw Failure(SIDRA_SMI_USAGE, unknown_command(topic, apps));
        app.clear();  // otherwise app.help() would print the help of the parsed command `help`
        print(topic.empty() ? app.help() : (*about)->help("sidra-smi"));
        return SIDRA_SMI_OK;
    }
    for (size_t n = 0; n < apps.size(); ++n)
        if (apps[n]->parsed()) return runs[n](context);
    return summary(context);
}

}  // namespace
}  // namespace sidra::smi_tool

int main(int argc, char** argv) {
    try {
        // SIGPIPE must not end a command that manages a card in the middle: print() reports the error instead.
        signal(SIGPIPE, SIG_IGN);
        sidra::tools::open_standard_files();
        const sidra_smi_status status = sidra::smi_tool::main_inner(argc, argv);
        sidra::tools::flush_output();
        return status;
    } catch (const sidra::smi_tool::BrokenPipe&) {
        signal(SIGPIPE, SIG_DFL);
        raise(SIGPIPE);  // the caller sees how the program ended
        return SIDRA_SMI_INTERNAL;
    } catch (const sidra::smi_tool::Failure& e) {
        sidra::smi_tool::say(e.what());
        return e.status();
    } catch (const std::exception& e) {
        sidra::smi_tool::say(e.what());
        return SIDRA_SMI_INTERNAL;
    }
}
