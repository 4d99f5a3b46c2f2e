// SPDX-License-Identifier: MIT
#include "job.h"

#include <bit>
#include <cmath>
#include <cstring>
#include <utility>

namespace sidra::chip {

Tlb& this_tlb() {
    static thread_local Tlb tlb;
    return tlb;
}

ProgramCache& this_program_cache() {
    static thread_local ProgramCache programs;
    return programs;
}

const Operation* operation(uint8_t opcode) {
    switch (opcode) {
        case SIDRA_CMD_COPY:
            return &kCopyOperation;
        case SIDRA_CMD_FILL:
            return &kFillOperation;
        case SIDRA_CMD_MVM:
            return &kMvmOperation;
        case SIDRA_CMD_VECTOR:
            return &kVectorOperation;
        case SIDRA_CMD_MATMUL:
            return &kMatmulOperation;
        case SIDRA_CMD_LAYER:
            return &kLayerOperation;
        case SIDRA_CMD_PROGRAM:
            return &kProgramOperation;
        case SIDRA_CMD_READBACK:
            return &kReadbackOperation;
        case SIDRA_CMD_POOL:
            return &kPoolOperation;
        case SIDRA_CMD_SORT:
            return &kSortOperation;
        default:
            return nullptr;
    }
}

Fault find_weights(const Env& env, Job& job, uint32_t index, Weights** weights) {
    std::unique_ptr<Weights> own;
    if (Fault fault = env.context.find_weights(env.bus, env.array, index, &own, weights)) return fault;
    const WeightsShape& found = **weights;
    if (job.weights_shape.uid != 0 && found != job.weights_shape) return {SIDRA_FAULT_WEIGHTS, index};
    job.weights_shape = found;
    if (own) job.own_weights = std::move(own);
    return {};
}

bool positive_or_one(uint32_t bits, float* value) {
    *value = bits == 0 ? 1.0f : std::bit_cast<float>(bits);
    return std::isfinite(*value) && *value > 0;
}

Fault Rows::direct(Dma& dma, const Rectangle& rows, Access access) {
    Fault fault;
    data = dma.map_all(rows.extent(), access, &fault);
    stride = rows.stride();
    // Gaps of a page or more need not be accessible: then map single rows, which report their own faults.
    if (rows.rows() > 1 && rows.stride() - rows.bytes() >= SIDRA_PAGE_SIZE && fault.cause != SIDRA_FAULT_BUS) return {};
    return fault;
}

namespace {

// Calls move(range, bytes) for each piece of an operand and its place in the gathered copy.
template <typename F>
Fault for_each_piece(const Rectangle& rows, uint8_t* gathered, F&& move) {
    if (rows.dense()) return move(rows.extent(), gathered);
    for (uint64_t r = 0; r < rows.rows(); r++)
        if (Fault fault = move(rows.row(r), gathered + r * rows.bytes())) return fault;
    return {};
}

}  // namespace

Fault Rows::map_in(Dma& dma, Scratch& scratch, const Rectangle& rows) {
    if (Fault fault = direct(dma, rows, Access::kRead)) return fault;
    if (data) return {};
    data = scratch.take(rows.rows() * rows.bytes());
    stride = rows.bytes();
    return for_each_piece(rows, data, [&](const Range& range, uint8_t* at) { return dma.read(range, at); });
}

Fault Rows::map_out(Dma& dma, Scratch& scratch, const Rectangle& rows) {
    if (Fault fault = direct(dma, rows, Access::kWrite)) return fault;
    if (data) return {};
    data = scratch.take(rows.rows() * rows.bytes());
    stride = rows.bytes();
    dma_ = &dma;
    rows_ = rows;
    return {};
}

Fault Rows::commit() {
    if (!dma_) return {};
    return for_each_piece(rows_, data, [&](const Range& range, const uint8_t* at) { return dma_->write(range, at); });
}

}  // namespace sidra::chip
