// SPDX-License-Identifier: MIT
// exporter: all chips as metrics of Prometheus.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <cerrno>
#include <memory>
#include <optional>
#include <stdexcept>

#include "command.h"
#include "common/output_file.h"
#include "common/signals.h"
#include "exporter/metrics.h"
#include "exporter/server.h"
#include "output.h"
#include "session.h"

namespace sidra::smi_tool {
namespace {

constexpr const char* kDefaultAddress = "127.0.0.1:9834";

struct Options {
    bool once = false, allow_remote = false;
    std::string output;
    std::vector<std::string> listen;
};

exporter::Address address_of(const std::string& text, bool allow_remote) {
    try {
        exporter::Address address = exporter::parse_address(text);
        if (!address.loopback && !allow_remote)
            throw Failure(SIDRA_SMI_USAGE,
                          fmt::format("{} can be reached from other machines, and everybody there could read what is "
                                      "exported: --allow-remote if that is meant",
                                      text));
        return address;
    } catch (const std::invalid_argument& e) {
        throw Failure(SIDRA_SMI_USAGE, e.what());
    }
}

std::unique_ptr<exporter::Listener> listen_on(const exporter::Address& address) {
    try {
        return std::make_unique<exporter::Listener>(address);
    } catch (const exporter::CannotListen& e) {
        throw Failure(e.error() == EADDRINUSE                     ? SIDRA_SMI_BUSY
                      : e.error() == EACCES || e.error() == EPERM ? SIDRA_SMI_PERMISSION
                                                                  : SIDRA_SMI_INTERNAL,
                      e.what());
    }
}

sidra_smi_status once(const Options& options, const Context& context) {
    if (!options.output.empty()) tools::require_writable(options.output);
    Session session(context.root, context.runtime);
    session.refresh();
    const std::string text = exporter::metrics_text(session.get());
    if (options.output.empty()) print(text);
    else tools::write_file(options.output, text);
    return SIDRA_SMI_OK;
}

sidra_smi_status serve(const Options& options, const Context& context) {
    std::vector<exporter::Address> addresses;
    for (const std::string& text : options.listen) addresses.push_back(address_of(text, options.allow_remote));
    if (addresses.empty()) addresses.push_back(address_of(kDefaultAddress, false));
    const tools::Signals signals = {SIGINT, SIGTERM, SIGHUP};
    Session session(context.root, context.runtime);
    std::vector<std::unique_ptr<exporter::Listener>> listeners;
    for (const exporter::Address& address : addresses) {
        listeners.push_back(listen_on(address));
        say(fmt::format("metrics at {}", listeners.back()->text()));
    }
    const auto metrics = [&session]() -> std::optional<std::string> {
        if (sidra_smi_refresh(session.get()) != SIDRA_SMI_OK) return std::nullopt;
        return exporter::metrics_text(session.get());
    };
    exporter::Server(std::move(listeners), metrics).run(signals.fd());
    return SIDRA_SMI_OK;
}

}  // namespace

Run declare_exporter(CLI::App& app) {
    const auto options = std::make_shared<Options>();
    CLI::Option* once_option = app.add_flag("--once", options->once, "write the metrics once, and end");
    app.add_option("--output", options->output,
                   "with --once: to this file, which is whole at any time (textfile collector)")
        ->needs(once_option);
    CLI::Option* listen =
        app.add_option("--listen", options->listen,
                       fmt::format("unix:PATH, 127.0.0.1:PORT or [::1]:PORT; more than once: all of them "
                                   "(default {})",
                                   kDefaultAddress));
    listen->excludes(once_option)->allow_extra_args(false);
    app.add_flag("--allow-remote", options->allow_remote,
                 "also addresses that other machines reach; there is no encryption and no password")
        ->excludes(once_option);
    return [options](const Context& context) {
        if (!context.selectors.empty())
            throw Failure(SIDRA_SMI_USAGE, "exporter exports all chips; --chip is of other commands");
        return options->once ? once(*options, context) : serve(*options, context);
    };
}

}  // namespace sidra::smi_tool
