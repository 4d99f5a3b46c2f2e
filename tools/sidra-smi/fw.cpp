// SPDX-License-Identifier: MIT
// fw: shows, updates and activates the firmware of a card.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <memory>

#include "command.h"
#include "format_option.h"
#include "output.h"
#include "report.h"
#include "session.h"
#include "timeout_option.h"

namespace sidra::smi_tool {
namespace {

struct Options {
    Format format = Format::kText;
    Timeout timeout{60};
};

tools::Json slot_json(char slot) { return slot == '-' ? tools::Json() : tools::Json(std::string(1, slot)); }

std::string slots_text(const sidra_smi_firmware& info) {
    std::string out = fmt::format("  running     {} from slot {}, security version {}\n",
                                  info.version[0] != '\0' ? info.version : "none", info.running, info.security_version);
    out += fmt::format("  next start  slot {}{}\n", info.active,
                       info.trial != '-' ? fmt::format(", but slot {} is tried at the next reset", info.trial) : "");
    if (info.failed != '-') out += fmt::format("  failed      slot {} failed its trial\n", info.failed);
    if (info.starts > 0) out += fmt::format("  unconfirmed {} starts without a confirmation\n", info.starts);
    return out;
}

tools::Json json_of(const char* command, sidra_smi_chip* chip, const sidra_smi_firmware& info) {
    tools::Json::Object whole = json_head(command);
    whole.emplace_back("name", text_of(chip, "name"));
    whole.emplace_back("version", info.version[0] != '\0' ? tools::Json(info.version) : tools::Json());
    whole.emplace_back("security_version", info.security_version);
    whole.emplace_back("running", slot_json(info.running));
    whole.emplace_back("active", slot_json(info.active));
    whole.emplace_back("trial", slot_json(info.trial));
    whole.emplace_back("failed", slot_json(info.failed));
    whole.emplace_back("starts", info.starts);
    return whole;
}

sidra_smi_status show(const Options& options, const Context& context) {
    Session session(context.root, context.runtime);
    session.refresh();
    sidra_smi_chip* const chip = session.select_card(context.selectors);
    sidra_smi_firmware info;
    session.check(sidra_smi_firmware_info(chip, &info));
    if (options.format == Format::kJson) {
        print(json_of("fw show", chip, info).text() + '\n');
        return SIDRA_SMI_OK;
    }
    print(text_of(chip, "name") + '\n' + slots_text(info));
    return SIDRA_SMI_OK;
}

// The driver reports success but not what it did. The slots show it, unless a slot was on trial before.
std::string stored_text(const sidra_smi_firmware& before, const sidra_smi_firmware& after) {
    if (after.trial == '-') return "the image is the running firmware; nothing to do";
    if (after.trial != before.trial) return fmt::format("the image was stored in slot {}", after.trial);
    return fmt::format(
        "slot {} was already on trial; the kernel log says whether the image was stored there again or is the running "
        "firmware",
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
    if (options.format == Format::kJson) {
        print(json_of(update ? "fw update" : "fw activate", chip, after).text() + '\n');
        return SIDRA_SMI_OK;
    }
    const std::string done = update ? ": " + stored_text(before, after) : std::string();
    print(text_of(chip, "name") + done + '\n' + slots_text(after));
    return SIDRA_SMI_OK;
}

}  // namespace

Run declare_fw(CLI::App& app) {
    const auto options = std::make_shared<Options>();
    app.require_subcommand(1);
    CLI::App* const show_app = app.add_subcommand("show", "show the slots and which of them starts next");
    CLI::App* const update_app =
        app.add_subcommand("update", "store the image in /lib/firmware/sidra in the slot that does not run");
    CLI::App* const activate_app = app.add_subcommand("activate", "try the slot that does not run at the next reset");
    for (CLI::App* each : {update_app, activate_app}) add_timeout(*each, options->timeout);
    for (CLI::App* each : {show_app, update_app, activate_app}) {
        add_format(*each, options->format, Formats::kTextJson);
        each->fallthrough();
    }
    return [=](const Context& context) {
        return show_app->parsed() ? show(*options, context) : change(update_app->parsed(), *options, context);
    };
}

}  // namespace sidra::smi_tool
