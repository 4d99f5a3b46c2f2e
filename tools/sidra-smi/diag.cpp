// SPDX-License-Identifier: MIT
// diag: tries a card out. quick: by what can be read; full: it copies, programs and multiplies besides.
#include <fmt/format.h>
#include <stdlib.h>
#include <time.h>

#include <CLI/CLI.hpp>
#include <chrono>
#include <memory>

#include "command.h"
#include "output.h"
#include "session.h"
#include "steps.h"
#include "units.h"

namespace sidra::smi_tool {
namespace {

struct Options {
    std::string level = "quick";
    bool model = false;
};

constexpr long kBetweenNs = 100'000'000;

uint64_t count(sidra_smi_chip* chip, const char* field) {
    const sidra_smi_value value = value_of(chip, field);
    if (value.type != SIDRA_SMI_UINT) throw std::runtime_error(fmt::format("{} cannot be read", field));
    return value.u;
}

// Reading telemetry goes through the registers: both its clock and the count of reads have to go on.
std::string registers(Session& session, sidra_smi_chip* chip) {
    const uint64_t clock = count(chip, "clock.device"), reads = count(chip, "mmio.reads");
    const struct timespec between = {0, kBetweenNs};
    nanosleep(&between, nullptr);
    session.refresh();
    if (count(chip, "clock.device") <= clock) throw std::runtime_error("its clock stands still");
    if (count(chip, "mmio.reads") <= reads) throw std::runtime_error("it does not count that it is read");
    return "its clock goes on, and it counts reads";
}

std::string health(sidra_smi_chip* chip) {
    const sidra_smi_finding* findings = nullptr;
    uint32_t found = 0;
    const sidra_smi_status status = sidra_smi_health(chip, &findings, &found);
    for (uint32_t n = 0; n < found; ++n)
        if (findings[n].severity == SIDRA_SMI_CRITICAL)
            throw std::runtime_error(fmt::format("{}: {}", findings[n].check, findings[n].text));
    return status == SIDRA_SMI_OK ? "nothing found" : "nothing that stops it; sidra-smi health says more";
}

sidra_smi_status diag(const Options& options, const Context& context) {
    bool good = true;
    if (!options.model) {
        Session session(context.root, context.runtime);
        session.refresh();
        sidra_smi_chip* const chip = session.select_card(context.selectors);
        if (text_of(chip, "node").empty())
            throw Failure(SIDRA_SMI_NO_DRIVER, fmt::format("{} has no driver (modprobe sidra)", text_of(chip, "name")));
        good =
            step("registers", [&] { return registers(session, chip); }) && step("health", [&] { return health(chip); });
        setenv("SIDRA_DEVICE", text_of(chip, "node").c_str(), 1);
    } else {
        setenv("SIDRA_DEVICE", "embedded", 1);
        unsetenv("SIDRA_LEVEL");  // products of accurate cells are not exact
    }
    // Of a chip in this process there is nothing to be read: it is opened in any case.
    const bool full = options.level == "full";
    if (good && (options.model || full)) good = compute_steps(full);
    return good ? SIDRA_SMI_OK : SIDRA_SMI_CRITICAL;
}

}  // namespace

bool step(const char* name, const std::function<std::string()>& work) {
    const auto start = std::chrono::steady_clock::now();
    std::string said;
    bool good = true;
    try {
        said = work();
    } catch (const std::runtime_error& e) {
        said = e.what();
        good = false;
    }
    const std::chrono::nanoseconds took = std::chrono::steady_clock::now() - start;
    print(fmt::format("{:<10} {:<6} {:>9}  {}\n", name, good ? "ok" : "FAILED",
                      seconds_text(static_cast<uint64_t>(took.count())), said));
    return good;
}

Run declare_diag(CLI::App& app) {
    const auto options = std::make_shared<Options>();
    app.add_option("--level", options->level,
                   "quick: reads (a model is opened); full: copies, programs and multiplies besides")
        ->check(CLI::IsMember({"quick", "full"}))
        ->capture_default_str();
    app.add_flag("--model", options->model, "a chip in this process in the place of a card: tries libsidra out");
    return [options](const Context& context) { return diag(*options, context); };
}

}  // namespace sidra::smi_tool
