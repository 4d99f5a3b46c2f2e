// SPDX-License-Identifier: MIT
// COPY and FILL.
#include <unistd.h>
#ifdef __SSE2__
#include <emmintrin.h>
#endif

#include <algorithm>
#include <cstring>

#include "job.h"

namespace sidra::chip {
namespace {

constexpr uint64_t kBytesPerNs = 8;  // estimate for slices

// A row longer than this is cut into units; pieces of this size copy as fast as one large memcpy.
constexpr uint64_t kCopyUnit = 256u << 10;
// Short rows cost their start, not their bytes.
constexpr uint64_t kUnitRows = 4096;
constexpr uint64_t kRowNs = 50;

// Of the host's last level, which its cores share.
uint64_t cache_size() {
    const long size = sysconf(_SC_LEVEL3_CACHE_SIZE);
    return size > 0 ? static_cast<uint64_t>(size) : 32u << 20;
}

Fault copy_prepare(const Env&, Job& job) {
    const sidra_cmd_copy& c = job.cmd.copy;
    if (c.hdr.flags || c.hdr.pad || c.pad || c.reserved) return {SIDRA_FAULT_FIELD};
    if (c.rows == 0 || c.row_bytes == 0) return {SIDRA_FAULT_FIELD};
    if (c.rows == 1) {
        if (c.dst_stride || c.src_stride) return {SIDRA_FAULT_FIELD};
    } else if (c.dst_stride < c.row_bytes || c.src_stride < c.row_bytes) {
        return {SIDRA_FAULT_FIELD};
    }
    uint64_t bytes;
    if (__builtin_mul_overflow(c.row_bytes, c.rows, &bytes) || bytes > SIDRA_CMD_COPY_MAX) return {SIDRA_FAULT_LIMIT};
    const uint64_t dst_extent = rows_extent(c.rows, c.dst_stride, c.row_bytes);
    const uint64_t src_extent = rows_extent(c.rows, c.src_stride, c.row_bytes);
    if (!range_ok(c.dst, dst_extent)) return {SIDRA_FAULT_LIMIT, c.dst};
    if (!range_ok(c.src, src_extent)) return {SIDRA_FAULT_LIMIT, c.src};
    if (c.rows == 1 && c.dst < c.src + bytes && c.src < c.dst + bytes) return {SIDRA_FAULT_FIELD, c.dst};

    uint64_t units;
    if (c.row_bytes > kCopyUnit / 2) {
        job.copy = {(c.row_bytes + kCopyUnit - 1) / kCopyUnit, 1, kCopyUnit, false};
        units = job.copy.row_chunks * c.rows;
    } else {
        job.copy = {1, std::min(kCopyUnit / c.row_bytes, kUnitRows), c.row_bytes, false};
        units = (c.rows + job.copy.unit_rows - 1) / job.copy.unit_rows;
    }
    static const uint64_t cached = cache_size() / 2;  // of source and destination, half each
    job.copy.past_caches = bytes > cached && c.row_bytes >= SIDRA_PAGE_SIZE;
    job.units = static_cast<uint32_t>(units);
    const uint64_t unit_rows = std::min<uint64_t>(job.copy.unit_rows, c.rows);
    job.unit_work = std::min(unit_rows * c.row_bytes, kCopyUnit) / kBytesPerNs + (unit_rows - 1) * kRowNs;
    job.cost = copy_cost(bytes);
    job.work.copy_bytes = bytes;
    return {};
}

// Host addresses may be the same page twice (mapped at two device addresses).
bool apart(const uint8_t* a, const uint8_t* b, uint64_t length) {
    const auto x = reinterpret_cast<uintptr_t>(a), y = reinterpret_cast<uintptr_t>(b);
    return (x < y ? y - x : x - y) >= length;
}

// The destination is not read first, and what others have cached stays.
void copy_past_caches(uint8_t* to, const uint8_t* from, uint64_t length) {
#ifdef __SSE2__
    const uint64_t head = std::min<uint64_t>(length, -reinterpret_cast<uintptr_t>(to) % 64);
    std::memcpy(to, from, head);
    to += head, from += head, length -= head;
    for (; length >= 64; to += 64, from += 64, length -= 64) {
        __m128i block[4];
        for (int i = 0; i < 4; i++) block[i] = _mm_loadu_si128(reinterpret_cast<const __m128i*>(from) + i);
        for (int i = 0; i < 4; i++) _mm_stream_si128(reinterpret_cast<__m128i*>(to) + i, block[i]);
    }
    _mm_sfence();
#endif
    std::memcpy(to, from, length);
}

Fault copy_range(Dma& dma, uint64_t dst, uint64_t src, uint64_t bytes, bool past_caches) {
    while (bytes != 0) {
        uint64_t from_length = bytes, to_length = bytes;
        Fault fault;
        const uint8_t* from = dma.map_some(src, &from_length, false, &fault);
        if (fault) return fault;
        uint8_t* to = dma.map_some(dst, &to_length, true, &fault);
        if (fault) return fault;
        const uint64_t length = std::min(from_length, to_length);
        if (past_caches && apart(to, from, length)) copy_past_caches(to, from, length);
        else std::memmove(to, from, length);
        dst += length, src += length, bytes -= length;
    }
    return {};
}

Fault copy_unit(const Env& env, const Job& job, Worker& worker, uint32_t index) {
    const sidra_cmd_copy& c = job.cmd.copy;
    const CopyPlan& plan = job.copy;
    Dma dma(env.bus, worker.tlb, env.space);
    if (plan.row_chunks > 1 || plan.unit_rows == 1) {
        const uint64_t row = index / plan.row_chunks;
        const uint64_t at = index % plan.row_chunks * plan.unit_bytes;
        return copy_range(dma, c.dst + row * c.dst_stride + at, c.src + row * c.src_stride + at,
                          std::min(plan.unit_bytes, c.row_bytes - at), plan.past_caches);
    }
    const uint64_t first = index * plan.unit_rows;
    const uint64_t last = std::min<uint64_t>(first + plan.unit_rows, c.rows);
    for (uint64_t row = first; row < last; row++) {
        if (Fault fault =
                copy_range(dma, c.dst + row * c.dst_stride, c.src + row * c.src_stride, c.row_bytes, plan.past_caches))
            return fault;
        dma.unmap_all();
    }
    return {};
}

Fault fill_prepare(const Env&, Job& job) {
    const sidra_cmd_fill& f = job.cmd.fill;
    if (f.hdr.flags || f.hdr.pad || f.pad || f.reserved[0] || f.reserved[1] || f.reserved[2])
        return {SIDRA_FAULT_FIELD};
    const uint32_t size = f.pattern_bytes;
    if (size != 1 && size != 2 && size != 4 && size != 8) return {SIDRA_FAULT_FIELD, size};
    if (size < 8 && f.pattern >> (8 * size)) return {SIDRA_FAULT_FIELD, f.pattern};
    if (f.bytes == 0) return {SIDRA_FAULT_FIELD};
    if (f.dst % size || f.bytes % size) return {SIDRA_FAULT_ALIGNMENT, f.dst};
    if (f.bytes > SIDRA_CMD_COPY_MAX || !range_ok(f.dst, f.bytes)) return {SIDRA_FAULT_LIMIT, f.dst};
    job.units = static_cast<uint32_t>((f.bytes + kCopyUnit - 1) / kCopyUnit);
    job.unit_work = std::min(f.bytes, kCopyUnit) / kBytesPerNs;
    job.cost = copy_cost(f.bytes);
    job.work.copy_bytes = f.bytes;
    return {};
}

Fault fill_unit(const Env& env, const Job& job, Worker& worker, uint32_t index) {
    const sidra_cmd_fill& f = job.cmd.fill;
    Dma dma(env.bus, worker.tlb, env.space);
    uint8_t pattern[64];
    for (uint32_t i = 0; i < sizeof pattern; i++)
        pattern[i] = static_cast<uint8_t>(f.pattern >> (8 * (i % f.pattern_bytes)));
    uint64_t va = f.dst + index * kCopyUnit;
    uint64_t left = std::min(kCopyUnit, f.dst + f.bytes - va);
    while (left != 0) {
        uint64_t length = left;
        Fault fault;
        uint8_t* to = dma.map_some(va, &length, true, &fault);
        if (fault) return fault;
        // Pieces end at page borders, so each one starts with the pattern's first byte.
        uint64_t done = 0;
        for (; done + sizeof pattern <= length; done += sizeof pattern) std::memcpy(to + done, pattern, sizeof pattern);
        std::memcpy(to + done, pattern, length - done);
        va += length, left -= length;
    }
    return {};
}

}  // namespace

const Operation kCopyOperation = {SIDRA_HW_ENGINE_COPY, copy_prepare, nullptr, copy_unit};
const Operation kFillOperation = {SIDRA_HW_ENGINE_COPY, fill_prepare, nullptr, fill_unit};

}  // namespace sidra::chip
