// SPDX-License-Identifier: MIT
#include "aten/programs.h"

#include <mutex>
#include <unordered_map>
#include <utility>

#include "runtime/device.h"
#include "runtime/error.h"

namespace sidra::pytorch {
namespace {

struct Table {
    std::mutex lock;
    std::unordered_map<std::string, sidra_program*> programs;
};
Table& table_of(c10::DeviceIndex index) {
    static auto* const all = new std::array<Table, 64>;
    return (*all)[static_cast<size_t>(index)];
}

}  // namespace

sidra_program* program_of(c10::DeviceIndex index, const std::string& text) {
    Table& table = table_of(index);
    const std::lock_guard guard(table.lock);
    const auto found = table.programs.find(text);
    if (found != table.programs.end()) return found->second;
    sidra_program* program = nullptr;
    check(sidra_program_assemble(device(index).context(), text.c_str(), &program));
    table.programs.emplace(text, program);
    return program;
}

}  // namespace sidra::pytorch
