// SPDX-License-Identifier: MIT
// health: checks chips; the exit status is the worst result.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <memory>

#include "command.h"
#include "findings.h"
#include "format_option.h"
#include "output.h"
#include "report.h"
#include "session.h"

namespace sidra::smi_tool {
namespace {

constexpr long kBetweenNs = 200'000'000;  // long enough for a heartbeat of the firmware

struct Options {
    Format format = Format::kText;
    uint64_t accepted_dma_errors = 0;
};

sidra_smi_status health(const Options& options, const Context& context) {
    sidra_smi_health_options accepted = {};
    accepted.struct_size = sizeof accepted;
    accepted.accepted_dma_errors = options.accepted_dma_errors;
    Session session(context.root, context.runtime);
    const std::vector<sidra_smi_chip*> chips = session.select_read_twice(context.selectors, kBetweenNs);
    sidra_smi_status worst = SIDRA_SMI_OK;
    std::string out;
    tools::Json::Array all;
    for (sidra_smi_chip* chip : chips) {
        const sidra_smi_finding* findings = nullptr;
        uint32_t count = 0;
        const sidra_smi_status status = sidra_smi_health(chip, &accepted, &findings, &count);
        if (status != SIDRA_SMI_OK && status != SIDRA_SMI_WARNING && status != SIDRA_SMI_CRITICAL)
            session.check(status);
        worst = std::max(worst, status);
        out += fmt::format("{}: {}\n{}", text_of(chip, "name"), severity_name(status),
                           findings_text({findings, count}, "  "));
        all.push_back(tools::Json::Object{{"index", to_json(value_of(chip, "index"))},
                                          {"name", text_of(chip, "name")},
                                          {"health", severity_name(status)},
                                          {"findings", findings_json({findings, count})}});
    }
    tools::Json::Object whole = json_head("health");
    whole.emplace_back("chips", all);
    print(options.format == Format::kJson ? tools::Json(whole).text() + '\n' : out);
    return worst;
}

}  // namespace

Run declare_health(CLI::App& app) {
    const auto options = std::make_shared<Options>();
    add_format(app, options->format, Formats::kTextJson);
    app.add_option("--accept-dma-errors", options->accepted_dma_errors,
                   "number of DMA errors that are known: only more of them are a warning")
        ->check(CLI::Range(uint64_t{0}, uint64_t{INT64_MAX}))  // not -1
        ->capture_default_str();
    return [options](const Context& context) { return health(*options, context); };
}

}  // namespace sidra::smi_tool
