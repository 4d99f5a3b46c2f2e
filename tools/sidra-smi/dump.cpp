// SPDX-License-Identifier: MIT
// dump: core dumps of cards that the kernel keeps for some minutes: lists them, and saves them for sidra-dump.
#include <fmt/format.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
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

sidra_smi_status dump(const Options& options, const Context& context) {
    Session session(context.root, context.runtime);
    session.refresh();
    const std::vector<Dump> dumps = find(context.root, session.select(context.selectors));
    std::string out;
    for (const Dump& each : dumps) {
        const bool driver = each.of.find(':') != std::string::npos;
        if (options.folder.empty()) {
            out += fmt::format("{} {} of the {}\n", each.name, each.of, driver ? "driver" : "firmware");
            continue;
        }
        if (access(each.data.c_str(), R_OK) != 0)
            throw Failure(SIDRA_SMI_PERMISSION, fmt::format("cannot read {}: only root may", each.data.string()));
        const std::vector<uint8_t> bytes = tools::read_file(each.data.string(), kDumpLimit).bytes;
        const std::string path = fmt::format("{}/{}-{}.dump", options.folder, each.of, each.name);
        tools::write_new_file(path, {reinterpret_cast<const char*>(bytes.data()), bytes.size()}, true);
        out += path + '\n';
    }
    print(out.empty() ? "no dump of a SIDRA card is kept\n" : out);
    return SIDRA_SMI_OK;
}

}  // namespace

Run declare_dump(CLI::App& app) {
    const auto options = std::make_shared<Options>();
    app.add_option("--save", options->folder, "save them into this folder (root); sidra-dump says what is in them");
    return [options](const Context& context) { return dump(*options, context); };
}

}  // namespace sidra::smi_tool
