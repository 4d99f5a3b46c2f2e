// SPDX-License-Identifier: MIT
#include "reference.h"

#include <bit>
#include <cmath>
#include <stdexcept>

#include "arithmetic.h"
#include "opcodes.h"

namespace sidra::vector_reference {
namespace {

#define OP(name) SIDRA_VECTOR_OP_##name

struct IndexFault {
    int64_t index;
};

constexpr uint32_t kPartials = 32;

float f32(uint32_t bits) { return std::bit_cast<float>(bits); }
uint32_t bits(float x) { return std::bit_cast<uint32_t>(x); }
uint32_t mask(bool condition) { return condition ? 0xffffffff : 0; }
uint32_t word(int64_t x) { return static_cast<uint32_t>(x); }

// The integer of `size` bytes in the low bits of x.
int64_t sign_extended(uint64_t x, uint32_t size) {
    const uint32_t unused = 64 - 8 * size;
    return static_cast<int64_t>(x << unused) >> unused;
}

struct Range {
    int64_t low, high;
};

Range range(uint8_t type) {
    if (type == SIDRA_TYPE_U8) return {0, 255};
    const uint32_t bits = 8 * type_size(type);
    const auto high = static_cast<int64_t>(~uint64_t{0} >> (65 - bits));
    return {-high - 1, high};
}

int64_t integer_of(uint8_t type, uint64_t element) {
    if (type == SIDRA_TYPE_BOOL) return element != 0;
    if (type == SIDRA_TYPE_U8) return static_cast<int64_t>(element);
    return sign_extended(element, type_size(type));
}

float float_of(uint8_t type, uint64_t element) {
    if (type == SIDRA_TYPE_F32) return f32(static_cast<uint32_t>(element));
    if (type == SIDRA_TYPE_F16) return from_f16(static_cast<uint16_t>(element));
    if (type == SIDRA_TYPE_BF16) return from_bf16(static_cast<uint16_t>(element));
    return static_cast<float>(integer_of(type, element));
}

// The register that a LOAD or GATHER gets.
uint32_t loaded(uint8_t type, uint64_t element, bool integer) {
    if (!integer) return bits(float_of(type, element));
    const auto [low, high] = range(SIDRA_TYPE_S32);
    const int64_t value = integer_of(type, element);
    return word(value < low ? low : value > high ? high : value);
}

// The element that a STORE or SCATTER stores.
uint64_t stored(uint8_t type, uint32_t value, bool integer) {
    if (integer) {
        const int64_t x = sign_extended(value, 4);
        if (type == SIDRA_TYPE_BOOL) return x != 0;
        const auto [low, high] = range(type);
        return static_cast<uint64_t>(x < low ? low : x > high ? high : x);
    }
    const float x = f32(value);
    if (type == SIDRA_TYPE_F32) return visible_bits(x);
    if (type == SIDRA_TYPE_F16) return to_f16(x);
    if (type == SIDRA_TYPE_BF16) return to_bf16(x);
    if (type == SIDRA_TYPE_BOOL) return x != 0;  // so is NaN
    const auto [low, high] = range(type);
    return static_cast<uint64_t>(to_integer(round_to_even(x), low, high));
}

uint32_t compute(uint8_t op, uint32_t a, uint32_t b, uint32_t c) {
    const float x = f32(a), y = f32(b);
    const int64_t i = sign_extended(a, 4), j = sign_extended(b, 4);
    const auto [low, high] = range(SIDRA_TYPE_S32);
    switch (op) {
        case OP(MOVE):
        case OP(MOVE_INT):
        case OP(FROM_BITS):
            return a;
        case OP(SELECT):
            return a != 0 ? b : c;
        case OP(BITS):
            return visible_bits(x);
        case OP(ADD):
            return bits(x + y);
        case OP(SUB):
            return bits(x - y);
        case OP(MUL):
            return bits(x * y);
        case OP(FMA):
            return bits(std::fma(x, y, f32(c)));
        case OP(DIV):
            return bits(x / y);
        case OP(MAX):
            return bits(maximum(x, y));
        case OP(MIN):
            return bits(minimum(x, y));
        case OP(NEG):
            return bits(-x);
        case OP(ABS):
            return bits(std::fabs(x));
        case OP(SQRT):
            return bits(std::sqrt(x));
        case OP(RSQRT):
            return bits(1.0f / std::sqrt(x));
        case OP(FLOOR):
            return bits(std::floor(x));
        case OP(CEIL):
            return bits(std::ceil(x));
        case OP(ROUND):
            return bits(round_to_even(x));
        case OP(TRUNC):
            return bits(std::trunc(x));
        case OP(EXP):
            return bits(exponential(x));
        case OP(LOG):
            return bits(logarithm(x));
        case OP(ERF):
            return bits(vector_reference::erf(x));
        case OP(TANH):
            return bits(vector_reference::tanh(x));
        case OP(SIGMOID):
            return bits(sigmoid(x));
        case OP(SILU):
            return bits(silu(x));
        case OP(GELU):
            return bits(gelu(x));
        case OP(GELU_TANH):
            return bits(gelu_tanh(x));
        case OP(SIN):
            return bits(sine(x));
        case OP(COS):
            return bits(cosine(x));
        case OP(LT):
            return mask(x < y);
        case OP(LE):
            return mask(x <= y);
        case OP(EQ):
            return mask(x == y);
        case OP(NE):
            return mask(x != y);
        case OP(LT_INT):
            return mask(i < j);
        case OP(LE_INT):
            return mask(i <= j);
        case OP(EQ_INT):
            return mask(i == j);
        case OP(NE_INT):
            return mask(i != j);
        case OP(ADD_INT):
            return a + b;
        case OP(SUB_INT):
            return a - b;
        case OP(MUL_INT):
            return a * b;
        case OP(MAX_INT):
            return i > j ? a : b;
        case OP(MIN_INT):
            return i < j ? a : b;
        case OP(AND):
            return a & b;
        case OP(OR):
            return a | b;
        case OP(XOR):
            return a ^ b;
        case OP(SHL):
            return a << (b & 31);
        case OP(SHR):
            return word(i >> (b & 31));
        case OP(SHR_UNSIGNED):
            return a >> (b & 31);
        case OP(TO_INT):
            return word(to_integer(round_to_even(x), low, high));
        case OP(TO_INT_TRUNC):
            return word(to_integer(std::trunc(x), low, high));
        case OP(TO_FLOAT):
            return bits(static_cast<float>(i));
        default:
            throw std::logic_error("no such opcode");
    }
}

// Folds 32 partial results into the first one.
template <class T, class Combine>
T folded(std::array<T, kPartials> partial, Combine combine) {
    for (uint32_t distance = kPartials / 2; distance > 0; distance /= 2)
        for (uint32_t j = 0; j < distance; ++j) partial[j] = combine(partial[j], partial[j + distance]);
    return partial[0];
}

// One row: its registers, and where it is.
class Row {
   public:
    Row(std::span<const sidra_operand> operands, const Size& size, const Params& param, Memory& memory,
        const Sums& sums, uint32_t row)
        : operands_(operands), param_(param), memory_(memory), sums_(sums), columns_(size[3]), row_(row) {
        coordinate_ = {row / size[2] / size[1], row / size[2] % size[1], row % size[2]};
        vectors_.assign(SIDRA_VECTOR_REGISTERS, std::vector<uint32_t>(columns_));
    }

    // Passes need no code: each instruction is done for the whole row before the next one begins.
    void run(const sidra_vector_instruction& in) {
        if (is_reduction(in.op)) {
            scalar(in.dst) = reduction(in);
        } else if (in.op == OP(SCAN) || in.op == OP(SCAN_INT)) {
            scan(in);
        } else {
            const Opcode& opcode = *find_opcode(in.op);
            const uint32_t elements = is_vector_instruction(in) ? columns_ : 1;
            for (uint32_t column = 0; column < elements; ++column) element(in, opcode, column);
        }
    }

   private:
    uint32_t& scalar(uint8_t name) { return scalars_[name - SIDRA_VECTOR_S(0)]; }

    uint32_t source(const sidra_vector_instruction& in, uint8_t name, uint32_t column) {
        if (is_vector_register(name)) return vectors_[name][column];
        if (is_scalar_register(name)) return scalar(name);
        if (name == SIDRA_VECTOR_COLUMN) return column;
        if (name == SIDRA_VECTOR_ROW) return row_;
        return name >= SIDRA_VECTOR_IMM(0) ? in.imm[name - SIDRA_VECTOR_IMM(0)] : param_[name - SIDRA_VECTOR_PARAM(0)];
    }

    static uint64_t checked(int64_t index, uint32_t extent) {
        if (index < 0 || index >= int64_t{extent}) throw IndexFault{index};
        return static_cast<uint64_t>(index);
    }

    uint64_t address(const sidra_operand& o, uint64_t column) const {
        uint64_t i2 = coordinate_[2];
        if (o.index != 0) {
            const uint32_t size = type_size(o.index_type);
            i2 = checked(sign_extended(memory_.load(o.index + uint64_t{row_} * size, size), size), o.extent);
        }
        return o.addr + coordinate_[0] * o.stride[0] + coordinate_[1] * o.stride[1] + i2 * o.stride[2] +
               column * o.stride[3];
    }

    void element(const sidra_vector_instruction& in, const Opcode& opcode, uint32_t column) {
        const uint32_t a = source(in, in.a, column), b = source(in, in.b, column), c = source(in, in.c, column);
        uint32_t result;
        if (opcode.memory && in.operand == SIDRA_OPERAND_SUMS) {
            result = loaded(sums_.type, sums_.values.at(size_t{row_} * columns_ + column), opcode.integer);
        } else if (opcode.memory) {
            const sidra_operand& o = operands_[in.operand];
            uint64_t at = column;
            if (is_gather(in.op)) at = checked(sign_extended(a, 4), o.extent);
            if (is_scatter(in.op)) at = checked(sign_extended(b, 4), o.extent);
            at = address(o, at);
            if (opcode.destination == '-') {
                memory_.store(at, type_size(o.type), stored(o.type, a, opcode.integer));
                return;
            }
            result = loaded(o.type, memory_.load(at, type_size(o.type)), opcode.integer);
        } else if (in.op == OP(RANDOM)) {
            const uint64_t e = uint64_t{row_} * columns_ + column;
            const uint64_t block = e / 4;
            result = philox({static_cast<uint32_t>(block), static_cast<uint32_t>(block >> 32), a, 0}, {b, c})[e % 4];
        } else {
            result = compute(in.op, a, b, c);
        }
        if (is_vector_register(in.dst)) vectors_[in.dst][column] = result;
        else scalar(in.dst) = result;
    }

    void scan(const sidra_vector_instruction& in) {
        uint32_t sum = 0;  // also +0
        for (uint32_t column = 0; column < columns_; ++column) {
            sum = compute(in.op == OP(SCAN) ? OP(ADD) : OP(ADD_INT), sum, source(in, in.a, column), 0);
            vectors_[in.dst][column] = sum;
        }
    }

    uint32_t reduction(const sidra_vector_instruction& in) {
        switch (in.op) {
            case OP(REDUCE_SUM):
            case OP(REDUCE_DOT):
                return bits(sum(in));
            case OP(REDUCE_ARGMAX):
            case OP(REDUCE_ARGMIN):
                return extreme_column(in);
            case OP(REDUCE_MAX):
                return combined(in, OP(MAX));
            case OP(REDUCE_MIN):
                return combined(in, OP(MIN));
            case OP(REDUCE_SUM_INT):
                return combined(in, OP(ADD_INT));
            case OP(REDUCE_MAX_INT):
                return combined(in, OP(MAX_INT));
            default:
                return combined(in, OP(MIN_INT));
        }
    }

    float sum(const sidra_vector_instruction& in) {
        std::array<float, kPartials> partial{};
        for (uint32_t column = 0; column < columns_; ++column) {
            float& p = partial[column % kPartials];
            const float a = f32(source(in, in.a, column));
            p = in.op == OP(REDUCE_SUM) ? p + a : std::fma(a, f32(source(in, in.b, column)), p);
        }
        return folded(partial, [](float x, float y) { return x + y; });
    }

    uint32_t extreme_column(const sidra_vector_instruction& in) {
        uint32_t best = 0;
        for (uint32_t column = 0; column < columns_; ++column) {
            const float x = f32(source(in, in.a, column)), y = f32(source(in, in.a, best));
            if (std::isnan(x)) return column;
            if (in.op == OP(REDUCE_ARGMAX) ? x > y : x < y) best = column;
        }
        return best;
    }

    // For operations whose result does not depend on the order.
    uint32_t combined(const sidra_vector_instruction& in, uint8_t op) {
        uint32_t result = source(in, in.a, 0);
        for (uint32_t column = 1; column < columns_; ++column)
            result = compute(op, result, source(in, in.a, column), 0);
        return result;
    }

    std::span<const sidra_operand> operands_;
    const Params& param_;
    Memory& memory_;
    const Sums& sums_;
    uint32_t columns_, row_;
    std::array<uint64_t, 3> coordinate_{};
    std::vector<std::vector<uint32_t>> vectors_;
    std::array<uint32_t, SIDRA_VECTOR_REGISTERS> scalars_{};
};

#undef OP

}  // namespace

size_t Memory::offset(uint64_t address, uint32_t size) const {
    if (address < address_ || address - address_ > bytes_.size() || bytes_.size() - (address - address_) < size)
        throw std::out_of_range("access outside of the memory");
    return address - address_;
}

uint64_t Memory::load(uint64_t address, uint32_t size) const {
    const size_t at = offset(address, size);
    uint64_t value = 0;
    for (uint32_t i = 0; i < size; ++i) value |= uint64_t{bytes_[at + i]} << 8 * i;
    return value;
}

void Memory::store(uint64_t address, uint32_t size, uint64_t value) {
    const size_t at = offset(address, size);
    for (uint32_t i = 0; i < size; ++i) bytes_[at + i] = static_cast<uint8_t>(value >> 8 * i);
}

std::optional<int64_t> execute(std::span<const sidra_vector_instruction> program,
                               std::span<const sidra_operand> operands, const Size& size, const Params& param,
                               Memory& memory, const Sums& sums) {
    const uint32_t rows = size[0] * size[1] * size[2];
    try {
        for (uint32_t r = 0; r < rows; ++r) {
            Row row(operands, size, param, memory, sums, r);
            for (const sidra_vector_instruction& in : program) row.run(in);
        }
    } catch (const IndexFault& fault) {
        return fault.index;
    }
    return std::nullopt;
}

}  // namespace sidra::vector_reference
