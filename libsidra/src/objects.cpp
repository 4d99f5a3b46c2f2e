// SPDX-License-Identifier: MIT
#include "objects.h"

#include <iterator>

namespace sidra {

void Objects::add_memory(const ObjectName& name, uint64_t address, uint64_t size, bool again) {
    const std::lock_guard lock(mutex_);
    memory_[address] = {size, name, again};  // a graph may have collected it before
}

void Objects::remove_memory(uint64_t address) {
    const std::lock_guard lock(mutex_);
    const auto at = memory_.find(address);
    if (at == memory_.end()) return;
    if (at->second.collected) removals_.fetch_add(1, std::memory_order_release);
    memory_.erase(at);
}

void Objects::add_weights(uint32_t index, uint32_t id) {
    const std::lock_guard lock(mutex_);
    weights_[index] = id;
}

void Objects::remove_weights(uint32_t index) {
    const std::lock_guard lock(mutex_);
    const auto at = weights_.find(index);
    if (at == weights_.end()) return;
    weights_.erase(at);
    removals_.fetch_add(1, std::memory_order_release);
}

// Other addresses belong to staged copies, which the graph keeps, or to the weights that the packet names.
void Objects::collect_memory(uint64_t address, std::set<ObjectName>* names) const {
    const auto next = memory_.upper_bound(address);
    if (next == memory_.begin()) return;
    const auto& [begin, memory] = *std::prev(next);
    if (address - begin >= memory.size) return;
    names->insert(memory.name);
    memory.collected = true;
}

void Objects::collect_weights(uint32_t index, std::set<ObjectName>* names) const {
    if (const auto at = weights_.find(index); at != weights_.end()) names->insert({Kind::kWeights, at->second});
}

void Objects::collect(const sidra_cmd& packet, std::span<const sidra_operand> operands,
                      std::set<ObjectName>* names) const {
    const std::lock_guard lock(mutex_);
    const auto memory = [&](auto... addresses) { (collect_memory(addresses, names), ...); };
    switch (packet.hdr.opcode) {
        case SIDRA_CMD_SEM_SIGNAL:
            return memory(packet.sem.addr);
        case SIDRA_CMD_TIMESTAMP:
            return memory(packet.timestamp.addr);
        case SIDRA_CMD_COPY:
            return memory(packet.copy.dst, packet.copy.src);
        case SIDRA_CMD_FILL:
            return memory(packet.fill.dst);
        case SIDRA_CMD_MVM:
            collect_weights(packet.mvm.weights, names);
            return memory(packet.mvm.in, packet.mvm.out, packet.mvm.bias);
        case SIDRA_CMD_LAYER:
            collect_weights(packet.layer.weights, names);
            memory(operands.back().addr);  // the pattern's, which is at the same place as an operand's
            operands = operands.first(operands.size() - 1);
            [[fallthrough]];
        case SIDRA_CMD_VECTOR:
        case SIDRA_CMD_MATMUL:
            for (const sidra_operand& operand : operands) memory(operand.addr, operand.index);
            return memory(packet.vector.program);
        case SIDRA_CMD_POOL:
            return memory(operands.back().addr, packet.pool.out);  // the pattern's, as above
        case SIDRA_CMD_SORT:
            return memory(packet.sort.in, packet.sort.values, packet.sort.indices);
        case SIDRA_CMD_PROGRAM:
        case SIDRA_CMD_READBACK:
            collect_weights(packet.weights.weights, names);
            return memory(packet.weights.addr);
        default:
            return;
    }
}

std::optional<ObjectName> Objects::missing(const std::map<ObjectName, uint32_t>& names) const {
    std::set<ObjectName> gone;
    for (const auto& [name, uses] : names) gone.insert(gone.end(), name);
    const std::lock_guard lock(mutex_);
    for (const auto& [address, memory] : memory_) gone.erase(memory.name);
    for (const auto& [index, id] : weights_) gone.erase({Kind::kWeights, id});
    return gone.empty() ? std::nullopt : std::optional(*gone.begin());
}

}  // namespace sidra
