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

// Longer rows are divided into units; copying in pieces of this size is as fast as one large memcpy.
constexpr uint64_t kCopyUnit = 256u << 10;
// Size of the host's last-level cache, which its cores share.
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
    const Rectangle dst(c.dst, c.dst_stride, c.rows, c.row_bytes), src(c.src, c.src_stride, c.rows, c.row_bytes);
    if (!dst.valid()) return {SIDRA_FAULT_LIMIT, c.dst};
    if (!src.valid()) return {SIDRA_FAULT_LIMIT, c.src};
    if (c.rows == 1 && c.dst < c.src + bytes && c.src < c.dst + bytes) return {SIDRA_FAULT_FIELD, c.dst};

    uint64_t units;
    if (c.row_bytes > kCopyUnit / 2) {
        job.copy = {dst, src, (c.row_bytes + kCopyUnit - 1) / kCopyUnit, 1, kCopyUnit, false};
        units = job.copy.row_chunks * c.rows;
    } else {
        job.copy = {dst, src, 1, std::min(kCopyUnit / c.row_bytes, kUnitRows), c.row_bytes, false};
        units = (c.rows + job.copy.unit_rows - 1) / job.copy.unit_rows;
    }
    static const uint64_t cached = cache_size() / 2;  // half for the source, half for the destination
    job.copy.past_caches = bytes > cached && c.row_bytes >= SIDRA_PAGE_SIZE;
    job.units = static_cast<uint32_t>(units);
    const uint64_t unit_rows = std::min<uint64_t>(job.copy.unit_rows, c.rows);
    const uint64_t unit_bytes = std::min(unit_rows * c.row_bytes, kCopyUnit);
    job.unit_load = {unit_bytes, 2 * unit_rows, 0};
    job.unit_work = unit_bytes / kBytesPerNs + (unit_rows - 1) * kPieceNs;
    job.cost = copy_cost(bytes);
    job.work.copy_bytes = bytes;
    return {};
}

// The host addresses may be the same page (mapped at two device addresses).
bool apart(const uint8_t* a, const uint8_t* b, uint64_t length) {
    const auto x = reinterpret_cast<uintptr_t>(a), y = reinterpret_cast<uintptr_t>(b);
    return (x < y ? y - x : x - y) >= length;
}

// Non-temporal stores: the destination is not read first, and other data stays in the caches.
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

Fault copy_range(Dma& dma, Range dst, Range src, bool past_caches) {
    while (!dst.empty()) {
        uint64_t from_length, to_length;
        Fault fault;
        const uint8_t* const from = dma.map_some(src, &from_length, Access::kRead, &fault);
        if (fault) return fault;
        uint8_t* const to = dma.map_some(dst, &to_length, Access::kWrite, &fault);
        if (fault) return fault;
        const uint64_t length = std::min(from_length, to_length);
        if (past_caches && apart(to, from, length)) copy_past_caches(to, from, length);
        else std::memmove(to, from, length);
        dst = dst.from(length);
        src = src.from(length);
    }
    return {};
}

Fault copy_unit(const Env& env, const Job& job, Worker& worker, uint32_t index) {
    const CopyPlan& plan = job.copy;
    Dma dma(env.bus, worker.tlb, env.space);
    if (plan.row_chunks > 1 || plan.unit_rows == 1) {
        const uint64_t row = index / plan.row_chunks;
        const uint64_t at = index % plan.row_chunks * plan.unit_bytes;
        return copy_range(dma, plan.dst.row(row).part(at, plan.unit_bytes), plan.src.row(row).part(at, plan.unit_bytes),
                          plan.past_caches);
    }
    const uint64_t first = index * plan.unit_rows;
    const uint64_t last = std::min(first + plan.unit_rows, plan.dst.rows());
    for (uint64_t row = first; row < last; row++) {
        if (Fault fault = copy_range(dma, plan.dst.row(row), plan.src.row(row), plan.past_caches)) return fault;
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
    const Rectangle dst(f.dst, f.bytes, 1, f.bytes);
    if (f.bytes > SIDRA_CMD_COPY_MAX || !dst.valid()) return {SIDRA_FAULT_LIMIT, f.dst};
    job.copy = {};
    job.copy.dst = dst;
    job.units = static_cast<uint32_t>((f.bytes + kCopyUnit - 1) / kCopyUnit);
    job.unit_load = {std::min(f.bytes, kCopyUnit), 1, 0};
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
    for (Range left = job.copy.dst.extent().part(index * kCopyUnit, kCopyUnit); !left.empty();) {
        uint64_t length;
        Fault fault;
        uint8_t* to = dma.map_some(left, &length, Access::kWrite, &fault);
        if (fault) return fault;
        // Pieces end at page borders, so each starts at the first byte of the pattern.
        uint64_t done = 0;
        for (; done + sizeof pattern <= length; done += sizeof pattern) std::memcpy(to + done, pattern, sizeof pattern);
        std::memcpy(to + done, pattern, length - done);
        left = left.from(length);
    }
    return {};
}

}  // namespace

const Operation kCopyOperation = {SIDRA_HW_ENGINE_COPY, copy_prepare, nullptr, copy_unit};
const Operation kFillOperation = {SIDRA_HW_ENGINE_COPY, fill_prepare, nullptr, fill_unit};

}  // namespace sidra::chip
