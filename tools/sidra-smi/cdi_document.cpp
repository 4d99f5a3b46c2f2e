// SPDX-License-Identifier: MIT
#include "cdi_document.h"

#include <fmt/format.h>

#include <algorithm>
#include <stdexcept>
#include <string_view>

namespace sidra::smi_tool {
namespace {

using tools::Json;

bool digit(char c) { return c >= '0' && c <= '9'; }
bool alphanumeric(char c) { return digit(c) || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }

// By the specification: letters and digits, with "_-.:" only between them.
bool names_a_device(std::string_view name) {
    const auto inner = [](char c) {
        return alphanumeric(c) || std::string_view("_-.:").find(c) != std::string_view::npos;
    };
    return !name.empty() && alphanumeric(name.front()) && alphanumeric(name.back()) && std::ranges::all_of(name, inner);
}

// The number in /dev/sidra0, which also names the card's directories in sysfs.
std::string number(const std::string& node) {
    constexpr std::string_view kBefore = "/dev/sidra";
    const std::string_view rest = std::string_view(node).substr(std::min(node.size(), kBefore.size()));
    if (!node.starts_with(kBefore) || rest.empty() || !std::ranges::all_of(rest, digit))
        throw std::invalid_argument(fmt::format("'{}' is not the node of a card", node));
    return std::string(rest);
}

Json device(const std::string& name, const std::vector<std::string>& nodes) {
    Json::Array listed;
    for (const std::string& node : nodes) listed.emplace_back(Json::Object{{"path", node}, {"permissions", "rw"}});
    return Json::Object{{"name", name}, {"containerEdits", Json::Object{{"deviceNodes", std::move(listed)}}}};
}

}  // namespace

Json cdi_document(const std::vector<CdiCard>& cards, std::vector<std::string>* left_out) {
    Json::Array devices;
    std::vector<std::string> names, nodes;
    for (const CdiCard& card : cards) {
        names.push_back(number(card.node));
        nodes.push_back(card.node);
    }
    names.emplace_back("all");
    for (size_t i = 0; i < cards.size(); ++i) devices.push_back(device(names[i], {cards[i].node}));
    for (const CdiCard& card : cards) {
        if (card.uuid.empty()) continue;
        const bool taken = std::ranges::find(names, card.uuid) != names.end() ||
                           std::ranges::count(cards, card.uuid, &CdiCard::uuid) > 1;
        if (taken || !names_a_device(card.uuid)) {
            left_out->push_back(card.node);
            continue;
        }
        devices.push_back(device(card.uuid, {card.node}));
    }
    devices.push_back(device("all", nodes));
    return Json::Object{{"cdiVersion", "0.6.0"}, {"kind", kCdiKind}, {"devices", std::move(devices)}};
}

}  // namespace sidra::smi_tool
