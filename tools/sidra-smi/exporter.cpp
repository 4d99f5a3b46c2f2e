// SPDX-License-Identifier: MIT
// exporter: metrics of all chips for Prometheus.
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
    bool once = false, allow_remote = false, help_fields = false;
    std::string output;
    std::vector<std::string> listen;
};

exporter::Address address_of(const std::string& text, bool allow_remote) {
    try {
        exporter::Address address = exporter::parse_address(text);
        if (!address.loopback && !allow_remote)
            throw Failure(SIDRA_SMI_USAGE,
                          fmt::format("{} can be reached from other machines without a password or encryption: give "
                                      "--allow-remote to allow that",
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
    session.check(sidra_smi_policy_load(session.get()));
    session.check(sidra_smi_history_load(session.get()));
    session.refresh();
    const std::string text = exporter::metrics_text(session.get());
    if (options.output.empty()) print(text);
    else tools::write_file(options.output, text);
    session.check(sidra_smi_history_save(session.get()));
    return SIDRA_SMI_OK;
}

sidra_smi_status serve(const Options& options, const Context& context) {
    std::vector<exporter::Address> addresses;
    for (const std::string& text : options.listen) addresses.push_back(address_of(text, options.allow_remote));
    if (addresses.empty()) addresses.push_back(address_of(kDefaultAddress, false));
    const tools::Signals signals = {SIGINT, SIGTERM, SIGHUP};
    Session session(context.root, context.runtime);
    session.check(sidra_smi_policy_load(session.get()));
    std::vector<std::unique_ptr<exporter::Listener>> listeners;
    for (const exporter::Address& address : addresses) {
        listeners.push_back(listen_on(address));
        say(fmt::format("serving metrics at {}", listeners.back()->text()));
    }
    std::string wrong;  // with the policy, as reported last
    const auto metrics = [&session, &wrong]() -> std::optional<std::string> {
        // A policy that was changed; one with a mistake leaves the former one in force.
        sidra_smi_policy_load(session.get());
        if (const std::string now = sidra_smi_error(session.get()); now != wrong && !now.empty()) say(now);
        wrong = sidra_smi_error(session.get());
        if (sidra_smi_refresh(session.get()) != SIDRA_SMI_OK) return std::nullopt;
        return exporter::metrics_text(session.get());
    };
    exporter::Server(std::move(listeners), metrics).run(signals.fd());
    return SIDRA_SMI_OK;
}

}  // namespace

Run declare_exporter(CLI::App& app) {
    const auto options = std::make_shared<Options>();
    CLI::Option* once_option = app.add_flag("--once", options->once, "print the metrics once and exit");
    app.add_option("--output", options->output, "with --once: write this file atomically (for the textfile collector)")
        ->needs(once_option);
    CLI::Option* listen =
        app.add_option("--listen", options->listen,
                       fmt::format("address: unix:PATH, 127.0.0.1:PORT or [::1]:PORT; can be repeated "
                                   "(default {})",
                                   kDefaultAddress));
    listen->excludes(once_option)->allow_extra_args(false);
    app.add_flag("--allow-remote", options->allow_remote,
                 "allow addresses that other machines can reach, without encryption or password")
        ->excludes(once_option);
    app.add_flag("--help-fields", options->help_fields, "list all metrics with types and descriptions");
    return [options](const Context& context) {
        if (context.selectors)
            throw Failure(SIDRA_SMI_USAGE, "exporter always exports all chips: --chip is not supported");
        if (options->help_fields) {
            print(exporter::help_text());
            return SIDRA_SMI_OK;
        }
        return options->once ? once(*options, context) : serve(*options, context);
    };
}

}  // namespace sidra::smi_tool
