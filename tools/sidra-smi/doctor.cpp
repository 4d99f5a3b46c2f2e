// SPDX-License-Identifier: MIT
// doctor: finds out why this process cannot compute on a card.
#include <CLI/CLI.hpp>
#include <memory>

#include "command.h"
#include "findings.h"
#include "format_option.h"
#include "output.h"
#include "report.h"
#include "session.h"

namespace sidra::smi_tool {
namespace {

sidra_smi_status doctor(Format format, const Context& context) {
    Session session(context.root, context.runtime);
    session.refresh();
    const sidra_smi_finding* findings = nullptr;
    uint32_t count = 0;
    const sidra_smi_status status = sidra_smi_doctor(session.get(), &findings, &count);
    if (status != SIDRA_SMI_OK && status != SIDRA_SMI_WARNING && status != SIDRA_SMI_CRITICAL) session.check(status);
    tools::Json::Object whole = json_head("doctor");
    whole.emplace_back("findings", findings_json({findings, count}));
    print(format == Format::kJson ? tools::Json(whole).text() + '\n' : findings_text({findings, count}, ""));
    return status;
}

}  // namespace

Run declare_doctor(CLI::App& app) {
    const auto format = std::make_shared<Format>(Format::kText);
    add_format(app, *format, Formats::kTextJson);
    return [format](const Context& context) {
        if (context.selectors)
            throw Failure(SIDRA_SMI_USAGE, "doctor always checks all cards: --chip is not supported");
        return doctor(*format, context);
    };
}

}  // namespace sidra::smi_tool
