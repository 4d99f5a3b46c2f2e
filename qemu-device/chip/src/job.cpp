// SPDX-License-Identifier: MIT
#include "job.h"

#include <bit>
#include <cmath>
#include <cstring>

namespace sidra::chip {

Worker& this_worker() {
    static thread_local Worker worker;
    return worker;
}

const Operation* operation(uint8_t opcode) {
    switch (opcode) {
        case SIDRA_CMD_COPY:
            return &kCopyOperation;
        case SIDRA_CMD_FILL:
            return &kFillOperation;
        case SIDRA_CMD_MVM:
            return &kMvmOperation;
        case SIDRA_CMD_VEC:
            return &kVecOperation;
        case SIDRA_CMD_PROGRAM:
            return &kProgramOperation;
        case SIDRA_CMD_READBACK:
            return &kReadbackOperation;
        default:
            return nullptr;
    }
}

bool positive_or_one(uint32_t bits, float* value) {
    *value = bits == 0 ? 1.0f : std::bit_cast<float>(bits);
    return std::isfinite(*value) && *value > 0;
}

uint64_t rows_extent(uint64_t rows, uint64_t stride, uint64_t bytes) {
    uint64_t extent;
    if (__builtin_mul_overflow(rows - 1, stride, &extent) || __builtin_add_overflow(extent, bytes, &extent))
        return ~uint64_t{0};
    return extent;
}

Fault Rows::direct(Dma& dma, uint64_t va, uint64_t row_stride, uint32_t rows, uint64_t bytes, bool write) {
    Fault fault;
    data = dma.map_all(va, rows_extent(rows, row_stride, bytes), write, &fault);
    stride = row_stride;
    // Gaps of a page and more need not be accessible at all: then it is for the single rows to fault.
    if (rows > 1 && row_stride - bytes >= SIDRA_PAGE_SIZE && fault.cause != SIDRA_FAULT_BUS) return {};
    return fault;
}

Fault Rows::map_in(Dma& dma, std::vector<uint8_t>& scratch, uint64_t va, uint64_t row_stride, uint32_t rows,
                   uint64_t bytes) {
    if (Fault fault = direct(dma, va, row_stride, rows, bytes, false)) return fault;
    if (data) return {};
    if (scratch.size() < rows * bytes) scratch.resize(rows * bytes);
    for (uint32_t r = 0; r < rows; r++)
        if (Fault fault = dma.read(va + r * row_stride, scratch.data() + r * bytes, bytes)) return fault;
    data = scratch.data();
    stride = bytes;
    return {};
}

Fault Rows::map_out(Dma& dma, std::vector<uint8_t>& scratch, uint64_t va, uint64_t row_stride, uint32_t rows,
                    uint64_t bytes) {
    if (Fault fault = direct(dma, va, row_stride, rows, bytes, true)) return fault;
    if (data) return {};
    if (scratch.size() < rows * bytes) scratch.resize(rows * bytes);
    data = scratch.data();
    stride = bytes;
    dma_ = &dma;
    va_ = va, va_stride_ = row_stride, bytes_ = bytes, rows_ = rows;
    return {};
}

Fault Rows::commit() {
    if (!dma_) return {};
    for (uint32_t r = 0; r < rows_; r++)
        if (Fault fault = dma_->write(va_ + r * va_stride_, data + r * bytes_, bytes_)) return fault;
    return {};
}

}  // namespace sidra::chip
