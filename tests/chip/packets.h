// SPDX-License-Identifier: MIT
// Constructors of packets. Each packet has its own cookie, so that reports and fault records are distinguishable.
#ifndef SIDRA_TESTS_CHIP_PACKETS_H
#define SIDRA_TESTS_CHIP_PACKETS_H

#include <atomic>
#include <bit>
#include <cstdint>

#include "sidra_cmd.h"

namespace sidra::chip_test {

inline sidra_cmd blank(sidra_cmd_opcode opcode) {
    static std::atomic<uint32_t> cookie{0x7000'0001};
    sidra_cmd cmd{};
    cmd.hdr.opcode = static_cast<uint8_t>(opcode);
    cmd.hdr.cookie = cookie.fetch_add(0x0101'0107, std::memory_order_relaxed);
    return cmd;
}

inline sidra_cmd nop() { return blank(SIDRA_CMD_NOP); }
inline sidra_cmd barrier() { return blank(SIDRA_CMD_BARRIER); }

inline sidra_cmd sem_wait(uint64_t addr, uint64_t value) {
    sidra_cmd cmd = blank(SIDRA_CMD_SEM_WAIT);
    cmd.sem.addr = addr;
    cmd.sem.value = value;
    return cmd;
}

inline sidra_cmd sem_wait_queue(uint32_t queue, uint32_t epoch, uint64_t value) {
    sidra_cmd cmd = blank(SIDRA_CMD_SEM_WAIT);
    cmd.hdr.flags = SIDRA_CMD_SEM_QUEUE;
    cmd.sem.queue = queue;
    cmd.sem.epoch = epoch;
    cmd.sem.value = value;
    return cmd;
}

inline sidra_cmd sem_signal(uint64_t addr, uint64_t value) {
    sidra_cmd cmd = sem_wait(addr, value);
    cmd.hdr.opcode = SIDRA_CMD_SEM_SIGNAL;
    return cmd;
}

inline sidra_cmd timestamp(uint64_t addr) {
    sidra_cmd cmd = blank(SIDRA_CMD_TIMESTAMP);
    cmd.timestamp.addr = addr;
    return cmd;
}

inline sidra_cmd copy(uint64_t dst, uint64_t src, uint64_t bytes) {
    sidra_cmd cmd = blank(SIDRA_CMD_COPY);
    cmd.copy.dst = dst;
    cmd.copy.src = src;
    cmd.copy.row_bytes = bytes;
    cmd.copy.rows = 1;
    return cmd;
}

inline sidra_cmd copy_2d(uint64_t dst, uint64_t dst_stride, uint64_t src, uint64_t src_stride, uint64_t row_bytes,
                         uint32_t rows) {
    sidra_cmd cmd = copy(dst, src, row_bytes);
    cmd.copy.rows = rows;
    cmd.copy.dst_stride = dst_stride;
    cmd.copy.src_stride = src_stride;
    return cmd;
}

inline sidra_cmd fill(uint64_t dst, uint64_t bytes, uint64_t pattern, uint32_t pattern_bytes) {
    sidra_cmd cmd = blank(SIDRA_CMD_FILL);
    cmd.fill.dst = dst;
    cmd.fill.bytes = bytes;
    cmd.fill.pattern = pattern;
    cmd.fill.pattern_bytes = pattern_bytes;
    return cmd;
}

inline uint32_t element_size(uint32_t type) {
    switch (type) {
        case SIDRA_TYPE_S64:
            return 8;
        case SIDRA_TYPE_S32:
        case SIDRA_TYPE_F32:
            return 4;
        case SIDRA_TYPE_S16:
        case SIDRA_TYPE_F16:
        case SIDRA_TYPE_BF16:
            return 2;
        default:
            return 1;
    }
}
inline uint32_t f32_bits(float value) { return std::bit_cast<uint32_t>(value); }

inline sidra_cmd mvm(uint16_t weights, uint32_t in_type, uint32_t out_type, uint32_t batch, uint64_t in,
                     uint32_t in_stride, uint64_t out, uint32_t out_stride) {
    sidra_cmd cmd = blank(SIDRA_CMD_MVM);
    cmd.mvm.types = SIDRA_MVM_TYPES(in_type, out_type);
    cmd.mvm.weights = weights;
    cmd.mvm.batch = batch;
    cmd.mvm.in = in;
    cmd.mvm.in_stride = in_stride;
    cmd.mvm.out = out;
    cmd.mvm.out_stride = out_stride;
    return cmd;
}

// All elements of each row in order.
inline sidra_cmd sort(uint32_t type, uint32_t rows, uint32_t cols, uint64_t in, uint64_t values) {
    sidra_cmd cmd = blank(SIDRA_CMD_SORT);
    cmd.sort.type = static_cast<uint8_t>(type);
    cmd.sort.in = in;
    cmd.sort.values = values;
    cmd.sort.in_stride = cmd.sort.values_stride = cols * element_size(type);
    cmd.sort.rows = rows;
    cmd.sort.cols = cmd.sort.count = cols;
    return cmd;
}

inline sidra_cmd program(uint32_t weights, uint32_t row0, uint32_t rows, uint32_t col0, uint32_t cols, uint64_t addr,
                         uint32_t stride) {
    sidra_cmd cmd = blank(SIDRA_CMD_PROGRAM);
    cmd.weights.weights = weights;
    cmd.weights.row0 = row0;
    cmd.weights.rows = rows;
    cmd.weights.col0 = col0;
    cmd.weights.cols = cols;
    cmd.weights.addr = addr;
    cmd.weights.stride = stride;
    return cmd;
}

inline sidra_cmd readback(uint32_t weights, uint32_t row0, uint32_t rows, uint32_t col0, uint32_t cols, uint64_t addr,
                          uint32_t stride) {
    sidra_cmd cmd = program(weights, row0, rows, col0, cols, addr, stride);
    cmd.hdr.opcode = SIDRA_CMD_READBACK;
    return cmd;
}

inline sidra_cmd refresh(uint32_t weights, uint32_t row0, uint32_t rows, uint32_t col0, uint32_t cols,
                         uint32_t tolerance_ppm = 0) {
    sidra_cmd cmd = program(weights, row0, rows, col0, cols, 0, 0);
    cmd.hdr.flags = SIDRA_CMD_PROGRAM_REFRESH;
    cmd.weights.tolerance_ppm = tolerance_ppm;
    return cmd;
}

inline sidra_cmd call(uint64_t addr, uint32_t count) {
    sidra_cmd cmd = blank(SIDRA_CMD_CALL);
    cmd.call.addr = addr;
    cmd.call.count = count;
    return cmd;
}

}  // namespace sidra::chip_test

#endif
