// SPDX-License-Identifier: MIT
#include "verify.h"

#include <algorithm>
#include <array>

#include "sidra_hw.h"

namespace sidra::vector {
namespace {

using enum Type;

constexpr std::array<Rule, 256> make_rules() {
    std::array<Rule, 256> rules{};
    const auto set = [&](uint32_t first, uint32_t last, const Rule& rule) {
        for (uint32_t op = first; op <= last; ++op) rules[op] = rule;
    };
    const auto one = [&](uint32_t op, const Rule& rule) { rules[op] = rule; };
    constexpr uint32_t kSlow = SIDRA_VECTOR_COST_ELEMENTS;

    one(SIDRA_VECTOR_OP_LOAD, {Kind::kLoad, kFloat});
    one(SIDRA_VECTOR_OP_LOAD_INT, {Kind::kLoad, kInt});
    one(SIDRA_VECTOR_OP_STORE, {Kind::kStore, kNone, kFloat});
    one(SIDRA_VECTOR_OP_STORE_INT, {Kind::kStore, kNone, kInt});
    one(SIDRA_VECTOR_OP_GATHER, {Kind::kGather, kFloat, kInt, kNone, kNone, kSlow});
    one(SIDRA_VECTOR_OP_GATHER_INT, {Kind::kGather, kInt, kInt, kNone, kNone, kSlow});
    one(SIDRA_VECTOR_OP_SCATTER, {Kind::kScatter, kNone, kFloat, kInt, kNone, kSlow});
    one(SIDRA_VECTOR_OP_SCATTER_INT, {Kind::kScatter, kNone, kInt, kInt, kNone, kSlow});

    one(SIDRA_VECTOR_OP_MOVE, {Kind::kElement, kAny, kAny});
    one(SIDRA_VECTOR_OP_MOVE_INT, {Kind::kElement, kInt, kInt});
    one(SIDRA_VECTOR_OP_SELECT, {Kind::kElement, kAny, kInt, kAny, kAny});
    one(SIDRA_VECTOR_OP_BITS, {Kind::kElement, kInt, kFloat});
    one(SIDRA_VECTOR_OP_FROM_BITS, {Kind::kElement, kFloat, kInt});

    const Rule unary{Kind::kElement, kFloat, kFloat}, binary{Kind::kElement, kFloat, kFloat, kFloat};
    set(SIDRA_VECTOR_OP_ADD, SIDRA_VECTOR_OP_MUL, binary);
    one(SIDRA_VECTOR_OP_FMA, {Kind::kElement, kFloat, kFloat, kFloat, kFloat});
    one(SIDRA_VECTOR_OP_DIV, {Kind::kElement, kFloat, kFloat, kFloat, kNone, SIDRA_VECTOR_COST_DIV});
    set(SIDRA_VECTOR_OP_MAX, SIDRA_VECTOR_OP_MIN, binary);
    set(SIDRA_VECTOR_OP_NEG, SIDRA_VECTOR_OP_ABS, unary);
    one(SIDRA_VECTOR_OP_SQRT, {Kind::kElement, kFloat, kFloat, kNone, kNone, SIDRA_VECTOR_COST_DIV});
    one(SIDRA_VECTOR_OP_RSQRT, {Kind::kElement, kFloat, kFloat, kNone, kNone, SIDRA_VECTOR_COST_RSQRT});
    set(SIDRA_VECTOR_OP_FLOOR, SIDRA_VECTOR_OP_TRUNC, unary);
    set(SIDRA_VECTOR_OP_EXP, SIDRA_VECTOR_OP_COS,
        {Kind::kElement, kFloat, kFloat, kNone, kNone, SIDRA_VECTOR_COST_FUNCTION});
    set(SIDRA_VECTOR_OP_LT, SIDRA_VECTOR_OP_NE, {Kind::kElement, kInt, kFloat, kFloat});
    set(SIDRA_VECTOR_OP_LT_INT, SIDRA_VECTOR_OP_NE_INT, {Kind::kElement, kInt, kInt, kInt});
    set(SIDRA_VECTOR_OP_ADD_INT, SIDRA_VECTOR_OP_SHR_UNSIGNED, {Kind::kElement, kInt, kInt, kInt});
    set(SIDRA_VECTOR_OP_TO_INT, SIDRA_VECTOR_OP_TO_INT_TRUNC, {Kind::kElement, kInt, kFloat});
    one(SIDRA_VECTOR_OP_TO_FLOAT, {Kind::kElement, kFloat, kInt});
    one(SIDRA_VECTOR_OP_RANDOM, {Kind::kElement, kInt, kInt, kInt, kInt, SIDRA_VECTOR_COST_SERIAL});

    one(SIDRA_VECTOR_OP_SCAN, {Kind::kScan, kFloat, kFloat, kNone, kNone, SIDRA_VECTOR_COST_SERIAL});
    one(SIDRA_VECTOR_OP_SCAN_INT, {Kind::kScan, kInt, kInt, kNone, kNone, SIDRA_VECTOR_COST_SERIAL});
    one(SIDRA_VECTOR_OP_REDUCE_SUM, {Kind::kReduction, kFloat, kFloat});
    one(SIDRA_VECTOR_OP_REDUCE_DOT, {Kind::kReduction, kFloat, kFloat, kFloat});
    set(SIDRA_VECTOR_OP_REDUCE_MAX, SIDRA_VECTOR_OP_REDUCE_MIN, {Kind::kReduction, kFloat, kFloat});
    set(SIDRA_VECTOR_OP_REDUCE_ARGMAX, SIDRA_VECTOR_OP_REDUCE_ARGMIN, {Kind::kReduction, kInt, kFloat});
    set(SIDRA_VECTOR_OP_REDUCE_SUM_INT, SIDRA_VECTOR_OP_REDUCE_MIN_INT, {Kind::kReduction, kInt, kInt});
    return rules;
}
constexpr std::array<Rule, 256> kRules = make_rules();

constexpr bool is_integer(uint32_t type) {
    return type == SIDRA_TYPE_U8 || type == SIDRA_TYPE_S8 || type == SIDRA_TYPE_S16 || type == SIDRA_TYPE_S32 ||
           type == SIDRA_TYPE_S64 || type == SIDRA_TYPE_BOOL;
}

// Verifies instructions one by one and knows the registers so far.
class Program {
   public:
    Program(std::span<const sidra_operand> operands, const Packet& packet, Traits* traits)
        : operands_(operands), packet_(packet), traits_(traits) {}

    // The instructions that follow belong to another program of the same rows; it begins a pass.
    void next(Traits* traits) {
        traits_ = traits;
        first_ = true;
        prologue_ = false;
    }
    void begin_prologue() { prologue_ = true; }

    sidra_program_error add(const sidra_vector_instruction& i) {
        i_ = &i;
        rule_ = &kRules[i.op];
        if (rule_->kind == Kind::kNone) return SIDRA_PROGRAM_OP;
        if (i.flags & ~SIDRA_VECTOR_PASS || i.reserved) return SIDRA_PROGRAM_FIELD;
        if (i.flags & SIDRA_VECTOR_PASS) {
            vectors_ = {};
            ready_ = scalars_;
            scalar_part_ = false;
            pass_gathers_ = pass_scatters_ = 0;
        } else if (first_) {
            return SIDRA_PROGRAM_ORDER;
        }
        first_ = false;
        if (const auto error = destination()) return error;
        if (const auto error = sources()) return error;
        if (const auto error = operand()) return error;
        if (!vector_) {
            scalar_part_ = true;
            traits_->whole_rows = true;
        } else {
            traits_->cost += rule_->cost;
            if (rule_->kind == Kind::kReduction || rule_->kind == Kind::kScan || rule_->kind == Kind::kScatter)
                traits_->whole_rows = true;
            if (rule_->kind == Kind::kScatter) traits_->in_order = true;
            if (rule_->kind == Kind::kGather || rule_->kind == Kind::kScatter) traits_->by_column = true;
        }
        write();
        return SIDRA_PROGRAM_OK;
    }

   private:
    using Types = std::array<Type, 16>;  // kNone: not written

    bool stores() const { return rule_->kind == Kind::kStore || rule_->kind == Kind::kScatter; }
    bool reaches_memory() const { return stores() || rule_->kind == Kind::kLoad || rule_->kind == Kind::kGather; }

    // Decides whether this is a vector instruction.
    sidra_program_error destination() {
        const sidra_vector_instruction& i = *i_;
        if (stores()) {
            if (i.dst) return SIDRA_PROGRAM_FIELD;
            // A constant is stored as a scalar.
            vector_ = rule_->kind == Kind::kScatter || is_vector(i.a);
        } else if (rule_->kind == Kind::kReduction) {
            if (!is_scalar(i.dst)) return SIDRA_PROGRAM_DESTINATION;
            vector_ = true;
        } else {
            if (!is_vector(i.dst) && !is_scalar(i.dst)) return SIDRA_PROGRAM_DESTINATION;
            vector_ = is_vector(i.dst);
            const bool vector_only =
                rule_->kind == Kind::kGather || rule_->kind == Kind::kScan || i.op == SIDRA_VECTOR_OP_RANDOM;
            if (vector_only && !vector_) return SIDRA_PROGRAM_DESTINATION;
        }
        return vector_ && scalar_part_ ? SIDRA_PROGRAM_ORDER : SIDRA_PROGRAM_OK;
    }

    // The type of a source; kAny for parameters and immediates.
    sidra_program_error source(uint8_t s, Type* type) {
        const sidra_vector_instruction& i = *i_;
        *type = kAny;
        if (is_vector(s)) {
            if (!vector_ || i.op == SIDRA_VECTOR_OP_RANDOM) return SIDRA_PROGRAM_SOURCE;
            *type = vectors_[s];
        } else if (is_scalar(s)) {
            // A vector instruction reads what earlier passes wrote.
            *type = (vector_ ? ready_ : scalars_)[s - 0x10];
        } else if (s == SIDRA_VECTOR_COLUMN || s == SIDRA_VECTOR_ROW) {
            if (s == SIDRA_VECTOR_COLUMN && !vector_) return SIDRA_PROGRAM_SOURCE;
            if (i.op == SIDRA_VECTOR_OP_RANDOM && s == SIDRA_VECTOR_COLUMN) return SIDRA_PROGRAM_SOURCE;
            traits_->by_column = true;
            *type = kInt;
        } else if (is_imm(s)) {
            used_imm_ |= 1u << (s - SIDRA_VECTOR_IMM(0));
        } else if (!is_param(s)) {
            return SIDRA_PROGRAM_SOURCE;
        }
        return *type == kNone ? SIDRA_PROGRAM_UNDEFINED : SIDRA_PROGRAM_OK;
    }

    sidra_program_error sources() {
        const sidra_vector_instruction& i = *i_;
        used_imm_ = 0;
        common_ = kAny;
        const uint8_t given[] = {i.a, i.b, i.c};
        const Type wanted[] = {rule_->a, rule_->b, rule_->c};
        for (int n = 0; n < 3; ++n) {
            if (wanted[n] == kNone) {
                if (given[n]) return SIDRA_PROGRAM_FIELD;
                continue;
            }
            Type type;
            if (const auto error = source(given[n], &type)) return error;
            if (type == kAny) continue;
            if (wanted[n] != kAny) {
                if (type != wanted[n]) return SIDRA_PROGRAM_TYPE;
            } else {
                if (common_ != kAny && common_ != type) return SIDRA_PROGRAM_TYPE;
                common_ = type;
            }
        }
        // These process what vectors hold; of anything else the result is the same in every column.
        const bool row = rule_->kind == Kind::kReduction || rule_->kind == Kind::kScan;
        if (row && !is_vector(i.a)) return SIDRA_PROGRAM_SOURCE;
        for (int n = 0; n < 2; ++n)
            if (!(used_imm_ >> n & 1) && i.imm[n]) return SIDRA_PROGRAM_FIELD;
        return SIDRA_PROGRAM_OK;
    }

    sidra_program_error operand() {
        const sidra_vector_instruction& i = *i_;
        if (!reaches_memory()) return i.operand ? SIDRA_PROGRAM_FIELD : SIDRA_PROGRAM_OK;
        const uint32_t number = slot(i.operand);
        if (!exists(number)) return SIDRA_PROGRAM_OPERAND;
        const sidra_operand o = number < operands_.size() ? operands_[number] : packet_.operand(number);
        const auto bit = static_cast<uint16_t>(1u << number);
        const Type type = stores() ? rule_->a : rule_->dst;
        if (type == kInt && !is_integer(o.type)) return SIDRA_PROGRAM_OPERAND_TYPE;
        if (stores()) {
            if (!(o.flags & SIDRA_OPERAND_WRITE)) return SIDRA_PROGRAM_OPERAND_WRITE;
            traits_->stored |= bit;
            if (o.index) traits_->in_order = true;
        } else {
            traits_->loaded |= bit;
        }
        if (rule_->kind == Kind::kGather || rule_->kind == Kind::kScatter) {
            traits_->gathered |= bit;
            traits_->reaches[number]++;
            // Otherwise the result would depend on how many columns are computed at a time.
            const uint16_t clash = rule_->kind == Kind::kScatter ? pass_gathers_ | pass_scatters_ : pass_scatters_;
            for (size_t n = 0; n < operands_.size(); ++n)
                if (clash >> n & 1 && operands_[n].addr == o.addr) return SIDRA_PROGRAM_ORDER;
            (rule_->kind == Kind::kScatter ? pass_scatters_ : pass_gathers_) |= bit;
        } else if (!vector_) {
            traits_->scalar |= bit;
        } else {
            traits_->columns |= bit;
            if (o.stride[3] != 0 && o.stride[3] != element_size(o.type))
                traits_->cost += SIDRA_VECTOR_COST_ELEMENTS - 1;
        }
        // Each operand is accessed in one of the three ways.
        const uint16_t twice = (traits_->gathered & traits_->scalar) | (traits_->gathered & traits_->columns) |
                               (traits_->scalar & traits_->columns);
        return twice ? SIDRA_PROGRAM_OPERAND_WAYS : SIDRA_PROGRAM_OK;
    }

    // Whether the current instruction can use this operand. Those behind the table are loaded or stored as vectors.
    bool exists(uint32_t number) const {
        if (number < operands_.size()) return number >= packet_.first;
        const bool vector = rule_->kind == Kind::kLoad || rule_->kind == Kind::kStore;
        if (!vector || !vector_) return false;
        switch (number) {
            case kSums:
                return packet_.sums != Packet::kAbsent && !prologue_ && !stores();
            case kCodes:
                return packet_.codes != Packet::kAbsent && prologue_ && stores();
            case kInput:
                return packet_.input != Packet::kAbsent && prologue_ && !stores();
            default:
                return false;
        }
    }

    void write() {
        if (stores()) return;
        const Type type = rule_->dst != kAny ? rule_->dst : common_ == kAny ? kFloat : common_;
        if (is_vector(i_->dst)) {
            vectors_[i_->dst] = type;
        } else {
            scalars_[i_->dst - 0x10] = type;
            ready_[i_->dst - 0x10] = kNone;  // its old value is lost
        }
    }

    std::span<const sidra_operand> operands_;
    const Packet& packet_;
    Traits* traits_;
    const sidra_vector_instruction* i_ = nullptr;
    const Rule* rule_ = nullptr;
    Types vectors_{}, scalars_{};
    Types ready_{};  // scalars of earlier passes
    Type common_ = kAny;
    uint32_t used_imm_ = 0;
    uint16_t pass_gathers_ = 0, pass_scatters_ = 0;  // slots
    bool first_ = true, scalar_part_ = false, prologue_ = false;
    bool vector_ = false;  // the current instruction
};

sidra_program_error check_operand(const sidra_operand& o) {
    if (o.flags & ~SIDRA_OPERAND_WRITE || o.pad || o.reserved || o.type >= SIDRA_TYPE_COUNT)
        return SIDRA_PROGRAM_OPERAND_FIELD;
    const bool indices = o.index_type == SIDRA_TYPE_S32 || o.index_type == SIDRA_TYPE_S64;
    if (o.index ? !indices : o.index_type != 0) return SIDRA_PROGRAM_OPERAND_FIELD;
    const uint64_t size = element_size(o.type);
    const uint64_t places = o.addr | o.stride[0] | o.stride[1] | o.stride[2] | o.stride[3];
    static_assert(SIDRA_OPERAND_DIMS == 4);
    if (places & (size - 1) || (o.index && o.index % element_size(o.index_type)))  // sizes are powers of two
        return SIDRA_PROGRAM_OPERAND_ALIGNMENT;
    return SIDRA_PROGRAM_OK;
}

// Whether a program that uses the operand as `traits` says may do so. A prologue stores only codes.
sidra_program_error check_use(const sidra_operand& o, size_t n, const Traits& traits, bool prologue) {
    const auto bit = [n](uint16_t slots) { return (slots >> n & 1) != 0; };
    if (!bit(traits.used())) return SIDRA_PROGRAM_OPERAND_UNUSED;
    if (bit(traits.stored) != ((o.flags & SIDRA_OPERAND_WRITE) != 0) || (prologue && bit(traits.stored)))
        return SIDRA_PROGRAM_OPERAND_WRITE;
    const bool gathered = bit(traits.gathered);
    const bool extent = gathered || o.index;
    if ((o.index && gathered) || (extent ? o.extent == 0 || o.extent > SIDRA_VECTOR_SIZE_MAX : o.extent != 0))
        return SIDRA_PROGRAM_OPERAND_FIELD;
    return SIDRA_PROGRAM_OK;
}

Verdict check_operands(std::span<const sidra_operand> operands) {
    for (size_t n = 0; n < operands.size(); ++n)
        if (const auto error = check_operand(operands[n])) return {error, SIDRA_PROGRAM_NONE, static_cast<uint8_t>(n)};
    return {};
}

// Operands are of the prologue or of the program behind it.
Verdict check_uses(std::span<const sidra_operand> operands, const Packet& packet, const Traits& prologue,
                   const Traits& traits) {
    for (size_t n = packet.first; n < operands.size(); ++n) {
        const auto number = static_cast<uint8_t>(n);
        const bool early = (prologue.used() >> n & 1) != 0;
        if (early && (traits.used() >> n & 1) != 0) return {SIDRA_PROGRAM_OPERAND_WAYS, SIDRA_PROGRAM_NONE, number};
        if (const auto error = check_use(operands[n], n, early ? prologue : traits, early))
            return {error, SIDRA_PROGRAM_NONE, number};
    }
    return {};
}

// An operand as the program sees it: the number of elements in each dimension, and its bytes.
struct Array {
    uint64_t elements[SIDRA_OPERAND_DIMS];
    uint64_t end;  // one past the last byte

    bool set(const sidra_operand& o, const Sizes& size, bool column, bool gathered) {
        std::copy(std::begin(size), std::end(size), elements);
        if (column) elements[3] = 1;
        if (gathered) elements[3] = o.extent;
        if (o.index) elements[2] = o.extent;
        end = o.addr;
        for (uint32_t d = 0; d < SIDRA_OPERAND_DIMS; ++d) {
            uint64_t reach;
            if (__builtin_mul_overflow(elements[d] - 1, o.stride[d], &reach) ||
                __builtin_add_overflow(end, reach, &end))
                return false;
        }
        constexpr uint64_t kEnd = uint64_t{1} << SIDRA_VA_BITS;
        return o.addr < kEnd && end < kEnd && (end += element_size(o.type)) <= kEnd;
    }
};

bool same_array(const sidra_operand& a, const sidra_operand& b) {
    return a.addr == b.addr && std::equal(std::begin(a.stride), std::end(a.stride), b.stride) && a.type == b.type &&
           a.index == b.index && a.index_type == b.index_type && a.extent == b.extent;
}

// Bytes from the first to behind the last element of a row.
uint64_t row_bytes(const sidra_operand& o, const Array& array) {
    return (array.elements[3] - 1) * o.stride[3] + element_size(o.type);
}

bool disjoint(const sidra_operand& a, const Array& in_a, const sidra_operand& b, const Array& in_b) {
    if (in_a.end <= b.addr || in_b.end <= a.addr) return true;
    // Rows of both at the same distances: they do not meet if both rows fit between two neighbours of the innermost
    // dimension, and blocks of that dimension do not meet, and so on outwards.
    const sidra_operand& low = a.addr <= b.addr ? a : b;
    const sidra_operand& high = a.addr <= b.addr ? b : a;
    const Array& in_low = a.addr <= b.addr ? in_a : in_b;
    const Array& in_high = a.addr <= b.addr ? in_b : in_a;
    if (!std::equal(a.stride, a.stride + 3, b.stride)) return false;
    const uint64_t distance = high.addr - low.addr;
    if (distance < row_bytes(low, in_low)) return false;
    uint64_t reach = distance + row_bytes(high, in_high);
    for (uint32_t d = 3; d-- > 0;) {
        const uint64_t elements = std::max(in_a.elements[d], in_b.elements[d]);
        if (elements == 1) continue;
        if (a.stride[d] < reach) return false;
        reach += (elements - 1) * a.stride[d];
    }
    return true;
}

// Whether no two elements that a row or several rows may write at the same time share bytes: sorted by stride, each
// dimension lies inside a step of the next one. At indices, rows are written in order, and only those of one row count.
bool distinct(const sidra_operand& o, const Array& array) {
    std::array<uint32_t, SIDRA_OPERAND_DIMS> order{0, 1, 2, 3};
    std::sort(order.begin(), order.end(), [&](uint32_t x, uint32_t y) { return o.stride[x] < o.stride[y]; });
    uint64_t reach = element_size(o.type);
    for (const uint32_t d : order) {
        if (array.elements[d] == 1 || (o.index && d != 3)) continue;
        if (o.stride[d] < reach) return false;
        reach += (array.elements[d] - 1) * o.stride[d];
    }
    return true;
}

}  // namespace

const Rule& rule(uint8_t op) { return kRules[op]; }

sidra_operand Packet::operand(uint32_t slot) const {
    sidra_operand o{};
    o.addr = UINT64_MAX - slot;  // no operand of a table is there
    o.type = slot == kSums ? sums : slot == kCodes ? codes : input;
    o.flags = slot == kCodes ? SIDRA_OPERAND_WRITE : 0;
    o.stride[3] = o.type == kAbsent ? 0 : element_size(o.type);
    return o;
}

Verdict verify(std::span<const sidra_vector_instruction> program, std::span<const sidra_operand> operands,
               Traits* traits) {
    Traits none;
    return verify(program, operands, {}, &none, traits);
}

Verdict verify(std::span<const sidra_vector_instruction> program, std::span<const sidra_operand> operands,
               const Packet& packet, Traits* prologue, Traits* traits) {
    *prologue = {};
    *traits = {};
    if (program.empty() || program.size() > SIDRA_VECTOR_INSTRUCTIONS_MAX ||
        operands.size() > SIDRA_VECTOR_OPERANDS_MAX || operands.size() < packet.first ||
        packet.prologue >= program.size())
        return {SIDRA_PROGRAM_LENGTH};
    if (const auto verdict = check_operands(operands)) return verdict;
    Program state(operands, packet, packet.prologue ? prologue : traits);
    if (packet.prologue) state.begin_prologue();
    for (size_t i = 0; i < program.size(); ++i) {
        if (i == packet.prologue && i > 0) state.next(traits);
        const auto error = state.add(program[i]);
        if (!error) continue;
        const bool names_operand = error == SIDRA_PROGRAM_OPERAND || error == SIDRA_PROGRAM_OPERAND_TYPE ||
                                   error == SIDRA_PROGRAM_OPERAND_WRITE || error == SIDRA_PROGRAM_OPERAND_WAYS;
        return {error, static_cast<uint8_t>(i), names_operand ? program[i].operand : uint8_t{SIDRA_PROGRAM_NONE}};
    }
    if (packet.prologue && !(prologue->stored >> kCodes & 1))
        return {SIDRA_PROGRAM_OPERAND_UNUSED, SIDRA_PROGRAM_NONE, SIDRA_OPERAND_CODES};
    return check_uses(operands, packet, *prologue, *traits);
}

uint64_t operand_classes(std::span<const sidra_operand> operands) {
    constexpr unsigned kBits = 6;  // of an operand: its type, whether it has an index, whether columns are adjacent
    static_assert(SIDRA_TYPE_COUNT <= 16 && SIDRA_VECTOR_OPERANDS_MAX * kBits <= 48);
    uint64_t classes = 0;
    for (const sidra_operand& o : operands) {
        const bool adjacent = o.stride[3] == 0 || o.stride[3] == element_size(o.type);
        classes = classes << kBits | (o.type & 0xfu) | (o.index ? 0x10u : 0) | (adjacent ? 0x20u : 0);
    }
    return classes;
}

Verdict verify_operands(std::span<const sidra_operand> operands, const Packet& packet, const Traits& prologue,
                        const Traits& traits) {
    if (const auto verdict = check_operands(operands)) return verdict;
    return check_uses(operands, packet, prologue, traits);
}

uint32_t columns_max(std::span<const sidra_operand> operands, const Traits& traits) {
    uint32_t bytes = 0;  // of a column
    for (size_t n = 0; n < operands.size(); ++n)
        if (traits.columns >> n & 1 && operands[n].stride[3]) bytes += element_size(operands[n].type);
    return std::min({SIDRA_VECTOR_SIZE_MAX, traits.cost ? SIDRA_VECTOR_ROW_COST_MAX / traits.cost : UINT32_MAX,
                     bytes ? SIDRA_VECTOR_ROW_BYTES_MAX / bytes : UINT32_MAX});
}

Verdict verify_space(std::span<const sidra_operand> operands, const Sizes& size, const Traits& traits) {
    uint64_t rows = 1;
    for (uint32_t d = 0; d < SIDRA_OPERAND_DIMS; ++d) {
        if (size[d] == 0 || size[d] > SIDRA_VECTOR_SIZE_MAX) return {SIDRA_PROGRAM_SIZE};
        if (d < 3) rows = std::min(rows * size[d], uint64_t{SIDRA_VECTOR_SIZE_MAX} + 1);
    }
    if (rows > SIDRA_VECTOR_SIZE_MAX || rows * size[3] > SIDRA_VECTOR_ELEMENTS_MAX) return {SIDRA_PROGRAM_SIZE};
    if (traits.whole_rows && size[3] > columns_max(operands, traits)) return {SIDRA_PROGRAM_ROW_COST};

    std::array<Array, SIDRA_VECTOR_OPERANDS_MAX> arrays;
    for (size_t n = 0; n < operands.size(); ++n) {
        if (!(traits.used() >> n & 1)) continue;
        const sidra_operand& o = operands[n];
        const auto number = static_cast<uint8_t>(n);
        const bool column = traits.scalar >> n & 1;
        if (column && o.stride[3]) return {SIDRA_PROGRAM_OPERAND_FIELD, SIDRA_PROGRAM_NONE, number};
        if (!arrays[n].set(o, size, column, traits.gathered >> n & 1))
            return {SIDRA_PROGRAM_OPERAND_RANGE, SIDRA_PROGRAM_NONE, number};
        const uint64_t index_bytes = rows * element_size(o.index_type);
        if (o.index &&
            (o.index >= uint64_t{1} << SIDRA_VA_BITS || index_bytes > (uint64_t{1} << SIDRA_VA_BITS) - o.index))
            return {SIDRA_PROGRAM_OPERAND_RANGE, SIDRA_PROGRAM_NONE, number};
    }
    for (size_t n = 0; n < operands.size(); ++n) {
        if (!(traits.stored >> n & 1)) continue;
        const auto number = static_cast<uint8_t>(n);
        const bool scattered = traits.gathered >> n & 1;
        if (!scattered && !distinct(operands[n], arrays[n]))
            return {SIDRA_PROGRAM_OPERAND_OVERLAP, SIDRA_PROGRAM_NONE, number};
        for (size_t other = 0; other < operands.size(); ++other) {
            if (!(traits.used() >> other & 1)) continue;
            const sidra_operand& o = operands[other];
            const uint64_t indices = o.index ? o.index + rows * element_size(o.index_type) : 0;
            if (operands[n].addr < indices && o.index < arrays[n].end)
                return {SIDRA_PROGRAM_OPERAND_OVERLAP, SIDRA_PROGRAM_NONE, number};
            if (other != n && !same_array(operands[n], operands[other]) &&
                !disjoint(operands[n], arrays[n], operands[other], arrays[other]))
                return {SIDRA_PROGRAM_OPERAND_OVERLAP, SIDRA_PROGRAM_NONE, number};
        }
    }
    return {};
}

Extent extent(const sidra_operand& operand, uint32_t number, const Sizes& size, const Traits& traits) {
    Array array;
    array.set(operand, size, traits.scalar >> number & 1, traits.gathered >> number & 1);
    return {operand.addr, array.end};
}

Verdict verify_factor(const sidra_operand& operand, uint8_t number, const Sizes& size, Extent* extent) {
    if (operand.flags || operand.index || operand.extent)
        return {SIDRA_PROGRAM_OPERAND_FIELD, SIDRA_PROGRAM_NONE, number};
    Array array;
    if (!array.set(operand, size, false, false)) return {SIDRA_PROGRAM_OPERAND_RANGE, SIDRA_PROGRAM_NONE, number};
    *extent = {operand.addr, array.end};
    return {};
}

}  // namespace sidra::vector
