// SPDX-License-Identifier: MIT
#include "random_program.h"

#include <algorithm>
#include <bit>
#include <cstddef>
#include <utility>

#include "opcodes.h"

namespace sidra::vector_reference {
namespace {

constexpr uint64_t kBase = 0x10'0000'0000;  // of the packet's memory
constexpr uint32_t kElementsMax = 6000;     // of an iteration space
constexpr uint32_t kRowsMax = 70;
constexpr uint32_t kColumns[] = {1, 2, 3, 15, 16, 17, 31, 32, 33, 100, 100, 64, 1000, 1025, 3000};
constexpr uint32_t kNone = ~0u;

bool is_integer_type(uint8_t type) {
    return type != SIDRA_TYPE_F32 && type != SIDRA_TYPE_F16 && type != SIDRA_TYPE_BF16;
}

// What a program may do with an operand, and what it still has to do.
struct Access {
    enum Kind { kLoad, kStore, kGather, kScatter };
    uint32_t operand;
    Kind kind;
    bool scalar = false;       // with a scalar register
    uint32_t indices = kNone;  // GATHER, SCATTER: operand that has the columns
    uint32_t array = 0;        // operands of one array have one number
};

class Generator {
   public:
    explicit Generator(Random& random) : random_(random) {}

    Packet packet() {
        iteration_space();
        special_ = one_of({0u, 0u, 0u, 0u, 2u, 10u, 50u});
        coarse_ = chance(15);
        wild_ = chance(25);
        for (uint32_t& p : param_) p = immediate(chance(50));
        if (chance(35)) {
            single();
            return {program_, operands_, size_, param_, Memory(kBase, bytes_)};
        }
        const uint32_t operands = chance(3) ? 0 : chance(10) ? 8 : 1 + below(6);
        if (operands > 0 && chance(90)) plain(true);  // what stores nothing, shows nothing
        while (operands_.size() < operands) add_operand(operands - static_cast<uint32_t>(operands_.size()));
        program();
        return {program_, operands_, size_, param_, Memory(kBase, bytes_)};
    }

   private:
    // Randomness
    uint32_t below(uint64_t n) { return static_cast<uint32_t>(random_() % n); }
    bool chance(uint32_t percent) { return below(100) < percent; }
    template <class T>
    T one_of(std::initializer_list<T> values) {
        return values.begin()[below(values.size())];
    }

    uint32_t f32_bits() {
        if (coarse_) return std::bit_cast<uint32_t>(one_of({-2.0f, -1.0f, -0.0f, 0.0f, 1.0f, 2.0f}));
        if (below(100) < special_)
            return one_of({0x7fc00000u, 0xff812345u, 0x7f800000u, 0xff800000u, 0x00000001u, 0x807fffffu, 0x80000000u,
                           0x00000000u, 0x7f7fffffu, 0x00800000u, 0x3f000000u, 0xbf000000u, 0x40200000u});
        switch (below(8)) {
            case 0:
                if (wild_) return static_cast<uint32_t>(random_());
                [[fallthrough]];
            case 1:
                return std::bit_cast<uint32_t>(static_cast<float>(static_cast<int32_t>(below(41)) - 20));
            default:  // of moderate size, both signs
                return below(2) << 31 | (116 + below(16)) << 23 | below(1 << 23);
        }
    }

    uint64_t integer_bits() {
        if (chance(30)) return static_cast<uint64_t>(int64_t{below(300)} - 150);
        return random_() >> below(64);
    }

    uint32_t immediate(bool integer) { return integer ? static_cast<uint32_t>(integer_bits()) : f32_bits(); }

    uint64_t element(uint8_t type) {
        if (type == SIDRA_TYPE_F32) return f32_bits();
        if (type == SIDRA_TYPE_F16 && chance(80)) return below(2) << 15 | (8 + below(12)) << 10 | below(1 << 10);
        if (type == SIDRA_TYPE_BF16) return f32_bits() >> 16;
        return integer_bits();
    }

    // Memory
    void iteration_space() {
        const uint32_t columns = kColumns[below(std::size(kColumns))];
        const uint32_t most = std::clamp(kElementsMax / columns, 1u, kRowsMax);
        size_ = {1, 1, 1, columns};
        uint32_t rest = 1 + below(chance(50) ? most : std::min(most, 8u));
        const uint32_t dimensions = below(4);  // besides the columns
        for (uint32_t d = 0; d < dimensions; ++d) {
            size_[2 - d] = 1 + below(d + 1 == dimensions ? rest : std::min(rest, 5u));
            rest /= size_[2 - d];
        }
        rows_ = size_[0] * size_[1] * size_[2];
    }

    void put(uint64_t address, uint32_t size, uint64_t value) {
        for (uint32_t i = 0; i < size; ++i) bytes_[address - kBase + i] = static_cast<uint8_t>(value >> 8 * i);
    }

    // Some bytes for an array, with a gap before it; all bytes are random elements of the type.
    uint64_t allocate(uint64_t bytes, uint8_t type) {
        const uint32_t size = type_size(type);
        const uint64_t begin = (bytes_.size() / size + 1 + below(5)) * size;
        while (bytes_.size() < begin) bytes_.push_back(static_cast<uint8_t>(random_()));
        bytes_.resize(begin + bytes);
        for (uint64_t at = begin; at < begin + bytes; at += size) put(kBase + at, size, element(type));
        return kBase + begin;
    }

    // Strides for these counts, so that all elements are apart; the innermost in memory is any dimension.
    // Returns the bytes of the array.
    uint64_t lay_out(sidra_operand& o, const std::array<uint32_t, 4>& counts, bool broadcast) {
        std::array<uint32_t, 4> order = {3, 2, 1, 0};
        if (chance(25)) std::shuffle(order.begin(), order.end(), random_);
        const uint64_t size = type_size(o.type);
        uint64_t reach = size;
        for (const uint32_t d : order) {
            if (broadcast && chance(20)) continue;  // stride 0
            const bool padded = chance(d == 3 ? 10 : 25);
            o.stride[d] = reach + (padded ? size * (1 + below(3)) : 0);
            if (counts[d] == 1 && chance(30)) o.stride[d] = size * below(1000);
            if (counts[d] > 1) reach = o.stride[d] * (counts[d] - 1) + std::max(reach, o.stride[d]);
        }
        return reach;
    }

    uint8_t any_type(bool integer) {
        uint8_t type;
        do type = static_cast<uint8_t>(below(SIDRA_TYPE_COUNT));
        while (integer && !is_integer_type(type));
        return chance(30) && !integer ? uint8_t{SIDRA_TYPE_F32} : type;
    }

    // Makes dimension 2 of the operand one of indices.
    void add_index(sidra_operand& o) {
        o.extent = 1 + below(size_[3] > 200 ? 5 : 40);
        o.index_type = one_of<uint8_t>({SIDRA_TYPE_S32, SIDRA_TYPE_S64});
        o.index = allocate(uint64_t{rows_} * type_size(o.index_type), o.index_type);
        fill_indices(o.index, o.index_type, rows_, o.extent, true);
    }

    void fill_indices(uint64_t address, uint8_t type, uint32_t count, uint32_t extent, bool used) {
        const uint32_t size = type_size(type);
        for (uint32_t i = 0; i < count; ++i) put(address + uint64_t{i} * size, size, below(extent));
        if (!used || invalid_ || !chance(4)) return;
        invalid_ = true;
        const auto bad = one_of<int64_t>({extent, -1, -1000, 32000 + int64_t{extent}, int64_t{1} << 40});
        if (bad >> (8 * size - 1) > 0) return;  // does not fit the type
        put(address + uint64_t{below(count)} * size, size, static_cast<uint64_t>(bad));
    }

    void add_operand(uint32_t room) {
        switch (below(10)) {
            case 0:
                return room >= 2 ? in_place() : plain(false);
            case 1:
                return room >= 2 ? slices() : plain(true);
            case 2:
                return scalar_output();
            case 3:
                return indexed();
            case 4:
                return room >= 2 ? selected(true) : selected(false);
            case 5:
                return selected(false);
            case 6:
            case 7:
                return plain(true);
            default:
                return plain(false);
        }
    }

    // Appends the operand with what must be done with it.
    uint32_t append(const sidra_operand& o, uint32_t array, bool load, bool store, bool scalar = false) {
        const auto number = static_cast<uint32_t>(operands_.size());
        operands_.push_back(o);
        if (load) pending_.push_back({number, Access::kLoad, scalar, kNone, array});
        if (store) pending_.push_back({number, Access::kStore, scalar, kNone, array});
        return number;
    }

    void plain(bool write) {
        sidra_operand o{};
        o.type = any_type(false);
        o.flags = write ? SIDRA_OPERAND_WRITE : 0;
        const bool scalar = !write && chance(15);
        const uint64_t bytes = lay_out(o, {size_[0], size_[1], size_[2], scalar ? 1 : size_[3]}, !write);
        if (scalar) o.stride[3] = 0;
        o.addr = allocate(bytes, o.type);
        append(o, arrays_++, !write || chance(30), write, scalar);
    }

    // Two operands with one array.
    void in_place() {
        sidra_operand o{};
        o.type = any_type(false);
        o.addr = allocate(lay_out(o, size_, false), o.type);
        append(o, arrays_, true, false);
        o.flags = SIDRA_OPERAND_WRITE;
        append(o, arrays_++, false, true);
    }

    // Two operands with the columns of one array, one beside the other.
    void slices() {
        sidra_operand o{};
        o.type = any_type(false);
        const uint32_t size = type_size(o.type), gap = below(4);
        const uint64_t row = uint64_t{size} * (2 * size_[3] + gap);
        o.stride[3] = size;
        o.stride[2] = row;
        o.stride[1] = row * size_[2];
        o.stride[0] = o.stride[1] * size_[1];
        o.addr = allocate(row * rows_, o.type);
        sidra_operand p = o;
        (chance(50) ? o : p).addr += uint64_t{size} * (size_[3] + gap);
        p.flags = SIDRA_OPERAND_WRITE;
        append(o, arrays_++, true, false);
        append(p, arrays_++, false, true);
    }

    void scalar_output() {
        sidra_operand o{};
        o.type = any_type(false);
        o.flags = SIDRA_OPERAND_WRITE;
        const uint64_t bytes = lay_out(o, {size_[0], size_[1], size_[2], 1}, false);
        o.stride[3] = 0;
        o.addr = allocate(bytes, o.type);
        append(o, arrays_++, chance(30), true, true);
    }

    void indexed() {
        sidra_operand o{};
        o.type = any_type(false);
        add_index(o);
        const bool write = chance(40);
        o.flags = write ? SIDRA_OPERAND_WRITE : 0;
        const bool one_table = chance(60);  // for all of dimensions 0 and 1
        const std::array<uint32_t, 4> counts = {one_table ? 1 : size_[0], one_table ? 1 : size_[1], o.extent, size_[3]};
        const uint64_t bytes = lay_out(o, counts, !write);
        if (one_table) o.stride[0] = o.stride[1] = 0;
        o.addr = allocate(bytes, o.type);
        append(o, arrays_++, !write || chance(50), write);
    }

    // For GATHER or SCATTER; with an operand for the indices, or without one.
    void selected(bool with_indices) {
        sidra_operand o{};
        o.type = any_type(false);
        const bool write = chance(40);
        o.flags = write ? SIDRA_OPERAND_WRITE : 0;
        o.extent = with_indices ? 1 + below(60) : 1u << below(7);
        const bool one_row = chance(40);
        std::array<uint32_t, 4> counts = size_;
        if (one_row) counts = {1, 1, 1, o.extent};
        counts[3] = o.extent;
        const uint64_t bytes = lay_out(o, counts, !write);
        if (one_row) o.stride[0] = o.stride[1] = o.stride[2] = 0;
        o.addr = allocate(bytes, o.type);
        uint32_t indices = kNone;
        if (with_indices) {
            sidra_operand p{};
            p.type = one_of<uint8_t>({SIDRA_TYPE_S32, SIDRA_TYPE_S64, SIDRA_TYPE_S16, SIDRA_TYPE_U8, SIDRA_TYPE_S8});
            const uint64_t size = lay_out(p, size_, true);
            p.addr = allocate(size, p.type);
            fill_indices(p.addr, p.type, static_cast<uint32_t>(size / type_size(p.type)), o.extent,
                         p.type != SIDRA_TYPE_U8);
            indices = append(p, arrays_++, false, false);
        }
        const uint32_t number = append(o, arrays_, false, false);
        pending_.push_back({number, write ? Access::kScatter : Access::kGather, false, indices, arrays_++});
    }

    // Program
    struct Register {
        char type = 0;       // 0: not written
        bool fresh = false;  // in this pass
        bool unread = false;
    };

    // The scalar part of a pass follows its vector part, so the state says which part we are in.
    void begin_pass() {
        pass_ = true;
        scalar_part_ = false;
        vectors_ = {};
        for (Register& s : scalars_) s.fresh = false;
        touched_.clear();
    }

    void emit(sidra_vector_instruction in) {
        if (std::exchange(pass_, false)) in.flags = SIDRA_VECTOR_PASS;
        program_.push_back(in);
    }

    void program() {
        const size_t target = 1 + below(chance(20) ? 64 : 24);
        begin_pass();
        accesses_ = pending_;
        std::shuffle(pending_.begin(), pending_.end(), random_);
        for (;;) {
            // An access takes at most three instructions, a computation four.
            const size_t least = program_.size() + 3 * pending_.size();
            const bool room = least + 4 <= SIDRA_VECTOR_INSTRUCTIONS_MAX;
            if (!program_.empty() && pending_.empty() && (!room || least >= target)) break;
            if (!pending_.empty() && (!room || least >= target || chance(25))) {
                const Access access = pending_.back();
                pending_.pop_back();
                perform(access);
            } else if (!accesses_.empty() && chance(10)) {
                perform(accesses_[below(accesses_.size())]);  // once more
            } else {
                compute();
            }
        }
        for (const Access& access : accesses_) {
            const bool worth = unread('f', access.scalar) || unread('i', access.scalar);
            if (access.kind == Access::kStore && worth && program_.size() + 3 <= SIDRA_VECTOR_INSTRUCTIONS_MAX)
                perform(access);
        }
    }

    // Stores a vector that nothing has read, before it is lost with its pass.
    void show() {
        for (const Access& access : accesses_) {
            if (access.kind != Access::kStore || access.scalar || meets(access) || !chance(70)) continue;
            if (unread(is_integer_type(operands_[access.operand].type) ? 'i' : 'f', false)) return perform(access);
        }
    }

    // One computation between loads and stores, so that all of it is seen.
    void single() {
        const Opcode* opcode;
        do opcode = &opcodes()[below(opcodes().size())];
        while (opcode->memory || opcode->op == SIDRA_VECTOR_OP_MOVE_INT);
        begin_pass();
        const char either = chance(50) ? 'f' : 'i';
        sidra_vector_instruction in{};
        in.op = opcode->op;
        uint8_t* const names[] = {&in.a, &in.b, &in.c};
        for (size_t i = 0; i < opcode->sources.size(); ++i) {
            const char letter = opcode->sources[i];
            if (letter == 'u') {
                *names[i] = source(in, 'i', false, true);
                continue;
            }
            const bool integer = letter == 'i' || letter == 'I' || (letter == 'x' && either == 'i');
            sidra_operand o{};
            o.type = integer ? SIDRA_TYPE_S32 : SIDRA_TYPE_F32;
            o.addr = allocate(lay_out(o, size_, true), o.type);
            *names[i] = SIDRA_VECTOR_V(static_cast<uint8_t>(i));
            sidra_vector_instruction load{};
            load.op = integer ? SIDRA_VECTOR_OP_LOAD_INT : SIDRA_VECTOR_OP_LOAD;
            load.dst = *names[i];
            load.operand = static_cast<uint8_t>(append(o, arrays_++, false, false));
            emit(load);
        }
        const bool reduced = opcode->destination == 'R' || opcode->destination == 'N';
        const char result = opcode->destination == 'x' ? either : type_of_result(*opcode);
        in.dst = destination(result, reduced);
        emit(in);
        sidra_operand o{};
        o.type = result == 'i' ? SIDRA_TYPE_S32 : SIDRA_TYPE_F32;
        o.flags = SIDRA_OPERAND_WRITE;
        o.addr = allocate(lay_out(o, {size_[0], size_[1], size_[2], reduced ? 1 : size_[3]}, false), o.type);
        if (reduced) o.stride[3] = 0;
        sidra_vector_instruction store{};
        store.op = result == 'i' ? SIDRA_VECTOR_OP_STORE_INT : SIDRA_VECTOR_OP_STORE;
        store.a = in.dst;
        store.operand = static_cast<uint8_t>(append(o, arrays_++, false, false));
        emit(store);
    }

    static char type_of_result(const Opcode& opcode) {
        return opcode.destination == 'i' || opcode.destination == 'I' || opcode.destination == 'N' ? 'i' : 'f';
    }

    void enter(bool scalar) {
        if (scalar) scalar_part_ = true;
        if (!scalar && scalar_part_) begin_pass();
    }

    // A source of this type, for a vector or a scalar instruction.
    uint8_t source(sidra_vector_instruction& in, char type, bool scalar, bool uniform = false) {
        std::vector<uint8_t> found, unread;
        for (uint8_t n = 0; n < SIDRA_VECTOR_REGISTERS; ++n) {
            const Register &vector = vectors_[n], &one = scalars_[n];
            if (!scalar && !uniform && vector.type == type) {
                found.insert(found.end(), 4, SIDRA_VECTOR_V(n));
                if (vector.unread) unread.push_back(SIDRA_VECTOR_V(n));
            }
            if (one.type == type && (scalar || !one.fresh)) {
                found.push_back(SIDRA_VECTOR_S(n));
                if (one.unread) unread.push_back(SIDRA_VECTOR_S(n));
            }
        }
        // So that most of what is computed has consequences.
        if (!unread.empty() && chance(75)) return read(unread[below(unread.size())]);
        if (found.empty() || chance(15))
            found.push_back(SIDRA_VECTOR_PARAM(static_cast<uint8_t>(below(SIDRA_VECTOR_PARAMS))));
        if (found.empty() || chance(15)) found.push_back(SIDRA_VECTOR_IMM(static_cast<uint8_t>(below(2))));
        if (type == 'i' && chance(15)) found.push_back(SIDRA_VECTOR_ROW);
        if (type == 'i' && !scalar && !uniform && chance(15)) found.push_back(SIDRA_VECTOR_COLUMN);
        const uint8_t name = found[below(found.size())];
        for (uint8_t n = 0; n < 2; ++n)
            if (name == SIDRA_VECTOR_IMM(n)) in.imm[n] = immediate(type == 'i');
        return read(name);
    }

    uint8_t read(uint8_t name) {
        if (is_vector_register(name)) vectors_[name].unread = false;
        if (is_scalar_register(name)) scalars_[name - SIDRA_VECTOR_S(0)].unread = false;
        return name;
    }

    // A vector register of this type, best one that nothing has read, or kNone.
    uint32_t vector_register(char type) {
        std::vector<uint32_t> found;
        for (uint32_t n = 0; n < SIDRA_VECTOR_REGISTERS; ++n)
            if (vectors_[n].type == type) found.insert(found.end(), vectors_[n].unread ? 10 : 1, n);
        return found.empty() ? kNone : found[below(found.size())];
    }

    bool unread(char type, bool scalar) const {
        const auto& registers = scalar ? scalars_ : vectors_;
        return std::any_of(registers.begin(), registers.end(),
                           [&](const Register& r) { return r.type == type && r.unread; });
    }

    uint8_t destination(char type, bool scalar) {
        const auto n = static_cast<uint8_t>(below(SIDRA_VECTOR_REGISTERS));
        (scalar ? scalars_ : vectors_)[n] = {type, true, true};
        return scalar ? SIDRA_VECTOR_S(n) : SIDRA_VECTOR_V(n);
    }

    // A vector register of this type that exists, or a new one.
    uint8_t any_vector(char type) {
        if (const uint32_t n = vector_register(type); n != kNone) return read(static_cast<uint8_t>(n));
        sidra_vector_instruction in{};
        if (type == 'i') {
            in.op = SIDRA_VECTOR_OP_MOVE_INT;
            in.a = one_of({SIDRA_VECTOR_COLUMN, SIDRA_VECTOR_ROW, SIDRA_VECTOR_PARAM(0)});
        } else {
            in.op = SIDRA_VECTOR_OP_TO_FLOAT;
            in.a = SIDRA_VECTOR_COLUMN;
        }
        in.dst = destination(type, false);
        emit(in);
        return in.dst;
    }

    // In one pass GATHER must not meet stores, and SCATTER nothing, for their columns have no order then.
    bool meets(const Access& access) const {
        for (const Access& earlier : touched_) {
            if (earlier.array != access.array) continue;
            if (earlier.kind == Access::kScatter || access.kind == Access::kScatter) return true;
            if (earlier.kind == Access::kGather && access.kind == Access::kStore) return true;
            if (earlier.kind == Access::kStore && access.kind == Access::kGather) return true;
        }
        return false;
    }

    void perform(const Access& access) {
        enter(access.scalar);
        if (meets(access)) {
            begin_pass();
            enter(access.scalar);
        }
        sidra_vector_instruction in{};
        in.operand = static_cast<uint8_t>(access.operand);
        bool integer = chance(50);
        if (access.kind == Access::kStore && unread('i', access.scalar) != unread('f', access.scalar))
            integer = unread('i', access.scalar);
        integer &= is_integer_type(operands_[access.operand].type);
        const char type = integer ? 'i' : 'f';
        switch (access.kind) {
            case Access::kLoad:
                in.op = integer ? SIDRA_VECTOR_OP_LOAD_INT : SIDRA_VECTOR_OP_LOAD;
                in.dst = destination(type, access.scalar);
                break;
            case Access::kStore:
                in.op = integer ? SIDRA_VECTOR_OP_STORE_INT : SIDRA_VECTOR_OP_STORE;
                in.a = access.scalar ? source(in, type, true) : any_vector(type);
                break;
            case Access::kGather:
                in.op = integer ? SIDRA_VECTOR_OP_GATHER_INT : SIDRA_VECTOR_OP_GATHER;
                in.a = columns(in, access);
                in.dst = destination(type, false);
                break;
            case Access::kScatter:
                in.op = integer ? SIDRA_VECTOR_OP_SCATTER_INT : SIDRA_VECTOR_OP_SCATTER;
                in.a = any_vector(type);
                in.b = columns(in, access);
                break;
        }
        touched_.push_back(access);
        emit(in);
    }

    // A source with valid columns of the operand.
    uint8_t columns(sidra_vector_instruction& in, const Access& access) {
        const uint32_t extent = operands_[access.operand].extent;
        if (access.indices != kNone) {
            sidra_vector_instruction load{};
            load.op = SIDRA_VECTOR_OP_LOAD_INT;
            load.operand = static_cast<uint8_t>(access.indices);
            load.dst = register_for_columns(in);
            vectors_[load.dst] = {'i', true};
            emit(load);
            return load.dst;
        }
        if (extent >= size_[3] && chance(50)) return SIDRA_VECTOR_COLUMN;
        if (!std::has_single_bit(extent) || chance(10)) {
            in.imm[1] = below(extent);
            return SIDRA_VECTOR_IMM(1);
        }
        sidra_vector_instruction mask{};
        mask.op = SIDRA_VECTOR_OP_AND;
        mask.a = source(mask, 'i', false);
        mask.b = SIDRA_VECTOR_IMM(0);
        mask.imm[0] = extent - 1;
        if (mask.a == SIDRA_VECTOR_IMM(0)) mask.a = SIDRA_VECTOR_COLUMN;
        mask.dst = register_for_columns(in);
        vectors_[mask.dst] = {'i', true};
        emit(mask);
        return mask.dst;
    }

    // Any but the one that SCATTER stores.
    uint8_t register_for_columns(const sidra_vector_instruction& in) {
        uint8_t n;
        do n = static_cast<uint8_t>(below(SIDRA_VECTOR_REGISTERS));
        while (in.a == SIDRA_VECTOR_V(n) && (in.op == SIDRA_VECTOR_OP_SCATTER || in.op == SIDRA_VECTOR_OP_SCATTER_INT));
        return SIDRA_VECTOR_V(n);
    }

    void compute() {
        const Opcode& opcode = opcodes()[below(opcodes().size())];
        if (opcode.memory) return;
        const bool reduced = opcode.destination == 'R' || opcode.destination == 'N';
        const bool vector_only = reduced || opcode.destination == 'F' || opcode.destination == 'I';
        if (!vector_only && chance(20) && !scalar_part_) {
            show();
            scalar_part_ = true;
        }
        if (scalar_part_ && (vector_only || chance(40))) begin_pass();
        const bool scalar = scalar_part_;
        const char either = chance(50) ? 'f' : 'i';
        sidra_vector_instruction in{};
        in.op = opcode.op;
        uint8_t* const names[] = {&in.a, &in.b, &in.c};
        char result = 'f';  // of x, if no source has a type
        for (size_t i = 0; i < opcode.sources.size(); ++i) {
            const char letter = opcode.sources[i];
            if (letter == 'F' || letter == 'I') {
                *names[i] = any_vector(letter == 'F' ? 'f' : 'i');
                continue;
            }
            *names[i] = source(in, letter == 'x' ? either : letter == 'u' ? 'i' : letter, scalar, letter == 'u');
            const bool typed = *names[i] < SIDRA_VECTOR_PARAM(0) || *names[i] > SIDRA_VECTOR_IMM(1);
            if (letter == 'x' && typed) result = either;
        }
        // MOVE is for registers, and MOVE_INT for what else there is.
        if (in.op == SIDRA_VECTOR_OP_MOVE && in.a >= SIDRA_VECTOR_COLUMN) return;
        if (in.op == SIDRA_VECTOR_OP_MOVE_INT && in.a < SIDRA_VECTOR_PARAM(0)) return;
        if (opcode.destination != 'x') result = type_of_result(opcode);
        in.dst = destination(result, scalar || reduced);
        emit(in);
    }

    Random& random_;
    uint32_t special_ = 0;  // percent of f32 elements that are special values
    bool wild_ = false;     // f32 elements of any size, which hide the others in a sum
    bool coarse_ = false;   // few different f32 elements, so that many are equal
    Size size_{};
    uint32_t rows_ = 1;
    Params param_{};
    std::vector<sidra_operand> operands_;
    std::vector<uint8_t> bytes_;
    uint32_t arrays_ = 0;
    bool invalid_ = false;  // an index is

    std::vector<Access> accesses_, pending_, touched_;
    std::vector<sidra_vector_instruction> program_;
    std::array<Register, SIDRA_VECTOR_REGISTERS> vectors_{}, scalars_{};
    bool pass_ = false;  // the next instruction begins one
    bool scalar_part_ = false;
};

}  // namespace

Packet random_packet(Random& random) { return Generator(random).packet(); }

void mutate(Packet& packet, Random& random) {
    // Of an instruction mostly the first bytes, for in the others few values are right.
    const auto change = [&](auto& items, size_t first) {
        if (items.empty()) return;
        auto& item = items[random() % items.size()];
        auto* const bytes = reinterpret_cast<uint8_t*>(&item);
        uint8_t& byte = bytes[random() % (random() % 8 == 0 ? sizeof item : first)];
        const uint8_t values[] = {0,
                                  1,
                                  0xff,
                                  static_cast<uint8_t>(byte + 1),
                                  static_cast<uint8_t>(byte - 1),
                                  static_cast<uint8_t>(byte ^ 1 << random() % 8),
                                  static_cast<uint8_t>(random())};
        byte = values[random() % std::size(values)];
    };
    for (uint64_t n = 1 + random() % 3; n > 0; --n) {
        switch (random() % 8) {
            case 0:
                change(packet.size, sizeof(uint32_t));
                break;
            case 1:
            case 2:
            case 3:
                change(packet.operands, sizeof(sidra_operand));
                break;
            default:
                change(packet.program, offsetof(sidra_vector_instruction, reserved));
        }
    }
}

}  // namespace sidra::vector_reference
