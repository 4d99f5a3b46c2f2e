// SPDX-License-Identifier: MIT
// reset: resets a card and prints each phase with its time.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <exception>
#include <memory>

#include "command.h"
#include "format_option.h"
#include "output.h"
#include "processes.h"
#include "session.h"
#include "timeout_option.h"
#include "units.h"

namespace sidra::smi_tool {
namespace {

struct Options {
    bool force = false;
    Format format = Format::kText;
    Timeout timeout{30};
};

struct Progress {
    std::string name;
    Format format;
    tools::Json::Array phases;
    std::exception_ptr failure;  // of print(); no exception passes through the library or interrupts a reset
};

void phase(void* user, const char* phase, double, uint64_t elapsed_ns) {
    auto& progress = *static_cast<Progress*>(user);
    try {
        if (progress.format == Format::kJson)
            progress.phases.emplace_back(tools::Json::Object{{"phase", phase}, {"begins_ns", elapsed_ns}});
        else if (!progress.failure)
            print(fmt::format("{}  {:>9}  {}\n", progress.name, seconds_text(elapsed_ns), phase));
    } catch (...) {
        progress.failure = std::current_exception();
    }
}

sidra_smi_status reset(const Options& options, const Context& context) {
    Session session(context.root, context.runtime);
    session.refresh();
    sidra_smi_chip* const chip = session.select_card(context.selectors);
    Progress progress{text_of(chip, "name"), options.format, {}, {}};
    const sidra_smi_status status = sidra_smi_reset(chip, options.force, options.timeout.ns(), phase, &progress);
    if (status == SIDRA_SMI_BUSY && !progress.failure && options.format == Format::kText) print(processes_text({chip}));
    session.check(status);
    if (progress.failure) std::rethrow_exception(progress.failure);
    if (options.format == Format::kText) {
        print(fmt::format("{}  ready\n", progress.name));
        return SIDRA_SMI_OK;
    }
    tools::Json::Object whole = json_head("reset");
    whole.emplace_back("name", progress.name);
    whole.emplace_back("phases", progress.phases);
    print(tools::Json(whole).text() + '\n');
    return SIDRA_SMI_OK;
}

}  // namespace

Run declare_reset(CLI::App& app) {
    const auto options = std::make_shared<Options>();
    app.add_flag("--force", options->force, "reset even if processes have contexts on the card, which are lost");
    add_format(app, options->format, Formats::kTextJson);
    add_timeout(app, options->timeout);
    return [options](const Context& context) { return reset(*options, context); };
}

}  // namespace sidra::smi_tool
