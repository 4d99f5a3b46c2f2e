// SPDX-License-Identifier: MIT
// Long packets: checked once, cut into units (a column of tiles for a block of vectors, a tile of weights, up to 256
// KiB of a copy or fill, 64 KiB of VEC input), which any thread may run in any order and between which the engines may
// turn to another context.
#ifndef SIDRA_CHIP_JOB_H
#define SIDRA_CHIP_JOB_H

#include <atomic>
#include <cstdint>
#include <vector>

#include "adcs.h"
#include "array.h"
#include "context.h"
#include "cost_model.h"
#include "dma.h"
#include "engine.h"
#include "fault.h"

namespace sidra::chip {

// Fault knobs that units look at.
struct UnitKnobs {
    std::atomic<uint64_t> slow_tile_ns{0};
};

// At level `accurate`: what the products of an MVM depend on besides weights and inputs.
struct Products {
    uint64_t first;  // their numbers
    double now;      // what the cells' clock said
};

// What units work on; one for each slice.
struct Env {
    Bus& bus;
    Context& context;
    AddressSpace space;
    Array& array;
    const Adcs& adcs;
    const engine::Engine& engine;
    const UnitKnobs& knobs;
    double now;              // the cells' clock, at level `accurate`
    uint32_t clock_level;    // that packets are charged for
    const Products* loaded;  // of an MVM that was under way when the chip was saved; else null
};

// Of one thread: translations and scratch memory, kept between slices.
struct Worker {
    Tlb tlb;
    std::vector<uint8_t> input;  // converted or gathered MVM input
    uint64_t input_key[2] = {};  // job and block that `input` holds
    std::vector<int32_t> acc;
    std::vector<uint8_t> operand;  // second VEC operand
    std::vector<uint8_t> output;
    // Level `accurate`: inputs of a tile that does not fill its rows, its sums, and what the readout computes with.
    std::vector<uint8_t> padded;
    std::vector<int32_t> tile_sums;
    physics::Readout::Scratch readout;
};
Worker& this_worker();

// Work done by a job, for telemetry.
struct Work {
    uint64_t mvms = 0;
    uint64_t macs = 0;
    uint64_t vec_elements = 0;
    uint64_t copy_bytes = 0;
    uint64_t programmed_cells = 0;
};

struct Job;
struct Operation {
    sidra_hw_engine engine;
    // Checks the packet and fills in plan, units, unit_work, cost, work.
    Fault (*prepare)(const Env&, Job&);
    // Looks up again what may have changed between slices (weights). May be null.
    Fault (*resume)(const Env&, Job&);
    Fault (*unit)(const Env&, const Job&, Worker&, uint32_t index);
    // After the last unit. May be null.
    Fault (*finish)(const Env&, const Job&) = nullptr;
};
// By opcode; null where the packet is not a job.
const Operation* operation(uint8_t opcode);

struct CopyPlan {
    uint64_t row_chunks;  // units a row, when rows are longer than a chunk
    uint64_t unit_rows;   // rows a unit, when they are shorter
    uint64_t unit_bytes;  // bytes of a chunk of a row
    bool past_caches;     // more than they hold
};
struct MvmPlan {
    Weights* weights;
    uint32_t block;  // vectors a unit
    uint32_t
        makes;  // level `accurate`: units in front of the others, one a tile, that see to it that its readout is made
    Products products;  // the same
    bool calibrates;    // the same: sets the ADCs' range
    float in_scale;
    float gain;
    uint8_t in_type, out_type;
};
struct VecPlan {
    uint32_t unit_rows;
    uint32_t in_size, out_size;  // bytes an element
    sidra_vec_pool pool;
    uint32_t unit_cols;  // TRANSPOSE
};
struct WeightsPlan {
    Weights* weights;
    uint32_t tile_row0, tile_rows;  // tiles touched
    uint32_t tile_col0, tile_cols;
    bool program;
    bool refresh;  // of what is programmed
};

struct Job {
    sidra_cmd cmd;
    const Operation* operation = nullptr;
    uint64_t serial = 0;  // unique, so that scratch can be recognised
    uint32_t units = 0;
    uint64_t unit_work = 0;  // estimated host time of a unit, ns
    Cost cost;
    mutable std::atomic<uint64_t> spent_ps{0}, spent_pj{0};  // what units found out that they cost, on top of that
    Work work;
    union {
        CopyPlan copy;
        MvmPlan mvm;
        VecPlan vec;
        WeightsPlan weights;
    };
    Job() : copy{} {}
};

// Rows that lie `stride` apart, as one pointer if memory allows, else gathered into (and for output scattered from)
// scratch.
class Rows {
   public:
    // For reading.
    Fault map_in(Dma& dma, std::vector<uint8_t>& scratch, uint64_t va, uint64_t stride, uint32_t rows, uint64_t bytes);
    // For writing; commit() stores what was scattered.
    Fault map_out(Dma& dma, std::vector<uint8_t>& scratch, uint64_t va, uint64_t stride, uint32_t rows, uint64_t bytes);
    Fault commit();

    uint8_t* data = nullptr;
    uint64_t stride = 0;

   private:
    Fault direct(Dma& dma, uint64_t va, uint64_t row_stride, uint32_t rows, uint64_t bytes, bool write);

    Dma* dma_ = nullptr;  // set while there is something to scatter
    uint64_t va_ = 0, va_stride_ = 0, bytes_ = 0;
    uint32_t rows_ = 0;
};

// f32 field of a packet: bits, where zero bits mean 1. False if not finite or not positive.
bool positive_or_one(uint32_t bits, float* value);
constexpr uint32_t type_size(uint32_t type) { return type == SIDRA_TYPE_S32 || type == SIDRA_TYPE_F32 ? 4 : 1; }
// Bytes from the first row's start to the last row's end; ~0 on overflow.
uint64_t rows_extent(uint64_t rows, uint64_t stride, uint64_t bytes);

extern const Operation kCopyOperation, kFillOperation, kMvmOperation, kVecOperation, kProgramOperation,
    kReadbackOperation;

}  // namespace sidra::chip

#endif
