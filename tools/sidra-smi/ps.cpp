// SPDX-License-Identifier: MIT
// ps: the processes that use chips, and their load between two readings.

#include <CLI/CLI.hpp>
#include <cerrno>
#include <cstring>
#include <memory>

#include "command.h"
#include "common/user.h"
#include "format_option.h"
#include "output.h"
#include "processes.h"
#include "session.h"

namespace sidra::smi_tool {
namespace {

constexpr long kBetweenNs = 200'000'000;

tools::Json count_json(uint64_t count) { return count == UINT64_MAX ? tools::Json() : tools::Json(count); }

// The reason why the activity of a known process is unknown.
tools::Json client_why(int error) {
    switch (error) {
        case 0:
            return {};
        case EACCES:
        case EPERM:
            return "belongs to another user: only root can see it";
        case ENOENT:
            return "none of its open files belongs to this chip";
        default:
            return std::strerror(error);
    }
}

// A process that uses a chip; nullptr: the processes cannot be listed.
tools::Json::Object record(sidra_smi_chip* chip, const sidra_smi_client* client) {
    tools::Json::Object object{{"index", to_json(value_of(chip, "index"))}, {"chip", text_of(chip, "name")}};
    const auto add = [&](const char* name, const auto& of) {
        object.emplace_back(name, client != nullptr ? tools::Json(of(*client)) : tools::Json());
    };
    using Client = sidra_smi_client;
    add("pid", [](const Client& c) { return c.pid; });
    add("uid", [](const Client& c) { return c.uid; });
    add("user", [](const Client& c) { return tools::user_name(c.uid); });
    add("process", [](const Client& c) { return std::string(c.name); });
    add("client", [](const Client& c) { return c.error == 0 ? tools::Json(c.client) : tools::Json(); });
    add("contexts", [](const Client& c) { return count_json(c.contexts); });
    add("queues", [](const Client& c) { return count_json(c.queues); });
    add("memory", [](const Client& c) { return count_json(c.memory); });
    for (uint32_t n = 0; sidra_smi_engine_name(n) != nullptr; ++n) {
        const std::string engine = sidra_smi_engine_name(n);
        add((engine + ".time").c_str(), [n](const Client& c) { return count_json(c.engine_ns[n]); });
        add((engine + ".utilization").c_str(),
            [n](const Client& c) { return c.utilization[n] < 0 ? tools::Json() : tools::Json(c.utilization[n]); });
    }
    const sidra_smi_value stale = value_of(chip, "stale");
    object.emplace_back("stale", to_json(stale));
    object.emplace_back("why", client != nullptr ? client_why(client->error) : why(chip, value_of(chip, "processes")));
    return object;
}

// Texts here are printable ASCII, so quotes and backslashes are the only escapes of JSON.
std::string csv_text(const tools::Json& value) {
    std::string line = value.line();
    if (line == "null") return "";
    if (!line.starts_with('"')) return line;
    std::string text;
    for (size_t n = 1; n + 1 < line.size(); ++n) text += line[n] == '\\' ? line[++n] : line[n];
    return csv_field(text);
}

std::string csv_line(const tools::Json::Object& record, bool head) {
    std::string line;
    for (const auto& [key, value] : record) {
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
        if (sidra_smi_clients(chip, &clients, &count) != SIDRA_SMI_OK) all.push_back(record(chip, nullptr));
        else
            for (uint32_t n = 0; n < count; ++n) all.push_back(record(chip, &clients[n]));
    }
    if (format == Format::kJson) {
        tools::Json::Object whole = json_head("ps");
        whole.emplace_back("processes", tools::Json::Array(all.begin(), all.end()));
        print(tools::Json(whole).text() + '\n');
        return SIDRA_SMI_OK;
    }
    std::string out = csv_line(record(nullptr, nullptr), true);
    for (const tools::Json::Object& each : all) out += csv_line(each, false);
    print(out);
    return SIDRA_SMI_OK;
}

}  // namespace

Run declare_ps(CLI::App& app) {
    const auto format = std::make_shared<Format>(Format::kText);
    add_format(app, *format, Formats::kTextCsvJson);
    return [format](const Context& context) { return ps(*format, context); };
}

}  // namespace sidra::smi_tool
