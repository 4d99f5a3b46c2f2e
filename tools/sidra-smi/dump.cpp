// SPDX-License-Identifier: MIT
// dump: core dumps of cards that the kernel keeps for some minutes: lists them, and saves them for sidra-dump.
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
#include "output.h"
#include "report.h"
#include "session.h"

namespace sidra::smi_tool {
namespace {

namespace fs = std::filesystem;
constexpr size_t kDumpLimit = 1 << 20;

struct Options {
    std::string folder;
};

struct Dump {
    std::string name, of;  // devcd1, sidra0
    fs::path data;
};

// Those that are of the chips: of a node what its firmware left, of a PCI function what the driver knew.
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

// Where it lies now. The kernel counts dumps anew after each boot, so a file of this name may be of another one.
std::string save(const Dump& dump, const std::string& folder) {
    if (access(dump.data.c_str(), R_OK) != 0 && errno != ENOENT)
        throw Failure(SIDRA_SMI_PERMISSION, fmt::format("cannot read {}: only root may", dump.data.string()));
    const std::vector<uint8_t> data = tools::read_file(dump.data.string(), kDumpLimit).bytes;
    const std::string_view bytes(reinterpret_cast<const char*>(data.data()), data.size());
    for (unsigned number = 1;; ++number) {
        std::string path =
            fmt::format("{}/{}-{}{}.dump", folder, dump.of, dump.name, number == 1 ? "" : fmt::format("-{}", number));
        // What cannot be looked at cannot be written either, which says why.
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
    if (dumps.empty()) {
        print("no dump of a SIDRA card is kept\n");
        return SIDRA_SMI_OK;
    }
    if (!options.folder.empty()) tools::make_folder(options.folder);
    std::string out;
    sidra_smi_status status = SIDRA_SMI_OK;
    for (const Dump& each : dumps) {
        const bool driver = each.of.find(':') != std::string::npos;
        if (options.folder.empty()) {
            out += fmt::format("{} {} of the {}\n", each.name, each.of, driver ? "driver" : "firmware");
            continue;
        }
        // One that cannot be saved is told of, and the others are saved all the same.
        try {
            out += save(each, options.folder) + '\n';
        } catch (const std::runtime_error& e) {
            const auto* const failure = dynamic_cast<const Failure*>(&e);
            if (status == SIDRA_SMI_OK) status = failure != nullptr ? failure->status() : SIDRA_SMI_INTERNAL;
            say(e.what());
        }
    }
    print(out);
    return status;
}

}  // namespace

Run declare_dump(CLI::App& app) {
    const auto options = std::make_shared<Options>();
    app.add_option("--save", options->folder, "save them into this folder (root); sidra-dump says what is in them");
    return [options](const Context& context) { return dump(*options, context); };
}

}  // namespace sidra::smi_tool
