// SPDX-License-Identifier: MIT
#include "model_record.h"

#include <algorithm>
#include <array>

#include "sidra_vector.h"

namespace sidra {
namespace {

constexpr uint32_t kNoProgram = UINT32_MAX;  // of a Matmul

using Operands = std::array<sidra_vector_operand, SIDRA_VECTOR_OPERANDS_MAX>;

sidra_type type_of(format::Type type) { return static_cast<sidra_type>(type); }

class Queueing {
   public:
    Queueing(sidra_stream* stream, const ModelObjects& objects, uint32_t cookie)
        : stream_(stream), objects_(objects), cookie_(cookie) {}

    sidra_status queue(const format::Vector& call) const {
        Operands operands;
        auto vector = SIDRA_INIT(sidra_vector);
        vector.program = objects_.programs[call.program()];
        std::ranges::copy(*call.size(), vector.size);
        fill(call, &operands, &vector);
        return sidra_vector_async(stream_, &vector);
    }

    sidra_status queue(const format::Layer& call) const {
        Operands operands;
        auto layer = SIDRA_INIT(sidra_layer);
        layer.program = objects_.programs[call.program()];
        layer.windows = windows(*call.windows());
        fill(call, &operands, &layer);
        return sidra_layer_async(stream_, objects_.matrices[call.matrix()], &layer);
    }

    sidra_status queue(const format::Matmul& call) const {
        Operands operands;
        auto matmul = SIDRA_INIT(sidra_matmul);
        if (call.program() != kNoProgram) matmul.program = objects_.programs[call.program()];
        matmul.m = call.m(), matmul.n = call.n(), matmul.k = call.k();
        std::ranges::copy(*call.batch(), matmul.batch);
        fill(call, &operands, &matmul);
        return sidra_matmul_async(stream_, &matmul);
    }

    sidra_status queue(const format::Pool& call) const {
        auto pool = SIDRA_INIT(sidra_pool);
        pool.op = static_cast<sidra_pool_operation>(call.operation());
        pool.windows = windows(*call.windows());
        pool.out = ref(call.out());
        if (call.out_stride() != nullptr) std::ranges::copy(*call.out_stride(), pool.out_stride);
        pool.cookie = cookie_;
        return sidra_pool_async(stream_, &pool);
    }

    sidra_status queue(const format::Sort& call) const {
        auto sort = SIDRA_INIT(sidra_sort);
        sort.type = type_of(call.type());
        if (call.indices() != nullptr) sort.index_type = type_of(call.index_type());
        sort.in = ref(call.in());
        sort.values = ref(call.values()), sort.indices = ref(call.indices());
        sort.in_stride = call.in_stride();
        sort.values_stride = call.values_stride(), sort.indices_stride = call.indices_stride();
        sort.rows = call.rows(), sort.cols = call.cols(), sort.count = call.count();
        sort.descending = call.descending();
        sort.cookie = cookie_;
        return sidra_sort_async(stream_, &sort);
    }

   private:
    sidra_ref ref(const format::Place* place) const {
        if (place == nullptr) return {};
        return {place->memory() == format::Memory::Constants ? objects_.constants : objects_.work, place->offset()};
    }

    sidra_windows windows(const format::Windows& from) const {
        sidra_windows to{};
        to.at = ref(from.at());
        to.type = type_of(from.type());
        to.codes = type_of(from.codes());
        to.zero = from.zero();
        to.images = from.images(), to.rows = from.rows(), to.columns = from.columns();
        to.height = from.height(), to.width = from.width(), to.channels = from.channels();
        to.kernel_h = from.kernel_h(), to.kernel_w = from.kernel_w();
        to.stride_h = from.stride_h(), to.stride_w = from.stride_w();
        to.pad_h = from.pad_h(), to.pad_w = from.pad_w();
        to.dilation_h = from.dilation_h(), to.dilation_w = from.dilation_w();
        to.image_stride = from.image_stride(), to.row_stride = from.row_stride(), to.pixel_stride = from.pixel_stride();
        return to;
    }

    // What all calls of a program have.
    template <typename From, typename To>
    void fill(const From& from, Operands* operands, To* to) const {
        to->operand_count = from.operands()->size();
        for (uint32_t i = 0; i < to->operand_count; ++i) (*operands)[i] = operand(*from.operands()->Get(i));
        to->operands = operands->data();
        if (from.param() != nullptr) std::ranges::copy(*from.param(), to->param);
        to->cookie = cookie_;
    }

    sidra_vector_operand operand(const format::Operand& from) const {
        sidra_vector_operand to{};
        to.at = ref(from.at());
        to.type = type_of(from.type());
        to.extent = from.extent();
        std::ranges::copy(*from.stride(), to.stride);
        if (from.index() == nullptr) return to;
        to.index = ref(from.index());
        to.index_type = type_of(from.index_type());
        return to;
    }

    sidra_stream* const stream_;
    const ModelObjects& objects_;
    const uint32_t cookie_;
};

}  // namespace

sidra_status queue_call(sidra_stream* stream, const ModelObjects& objects, const format::Call& call, uint32_t cookie) {
    const Queueing queueing(stream, objects, cookie);
    switch (call.step_type()) {
        case format::Step::Vector:
            return queueing.queue(*call.step_as_Vector());
        case format::Step::Layer:
            return queueing.queue(*call.step_as_Layer());
        case format::Step::Matmul:
            return queueing.queue(*call.step_as_Matmul());
        case format::Step::Pool:
            return queueing.queue(*call.step_as_Pool());
        default:
            return queueing.queue(*call.step_as_Sort());
    }
}

}  // namespace sidra
