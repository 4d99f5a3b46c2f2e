// SPDX-License-Identifier: MIT
// dump: lists the core dumps of cards that the kernel keeps for some minutes, and saves them for sidra-dump.
#include <fmt/format.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <memory>

#include "command.h"
#include "common/input_file.h"
#include "common/output_file.h"
#include "format_option.h"
#include "output.h"
#include "report.h"
#include "session.h"

namespace sidra::smi_tool {
namespace {

namespace fs = std::filesystem;
constexpr size_t kDumpLimit = 1 << 20;

struct Options {
    std::string folder;
    Format format = Format::kText;
};

struct Dump {
    std::string name, of;  // devcd1, sidra0
    fs::path data;
};

// Dumps of the chips: those of a node come from the firmware, those of a PCI function from the driver.
std::vector<Dump> find(const std::string& root, const std::vector<sidra_smi_chip*>& chips) {
    std::vector<Dump> dumps;
    std::error_code error;
    for (const auto& entry : fs::directory_iterator(root + "/sys/class/devcoredump", error)) {
        if (!entry.path().filename().string().starts_with("devcd")) continue;
        const std::string device = fs::read_symlink(entry.path() / "failing_device", error).filename().string();
        for (sidra_smi_chip* chip : chips)
            if (!device.empty() && (device == text_of(chip, "name") || device == text_of(chip, "bdf")))
                dumps.push_back({entry.path().filename().string(), device, entry.path() / "data"});
    }
    std::sort(dumps.begin(), dumps.end(), [](const Dump& a, const Dump& b) { return a.name < b.name; });
    return dumps;
}

bool has(const std::string& path, std::string_view bytes) {
    try {
        const std::vector<uint8_t> there = tools::read_file(path, kDumpLimit).bytes;
        return std::equal(there.begin(), there.end(), bytes.begin(), bytes.end(),
                          [](uint8_t a, char b) { return a == static_cast<uint8_t>(b); });
    } catch (const std::runtime_error&) {
        return false;
    }
}

// Saves a dump and returns its path. The kernel numbers dumps from one after each boot, so a file with this name may
// contain a different dump.
std::string save(const Dump& dump, const std::string& folder) {
    if (access(dump.data.c_str(), R_OK) != 0 && errno != ENOENT)
        throw Failure(SIDRA_SMI_PERMISSION,
                      fmt::format("cannot read {}: permission denied: root is required", dump.data.string()));
    const std::vector<uint8_t> data = tools::read_file(dump.data.string(), kDumpLimit).bytes;
    const std::string_view bytes(reinterpret_cast<const char*>(data.data()), data.size());
    for (unsigned number = 1;; ++number) {
        std::string path =
            fmt::format("{}/{}-{}{}.dump", folder, dump.of, dump.name, number == 1 ? "" : fmt::format("-{}", number));
        // If the file cannot be examined, writing it fails, too, and says why.
        std::error_code error;
        const fs::file_type there = fs::symlink_status(path, error).type();
        if (there == fs::file_type::not_found || there == fs::file_type::none) {
            tools::write_new_file(path, bytes, true);
            return path;
        }
        if (has(path, bytes)) return path;
    }
}

sidra_smi_status dump(const Options& options, const Context& context) {
    Session session(context.root, context.runtime);
    session.refresh();
    const std::vector<Dump> dumps = find(context.root, session.select(context.selectors));
    if (!dumps.empty() && !options.folder.empty()) tools::make_folder(options.folder);
    std::string out = dumps.empty() ? "no core dump of a SIDRA card\n" : "";
    tools::Json::Array all;
    sidra_smi_status status = SIDRA_SMI_OK;
    for (const Dump& each : dumps) {
        const char* const source = each.of.find(':') != std::string::npos ? "driver" : "firmware";
        tools::Json file;
        // If one dump cannot be saved, save the others.
        try {
            if (options.folder.empty()) {
                out += fmt::format("{} {} of the {}\n", each.name, each.of, source);
            } else {
                const std::string path = save(each, options.folder);
                out += path + '\n';
                file = path;
            }
        } catch (const std::runtime_error& e) {
            const auto* const failure = dynamic_cast<const Failure*>(&e);
            if (status == SIDRA_SMI_OK) status = failure != nullptr ? failure->status() : SIDRA_SMI_INTERNAL;
            say(e.what());
        }
        all.emplace_back(tools::Json::Object{{"name", each.name}, {"of", each.of}, {"source", source}, {"file", file}});
    }
    tools::Json::Object whole = json_head("dump");
    whole.emplace_back("dumps", all);
    print(options.format == Format::kJson ? tools::Json(whole).text() + '\n' : out);
    return status;
}

}  // namespace

Run declare_dump(CLI::App& app) {
    const auto options = std::make_shared<Options>();
    app.add_option("--save", options->folder, "save them to this folder (root); sidra-dump prints their contents");
    add_format(app, options->format, Formats::kTextJson);
    return [options](const Context& context) { return dump(*options, context); };
}

}  // namespace sidra::smi_tool
