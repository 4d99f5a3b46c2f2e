// SPDX-License-Identifier: MIT
// MATMUL on the chip against plain loops (std::fma in order, or sums in 64 bits) and the second implementation of
// vector programs, bit by bit, on all engines, with memory that is contiguous on the host and with pages in random
// order; what the chip refuses; and packets that are interrupted.
#include <cmath>

#include "vector/arithmetic.h"
#include "vector/random_program.h"

#include "hosts.h"
#include "packets.h"
#include "program/program_text.h"
#include "stream.h"

namespace sidra::chip_test {
namespace {

using vector_reference::Memory;
using vector_reference::Params;
using vector_reference::Random;
using vector_reference::Size;
using vector_reference::Sums;

constexpr uint8_t U8 = SIDRA_TYPE_U8, S8 = SIDRA_TYPE_S8, S32 = SIDRA_TYPE_S32, F32 = SIDRA_TYPE_F32,
                  F16 = SIDRA_TYPE_F16, BF16 = SIDRA_TYPE_BF16;

uint64_t bytes_of(uint8_t type) {
    switch (type) {
        case U8:
        case S8:
        case SIDRA_TYPE_BOOL:
            return 1;
        case SIDRA_TYPE_S16:
        case F16:
        case BF16:
            return 2;
        default:
            return type == SIDRA_TYPE_S64 ? 8 : 4;
    }
}

uint32_t between(Random& random, uint32_t low, uint32_t high) {
    return low + static_cast<uint32_t>(random() % (high - low + 1));
}

// In these texts, o7 is the sums.
std::vector<sidra_vector_instruction> assemble(const std::string& text) {
    auto code = std::get<program::Code>(program::assemble(text)).instructions;
    for (sidra_vector_instruction& i : code)
        if (i.operand == 7) i.operand = SIDRA_OPERAND_SUMS;
    return code;
}

uint64_t extent(const sidra_operand& o, const Size& size) {
    uint64_t bytes = bytes_of(o.type);
    for (int d = 0; d < 4; d++) bytes += (size[static_cast<size_t>(d)] - 1) * o.stride[d];
    return bytes;
}

// ---- Factors

// Dimensions from the innermost to the outermost one, with gaps between them.
void lay_out(sidra_operand& o, const Size& size, std::array<int, 4> order, Random& random, bool gaps) {
    uint64_t stride = bytes_of(o.type);
    for (const int d : order) {
        o.stride[d] = stride;
        stride *= size[static_cast<size_t>(d)];
        if (gaps && random() % 3 == 0) stride += bytes_of(o.type) * between(random, 1, 5);
    }
}

// Rows or columns adjacent, products apart or interleaved, and one of the dimensions repeated.
sidra_operand factor(uint8_t type, const Size& size, Random& random) {
    sidra_operand o{};
    o.type = type;
    static constexpr std::array<int, 4> kOrders[] = {{3, 2, 1, 0}, {3, 2, 1, 0}, {2, 3, 1, 0},
                                                     {3, 1, 2, 0}, {2, 0, 1, 3}, {3, 0, 1, 2}};
    lay_out(o, size, kOrders[random() % std::size(kOrders)], random, random() % 2 != 0);
    if (random() % 4 == 0) o.stride[random() % 4] = 0;
    // Overlapping rows, as of a window that slides.
    if (random() % 12 == 0) o.stride[2] = o.stride[3] = bytes_of(type);
    return o;
}

std::vector<uint8_t> factor_bytes(const sidra_operand& o, const Size& size, Random& random) {
    std::vector<uint8_t> bytes(extent(o, size));
    const bool plain = random() % 8 != 0;  // else NaN and infinite
    for (size_t i = 0; i < bytes.size(); i += bytes_of(o.type)) {
        const float value = std::ldexp(static_cast<float>(static_cast<int>(random() % 4001) - 2000),
                                       -static_cast<int>(between(random, 5, 12)));
        uint32_t bits = std::bit_cast<uint32_t>(value);
        if (o.type == BF16) bits >>= 16;
        if (o.type == F16) bits = vector_reference::to_f16(value);
        if (o.type == U8 || o.type == S8) bits = static_cast<uint32_t>(random());
        if (!plain && random() % 64 == 0) bits = static_cast<uint32_t>(random());
        std::memcpy(&bytes[i], &bits, bytes_of(o.type));
    }
    return bytes;
}

double number(const uint8_t* p, uint8_t type) {
    uint32_t bits = 0;
    std::memcpy(&bits, p, bytes_of(type));
    switch (type) {
        case U8:
            return bits;
        case S8:
            return static_cast<int8_t>(bits);
        case F16:
            return vector_reference::from_f16(static_cast<uint16_t>(bits));
        case BF16:
            return vector_reference::from_bf16(static_cast<uint16_t>(bits));
        default:
            return std::bit_cast<float>(bits);
    }
}

// ---- A packet and what it means

struct Case {
    std::array<uint32_t, 2> batch{1, 1};
    uint32_t m = 1, n = 1, k = 1;
    std::vector<sidra_vector_instruction> program;
    std::vector<sidra_operand> operands;  // 0 and 1: the factors, whose addresses count from their own bytes
    std::vector<uint8_t> a, b;
    Params param{};
    Memory memory{0, {}};  // of the program's operands

    Size size() const { return {batch[0], batch[1], m, n}; }
    Size a_size() const { return {batch[0], batch[1], m, k}; }
    Size b_size() const { return {batch[0], batch[1], k, n}; }
};

Sums product(const Case& c) {
    const bool integer = bytes_of(c.operands[0].type) == 1;
    Sums sums{integer ? S32 : F32, {}};
    const auto at = [](const sidra_operand& o, const std::vector<uint8_t>& bytes, uint32_t i0, uint32_t i1, uint32_t i2,
                       uint32_t i3) {
        return number(&bytes[i0 * o.stride[0] + i1 * o.stride[1] + i2 * o.stride[2] + i3 * o.stride[3]], o.type);
    };
    for (uint32_t i0 = 0; i0 < c.batch[0]; i0++)
        for (uint32_t i1 = 0; i1 < c.batch[1]; i1++)
            for (uint32_t m = 0; m < c.m; m++)
                for (uint32_t n = 0; n < c.n; n++) {
                    float real = 0;
                    int64_t exact = 0;
                    for (uint32_t k = 0; k < c.k; k++) {
                        const double x = at(c.operands[0], c.a, i0, i1, m, k), y = at(c.operands[1], c.b, i0, i1, k, n);
                        if (integer) exact += static_cast<int64_t>(x) * static_cast<int64_t>(y);
                        else real = std::fma(static_cast<float>(x), static_cast<float>(y), real);
                    }
                    const uint32_t bits = std::isnan(real) ? 0x7fc00000u : std::bit_cast<uint32_t>(real);
                    sums.values.push_back(integer ? static_cast<uint32_t>(exact) : bits);
                }
    return sums;
}

// Room for an operand in the memory of the program.
class Room {
   public:
    explicit Room(Random& random) : random_(random) {}
    uint64_t take(uint64_t bytes) {
        const uint64_t at = (bytes_.size() + 7) / 8 * 8;
        bytes_.resize(at + bytes);
        for (size_t i = at; i < bytes_.size(); i++) bytes_[i] = static_cast<uint8_t>(random_());
        return at;
    }
    // Small floats, so that sums of them have no NaN.
    uint64_t take_floats(uint64_t count) {
        const uint64_t at = take(count * 4);
        for (uint64_t i = 0; i < count; i++) {
            const float value = static_cast<float>(static_cast<int>(random_() % 2001) - 1000) / 64;
            std::memcpy(&bytes_[at + i * 4], &value, 4);
        }
        return at;
    }
    uint64_t take_indices(uint64_t count, uint32_t extent) {
        const uint64_t at = take(count * 4);
        for (uint64_t i = 0; i < count; i++) {
            const auto value = static_cast<uint32_t>(random_() % extent);
            std::memcpy(&bytes_[at + i * 4], &value, 4);
        }
        return at;
    }
    std::vector<uint8_t> bytes_;

   private:
    Random& random_;
};

sidra_operand output(const Case& c, uint8_t type, Room& room, Random& random) {
    sidra_operand o{};
    o.type = type;
    o.flags = SIDRA_OPERAND_WRITE;
    static constexpr std::array<int, 4> kOrders[] = {{3, 2, 1, 0}, {3, 2, 1, 0}, {3, 2, 1, 0},
                                                     {3, 1, 2, 0}, {2, 3, 1, 0}, {0, 1, 3, 2}};
    lay_out(o, c.size(), kOrders[random() % std::size(kOrders)], random, random() % 2 != 0);
    o.addr = room.take(extent(o, c.size()));
    return o;
}

constexpr int kPrograms = 10;
constexpr const char* kLoad = "pass:\nv0 = load o7\n";

void add_program(Case& c, int which, Random& random) {
    Room room(random);
    const bool integer = bytes_of(c.operands[0].type) == 1;
    const auto add = [&](const sidra_operand& o) { c.operands.push_back(o); };
    const auto out = [&](uint8_t type) { add(output(c, type, room, random)); };
    std::string text = kLoad;
    switch (which) {
        case 0: {  // as it is, or converted
            static constexpr uint8_t kTypes[] = {F32, F32, S32, F16, BF16, S8, U8, SIDRA_TYPE_S64, SIDRA_TYPE_BOOL};
            text += "store o2, v0\n";
            const bool exact = integer && random() % 2 != 0;
            if (exact) text = "pass:\nv0 = load_int o7\nstore_int o2, v0\n";
            out(exact ? S32 : kTypes[random() % std::size(kTypes)]);
            break;
        }
        case 1: {  // scale, bias, activation
            sidra_operand bias{};
            bias.type = F32, bias.addr = room.take_floats(c.n), bias.stride[3] = 4;
            add(bias);
            text += "v1 = load o2\nv0 = fma v0, p0, v1\nv0 = gelu v0\nstore o3, v0\n";
            out(F32);
            break;
        }
        case 2:  // softmax
            text +=
                "s0 = reduce_max v0\npass:\nv0 = load o7\nv0 = sub v0, s0\nv0 = exp v0\nstore o2, v0\n"
                "s1 = reduce_sum v0\ns1 = div 1.0, s1\npass:\nv0 = load o2\nv0 = mul v0, s1\nstore o2, v0\n";
            out(F32);
            break;
        case 3: {  // quantised rows and their scales
            text +=
                "v0 = abs v0\ns0 = reduce_max v0\ns1 = div 127.0, s0\nstore o3, s0\npass:\nv0 = load o7\n"
                "v0 = mul v0, s1\nstore o2, v0\n";
            out(S8);
            sidra_operand scale{};
            scale.type = F32, scale.flags = SIDRA_OPERAND_WRITE;
            scale.stride[2] = 4, scale.stride[1] = 4 * c.m, scale.stride[0] = scale.stride[1] * c.batch[1];
            scale.addr = room.take(uint64_t{4} * c.m * c.batch[1] * c.batch[0]);
            add(scale);
            break;
        }
        case 4: {  // accumulates rows at indices, which repeat
            text += "v1 = load o2\nv0 = add v0, v1\nstore o2, v0\n";
            sidra_operand rows{};
            rows.type = F32, rows.flags = SIDRA_OPERAND_WRITE, rows.index_type = S32;
            rows.extent = between(random, 1, 9);
            rows.stride[3] = 4, rows.stride[2] = uint64_t{4} * c.n;
            rows.addr = room.take_floats(uint64_t{c.n} * rows.extent);
            rows.index = room.take_indices(uint64_t{c.m} * c.batch[0] * c.batch[1], rows.extent);
            add(rows);
            break;
        }
        case 5: {  // to columns in another order, some of them twice
            text += "v1 = load_int o2\nscatter o3, v0, v1\n";
            sidra_operand indices{}, to{};
            to.type = F32, to.flags = SIDRA_OPERAND_WRITE, to.extent = between(random, 1, 40);
            indices.type = S32, indices.stride[3] = 4, indices.addr = room.take_indices(c.n, to.extent);
            to.stride[3] = 4;
            if (random() % 2 != 0) to.stride[2] = uint64_t{4} * to.extent;  // else all rows are one
            to.addr = room.take(uint64_t{4} * to.extent * c.m);
            add(indices);
            add(to);
            break;
        }
        case 6:  // depends on the numbers of rows and columns
            text +=
                "v1 = to_float column\nv0 = add v0, v1\nv1 = to_float row\nv0 = fma v1, 0.5, v0\n"
                "v1 = random row, p1, 3\nv1 = to_float v1\nv0 = fma v1, 0.000001, v0\nstore o2, v0\n";
            out(F32);
            break;
        case 7: {  // adds to what is there
            text += "v1 = load o2\nv0 = add v0, v1\nstore o2, v0\n";
            out(random() % 2 != 0 ? F32 : BF16);
            break;
        }
        case 8: {  // gathers
            text += "v1 = load_int o2\nv1 = gather o3, v1\nv0 = mul v0, v1\nstore o4, v0\n";
            sidra_operand indices{}, from{};
            from.type = F32, from.extent = between(random, 1, 40), from.stride[3] = 4;
            indices.type = S32, indices.stride[3] = 4, indices.addr = room.take_indices(c.n, from.extent);
            from.addr = room.take_floats(from.extent);
            add(indices);
            add(from);
            out(F32);
            break;
        }
        default:  // sums of rows only, and nothing of the sums
            text = random() % 4 == 0 ? "pass:\nv0 = to_float column\ns0 = reduce_sum v0\nstore o2, s0\n"
                                     : std::string(kLoad) + "s0 = reduce_sum v0\nstore o2, s0\n";
            sidra_operand sums{};
            sums.type = F32, sums.flags = SIDRA_OPERAND_WRITE;
            sums.stride[2] = 4, sums.stride[1] = 4 * c.m, sums.stride[0] = sums.stride[1] * c.batch[1];
            sums.addr = room.take(uint64_t{4} * c.m * c.batch[1] * c.batch[0]);
            add(sums);
            break;
    }
    c.program = assemble(text);
    c.param = {f32_bits(0.01f), 77, 0, 0};
    c.memory = Memory(0, room.bytes_);
}

void add_factors(Case& c, bool integer, Random& random) {
    static constexpr uint8_t kReal[] = {F32, F32, F32, F16, BF16}, kBytes[] = {U8, S8};
    for (const bool second : {false, true}) {
        const uint8_t type = integer ? kBytes[random() % 2] : kReal[random() % std::size(kReal)];
        const Size size = second ? c.b_size() : c.a_size();
        c.operands.push_back(factor(type, size, random));
        (second ? c.b : c.a) = factor_bytes(c.operands.back(), size, random);
    }
}

Case random_case(Random& random) {
    Case c;
    c.batch = {random() % 3 == 0 ? between(random, 1, 3) : 1, random() % 2 == 0 ? between(random, 1, 4) : 1};
    c.m = between(random, 1, random() % 2 != 0 ? 5 : 60);
    c.n = between(random, 1, random() % 2 != 0 ? 20 : 150);
    c.k = between(random, 1, random() % 2 != 0 ? 9 : 120);
    add_factors(c, random() % 2 != 0, random);
    add_program(c, static_cast<int>(random() % kPrograms), random);
    return c;
}

// The packet in the memory of a context.
class Placed {
   public:
    Placed(Context& context, const Case& c) : context_(context), bytes_(c.memory.bytes().size()) {
        memory_ = context.put(c.memory.bytes());
        operands_ = c.operands;
        for (size_t n = 2; n < operands_.size(); n++) {
            operands_[n].addr += memory_;
            if (operands_[n].index_type) operands_[n].index += memory_;
        }
        operands_[0].addr = context.put(c.a);
        operands_[1].addr = context.put(c.b);
        cmd_ = blank(SIDRA_CMD_MATMUL);
        sidra_cmd_matmul& p = cmd_.matmul;
        p.operands = context.put(operands_);
        p.program = context.put(c.program);
        p.m = c.m, p.n = c.n, p.k = c.k;
        p.batch[0] = c.batch[0], p.batch[1] = c.batch[1];
        std::copy(c.param.begin(), c.param.end(), p.param);
        p.instructions = static_cast<uint16_t>(c.program.size());
        p.operand_count = static_cast<uint16_t>(operands_.size());
    }

    sidra_cmd& cmd() { return cmd_; }
    // To change them in the context's memory.
    std::vector<sidra_operand>& operands() { return operands_; }
    void store_operands() {
        context_.write(cmd_.matmul.operands, operands_.data(), operands_.size() * sizeof operands_[0]);
    }
    std::vector<uint8_t> memory() const { return context_.get<uint8_t>(memory_, bytes_); }
    void reset_memory(const Case& c) { context_.write(memory_, c.memory.bytes().data(), bytes_); }

   private:
    Context& context_;
    uint64_t bytes_, memory_;
    sidra_cmd cmd_;
    std::vector<sidra_operand> operands_;
};

// What the memory of the program is afterwards.
std::vector<uint8_t> expected(const Case& c) {
    Memory memory = c.memory;
    auto operands = c.operands;
    // The reference takes an index at address 0 for none.
    constexpr uint64_t kBase = 4096;
    Memory moved(kBase, memory.bytes());
    for (size_t n = 2; n < operands.size(); n++) {
        operands[n].addr += kBase;
        if (operands[n].index_type) operands[n].index += kBase;
    }
    EXPECT_FALSE(execute(c.program, operands, c.size(), c.param, moved, product(c)));
    return moved.bytes();
}

std::string describe(const Case& c) {
    std::string text = std::to_string(c.batch[0]) + "x" + std::to_string(c.batch[1]) + " products " +
                       std::to_string(c.m) + "x" + std::to_string(c.k) + "x" + std::to_string(c.n) + "\n";
    for (const sidra_operand& o : c.operands) {
        text += "type " + std::to_string(o.type) + " at " + std::to_string(o.addr) + " strides";
        for (const uint64_t stride : o.stride) text += " " + std::to_string(stride);
        text += "\n";
    }
    return text + program::disassemble(c.program);
}

void check_same(const Case& c, const std::vector<uint8_t>& want, const std::vector<uint8_t>& found) {
    for (size_t i = 0; i < want.size(); i++)
        ASSERT_EQ(uint32_t{want[i]}, uint32_t{found[i]}) << "byte " << i << " of " << want.size() << "\n"
                                                         << describe(c);
}

BenchOptions options(const Host& host) {
    return {.engine = host.engine, .workers = host.workers, .scatter = host.scatter, .pages = 1u << 15};
}

void check(Bench& bench, Queue& queue, const Case& c) {
    Placed placed(queue.context(), c);
    queue.submit(placed.cmd());
    bench.run();
    ASSERT_TRUE(retired(queue)) << describe(c);
    check_same(c, expected(c), placed.memory());
}

class Matmul : public ::testing::TestWithParam<Host> {};

TEST_P(Matmul, IsTheReference) {
    constexpr int kCases = 40;
    for (int b = 0; b < static_cast<int>(rounds(kSanitized ? 2 : 6)); b++) {
        Bench bench(options(GetParam()));
        Queue& queue = bench.context().queue();
        for (int n = 0; n < kCases; n++) {
            SCOPED_TRACE("bench " + std::to_string(b) + " case " + std::to_string(n));
            Random random(static_cast<uint64_t>(b * kCases + n) * 1'000'003 + GetParam().engine);
            check(bench, queue, random_case(random));
            if (HasFatalFailure()) return;
        }
    }
}

// Each program on products that take several units, by rows, by columns and by products, and whose factors are copied
// in several blocks if they have to be.
TEST_P(Matmul, SeveralUnitsAndBlocks) {
    struct Shape {
        std::array<uint32_t, 2> batch;
        uint32_t m, n, k;
    };
    constexpr Shape kShapes[] = {{{1, 1}, 3, 3000, 400},
                                 {{1, 1}, 2000, 40, 30},
                                 {{3, 70}, 9, 33, 40},
                                 {{1, 2}, 1, 700, 2000},
                                 {{2, 1}, 260, 300, 17}};
    Random random(GetParam().engine + 5);
    for (const Shape& shape : kShapes)
        for (int program = 0; program < kPrograms; program++) {
            if (program % 3 != static_cast<int>(random() % 3)) continue;
            Case c;
            c.batch = shape.batch, c.m = shape.m, c.n = shape.n, c.k = shape.k;
            add_factors(c, program % 2 != 0, random);
            add_program(c, program, random);
            Bench bench(options(GetParam()));
            check(bench, bench.context().queue(), c);
            if (HasFatalFailure()) return;
        }
}

INSTANTIATE_TEST_SUITE_P(Engines, Matmul, ::testing::ValuesIn(hosts()), host_name);

// Dense matrices, and a program that stores the sums.
Case plain(uint32_t m, uint32_t n, uint32_t k, uint8_t type, Random& random, bool transposed_b = false) {
    Case c;
    c.m = m, c.n = n, c.k = k;
    for (const bool second : {false, true}) {
        sidra_operand o{};
        o.type = type;
        const Size size = second ? c.b_size() : c.a_size();
        lay_out(o, size, second && transposed_b ? std::array{2, 3, 1, 0} : std::array{3, 2, 1, 0}, random, false);
        c.operands.push_back(o);
        (second ? c.b : c.a) = factor_bytes(o, size, random);
    }
    sidra_operand out{};
    const bool integer = bytes_of(type) == 1;
    out.type = integer ? S32 : F32, out.flags = SIDRA_OPERAND_WRITE;
    lay_out(out, c.size(), {3, 2, 1, 0}, random, false);
    c.operands.push_back(out);
    c.program =
        assemble(integer ? "pass:\nv0 = load_int o7\nstore_int o2, v0\n" : "pass:\nv0 = load o7\nstore o2, v0\n");
    c.memory = Memory(0, std::vector<uint8_t>(extent(out, c.size())));
    return c;
}

// The chip remembers what it has prepared for a packet. Queues of two contexts submit the same packet again and again,
// while its program, its operands, its parameters and the pages of all of them change.
TEST_P(Matmul, APacketThatComesAgainDoesWhatMemorySaysNow) {
    Bench bench(options(GetParam()));
    Random random(11 + GetParam().engine);
    const std::vector<sidra_vector_instruction> programs[] = {
        assemble("pass:\nv0 = load o7\nv0 = mul v0, p0\nstore o2, v0\n"),
        assemble("pass:\nv0 = load o7\nv0 = add v0, p0\nstore o2, v0\n")};
    struct Place {
        Context& context;
        Queue& queue;
        Case c;
        Placed placed;
    };
    std::vector<Place> places;
    for (uint32_t i = 0; i < 2; i++) {
        Context& context = bench.context();
        Case c = plain(3, 20, 7, F32, random);
        c.program = programs[0];
        c.memory = Memory(0, std::vector<uint8_t>(size_t{3} * 20 * 8));
        places.push_back({context, context.queue(), c, Placed(context, c)});
    }
    ASSERT_EQ(places[0].placed.cmd().matmul.operands, places[1].placed.cmd().matmul.operands) << "equal packets";
    for (uint32_t n = 0; n < 80; n++) {
        Place& place = places[random() % places.size()];
        auto& [context, queue, c, placed] = place;
        sidra_cmd_matmul& packet = placed.cmd().matmul;
        const bool refused = random() % 8 == 0;
        const uint64_t pages[] = {packet.program, packet.operands, placed.operands()[random() % 3].addr};
        if (random() % 2) context.move_page(pages[random() % std::size(pages)]);
        c.program = programs[random() % std::size(programs)];
        c.m = packet.m = between(random, 2, 3);
        c.param[0] = packet.param[0] = f32_bits(static_cast<float>(random() % 5));
        const bool transposed = random() % 2;
        c.operands[1].stride[2] = 4 * (transposed ? 1 : c.n);
        c.operands[1].stride[3] = 4 * (transposed ? c.k : 1);
        c.operands[2].stride[3] = random() % 2 ? 8 : 4;
        c.operands[2].stride[2] = c.operands[2].stride[3] * c.n;
        for (size_t o = 0; o < 3; o++) {
            const uint64_t at = placed.operands()[o].addr;
            placed.operands()[o] = c.operands[o];
            placed.operands()[o].addr = at;
        }
        if (refused) placed.operands()[2].flags = 0;
        placed.store_operands();
        context.write(packet.program, c.program.data(), c.program.size() * sizeof c.program[0]);
        placed.reset_memory(c);
        const uint64_t at = queue.submit(placed.cmd());
        bench.run();
        SCOPED_TRACE(n);
        if (refused) {
            ASSERT_TRUE(faulted(queue, at, placed.cmd(), {{SIDRA_FAULT_PROGRAM}}));
            queue.reset();
        } else {
            ASSERT_TRUE(retired(queue)) << describe(c);
        }
        check_same(c, refused ? c.memory.bytes() : expected(c), placed.memory());
        if (HasFatalFailure()) return;
    }
}

// The longest sums, whose factors are copied in several blocks of k, or of columns.
TEST(MatmulBlocks, LongestSums) {
    Random random(3);
    for (const uint8_t type : {F32, S8, U8})
        for (const bool transposed : {false, true}) {
            Bench bench({.workers = 2, .pages = 1u << 15});
            check(bench, bench.context().queue(), plain(2, 70, SIDRA_MATMUL_INNER_MAX, type, random, transposed));
        }
}

// Between the rows of a factor there may be pages that are not mapped; but not in a row.
TEST(MatmulMemory, GapsNeedNotBeMapped) {
    Random random(4);
    for (const bool broken : {false, true}) {
        Bench bench({.scatter = true});
        Context& context = bench.context();
        Queue& queue = context.queue();
        Case c = plain(5, 9, 30, F32, random);
        Placed placed(context, c);
        // Row i of B at the end of page 2 i.
        const uint64_t base = context.reserve(61 * kPage);
        for (uint32_t i = 0; i < c.k; i++) {
            context.map(base + 2 * i * kPage, bench.bus().alloc_page());
            context.write(base + 2 * i * kPage + kPage - 36, &c.b[i * 36], 36);
        }
        placed.operands()[1].addr = base + kPage - 36 + (broken ? 4 : 0);
        placed.operands()[1].stride[2] = 2 * kPage;
        placed.store_operands();
        const uint64_t at = queue.submit(placed.cmd());
        bench.run();
        if (broken) {
            EXPECT_TRUE(faulted(queue, at, placed.cmd(), {{SIDRA_FAULT_TRANSLATION}}, base + kPage));
        } else {
            ASSERT_TRUE(retired(queue));
            check_same(c, expected(c), placed.memory());
        }
    }
}

TEST(MatmulMemory, RightsAreThoseOfThePages) {
    Random random(5);
    for (const size_t operand : {0, 1, 2}) {
        Bench bench;
        Context& context = bench.context();
        Queue& queue = context.queue();
        const Case c = plain(5, 9, 30, F32, random);
        Placed placed(context, c);
        const uint64_t at = context.alloc(2 * kPage, operand == 2 ? kRead : kWrite);
        placed.operands()[operand].addr = at;
        placed.store_operands();
        const uint64_t index = queue.submit(placed.cmd());
        bench.run();
        EXPECT_TRUE(faulted(queue, index, placed.cmd(), {{SIDRA_FAULT_PERMISSION}}, at));
    }
}

// ---- Refusals

struct Refusal {
    const char* name;
    void (*change)(sidra_cmd_matmul& p, std::vector<sidra_operand>& operands);
    uint32_t cause;
    uint32_t why = SIDRA_PROGRAM_OK, operand = SIDRA_PROGRAM_NONE;
};
using P = sidra_cmd_matmul&;
using O = std::vector<sidra_operand>&;
constexpr uint64_t kFar = uint64_t{1} << SIDRA_VA_BITS;

constexpr uint32_t kProgram = SIDRA_FAULT_PROGRAM;
// The packet is 5 x 30 x 9, f32, with an output.
const Refusal kRefusals[] = {
    {"flags", [](P p, O) { p.hdr.flags = 1; }, SIDRA_FAULT_FIELD},
    {"pad", [](P p, O) { p.hdr.pad = 1; }, SIDRA_FAULT_FIELD},
    {"program misaligned", [](P p, O) { p.program += 8; }, SIDRA_FAULT_ALIGNMENT},
    {"operands misaligned", [](P p, O) { p.operands += 4; }, SIDRA_FAULT_ALIGNMENT},
    {"program out of range", [](P p, O) { p.program = kFar; }, SIDRA_FAULT_LIMIT},
    {"no m", [](P p, O) { p.m = 0; }, kProgram, SIDRA_PROGRAM_SIZE},
    {"no n", [](P p, O) { p.n = 0; }, kProgram, SIDRA_PROGRAM_SIZE},
    {"no k", [](P p, O) { p.k = 0; }, kProgram, SIDRA_PROGRAM_SIZE},
    {"no outer products", [](P p, O) { p.batch[0] = 0; }, kProgram, SIDRA_PROGRAM_SIZE},
    {"no products", [](P p, O) { p.batch[1] = 0; }, kProgram, SIDRA_PROGRAM_SIZE},
    {"k too large", [](P p, O) { p.k = SIDRA_MATMUL_INNER_MAX + 1; }, kProgram, SIDRA_PROGRAM_SIZE},
    {"too many rows", [](P p, O) { p.m = p.batch[0] = 1u << 16; }, kProgram, SIDRA_PROGRAM_SIZE},
    {"n too large", [](P p, O) { p.n = SIDRA_VECTOR_SIZE_MAX + 1; }, kProgram, SIDRA_PROGRAM_SIZE},
    {"no instructions", [](P p, O) { p.instructions = 0; }, kProgram, SIDRA_PROGRAM_LENGTH},
    {"too many instructions", [](P p, O) { p.instructions = 65; }, kProgram, SIDRA_PROGRAM_LENGTH},
    {"too many operands", [](P p, O) { p.operand_count = 9; }, kProgram, SIDRA_PROGRAM_LENGTH},
    {"one factor", [](P p, O) { p.operand_count = 1; }, kProgram, SIDRA_PROGRAM_LENGTH},
    {"no output", [](P p, O) { p.operand_count = 2; }, kProgram, SIDRA_PROGRAM_OPERAND, 2},
    {"A of s32", [](P, O o) { o[0].type = S32; }, kProgram, SIDRA_PROGRAM_OPERAND_TYPE, 0},
    {"A of no type", [](P, O o) { o[0].type = 77; }, kProgram, SIDRA_PROGRAM_OPERAND_TYPE, 0},
    {"B of bytes", [](P, O o) { o[1].type = S8; }, kProgram, SIDRA_PROGRAM_OPERAND_TYPE, 1},
    {"A written", [](P, O o) { o[0].flags = SIDRA_OPERAND_WRITE; }, kProgram, SIDRA_PROGRAM_OPERAND_FIELD, 0},
    {"B indexed", [](P, O o) { o[1].index = 4096, o[1].index_type = S32, o[1].extent = 1; }, kProgram,
     SIDRA_PROGRAM_OPERAND_FIELD, 1},
    {"B with extent", [](P, O o) { o[1].extent = 1; }, kProgram, SIDRA_PROGRAM_OPERAND_FIELD, 1},
    {"A padded", [](P, O o) { o[0].pad = 1; }, kProgram, SIDRA_PROGRAM_OPERAND_FIELD, 0},
    {"A without lines", [](P, O o) { o[0].stride[2] = 1024, o[0].stride[3] = 8; }, kProgram,
     SIDRA_PROGRAM_OPERAND_FIELD, 0},
    {"B without lines", [](P, O o) { o[1].stride[2] = 1024, o[1].stride[3] = 8; }, kProgram,
     SIDRA_PROGRAM_OPERAND_FIELD, 1},
    {"A misaligned", [](P, O o) { o[0].addr += 2; }, kProgram, SIDRA_PROGRAM_OPERAND_ALIGNMENT, 0},
    {"stride of B misaligned", [](P, O o) { o[1].stride[2] += 2; }, kProgram, SIDRA_PROGRAM_OPERAND_ALIGNMENT, 1},
    {"A out of range", [](P, O o) { o[0].addr = kFar - 4; }, kProgram, SIDRA_PROGRAM_OPERAND_RANGE, 0},
    {"B wraps", [](P, O o) { o[1].stride[2] = uint64_t{1} << 62; }, kProgram, SIDRA_PROGRAM_OPERAND_RANGE, 1},
    {"output out of range", [](P, O o) { o[2].addr = kFar - 4; }, kProgram, SIDRA_PROGRAM_OPERAND_RANGE, 2},
    {"output over A", [](P, O o) { o[2].addr = o[0].addr + 5 * 30 * 4 - 4; }, kProgram, SIDRA_PROGRAM_OPERAND_OVERLAP,
     2},
    {"output over B", [](P, O o) { o[2].addr = o[1].addr - 5 * 9 * 4 + 4; }, kProgram, SIDRA_PROGRAM_OPERAND_OVERLAP,
     2},
    {"output over a gap of A", [](P, O o) { o[0].stride[2] = 8192, o[2].addr = o[0].addr + 4096; }, kProgram,
     SIDRA_PROGRAM_OPERAND_OVERLAP, 2},
};

TEST(MatmulRefusal, OfEachKind) {
    Random random(6);
    const Case c = plain(5, 9, 30, F32, random);
    Bench bench;
    Context& context = bench.context();
    Queue& queue = context.queue();
    for (const Refusal& refusal : kRefusals) {
        SCOPED_TRACE(refusal.name);
        Placed placed(context, c);
        refusal.change(placed.cmd().matmul, placed.operands());
        const uint64_t table = placed.cmd().matmul.operands / 8 * 8;
        context.write(table, placed.operands().data(), placed.operands().size() * sizeof(sidra_operand));
        const uint64_t at = queue.submit(placed.cmd());
        bench.run();
        const auto cause = static_cast<sidra_fault_cause>(refusal.cause);
        if (refusal.cause == SIDRA_FAULT_PROGRAM) {
            const uint32_t instruction = refusal.why == SIDRA_PROGRAM_OPERAND ? 1 : SIDRA_PROGRAM_NONE;
            EXPECT_TRUE(faulted(queue, at, placed.cmd(), {{cause}},
                                SIDRA_PROGRAM_FAULT(refusal.why, instruction, refusal.operand)));
        } else {
            EXPECT_TRUE(faulted(queue, at, placed.cmd(), {{cause}}));
        }
        EXPECT_EQ(c.memory.bytes(), placed.memory());
        queue.reset();
    }
}

// What is right at the border of these rules.
TEST(MatmulRefusal, NotOfWhatIsAllowed) {
    Random random(7);
    Bench bench;
    Context& context = bench.context();
    Queue& queue = context.queue();
    struct Allowed {
        const char* name;
        void (*change)(sidra_cmd_matmul& p, std::vector<sidra_operand>& operands);
    };
    // A, B and the output are two pages apart.
    const Allowed all[] = {
        {"factors that are the same", [](P p, O o) { p.m = p.n = p.k = 5, o[1].addr = o[0].addr; }},
        {"output just behind A", [](P, O o) { o[0].addr = o[2].addr - 5 * 30 * 4; }},
        {"output just before B", [](P, O o) { o[1].addr = o[2].addr + 5 * 9 * 4; }},
        {"one column of A, with any stride", [](P p, O o) { p.k = 1, o[0].stride[2] = 64, o[0].stride[3] = 1 << 20; }},
        {"one row of B, elements apart", [](P p, O o) { p.k = 1, o[1].stride[3] = 8; }},
        {"elements of A repeated, rows apart", [](P, O o) { o[0].stride[2] = 64, o[0].stride[3] = 0; }}};
    for (const Allowed& allowed : all) {
        SCOPED_TRACE(allowed.name);
        Placed placed(context, plain(5, 9, 30, F32, random));
        const uint64_t room = context.alloc(6 * kPage);
        for (size_t n = 0; n < 3; n++) placed.operands()[n].addr = room + n * 2 * kPage;
        allowed.change(placed.cmd().matmul, placed.operands());
        placed.store_operands();
        queue.submit(placed.cmd());
        bench.run();
        ASSERT_TRUE(retired(queue));
    }
}

// An index array is only read: it may be inside a factor.
TEST(MatmulRefusal, NotOfIndicesInAFactor) {
    Random random(8);
    Bench bench;
    Context& context = bench.context();
    Queue& queue = context.queue();
    Case c = plain(4, 9, 8, F32, random);
    std::fill(c.a.begin(), c.a.end(), uint8_t{0});  // four indices that are 0
    Placed placed(context, c);
    sidra_operand& out = placed.operands()[2];
    out.index = placed.operands()[0].addr, out.index_type = S32, out.extent = 1;
    placed.store_operands();
    queue.submit(placed.cmd());
    bench.run();
    ASSERT_TRUE(retired(queue));
}

TEST(MatmulRefusal, OfLongRowsThatCannotBeDivided) {
    for (const uint32_t n : {SIDRA_MATMUL_ROW_MAX, SIDRA_MATMUL_ROW_MAX + 1}) {
        Random random(9);
        Bench bench({.pages = 1u << 15});
        Queue& queue = bench.context().queue();
        Case c = plain(1, n, 2, S8, random);
        c.program = assemble("pass:\nv0 = load o7\ns0 = reduce_max v0\nv0 = mul v0, 2.0\nstore o2, v0\n");
        // One pass: the scalar is written, and not read.
        Placed placed(queue.context(), c);
        const uint64_t at = queue.submit(placed.cmd());
        bench.run();
        if (n > SIDRA_MATMUL_ROW_MAX)
            EXPECT_TRUE(faulted(queue, at, placed.cmd(), {{SIDRA_FAULT_PROGRAM}},
                                SIDRA_PROGRAM_FAULT(SIDRA_PROGRAM_ROW_COST, SIDRA_PROGRAM_NONE, SIDRA_PROGRAM_NONE)));
        else ASSERT_TRUE(retired(queue));
    }
}

TEST(MatmulIndex, OutsideFaults) {
    Random random(10);
    Bench bench;
    Queue& queue = bench.context().queue();
    Case c = plain(4, 9, 8, F32, random);
    Placed placed(queue.context(), c);
    sidra_operand& out = placed.operands()[2];
    out.index = queue.context().put(std::vector<int32_t>{0, 1, -7, 0}), out.index_type = S32, out.extent = 2;
    placed.store_operands();
    const uint64_t at = queue.submit(placed.cmd());
    bench.run();
    EXPECT_TRUE(faulted(queue, at, placed.cmd(), {{SIDRA_FAULT_VALUE}}, static_cast<uint64_t>(int64_t{-7})));
}

// ---- In the middle of packets

// A long product that adds to what is there: done twice, it would show.
Case accumulating(Random& random, uint8_t type) {
    Case c = plain(300, 512, 700, type, random);
    c.operands[2].type = F32;
    c.program = assemble("pass:\nv0 = load o7\nv1 = load o2\nv0 = add v0, v1\nstore o2, v0\n");
    return c;
}

TEST(MatmulSave, HalfDoneGoesOnBitExact) {
    Random random(11);
    const Case c = accumulating(random, S8);
    const auto want = expected(c);
    const auto engines = available_engines();
    unsigned middles = 0;
    for (unsigned slices = 1; slices <= 6; slices++) {
        SCOPED_TRACE(slices);
        Bench bench({.engine = engines[slices % engines.size()], .pages = 1u << 15});
        Context& context = bench.context();
        Queue &queue = context.queue(), &other = context.queue();
        Placed placed(context, c);
        queue.submit(placed.cmd());
        for (unsigned i = 0; i < slices; i++) {
            other.submit(nop());  // so that a slice ends in the middle
            bench.run_once();
        }
        const uint64_t progress = queue.state().progress;
        middles += queue.timeline() == 0 && progress > 0;
        const Stream stream = save(bench);
        bench.replace_chip();
        ASSERT_EQ(load(bench, stream), "");
        bench.run();
        ASSERT_TRUE(retired(queue));
        check_same(c, want, placed.memory());
        if (HasFatalFailure()) return;
    }
    EXPECT_GT(middles, 1u) << "the test has looked at nothing";
}

class MatmulMidFlight : public ::testing::Test {
   protected:
    Random random{12};
    Bench bench{{.engine = SIDRA_CHIP_ENGINE_SCALAR, .workers = 2, .pages = 1u << 15}};
    Context& context = bench.context();
    Queue& queue = context.queue();
    Case c = accumulating(random, F32);
    Placed placed{context, c};

    // Returns false if the packet has retired.
    bool wait_until_it_works() {
        const uint64_t begin = queue.state().progress;
        while (queue.timeline() == 0 && queue.state().progress < begin + 1) std::this_thread::yield();
        return queue.timeline() == 0;
    }
};

// Races with the chip's loads on purpose, and is hidden from TSan, so that it still reports the chip's own races.
__attribute__((no_sanitize("thread"), noinline)) void racy_store(uint8_t* at, uint64_t value) {
    *reinterpret_cast<volatile uint64_t*>(at) = value;
}

// The factors change while the chip reads them: the values are anything, and nothing else happens.
TEST_F(MatmulMidFlight, FactorsAreRewritten) {
    const auto before = placed.memory();
    const uint64_t factors[] = {placed.operands()[0].addr, placed.operands()[1].addr};
    std::vector<uint8_t*> pages;
    for (const uint64_t factor : factors)
        for (uint64_t page = 0; page < 64; page++)
            pages.push_back(bench.bus().storage(context.space().raw(factor + page * kPage).address));
    bench.start_threads(1);
    std::atomic<bool> stop{false};
    std::thread writer([&] {
        Random values(1);
        while (!stop.load(std::memory_order_relaxed)) {
            uint8_t* const page = pages[values() % pages.size()];
            for (uint64_t i = 0; i < kPage; i += 8) racy_store(page + i, values());
        }
    });
    for (int i = 0; i < 4; i++) {
        queue.submit(placed.cmd());
        EXPECT_TRUE(bench.wait(queue, queue.next()));
    }
    stop.store(true);
    writer.join();
    bench.stop_threads();
    EXPECT_TRUE(retired(queue));
    EXPECT_NE(before, placed.memory());
}

TEST_F(MatmulMidFlight, AResetEndsIt) {
    bench.start_threads(1);
    for (int i = 0; i < 5; i++) {
        queue.submit(placed.cmd());
        wait_until_it_works();
        queue.reset();
        const auto after = placed.memory();
        EXPECT_EQ(after, placed.memory()) << "a reset queue does not write";
    }
    queue.submit(nop());
    EXPECT_TRUE(bench.wait(queue, queue.next()));
    bench.stop_threads();
}

// Pages of a factor move away, and the product goes on with the other ones, which hold the same.
TEST_F(MatmulMidFlight, RangesAreQuiesced) {
    const auto want = expected(c);
    bench.start_threads(1);
    queue.submit(placed.cmd());
    unsigned moved = 0;
    for (uint64_t i = 0; wait_until_it_works(); i++) {
        const uint64_t va = placed.operands()[i % 2].addr / kPage * kPage + i / 2 % 100 * kPage;
        context.move_page(va);
        moved++;
    }
    EXPECT_GT(moved, 3u) << "the test has looked at nothing";
    ASSERT_TRUE(bench.wait(queue, queue.next()));
    bench.stop_threads();
    check_same(c, want, placed.memory());
}

}  // namespace
}  // namespace sidra::chip_test
