// SPDX-License-Identifier: MIT
#include "devices.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <set>
#include <utility>

namespace sidra::device_plugin {

bool healthy(sidra_smi_chip* chip, std::string& why) {
    const sidra_smi_finding* findings = nullptr;
    uint32_t count = 0;
    const sidra_smi_status status = sidra_smi_health(chip, nullptr, &findings, &count);
    for (uint32_t n = 0; n < count; ++n)
        if (findings[n].severity == SIDRA_SMI_CRITICAL)
            why += fmt::format("{}{}: {}", why.empty() ? "" : "; ", findings[n].check, findings[n].text);
    return status == SIDRA_SMI_OK || status == SIDRA_SMI_WARNING;
}

Devices devices_of(sidra_smi* session, const Devices& before, std::vector<std::string>& left_out) {
    Devices devices;
    std::set<std::string> twice;
    for (uint32_t n = 0; n < sidra_smi_count(session); ++n) {
        sidra_smi_chip* const chip = sidra_smi_chip_at(session, n);
        const std::string uuid = sidra_smi_text_of(chip, "uuid"), node = sidra_smi_text_of(chip, "node");
        if (sidra_smi_kind_of(chip) != SIDRA_SMI_CARD || sidra_smi_gone(chip) || uuid.empty() || node.empty()) continue;
        const sidra_smi_value numa = sidra_smi_get_by_name(chip, "numa.node");
        std::string why;
        const Device device = {node, sidra_smi_text_of(chip, "pci.bridge"),
                               numa.type == SIDRA_SMI_INT ? std::optional(numa.i) : std::nullopt, healthy(chip, why)};
        const auto [first, added] = devices.emplace(uuid, device);
        if (added) continue;
        // Which of the two would a container get?
        if (twice.insert(uuid).second) left_out.push_back(first->second.node);
        left_out.push_back(node);
    }
    for (const std::string& uuid : twice) devices.erase(uuid);
    // The kubelet would forget a device that is not listed, and with it the containers that use it.
    for (const auto& [uuid, device] : before)
        if (const auto [gone, added] = devices.emplace(uuid, device); added) gone->second.healthy = false;
    return devices;
}

std::vector<std::string> prefer(const Devices& devices, const std::vector<std::string>& available,
                                const std::vector<std::string>& must, size_t size) {
    std::vector<std::string> chosen = must;
    std::vector<std::string> rest;
    for (const std::string& id : available)
        if (devices.contains(id) && std::ranges::find(chosen, id) == chosen.end()) rest.push_back(id);
    const auto near = [&](const std::string& one, const std::string& other) {
        const auto a = devices.find(one), b = devices.find(other);
        if (a == devices.end() || b == devices.end()) return 0;
        if (!a->second.bridge.empty() && a->second.bridge == b->second.bridge) return 2;
        return a->second.numa && a->second.numa == b->second.numa ? 1 : 0;
    };
    while (chosen.size() < size && !rest.empty()) {
        // The one that is nearest to those that are chosen; then the one with most neighbours among the rest.
        const auto worth = [&](const std::string& id) {
            int to_chosen = 0, to_rest = 0;
            for (const std::string& other : chosen) to_chosen += near(id, other);
            for (const std::string& other : rest) to_rest += id != other ? near(id, other) : 0;
            return std::pair(to_chosen, to_rest);
        };
        const auto best = std::ranges::max_element(rest, {}, worth);
        chosen.push_back(*best);
        rest.erase(best);
    }
    return chosen;
}

bool Board::set(Devices devices) {
    const std::lock_guard lock(mutex_);
    if (devices == devices_) return false;
    devices_ = std::move(devices);
    ++number_;
    changed_.notify_all();
    return true;
}

Devices Board::get() const {
    const std::lock_guard lock(mutex_);
    return devices_;
}

uint64_t Board::wait(uint64_t seen) const {
    std::unique_lock lock(mutex_);
    changed_.wait_for(lock, std::chrono::seconds(1), [&] { return stopped_ || number_ != seen; });
    return number_;
}

void Board::stop() {
    const std::lock_guard lock(mutex_);
    stopped_ = true;
    changed_.notify_all();
}

void Board::start() {
    const std::lock_guard lock(mutex_);
    stopped_ = false;
}

bool Board::stopped() const {
    const std::lock_guard lock(mutex_);
    return stopped_;
}

}  // namespace sidra::device_plugin
