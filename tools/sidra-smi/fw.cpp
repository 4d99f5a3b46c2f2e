// SPDX-License-Identifier: MIT
// fw: the firmware of cards: what is there, a new image, the other slot.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <memory>

#include "command.h"
#include "output.h"
#include "report.h"
#include "session.h"
#include "timeout_option.h"

namespace sidra::smi_tool {
namespace {

struct Options {
    bool json = false;
    Timeout timeout{60};
};

tools::Json slot_json(char slot) { return slot == '-' ? tools::Json() : tools::Json(std::string(1, slot)); }

std::string slots_text(const sidra_smi_firmware& info) {
    std::string out =
        fmt::format("  runs        {} of slot {}, security version {}\n",
                    info.version[0] != '\0' ? info.version : "nothing", info.running, info.security_version);
    out += fmt::format("  starts next slot {}{}\n", info.active,
                       info.trial != '-' ? fmt::format(", but slot {} is tried at the next reset", info.trial) : "");
    if (info.failed != '-') out += fmt::format("  slot {} was tried, and failed\n", info.failed);
    if (info.starts > 0) out += fmt::format("  it has started {} times without saying that it is well\n", info.starts);
    return out;
}

sidra_smi_status show(const Options& options, const Context& context) {
    Session session(context.root, context.runtime);
    session.refresh();
    sidra_smi_chip* const chip = session.select_card(context.selectors);
    sidra_smi_firmware info;
    session.check(sidra_smi_firmware_info(chip, &info));
    if (options.json) {
        tools::Json::Object whole = json_head();
        whole.emplace_back("name", text_of(chip, "name"));
        whole.emplace_back("version", info.version[0] != '\0' ? tools::Json(info.version) : tools::Json());
        whole.emplace_back("security_version", info.security_version);
        whole.emplace_back("running", slot_json(info.running));
        whole.emplace_back("active", slot_json(info.active));
        whole.emplace_back("trial", slot_json(info.trial));
        whole.emplace_back("failed", slot_json(info.failed));
        whole.emplace_back("starts", info.starts);
        print(tools::Json(whole).text() + '\n');
        return SIDRA_SMI_OK;
    }
    print(text_of(chip, "name") + '\n' + slots_text(info));
    return SIDRA_SMI_OK;
}

// The driver says that it went well, not what it did; the slots tell, unless one was to be tried before already.
std::string stored_text(const sidra_smi_firmware& before, const sidra_smi_firmware& after) {
    if (after.trial == '-') return "the image is that of the firmware that runs; nothing to do";
    if (after.trial != before.trial) return fmt::format("the image is stored in slot {}", after.trial);
    return fmt::format(
        "slot {} was to be tried before already; the kernel's log says whether the image is stored there anew, or is "
        "that of the firmware that runs",
        after.trial);
}

sidra_smi_status change(bool update, const Options& options, const Context& context) {
    Session session(context.root, context.runtime);
    session.refresh();
    sidra_smi_chip* const chip = session.select_card(context.selectors);
    sidra_smi_firmware before, after;
    session.check(sidra_smi_firmware_info(chip, &before));
    session.check(update ? sidra_smi_firmware_update(chip, options.timeout.ns())
                         : sidra_smi_firmware_activate(chip, options.timeout.ns()));
    session.check(sidra_smi_firmware_info(chip, &after));
    const std::string done = update ? ": " + stored_text(before, after) : std::string();
    print(text_of(chip, "name") + done + '\n' + slots_text(after));
    return SIDRA_SMI_OK;
}

}  // namespace

Run declare_fw(CLI::App& app) {
    const auto options = std::make_shared<Options>();
    app.require_subcommand(1);
    CLI::App* const show_app = app.add_subcommand("show", "what is in the slots, and what starts next");
    show_app->add_flag("--json", options->json, "for programs");
    CLI::App* const update_app =
        app.add_subcommand("update", "store the image of /lib/firmware/sidra in the slot that does not run");
    CLI::App* const activate_app =
        app.add_subcommand("activate", "the slot that does not run is tried at the next reset");
    for (CLI::App* each : {update_app, activate_app}) add_timeout(*each, options->timeout);
    for (CLI::App* each : {show_app, update_app, activate_app}) each->fallthrough();
    return [=](const Context& context) {
        return show_app->parsed() ? show(*options, context) : change(update_app->parsed(), *options, context);
    };
}

}  // namespace sidra::smi_tool
