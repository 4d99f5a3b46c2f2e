// SPDX-License-Identifier: MIT
#include "vector_unit.h"

#include <algorithm>
#include <bit>
#include <cassert>
#include <cstring>

namespace sidra::chip {

using vector::element_size;

Fault read_program(const Env& env, uint64_t program, uint32_t instructions, uint64_t table, uint32_t operand_count,
                   Instructions* code, Operands* operands) {
    if (instructions == 0 || instructions > SIDRA_VECTOR_INSTRUCTIONS_MAX || operand_count > SIDRA_VECTOR_OPERANDS_MAX)
        return program_fault({SIDRA_PROGRAM_LENGTH});
    if (program % sizeof(sidra_vector_instruction)) return {SIDRA_FAULT_ALIGNMENT, program};
    if (table % 8) return {SIDRA_FAULT_ALIGNMENT, table};
    const Range code_range(Space::kDevice, program, instructions * sizeof(sidra_vector_instruction));
    const Range table_range(Space::kDevice, table, operand_count * sizeof(sidra_operand));
    if (!code_range.valid()) return {SIDRA_FAULT_LIMIT, program};
    if (!table_range.valid()) return {SIDRA_FAULT_LIMIT, table};
    if (Fault fault = env.programs->read(code_range, code->data())) return fault;
    return table_range.empty() ? Fault{} : env.tables->read(table_range, operands->data());
}

void plan_vector(std::span<const sidra_operand> operands, const uint32_t (&size)[SIDRA_OPERAND_DIMS],
                 const vector::Traits& traits, VectorPlan* plan) {
    std::copy(std::begin(size), std::end(size), plan->size);
    plan->operand_count = static_cast<uint32_t>(operands.size());
    plan->used = traits.used();
    plan->in_order = traits.in_order;
    for (uint32_t n = 0; n < operands.size(); n++) {
        const sidra_operand& o = operands[n];
        const uint32_t bit = 1u << n;
        VectorPlan::Operand& to = plan->operands[n];
        to = {{},
              {},
              0,
              o.extent,
              element_size(o.type),
              element_size(o.index_type),
              static_cast<uint8_t>(n),
              traits.reaches[n],
              o.index != 0,
              (traits.loaded & bit) != 0,
              (traits.stored & bit) != 0,
              (traits.gathered & bit) != 0,
              (traits.scalar & bit) != 0,
              false};
        if (!plan->uses(n)) continue;
        const uint64_t elements[] = {size[0], size[1], to.indexed ? o.extent : size[2],
                                     to.gathered ? o.extent
                                     : to.scalar ? 1
                                                 : size[3]};
        to.grid = Grid(o.addr, o.stride, elements, to.bytes);
        if (to.indexed)
            to.indices = Range(Space::kDevice, o.index, uint64_t{size[0]} * size[1] * size[2] * to.index_bytes);
        assert(to.grid.valid() && to.indices.empty() != to.indexed);  // verified
        // If one of several operands at an address is written, all of them are one array (verified), and share its
        // rows.
        bool shared = false;
        uint32_t first = n;
        for (uint32_t m = 0; m < operands.size(); m++) {
            if (!plan->uses(m) || operands[m].addr != o.addr) continue;
            first = std::min(first, m);
            shared |= (traits.stored >> m & 1) != 0;
        }
        if (!shared || first == n) continue;
        to.same = static_cast<uint8_t>(first);
        plan->operands[first].loaded |= to.loaded;
        plan->operands[first].stored |= to.stored;
    }
    find_steps(plan);
}

void find_steps(VectorPlan* plan) {
    const uint32_t(&size)[SIDRA_OPERAND_DIMS] = plan->size;
    for (uint32_t n = 0; n < plan->operand_count; n++) {
        if (!plan->uses(n)) continue;
        VectorPlan::Operand& o = plan->operands[n];
        o.step = 0;
        o.even = !o.indexed;
        uint64_t rows = 1;  // in the dimensions inside this one, at equal distances
        for (unsigned d = 3; o.even && d-- > 0;) {
            if (size[d] == 1) continue;
            if (rows == 1) o.step = o.grid.stride(d);
            else o.even = o.grid.stride(d) == o.step * rows;
            rows *= size[d];
        }
    }
}

void take_strides(const VectorPlan& plan, std::span<sidra_operand> operands) {
    for (uint32_t n = 0; n < plan.operand_count; n++)
        if (plan.uses(n)) operands[n].stride[3] = plan.operands[n].grid.stride(3);
}

void decode(const Env& env, std::span<const sidra_vector_instruction> program, std::span<const sidra_operand> operands,
            const vector::Packet& packet, const vector::Traits& traits, engine::VectorProgram* decoded) {
    static_assert(engine::kVectorSlots == vector::kSlots);
    Instructions code;
    std::copy(program.begin(), program.end(), code.begin());
    for (sidra_vector_instruction& i : std::span(code).first(program.size()))
        i.operand = static_cast<uint8_t>(vector::slot(i.operand));
    std::array<sidra_operand, vector::kSlots> slots{};
    std::copy(operands.begin(), operands.end(), slots.begin());
    for (uint32_t n = vector::kSums; n < vector::kSlots; n++) slots[n] = packet.operand(n);
    env.kernels.decode_vector(code.data(), program.size(), slots.data(), slots.size(), decoded);
    decoded->in_order = traits.in_order;
}

VectorLoad vector_load(const VectorPlan& plan) {
    VectorLoad load;
    for (uint32_t n = 0; n < plan.operand_count; n++) {
        if (!plan.uses(n)) continue;
        const VectorPlan::Operand& o = plan.operands[n];
        const uint64_t stride = o.grid.stride(3);
        if (!o.gathered && stride != 0) load.bytes += o.bytes;
        // What is not contiguous on the host is copied once, unless its elements are named by indices.
        if (o.gathered) load.strided += o.reaches;
        else if (stride != 0 && stride != o.bytes) load.strided++;
        else load.pieces++;
        load.pieces += o.indexed;
    }
    return load;
}

uint64_t unit_rows(const VectorLoad& load, uint64_t cols, uint64_t cost, uint64_t rows) {
    const uint64_t pieces = load.pieces + load.strided * cols + 1;
    // Most packets of a few elements are one unit, which takes no divisions to see. No overflow: at most 2^38 elements.
    const bool one = rows <= kVectorUnitRows && rows * cols * cost <= kVectorUnitCost &&
                     rows * cols * load.bytes <= kVectorUnitBytes && rows * pieces <= kUnitMax.pieces / 2;
    if (one) return rows;
    uint64_t group =
        std::min({kVectorUnitRows, kVectorUnitCost / (cols * cost), kVectorUnitBytes / (cols * load.bytes)});
    group = std::min(group, kUnitMax.pieces / 2 / pieces);
    return std::clamp<uint64_t>(group, 1, rows);
}

UnitLoad unit_load(const VectorLoad& load, const VectorPlan& plan, uint64_t rows, uint64_t cols, uint64_t cost) {
    constexpr uint64_t kRowBytes = 64;  // of an operand: addresses, an element, and what alignment costs
    return {(rows * cols * cost + kVectorCostsPerOperation - 1) / kVectorCostsPerOperation,
            rows * (load.pieces + load.strided * cols) + 1,
            rows * (cols * load.bytes + (plan.operand_count + 1) * kRowBytes) + engine::kVectorScratch +
                (plan.operand_count + 1) * 1024};
}

Fault VectorUnit::run(VectorArea area) {
    if (!plan_.in_order) return run_rows(area, 0);
    // Each row sees what earlier ones have stored, also where a row is a copy of what is in memory.
    const uint64_t used = worker_.scratch.used();
    for (uint32_t r = 0; r < area.rows; r++) {
        worker_.scratch.rewind(used);
        if (Fault fault = run_rows({area.first_row + r, 1, area.first_col, area.cols}, r)) return fault;
    }
    return {};
}

Fault VectorUnit::run_rows(VectorArea area, uint32_t offset) {
    area_ = area;
    copied_ = 0;
    engine::VectorRows call;
    std::ranges::fill(call.operand, nullptr);  // those that the program does not use stay null
    for (uint32_t left = plan_.used % (1u << SIDRA_VECTOR_OPERANDS_MAX); left; left &= left - 1) {
        const auto n = static_cast<uint32_t>(std::countr_zero(left));
        const VectorPlan::Operand& o = plan_.operands[n];
        if (o.same == n) {
            if (Fault fault = find(n)) return fault;
        } else {
            operands_[n] = operands_[o.same];
        }
        call.operand[n] = operands_[n].host;
        call.stride[n] = operands_[n].stride;
    }
    for (uint32_t n = vector::kSums; plan_.used >> n; n++) {
        if (!(plan_.used >> n & 1)) continue;
        const GivenRows& given = given_[n - vector::kSums];
        call.stride[n] = given.col_stride;
        if (given.rows) {
            call.operand[n] = given.rows + offset;
            continue;
        }
        uint8_t** const rows = worker_.scratch.take_array<uint8_t*>(area.rows);
        for (uint32_t r = 0; r < area.rows; r++) rows[r] = given.first + (offset + r) * given.row_stride;
        call.operand[n] = rows;
    }
    call.program = &program_;
    call.param = param_;
    call.rows = area.rows;
    call.cols = area.cols;
    call.first_row = area.first_row;
    call.first_col = area.first_col;
    call.row_cols = plan_.size[3];
    call.reach = {this, read_element, write_element};
    call.scalars_before = before_ ? before_ + offset : nullptr;
    call.scalars_after = after_ ? after_ + offset : nullptr;
    call.scalars_pitch = pitch_;
    int64_t bad = 0;
    switch (env_.kernels.run_vector(call, worker_.scratch.take(engine::kVectorScratch), &bad)) {
        case engine::VectorEnd::kIndex:
            return {SIDRA_FAULT_VALUE, static_cast<uint64_t>(bad)};
        case engine::VectorEnd::kReach:
            return reach_fault_;
        default:
            break;
    }
    for (uint32_t left = copied_; left; left &= left - 1) {
        const auto n = static_cast<uint32_t>(std::countr_zero(left));
        if (plan_.operands[n].stored)
            if (Fault fault = write_back(n)) return fault;
    }
    return {};
}

// Computes the offsets of an operand's rows.
Fault VectorUnit::find_rows(const VectorPlan::Operand& o, UnitOperand& to) {
    to.rows = worker_.scratch.take_array<uint64_t>(area_.rows);
    uint32_t i2 = area_.first_row % plan_.size[2];
    const uint32_t outer = area_.first_row / plan_.size[2];
    uint32_t i1 = outer % plan_.size[1];
    const Grid& grid = o.grid;
    uint64_t block = grid.offset(outer / plan_.size[1], 0, 0, o.gathered || o.scalar ? 0 : area_.first_col);
    uint64_t base = block + i1 * grid.stride(1);
    uint64_t* indices = nullptr;
    if (o.indexed) {
        indices = worker_.scratch.take_array<uint64_t>(area_.rows);
        if (Fault fault = read_indices(o, indices)) return fault;
    }
    for (uint32_t r = 0; r < area_.rows; r++) {
        to.rows[r] = base + (indices ? indices[r] : i2) * grid.stride(2);
        if (++i2 < plan_.size[2]) continue;
        i2 = 0;
        base += grid.stride(1);
        if (++i1 < plan_.size[1]) continue;
        i1 = 0;
        base = block += grid.stride(0);
    }
    return {};
}

// Indices are copied before the check, so that they cannot change afterwards.
Fault VectorUnit::read_indices(const VectorPlan::Operand& o, uint64_t* indices) {
    const uint64_t bytes = o.index_bytes;
    auto* const raw = reinterpret_cast<uint8_t*>(indices);
    if (Fault fault = dma_.read(o.indices.part(area_.first_row * bytes, area_.rows * bytes), raw)) return fault;
    for (uint32_t r = area_.rows; r-- > 0;) {  // backwards, because s32 become longer
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
    return bad_row_ < area_.rows ? Fault{SIDRA_FAULT_VALUE, static_cast<uint64_t>(bad_)} : Fault{};
}

Fault VectorUnit::find(uint32_t n) {
    const VectorPlan::Operand& o = plan_.operands[n];
    UnitOperand& to = operands_[n];
    const uint64_t column = o.grid.stride(3);
    // Rows at equal distances, as most are, take the least time.
    to.step = o.step;
    to.first = area_.first_row * o.step;
    if (!o.gathered && !o.scalar) to.first += area_.first_col * column;
    to.rows = nullptr;
    if (!o.even)
        if (Fault fault = find_rows(o, to)) return fault;
    to.elements = o.gathered ? o.extent : column == 0 ? 1 : area_.cols;
    to.span = (to.elements - 1) * column + o.bytes;
    to.stride = column;
    to.host = worker_.scratch.take_array<uint8_t*>(area_.rows);
    const bool one = area_.rows == 1;  // as in most packets of a few elements
    uint64_t low = to.at(0), high = low + (area_.rows - 1) * to.step;
    if (!o.even && !one) {
        const auto [least, most] = std::minmax_element(to.rows, to.rows + area_.rows);
        low = *least, high = *most;
    }
    const uint64_t extent = high - low + to.span;
    if (one || worth_mapping(extent, area_.rows, area_.rows * to.span)) {
        Fault fault;
        const Range range = o.grid.part(low, extent);
        uint8_t* all = worker_.pages ? worker_.pages->at(n, range, o.access(), &fault) : nullptr;
        if (!all && !fault) all = dma_.map_all(range, o.access(), &fault);
        // Gaps of a page or more need not be accessible.
        if (fault && (one || fault.cause == SIDRA_FAULT_BUS)) return fault;
        if (all) {
            to.host[0] = all + (to.at(0) - low);
            for (uint32_t r = 1; r < area_.rows; r++) to.host[r] = all + (to.at(r) - low);
            return {};
        }
    }
    if (o.gathered) return find_gathered(o, to);
    copied_ |= 1u << n;
    return copy_rows(o, to);
}

Fault VectorUnit::find_gathered(const VectorPlan::Operand& o, UnitOperand& to) {
    for (uint32_t r = 0; r < area_.rows; r++) {
        if (r > 0 && to.at(r) == to.at(r - 1)) {
            to.host[r] = to.host[r - 1];
            continue;
        }
        Fault fault;
        to.host[r] = dma_.map_all(o.grid.part(to.at(r), to.span), o.access(), &fault);
        if (fault) return fault;
    }
    return {};
}

Fault VectorUnit::copy_rows(const VectorPlan::Operand& o, UnitOperand& to) {
    const bool adjacent = to.elements == 1 || o.grid.stride(3) == o.bytes;
    to.stride = to.elements == 1 ? 0 : o.bytes;
    uint8_t* copy = worker_.scratch.take(area_.rows * (to.elements * o.bytes + 8));
    for (uint32_t r = 0; r < area_.rows; r++) {
        if (r > 0 && to.at(r) == to.at(r - 1)) {
            to.host[r] = to.host[r - 1];
            continue;
        }
        to.host[r] = copy;
        copy += (to.elements * o.bytes + 7) / 8 * 8;
        // What is written is checked now, so that a refused packet stores as little as possible.
        if (!o.loaded) continue;
        for (uint64_t i = 0; i < (adjacent ? 1 : to.elements); i++) {
            const uint64_t bytes = adjacent ? to.span : o.bytes;
            const Range range = o.grid.part(to.at(r) + i * o.grid.stride(3), bytes);
            if (Fault fault = dma_.read(range, to.host[r] + i * o.bytes)) return fault;
        }
    }
    return {};
}

Fault VectorUnit::write_back(uint32_t n) {
    const VectorPlan::Operand& o = plan_.operands[n];
    const UnitOperand& from = operands_[n];
    const bool adjacent = from.elements == 1 || o.grid.stride(3) == o.bytes;
    for (uint32_t r = 0; r < area_.rows; r++) {
        if (r + 1 < area_.rows && from.host[r] == from.host[r + 1]) continue;
        for (uint64_t i = 0; i < (adjacent ? 1 : from.elements); i++) {
            const uint64_t bytes = adjacent ? from.span : o.bytes;
            const Range range = o.grid.part(from.at(r) + i * o.grid.stride(3), bytes);
            if (Fault fault = dma_.write(range, from.host[r] + i * o.bytes)) return fault;
        }
    }
    return {};
}

Range VectorUnit::element(uint32_t operand, uint32_t row, uint32_t index) const {
    const VectorPlan::Operand& o = plan_.operands[operand];
    return o.grid.part(operands_[operand].at(row) + index * o.grid.stride(3), o.bytes);
}

bool VectorUnit::read_element(void* self, uint32_t operand, uint32_t row, uint32_t index, void* to) {
    auto& unit = *static_cast<VectorUnit*>(self);
    unit.reach_fault_ = unit.dma_.read(unit.element(operand, row, index), to);
    return !unit.reach_fault_;
}

bool VectorUnit::write_element(void* self, uint32_t operand, uint32_t row, uint32_t index, const void* from) {
    auto& unit = *static_cast<VectorUnit*>(self);
    unit.reach_fault_ = unit.dma_.write(unit.element(operand, row, index), from);
    return !unit.reach_fault_;
}

}  // namespace sidra::chip
