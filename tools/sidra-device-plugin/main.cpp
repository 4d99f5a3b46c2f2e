// SPDX-License-Identifier: MIT
// sidra-device-plugin: gives cards to the containers of Kubernetes. docs: sidra-device-plugin(8).
#include <fmt/format.h>
#include <poll.h>
#include <sidra/smi.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <filesystem>
#include <memory>
#include <utility>
#include <vector>

#include "cdi_document.h"
#include "common/output_file.h"
#include "common/program.h"
#include "common/signals.h"
#include "devices.h"
#include "plugin.h"

namespace sidra::device_plugin {
namespace {

struct Options {
    std::string folder = "/var/lib/kubelet/device-plugins";
    std::string cdi_folder = "/var/run/cdi";
    std::string root;
    bool no_cdi = false;
    double seconds = 1;
};

void say(const std::string& what) { std::fputs(fmt::format("sidra-device-plugin: {}\n", what).c_str(), stderr); }

struct Close {
    void operator()(sidra_smi* session) const { sidra_smi_close(session); }
};
using Session = std::unique_ptr<sidra_smi, Close>;

Session open_session(const std::string& root) {
    sidra_smi_options options = {};
    options.struct_size = sizeof options;
    options.root = root.empty() ? nullptr : root.c_str();
    sidra_smi* session = nullptr;
    if (sidra_smi_open(&options, &session) != SIDRA_SMI_OK) throw tools::Failure("out of memory");
    Session opened(session);
    if (sidra_smi_policy_load(session) != SIDRA_SMI_OK) throw tools::Failure(sidra_smi_error(session));
    return opened;
}

// Reads the cards again and again.
class Watcher {
   public:
    explicit Watcher(const Options& options) : options_(options), session_(open_session(options.root)) {}

    // Waits for an event or the interval, except at the first call. Reports what has changed.
    void read(Board& board) {
        sidra_smi* const session = session_.get();
        if (sidra_smi_policy_load(session) != SIDRA_SMI_OK) report(policy_, sidra_smi_error(session));
        const sidra_smi_event* events = nullptr;
        uint32_t count = 0;
        const auto timeout_ns = static_cast<uint64_t>(options_.seconds * 1e9);
        if (sidra_smi_events(session, timeout_ns, &events, &count) != SIDRA_SMI_OK)
            return report(reading_, fmt::format("cannot read the cards: {}", sidra_smi_error(session)));
        for (uint32_t n = 0; n < count; ++n)
            if (sidra_smi_kind_of(events[n].chip) == SIDRA_SMI_CARD)
                say(fmt::format("{}: {}", sidra_smi_text_of(events[n].chip, "name"), events[n].text));
        std::vector<std::string> left_out;
        Devices devices = devices_of(session, board.get(), left_out);
        std::string nodes;
        for (const std::string& node : left_out) nodes += fmt::format("{}{}", nodes.empty() ? "" : ", ", node);
        report(left_out_, nodes.empty() ? "" : fmt::format("cards with the same UUID are no devices: {}", nodes));
        if (options_.no_cdi) {
            board.set(std::move(devices));
            return;
        }
        // Before and after the file changes, nothing is offered that it does not describe: no runtime would find it.
        board.set(described(devices));
        write_cdi(devices);
        board.set(described(devices));
    }

   private:
    // Once for each text.
    static void report(std::string& last, const std::string& what) {
        if (what != last && !what.empty()) say(what);
        last = what;
    }

    // The devices, of which only those that are in the file are healthy.
    Devices described(Devices devices) const {
        for (auto& [uuid, device] : devices)
            if (std::ranges::find(written_, smi_tool::CdiCard{device.node, uuid}) == written_.end())
                device.healthy = false;
        return devices;
    }

    // The names that Allocate() answers with. A failure is reported, and tried again with the next reading.
    void write_cdi(const Devices& devices) {
        std::vector<smi_tool::CdiCard> cards;
        for (const auto& [uuid, device] : devices)
            if (device.healthy) cards.push_back({device.node, uuid});
        if (cards == written_) return;
        std::vector<std::string> left_out;
        const std::string path = options_.cdi_folder + "/sidra.json";
        try {
            tools::make_folder(options_.cdi_folder);
            if (!cards.empty()) tools::write_file(path, smi_tool::cdi_document(cards, &left_out).text() + '\n');
            written_ = std::move(cards);
            cdi_.clear();
        } catch (const std::exception& e) {
            written_.clear();
            report(cdi_, fmt::format("{}; containers get no cards (--no-cdi gives them nodes instead)", e.what()));
        }
    }

    const Options& options_;
    const Session session_;
    std::vector<smi_tool::CdiCard> written_;         // the cards in the file
    std::string policy_, reading_, left_out_, cdi_;  // as reported last
};

void run(int argc, char** argv) {
    Options options;
    CLI::App app("Gives SIDRA cards to the containers of Kubernetes, as a device plugin of the kubelet.",
                 "sidra-device-plugin");
    app.add_option("--kubelet", options.folder, "folder of the kubelet's sockets")
        ->capture_default_str()
        ->type_name("FOLDER");
    app.add_option("--cdi-folder", options.cdi_folder, "folder where the container runtime finds CDI files")
        ->capture_default_str()
        ->type_name("FOLDER");
    app.add_flag("--no-cdi", options.no_cdi, "give nodes to containers, for runtimes without CDI");
    app.add_option("--root", options.root, "prefix of /sys, /etc and /var/lib, where a container has the host's")
        ->check(CLI::ExistingDirectory);
    app.add_option("-n,--interval", options.seconds, "seconds between readings of the cards")
        ->check(CLI::Range(0.05, 10.0))
        ->capture_default_str();
    if (!tools::parse_arguments(app, argc, argv)) return;
    if (!std::filesystem::is_directory(options.folder))
        throw tools::Failure(
            fmt::format("there is no folder {}: does a kubelet run here? (--kubelet)", options.folder));
    tools::Signals signals = {SIGINT, SIGTERM};  // before gRPC has threads
    Watcher watcher(options);
    Board board;
    Plugin plugin(options.folder, smi_tool::kCdiKind, board, options.no_cdi ? Way::kNodes : Way::kCdi);
    do {
        watcher.read(board);
        plugin.tend();
    } while (signals.next() == 0);
}

}  // namespace
}  // namespace sidra::device_plugin

int main(int argc, char** argv) {
    return sidra::tools::run_program("sidra-device-plugin", [&] { sidra::device_plugin::run(argc, argv); });
}
