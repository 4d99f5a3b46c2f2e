// SPDX-License-Identifier: MIT
// diag: diagnoses a card. quick: reads registers and health; full: also copies, programs and multiplies.
#include <fmt/format.h>
#include <stdlib.h>
#include <time.h>

#include <CLI/CLI.hpp>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <memory>

#include "command.h"
#include "format_option.h"
#include "output.h"
#include "session.h"
#include "steps.h"
#include "units.h"

namespace sidra::smi_tool {
namespace {

struct Options {
    std::string level = "quick";
    bool model = false;
    Format format = Format::kText;
};

constexpr long kBetweenNs = 100'000'000;

constexpr int kReadingsMax = 50;  // one more each 100 ms: 5 s
constexpr int kSameMax = 10;      // 1 s, in which the driver reads the chip five times for any number of readers

void pause() {
    const struct timespec between = {0, kBetweenNs};
    nanosleep(&between, nullptr);
}

// A refresh does not wait for a reading that takes long on a busy machine, but a later one has its result.
uint64_t count(Session& session, sidra_smi_chip* chip, const char* field) {
    sidra_smi_value value = value_of(chip, field);
    for (int tries = 0; (value.error == ETIMEDOUT || value.error == ESTALE) && tries < kReadingsMax; ++tries) {
        pause();
        session.refresh();
        value = value_of(chip, field);
    }
    if (value.type != SIDRA_SMI_UINT)
        throw std::runtime_error(fmt::format("{} cannot be read: {}", field, std::strerror(value.error)));
    return value.u;
}

// Readers without CAP_PERFMON share few readings of the chip, and get the latest one again beyond these.
bool increases(Session& session, sidra_smi_chip* chip, const char* field, uint64_t before) {
    for (int tries = 0; tries < kSameMax; ++tries) {
        if (count(session, chip, field) > before) return true;
        pause();
        session.refresh();
    }
    return count(session, chip, field) > before;
}

// Telemetry is read through the registers, so both the clock of the chip and the number of reads must increase.
std::string registers(Session& session, sidra_smi_chip* chip) {
    const uint64_t clock = count(session, chip, "clock.device"), reads = count(session, chip, "mmio.reads");
    if (!increases(session, chip, "clock.device", clock))
        throw std::runtime_error("the clock of the chip stands still");
    if (!increases(session, chip, "mmio.reads", reads))
        throw std::runtime_error("the chip does not count register reads");
    return "the clock runs, and register reads are counted";
}

std::string health(sidra_smi_chip* chip) {
    const sidra_smi_finding* findings = nullptr;
    uint32_t found = 0;
    const sidra_smi_status status = sidra_smi_health(chip, nullptr, &findings, &found);
    for (uint32_t n = 0; n < found; ++n)
        if (findings[n].severity == SIDRA_SMI_CRITICAL)
            throw std::runtime_error(fmt::format("{}: {}", findings[n].check, findings[n].text));
    return status == SIDRA_SMI_OK ? "healthy" : "usable, with warnings (see sidra-smi health)";
}

sidra_smi_status diag(const Options& options, const Context& context) {
    bool good = true;
    Steps steps(options.format);
    if (!options.model) {
        Session session(context.root, context.runtime);
        session.refresh();
        sidra_smi_chip* const chip = session.select_card(context.selectors);
        if (text_of(chip, "node").empty())
            throw Failure(SIDRA_SMI_NO_DRIVER, fmt::format("{} has no driver (modprobe sidra)", text_of(chip, "name")));
        good = steps.run("registers", [&] { return registers(session, chip); }) &&
               steps.run("health", [&] { return health(chip); });
        setenv("SIDRA_DEVICE", text_of(chip, "node").c_str(), 1);
    } else {
        setenv("SIDRA_DEVICE", "embedded", 1);
        unsetenv("SIDRA_LEVEL");  // products of the level accurate are not exact
    }
    // A model in this process has nothing to read, so it is always opened.
    const bool full = options.level == "full";
    if (good && (options.model || full)) good = compute_steps(steps, full);
    if (options.format == Format::kJson) {
        tools::Json::Object whole = json_head("diag");
        whole.emplace_back("ok", good);
        whole.emplace_back("steps", steps.json());
        print(tools::Json(whole).text() + '\n');
    }
    return good ? SIDRA_SMI_OK : SIDRA_SMI_CRITICAL;
}

}  // namespace

bool Steps::run(const char* name, const std::function<std::string()>& work) {
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
    const auto took_ns = static_cast<uint64_t>(took.count());
    if (format_ == Format::kJson)
        json_.emplace_back(tools::Json::Object{{"step", name}, {"ok", good}, {"duration_ns", took_ns}, {"text", said}});
    else print(fmt::format("{:<10} {:<6} {:>9}  {}\n", name, good ? "ok" : "FAILED", seconds_text(took_ns), said));
    return good;
}

Run declare_diag(CLI::App& app) {
    const auto options = std::make_shared<Options>();
    app.add_option("--level", options->level,
                   "quick: read the card (or open a model); full: also copy, program and multiply")
        ->check(CLI::IsMember({"quick", "full"}))
        ->capture_default_str();
    app.add_flag("--model", options->model, "diagnose an embedded model in this process instead of a card");
    add_format(app, options->format, Formats::kTextJson);
    return [options](const Context& context) { return diag(*options, context); };
}

}  // namespace sidra::smi_tool
