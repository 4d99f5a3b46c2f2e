// SPDX-License-Identifier: MIT
// Long packets: checked once, cut into units (a column of tiles for a block of vectors, a tile of weights, up to 256
// KiB of a copy or fill, 64 KiB of VEC input), which any thread may run in any order and between which the engines may
// turn to another context.
#ifndef SIDRA_CHIP_JOB_H
#define SIDRA_CHIP_JOB_H

#include <atomic>
#include <cstdint>
#include <memory>
#include <vector>

#include "adcs.h"
#include "array.h"
#include "context.h"
#include "cost_model.h"
#include "dma.h"
#include "engine.h"
#include "fault.h"
#include "scratch.h"

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

// The vectors of a block of an MVM as engines read them, which the next units of that job and block need not convert
// again. Nothing else is ever kept here.
class ConvertedInput {
   public:
    // Null: the thread has converted something else since, or nothing yet.
    const uint8_t* find(uint64_t job, uint32_t block) const {
        return job_ == job && block_ == block ? vectors_.data() : nullptr;
    }
    // Room for others; what was there is gone.
    uint8_t* replace(uint64_t bytes) {
        job_ = 0;
        if (vectors_.size() < bytes) vectors_.resize(bytes);
        return vectors_.data();
    }
    // Once all of it is there.
    void belongs_to(uint64_t job, uint32_t block) { job_ = job, block_ = block; }

   private:
    std::vector<uint8_t> vectors_;
    uint64_t job_ = 0;  // Job::serial; 0: nobody's
    uint32_t block_ = 0;
};

// Of one thread, kept between slices: translations, which know their address space by its tag, and converted inputs,
// which know their job. All else is scratch memory, which means nothing to the next unit.
struct Worker {
    Tlb tlb;
    ConvertedInput converted;
    Scratch scratch;
    physics::Readout::Scratch readout;  // level `accurate`: what it computes with, and writes before it reads
};
Worker& this_worker();

// What a unit takes at most. Packets are cut into units, or refused, so that none takes more than kUnitMax, whatever
// its opcode: a slice ends after its unit, and QUIESCE, reset and a stop of the machine wait for slices.
struct UnitLoad {
    uint64_t operations;  // bytes moved, elements computed, cells times 16, multiply-accumulates by 512
    uint64_t pieces;      // of device addresses, which are mapped one by one if they must be
    uint64_t scratch;     // bytes
};
inline constexpr UnitLoad kUnitMax{1u << 20, 3 * 4096, Scratch::kSize};
inline constexpr uint64_t kUnitRows = 4096;  // of one operand
inline constexpr uint64_t kPieceNs = 50;     // estimate for slices: to map one
constexpr bool fits(const UnitLoad& load) {
    return load.operations <= kUnitMax.operations && load.pieces <= kUnitMax.pieces && load.scratch <= kUnitMax.scratch;
}

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
    // Checks the packet and fills in plan, units, unit_load, unit_work, cost, work.
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
    Rectangle dst, src;
    uint64_t row_chunks;  // units a row, when rows are longer than a chunk
    uint64_t unit_rows;   // rows a unit, when they are shorter
    uint64_t unit_bytes;  // bytes of a chunk of a row
    bool past_caches;     // more than they hold
};
struct MvmPlan {
    Weights* weights;
    Rectangle in, out;
    Range scale, bias;  // empty: none
    uint32_t block;     // vectors a unit
    uint32_t
        makes;  // level `accurate`: units in front of the others, one a tile, that see to it that its readout is made
    Products products;  // the same
    bool calibrates;    // the same: sets the ADCs' range
    float in_scale;
    float gain;
    uint8_t in_type, out_type;
};
struct VecPlan {
    Rectangle in, out, in2;  // in2: if the packet has one; one row, if it serves all rows
    uint32_t unit_rows;
    uint32_t in_size, out_size;  // bytes an element
    sidra_vec_pool pool;
    uint32_t unit_cols;  // TRANSPOSE: columns; pooling: pixels of a row of output
};
struct WeightsPlan {
    Rectangle data;  // of PROGRAM and READBACK
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
    UnitLoad unit_load{};    // of any of them
    uint64_t unit_work = 0;  // estimated host time of a unit, ns
    Cost cost;
    mutable std::atomic<uint64_t> spent_ps{0}, spent_pj{0};  // what units found out that they cost, on top of that
    Work work;
    std::unique_ptr<Weights> own_weights;  // that the plan's are, if they are not cached
    union {
        CopyPlan copy;
        MvmPlan mvm;
        VecPlan vec;
        WeightsPlan weights;
    };
    Job() : copy{} {}
};

// The rows of an operand as one pointer and a stride: in place if memory allows, else gathered into (and for output
// scattered from) scratch memory.
class Rows {
   public:
    // For reading.
    Fault map_in(Dma& dma, Scratch& scratch, const Rectangle& rows);
    // For writing; commit() stores what was scattered.
    Fault map_out(Dma& dma, Scratch& scratch, const Rectangle& rows);
    Fault commit();
    // In place, or `data` stays null.
    Fault direct(Dma& dma, const Rectangle& rows, bool write);
    // What gathering takes of scratch memory.
    static constexpr uint64_t scratch_of(uint64_t rows, uint64_t bytes) { return rows * bytes + 64; }

    uint8_t* data = nullptr;
    uint64_t stride = 0;

   private:
    Dma* dma_ = nullptr;  // set while there is something to scatter
    Rectangle rows_{};
};

// f32 field of a packet: bits, where zero bits mean 1. False if not finite or not positive.
bool positive_or_one(uint32_t bits, float* value);
constexpr uint32_t type_size(uint32_t type) { return type == SIDRA_TYPE_S32 || type == SIDRA_TYPE_F32 ? 4 : 1; }
extern const Operation kCopyOperation, kFillOperation, kMvmOperation, kVecOperation, kProgramOperation,
    kReadbackOperation;

}  // namespace sidra::chip

#endif
