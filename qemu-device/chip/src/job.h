// SPDX-License-Identifier: MIT
// Jobs: long packets, which are checked once and divided into units: one column of tiles for a block of vectors, one
// tile of weights, up to 256 KiB of a copy or fill, some rows of what the other packets compute. Any thread may run the
// units in any order, and between units the engines may switch to another context.
#ifndef SIDRA_CHIP_JOB_H
#define SIDRA_CHIP_JOB_H

#include <algorithm>
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
#include "knobs.h"
#include "operand_pages.h"
#include "program_cache.h"

namespace sidra::chip {

// At level `accurate`: the numbers and the time on which the products of an MVM depend, besides weights and inputs.
struct Products {
    uint64_t first;  // number of the first product
    double now;      // time of the cells' clock
};

// The environment of units; one for each slice, and a copy for work in flight.
struct Env {
    Bus& bus;
    Context& context;
    AddressSpace space;
    Array& array;
    const Adcs& adcs;
    engine::Engine& engine;
    const Knobs& knobs;
    double now;              // time of the cells' clock, at level `accurate`
    uint32_t clock_level;    // clock level for the cost of packets
    const Products* loaded;  // for an MVM that was in progress when the chip was saved; else null
    PageWindow* programs;    // of the slice, for prepare(): memory that packets name besides their data
    PageWindow* tables;
    OperandPages* pages;  // of the slice, for units on its thread
    const engine::Kernels& kernels = engine.kernels();
};

// What a unit works with: the translations of its thread, and staging memory of the engine. `converted` and `readout`
// may be those of earlier units (staging.h).
struct Worker {
    Tlb& tlb;
    OperandPages* pages;  // null: another thread's
    engine::ConvertedInput& converted;
    engine::Scratch& scratch;
    std::vector<uint8_t>& readout;
};
// What a thread keeps between slices: translations, identified by the tag of their address space, and programs,
// identified by their instructions.
Tlb& this_tlb();
ProgramCache& this_program_cache();
using engine::Scratch;

// The maximum load of a unit. Whatever the opcode, packets are divided into units, or refused, so that no unit exceeds
// kUnitMax: a slice can end only after a unit, and QUIESCE, reset and stopping the machine wait for slices and for what
// they have left to the engine.
struct UnitLoad {
    uint64_t operations;  // bytes moved, elements computed, 16 per cell, multiply-accumulates / 512
    uint64_t pieces;      // ranges of device addresses, each of which may need its own mapping
    uint64_t scratch;     // bytes
};
// Operations: products of the largest column of tiles, and the costliest program on their sums (exec_layer.cpp).
// Pieces: the pixels of the largest window that is pooled, far apart, or as many elements of the costliest row of a
// program (SIDRA_VECTOR_ROW_COST_MAX), and what else that unit has.
inline constexpr UnitLoad kUnitMax{9u << 17, 256 * 256 + 32, Scratch::kSize};
static_assert(kUnitMax.pieces > SIDRA_VECTOR_ROW_COST_MAX / SIDRA_VECTOR_COST_ELEMENTS + 2 * SIDRA_VECTOR_OPERANDS_MAX);
inline constexpr uint64_t kUnitRows = 4096;  // of one operand
inline constexpr uint64_t kMacsPerOperation = 512;
inline constexpr uint64_t kPieceNs = 50;  // estimate for slices: time to map one piece
constexpr bool fits(const UnitLoad& load) {
    return load.operations <= kUnitMax.operations && load.pieces <= kUnitMax.pieces && load.scratch <= kUnitMax.scratch;
}

struct Work {
    uint64_t mvms = 0;
    uint64_t macs = 0;
    uint64_t vec_elements = 0;
    uint64_t copy_bytes = 0;
    uint64_t programmed_cells = 0;
};

struct Job;
class Preparation;
struct Operation {
    sidra_hw_engine engine;
    // Checks the packet and fills in plan, units, unit_load, unit_work, cost, work.
    Fault (*prepare)(const Env&, Job&);
    // Looks up data that may have changed between slices (weights). May be null.
    Fault (*resume)(const Env&, Job&);
    Fault (*unit)(const Env&, const Job&, Worker&, uint32_t index);
    // Called after the last unit. May be null.
    Fault (*finish)(const Env&, const Job&) = nullptr;
};
// Returns the operation of an opcode; null if such packets are not jobs.
const Operation* operation(uint8_t opcode);

struct CopyPlan {
    Rectangle dst, src;
    uint64_t row_chunks;  // units per row, if rows are longer than a chunk
    uint64_t unit_rows;   // rows per unit, if they are shorter
    uint64_t unit_bytes;  // bytes of a chunk of a row
    bool past_caches;     // larger than the caches: use non-temporal stores
};
struct ProductPlan {
    Weights* weights;
    // Level `accurate`:
    uint64_t vectors;
    Products products;
    const Readouts* readouts;  // the job's
    bool numbered;             // `products` are known
    bool calibrates;           // sets the ADCs' range
};
struct MvmPlan {
    ProductPlan product;
    Rectangle in, out;
    Range scale, bias;  // empty: none
    uint32_t block;     // vectors per unit
    float in_scale;
    float gain;
    uint8_t in_type, out_type;
};
struct VectorPlan {
    uint32_t operand_count;
    uint16_t used;                      // slots that the program uses (verify.h), as bits
    uint32_t size[SIDRA_OPERAND_DIMS];  // as in the packet, or with fewer dimensions
    uint32_t unit_rows, unit_cols;
    uint32_t across;  // units for the columns of a row
    bool in_order;
    struct Operand {
        Grid grid;
        Range indices;  // empty: none
        uint64_t step;  // from one row to the next, if all are at equal distances
        uint32_t extent;
        uint32_t bytes, index_bytes;  // of an element
        uint8_t same;                 // number of the first operand that is the same array, or of this one
        uint8_t reaches;              // instructions that access single elements of it: GATHERs and SCATTERs
        bool indexed, loaded, stored, gathered, scalar, even;

        Access access() const { return !stored ? Access::kRead : loaded ? Access::kReadWrite : Access::kWrite; }
    };
    Operand operands[SIDRA_VECTOR_OPERANDS_MAX];

    bool uses(uint32_t operand) const { return (used >> operand & 1) != 0; }
};
struct MatmulPlan {
    struct Factor {
        Grid grid;
        uint32_t rows, cols;  // of one matrix
        uint32_t bytes;       // of an element
        uint8_t type;

        // Whether elements of a row are one range, else those of a column are.
        bool along_row() const { return grid.stride(3) == 0 || grid.stride(3) == bytes; }
    };
    Factor factor[2];
    VectorPlan vector;
    uint32_t unit_rows, unit_cols;
    uint32_t down, across;  // units for the rows and the columns of one product
    static constexpr uint32_t kNone = UINT32_MAX;
    uint32_t takes_sums;  // operand that gets the sums as they are; kNone: the program makes something of them

    // Ranges of device addresses of so many rows and columns of a factor.
    uint64_t pieces(uint32_t factor, uint64_t rows, uint64_t cols) const;
};
// Images that windows read (pattern.h).
struct Images {
    sidra_pattern pattern;
    Grid grid;  // images, rows, pixels of all channels
};
// Of a LAYER, besides its product.
struct LayerPlan {
    // Of the weights.
    struct Matrix {
        uint32_t rows, cols, tile_rows, tile_cols, tile_width;
        bool operator==(const Matrix&) const = default;
    };
    Matrix matrix;
    bool analog;  // the products are those of level `accurate`
    Images images;
    VectorPlan prologue, epilogue;
    uint32_t block;   // rows per unit
    uint32_t across;  // units for the columns of a block
    bool whole_rows;  // the epilogue needs all columns of a row
    bool one_range;   // each window is one range of memory
    bool bands;       // units of whole rows of windows, if these fit, and read as bands if the engine can (band.h)
};
struct LayerJob {
    ProductPlan product;
};
struct WeightsPlan {
    Rectangle data;  // for PROGRAM and READBACK
    Weights* weights;
    uint32_t tile_row0, tile_rows;  // affected tiles
    uint32_t tile_col0, tile_cols;
    bool program;
    bool refresh;  // reprogram only cells with errors
};
struct PoolPlan {
    // What is one piece of memory, if the input of a unit is not contiguous on the host.
    enum class Piece : uint8_t { kRow, kWindowRow, kPixel };
    Images images;
    Grid out;  // images, rows, pixels of all channels
    Piece piece;
    uint32_t unit_rows, unit_cols, unit_channels;  // several rows only if they are whole, and all channels
    uint32_t across, blocks;                       // units for the windows of a row, and for their channels
    uint32_t in_size, out_size;                    // bytes of an element
};
struct SortPlan {
    Rectangle in, values, indices;  // outputs: only those that are wanted
    uint32_t unit_rows;
};

struct Job {
    sidra_cmd cmd;
    const Operation* operation = nullptr;
    uint64_t serial = 0;  // unique, identifies converted inputs
    uint32_t units = 0;
    bool serial_units = false;  // units run one after another
    UnitLoad unit_load{};       // maximum over all units
    uint64_t unit_work = 0;     // estimated host time of a unit in ns
    Cost cost;
    mutable std::atomic<uint64_t> spent_ps{0}, spent_pj{0};  // cost measured by units, in addition to `cost`
    Work work;
    // At level `accurate`: leading units, each of which makes one readout, and units behind these that have already
    // run, with readouts that the job gave back.
    uint32_t makes = 0, done = 0;
    Readouts readouts;
    WeightsShape weights_shape;            // of the plan's weights; uid 0: none were found yet
    std::unique_ptr<Weights> own_weights;  // owns them if they are not cached
    union {
        CopyPlan copy;
        MvmPlan mvm;
        LayerJob layer;
        WeightsPlan weights;
        PoolPlan pool;
        SortPlan sort;
    };
    const Preparation* preparation = nullptr;  // of a VECTOR, MATMUL or LAYER
    // The same, if the job may end in another slice.
    std::shared_ptr<const Preparation> shared_preparation;
    Job() : copy{} {}
};

// Of an MVM or LAYER; else null.
template <typename SomeJob>
auto product_of(SomeJob& job) -> decltype(&job.mvm.product) {
    if (job.cmd.hdr.opcode == SIDRA_CMD_MVM) return &job.mvm.product;
    return job.cmd.hdr.opcode == SIDRA_CMD_LAYER ? &job.layer.product : nullptr;
}

// Finds the weights that a packet names. Called again when its job resumes: then they must still be those that it was
// planned for, whatever the driver has stored in the entry meanwhile.
Fault find_weights(const Env& env, Job& job, uint32_t index, Weights** weights);

// The rows of an operand as a pointer and a stride: in place if they are contiguous in host memory, else gathered into
// scratch memory (and scattered from there for output).
class Rows {
   public:
    Fault map_in(Dma& dma, Scratch& scratch, const Rectangle& rows);
    // For writing; commit() scatters gathered output.
    Fault map_out(Dma& dma, Scratch& scratch, const Rectangle& rows);
    Fault commit();
    // Maps in place; otherwise `data` stays null.
    Fault direct(Dma& dma, const Rectangle& rows, Access access);
    // Size of the scratch memory for gathering.
    static constexpr uint64_t scratch_of(uint64_t rows, uint64_t bytes) { return rows * bytes + 64; }

    uint8_t* data = nullptr;
    uint64_t stride = 0;

   private:
    Dma* dma_ = nullptr;  // set if output must be scattered
    Rectangle rows_{};
};

// Decodes an f32 field of a packet; zero bits mean 1. Returns false if the value is not finite or not positive.
bool positive_or_one(uint32_t bits, float* value);
extern const Operation kCopyOperation, kFillOperation, kMvmOperation, kVectorOperation, kMatmulOperation,
    kLayerOperation, kProgramOperation, kReadbackOperation, kPoolOperation, kSortOperation;

}  // namespace sidra::chip

#endif
