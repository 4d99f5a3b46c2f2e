// SPDX-License-Identifier: MIT
// The arithmetic of the chip with one instruction set of the host: pure functions on host memory, without state,
// threads or checks. The chip has checked everything (ranges, types and alignment, as uapi/sidra_cmd.h requires). All
// tables return identical bits.
#ifndef SIDRA_CHIP_ENGINE_KERNELS_H
#define SIDRA_CHIP_ENGINE_KERNELS_H

#include <cstddef>
#include <cstdint>

#include "matmul.h"
#include "plane.h"
#include "pool.h"
#include "sense.h"
#include "sidra_chip.h"
#include "sidra_cmd.h"
#include "vector.h"

namespace sidra::engine {

// A column block of a whole weights object, with all its row tiles, so that sums can stay in registers:
//   for b < batch, c < cols: acc[b][c] = init[c] + sum over tiles t, rows r of in[b][256 t + r] * w_t[r][c], exact
//   modulo 2^32.
struct ColumnMvm {
    const int8_t* const* packed;  // tile planes, top to bottom
    uint32_t tiles;
    uint32_t rows;  // K, sum over all tiles
    uint32_t cols;  // 1..256 of this column of tiles
    const uint8_t* in;
    size_t in_stride;
    int32_t* acc;
    size_t acc_stride;    // elements
    const int32_t* init;  // cols initial values, or nullptr for zero
    uint32_t batch;
    // Input rows whose parts overlap, such as the windows of a convolution (only engines with `windows`): inputs
    // k..k + 63 of row b are at in + b * in_stride + steps[k / 64]. `rows` is a multiple of 64. nullptr: rows are
    // whole.
    const uint32_t* steps;
    const PlaneVersion* const* versions;  // of the planes; kernels do not need them
};

// Result of an MVM: out = convert(acc), see struct sidra_cmd_mvm. `rows` x `cols` elements.
struct Scale {
    const int32_t* acc;
    size_t acc_stride;  // elements
    void* out;
    size_t out_stride;  // bytes
    uint32_t rows, cols;
    uint32_t out_type;   // S8, U8, F32
    float gain;          // in_scale * out_factor
    const float* scale;  // cols factors or nullptr for 1; the factor of column n is gain * scale[n]
    int32_t out_zero;
};

// What an engine is good at. Speeds are estimates for one core, for the size of units and for slices.
struct Capabilities {
    const char* name;
    sidra_chip_engine id;
    uint32_t batch;  // input rows of an MVM that are processed at a time
    bool windows;    // takes ColumnMvm::steps
    uint64_t mvm_macs_per_ns;
    uint64_t float_macs_per_ns, byte_macs_per_ns;  // of a Matmul
    bool later = false;                            // submit() may return before the work is done
    uint32_t threads = 1;                          // that share the work of one submit()
    uint32_t pieces = 1;  // of a job that should be in flight at the same time, up to kPiecesMax
    static constexpr uint32_t kPiecesMax = 4;
};

struct Kernels {
    Capabilities can;
    void (*mvm)(const ColumnMvm&);
    // f32 to the u8 codes of an MVM input: saturate_u8(rne(in * (1 / in_scale)) + zero)
    void (*quantize_u8)(const float* in, uint8_t* out, size_t n, float in_scale, int32_t zero);
    // s8 to u8 by adding 128
    void (*bias_u8)(const int8_t* in, uint8_t* out, size_t n);
    void (*scale)(const Scale&);
    // Vector programs, see vector.h. A decoded program belongs to the table that decoded it.
    void (*decode_vector)(const sidra_vector_instruction* program, size_t count, const sidra_operand* operands,
                          size_t operand_count, VectorProgram* decoded);
    // `scratch`: kVectorScratch bytes. *bad: with kIndex the index.
    VectorEnd (*run_vector)(const VectorRows&, uint8_t* scratch, int64_t* bad);
    void (*matmul)(const Matmul&, uint8_t* scratch);  // kMatmulScratch bytes, 64-byte aligned; contents do not matter
    void (*pool_windows)(const PoolWindows&);
    // Computes the levels of n differential pairs, two bytes each: 2 * max(w, 0), 2 * max(-w, 0). No weight is -128.
    // (For levels in offset encoding use bias_u8.)
    void (*pair_levels)(const int8_t* weights, uint8_t* levels, size_t n);
    // Packs a rows x cols block of s8 weights (row r at in + r * stride) at (row0, col0) of a plane. Adds the change of
    // each column's sum to sums[col0 + c].
    void (*pack)(int8_t* packed, int32_t* sums, const int8_t* in, size_t stride, uint32_t row0, uint32_t rows,
                 uint32_t col0, uint32_t cols);
    // The ADCs of level `accurate`.
    const SenseKernels* sense;
};

// The kernels that were requested, or nullptr if this CPU or build does not support them. AUTO always succeeds.
const Kernels* find(sidra_chip_engine id);

}  // namespace sidra::engine

#endif
