// SPDX-License-Identifier: MIT
#include "slurm_document.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <optional>
#include <set>
#include <string_view>

#include "common/number.h"

namespace sidra::smi_tool {
namespace {

constexpr uint64_t kCpusMost = 65'536;

std::optional<uint64_t> number_in(const std::string& path) {
    std::ifstream file(path);
    std::string line;
    std::getline(file, line);
    return tools::parse_number(line);
}

// CPUs of a list as the kernel writes it. Nothing: it is no such list.
std::optional<std::set<unsigned>> parse_list(std::string_view text) {
    std::set<unsigned> cpus;
    while (!text.empty()) {
        const std::string_view part = text.substr(0, text.find(','));
        text.remove_prefix(std::min(text.size(), part.size() + 1));
        const size_t dash = part.find('-');
        const auto first = tools::parse_number(part.substr(0, dash));
        const auto last = dash == part.npos ? first : tools::parse_number(part.substr(dash + 1));
        if (!first || !last || *first > *last || *last >= kCpusMost) return std::nullopt;
        for (uint64_t cpu = *first; cpu <= *last; ++cpu) cpus.insert(static_cast<unsigned>(cpu));
    }
    return cpus;
}

// "0-3,8" for a set of numbers.
std::string list_text(const std::set<unsigned>& numbers) {
    std::string out;
    for (auto at = numbers.begin(); at != numbers.end();) {
        const unsigned first = *at;
        unsigned last = first;
        while (++at != numbers.end() && *at == last + 1) last = *at;
        out += fmt::format("{}{}", out.empty() ? "" : ",", first);
        if (last != first) out += fmt::format("-{}", last);
    }
    return out;
}

// The cores near a card; empty if they are unknown, or if they are all cores: then they say nothing.
std::string cores_text(const SlurmCard& card, const Cores& cores) {
    const auto cpus = parse_list(card.cpus);
    if (!cpus) return "";
    std::set<unsigned> near, all;
    for (const auto& [cpu, core] : cores) all.insert(core);
    for (const unsigned cpu : *cpus)
        if (const auto found = cores.find(cpu); found != cores.end()) near.insert(found->second);
    return near == all ? "" : list_text(near);
}

// How well each card is connected to this one: -1 is the card itself, 1 a card below the same port.
std::string links_text(const std::vector<SlurmCard>& cards, const SlurmCard& card) {
    std::string out;
    for (const SlurmCard& other : cards) {
        const int link = &other == &card ? -1 : !card.bridge.empty() && other.bridge == card.bridge ? 1 : 0;
        out += fmt::format("{}{}", out.empty() ? "" : ",", link);
    }
    return out;
}

}  // namespace

Cores read_cores(const std::string& root) {
    namespace fs = std::filesystem;
    std::map<std::pair<uint64_t, uint64_t>, std::vector<unsigned>> places;  // socket and core
    std::error_code error;
    for (const fs::directory_entry& entry : fs::directory_iterator(root + "/sys/devices/system/cpu", error)) {
        const std::string name = entry.path().filename();
        const auto cpu = name.starts_with("cpu") ? tools::parse_number(std::string_view(name).substr(3)) : std::nullopt;
        if (!cpu || *cpu >= kCpusMost) continue;
        const std::string topology = entry.path().string() + "/topology/";
        const auto socket = number_in(topology + "physical_package_id"), core = number_in(topology + "core_id");
        if (socket && core) places[{*socket, *core}].push_back(static_cast<unsigned>(*cpu));
    }
    Cores cores;
    unsigned number = 0;
    for (const auto& [place, cpus] : places) {
        for (const unsigned cpu : cpus) cores[cpu] = number;
        ++number;
    }
    return cores;
}

std::string slurm_document(const std::vector<SlurmCard>& cards, const Cores& cores) {
    std::string out = fmt::format(
        "# SIDRA cards of this machine, written by sidra-smi slurm. slurm.conf needs:\n"
        "#   GresTypes=sidra\n#   NodeName=... Gres=sidra:y1:{}\n",
        cards.size());
    for (const SlurmCard& card : cards) {
        if (!card.uuid.empty()) out += fmt::format("# {}\n", card.uuid);
        out += fmt::format("Name=sidra Type=y1 File={}", card.node);
        if (const std::string near = cores_text(card, cores); !near.empty()) out += " Cores=" + near;
        if (cards.size() > 1) out += " Links=" + links_text(cards, card);
        out += '\n';
    }
    return out;
}

}  // namespace sidra::smi_tool
