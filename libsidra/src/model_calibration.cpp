// SPDX-License-Identifier: MIT
#include "model_calibration.h"

#include <algorithm>
#include <utility>

#include "stream.h"
#include "submit.h"

namespace sidra {

sidra_status ModelCalibration::read(const char* call, sidra_context* context, const ModelFile& file) {
    const std::lock_guard lock(mutex_);
    if (!vectors_.empty()) return SIDRA_OK;
    const auto& matrices = *file.manifest().matrices();
    std::vector<Vectors> vectors(matrices.size());
    uint64_t end = 0, products = 0;
    for (uint32_t i = 0; i < vectors.size(); ++i) {
        const format::Matrix& matrix = *matrices[i];
        if (matrix.calibration() == nullptr) continue;
        vectors[i] = {end, static_cast<uint32_t>(matrix.calibration()->size() / matrix.k()), {}};
        end += matrix.calibration()->size();
        products = std::max(products, uint64_t{vectors[i].count} * matrix.n());
    }
    if (end != 0) {
        sidra_buffer* memory = nullptr;
        SIDRA_TRY(sidra_buffer_create(handle_of(context), end + products, SIDRA_BUFFER_HOST, &memory));
        void* address = nullptr;
        sidra_status status = sidra_buffer_map(memory, &address);
        std::vector<SectionRead> parts;
        for (uint32_t i = 0; i < vectors.size(); ++i)
            if (vectors[i].count != 0)
                parts.push_back({matrices[i]->calibration(), static_cast<std::byte*>(address) + vectors[i].offset,
                                 calibration_name(file.manifest(), i)});
        if (status == SIDRA_OK) status = file.read(call, parts);
        if (status != SIDRA_OK) {
            static_cast<void>(sidra_buffer_destroy(memory));
            return status;
        }
        memory_ = memory;
    }
    products_ = end;
    vectors_ = std::move(vectors);
    return SIDRA_OK;
}

sidra_status ModelCalibration::queue(const char* call, sidra_stream* stream, uint32_t index, sidra_weights* weights) {
    auto mvm = SIDRA_INIT(sidra_mvm);
    mvm.in_type = SIDRA_U8;
    mvm.out_type = SIDRA_U8;  // the smallest
    mvm.out_scale = 1;
    {
        const std::lock_guard lock(mutex_);
        mvm.batch = vectors_[index].count;
        mvm.in = {memory_, vectors_[index].offset};
        mvm.out = {memory_, products_};
    }
    Point done;
    SIDRA_TRY(queue_calibration(call, stream, weights, mvm, &done));  // without the mutex: it may wait for room
    const std::lock_guard lock(mutex_);
    vectors_[index].done = std::move(done);
    return SIDRA_OK;
}

Programming ModelCalibration::state(uint32_t index) {
    const std::lock_guard lock(mutex_);
    if (vectors_.empty()) return Programming::kNeeded;
    const Vectors& vectors = vectors_[index];
    if (vectors.count == 0) return Programming::kDone;
    if (!vectors.done.queue) return Programming::kNeeded;
    switch (vectors.done.state()) {
        case Point::State::kReached:
            return Programming::kDone;
        case Point::State::kPending:
            return Programming::kQueued;
        default:
            return Programming::kNeeded;
    }
}

sidra_status ModelCalibration::free_memory() {
    const std::lock_guard lock(mutex_);
    const sidra_status status = sidra_buffer_destroy(memory_);
    if (status == SIDRA_OK) memory_ = nullptr;
    return status;
}

}  // namespace sidra
