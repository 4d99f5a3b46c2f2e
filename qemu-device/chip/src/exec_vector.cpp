// SPDX-License-Identifier: MIT
// VECTOR: vector programs. A unit is a group of rows or, if the program can be divided so, a block of columns of them.
#include <algorithm>
#include <array>
#include <cstring>
#include <utility>

#include "job.h"
#include "verify.h"

namespace sidra::chip {
namespace {

using vector::element_size;
using Instructions = std::array<sidra_vector_instruction, SIDRA_VECTOR_INSTRUCTIONS_MAX>;
using Operands = std::array<sidra_operand, SIDRA_VECTOR_OPERANDS_MAX>;

constexpr uint64_t kUnitCost = 1u << 19;  // of all elements of a unit: some 50 us with vectors
constexpr uint64_t kUnitRowsMax = 1024;
constexpr uint64_t kUnitBytes = 4u << 20;   // of the elements of a unit, in all operands
constexpr uint64_t kBlockCols = 4096;       // units have a multiple of so many columns, or all
constexpr uint64_t kCostsPerOperation = 4;  // UnitLoad counts elements
constexpr uint64_t kCostsPerNs = 8;         // estimate for slices

// Makes dimension `inner` of the iteration space, and the dimension outside it, one long dimension, if all operands
// allow it: dimension `inner` then has it, and the outer one has size 1.
bool join(VectorPlan& plan, uint32_t outer, uint32_t inner) {
    uint32_t(&size)[4] = plan.size;
    const uint64_t joined = uint64_t{size[outer]} * size[inner];
    if (joined > SIDRA_VECTOR_SIZE_MAX) return false;
    const auto operands = std::span(plan.operands).first(plan.operand_count);
    for (const VectorPlan::Operand& o : operands) {
        const bool joins = size[outer] == 1 || size[inner] == 1 || o.stride[outer] == o.stride[inner] * size[inner];
        if (!joins) return false;
    }
    for (VectorPlan::Operand& o : operands) {
        if (size[inner] == 1) o.stride[inner] = o.stride[outer];
        o.stride[outer] = 0;
    }
    size[inner] = static_cast<uint32_t>(joined);
    size[outer] = 1;
    return true;
}

// Joins dimensions, so that rows become long and are found quickly. Rows keep their numbers; columns join only if the
// program does not depend on theirs.
void join_dimensions(VectorPlan& plan, bool columns) {
    for (const VectorPlan::Operand& o : std::span(plan.operands).first(plan.operand_count))
        if (o.indexed) return;
    uint32_t inner = columns ? 3 : 2;
    for (uint32_t outer = inner; outer-- > 0;) {
        if (join(plan, outer, inner)) continue;
        // What could not join becomes the neighbour of `inner`, so that the next one may join it.
        inner--;
        if (inner == outer) continue;
        for (VectorPlan::Operand& o : std::span(plan.operands).first(plan.operand_count))
            o.stride[inner] = std::exchange(o.stride[outer], 0);
        plan.size[inner] = std::exchange(plan.size[outer], 1);
    }
}

Fault vector_prepare(const Env& env, Job& job) {
    const sidra_cmd_vector& v = job.cmd.vector;
    VectorPlan& plan = job.vector;
    if (v.hdr.flags || v.hdr.pad || v.reserved) return {SIDRA_FAULT_FIELD};
    if (v.instructions == 0 || v.instructions > SIDRA_VECTOR_INSTRUCTIONS_MAX ||
        v.operand_count > SIDRA_VECTOR_OPERANDS_MAX)
        return {SIDRA_FAULT_PROGRAM, vector::Verdict{SIDRA_PROGRAM_LENGTH}.address()};
    if (v.program % sizeof(sidra_vector_instruction)) return {SIDRA_FAULT_ALIGNMENT, v.program};
    if (v.operands % 8) return {SIDRA_FAULT_ALIGNMENT, v.operands};
    const Range code(Space::kDevice, v.program, v.instructions * sizeof(sidra_vector_instruction));
    const Range table(Space::kDevice, v.operands, v.operand_count * sizeof(sidra_operand));
    if (!code.valid()) return {SIDRA_FAULT_LIMIT, v.program};
    if (!table.valid()) return {SIDRA_FAULT_LIMIT, v.operands};
    Instructions instructions;
    Operands operands;
    Dma dma(env.bus, this_worker().tlb, env.space);
    if (Fault fault = dma.read(code, instructions.data())) return fault;
    if (!table.empty())
        if (Fault fault = dma.read(table, operands.data())) return fault;
    const std::span program(instructions.data(), v.instructions);
    const std::span arrays(operands.data(), v.operand_count);
    vector::Traits traits;
    if (const auto verdict = vector::verify(program, arrays, &traits)) return {SIDRA_FAULT_PROGRAM, verdict.address()};
    if (const auto verdict = vector::verify_space(arrays, v.size, traits))
        return {SIDRA_FAULT_PROGRAM, verdict.address()};

    std::copy(std::begin(v.size), std::end(v.size), plan.size);
    plan.operand_count = v.operand_count;
    for (uint32_t n = 0; n < v.operand_count; n++) {
        const sidra_operand& o = operands[n];
        const uint32_t bit = 1u << n;
        VectorPlan::Operand& to = plan.operands[n];
        to = {o.addr,
              {},
              o.index,
              o.extent,
              element_size(o.type),
              element_size(o.index_type),
              static_cast<uint8_t>(n),
              o.index != 0,
              (traits.loaded & bit) != 0,
              (traits.stored & bit) != 0,
              (traits.gathered & bit) != 0,
              (traits.scalar & bit) != 0};
        std::copy(std::begin(o.stride), std::end(o.stride), to.stride);
        // If one of several operands at an address is written, all of them are one array (verified), and share its
        // rows.
        for (uint32_t m = 0; m < v.operand_count; m++)
            if (operands[m].addr == o.addr && traits.stored >> m & 1) to.same = 0;
        if (to.same != n)
            while (operands[to.same].addr != o.addr) to.same++;
        VectorPlan::Operand& first = plan.operands[to.same];
        first.loaded |= to.loaded;
        first.stored |= to.stored;
    }
    plan.in_order = traits.in_order;
    job.serial_units = traits.in_order;
    join_dimensions(plan, !traits.whole_rows && !traits.by_column);
    uint64_t bytes = 1;                // of a column in all operands, for copies
    uint64_t pieces = 0, strided = 0;  // operands whose rows are one range each, and those whose elements are
    for (uint32_t n = 0; n < v.operand_count; n++) {
        const VectorPlan::Operand& o = plan.operands[n];
        operands[n].stride[3] = o.stride[3];
        const bool single = o.scalar || o.stride[3] == 0;
        if (!o.gathered && !single) bytes += o.bytes;
        if (o.gathered || (!single && o.stride[3] != o.bytes)) strided++;
        else pieces++;
        pieces += o.indexed;
    }
    env.engine.decode_vector(program.data(), program.size(), arrays.data(), arrays.size(), &job.program);
    job.program.in_order = traits.in_order;

    const uint64_t cols = plan.size[3], cost = std::max(traits.cost, 1u);
    const uint64_t rows = uint64_t{plan.size[0]} * plan.size[1] * plan.size[2];
    uint64_t block = cols;
    if (!traits.whole_rows) {
        block = std::min(kUnitCost / cost, kUnitBytes / 2 / bytes);
        if (strided) block = std::min(block, kUnitMax.pieces / 4 / strided);
        block = std::min(std::max(block / kBlockCols * kBlockCols, kBlockCols), cols);
    }
    uint64_t group = std::min({kUnitRowsMax, kUnitCost / (block * cost), kUnitBytes / (block * bytes)});
    group = std::min(group, kUnitMax.pieces / 2 / (pieces + strided * block + 1));
    group = std::clamp<uint64_t>(group, 1, rows);
    plan.unit_rows = static_cast<uint32_t>(group);
    plan.unit_cols = static_cast<uint32_t>(block);
    plan.across = static_cast<uint32_t>((cols + block - 1) / block);
    const uint64_t units = (rows + group - 1) / group * plan.across;
    if (units > UINT32_MAX) return {SIDRA_FAULT_PROGRAM, vector::Verdict{SIDRA_PROGRAM_SIZE}.address()};
    job.units = static_cast<uint32_t>(units);
    const uint64_t unit_cost = group * block * cost;
    constexpr uint64_t kRowBytes = 64;  // of an operand: addresses, an element, and what alignment costs
    job.unit_load = {
        unit_cost / kCostsPerOperation + 1, group * (pieces + strided * block) + 1,
        group * (block * bytes + v.operand_count * kRowBytes) + engine::kVectorScratch + v.operand_count * 1024};
    job.unit_work = unit_cost / kCostsPerNs + group * pieces * 5 + 1;
    const uint64_t elements = rows * cols;
    job.cost = vec_cost(elements * cost, env.clock_level);
    job.work.vec_elements = elements;
    return {};
}

// The rows of an operand in a unit: where the host has them, or copies of them.
struct UnitOperand {
    uint64_t* at;       // device address of each row's first byte
    uint8_t** host;     // the same in the host's memory, or a copy; null: gathered, and not contiguous
    uint64_t stride;    // between columns, in `host`
    uint64_t span;      // bytes from the first to behind the last element of a row
    uint64_t elements;  // of a row
    bool copied;        // `host` has copies without gaps
};

class Unit {
   public:
    Unit(const Env& env, const Job& job, Worker& worker, uint32_t first_row, uint32_t rows, uint32_t first_col,
         uint32_t cols)
        : env_(env),
          job_(job),
          plan_(job.vector),
          worker_(worker),
          dma_(env.bus, worker.tlb, env.space),
          first_row_(first_row),
          first_col_(first_col),
          rows_(rows),
          cols_(cols) {}

    Fault run() {
        engine::VectorRows call{};
        for (uint32_t n = 0; n < plan_.operand_count; n++) {
            const VectorPlan::Operand& o = plan_.operands[n];
            if (o.same == n) {
                if (Fault fault = find(n)) return fault;
            } else {
                operands_[n] = operands_[o.same];
            }
            call.operand[n] = operands_[n].host;
            call.stride[n] = operands_[n].stride;
        }
        call.program = &job_.program;
        call.param = job_.cmd.vector.param;
        call.rows = rows_;
        call.cols = cols_;
        call.first_row = first_row_;
        call.first_col = first_col_;
        call.row_cols = plan_.size[3];
        call.reach = {this, read_element, write_element};
        int64_t bad = 0;
        switch (env_.engine.run_vector(call, worker_.scratch.take(engine::kVectorScratch), &bad)) {
            case engine::VectorEnd::kIndex:
                return {SIDRA_FAULT_VALUE, static_cast<uint64_t>(bad)};
            case engine::VectorEnd::kReach:
                return reach_fault_;
            default:
                break;
        }
        for (uint32_t n = 0; n < plan_.operand_count; n++)
            if (plan_.operands[n].same == n && plan_.operands[n].stored && operands_[n].copied)
                if (Fault fault = write_back(n)) return fault;
        return {};
    }

   private:
    // Computes the addresses of an operand's rows.
    Fault find_rows(const VectorPlan::Operand& o, UnitOperand& to) {
        to.at = worker_.scratch.take_array<uint64_t>(rows_);
        uint32_t i2 = first_row_ % plan_.size[2];
        const uint32_t outer = first_row_ / plan_.size[2];
        uint32_t i1 = outer % plan_.size[1];
        uint64_t base = o.addr + outer / plan_.size[1] * o.stride[0] + i1 * o.stride[1];
        if (!o.gathered && !o.scalar) base += first_col_ * o.stride[3];
        uint64_t* indices = nullptr;
        if (o.indexed) {
            indices = worker_.scratch.take_array<uint64_t>(rows_);
            if (Fault fault = read_indices(o, indices)) return fault;
        }
        for (uint32_t r = 0; r < rows_; r++) {
            to.at[r] = base + (indices ? indices[r] : i2) * o.stride[2];
            if (++i2 < plan_.size[2]) continue;
            i2 = 0;
            base += o.stride[1];
            if (++i1 < plan_.size[1]) continue;
            i1 = 0;
            base += o.stride[0] - plan_.size[1] * o.stride[1];
        }
        return {};
    }

    // Indices are copied before the check, so that they cannot change afterwards.
    Fault read_indices(const VectorPlan::Operand& o, uint64_t* indices) {
        const uint64_t bytes = o.index_bytes;
        auto* const raw = reinterpret_cast<uint8_t*>(indices);
        if (Fault fault = dma_.read({Space::kDevice, o.index + first_row_ * bytes, rows_ * bytes}, raw)) return fault;
        for (uint32_t r = rows_; r-- > 0;) {  // backwards, because s32 become longer
            int64_t index;
            if (bytes == 8) {
                std::memcpy(&index, raw + r * 8, 8);
            } else {
                int32_t small;
                std::memcpy(&small, raw + r * 4, 4);
                index = small;
            }
            if (index < 0 || index >= o.extent) bad_row_ = r, bad_ = index;
            indices[r] = static_cast<uint64_t>(index);
        }
        return bad_row_ < rows_ ? Fault{SIDRA_FAULT_VALUE, static_cast<uint64_t>(bad_)} : Fault{};
    }

    Fault find(uint32_t n) {
        const VectorPlan::Operand& o = plan_.operands[n];
        UnitOperand& to = operands_[n];
        if (Fault fault = find_rows(o, to)) return fault;
        to.elements = o.gathered ? o.extent : o.scalar || o.stride[3] == 0 ? 1 : cols_;
        to.span = (to.elements - 1) * o.stride[3] + o.bytes;
        to.stride = o.stride[3];
        to.host = worker_.scratch.take_array<uint8_t*>(rows_);
        to.copied = false;
        const auto [low, high] = std::minmax_element(to.at, to.at + rows_);
        const uint64_t extent = *high - *low + to.span;
        // All rows at once, unless most of what lies between them is something else.
        if (extent <= 4 * rows_ * to.span + (64u << 10)) {
            Fault fault;
            uint8_t* const all = dma_.map_all({Space::kDevice, *low, extent}, o.stored, &fault);
            // Gaps of a page or more need not be accessible.
            if (fault && (rows_ == 1 || fault.cause == SIDRA_FAULT_BUS)) return fault;
            if (all) {
                const uint64_t first = *low;
                for (uint32_t r = 0; r < rows_; r++) to.host[r] = all + (to.at[r] - first);
                return {};
            }
        }
        if (o.gathered) return find_gathered(o, to);
        return copy_rows(o, to);
    }

    Fault find_gathered(const VectorPlan::Operand& o, UnitOperand& to) {
        for (uint32_t r = 0; r < rows_; r++) {
            if (r > 0 && to.at[r] == to.at[r - 1]) {
                to.host[r] = to.host[r - 1];
                continue;
            }
            Fault fault;
            to.host[r] = dma_.map_all({Space::kDevice, to.at[r], to.span}, o.stored, &fault);
            if (fault) return fault;
        }
        return {};
    }

    Fault copy_rows(const VectorPlan::Operand& o, UnitOperand& to) {
        const bool adjacent = to.elements == 1 || o.stride[3] == o.bytes;
        to.copied = true;
        to.stride = to.elements == 1 ? 0 : o.bytes;
        uint8_t* copy = worker_.scratch.take(rows_ * (to.elements * o.bytes + 8));
        for (uint32_t r = 0; r < rows_; r++) {
            if (r > 0 && to.at[r] == to.at[r - 1]) {
                to.host[r] = to.host[r - 1];
                continue;
            }
            to.host[r] = copy;
            copy += (to.elements * o.bytes + 7) / 8 * 8;
            // What is written is checked now, so that a refused packet stores as little as possible.
            if (!o.loaded) continue;
            for (uint64_t i = 0; i < (adjacent ? 1 : to.elements); i++) {
                const uint64_t bytes = adjacent ? to.span : o.bytes;
                if (Fault fault =
                        dma_.read({Space::kDevice, to.at[r] + i * o.stride[3], bytes}, to.host[r] + i * o.bytes))
                    return fault;
            }
        }
        return {};
    }

    Fault write_back(uint32_t n) {
        const VectorPlan::Operand& o = plan_.operands[n];
        const UnitOperand& from = operands_[n];
        const bool adjacent = from.elements == 1 || o.stride[3] == o.bytes;
        for (uint32_t r = 0; r < rows_; r++) {
            if (r + 1 < rows_ && from.host[r] == from.host[r + 1]) continue;
            for (uint64_t i = 0; i < (adjacent ? 1 : from.elements); i++) {
                const uint64_t bytes = adjacent ? from.span : o.bytes;
                if (Fault fault =
                        dma_.write({Space::kDevice, from.at[r] + i * o.stride[3], bytes}, from.host[r] + i * o.bytes))
                    return fault;
            }
        }
        return {};
    }

    Range element(uint32_t operand, uint32_t row, uint32_t index) const {
        const VectorPlan::Operand& o = plan_.operands[operand];
        return {Space::kDevice, operands_[operand].at[row] + index * o.stride[3], o.bytes};
    }
    static bool read_element(void* self, uint32_t operand, uint32_t row, uint32_t index, void* to) {
        auto& unit = *static_cast<Unit*>(self);
        unit.reach_fault_ = unit.dma_.read(unit.element(operand, row, index), to);
        return !unit.reach_fault_;
    }
    static bool write_element(void* self, uint32_t operand, uint32_t row, uint32_t index, const void* from) {
        auto& unit = *static_cast<Unit*>(self);
        unit.reach_fault_ = unit.dma_.write(unit.element(operand, row, index), from);
        return !unit.reach_fault_;
    }

    const Env& env_;
    const Job& job_;
    const VectorPlan& plan_;
    Worker& worker_;
    Dma dma_;
    uint32_t first_row_, first_col_, rows_, cols_;
    uint32_t bad_row_ = UINT32_MAX;
    int64_t bad_ = 0;
    Fault reach_fault_;
    std::array<UnitOperand, SIDRA_VECTOR_OPERANDS_MAX> operands_;
};

Fault vector_unit(const Env& env, const Job& job, Worker& worker, uint32_t index) {
    const VectorPlan& plan = job.vector;
    const uint64_t all_rows = uint64_t{plan.size[0]} * plan.size[1] * plan.size[2];
    const uint32_t first_row = index / plan.across * plan.unit_rows;
    const uint32_t first_col = index % plan.across * plan.unit_cols;
    const auto rows = static_cast<uint32_t>(std::min<uint64_t>(plan.unit_rows, all_rows - first_row));
    const uint32_t cols = std::min(plan.unit_cols, plan.size[3] - first_col);
    if (!plan.in_order) return Unit(env, job, worker, first_row, rows, first_col, cols).run();
    // Each row sees what earlier ones have stored, also where a row is a copy of what is in memory.
    for (uint32_t r = 0; r < rows; r++) {
        worker.scratch.begin();
        if (Fault fault = Unit(env, job, worker, first_row + r, 1, first_col, cols).run()) return fault;
    }
    return {};
}

}  // namespace

const Operation kVectorOperation = {SIDRA_HW_ENGINE_VEC, vector_prepare, nullptr, vector_unit};

}  // namespace sidra::chip
