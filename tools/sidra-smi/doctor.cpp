// SPDX-License-Identifier: MIT
// doctor: why one cannot compute on a chip here.
#include <CLI/CLI.hpp>
#include <memory>

#include "command.h"
#include "findings.h"
#include "output.h"
#include "report.h"
#include "session.h"

namespace sidra::smi_tool {
namespace {

sidra_smi_status doctor(bool json, const Context& context) {
    Session session(context.root, context.runtime);
    session.refresh();
    const sidra_smi_finding* findings = nullptr;
    uint32_t count = 0;
    const sidra_smi_status status = sidra_smi_doctor(session.get(), &findings, &count);
    if (status != SIDRA_SMI_OK && status != SIDRA_SMI_WARNING && status != SIDRA_SMI_CRITICAL) session.check(status);
    tools::Json::Object whole = json_head();
    whole.emplace_back("findings", findings_json({findings, count}));
    print(json ? tools::Json(whole).text() + '\n' : findings_text({findings, count}, ""));
    return status;
}

}  // namespace

Run declare_doctor(CLI::App& app) {
    const auto json = std::make_shared<bool>(false);
    app.add_flag("--json", *json, "for programs");
    return [json](const Context& context) {
        if (!context.selectors.empty())
            throw Failure(SIDRA_SMI_USAGE, "doctor looks at all cards; --chip is of other commands");
        return doctor(*json, context);
    };
}

}  // namespace sidra::smi_tool
