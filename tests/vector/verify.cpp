// SPDX-License-Identifier: MIT
#include "verify.h"

#include <algorithm>
#include <utility>

#include "opcodes.h"
#include "sidra_hw.h"

namespace sidra::vector_reference {
namespace {

constexpr uint64_t kAddresses = uint64_t{1} << SIDRA_VA_BITS;

struct Dimension {
    uint64_t stride, count;
};

// How a program uses an operand.
struct Use {
    bool columns = false;   // LOAD, STORE of vectors
    bool scalar = false;    // LOAD, STORE of scalars
    bool selected = false;  // GATHER, SCATTER
    bool stored = false;
    bool scattered = false;
};

// A half-open range of addresses.
struct Span {
    uint64_t begin, end;
    bool meets(const Span& other) const { return begin < other.end && other.begin < end; }
};

// Whether copies of something of `width` bytes, repeated over these dimensions, are seen to be apart: each dimension,
// by stride, steps over all that the smaller ones reach.
bool apart(uint64_t width, std::vector<Dimension> dimensions) {
    std::erase_if(dimensions, [](const Dimension& d) { return d.count <= 1; });
    std::sort(dimensions.begin(), dimensions.end(),
              [](const Dimension& a, const Dimension& b) { return a.stride < b.stride; });
    for (const auto& [stride, count] : dimensions) {
        if (stride < width) return false;
        width += (count - 1) * stride;
    }
    return true;
}

class Verifier {
   public:
    Verifier(std::span<const sidra_vector_instruction> program, std::span<const sidra_operand> operands,
             const Size& size)
        : program_(program), operands_(operands), size_(size), uses_(operands.size()) {}

    // Throws the verdict if something is wrong.
    void run() {
        if (program_.empty() || program_.size() > SIDRA_VECTOR_INSTRUCTIONS_MAX) refuse(SIDRA_PROGRAM_LENGTH);
        if (operands_.size() > SIDRA_VECTOR_OPERANDS_MAX) refuse(SIDRA_PROGRAM_LENGTH);
        iteration_space();
        for (at_ = 0; at_ < program_.size(); ++at_) instruction(program_[at_]);
        at_ = SIDRA_PROGRAM_NONE;
        for (operand_ = 0; operand_ < operands_.size(); ++operand_) fields(operands_[operand_], uses_[operand_]);
        for (operand_ = 0; operand_ < operands_.size(); ++operand_)
            if (uses_[operand_].stored) overlaps();
        operand_ = SIDRA_PROGRAM_NONE;
        row_cost();
    }

   private:
    struct Register {
        bool written = false;
        char type = 'f';
        uint32_t pass = 0;
    };

    [[noreturn]] void refuse(sidra_program_error why) const { throw Verdict{why, at_, operand_}; }
    void require(bool condition, sidra_program_error why) const {
        if (!condition) refuse(why);
    }

    void iteration_space() const {
        uint64_t rows = 1;
        for (const uint32_t n : size_) require(n != 0, SIDRA_PROGRAM_SIZE);
        for (uint32_t d = 0; d < 3; ++d) {
            rows *= size_[d];
            require(rows <= SIDRA_VECTOR_SIZE_MAX, SIDRA_PROGRAM_SIZE);
        }
        require(size_[3] <= SIDRA_VECTOR_SIZE_MAX, SIDRA_PROGRAM_SIZE);
        require(rows * size_[3] <= SIDRA_VECTOR_ELEMENTS_MAX, SIDRA_PROGRAM_SIZE);
    }

    void instruction(const sidra_vector_instruction& in) {
        const Opcode* opcode = find_opcode(in.op);
        require(opcode != nullptr, SIDRA_PROGRAM_OP);
        unused_fields(in, *opcode);
        destination(in, *opcode);
        order(in);
        const char common = sources(in, *opcode);
        if (opcode->memory) memory(in, *opcode);
        if (opcode->destination == '-') return;
        Register& dst = is_vector_register(in.dst) ? vectors_[in.dst] : scalars_[in.dst - SIDRA_VECTOR_S(0)];
        dst = {true, opcode->destination == 'x' ? common : type_of(opcode->destination), pass_};
    }

    static char type_of(char letter) {
        return letter == 'i' || letter == 'I' || letter == 'N' || letter == 'u' ? 'i' : 'f';
    }

    void unused_fields(const sidra_vector_instruction& in, const Opcode& opcode) const {
        const uint8_t names[] = {in.a, in.b, in.c};
        bool immediate[2] = {};
        bool clean = (in.flags & ~SIDRA_VECTOR_PASS) == 0 && in.reserved == 0;
        if (opcode.destination == '-') clean &= in.dst == 0;
        if (!opcode.memory) clean &= in.operand == 0;
        for (size_t i = 0; i < 3; ++i) {
            if (i >= opcode.sources.size()) clean &= names[i] == 0;
            for (uint8_t n = 0; n < 2; ++n) immediate[n] |= names[i] == SIDRA_VECTOR_IMM(n);
        }
        for (size_t n = 0; n < 2; ++n) clean &= immediate[n] || in.imm[n] == 0;
        require(clean, SIDRA_PROGRAM_FIELD);
    }

    void destination(const sidra_vector_instruction& in, const Opcode& opcode) const {
        const bool vector = is_vector_register(in.dst), scalar = is_scalar_register(in.dst);
        switch (opcode.destination) {
            case '-':
                return;
            case 'F':
            case 'I':
                return require(vector, SIDRA_PROGRAM_DESTINATION);
            case 'R':
            case 'N':
                return require(scalar, SIDRA_PROGRAM_DESTINATION);
            default:
                return require(vector || scalar, SIDRA_PROGRAM_DESTINATION);
        }
    }

    void order(const sidra_vector_instruction& in) {
        const bool vector = is_vector_instruction(in);
        if ((in.flags & SIDRA_VECTOR_PASS) != 0) {
            ++pass_;
            scalar_part_ = false;
        }
        require(pass_ > 0, SIDRA_PROGRAM_ORDER);
        require(!vector || !scalar_part_, SIDRA_PROGRAM_ORDER);
        scalar_part_ |= !vector;
    }

    // Returns the type of the sources x.
    char sources(const sidra_vector_instruction& in, const Opcode& opcode) const {
        const uint8_t names[] = {in.a, in.b, in.c};
        char common = 0;
        for (size_t i = 0; i < opcode.sources.size(); ++i) {
            const char letter = opcode.sources[i];
            const char type = source(in, names[i], letter);  // 0: either
            if (type == 0) continue;
            if (letter == 'x') {
                require(common == 0 || common == type, SIDRA_PROGRAM_TYPE);
                common = type;
            } else {
                require(type == type_of(letter), SIDRA_PROGRAM_TYPE);
            }
        }
        return common == 0 ? 'f' : common;
    }

    char source(const sidra_vector_instruction& in, uint8_t name, char letter) const {
        const bool vector = is_vector_instruction(in);
        const bool by_column = is_vector_register(name) || name == SIDRA_VECTOR_COLUMN;
        require(!by_column || (vector && letter != 'u'), SIDRA_PROGRAM_SOURCE);
        require(is_vector_register(name) || (letter != 'F' && letter != 'I'), SIDRA_PROGRAM_SOURCE);
        if (is_vector_register(name)) {
            require(vectors_[name].written && vectors_[name].pass == pass_, SIDRA_PROGRAM_UNDEFINED);
            return vectors_[name].type;
        }
        if (is_scalar_register(name)) {
            const Register& r = scalars_[name - SIDRA_VECTOR_S(0)];
            require(r.written && (!vector || r.pass < pass_), SIDRA_PROGRAM_UNDEFINED);
            return r.type;
        }
        if (name == SIDRA_VECTOR_COLUMN || name == SIDRA_VECTOR_ROW) return 'i';
        const bool parameter = name >= SIDRA_VECTOR_PARAM(0) && name < SIDRA_VECTOR_PARAM(SIDRA_VECTOR_PARAMS);
        const bool immediate = name >= SIDRA_VECTOR_IMM(0) && name < SIDRA_VECTOR_IMM(2);
        require(parameter || immediate, SIDRA_PROGRAM_SOURCE);
        return 0;
    }

    void memory(const sidra_vector_instruction& in, const Opcode& opcode) {
        operand_ = in.operand;
        require(in.operand < operands_.size(), SIDRA_PROGRAM_OPERAND);
        const sidra_operand& o = operands_[in.operand];
        if (opcode.integer)
            require(o.type != SIDRA_TYPE_F32 && o.type != SIDRA_TYPE_F16 && o.type != SIDRA_TYPE_BF16,
                    SIDRA_PROGRAM_OPERAND_TYPE);
        Use& use = uses_[in.operand];
        if (is_gather(in.op) || is_scatter(in.op)) {
            use.selected = true;
            use.scattered |= is_scatter(in.op);
            one_scatter(in);
        } else {
            (is_vector_instruction(in) ? use.columns : use.scalar) = true;
        }
        require(use.columns + use.scalar + use.selected == 1, SIDRA_PROGRAM_OPERAND_WAYS);
        if (opcode.destination == '-') {
            use.stored = true;
            require((o.flags & SIDRA_OPERAND_WRITE) != 0, SIDRA_PROGRAM_OPERAND_WRITE);
        }
        operand_ = SIDRA_PROGRAM_NONE;
    }

    // A pass scatters to an array once, and then does not gather from it.
    void one_scatter(const sidra_vector_instruction& in) const {
        for (size_t i = at_; i-- > 0 && (program_[i + 1].flags & SIDRA_VECTOR_PASS) == 0;) {
            const sidra_vector_instruction& before = program_[i];
            const bool one_array = operands_[before.operand].addr == operands_[in.operand].addr;
            if (is_scatter(before.op) || (is_gather(before.op) && is_scatter(in.op)))
                require(!one_array, SIDRA_PROGRAM_ORDER);
        }
    }

    void fields(const sidra_operand& o, const Use& use) const {
        require(use.columns || use.scalar || use.selected, SIDRA_PROGRAM_OPERAND_UNUSED);
        const uint32_t size = type_size(o.type);
        require(size != 0 && (o.flags & ~SIDRA_OPERAND_WRITE) == 0 && o.pad == 0 && o.reserved == 0,
                SIDRA_PROGRAM_OPERAND_FIELD);
        require(use.stored || o.flags == 0, SIDRA_PROGRAM_OPERAND_WRITE);
        const bool indexed = o.index != 0;
        require(!(indexed && use.selected), SIDRA_PROGRAM_OPERAND_FIELD);
        require((indexed || use.selected) == (o.extent != 0), SIDRA_PROGRAM_OPERAND_FIELD);
        require(!use.scalar || o.stride[3] == 0, SIDRA_PROGRAM_OPERAND_FIELD);
        require(indexed ? o.index_type == SIDRA_TYPE_S32 || o.index_type == SIDRA_TYPE_S64 : o.index_type == 0,
                SIDRA_PROGRAM_OPERAND_FIELD);
        bool aligned = o.addr % size == 0;
        for (const uint64_t stride : o.stride) aligned &= stride % size == 0;
        if (indexed) aligned &= o.index % type_size(o.index_type) == 0;
        require(aligned, SIDRA_PROGRAM_OPERAND_ALIGNMENT);

        uint64_t reach = size;
        for (const auto& [stride, count] : dimensions(operand_)) {
            // Neither product nor sum wraps: count has at most 32 bits.
            require(count == 1 || stride <= kAddresses / (count - 1), SIDRA_PROGRAM_OPERAND_RANGE);
            reach += (count - 1) * stride;
        }
        require(o.addr <= kAddresses && reach <= kAddresses - o.addr, SIDRA_PROGRAM_OPERAND_RANGE);
        if (indexed)
            require(o.index <= kAddresses && index_bytes(o) <= kAddresses - o.index, SIDRA_PROGRAM_OPERAND_RANGE);
    }

    uint64_t index_bytes(const sidra_operand& o) const {
        return uint64_t{size_[0]} * size_[1] * size_[2] * type_size(o.index_type);
    }

    uint64_t columns(uint32_t operand) const {
        const Use& use = uses_[operand];
        return use.scalar ? 1 : use.selected ? operands_[operand].extent : size_[3];
    }

    std::array<Dimension, 4> dimensions(uint32_t operand) const {
        const sidra_operand& o = operands_[operand];
        const uint64_t third = o.index != 0 ? o.extent : size_[2];
        return {
            {{o.stride[0], size_[0]}, {o.stride[1], size_[1]}, {o.stride[2], third}, {o.stride[3], columns(operand)}}};
    }

    Span row(uint32_t operand) const {
        const sidra_operand& o = operands_[operand];
        return {o.addr, o.addr + (columns(operand) - 1) * o.stride[3] + type_size(o.type)};
    }

    Span whole(uint32_t operand) const {
        Span span = row(operand);
        const auto all = dimensions(operand);
        for (size_t d = 0; d < 3; ++d) span.end += (all[d].count - 1) * all[d].stride;
        return span;
    }

    // Of operand_, which is stored to.
    void overlaps() const {
        const sidra_operand& o = operands_[operand_];
        const Use& use = uses_[operand_];
        const auto all = dimensions(operand_);
        if (use.columns) require(o.stride[3] != 0 || size_[3] == 1, SIDRA_PROGRAM_OPERAND_OVERLAP);
        // Rows that are written at indices follow each other in order, so they may meet.
        if (o.index == 0 && !use.scattered)
            require(apart(type_size(o.type), {all.begin(), all.end()}), SIDRA_PROGRAM_OPERAND_OVERLAP);
        for (uint32_t other = 0; other < operands_.size(); ++other) {
            const sidra_operand& p = operands_[other];
            if (p.index != 0)
                require(!whole(operand_).meets({p.index, p.index + index_bytes(p)}), SIDRA_PROGRAM_OPERAND_OVERLAP);
            if (other != operand_) require(disjoint_or_same(other), SIDRA_PROGRAM_OPERAND_OVERLAP);
        }
    }

    bool disjoint_or_same(uint32_t other) const {
        const sidra_operand &o = operands_[operand_], &p = operands_[other];
        const bool same_rows = std::equal(o.stride, o.stride + 3, p.stride);
        if (o.addr == p.addr && same_rows && o.stride[3] == p.stride[3] && o.type == p.type && o.index == p.index &&
            o.index_type == p.index_type && o.extent == p.extent)
            return true;
        if (!whole(operand_).meets(whole(other))) return true;
        const Span a = row(operand_), b = row(other);
        if (!same_rows || a.meets(b)) return false;
        // Both rows, as one.
        const auto mine = dimensions(operand_), theirs = dimensions(other);
        std::vector<Dimension> repeats;
        for (size_t d = 0; d < 3; ++d) repeats.push_back({mine[d].stride, std::max(mine[d].count, theirs[d].count)});
        return apart(std::max(a.end, b.end) - std::min(a.begin, b.begin), repeats);
    }

    void row_cost() const {
        uint64_t cost = 0;
        bool divisible = true;
        for (const sidra_vector_instruction& in : program_) {
            const Opcode& opcode = *find_opcode(in.op);
            if (!is_vector_instruction(in) || is_reduction(in.op) || is_scatter(in.op)) divisible = false;
            if (in.op == SIDRA_VECTOR_OP_SCAN || in.op == SIDRA_VECTOR_OP_SCAN_INT) divisible = false;
            if (!is_vector_instruction(in)) continue;
            const uint64_t stride = opcode.memory ? operands_[in.operand].stride[3] : 0;
            const bool adjacent = stride == 0 || stride == type_size(operands_[in.operand].type);
            cost += adjacent ? opcode.cost : SIDRA_VECTOR_COST_ELEMENTS;
        }
        uint64_t bytes = 0;
        for (size_t o = 0; o < operands_.size(); ++o)
            if (uses_[o].columns && operands_[o].stride[3] != 0) bytes += type_size(operands_[o].type);
        require(divisible || bytes * size_[3] <= SIDRA_VECTOR_ROW_BYTES_MAX, SIDRA_PROGRAM_ROW_COST);
        require(divisible || cost * size_[3] <= SIDRA_VECTOR_ROW_COST_MAX, SIDRA_PROGRAM_ROW_COST);
    }

    std::span<const sidra_vector_instruction> program_;
    std::span<const sidra_operand> operands_;
    const Size& size_;
    std::vector<Use> uses_;
    std::array<Register, SIDRA_VECTOR_REGISTERS> vectors_{}, scalars_{};
    uint32_t pass_ = 0;
    bool scalar_part_ = false;
    uint32_t at_ = SIDRA_PROGRAM_NONE;
    uint32_t operand_ = SIDRA_PROGRAM_NONE;
};

}  // namespace

Verdict verify(std::span<const sidra_vector_instruction> program, std::span<const sidra_operand> operands,
               const Size& size) {
    try {
        Verifier(program, operands, size).run();
    } catch (const Verdict& verdict) {
        return verdict;
    }
    return {};
}

}  // namespace sidra::vector_reference
