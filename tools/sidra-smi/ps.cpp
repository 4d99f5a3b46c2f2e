// SPDX-License-Identifier: MIT
// ps: who uses chips, between two readings.

#include <CLI/CLI.hpp>
#include <memory>

#include "command.h"
#include "format_option.h"
#include "output.h"
#include "processes.h"
#include "session.h"

namespace sidra::smi_tool {
namespace {

constexpr long kBetweenNs = 200'000'000;
constexpr const char* kEngines[] = {"mvm", "vec", "copy", "program"};

tools::Json count_json(uint64_t count) { return count == UINT64_MAX ? tools::Json() : tools::Json(count); }

tools::Json::Object client_object(sidra_smi_chip* chip, const sidra_smi_client& client) {
    tools::Json::Object object{{"index", to_json(value_of(chip, "index"))},
                               {"chip", text_of(chip, "name")},
                               {"pid", client.pid},
                               {"uid", client.uid},
                               {"process", std::string(client.name)},
                               {"client", client.client},
                               {"contexts", count_json(client.contexts)},
                               {"queues", count_json(client.queues)},
                               {"memory", count_json(client.memory)}};
    for (size_t n = 0; n < std::size(kEngines); ++n) {
        object.emplace_back(std::string(kEngines[n]) + ".time", count_json(client.engine_ns[n]));
        object.emplace_back(std::string(kEngines[n]) + ".utilization",
                            client.utilization[n] < 0 ? tools::Json() : tools::Json(client.utilization[n]));
    }
    return object;
}

// Texts here are printable ASCII: of JSON's escapes there are those of quotes and backslashes alone.
std::string csv_text(const tools::Json& value) {
    const std::string line = value.line();
    if (line == "null") return "";
    if (!line.starts_with('"')) return line;
    std::string text;
    for (size_t n = 1; n + 1 < line.size(); ++n) text += line[n] == '\\' ? line[++n] : line[n];
    return csv_field(text);
}

std::string csv_line(const tools::Json::Object& client, bool head) {
    std::string line;
    for (const auto& [key, value] : client) {
        if (!line.empty()) line += ',';
        line += head ? key : csv_text(value);
    }
    return line + '\n';
}

sidra_smi_status ps(Format format, const Context& context) {
    Session session(context.root, context.runtime);
    const std::vector<sidra_smi_chip*> chips = session.select_read_twice(context.selectors, kBetweenNs);
    if (format == Format::kText) {
        print(processes_text(chips));
        return SIDRA_SMI_OK;
    }
    std::vector<tools::Json::Object> all;
    for (sidra_smi_chip* chip : chips) {
        const sidra_smi_client* clients = nullptr;
        uint32_t count = 0;
        if (sidra_smi_clients(chip, &clients, &count) != SIDRA_SMI_OK) continue;
        for (uint32_t n = 0; n < count; ++n) all.push_back(client_object(chip, clients[n]));
    }
    if (format == Format::kJson) {
        tools::Json::Object whole = json_head();
        whole.emplace_back("processes", tools::Json::Array(all.begin(), all.end()));
        print(tools::Json(whole).text() + '\n');
        return SIDRA_SMI_OK;
    }
    std::string out = csv_line(client_object(nullptr, sidra_smi_client{}), true);
    for (const tools::Json::Object& client : all) out += csv_line(client, false);
    print(out);
    return SIDRA_SMI_OK;
}

}  // namespace

Run declare_ps(CLI::App& app) {
    const auto format = std::make_shared<Format>(Format::kText);
    add_format(app, *format);
    return [format](const Context& context) { return ps(*format, context); };
}

}  // namespace sidra::smi_tool
