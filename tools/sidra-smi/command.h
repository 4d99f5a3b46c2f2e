// SPDX-License-Identifier: MIT
// A command of sidra-smi: a file of its own, and a line in the table of commands.cpp.
#ifndef SIDRA_SMI_COMMAND_H
#define SIDRA_SMI_COMMAND_H

#include <sidra/smi.h>

#include <functional>
#include <optional>
#include <span>
#include <string>

namespace CLI {
class App;
}

namespace sidra::smi_tool {

// Options that precede or follow any command.
struct Context {
    std::optional<std::string> selectors;  // --chip
    std::string root, runtime;             // for Session
};

// Runs the command and returns the exit status. Exceptions are reported on standard error.
using Run = std::function<sidra_smi_status(const Context&)>;

struct Command {
    const char* name;
    const char* description;
    // Adds the command's options to `app`, which outlives the returned function.
    Run (*declare)(CLI::App& app);
};

std::span<const Command> commands();

// One function per command.
Run declare_list(CLI::App& app);
Run declare_query(CLI::App& app);
Run declare_cdi(CLI::App& app);
Run declare_slurm(CLI::App& app);
Run declare_top(CLI::App& app);
Run declare_exporter(CLI::App& app);
Run declare_watch(CLI::App& app);
Run declare_ps(CLI::App& app);
Run declare_topo(CLI::App& app);
Run declare_health(CLI::App& app);
Run declare_events(CLI::App& app);
Run declare_map(CLI::App& app);
Run declare_doctor(CLI::App& app);
Run declare_diag(CLI::App& app);
Run declare_fw(CLI::App& app);
Run declare_reset(CLI::App& app);
Run declare_log(CLI::App& app);
Run declare_dump(CLI::App& app);
Run declare_power(CLI::App& app);
Run declare_clock(CLI::App& app);
Run declare_refresh(CLI::App& app);
Run declare_calibrate(CLI::App& app);

// Called if no command is given.
sidra_smi_status summary(const Context& context);

}  // namespace sidra::smi_tool

#endif
