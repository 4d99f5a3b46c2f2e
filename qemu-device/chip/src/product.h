// SPDX-License-Identifier: MIT
// Products of input codes and a weights object, exact (level `fast`) or as read by ADCs (level `accurate`): what MVM
// and LAYER have in common.
#ifndef SIDRA_CHIP_PRODUCT_H
#define SIDRA_CHIP_PRODUCT_H

#include <cstddef>
#include <cstdint>

#include "job.h"

namespace sidra::chip {

inline constexpr uint64_t kProductNs =
    128'000;  // of a unit: long compared to the start, short enough to share the chip
inline constexpr uint64_t kProductRowsMax = 256;          // vectors of a unit
inline constexpr uint64_t kProductInputBytes = 1u << 20;  // codes of a unit

// Finds the weights that a packet names, with the rights and the cells that it needs. Called again when a job resumes.
Fault find_product(const Env& env, Job& job, uint32_t weights, uint8_t flags, ProductPlan* plan);
// MACs of a vector with `columns` columns of tiles.
uint64_t product_macs(const Weights& weights, uint32_t columns);
// Approximate speed on one core in MACs per ns, for the size of units.
uint64_t product_speed(const Env& env, const Weights& weights);
// Approximate time on one core of a unit that multiplies `vectors` vectors by `columns` columns of tiles.
uint64_t product_ns(const Env& env, const Weights& weights, uint32_t columns, uint64_t vectors);
// Adds cost and work of `vectors` vectors to a job whose units are known; at level `accurate` takes their numbers, and
// adds units in front that make readouts.
void begin_products(const Env& env, Job& job, uint64_t vectors, uint64_t unit_vectors, uint8_t flags,
                    ProductPlan* plan);
// Scratch memory that multiply() needs.
uint64_t product_scratch(const Env& env, const Weights& weights, uint64_t vectors);

// One of the units in front: makes the readout of a tile.
void make_readout(const Env& env, const ProductPlan& plan, uint32_t tile);

struct Vectors {
    const uint8_t* codes;  // u8: an s8 is biased by 128
    size_t stride;
    uint32_t count;
    uint64_t first;                   // number of the first vector in the packet
    const uint32_t* steps = nullptr;  // of overlapping vectors: see engine::ColumnMvm; never at level `accurate`
};
// Multiplies vectors by one column of tiles: acc[v][c] = bias[c] + sum over k of (codes[v][k] - zero) * w[k][c].
// `bias`: of these columns, or null.
void multiply(const Env& env, const ProductPlan& plan, Worker& worker, uint32_t column, const Vectors& vectors,
              int32_t zero, const int32_t* bias, int32_t* acc, size_t acc_stride);

}  // namespace sidra::chip

#endif
