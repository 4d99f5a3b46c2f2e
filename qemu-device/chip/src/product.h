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
// Adds cost and work of `vectors` vectors to a job whose units are known.
void begin_products(const Env& env, Job& job, uint64_t vectors, uint64_t unit_vectors, uint8_t flags,
                    ProductPlan* plan);
// At level `accurate`, before the first unit and after give_back_readouts(): takes the readouts of all tiles, puts
// units in front that make those that are unmade, and numbers the products. Returns false, and changes nothing, if
// other jobs hold too many; it may work when one of them has given its readouts back. `next`: the next unit.
bool take_readouts(const Env& env, Job& job, uint32_t* next);
// Whether the job should give its readouts back, so that others can take theirs.
bool readouts_are_due(const Env& env, Job& job, uint32_t next);
void give_back_readouts(Job& job, uint32_t* next);
// Units that have run, apart from those that make readouts; of a job that has still to run all before `next`.
uint32_t finished_units(const Job& job, uint32_t next);
// Scratch memory that multiply() needs.
uint64_t product_scratch(const Env& env, const Weights& weights, uint64_t vectors);

// One of the units in front.
void make_readout(const Env& env, const Job& job, const ProductPlan& plan, uint32_t unit);

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
