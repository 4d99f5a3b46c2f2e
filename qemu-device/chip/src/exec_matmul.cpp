// SPDX-License-Identifier: MIT
// MATMUL: products of two matrices, and a vector program on their rows. A unit is some rows of one product, with all
// columns, or (if the program can be divided so) a block of them: its sums go from the engine to the program through
// scratch memory. If the program only stores them, the engine writes them where they belong.
#include <algorithm>

#include "preparation.h"
#include "vector_unit.h"
#include "verify_packet.h"

namespace sidra::chip {
namespace {

using vector::element_size;

// Of a unit: long compared to its start, short enough to share the chip. How a packet is divided does not depend on the
// engine: a program may load what it stores, so after a migration a finished unit must not run again.
constexpr uint64_t kUnitFloatMacs = 1u << 22, kUnitByteMacs = 1u << 24;
constexpr uint64_t kSumsBytes = 1u << 20;    // of a unit
constexpr uint64_t kBlockCols = 4096;        // of a unit, if columns can be divided
constexpr uint64_t kFactorBytes = 1u << 20;  // copied at a time, of each factor

MatmulPlan::Factor factor_of(const sidra_operand& o, const sidra_cmd_matmul& m, uint32_t rows, uint32_t cols) {
    const uint32_t bytes = element_size(o.type);
    return {Grid(o.addr, o.stride, {m.batch[0], m.batch[1], rows, cols}, bytes), rows, cols, bytes, o.type};
}

// The operand to which a program stores the sums as they are, row after row, and does nothing else; or kNone.
uint32_t takes_sums(std::span<const sidra_vector_instruction> program, std::span<const sidra_operand> operands,
                    bool floats) {
    if (program.size() != 2) return MatmulPlan::kNone;
    const sidra_vector_instruction &load = program[0], &store = program[1];
    if (load.op != (floats ? SIDRA_VECTOR_OP_LOAD : SIDRA_VECTOR_OP_LOAD_INT) || load.operand != SIDRA_OPERAND_SUMS ||
        store.op != (floats ? SIDRA_VECTOR_OP_STORE : SIDRA_VECTOR_OP_STORE_INT) || store.a != load.dst)
        return MatmulPlan::kNone;
    const sidra_operand& o = operands[store.operand];
    const bool plain = o.type == (floats ? SIDRA_TYPE_F32 : SIDRA_TYPE_S32) && o.stride[3] == 4 && o.index == 0;
    return plain ? store.operand : MatmulPlan::kNone;
}

Fault make(const Env& env, Job& job, Preparation& to) {
    const sidra_cmd_matmul& m = job.cmd.matmul;
    if (Fault fault = to.read(env, job.cmd, m.instructions, m.operand_count)) return fault;
    const std::span program = to.program();
    const std::span arrays = to.arrays();
    vector::MatmulRules rules{{m.batch[0], m.batch[1], m.m, m.n}, m.k};
    ProgramCache& programs = this_program_cache();
    vector::Traits none;
    auto verdict = vector::verify_factors(arrays, &rules);
    if (!verdict) verdict = programs.verify(program, arrays, rules.packet, &none, &rules.traits);
    if (!verdict) verdict = vector::verify_matmul_space(arrays, &rules);
    if (verdict) return program_fault(verdict);
    const vector::Traits& traits = rules.traits;
    const bool floats = vector::is_float(arrays[0].type);

    MatmulPlan& plan = to.matmul;
    plan.factor[0] = factor_of(arrays[0], m, m.m, m.k);
    plan.factor[1] = factor_of(arrays[1], m, m.k, m.n);
    plan.takes_sums = takes_sums(program, arrays, floats);
    plan_vector(arrays, rules.size, traits, &plan.vector);
    to.serial_units = traits.in_order;
    Operands planned = to.operands;
    take_strides(plan.vector, planned);
    programs.decode(env, std::span(planned).first(m.operand_count), nullptr, &to.decoded);

    const VectorLoad load = vector_load(plan.vector);
    const uint64_t cost = std::max(traits.cost, 1u),
                   speed = floats ? env.engine.can().float_macs_per_ns : env.engine.can().byte_macs_per_ns;
    uint64_t block = m.n;
    if (!traits.whole_rows) {
        block = std::min({block, kBlockCols, std::max<uint64_t>(kVectorUnitCost / cost, 16)});
        if (load.strided) block = std::min(block, kUnitMax.pieces / 8 / load.strided);
    }
    uint64_t group = std::min(unit_rows(load, block, cost, m.m), kSumsBytes / 4 / block);
    group = std::min(group, kUnitMax.pieces / 4 / (load.pieces + load.strided * block + 1));
    group = std::min(group, kFactorBytes / (uint64_t{m.k} * plan.factor[0].bytes));
    group = std::min(group, (floats ? kUnitFloatMacs : kUnitByteMacs) / (block * m.k) + 1);
    group = std::clamp<uint64_t>(group, 1, m.m);
    const uint64_t groups = (m.m + group - 1) / group;
    group = (m.m + groups - 1) / groups;  // of equal size
    plan.unit_rows = static_cast<uint32_t>(group);
    plan.unit_cols = static_cast<uint32_t>(block);
    plan.across = static_cast<uint32_t>((m.n + block - 1) / block);
    plan.down = static_cast<uint32_t>(groups);
    const uint64_t units = uint64_t{m.batch[0]} * m.batch[1] * plan.down * plan.across;  // no overflow: verify_space()
    if (units > UINT32_MAX) return program_fault({SIDRA_PROGRAM_SIZE});
    to.units = static_cast<uint32_t>(units);
    const uint64_t macs = group * block * m.k;
    UnitLoad& of = to.unit_load;
    of = unit_load(load, plan.vector, group, block, cost);
    of.operations += macs / kMacsPerOperation;
    of.pieces += plan.pieces(0, group, m.k) + plan.pieces(1, m.k, block);
    of.scratch += group * block * 4 + 2 * kFactorBytes + engine::kMatmulScratch + 1024;
    to.unit_work = macs / speed + group * block * cost / kVectorCostsPerNs + 1;
    const uint64_t rows = uint64_t{m.batch[0]} * m.batch[1] * m.m;
    to.cost = matmul_cost(rows * m.n * m.k, floats, env.clock_level);
    to.cost += vec_cost(rows * m.n * cost, env.clock_level);
    to.elements = rows * m.n;
    return {};
}

Fault matmul_prepare(const Env& env, Job& job) {
    const sidra_cmd_matmul& m = job.cmd.matmul;
    if (m.hdr.flags || m.hdr.pad) return {SIDRA_FAULT_FIELD};
    return prepare(env, job, {make});
}

// Some rows and columns of a factor, as the engine reads them: in place, or a copy.
struct Part {
    uint8_t* data;
    uint64_t row, col;  // bytes between rows and columns
};

class Product {
   public:
    Product(const Env& env, const MatmulPlan& plan, Worker& worker, uint32_t product)
        : env_(env), plan_(plan), worker_(worker), dma_(env.bus, worker.tlb, env.space), product_(product) {}

    Fault multiply(uint32_t row, uint32_t rows, uint32_t col, uint32_t cols, uint8_t* out, uint64_t out_row) {
        engine::Matmul call{};
        call.out_row = out_row;
        call.rows = rows;
        call.a_type = plan_.factor[0].type;
        call.b_type = plan_.factor[1].type;
        uint8_t* const scratch = worker_.scratch.take(engine::kMatmulScratch);
        const uint32_t k = plan_.factor[0].cols;
        Part a, b;
        bool a_there, b_there;
        if (Fault fault = in_place(0, row, rows, 0, k, &a, &a_there)) return fault;
        if (Fault fault = in_place(1, 0, k, col, cols, &b, &b_there)) return fault;
        if (!a_there)
            if (Fault fault = copy(0, row, rows, 0, k, &a)) return fault;
        call.a_row = a.row, call.a_col = a.col;
        // If B is copied, then in blocks: of columns if those are its ranges, else along k, continuing the sums.
        const MatmulPlan::Factor& f = plan_.factor[1];
        uint32_t block_k = k, block_cols = cols;
        if (!b_there) {
            const bool by_columns = !f.along_row();
            uint32_t& divided = by_columns ? block_cols : block_k;
            divided = static_cast<uint32_t>(
                std::min<uint64_t>(divided, kFactorBytes / (uint64_t{by_columns ? k : cols} * f.bytes)));
        }
        const uint64_t used = worker_.scratch.used();
        for (uint32_t c = 0; c < cols; c += call.cols) {
            call.cols = std::min(block_cols, cols - c);
            call.out = out + c * uint64_t{4};
            for (uint32_t first = 0; first < k; first += call.inner) {
                call.inner = std::min(block_k, k - first);
                worker_.scratch.rewind(used);
                Part part = b;
                if (b_there) part.data += first * b.row + c * b.col;
                else if (Fault fault = copy(1, first, call.inner, col + c, call.cols, &part)) return fault;
                call.a = a.data + first * a.col;
                call.b = part.data, call.b_row = part.row, call.b_col = part.col;
                call.accumulate = first > 0;
                env_.kernels.matmul(call, scratch);
            }
        }
        return {};
    }

    // Where the operand that takes the sums has these rows and columns, if the host has them as one range.
    Fault find_taker(uint32_t row, uint32_t rows, uint32_t col, uint32_t cols, Part* part) {
        *part = {};
        if (plan_.takes_sums == MatmulPlan::kNone) return {};
        const VectorPlan::Operand& o = plan_.vector.operands[plan_.takes_sums];
        const uint64_t step = o.grid.stride(2), bytes = uint64_t{cols} * 4, span = (rows - 1) * step + bytes;
        if (!worth_mapping(span, rows, rows * bytes)) return {};
        Fault fault;
        *part = {dma_.map_all(o.grid.part(offset(o.grid, row, col), span), Access::kWrite, &fault), step, 4};
        return fault.cause == SIDRA_FAULT_BUS ? fault : Fault{};  // others are those of a row, which the program finds
    }

   private:
    uint64_t offset(const Grid& grid, uint32_t row, uint32_t col) const {
        const uint32_t inner = plan_.vector.size[1];
        return grid.offset(product_ / inner, product_ % inner, row, col);
    }

    Fault in_place(uint32_t n, uint32_t row, uint32_t rows, uint32_t col, uint32_t cols, Part* part, bool* there) {
        const MatmulPlan::Factor& f = plan_.factor[n];
        const uint64_t row_step = f.grid.stride(2), col_step = f.grid.stride(3);
        const uint64_t span = (rows - 1) * row_step + (cols - 1) * col_step + f.bytes;
        *part = {nullptr, row_step, col_step};
        *there = false;
        if (!worth_mapping(span, f.along_row() ? rows : cols, uint64_t{rows} * cols * f.bytes)) return {};
        Fault fault;
        part->data = dma_.map_all(f.grid.part(offset(f.grid, row, col), span), Access::kRead, &fault);
        *there = part->data != nullptr;
        if (fault && fault.cause == SIDRA_FAULT_BUS) return fault;
        return {};
    }

    // Copies ranges along the dimension whose elements are adjacent; one with the stride 0 is not repeated.
    Fault copy(uint32_t n, uint32_t row, uint32_t rows, uint32_t col, uint32_t cols, Part* part) {
        const MatmulPlan::Factor& f = plan_.factor[n];
        const bool along_row = f.along_row();
        const uint32_t lines = along_row ? rows : cols, along = along_row ? cols : rows;
        const uint64_t line_stride = f.grid.stride(along_row ? 2 : 3), step = f.grid.stride(along_row ? 3 : 2);
        const uint32_t elements = step == 0 ? 1 : along;
        const uint32_t copies = line_stride == 0 ? 1 : lines;
        const uint64_t bytes = uint64_t{elements} * f.bytes;
        uint8_t* const to = worker_.scratch.take(copies * bytes);
        for (uint32_t i = 0; i < copies; i++) {
            const Range line = f.grid.part(offset(f.grid, row, col) + i * line_stride, bytes);
            if (Fault fault = dma_.read(line, to + i * bytes)) return fault;
        }
        const uint64_t next = copies == 1 ? 0 : bytes, element = elements == 1 ? 0 : f.bytes;
        *part = along_row ? Part{to, next, element} : Part{to, element, next};
        return {};
    }

    const Env& env_;
    const MatmulPlan& plan_;
    Worker& worker_;
    Dma dma_;
    uint32_t product_;
};

Fault matmul_unit(const Env& env, const Job& job, Worker& worker, uint32_t index) {
    const MatmulPlan& plan = job.preparation->matmul;
    const uint32_t m = plan.factor[0].rows, n = plan.factor[1].cols;
    const uint32_t first_col = index % plan.across * plan.unit_cols;
    const uint32_t product = index / plan.across / plan.down;
    const uint32_t first_row = index / plan.across % plan.down * plan.unit_rows;
    const uint32_t rows = std::min(plan.unit_rows, m - first_row), cols = std::min(plan.unit_cols, n - first_col);
    Product factors(env, plan, worker, product);
    Part taker;
    if (Fault fault = factors.find_taker(first_row, rows, first_col, cols, &taker)) return fault;
    if (taker.data) return factors.multiply(first_row, rows, first_col, cols, taker.data, taker.row);
    // Rows begin aligned, and do not all meet in the same sets of a cache.
    const uint64_t pitch = (uint64_t{cols} * 4 + 63) / 64 * 64;
    uint8_t* const sums = worker.scratch.take(rows * pitch);
    const uint64_t used = worker.scratch.used();
    if (Fault fault = factors.multiply(first_row, rows, first_col, cols, sums, pitch)) return fault;
    worker.scratch.rewind(used);
    VectorUnit unit(env, plan.vector, job.preparation->decoded, job.cmd.matmul.param, worker);
    unit.give(vector::kSums, sums, pitch, 4);
    return unit.run({product * m + first_row, rows, first_col, cols});
}

}  // namespace

uint64_t MatmulPlan::pieces(uint32_t n, uint64_t rows, uint64_t cols) const {
    return factor[n].along_row() ? rows : cols;
}

const Operation kMatmulOperation = {SIDRA_HW_ENGINE_VEC, matmul_prepare, nullptr, matmul_unit};

}  // namespace sidra::chip
