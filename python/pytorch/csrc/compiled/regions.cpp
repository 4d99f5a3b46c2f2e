// SPDX-License-Identifier: MIT
#include "compiled/regions.h"

#include <c10/util/StringUtil.h>

#include <algorithm>
#include <mutex>
#include <set>
#include <utility>
#include <vector>

namespace sidra::pytorch {
namespace {

// Not destroyed at the end of the process, because models may end later.
struct Table {
    std::mutex lock;
    std::vector<NamedModel*> models;
};
Table& table() {
    static Table* const all = new Table;
    return *all;
}

std::string line_of(const std::string& region, sidra_model* model, sidra_stream* stream) {
    auto fault = SIDRA_INIT(sidra_model_fault_info);
    if (sidra_model_fault(model, stream, &fault) != SIDRA_OK) return "";
    return "\nThat is in " + region + ", " + fault.text + ".";
}

}  // namespace

NamedModel::NamedModel(c10::DeviceIndex index, std::string region, sidra_model* model)
    : index_(index), region_(std::move(region)), model_(model) {
    const std::lock_guard guard(table().lock);
    table().models.push_back(this);
}

NamedModel::~NamedModel() {
    const std::lock_guard guard(table().lock);
    std::erase(table().models, this);
}

std::string region_at_fault(c10::DeviceIndex index, sidra_stream* stream) {
    const std::lock_guard guard(table().lock);
    for (const NamedModel* model : table().models) {
        if (model->index_ != index) continue;
        if (std::string line = line_of(model->region_, model->model_, stream); !line.empty()) return line;
    }
    return "";
}

std::string stopped_regions() {
    const std::lock_guard guard(table().lock);
    std::set<std::string> lines;
    for (const NamedModel* model : table().models)
        if (sidra_stream* const stream = model->stream_.load(std::memory_order_relaxed); stream != nullptr)
            lines.insert(line_of(model->region_, model->model_, stream));
    return c10::Join("", lines);
}

std::string lost_regions() {
    const std::lock_guard guard(table().lock);
    std::set<std::string> names;
    for (const NamedModel* model : table().models) {
        if (model->stream_.load(std::memory_order_acquire) == nullptr) continue;
        const sidra_status status = sidra_event_query(model->end_.load(std::memory_order_relaxed));
        if (status == SIDRA_ERROR_CONTEXT_LOST || status == SIDRA_ERROR_DEVICE_LOST) names.insert(model->region_);
    }
    return names.empty() ? "" : "\nLost runs: " + c10::Join("; ", names) + ".";
}

void forget_lost_runs(c10::DeviceIndex index) {
    const std::lock_guard guard(table().lock);
    for (NamedModel* model : table().models)
        if (model->index_ == index) model->stream_.store(nullptr, std::memory_order_relaxed);
}

}  // namespace sidra::pytorch
