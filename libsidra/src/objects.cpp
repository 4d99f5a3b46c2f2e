// SPDX-License-Identifier: MIT
#include "objects.h"

#include <algorithm>
#include <iterator>

namespace sidra {

void Objects::add_buffer(uint64_t address, uint64_t size, uint32_t id) {
    const std::lock_guard lock(mutex_);
    live_.insert({Kind::kBuffer, id});
    buffers_[address] = {size, id};
}

void Objects::remove_buffer(uint64_t address) {
    const std::lock_guard lock(mutex_);
    const auto at = buffers_.find(address);
    if (at == buffers_.end()) return;
    live_.erase({Kind::kBuffer, at->second.id});
    buffers_.erase(at);
    removals_.fetch_add(1, std::memory_order_release);
}

void Objects::add_weights(uint32_t index, uint32_t id) {
    const std::lock_guard lock(mutex_);
    live_.insert({Kind::kWeights, id});
    weights_[index] = id;
}

void Objects::remove_weights(uint32_t index) {
    const std::lock_guard lock(mutex_);
    const auto at = weights_.find(index);
    if (at == weights_.end()) return;
    live_.erase({Kind::kWeights, at->second});
    weights_.erase(at);
    removals_.fetch_add(1, std::memory_order_release);
}

// Other addresses belong to staged copies, which the graph keeps, or to the weights that the packet names.
void Objects::collect_buffer(uint64_t address, std::set<ObjectName>* names) const {
    const auto next = buffers_.upper_bound(address);
    if (next == buffers_.begin()) return;
    const auto& [begin, buffer] = *std::prev(next);
    if (address - begin < buffer.size) names->insert({Kind::kBuffer, buffer.id});
}

void Objects::collect_weights(uint32_t index, std::set<ObjectName>* names) const {
    if (const auto at = weights_.find(index); at != weights_.end()) names->insert({Kind::kWeights, at->second});
}

void Objects::collect(const sidra_cmd& packet, std::set<ObjectName>* names) const {
    const std::lock_guard lock(mutex_);
    const auto buffers = [&](auto... addresses) { (collect_buffer(addresses, names), ...); };
    switch (packet.hdr.opcode) {
        case SIDRA_CMD_SEM_SIGNAL:
            return buffers(packet.sem.addr);
        case SIDRA_CMD_TIMESTAMP:
            return buffers(packet.timestamp.addr);
        case SIDRA_CMD_COPY:
            return buffers(packet.copy.dst, packet.copy.src);
        case SIDRA_CMD_FILL:
            return buffers(packet.fill.dst);
        case SIDRA_CMD_MVM:
            collect_weights(packet.mvm.weights, names);
            return buffers(packet.mvm.in, packet.mvm.out, packet.mvm.bias);
        case SIDRA_CMD_VEC:
            return buffers(packet.vec.in, packet.vec.in2, packet.vec.out);
        case SIDRA_CMD_PROGRAM:
        case SIDRA_CMD_READBACK:
            collect_weights(packet.weights.weights, names);
            return buffers(packet.weights.addr);
        default:
            return;
    }
}

std::optional<ObjectName> Objects::missing(const std::set<ObjectName>& names) const {
    const std::lock_guard lock(mutex_);
    const auto gone = std::find_if(names.begin(), names.end(), [&](const ObjectName& n) { return !live_.contains(n); });
    return gone == names.end() ? std::nullopt : std::optional(*gone);
}

}  // namespace sidra
