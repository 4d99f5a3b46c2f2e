// SPDX-License-Identifier: MIT
// map: writes which crossbars of chips are bad or in use, for sidra-compile --chip-map.
#include <CLI/CLI.hpp>

#include "command.h"
#include "failure.h"
#include "output.h"
#include "report.h"
#include "session.h"

namespace sidra::smi_tool {
namespace {

tools::Json::Object map_of(sidra_smi_chip* chip, const Session& session) {
    const sidra_smi_crossbar* crossbars = nullptr;
    uint32_t count = 0;
    session.check(sidra_smi_crossbars(chip, &crossbars, &count));
    tools::Json::Array bad, in_use;
    for (uint32_t i = 0; i < count; ++i) {
        if (crossbars[i].bad_cells != 0)
            bad.push_back(tools::Json::Object{{"crossbar", i}, {"cells", crossbars[i].bad_cells}});
        if (crossbars[i].owner != 0) in_use.push_back(i);
    }
    return {{"index", to_json(value_of(chip, "index"))},
            {"name", text_of(chip, "name")},
            {"clusters", to_json(value_of(chip, "geometry.clusters"))},
            {"cus_per_cluster", to_json(value_of(chip, "geometry.cus"))},
            {"crossbars_per_cu", to_json(value_of(chip, "geometry.crossbars"))},
            {"bad", std::move(bad)},
            {"in_use", std::move(in_use)}};
}

sidra_smi_status map(const Context& context) {
    Session session(context.root, context.runtime);
    session.refresh();
    tools::Json::Array chips;
    for (sidra_smi_chip* chip : session.select(context.selectors)) chips.push_back(map_of(chip, session));
    tools::Json::Object whole = json_head("map");
    whole.emplace_back("chips", std::move(chips));
    print(tools::Json(whole).text() + '\n');
    return SIDRA_SMI_OK;
}

}  // namespace

Run declare_map(CLI::App&) { return map; }

}  // namespace sidra::smi_tool
