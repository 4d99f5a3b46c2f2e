// SPDX-License-Identifier: MIT
// MVM. A unit is one column of tiles (all inputs, up to 256 outputs) for a block of vectors.
#include <algorithm>

#include "job.h"
#include "product.h"
#include "verify.h"

namespace sidra::chip {
namespace {

constexpr uint64_t kConvertBytes = 64u << 10;  // of input gathered for conversion

Fault find(const Env& env, Job& job) {
    return find_product(env, job, job.cmd.mvm.weights, job.cmd.mvm.flags, &job.mvm.product);
}

Fault check_vectors(uint64_t va, uint32_t stride, uint32_t batch, uint32_t elements, uint32_t type,
                    Rectangle* vectors) {
    const uint32_t size = vector::element_size(type);
    const uint64_t bytes = uint64_t{elements} * size;
    if (va % size || stride % size) return {SIDRA_FAULT_ALIGNMENT, va};
    if (stride < bytes) return {SIDRA_FAULT_FIELD, stride};
    *vectors = Rectangle(va, stride, batch, bytes);
    return vectors->valid() ? Fault{} : Fault{SIDRA_FAULT_LIMIT, va};
}

// N values of 4 bytes, one for each column.
Fault check_columns(uint64_t va, uint32_t columns, Range* values) {
    *values = Range(Space::kDevice, va, va ? uint64_t{columns} * 4 : 0);
    if (va % 4) return {SIDRA_FAULT_ALIGNMENT, va};
    return values->valid() ? Fault{} : Fault{SIDRA_FAULT_LIMIT, va};
}

Fault mvm_prepare(const Env& env, Job& job) {
    const sidra_cmd_mvm& m = job.cmd.mvm;
    MvmPlan& plan = job.mvm;
    plan = {};
    plan.in_type = m.types & 15;
    plan.out_type = m.types >> 4;
    const bool float_in = plan.in_type == SIDRA_TYPE_F32;
    const bool sums_out = plan.out_type == SIDRA_TYPE_S32;
    if (m.flags & ~SIDRA_CMD_MVM_CALIBRATE) return {SIDRA_FAULT_FIELD, m.flags};
    if (plan.in_type != SIDRA_TYPE_U8 && plan.in_type != SIDRA_TYPE_S8 && !float_in)
        return {SIDRA_FAULT_FIELD, plan.in_type};
    if (plan.out_type > SIDRA_TYPE_F32) return {SIDRA_FAULT_FIELD, plan.out_type};
    if (plan.in_type == SIDRA_TYPE_S8 ? m.in_zero < -128 || m.in_zero > 127 : m.in_zero < 0 || m.in_zero > 255)
        return {SIDRA_FAULT_FIELD, static_cast<uint16_t>(m.in_zero)};
    if (m.out_zero && plan.out_type != SIDRA_TYPE_S8 && plan.out_type != SIDRA_TYPE_U8)
        return {SIDRA_FAULT_FIELD, m.out_zero};
    if (sums_out && (m.scale || m.out_factor || (m.in_scale && !float_in))) return {SIDRA_FAULT_FIELD};
    float out_factor;
    if (!positive_or_one(m.in_scale, &plan.in_scale)) return {SIDRA_FAULT_FIELD, m.in_scale};
    if (!positive_or_one(m.out_factor, &out_factor)) return {SIDRA_FAULT_FIELD, m.out_factor};
    plan.gain = plan.in_scale * out_factor;
    if (m.batch == 0) return {SIDRA_FAULT_FIELD};
    if (m.batch > SIDRA_CMD_BATCH_MAX) return {SIDRA_FAULT_LIMIT, m.batch};
    if (Fault fault = find(env, job)) return fault;

    const Weights& w = *plan.product.weights;
    if (Fault fault = check_vectors(m.in, m.in_stride, m.batch, w.rows, plan.in_type, &plan.in)) return fault;
    if (Fault fault = check_vectors(m.out, m.out_stride, m.batch, w.cols, plan.out_type, &plan.out)) return fault;
    if (Fault fault = check_columns(m.scale, w.cols, &plan.scale)) return fault;
    if (Fault fault = check_columns(m.bias, w.cols, &plan.bias)) return fault;

    const uint64_t vector_macs = product_macs(w, 1), speed = product_speed(env, w);
    uint64_t block = std::clamp<uint64_t>(kProductNs * speed / vector_macs, 1, kProductRowsMax);
    block = std::min(block, std::max<uint64_t>(kProductInputBytes / w.rows, 1));
    uint64_t blocks = (m.batch + block - 1) / block;
    block = (m.batch + blocks - 1) / blocks;  // of equal size;
    if (const uint64_t batch = env.engine.can().batch; block > batch && blocks > 1)
        block = (block + batch - 1) / batch * batch;
    blocks = (m.batch + block - 1) / block;
    plan.block = static_cast<uint32_t>(block);
    job.units = static_cast<uint32_t>(blocks * w.tile_cols);
    const auto pieces = [&](const Rectangle& vectors) { return vectors.dense() ? 1 : block; };
    const uint64_t sums = Rows::scratch_of(block, w.tile_width * 4);
    job.unit_load = {vector_macs * block / kMacsPerOperation + 1, pieces(plan.in) + block + 2,
                     Rows::scratch_of(plan.in_type == SIDRA_TYPE_U8 ? block : 0, w.rows) + kConvertBytes + 2 * sums +
                         product_scratch(env, w, block)};
    job.unit_work = product_ns(env, w, 1, block);
    begin_products(env, job, m.batch, block, m.flags, &plan.product);
    return {};
}

// The vectors of a block as u8 rows, converted once for all columns of tiles that are computed with the same staging
// memory in a row.
Fault input_block(const Env& env, const Job& job, Worker& worker, Dma& dma, uint32_t block, uint32_t vectors,
                  Rows* rows) {
    const sidra_cmd_mvm& m = job.cmd.mvm;
    const MvmPlan& plan = job.mvm;
    const Rectangle raw = plan.in.rows(uint64_t{block} * plan.block, vectors);
    if (plan.in_type == SIDRA_TYPE_U8) return rows->map_in(dma, worker.scratch, raw);

    const uint32_t k = plan.product.weights->rows;
    rows->stride = k;
    // Engines only read it.
    if ((rows->data = const_cast<uint8_t*>(worker.converted.find(job.serial, block)))) return {};
    uint8_t* const converted = worker.converted.replace(uint64_t{vectors} * k);
    const uint64_t size = vector::element_size(plan.in_type);
    const auto convert = [&](const uint8_t* from, uint8_t* to, uint64_t elements) {
        if (plan.in_type == SIDRA_TYPE_S8) env.kernels.bias_u8(reinterpret_cast<const int8_t*>(from), to, elements);
        else env.kernels.quantize_u8(reinterpret_cast<const float*>(from), to, elements, plan.in_scale, m.in_zero);
    };
    Rows in_place;
    if (Fault fault = in_place.direct(dma, raw, Access::kRead)) return fault;
    uint8_t* const gathered = in_place.data ? nullptr : worker.scratch.take(kConvertBytes);
    for (uint32_t v = 0; v < vectors; v++) {
        uint8_t* to = converted + uint64_t{v} * k;
        if (in_place.data) {
            convert(in_place.data + v * in_place.stride, to, k);
            continue;
        }
        for (Range left = raw.row(v); !left.empty(); left = left.from(kConvertBytes)) {
            const Range some = left.part(0, kConvertBytes);
            if (Fault fault = dma.read(some, gathered)) return fault;
            convert(gathered, to, some.length() / size);
            to += some.length() / size;
        }
    }
    worker.converted.belongs_to(job.serial, block);
    rows->data = converted;
    return {};
}

Fault mvm_unit(const Env& env, const Job& job, Worker& worker, uint32_t index) {
    const sidra_cmd_mvm& m = job.cmd.mvm;
    const MvmPlan& plan = job.mvm;
    const Weights& w = *plan.product.weights;
    if (index < job.makes) {
        make_readout(env, job, plan.product, index);
        return {};
    }
    index -= job.makes;
    const uint32_t block = index / w.tile_cols;
    const uint32_t column = index % w.tile_cols;
    const uint32_t vectors = std::min(plan.block, m.batch - block * plan.block);
    const uint32_t outputs = w.tile_outputs(column);
    const uint64_t first = uint64_t{column} * w.tile_width;
    Dma dma(env.bus, worker.tlb, env.space);

    Rows in;
    if (Fault fault = input_block(env, job, worker, dma, block, vectors, &in)) return fault;

    int32_t bias[SIDRA_XBAR_COLS];
    if (m.bias)
        if (Fault fault = dma.read(plan.bias.part(first * 4, outputs * 4u), bias)) return fault;
    const int32_t zero = m.in_zero + (plan.in_type == SIDRA_TYPE_S8 ? 128 : 0);
    const auto multiply_into = [&](int32_t* acc, size_t stride) {
        multiply(env, plan.product, worker, column, {in.data, in.stride, vectors, uint64_t{block} * plan.block}, zero,
                 m.bias ? bias : nullptr, acc, stride);
    };

    const uint32_t out_size = vector::element_size(plan.out_type);
    Rows out;
    if (Fault fault = out.map_out(
            dma, worker.scratch,
            plan.out.part(uint64_t{block} * plan.block, vectors, first * out_size, uint64_t{outputs} * out_size)))
        return fault;
    if (plan.out_type == SIDRA_TYPE_S32) {
        multiply_into(reinterpret_cast<int32_t*>(out.data), out.stride / 4);
    } else {
        int32_t* const acc = worker.scratch.take_array<int32_t>(uint64_t{vectors} * outputs);
        multiply_into(acc, outputs);

        float factors[SIDRA_XBAR_COLS];
        engine::Scale scale{};
        if (m.scale) {
            if (Fault fault = dma.read(plan.scale.part(first * 4, outputs * 4u), factors)) return fault;
            scale.scale = factors;
        }
        scale.acc = acc;
        scale.acc_stride = outputs;
        scale.out = out.data;
        scale.out_stride = out.stride;
        scale.rows = vectors;
        scale.cols = outputs;
        scale.out_type = plan.out_type;
        scale.gain = plan.gain;
        scale.out_zero = plan.out_type == SIDRA_TYPE_S8 ? static_cast<int8_t>(m.out_zero) : m.out_zero;
        env.kernels.scale(scale);
    }
    return out.commit();
}

}  // namespace

const Operation kMvmOperation = {SIDRA_HW_ENGINE_MVM, mvm_prepare, find, mvm_unit};

}  // namespace sidra::chip
