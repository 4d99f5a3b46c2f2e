// SPDX-License-Identifier: MIT
// The largest packets of every opcode: no unit may exceed kUnitMax, nor what its packet declares. The device address
// space here is 2 MiB of memory repeated over and over at consecutive addresses of the bus, and the host maps at most
// one page at a time. So every address is valid, all pages can be joined, and still every operand is gathered. At level
// `accurate`, no unit may make more than one readout.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <string>
#include <vector>

#include "context.h"
#include "engine.h"
#include "geometry.h"
#include "job.h"
#include "packets.h"
#include "product.h"
#include "sidra_vector.h"
#include "vector_unit.h"

namespace sidra::chip {
namespace {

using namespace chip_test;  // packets by name

constexpr uint64_t kHalf = uint64_t{1} << (SIDRA_VA_BITS - 1);
constexpr uint64_t kRoot = 0x1000, kWeightsTable = 0x3000, kTiles = 0x10000;
constexpr uint64_t kMemory = SIDRA_HUGE_SIZE;
// On the bus, where there is no memory: the page tables below the root, and all that they map.
constexpr uint64_t kTables = uint64_t{1} << 40, kTablesEnd = kTables + uint64_t{SIDRA_PT_ENTRIES} * SIDRA_PAGE_SIZE,
                   kMapped = uint64_t{1} << 41;
// Loads of page table entries by a unit. A piece takes two if its translation is not known, and is found twice if it is
// read and written; and so are pages that are joined to others, by up to three parts of a unit.
constexpr uint64_t kLoadsMax = 2 * (2 * kUnitMax.pieces + 3 * Dma::kJoinsMax);
constexpr uint32_t kTall = 0, kWide = 1, kSmall = 2;  // objects: 6400 x 1 tiles, 1 x 6399 tiles, one tile
constexpr Geometry kGeometryOfFew = {1, 1, 12, 128u << 10, 2u << 20, 1u << 20, 1u << 20};

class Machine {
   public:
    explicit Machine(sidra_chip_level level = SIDRA_CHIP_FAST, const Geometry& geometry = kGeometryY1)
        : array(geometry, engine->kernels(),
                level == SIDRA_CHIP_ACCURATE ? std::make_unique<Analog>(geometry.xbars(), 0, 1) : nullptr),
          adcs_(geometry.xbars()) {
        for (uint64_t i = 0; i < SIDRA_PT_ENTRIES; i++) {
            const uint64_t table = (kTables + SIDRA_PAGE_SIZE * i) | SIDRA_PTE_VALID;
            std::memcpy(&memory_[kRoot + 8 * i], &table, sizeof table);
        }
        context.entry.page_table = kRoot;
        context.entry.weights_table = kWeightsTable;
        context.entry.weights_count = 3;
        const uint32_t xbars = array.xbars();
        for (uint32_t i = 0; i < xbars; i++) std::memcpy(&memory_[kTiles + 4 * i], &i, sizeof i);
        add_weights(kTall, xbars * SIDRA_XBAR_ROWS, 256, xbars);
        add_weights(kWide, 256, (xbars - 1) * SIDRA_XBAR_COLS, xbars - 1);  // as many as a context caches
        add_weights(kSmall, 256, 256, 1);
    }

    // Memory of all addresses, which are zero again.
    uint8_t* clear() {
        std::memset(&memory_[kMemory], 0, SIDRA_HUGE_SIZE);
        return &memory_[kMemory];
    }
    Fault prepare(const sidra_cmd& cmd, Job* job) {
        job->cmd = cmd;
        job->serial = ++serial_;
        job->operation = operation(cmd.hdr.opcode);
        // Marks everything as programmed.
        Weights* weights;
        for (uint32_t i = 0; i < context.entry.weights_count; i++)
            if (!context.find_weights(bus, array, i, &job->own_weights, &weights)) weights->verified = array.epoch();
        PageWindow programs(bus, this_tlb(), context.space(), chip::Access::kRead),
            tables(bus, this_tlb(), context.space(), chip::Access::kRead);
        if (Fault fault = job->operation->prepare(env(&programs, &tables), *job)) return fault;
        uint32_t next = 0;
        if (array.analog() && product_of(*job)) EXPECT_TRUE(take_readouts(env(), *job, &next));
        return {};
    }
    Fault run(const Job& job, uint32_t unit) {
        staging.scratch.begin();
        Worker worker{this_tlb(), nullptr, staging.converted, staging.scratch, staging.readout};
        return job.operation->unit(env(), job, worker, unit);
    }

    Context context{0};
    const std::unique_ptr<engine::Engine> engine = engine::make(SIDRA_CHIP_ENGINE_AUTO, 1);
    engine::Staging staging;
    Array array;
    Bus bus{host_};
    std::array<unsigned, 256> checked{};  // packets, by opcode
    uint64_t loads = 0;                   // of entries of page tables
    uint64_t maps = 0;                    // by the host
    uint64_t readouts_made() const { return array.analog() ? array.analog()->readouts_made() : 0; }
    uint32_t tall_rows() const { return array.xbars() * SIDRA_XBAR_ROWS; }
    uint32_t wide_cols() const { return (array.xbars() - 1) * SIDRA_XBAR_COLS; }

   private:
    Env env(PageWindow* programs = nullptr, PageWindow* tables = nullptr) {
        return {bus,    context, context.space(),           array,   adcs_,    *engine,
                knobs_, 0,       management::kClockNominal, nullptr, programs, tables};
    }
    void add_weights(uint32_t index, uint32_t rows, uint32_t cols, uint32_t tiles) {
        sidra_hw_weights entry{};
        entry.uid = 1 + index;
        entry.tiles = kTiles;
        entry.rows = rows;
        entry.cols = cols;
        entry.tile_count = tiles;
        entry.flags =
            SIDRA_HW_WEIGHTS_VALID | SIDRA_HW_WEIGHTS_COMPUTE | SIDRA_HW_WEIGHTS_PROGRAM | SIDRA_HW_WEIGHTS_READBACK;
        entry.encoding = SIDRA_ENCODING_OFFSET;
        std::memcpy(&memory_[kWeightsTable + index * sizeof entry], &entry, sizeof entry);
    }
    static Machine& of(void* self) { return *static_cast<Machine*>(self); }
    static void* map(void* self, uint64_t at, uint64_t* length, bool) {
        std::vector<uint8_t>& memory = of(self).memory_;
        of(self).maps++;
        if (at >= kMapped) at = kMemory + at % SIDRA_HUGE_SIZE;
        if (at >= memory.size()) return nullptr;
        *length = std::min<uint64_t>(*length, SIDRA_PAGE_SIZE - at % SIDRA_PAGE_SIZE);
        return &memory[at];
    }
    static bool load(void* self, uint64_t at, uint64_t* value) {
        of(self).loads++;
        if (at >= kTables && at < kTablesEnd) {
            constexpr uint64_t kFlags = SIDRA_PTE_VALID | SIDRA_PTE_LEAF | SIDRA_PTE_READ | SIDRA_PTE_WRITE;
            *value = (kMapped + (at - kTables) / 8 * SIDRA_HUGE_SIZE) | kFlags;
            return true;
        }
        if (at > of(self).memory_.size() - 8) return false;
        std::memcpy(value, &of(self).memory_[at], 8);
        return true;
    }

    std::vector<uint8_t> memory_ = std::vector<uint8_t>(kMemory + SIDRA_HUGE_SIZE);
    sidra_chip_host host_{.self = this,
                          .dma_map = map,
                          .dma_unmap = [](void*, void*, uint64_t, bool) {},
                          .load64_acquire = load,
                          .max64_release = [](void*, uint64_t, uint64_t) { return false; },
                          .msix = [](void*, unsigned) {},
                          .clock_ns = [](void*) { return uint64_t{0}; },
                          .kick = [](void*) {},
                          .report = [](void*, const char*) {}};
    Adcs adcs_;
    Knobs knobs_;
    uint64_t serial_ = uint64_t{1} << 32;
};

// Mappings by a unit of a VECTOR: one for each piece and for each page of a long one, two if it is read and written.
uint64_t vector_maps_max(const UnitLoad& load) { return 2 * (load.pieces + kVectorUnitBytes / SIDRA_PAGE_SIZE); }

// Prepares a packet, runs its first and its last unit, and checks them against the bound. `operations`: of the whole
// packet, as UnitLoad counts them. `maps_max`: null if pieces are not counted so exactly.
void check(Machine& machine, const sidra_cmd& cmd, uint64_t operations,
           uint64_t (*maps_max)(const UnitLoad&) = nullptr) {
    Job job;
    const Fault fault = machine.prepare(cmd, &job);
    ASSERT_FALSE(fault) << "cause " << fault.cause << ", 0x" << std::hex << fault.address;
    machine.checked[cmd.hdr.opcode]++;
    EXPECT_LE(job.unit_load.operations, kUnitMax.operations);
    EXPECT_LE(job.unit_load.pieces, kUnitMax.pieces);
    EXPECT_LE(job.unit_load.scratch, kUnitMax.scratch);
    EXPECT_TRUE(fits(job.unit_load));
    EXPECT_GE(job.unit_load.operations, (operations + job.units - 1) / job.units) << "of " << job.units << " units";
    EXPECT_GT(job.unit_work, 0u);
    std::vector<uint32_t> units = {0, job.units - 1};
    if (job.makes > kGeometryOfFew.xbars()) units = {0};  // to make all that the products need takes too long
    else if (job.makes > 0)
        for (uint32_t unit = job.makes; unit > 0; unit--) units.insert(units.begin() + 1, unit);
    for (const uint32_t unit : units) {
        machine.loads = machine.maps = 0;
        const uint64_t made = machine.readouts_made();
        const Fault ran = machine.run(job, unit);
        EXPECT_EQ(machine.readouts_made() - made, unit < job.makes ? 1 : 0) << "unit " << unit;
        EXPECT_LE(machine.loads, kLoadsMax) << "unit " << unit;
        if (maps_max) EXPECT_LE(machine.maps, maps_max(job.unit_load)) << "unit " << unit;
        EXPECT_FALSE(ran) << "unit " << unit << ": cause " << ran.cause << ", 0x" << std::hex << ran.address;
        EXPECT_LE(machine.staging.scratch.used(), job.unit_load.scratch) << "unit " << unit;
    }
    // The units of a REFRESH find out what it costs.
    EXPECT_TRUE(job.cost.device_ps + job.spent_ps > 0 || cmd.hdr.opcode == SIDRA_CMD_READBACK);
}

constexpr uint32_t U8 = SIDRA_TYPE_U8, S8 = SIDRA_TYPE_S8, S32 = SIDRA_TYPE_S32, F32 = SIDRA_TYPE_F32;

struct VectorCase {
    const char* name;
    std::vector<sidra_vector_instruction> program;
    std::vector<sidra_operand> operands;
    std::array<uint32_t, 4> size;
};

// The costliest programs: long and many rows, few and many instructions, elements far apart, indices.
std::vector<VectorCase> vector_cases() {
    constexpr uint8_t v0 = SIDRA_VECTOR_V(0), v1 = SIDRA_VECTOR_V(1), s0 = SIDRA_VECTOR_S(0);
    using I = sidra_vector_instruction;
    const I load{SIDRA_VECTOR_OP_LOAD, SIDRA_VECTOR_PASS, v0, 0, 0, 0, 0, 0, {}};
    const I store{SIDRA_VECTOR_OP_STORE, 0, 0, 1, v0, 0, 0, 0, {}},
        sum{SIDRA_VECTOR_OP_REDUCE_SUM, 0, s0, 0, v0, 0, 0, 0, {}};
    const auto operand = [](uint64_t addr, uint64_t row, uint64_t column, uint8_t type, bool write) {
        sidra_operand o{};
        o.addr = addr, o.stride[2] = row, o.stride[3] = column, o.type = type;
        o.flags = write ? SIDRA_OPERAND_WRITE : 0;
        return o;
    };
    std::vector<I> slow = {load};
    for (int i = 0; i < 62; i++) slow.push_back({SIDRA_VECTOR_OP_ERF, 0, v0, 0, v0, 0, 0, 0, {}});
    slow.push_back(store);
    const std::vector<I> fast = {load, store}, reduction = {load, store, sum};
    // SIDRA_VECTOR_COST_ELEMENTS for each instruction.
    std::vector<I> costliest(SIDRA_VECTOR_INSTRUCTIONS_MAX - 1, load);
    costliest.push_back(store);
    std::vector<VectorCase> cases;
    cases.push_back(
        {"many elements", fast, {operand(0, 4, 4, F32, false), operand(kHalf, 4, 4, F32, true)}, {1, 1, 1, 1u << 30}});
    cases.push_back(
        {"bytes", fast, {operand(0, 1, 1, U8, false), operand(kHalf, 1, 1, S8, true)}, {1, 1, 1, 1u << 30}});
    cases.push_back({"many instructions",
                     slow,
                     {operand(0, 4, 4, F32, false), operand(kHalf, 4, 4, F32, true)},
                     {1, 1, 1, 1u << 30}});
    cases.push_back(
        {"many rows", fast, {operand(0, 8, 4, F32, false), operand(kHalf, 8, 4, F32, true)}, {1, 1, 1u << 30, 1}});
    cases.push_back({"rows far apart",
                     fast,
                     {operand(0, 8192, 8, F32, false), operand(kHalf, 8192, 8, F32, true)},
                     {1, 1, 1u << 20, 512}});
    cases.push_back({"long reduction",
                     reduction,
                     {operand(0, 4, 4, F32, false), operand(kHalf, 1u << 21, 4, F32, true)},
                     {1, 1, 64, 1u << 19}});
    for (const uint32_t cols : {1u, 1024u, 1025u, 4096u, 1u << 20})
        cases.push_back({"costliest columns",
                         costliest,
                         {operand(0, 8, 8, F32, false), operand(kHalf, 8, 8, F32, true)},
                         {1, 1, 1, cols}});
    // Eight instructions for each column: SIDRA_VECTOR_ROW_COST_MAX.
    std::vector<I> costliest_row = reduction;
    costliest_row.insert(costliest_row.end(), 5, sum);
    cases.push_back({"costliest row",
                     costliest_row,
                     {operand(0, 4, 4, F32, false), operand(kHalf, 1u << 21, 4, F32, true)},
                     {1, 1, 64, SIDRA_VECTOR_ROW_COST_MAX / 8}});
    cases.push_back({"reduction of columns",
                     reduction,
                     {operand(0, 4, 4096, F32, false), operand(kHalf, 1u << 27, 4096, F32, true)},
                     {1, 1, 8, 30000}});
    cases.push_back({"short reductions",
                     reduction,
                     {operand(0, 4, 4, F32, false), operand(kHalf, 4, 4, F32, true)},
                     {1, 1, 1u << 30, 1}});
    sidra_operand table = operand(0, 4096, 4, F32, false), out = operand(kHalf, 4096, 4, F32, true);
    table.index = kMemory, table.index_type = SIDRA_TYPE_S64, table.extent = 1u << 20;
    cases.push_back({"rows at indices", fast, {table, out}, {1, 1, 1u << 20, 1024}});
    out.index = kMemory, out.index_type = SIDRA_TYPE_S32, out.extent = 1u << 20;
    cases.push_back({"rows to indices", fast, {operand(0, 4096, 4, F32, false), out}, {1, 1, 1u << 12, 1024}});
    const I gather{SIDRA_VECTOR_OP_GATHER, SIDRA_VECTOR_PASS, v0, 0, SIDRA_VECTOR_COLUMN, 0, 0, 0, {}};
    sidra_operand gathered = operand(0, 0, 8192, F32, false);
    gathered.extent = 1u << 20;
    cases.push_back(
        {"gather", {gather, store}, {gathered, operand(kHalf, 4u << 20, 4, F32, true)}, {1, 1, 1024, 1u << 20}});
    // Each one accesses each of its elements.
    std::vector<I> gathers(SIDRA_VECTOR_INSTRUCTIONS_MAX - 1, gather);
    gathers.push_back(store);
    for (const uint32_t cols : {4u, 1000u, 4096u, 1u << 20})
        cases.push_back({"gathers", gathers, {gathered, operand(kHalf, 4u << 20, 4, F32, true)}, {1, 1, 1024, cols}});
    const I column{SIDRA_VECTOR_OP_MOVE_INT, SIDRA_VECTOR_PASS, v1, 0, SIDRA_VECTOR_COLUMN, 0, 0, 0, {}};
    const I scatter{SIDRA_VECTOR_OP_SCATTER_INT, 0, 0, 0, v1, v1, 0, 0, {}};
    sidra_operand scattered = operand(kHalf, 0, 8192, S32, true);
    scattered.extent = 1u << 20;
    cases.push_back({"scatter", {column, scatter}, {scattered}, {1, 1, 1024, 60000}});
    std::vector<I> scatters;
    for (uint32_t i = 0; i < SIDRA_VECTOR_INSTRUCTIONS_MAX / 2; i++) scatters.insert(scatters.end(), {column, scatter});
    for (const uint32_t cols : {1u, 2000u}) cases.push_back({"scatters", scatters, {scattered}, {1, 1, 1024, cols}});
    // The longest row of elements far apart, with an element of each other operand, at an index.
    VectorCase longest{
        "longest scatter",
        {{SIDRA_VECTOR_OP_SCATTER_INT, SIDRA_VECTOR_PASS, 0, 0, SIDRA_VECTOR_COLUMN, SIDRA_VECTOR_COLUMN, 0, 0, {}}},
        {scattered},
        {1, 1, 16, SIDRA_VECTOR_ROW_COST_MAX / SIDRA_VECTOR_COST_ELEMENTS}};
    for (uint8_t n = 1; n < SIDRA_VECTOR_OPERANDS_MAX; n++) {
        sidra_operand single = operand(uint64_t{n} * kMemory, 4, 0, S32, false);
        single.index = kHalf / 2 + n * kMemory, single.index_type = SIDRA_TYPE_S32, single.extent = 1;
        longest.operands.push_back(single);
        longest.program.push_back({SIDRA_VECTOR_OP_LOAD_INT, 0, s0, n, 0, 0, 0, 0, {}});
    }
    cases.push_back(longest);
    // Rows of few elements, which are farther from each other than the rows.
    constexpr uint64_t kFar = kHalf / 2;
    sidra_operand two = operand(0, 8, kFar, F32, false);
    two.extent = 2;
    cases.push_back({"sparse gather", {gather, store}, {two, operand(kHalf, 8, 4, F32, true)}, {1, 1, 1024, 2}});
    two.addr = kHalf, two.flags = SIDRA_OPERAND_WRITE;
    const I put{SIDRA_VECTOR_OP_SCATTER, 0, 0, 1, v0, SIDRA_VECTOR_COLUMN, 0, 0, {}};
    cases.push_back({"sparse, row by row", {load, put}, {operand(0, 8, kFar, F32, false), two}, {1, 1, 1024, 2}});
    cases.push_back(
        {"sparse", fast, {operand(0, 8, kFar, F32, false), operand(kHalf, 8, kFar, F32, true)}, {1, 1, 1024, 2}});
    return cases;
}

// Where tables of a packet are: every 2 MiB are the same memory, with zeroes elsewhere.
constexpr uint64_t kProgramAt = SIDRA_HUGE_SIZE - 8192, kOperandsAt = SIDRA_HUGE_SIZE - 4096,
                   kPatternAt = SIDRA_HUGE_SIZE - 12288;

void vector_programs(Machine& machine) {
    for (const VectorCase& c : vector_cases()) {
        SCOPED_TRACE(c.name);
        uint8_t* const memory = machine.clear();
        std::memcpy(memory + kProgramAt, c.program.data(), c.program.size() * sizeof c.program[0]);
        std::memcpy(memory + kOperandsAt, c.operands.data(), c.operands.size() * sizeof c.operands[0]);
        sidra_cmd cmd = blank(SIDRA_CMD_VECTOR);
        cmd.vector.program = kProgramAt;
        cmd.vector.operands = kOperandsAt;
        cmd.vector.instructions = static_cast<uint16_t>(c.program.size());
        cmd.vector.operand_count = static_cast<uint16_t>(c.operands.size());
        std::copy(c.size.begin(), c.size.end(), cmd.vector.size);
        check(machine, cmd, uint64_t{c.size[0]} * c.size[1] * c.size[2] * c.size[3] / 4, vector_maps_max);
        if (::testing::Test::HasFailure()) return;
    }
}

struct SumsProgram {
    const char* name;
    std::vector<sidra_vector_instruction> code;
    bool whole_rows;
    bool gathers = false;  // from the operand behind the output
};
// Programs on sums: short, long, along the row, far apart, with accesses to single elements.
std::vector<SumsProgram> sums_programs(uint8_t output) {
    constexpr uint8_t v0 = SIDRA_VECTOR_V(0), s0 = SIDRA_VECTOR_S(0);
    using I = sidra_vector_instruction;
    const I load{SIDRA_VECTOR_OP_LOAD, SIDRA_VECTOR_PASS, v0, SIDRA_OPERAND_SUMS, 0, 0, 0, 0, {}};
    const I store{SIDRA_VECTOR_OP_STORE, 0, 0, output, v0, 0, 0, 0, {}};
    const I sum{SIDRA_VECTOR_OP_REDUCE_SUM, 0, s0, 0, v0, 0, 0, 0, {}};
    std::vector<I> slow = {load};
    for (int i = 0; i < 60; i++) slow.push_back({SIDRA_VECTOR_OP_ERF, 0, v0, 0, v0, 0, 0, 0, {}});
    slow.push_back(store);
    std::vector<I> gathers = {load};
    for (int i = 0; i < 60; i++)
        gathers.push_back(
            {SIDRA_VECTOR_OP_GATHER, 0, v0, static_cast<uint8_t>(output + 1), SIDRA_VECTOR_COLUMN, 0, 0, 0, {}});
    gathers.push_back(store);
    return {{"short", {load, store}, false},
            {"long", slow, false},
            {"whole rows", {load, store, sum}, true},
            {"gathers", gathers, false, true}};
}
// What they gather from.
sidra_operand gathered_elements() {
    sidra_operand o{};
    o.type = F32, o.stride[3] = 4, o.extent = 1u << 28;
    return o;
}

void matmuls(Machine& machine) {
    constexpr uint32_t kInner = SIDRA_MATMUL_INNER_MAX, kRow = SIDRA_MATMUL_ROW_MAX;
    struct Shape {
        uint32_t batch, m, n, k;
    };
    const Shape shapes[] = {{1, 1u << 20, 64, 64}, {1u << 20, 1, 1, 1},           {4, 64, kRow, kInner},
                            {1, 1, kRow, kInner},  {1, 3, 1u << 28, 16},          {100000, 100, 100, 100},
                            {1, 1u << 20, 1, 1},   {1, 1000, kRow / 128, kInner}, {64, 512, 512, 64}};
    for (const Shape& shape : shapes)
        for (const uint32_t type : {F32, U8})
            for (const uint32_t layout : {0u, 1u, 2u, 3u})
                for (const bool far : {false, true})
                    for (const SumsProgram& program : sums_programs(2)) {
                        // Of the layouts in which one factor is transposed, one program is enough.
                        if ((layout == 1 || layout == 2) && (far || std::string(program.name) != "short")) continue;
                        if (program.gathers && (layout != 0 || far)) continue;
                        SCOPED_TRACE(std::string(program.name) + ", " + std::to_string(shape.batch) + " x " +
                                     std::to_string(shape.m) + " x " + std::to_string(shape.n) + " x " +
                                     std::to_string(shape.k) + ", type " + std::to_string(type) + ", layout " +
                                     std::to_string(layout) + (far ? ", far apart" : ""));
                        const uint64_t size = element_size(type);
                        std::vector<sidra_operand> operands(3);
                        for (uint32_t i = 0; i < 2; i++) {
                            sidra_operand& o = operands[i];
                            const uint64_t line = far ? 8192 : size * (i ? shape.n : shape.k);
                            const bool transposed = layout >> i & 1;
                            o.stride[2] = transposed ? size : far ? line : size * (i ? shape.n : shape.k);
                            o.stride[3] = transposed ? (far ? line : size * (i ? shape.k : shape.m)) : size;
                            o.type = static_cast<uint8_t>(type);
                        }
                        const auto beyond = [&](const sidra_operand& o, uint64_t rows, uint64_t cols) {
                            return (rows - 1) * o.stride[2] + (cols - 1) * o.stride[3] >= kHalf;
                        };
                        if (beyond(operands[0], shape.m, shape.k) || beyond(operands[1], shape.k, shape.n)) continue;
                        sidra_operand& out = operands[2];
                        out.addr = kHalf, out.type = F32, out.flags = SIDRA_OPERAND_WRITE;
                        const bool strided = far && shape.n <= 1024;
                        out.stride[3] = strided ? 4096 : 4;
                        out.stride[2] = out.stride[3] * shape.n;
                        out.stride[1] = out.stride[2] * shape.m;
                        const uint64_t cost = program.whole_rows ? (strided ? 66 : 3) : 0;
                        if (cost * shape.n > SIDRA_MATMUL_ROW_COST_MAX ||
                            (program.whole_rows && shape.n > SIDRA_MATMUL_ROW_MAX) ||
                            out.stride[1] * shape.batch > kHalf)
                            continue;
                        if (program.gathers) operands.push_back(gathered_elements());
                        uint8_t* const memory = machine.clear();
                        std::memcpy(memory + kProgramAt, program.code.data(), program.code.size() * 16);
                        std::memcpy(memory + kOperandsAt, operands.data(), operands.size() * sizeof operands[0]);
                        sidra_cmd cmd = blank(SIDRA_CMD_MATMUL);
                        cmd.matmul.program = kProgramAt;
                        cmd.matmul.operands = kOperandsAt;
                        cmd.matmul.batch[0] = 1, cmd.matmul.batch[1] = shape.batch;
                        cmd.matmul.m = shape.m, cmd.matmul.n = shape.n, cmd.matmul.k = shape.k;
                        cmd.matmul.instructions = static_cast<uint16_t>(program.code.size());
                        cmd.matmul.operand_count = static_cast<uint16_t>(operands.size());
                        check(machine, cmd, uint64_t{shape.batch} * shape.m * shape.n * shape.k / kMacsPerOperation);
                        if (::testing::Test::HasFailure()) return;
                    }
}

void layers(Machine& machine) {
    constexpr uint8_t v0 = SIDRA_VECTOR_V(0);
    using I = sidra_vector_instruction;
    const std::vector<I> prologue = {{SIDRA_VECTOR_OP_LOAD, SIDRA_VECTOR_PASS, v0, SIDRA_OPERAND_INPUT, 0, 0, 0, 0, {}},
                                     {SIDRA_VECTOR_OP_STORE, 0, 0, SIDRA_OPERAND_CODES, v0, 0, 0, 0, {}}};
    struct Shape {
        uint32_t weights;
        uint16_t kernel_h, kernel_w;
        uint32_t channels;
        uint64_t pixel;  // stride; 0: dense
        std::array<uint32_t, 3> size;
    };
    const uint32_t tall = machine.tall_rows();
    const auto side = static_cast<uint16_t>(tall % 4096 ? 32 : 64);
    const Shape shapes[] = {
        {kSmall, 1, 1, 256, 0, {1, 1, 1u << 24}},                  // many rows
        {kSmall, 16, 16, 1, 8192, {1, 1 << 12, 1}},                // pixels far apart
        {kSmall, 1, 256, 1, 0, {16, 64, 64}},                      // overlapping
        {kTall, 1, 1, tall, 0, {1, 1, 100}},                       // the longest rows
        {kTall, side, side, tall / side / side, 8192, {1, 2, 3}},  // of as many pieces as there may be
        {kWide, 1, 1, 256, 0, {1, 1, 1000}},                       // the most columns
        {kWide, 16, 16, 1, 4096, {1, 10, 10}},
    };
    for (const Shape& shape : shapes)
        for (const bool quantised : {false, true})
            for (const SumsProgram& program : sums_programs(0)) {
                const uint32_t k = uint32_t{shape.kernel_h} * shape.kernel_w * shape.channels;
                const uint32_t n = shape.weights == kWide ? machine.wide_cols() : 256;
                SCOPED_TRACE(std::string(program.name) + ", " + std::to_string(k) + " x " + std::to_string(n) +
                             (quantised ? ", quantised" : ""));
                if (program.whole_rows && n > SIDRA_LAYER_ROW_COST_MAX / 3) continue;
                if (quantised && k > SIDRA_LAYER_ROW_COST_MAX / 2) continue;
                std::vector<I> code = quantised ? prologue : std::vector<I>{};
                code.insert(code.end(), program.code.begin(), program.code.end());
                sidra_pattern pattern{};
                const uint64_t size = quantised ? 4 : 1;
                pattern.type = quantised ? F32 : U8;
                pattern.codes = U8;
                pattern.channels = shape.channels;
                pattern.kernel_h = shape.kernel_h, pattern.kernel_w = shape.kernel_w;
                pattern.stride_h = pattern.stride_w = pattern.dilation_h = pattern.dilation_w = 1;
                pattern.height = shape.kernel_h + shape.size[1] - 1, pattern.width = shape.kernel_w + shape.size[2] - 1;
                pattern.pixel_stride = shape.pixel ? shape.pixel : shape.channels * size;
                pattern.row_stride = pattern.pixel_stride * pattern.width;
                pattern.image_stride = pattern.row_stride * pattern.height;
                sidra_operand out{};
                out.addr = kHalf, out.type = F32, out.flags = SIDRA_OPERAND_WRITE;
                out.stride[3] = 4, out.stride[2] = n * 4ull;
                out.stride[1] = out.stride[2] * shape.size[2], out.stride[0] = out.stride[1] * shape.size[1];
                uint8_t* const memory = machine.clear();
                std::memcpy(memory + kProgramAt, code.data(), code.size() * sizeof code[0]);
                std::vector<sidra_operand> operands = {out};
                if (program.gathers) operands.push_back(gathered_elements());
                std::memcpy(memory + kOperandsAt, operands.data(), operands.size() * sizeof out);
                std::memcpy(memory + kPatternAt, &pattern, sizeof pattern);
                sidra_cmd cmd = blank(SIDRA_CMD_LAYER);
                cmd.layer.weights = static_cast<uint16_t>(shape.weights);
                cmd.layer.program = kProgramAt;
                cmd.layer.operands = kOperandsAt;
                cmd.layer.pattern = kPatternAt;
                std::copy(shape.size.begin(), shape.size.end(), cmd.layer.size);
                cmd.layer.prologue = static_cast<uint8_t>(code.size() - program.code.size());
                cmd.layer.epilogue = static_cast<uint8_t>(program.code.size());
                cmd.layer.operand_count = static_cast<uint8_t>(operands.size());
                const uint64_t rows = uint64_t{shape.size[0]} * shape.size[1] * shape.size[2];
                check(machine, cmd, rows * k * n / kMacsPerOperation);
                if (::testing::Test::HasFailure()) return;
            }
}

void pool_of_the_most_pieces(Machine& machine) {
    constexpr uint64_t kPattern = SIDRA_HUGE_SIZE - 4096;
    sidra_pattern p{};
    p.type = U8;
    p.height = p.width = 256, p.channels = 1, p.kernel_h = p.kernel_w = 256;
    p.stride_h = p.stride_w = p.dilation_h = p.dilation_w = 1;
    p.pixel_stride = 8192, p.row_stride = 8192 * 256;
    std::memcpy(machine.clear() + kPattern, &p, sizeof p);
    sidra_cmd cmd = blank(SIDRA_CMD_POOL);
    cmd.pool.op = SIDRA_POOL_MAX;
    cmd.pool.pattern = kPattern;
    cmd.pool.out = kHalf;
    cmd.pool.size[0] = cmd.pool.size[1] = cmd.pool.size[2] = 1;
    check(machine, cmd, 65536);
}

// Pixels that are farther from each other than the rows.
void sparse_pools(Machine& machine) {
    constexpr uint64_t kPattern = SIDRA_HUGE_SIZE - 4096, kFar = kHalf / 2;
    for (const bool sparse_input : {false, true}) {
        sidra_pattern p{};
        p.type = U8;
        p.height = 256, p.width = 2, p.channels = 1;
        p.kernel_h = p.kernel_w = p.stride_h = p.stride_w = p.dilation_h = p.dilation_w = 1;
        p.pixel_stride = sparse_input ? kFar : 1, p.row_stride = 2;
        std::memcpy(machine.clear() + kPattern, &p, sizeof p);
        sidra_cmd cmd = blank(SIDRA_CMD_POOL);
        cmd.pool.op = SIDRA_POOL_MAX;
        cmd.pool.pattern = kPattern;
        cmd.pool.out = kHalf;
        cmd.pool.size[0] = 1, cmd.pool.size[1] = 256, cmd.pool.size[2] = 2;
        cmd.pool.out_stride[2] = sparse_input ? 1 : kFar, cmd.pool.out_stride[1] = 2;
        check(machine, cmd, 512);
    }
}

void pools(Machine& machine) {
    pool_of_the_most_pieces(machine);
    sparse_pools(machine);
    constexpr uint64_t kPattern = SIDRA_HUGE_SIZE - 4096;
    struct Case {
        uint32_t height, width, channels;
        uint16_t kernel_h, kernel_w, stride, dilation;
        uint64_t pixel;   // stride; 0: dense
        uint64_t output;  // the same
        std::array<uint32_t, 3> size;
    };
    const Case cases[] = {
        {256, 65535, 16, 256, 256, 1, 1, 0, 0, {1, 1, 65535 - 255}},  // the largest windows, a long row
        {4351, 4351, 16, 256, 256, 1, 1, 0, 0, {1, 4096, 4096}},      // and many
        {1, 1, 1u << 20, 1, 1, 1, 1, 0, 0, {3, 1, 1}},                // as many channels as there may be
        {2, 2, 1u << 18, 2, 2, 1, 1, 2u << 20, 2u << 20, {9, 1, 1}},  // and far apart
        {255, 256, 16, 255, 256, 1, 1, 8192, 0, {1, 1, 1}},           // the most pieces of memory
        {1, 1u << 20, 1, 1, 1, 1, 1, 8192, 8192, {1, 1, 1u << 20}},   // pixels far apart
        {1, 1u << 20, 1, 1, 256, 256, 1, 0, 4096, {1, 1, 4000}},      // outputs far apart
        {64, 1u << 20, 4, 2, 2, 300, 1, 0, 0, {1, 1, 3000}},          // windows far apart
        {1u << 20, 4, 1, 256, 1, 1, 1, 0, 0, {1, 4096, 4}},           // high windows
        {600, 600, 3, 7, 7, 2, 60, 0, 0, {8, 120, 120}},              // dilated
        {7, 7, 64, 7, 7, 1, 1, 0, 0, {1u << 24, 1, 1}},               // many small images
    };
    for (const Case& c : cases)
        for (const uint32_t type : {U8, F32})
            for (const uint8_t op : {SIDRA_POOL_MAX, SIDRA_POOL_ARGMAX}) {
                SCOPED_TRACE(std::to_string(c.height) + " x " + std::to_string(c.width) + " x " +
                             std::to_string(c.channels) + ", type " + std::to_string(type));
                sidra_pattern p{};
                p.type = static_cast<uint8_t>(type);
                p.height = c.height, p.width = c.width, p.channels = c.channels;
                p.kernel_h = c.kernel_h, p.kernel_w = c.kernel_w, p.stride_h = p.stride_w = c.stride;
                p.dilation_h = p.dilation_w = c.dilation;
                p.pixel_stride = c.pixel ? c.pixel : c.channels * uint64_t{element_size(type)};
                p.row_stride = p.pixel_stride * c.width;
                std::memcpy(machine.clear() + kPattern, &p, sizeof p);
                sidra_cmd cmd = blank(SIDRA_CMD_POOL);
                cmd.pool.op = op;
                cmd.pool.pattern = kPattern;
                cmd.pool.out = kHalf;
                std::copy(c.size.begin(), c.size.end(), cmd.pool.size);
                const uint64_t bytes = uint64_t{c.channels} * (op == SIDRA_POOL_ARGMAX ? 4 : element_size(type));
                cmd.pool.out_stride[2] = std::max(bytes, c.output);
                cmd.pool.out_stride[1] = cmd.pool.out_stride[2] * c.size[2];
                cmd.pool.out_stride[0] = cmd.pool.out_stride[1] * c.size[1];
                check(machine, cmd, uint64_t{c.size[0]} * c.size[1] * c.size[2] * c.channels * c.kernel_h * c.kernel_w);
                if (::testing::Test::HasFailure()) return;
            }
}

void sorts(Machine& machine) {
    struct Case {
        uint32_t rows, cols, count, gap;
    };
    const Case cases[] = {{1, 65536, 65536, 0},      {1u << 17, 65536, 65536, 0}, {1u << 17, 65536, 5, 0},
                          {1u << 24, 1, 1, 0},       {1u << 24, 1, 1, 8192},      {1u << 20, 1000, 62, 8192},
                          {1u << 19, 4096, 256, 64}, {77, 65535, 4095, 0},        {64, 4, 4, 1u << 30}};
    for (const Case& c : cases)
        for (const uint32_t type : {uint32_t{SIDRA_TYPE_S64}, U8, F32}) {
            SCOPED_TRACE(std::to_string(c.rows) + " x " + std::to_string(c.cols) + ", type " + std::to_string(type));
            const uint32_t bytes = type == SIDRA_TYPE_S64 ? 8 : element_size(type);
            machine.clear();
            sidra_cmd cmd = blank(SIDRA_CMD_SORT);
            sidra_cmd_sort& s = cmd.sort;
            s.type = static_cast<uint8_t>(type), s.index_type = SIDRA_TYPE_S64;
            s.rows = c.rows, s.cols = c.cols, s.count = c.count;
            s.in_stride = c.cols * bytes + c.gap, s.values_stride = c.count * bytes + c.gap;
            s.indices_stride = c.count * 8 + c.gap;
            s.values = uint64_t{c.rows} * s.in_stride;
            s.indices = s.values + uint64_t{c.rows} * s.values_stride;
            s.values = (s.values + 7) / 8 * 8, s.indices = (s.indices + 15) / 8 * 8;
            check(machine, cmd, uint64_t{c.rows} * c.cols);
            if (::testing::Test::HasFailure()) return;
        }
}

void copies(Machine& machine) {
    check(machine, copy(kHalf, 0, kHalf), kHalf);
    check(machine, copy_2d(kHalf, 64, 0, 64, 1, 0xffffffffu), 0xffffffffu);
    check(machine, copy_2d(kHalf, 8192, 0, 8192, 1, 1u << 25), 1u << 25);
    check(machine, copy_2d(kHalf, 1u << 20, 0, 1u << 20, (128u << 10) + 1, 1u << 18), ((128ull << 10) + 1) << 18);
}

void fills(Machine& machine) { check(machine, fill(kHalf, kHalf, 0x55, 1), kHalf); }

void mvms(Machine& machine) {
    struct Object {
        uint16_t index;
        uint64_t rows, cols;
    };
    const Object objects[] = {{kTall, machine.tall_rows(), 256}, {kWide, 256, machine.wide_cols()}, {kSmall, 256, 256}};
    for (const Object& object : objects)
        for (const uint32_t in : {U8, S8, F32})
            for (const uint32_t out : {S32, F32}) {
                SCOPED_TRACE(std::to_string(object.index) + ", types " + std::to_string(in) + ", " +
                             std::to_string(out));
                const uint32_t batch = object.index == kSmall ? SIDRA_CMD_BATCH_MAX : 32768;
                const auto stride = [&](uint64_t elements, uint32_t type) {
                    return static_cast<uint32_t>(elements * element_size(type));
                };
                machine.clear();
                sidra_cmd cmd =
                    mvm(object.index, in, out, batch, 0, stride(object.rows, in), kHalf, stride(object.cols, out));
                if (object.rows * element_size(in) * batch > kHalf) cmd.mvm.batch = 1024;
                if (object.cols * element_size(out) * cmd.mvm.batch > kHalf) cmd.mvm.batch = 1024;
                cmd.mvm.bias = kMemory;
                check(machine, cmd, object.rows * object.cols * cmd.mvm.batch / 512);
                if (::testing::Test::HasFailure()) return;
            }
}

// Objects share crossbars, and the units of a REFRESH or READBACK need what the object has programmed itself.
void programs(Machine& machine) {
    const uint32_t rows = machine.tall_rows();
    for (const uint32_t stride : {256u, 65536u}) {
        check(machine, program(kTall, 0, rows, 0, 256, 0, stride), rows * uint64_t{256});
        check(machine, refresh(kTall, 0, rows, 0, 256), rows * uint64_t{256});
        check(machine, program(kSmall, 0, 256, 0, 256, 0, stride), 65536);
        check(machine, refresh(kSmall, 0, 256, 0, 256), 65536);
    }
}

void readbacks(Machine& machine) {
    const uint32_t rows = machine.tall_rows();
    for (const uint32_t stride : {256u, 65536u}) {
        check(machine, program(kTall, 0, rows, 0, 256, 0, 256), rows * uint64_t{256});
        check(machine, readback(kTall, 0, rows, 0, 256, 0, stride), rows * uint64_t{256});
        check(machine, program(kSmall, 0, 256, 0, 256, 0, 256), 65536);
        check(machine, readback(kSmall, 0, 256, 0, 256, kHalf, stride), 65536);
    }
    check(machine, readback(kSmall, 0, 256, 0, 256, kHalf, 1u << 29), 65536);
}

struct Opcode {
    const char* name;
    uint8_t opcode;
    void (*largest)(Machine&);  // checks the largest packets
    bool cells = false;         // works with these
};
const Opcode kOpcodes[] = {
    {"COPY", SIDRA_CMD_COPY, copies},
    {"FILL", SIDRA_CMD_FILL, fills},
    {"MVM", SIDRA_CMD_MVM, mvms, true},
    {"VECTOR", SIDRA_CMD_VECTOR, vector_programs},
    {"MATMUL", SIDRA_CMD_MATMUL, matmuls},
    {"LAYER", SIDRA_CMD_LAYER, layers, true},
    {"PROGRAM", SIDRA_CMD_PROGRAM, programs, true},
    {"READBACK", SIDRA_CMD_READBACK, readbacks, true},
    {"POOL", SIDRA_CMD_POOL, pools},
    {"SORT", SIDRA_CMD_SORT, sorts},
};

class UnitLoadOf : public ::testing::TestWithParam<Opcode> {};

TEST_P(UnitLoadOf, LargestPacketsIsBounded) {
    Machine machine;
    GetParam().largest(machine);
    EXPECT_GT(machine.checked[GetParam().opcode], 0u) << "of this opcode";
}

class UnitLoadAccurateOf : public ::testing::TestWithParam<Opcode> {};

TEST_P(UnitLoadAccurateOf, LargestPacketsIsBounded) {
    for (const Geometry& geometry : {kGeometryY1, kGeometryOfFew}) {
        Machine machine(SIDRA_CHIP_ACCURATE, geometry);
        GetParam().largest(machine);
        EXPECT_GT(machine.checked[GetParam().opcode], 0u) << "of this opcode";
    }
}

std::vector<Opcode> of_cells() {
    std::vector<Opcode> opcodes;
    std::ranges::copy_if(kOpcodes, std::back_inserter(opcodes), &Opcode::cells);
    return opcodes;
}

INSTANTIATE_TEST_SUITE_P(, UnitLoadAccurateOf, ::testing::ValuesIn(of_cells()),
                         [](const auto& info) { return std::string(info.param.name); });
INSTANTIATE_TEST_SUITE_P(, UnitLoadOf, ::testing::ValuesIn(kOpcodes),
                         [](const auto& info) { return std::string(info.param.name); });

// Another queue of the process changes every tile of the object between the units of its product.
TEST(UnitLoad, OfProductsDoesNotDependOnWhatOthersProgram) {
    Machine machine(SIDRA_CHIP_ACCURATE, kGeometryOfFew);
    machine.clear();
    const uint32_t rows = machine.tall_rows(), tiles = machine.array.xbars();
    const auto programs = [&](uint32_t column, uint32_t columns) {
        Job job;
        ASSERT_FALSE(machine.prepare(program(kTall, 0, rows, column, columns, 0, columns), &job));
        for (uint32_t unit = 0; unit < job.units; unit++) ASSERT_FALSE(machine.run(job, unit));
    };
    programs(0, 256);
    Job product, next;
    ASSERT_FALSE(machine.prepare(mvm(kTall, U8, S32, 1000, 0, rows, kHalf, 1024), &product));
    EXPECT_EQ(product.makes, tiles);
    for (uint32_t unit = 0; unit <= product.makes; unit++) ASSERT_FALSE(machine.run(product, unit));
    EXPECT_EQ(machine.readouts_made(), tiles);
    programs(7, 1);
    ASSERT_FALSE(machine.run(product, product.makes + 1));
    EXPECT_EQ(machine.readouts_made(), tiles) << "by a unit of products";
    // The next packet sees the change.
    ASSERT_FALSE(machine.prepare(mvm(kTall, U8, S32, 1000, 0, rows, kHalf, 1024), &next));
    EXPECT_EQ(next.makes, tiles);
}

TEST(UnitLoad, OfEachOpcodeIsChecked) {
    for (unsigned opcode = 0; opcode < 256; opcode++) {
        const auto entries =
            std::ranges::count_if(kOpcodes, [opcode](const Opcode& entry) { return entry.opcode == opcode; });
        EXPECT_EQ(entries, operation(static_cast<uint8_t>(opcode)) ? 1 : 0) << "opcode " << opcode;
    }
}

TEST(UnitLoad, HasALimitForEachPart) {
    EXPECT_TRUE(fits(kUnitMax));
    EXPECT_FALSE(fits({kUnitMax.operations + 1, 0, 0}));
    EXPECT_FALSE(fits({0, kUnitMax.pieces + 1, 0}));
    EXPECT_FALSE(fits({0, 0, kUnitMax.scratch + 1}));
}

}  // namespace
}  // namespace sidra::chip
