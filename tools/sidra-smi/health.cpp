// SPDX-License-Identifier: MIT
// health: what a person should know about chips; the exit status says how bad it is.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <memory>

#include "command.h"
#include "findings.h"
#include "output.h"
#include "report.h"
#include "session.h"

namespace sidra::smi_tool {
namespace {

constexpr long kBetweenNs = 200'000'000;  // in which the firmware's heart beats

sidra_smi_status health(bool json, const Context& context) {
    Session session(context.root, context.runtime);
    const std::vector<sidra_smi_chip*> chips = session.select_read_twice(context.selectors, kBetweenNs);
    sidra_smi_status worst = SIDRA_SMI_OK;
    std::string out;
    tools::Json::Array all;
    for (sidra_smi_chip* chip : chips) {
        const sidra_smi_finding* findings = nullptr;
        uint32_t count = 0;
        const sidra_smi_status status = sidra_smi_health(chip, &findings, &count);
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
    tools::Json::Object whole = json_head();
    whole.emplace_back("chips", all);
    print(json ? tools::Json(whole).text() + '\n' : out);
    return worst;
}

}  // namespace

Run declare_health(CLI::App& app) {
    const auto json = std::make_shared<bool>(false);
    app.add_flag("--json", *json, "for programs");
    return [json](const Context& context) { return health(*json, context); };
}

}  // namespace sidra::smi_tool
