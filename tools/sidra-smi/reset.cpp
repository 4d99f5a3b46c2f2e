// SPDX-License-Identifier: MIT
// reset: resets a card; every phase with its time.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <exception>
#include <memory>

#include "command.h"
#include "output.h"
#include "processes.h"
#include "session.h"
#include "timeout_option.h"
#include "units.h"

namespace sidra::smi_tool {
namespace {

struct Options {
    bool force = false;
    Timeout timeout{30};
};

struct Progress {
    std::string name;
    std::exception_ptr failure;  // to print; no exception goes through the library, nor ends a reset in its middle
};

void phase(void* user, const char* phase, double, uint64_t elapsed_ns) {
    auto& progress = *static_cast<Progress*>(user);
    try {
        if (!progress.failure) print(fmt::format("{}  {:>9}  {}\n", progress.name, seconds_text(elapsed_ns), phase));
    } catch (...) {
        progress.failure = std::current_exception();
    }
}

sidra_smi_status reset(const Options& options, const Context& context) {
    Session session(context.root, context.runtime);
    session.refresh();
    sidra_smi_chip* const chip = session.select_card(context.selectors);
    Progress progress{text_of(chip, "name"), {}};
    const sidra_smi_status status = sidra_smi_reset(chip, options.force, options.timeout.ns(), phase, &progress);
    if (status == SIDRA_SMI_BUSY && !progress.failure) print(processes_text({chip}));
    session.check(status);
    if (progress.failure) std::rethrow_exception(progress.failure);
    print(fmt::format("{}  it answers, and is ready\n", progress.name));
    return SIDRA_SMI_OK;
}

}  // namespace

Run declare_reset(CLI::App& app) {
    const auto options = std::make_shared<Options>();
    app.add_flag("--force", options->force, "also if somebody has contexts there, which are lost");
    add_timeout(app, options->timeout);
    return [options](const Context& context) { return reset(*options, context); };
}

}  // namespace sidra::smi_tool
