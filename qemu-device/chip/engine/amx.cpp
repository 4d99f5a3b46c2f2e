// SPDX-License-Identifier: MIT
// A block is up to 32 input rows by 32 columns: four tiles of sums, two of inputs, two of weights. A packed plane holds
// weights as the instructions want them: a row of a tile of weights is a group of four rows and 16 columns.
#include "amx.h"

#include <cpuid.h>
#include <immintrin.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>

#include "avx512.h"

namespace sidra::engine {

bool amx_permitted() {
    constexpr uint32_t kLeaf = 7, kTile = 1u << 24, kInt8 = 1u << 25, kOsxsave = 1u << 27;
    constexpr uint64_t kTileState = 3ull << 17;
    constexpr long kRequestPermission = 0x1023, kTileData = 18;  // ARCH_REQ_XCOMP_PERM, XFEATURE_XTILEDATA
    uint32_t a, b, c, d;
    if (!__get_cpuid(1, &a, &b, &c, &d) || !(c & kOsxsave)) return false;
    if (!__get_cpuid_count(kLeaf, 0, &a, &b, &c, &d) || !(d & kTile) || !(d & kInt8)) return false;
    if ((_xgetbv(0) & kTileState) != kTileState) return false;
    return syscall(SYS_arch_prctl, kRequestPermission, kTileData) == 0;
}

namespace {

constexpr uint32_t kRows = 16, kCols = 16;  // of a tile of sums
constexpr uint32_t kStep = 64;              // rows of weights that a tile has
constexpr uint32_t kChunk = 2 * kTileRows;  // rows of weights between which sums leave their tiles: 16 KiB of weights
constexpr uint32_t kFewRows = 4;            // so few are faster without tiles
constexpr uint32_t kWeightRow = 256;        // bytes between the rows of a tile of weights
constexpr uint32_t kBatchMax = 256;         // input rows of a call

// Tiles 0 to 3 are sums, 4 and 5 inputs, 6 and 7 weights. Tiles 0, 1 and 4 have `low` rows, 2, 3 and 5 have `high`.
void configure(uint32_t low, uint32_t high) {
    struct alignas(64) {
        uint8_t palette, start, reserved[14];
        uint16_t bytes[16];
        uint8_t rows[16];
    } config{};
    static_assert(sizeof config == 64);
    config.palette = 1;
    for (int tile = 0; tile < 8; ++tile) {
        config.bytes[tile] = kStep;
        config.rows[tile] = static_cast<uint8_t>(tile >= 6 ? kRows : tile == 2 || tile == 3 || tile == 5 ? high : low);
    }
    _tile_loadconfig(&config);
}

struct Block {
    const uint8_t* in;
    size_t in_stride;
    const uint8_t* tail;  // what remains of the rows behind the last whole step, with zeros
    const int8_t* const* packed;
    size_t offset;  // of the first column in a plane
    uint32_t rows;  // of weights, all tiles together
};

// Adds the products with rows [first, end) of the weights to sums in memory, or to zero.
template <bool kHigh, bool kRight>
void multiply(const Block& b, uint32_t first, uint32_t end, bool zero, int32_t* sums, size_t stride) {
    int32_t* const low = sums;
    int32_t* const high = sums + kRows * stride;
    const size_t bytes = stride * 4;
    if (zero) {
        _tile_zero(0);
        if constexpr (kRight) _tile_zero(1);
        if constexpr (kHigh) _tile_zero(2);
        if constexpr (kHigh && kRight) _tile_zero(3);
    } else {
        _tile_loadd(0, low, bytes);
        if constexpr (kRight) _tile_loadd(1, low + kCols, bytes);
        if constexpr (kHigh) _tile_loadd(2, high, bytes);
        if constexpr (kHigh && kRight) _tile_loadd(3, high + kCols, bytes);
    }
    for (uint32_t row = first; row < end; row += kStep) {
        const bool whole = row + kStep <= b.rows;
        const uint8_t* const in = whole ? b.in + row : b.tail;
        const size_t in_stride = whole ? b.in_stride : kStep;
        const int8_t* const weights = b.packed[row / kTileRows] + b.offset + row % kTileRows / 4 * kWeightRow;
        _tile_loadd(6, weights, kWeightRow);
        _tile_loadd(4, in, in_stride);
        _tile_dpbusd(0, 4, 6);
        if constexpr (kRight) {
            _tile_loadd(7, weights + kCols * 4, kWeightRow);
            _tile_dpbusd(1, 4, 7);
        }
        if constexpr (kHigh) {
            _tile_loadd(5, in + kRows * in_stride, in_stride);
            _tile_dpbusd(2, 5, 6);
        }
        if constexpr (kHigh && kRight) _tile_dpbusd(3, 5, 7);
    }
    _tile_stored(0, low, bytes);
    if constexpr (kRight) _tile_stored(1, low + kCols, bytes);
    if constexpr (kHigh) _tile_stored(2, high, bytes);
    if constexpr (kHigh && kRight) _tile_stored(3, high + kCols, bytes);
}

using Multiply = void (*)(const Block&, uint32_t first, uint32_t end, bool zero, int32_t* sums, size_t stride);

// Input rows [b0, b0 + 2 * kRows) or fewer, for which the tiles are configured, times columns [col0, col0 + cols).
void run(const ColumnMvm& m, const uint8_t* tails, uint32_t b0, uint32_t rows, uint32_t col0, uint32_t first,
         uint32_t end) {
    const uint32_t cols = std::min(m.cols - col0, 2 * kCols);
    const bool right = cols > kCols, high = rows > kRows;
    const Block block{m.in + b0 * m.in_stride, m.in_stride, tails + b0 * kStep, m.packed,
                      packed_offset(0, col0),  m.rows};
    const Multiply kernel = high ? (right ? multiply<true, true> : multiply<true, false>)
                                 : (right ? multiply<false, true> : multiply<false, false>);
    int32_t* const acc = m.acc + b0 * m.acc_stride + col0;
    const int32_t* const init = m.init != nullptr ? m.init + col0 : nullptr;
    if (cols % kCols == 0) {
        if (first == 0 && init != nullptr)
            for (uint32_t r = 0; r < rows; ++r) std::memcpy(acc + r * m.acc_stride, init, cols * 4);
        kernel(block, first, end, first == 0 && init == nullptr, acc, m.acc_stride);
        return;
    }
    alignas(64) int32_t sums[2 * kRows * 2 * kCols];
    const int32_t* from = first > 0 ? acc : init;
    const size_t step = first > 0 ? m.acc_stride : 0;
    for (uint32_t r = 0; from != nullptr && r < rows; ++r) std::memcpy(sums + r * 2 * kCols, from + r * step, cols * 4);
    kernel(block, first, end, from == nullptr, sums, 2 * kCols);
    for (uint32_t r = 0; r < rows; ++r) std::memcpy(acc + r * m.acc_stride, sums + r * 2 * kCols, cols * 4);
}

// All rows of a call whose tails fit into scratch memory.
void multiply_rows(const ColumnMvm& m) {
    alignas(64) uint8_t tails[kBatchMax * kStep];
    if (const uint32_t tail = m.rows % kStep) {
        std::memset(tails, 0, size_t{m.batch} * kStep);
        for (uint32_t b = 0; b < m.batch; ++b)
            std::memcpy(tails + b * kStep, m.in + b * m.in_stride + (m.rows - tail), tail);
    }
    const uint32_t whole = m.batch / (2 * kRows) * (2 * kRows), left = m.batch - whole;
    const auto each_column = [&](uint32_t begin, uint32_t stop) {
        for (uint32_t col0 = 0; col0 < m.cols; col0 += 2 * kCols)
            for (uint32_t first = 0; first < m.rows; first += kChunk) {
                const uint32_t end = std::min(first + kChunk, m.rows);
                for (uint32_t b = begin; b < stop; b += 2 * kRows)
                    run(m, tails, b, std::min(stop - b, 2 * kRows), col0, first, end);
            }
    };
    if (whole > 0) {
        configure(kRows, kRows);
        each_column(0, whole);
    }
    if (left > kFewRows || (left > 0 && whole == 0)) {
        configure(std::min(left, kRows), left > kRows ? left - kRows : kRows);
        each_column(whole, m.batch);
    }
    _tile_release();
    if (left > 0 && left <= kFewRows && whole > 0) {
        ColumnMvm few = m;
        few.in += whole * m.in_stride;
        few.acc += whole * m.acc_stride;
        few.batch = left;
        avx512_mvm(few);
    }
}

}  // namespace

void amx_mvm(const ColumnMvm& m) {
    if (m.batch <= kFewRows) return avx512_mvm(m);
    ColumnMvm part = m;
    for (uint32_t b = 0; b < m.batch; b += kBatchMax) {
        part.in = m.in + b * m.in_stride;
        part.acc = m.acc + b * m.acc_stride;
        part.batch = std::min(m.batch - b, kBatchMax);
        multiply_rows(part);
    }
}

}  // namespace sidra::engine
