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
constexpr uint32_t kChunk = 3 * kTileRows;  // rows of weights between which sums leave their tiles: 24 KiB of weights
constexpr uint32_t kFewRows = 4;            // so few are faster without tiles
constexpr uint32_t kWeightRow = 256;        // bytes between the rows of a tile of weights
constexpr uint32_t kBatchMax = 256;         // input rows of a call

// The intrinsics do not tell the compiler what memory they read: before them, it must have been written.
inline void written(const void* memory) { asm volatile("" : : "r"(memory) : "memory"); }

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
    written(&config);
    _tile_loadconfig(&config);
}

struct Block {
    const uint8_t* in;
    size_t in_stride;
    const uint32_t* steps;  // see ColumnMvm
    const uint8_t* tail;    // what remains of the rows behind the last whole step, with zeros
    const int8_t* const* packed;
    size_t offset;  // of the first column in a plane
    uint32_t rows;  // of weights, all planes together
    uint32_t low;   // input rows of the lower tiles
};

// What a block of sums begins with: `from`, every `step` elements, or zero if that is null.
struct Begin {
    const int32_t* from;
    size_t step;
};

// A tile of sums += a tile of inputs * a tile of weights. A macro, because numbers of tiles must be literals.
#define SIDRA_DOT(sum, in, weights)                                                \
    do {                                                                           \
        if constexpr (kSignedIn && kSignedWeights) _tile_dpbssd(sum, in, weights); \
        else if constexpr (kSignedIn) _tile_dpbsud(sum, in, weights);              \
        else if constexpr (kSignedWeights) _tile_dpbusd(sum, in, weights);         \
        else _tile_dpbuud(sum, in, weights);                                       \
    } while (false)

// Adds the products with rows [first, end) of the weights to what sums begin with.
template <bool kSignedIn, bool kSignedWeights, bool kHigh, bool kRight>
void multiply(const Block& b, uint32_t first, uint32_t end, const Begin& begin, int32_t* sums, size_t stride) {
    written(begin.from);
    written(b.in);
    written(b.tail);
    if (begin.from == nullptr) {
        _tile_zero(0);
        if constexpr (kRight) _tile_zero(1);
        if constexpr (kHigh) _tile_zero(2);
        if constexpr (kHigh && kRight) _tile_zero(3);
    } else {
        const int32_t* const low = begin.from;
        const int32_t* const high = low + b.low * begin.step;
        const size_t bytes = begin.step * 4;  // 0: the same values for all rows
        _tile_loadd(0, low, bytes);
        if constexpr (kRight) _tile_loadd(1, low + kCols, bytes);
        if constexpr (kHigh) _tile_loadd(2, high, bytes);
        if constexpr (kHigh && kRight) _tile_loadd(3, high + kCols, bytes);
    }
    for (uint32_t row = first; row < end; row += kStep) {
        const bool whole = row + kStep <= b.rows;
        const uint8_t* const in = !whole ? b.tail : b.in + (b.steps != nullptr ? b.steps[row / kStep] : row);
        const size_t in_stride = whole ? b.in_stride : kStep;
        const int8_t* const weights = b.packed[row / kTileRows] + b.offset + row % kTileRows / 4 * kWeightRow;
        _tile_loadd(6, weights, kWeightRow);
        _tile_loadd(4, in, in_stride);
        SIDRA_DOT(0, 4, 6);
        if constexpr (kRight) {
            _tile_loadd(7, weights + kCols * 4, kWeightRow);
            SIDRA_DOT(1, 4, 7);
        }
        if constexpr (kHigh) {
            _tile_loadd(5, in + b.low * in_stride, in_stride);
            SIDRA_DOT(2, 5, 6);
        }
        if constexpr (kHigh && kRight) SIDRA_DOT(3, 5, 7);
    }
    int32_t* const high = sums + b.low * stride;
    const size_t bytes = stride * 4;
    _tile_stored(0, sums, bytes);
    if constexpr (kRight) _tile_stored(1, sums + kCols, bytes);
    if constexpr (kHigh) _tile_stored(2, high, bytes);
    if constexpr (kHigh && kRight) _tile_stored(3, high + kCols, bytes);
}

#undef SIDRA_DOT

using Multiply = void (*)(const Block&, uint32_t first, uint32_t end, const Begin&, int32_t* sums, size_t stride);

template <bool kSignedIn, bool kSignedWeights>
Multiply choose(bool high, bool right) {
    if (high)
        return right ? multiply<kSignedIn, kSignedWeights, true, true>
                     : multiply<kSignedIn, kSignedWeights, true, false>;
    return right ? multiply<kSignedIn, kSignedWeights, false, true> : multiply<kSignedIn, kSignedWeights, false, false>;
}

// Multiplies a block of `rows` rows, for which the tiles are configured, and `cols` columns.
void multiply_block(Multiply kernel, const Block& block, uint32_t first, uint32_t end, const Begin& begin, int32_t* out,
                    size_t out_row, uint32_t rows, uint32_t cols) {
    if (cols % kCols == 0) return kernel(block, first, end, begin, out, out_row);
    alignas(64) int32_t sums[2 * kRows * 2 * kCols];
    for (uint32_t r = 0; begin.from != nullptr && r < rows; ++r)
        std::memcpy(sums + r * 2 * kCols, begin.from + r * begin.step, cols * 4);
    kernel(block, first, end, {begin.from == nullptr ? nullptr : sums, 2 * kCols}, sums, 2 * kCols);
    for (uint32_t r = 0; r < rows; ++r) std::memcpy(out + r * out_row, sums + r * 2 * kCols, cols * 4);
}

// The lower tiles of a block have so many rows.
constexpr uint32_t low_rows(uint32_t rows) { return rows > kRows ? (rows + 1) / 2 : rows; }
void configure_for(uint32_t rows) {
    const uint32_t low = low_rows(rows);
    configure(low, rows > low ? rows - low : low);
}

// Input rows [b0, b0 + rows), for which the tiles are configured, times columns [col0, col0 + cols).
void run(const ColumnMvm& m, const uint8_t* tails, uint32_t b0, uint32_t rows, uint32_t col0, uint32_t first,
         uint32_t end) {
    const uint32_t cols = std::min(m.cols - col0, 2 * kCols);
    const Block block{m.in + b0 * m.in_stride, m.in_stride, m.steps,       tails + b0 * kStep, m.packed,
                      packed_offset(0, col0),  m.rows,      low_rows(rows)};
    int32_t* const acc = m.acc + b0 * m.acc_stride + col0;
    const Begin begin = first > 0           ? Begin{acc, m.acc_stride}
                        : m.init != nullptr ? Begin{m.init + col0, 0}
                                            : Begin{nullptr, 0};
    multiply_block(choose<false, true>(rows > kRows, cols > kCols), block, first, end, begin, acc, m.acc_stride, rows,
                   cols);
}

// All rows of a call whose tails fit into scratch memory.
void multiply_rows(const ColumnMvm& m) {
    alignas(64) uint8_t tails[kBatchMax * kStep];
    if (const uint32_t tail = m.rows % kStep) {
        std::memset(tails, 0, size_t{m.batch} * kStep);
        for (uint32_t b = 0; b < m.batch; ++b)
            std::memcpy(tails + b * kStep, m.in + b * m.in_stride + (m.rows - tail), tail);
    }
    // Blocks of equal size, except the last one.
    const uint32_t blocks = (m.batch + 2 * kRows - 1) / (2 * kRows);
    const uint32_t size = (m.batch + blocks - 1) / blocks, whole = m.batch / size * size;
    const uint32_t chunks = (m.rows + kChunk - 1) / kChunk;
    const uint32_t chunk = ((m.rows + chunks - 1) / chunks + kTileRows - 1) / kTileRows * kTileRows;
    const auto each_column = [&](uint32_t begin, uint32_t stop) {
        for (uint32_t col0 = 0; col0 < m.cols; col0 += 2 * kCols)
            for (uint32_t first = 0; first < m.rows; first += chunk) {
                const uint32_t end = std::min(first + chunk, m.rows);
                for (uint32_t b = begin; b < stop; b += size)
                    run(m, tails, b, std::min(stop - b, size), col0, first, end);
            }
    };
    configure_for(size);
    each_column(0, whole);
    if (whole < m.batch) {
        configure_for(m.batch - whole);
        each_column(whole, m.batch);
    }
    _tile_release();
}

}  // namespace

void amx_mvm(const ColumnMvm& m) {
    if (m.batch <= kFewRows && m.steps == nullptr) return avx512_mvm(m);
    ColumnMvm part = m;
    for (uint32_t b = 0; b < m.batch; b += kBatchMax) {
        part.in = m.in + b * m.in_stride;
        part.acc = m.acc + b * m.acc_stride;
        part.batch = std::min(m.batch - b, kBatchMax);
        multiply_rows(part);
    }
}

void amx_multiply_panel(const AmxPanel& p) {
    constexpr size_t kPlane = size_t{kTileRows} / 4 * kWeightRow;
    constexpr uint32_t kPlanes = kMatmulWords * 4 / kTileRows;
    const auto choose_signs = p.a_signed ? (p.b_signed ? choose<true, true> : choose<true, false>)
                                         : (p.b_signed ? choose<false, true> : choose<false, false>);
    const int8_t* planes[kPlanes];
    for (uint32_t i = 0; i < kPlanes; ++i) planes[i] = reinterpret_cast<const int8_t*>(p.b) + i * kPlane;
    const uint32_t whole = p.rows / (2 * kRows) * (2 * kRows), left = p.rows - whole;
    const auto each_block = [&](uint32_t begin, uint32_t stop) {
        for (uint32_t col0 = 0; col0 < p.cols; col0 += 2 * kCols)
            for (uint32_t r = begin; r < stop; r += 2 * kRows) {
                const uint32_t rows = std::min(stop - r, 2 * kRows), cols = std::min(p.cols - col0, 2 * kCols);
                const Block block{
                    p.a + r * p.a_row,    p.a_row, nullptr, nullptr, planes, size_t{col0} * 4, p.steps * kStep,
                    std::min(rows, kRows)};
                int32_t* const out = p.out + r * p.out_row + col0;
                multiply_block(choose_signs(rows > kRows, cols > kCols), block, 0, block.rows,
                               {p.resume ? out : nullptr, p.out_row}, out, p.out_row, rows, cols);
            }
    };
    if (whole > 0) {
        configure(kRows, kRows);
        each_block(0, whole);
    }
    if (left > 0) {
        configure(std::min(left, kRows), left > kRows ? left - kRows : kRows);
        each_block(whole, p.rows);
    }
}

void amx_release() { _tile_release(); }

}  // namespace sidra::engine
