// SPDX-License-Identifier: MIT
// VECTOR on the chip against the second implementation in tests/vector, bit by bit, on all engines, with memory that is
// contiguous on the host and with pages in random order; and what the chip refuses.
#include <algorithm>
#include <bit>
#include <cstring>

#include "vector/random_program.h"
#include "vector/verify.h"

#include "hosts.h"
#include "packets.h"
#include "program/program_text.h"
#include "vectors.h"

namespace sidra::chip_test {
namespace {

using vector_reference::Packet;
using vector_reference::Random;

// A packet of the reference in the memory of a context.
class Placed {
   public:
    Placed(Context& context, const Packet& packet) : context_(context), bytes_(packet.memory.bytes().size()) {
        base_ = context.alloc(bytes_);
        context.write(base_, packet.memory.bytes().data(), bytes_);
        // Mutated addresses may be anything.
        std::vector<sidra_operand> operands = packet.operands;
        for (sidra_operand& o : operands) {
            o.addr += base_ - packet.memory.address();
            if (o.index) o.index += base_ - packet.memory.address();
        }
        cmd_ = blank(SIDRA_CMD_VECTOR);
        sidra_cmd_vector& v = cmd_.vector;
        v.instructions = static_cast<uint16_t>(packet.program.size());
        v.operand_count = static_cast<uint16_t>(operands.size());
        v.program = context.put(packet.program);
        if (!operands.empty()) v.operands = context.put(operands);
        std::copy(packet.size.begin(), packet.size.end(), v.size);
        std::copy(packet.param.begin(), packet.param.end(), v.param);
        operands_ = operands;
    }

    sidra_cmd& cmd() { return cmd_; }
    std::vector<sidra_operand>& operands() { return operands_; }
    std::vector<uint8_t> memory() const { return context_.get<uint8_t>(base_, bytes_); }

   private:
    Context& context_;
    size_t bytes_;
    uint64_t base_;
    sidra_cmd cmd_;
    std::vector<sidra_operand> operands_;
};

std::string first_difference(const std::vector<uint8_t>& expected, const std::vector<uint8_t>& found) {
    for (size_t i = 0; i < expected.size(); i++)
        if (expected[i] != found[i])
            return "byte " + std::to_string(i) + " of " + std::to_string(expected.size()) + ": expected " +
                   std::to_string(expected[i]) + ", is " + std::to_string(found[i]);
    return "";
}

// What a person needs to find a difference.
std::string describe(const Packet& packet) {
    std::string text = "size " + std::to_string(packet.size[0]) + " " + std::to_string(packet.size[1]) + " " +
                       std::to_string(packet.size[2]) + " " + std::to_string(packet.size[3]) + "\n";
    for (const sidra_operand& o : packet.operands) {
        text += "operand at byte " + std::to_string(o.addr - packet.memory.address()) + " type " +
                std::to_string(o.type) + " strides";
        for (const uint64_t stride : o.stride) text += " " + std::to_string(stride);
        text += " index " + std::to_string(o.index ? o.index - packet.memory.address() : 0) + " extent " +
                std::to_string(o.extent) + "\n";
    }
    return text + program::disassemble(packet.program);
}

class Vector : public ::testing::TestWithParam<Host> {};

constexpr int kPacketsOfABench = 40;

// Compares what the chip stores with what the reference does.
void compare(const Host& host, uint64_t seed, int benches) {
    for (int b = 0; b < benches; b++) {
        BenchOptions options;
        options.engine = host.engine;
        options.scatter = host.scatter;
        options.workers = host.workers;
        options.pages = 1u << 15;
        options.seed = seed + static_cast<uint64_t>(b) + 1;
        Bench bench(options);
        Context& context = bench.context();
        Queue& queue = context.queue();
        for (int n = 0; n < kPacketsOfABench; n++) {
            Random random(seed * 1'000'003 + static_cast<uint64_t>(b * kPacketsOfABench + n));
            Packet packet = vector_reference::random_packet(random);
            Placed placed(context, packet);
            const uint64_t at = queue.submit(placed.cmd());
            bench.run();
            const auto bad = execute(packet.program, packet.operands, packet.size, packet.param, packet.memory);
            const std::string where = "seed " + std::to_string(seed) + " bench " + std::to_string(b) + " packet " +
                                      std::to_string(n) + " engine " + std::to_string(host.engine);
            if (bad) {
                ASSERT_TRUE(faulted(queue, at, placed.cmd(), {{SIDRA_FAULT_VALUE}}, static_cast<uint64_t>(*bad)))
                    << where;
                queue.reset();
                continue;
            }
            ASSERT_TRUE(retired(queue)) << where;
            ASSERT_EQ("", first_difference(packet.memory.bytes(), placed.memory())) << where << "\n"
                                                                                    << describe(packet);
        }
    }
}

TEST_P(Vector, IsTheReference) {
    const Host host = GetParam();
    compare(host, 1 + host.engine + 10 * host.scatter, 2000 / kPacketsOfABench / static_cast<int>(kStep) + 1);
}

// What engines compute as one step, and such that looks like it: few registers, values with one reader and with
// several, loads in between that do and do not overwrite a source, sources of all kinds.
std::string random_chains(Random& random, uint32_t passes) {
    const auto one_of = [&](auto... texts) {
        const char* const all[] = {texts...};
        return std::string(all[random() % sizeof...(texts)]);
    };
    std::string text;
    uint32_t scalars = 0;
    for (uint32_t p = 0; p < passes; p++) {
        const auto vector = [&] { return one_of("v0", "v1", "v2"); };
        const auto any = [&] {
            if (scalars > 0 && random() % 3 == 0) return "s" + std::to_string(random() % scalars);
            return random() % 4 == 0 ? one_of("p0", "p1", "1.5", "-0.25", "0.0", "row") : vector();
        };
        text +=
            "pass:\nv0 = load o0\nv1 = load " + one_of("o2", "o3") + "\nv2 = load " + one_of("o0", "o2", "o3") + "\n";
        for (uint64_t n = 2 + random() % 6; n > 0; n--) {
            const std::string from = vector();
            switch (random() % 8) {
                case 0:
                    text += vector() + " = load " + one_of("o0", "o1", "o2", "o3") + "\n";
                    break;
                case 1:
                    text += "store " + one_of("o1", "o4") + ", " + from + "\n";
                    break;
                case 2: {  // a function with what surrounds it
                    std::string value = vector();
                    text += value + " = " + one_of("add ", "sub ", "mul ") + (random() % 2 ? from : any()) + ", " +
                            any() + "\n";
                    std::string result = random() % 2 ? value : vector();
                    text += result + " = " +
                            one_of("exp ", "tanh ", "sigmoid ", "silu ", "gelu ", "gelu_tanh ", "erf ") + value + "\n";
                    if (random() % 2) text += vector() + " = load " + one_of("o0", "o2", "o3") + "\n";
                    const std::string operation = one_of("add ", "mul ", "sub ");
                    text += vector() + " = " + operation +
                            (random() % 2 ? result + ", " + any() : any() + ", " + result) + "\n";
                    break;
                }
                case 3: {  // a normalisation
                    std::string value = vector();
                    text += value + " = sub " + from + ", " + any() + "\n";
                    std::string result = random() % 2 ? value : vector();
                    text += result + " = mul " + (random() % 2 ? value + ", " + any() : any() + ", " + value) + "\n";
                    if (random() % 2) text += vector() + " = load " + one_of("o2", "o3") + "\n";
                    if (random() % 2)
                        text += vector() + " = fma " + (random() % 2 ? result + ", " + any() : any() + ", " + result) +
                                ", " + any() + "\n";
                    break;
                }
                case 4:
                case 5: {  // reductions
                    std::string value = vector();
                    text += value + " = sub " + from + ", " + any() + "\n";
                    text += "s" + std::to_string(8 + random() % 2) + " = " +
                            (random() % 4 ? "reduce_dot " + value + ", " + value
                                          : one_of("reduce_sum ", "reduce_max ") + value) +
                            "\n";
                    break;
                }
                case 6:
                    text += vector() + " = " + one_of("exp ", "gelu ", "silu ") + from + "\n";
                    break;
                default:
                    text += vector() + " = " + one_of("add ", "mul ") + from + ", " + any() + "\n";
            }
        }
        text += "store " + one_of("o1", "o4") + ", " + vector() + "\ns" + std::to_string(scalars) + " = " +
                one_of("reduce_sum ", "reduce_max ") + vector() + "\n";
        scalars++;
    }
    return text;
}

// The arrays of such a program: o5 and o6 are integers, o3, o6 and o7 one row; sometimes an output is an input.
Packet chain_packet(Random& random, std::vector<sidra_vector_instruction> program, uint32_t operands) {
    constexpr uint64_t kBase = 0x10000;
    constexpr uint32_t kCols[] = {1, 5, 16, 31, 32, 48, 64, 128, 300, 512, 513, 768, 1024, 1100, 2500};
    Packet packet{std::move(program), {}, {1, 1, 1, 1}, {}, {kBase, {}}};
    packet.size[3] = kCols[random() % std::size(kCols)];
    packet.size[2] = static_cast<uint32_t>(1 + random() % (packet.size[3] < 200 ? 90 : 7));
    const uint64_t row = packet.size[3] * 4 + (random() % 3 == 0 ? 4 * (random() % 20) : 0);
    std::vector<uint8_t> bytes;
    for (uint32_t n = 0; n < operands; n++) {
        sidra_operand o{};
        const bool one_row = n == 3 || n >= 6;
        o.type = n == 5 || n == 6 ? SIDRA_TYPE_S32 : SIDRA_TYPE_F32;
        o.flags = n == 1 || n == 4 ? SIDRA_OPERAND_WRITE : 0;
        o.stride[3] = 4, o.stride[2] = one_row ? 0 : row;
        o.addr = kBase + bytes.size();
        if (n == 1 && random() % 4 == 0) o.addr = packet.operands[0].addr;
        else if (n == 5 && random() % 4 == 0) o.addr = packet.operands[1].addr;
        else bytes.resize((bytes.size() + row * (one_row ? 1 : packet.size[2]) + 63) / 64 * 64);
        packet.operands.push_back(o);
    }
    constexpr uint32_t kSpecial[] = {0x7fc00000, 0xffc12345, 0x7f800000, 0xff800000, 0x80000000, 0, 1, 0x42c80000};
    for (size_t i = 0; i + 4 <= bytes.size(); i += 4) {
        const float value = static_cast<float>(static_cast<int32_t>(random() % 20001) - 10000) / 2048.0f;
        uint32_t bits = random() % 300 == 0 ? kSpecial[random() % std::size(kSpecial)] : std::bit_cast<uint32_t>(value);
        std::memcpy(&bytes[i], &bits, 4);
    }
    for (uint32_t& p : packet.param) p = std::bit_cast<uint32_t>(static_cast<float>(random() % 100) / 64.0f);
    packet.memory = {kBase, std::move(bytes)};
    return packet;
}

// Runs a program on arrays of chain_packet(), and compares. Returns false if it is not a valid packet: it has more
// numbers than an instruction has room for, "row" as an f32, or an operand that nothing uses.
bool compare_chain(Bench& bench, Context& context, Queue& queue, Random& random, const std::string& text) {
    const auto assembly = program::assemble(text);
    const auto* const code = std::get_if<program::Code>(&assembly);
    if (code == nullptr) return false;
    const uint32_t operands = text.find("o7") == std::string::npos ? 5 : 8;
    Packet packet = chain_packet(random, code->instructions, operands);
    if (vector_reference::verify(packet.program, packet.operands, packet.size).why != SIDRA_PROGRAM_OK) return false;
    Placed placed(context, packet);
    queue.submit(placed.cmd());
    bench.run();
    EXPECT_FALSE(execute(packet.program, packet.operands, packet.size, packet.param, packet.memory).has_value());
    EXPECT_TRUE(retired(queue)) << text;
    EXPECT_EQ("", first_difference(packet.memory.bytes(), placed.memory())) << describe(packet);
    return true;
}

BenchOptions chain_options(const Host& host, int seed) {
    BenchOptions options;
    options.engine = host.engine;
    options.scatter = host.scatter;
    options.workers = host.workers;
    options.pages = 1u << 15;
    options.seed = static_cast<uint64_t>(seed);
    return options;
}

TEST_P(Vector, ChainsAreTheReference) {
    const Host host = GetParam();
    Random random(5 + host.engine * 2 + host.scatter);
    uint32_t compared = 0;
    for (int b = 0; b < 10 / static_cast<int>(kStep) + 1; b++) {
        Bench bench(chain_options(host, b + 1));
        Context& context = bench.context();
        Queue& queue = context.queue();
        for (int n = 0; n < kPacketsOfABench && !HasFailure(); n++)
            compared += compare_chain(bench, context, queue, random,
                                      random_chains(random, static_cast<uint32_t>(1 + random() % 3)));
    }
    EXPECT_GT(compared, 60u / kStep) << "the test has looked at nothing";
}

// What a product of codes is worth, as engines compute it in one step, and such that looks like it: values that others
// read, too, arrays that are written in between, and results in the place of a source.
std::string random_dequantisation(Random& random) {
    const auto sometimes = [&](const char* text) { return random() % 5 == 0 ? std::string(text) : std::string(); };
    const auto either = [&](const char* a, const char* b) { return std::string(random() % 2 ? a : b); };
    std::string text =
        "pass:\nv0 = load o0\ns0 = reduce_max v0\ns1 = reduce_min v0\ns2 = round s0\npass:\nv0 = load o5\nv1 = load "
        "o6\n";
    text += sometimes("v7 = load o2\nv7 = mul v7, 0.5\nstore o1, v7\n");
    text += either("v2 = fma v1, s2, v0\n", "v2 = fma s2, v1, v0\n") + sometimes("v7 = add v2, 1.0\nstore o4, v7\n");
    text += sometimes("v5 = load o2\n") + "v3 = load o3\n" + either("v4 = mul v3, s1\n", "v4 = mul s1, v3\n");
    text += sometimes("v7 = load o2\nv7 = exp v7\n") + sometimes("v4 = load o2\n") + "v5 = load o7\n";
    text += either("v6 = fma v2, v4, v5\n", "v6 = fma v4, v2, v5\n") + sometimes("v7 = add v0, v1\nstore o4, v7\n");
    text += sometimes("v7 = load o2\nv6 = add v6, v7\n") + sometimes("v6 = gelu v6\n");
    text += sometimes("v7 = add v5, v4\nstore o4, v7\n");
    return text + either("store o1, v6\n", "store o4, v6\n");
}

TEST_P(Vector, DequantisationIsTheReference) {
    const Host host = GetParam();
    Random random(7 + host.engine * 2 + host.scatter);
    uint32_t compared = 0;
    Bench bench(chain_options(host, 3));
    Context& context = bench.context();
    Queue& queue = context.queue();
    for (int n = 0; n < 400 / static_cast<int>(kStep) && !HasFailure(); n++)
        compared += compare_chain(bench, context, queue, random, random_dequantisation(random));
    EXPECT_GT(compared, 20u / kStep) << "the test has looked at nothing";
}

// Columns that cost so much that a unit has fewer of them than usual: each one follows a chain of indices.
TEST_P(Vector, CostlyColumnsAreTheReference) {
    constexpr uint64_t kBase = 0x10000;
    constexpr uint32_t kExtent = 1000, kRows = 2;
    const Host host = GetParam();
    std::string text = "pass:\nv0 = load_int o0\n";
    for (int i = 0; i < 18; i++) text += "v0 = gather_int o1, v0\n";
    const auto code = std::get<program::Code>(program::assemble(text + "store_int o2, v0\n")).instructions;
    Bench bench(chain_options(host, 4));
    Context& context = bench.context();
    Queue& queue = context.queue();
    Random random(8 + host.engine);
    for (const uint32_t cols : {4000u, 4096u, 9001u}) {
        Packet packet{code, std::vector<sidra_operand>(3), {1, 1, kRows, cols}, {}, {kBase, {}}};
        std::vector<int32_t> memory((2 * kRows + 1) * size_t{cols});
        for (int32_t& value : memory) value = static_cast<int32_t>(random() % kExtent);
        for (uint32_t n = 0; n < 3; n++) {
            sidra_operand& o = packet.operands[n];
            o.type = SIDRA_TYPE_S32;
            o.stride[3] = 4, o.stride[2] = n == 1 ? 0 : cols * 4;
            o.addr = kBase + (n == 0 ? 0 : kRows + n - 1) * cols * 4;
        }
        packet.operands[1].extent = kExtent;
        packet.operands[2].flags = SIDRA_OPERAND_WRITE;
        std::vector<uint8_t> bytes(memory.size() * 4);
        std::memcpy(bytes.data(), memory.data(), bytes.size());
        packet.memory = {kBase, std::move(bytes)};
        Placed placed(context, packet);
        queue.submit(placed.cmd());
        bench.run();
        ASSERT_FALSE(execute(packet.program, packet.operands, packet.size, packet.param, packet.memory).has_value());
        ASSERT_TRUE(retired(queue)) << cols;
        ASSERT_EQ("", first_difference(packet.memory.bytes(), placed.memory())) << cols;
    }
}

// The chip remembers what it has verified and decoded. Here the same programs come again and again, with operands of
// other types, strides and extents, and with other operands that are the same array.
TEST_P(Vector, AProgramMayComeAgainWithOtherOperands) {
    const Host host = GetParam();
    BenchOptions options;
    options.engine = host.engine;
    options.scatter = host.scatter;
    options.workers = host.workers;
    options.pages = 1u << 15;
    Bench bench(options);
    Context& context = bench.context();
    Queue& queue = context.queue();
    std::vector<std::vector<sidra_vector_instruction>> programs;
    for (const char* text :
         {"pass:\nv0 = load o0\nv1 = load o1\nv1 = add v0, v1\nv0 = load o1\nv1 = mul v0, v1\nstore o2, v1\n"
          "pass:\nv0 = load o0\nv0 = add v0, 1.0\nv1 = load o2\nv0 = mul v0, v1\nstore o2, v0\n",
          "pass:\nv0 = load_int o0\nv1 = gather o1, v0\nscatter o2, v1, v0\n",
          "pass:\nv0 = load o0\nv1 = load o1\nv0 = mul v0, v1\nstore o2, v0\n"})
        programs.push_back(std::get<program::Code>(program::assemble(text)).instructions);
    Random random(99 + host.engine * 2 + host.scatter);
    uint32_t computed = 0, refused = 0;
    for (int n = 0; n < 600 / static_cast<int>(kStep) + 100; n++) {
        constexpr uint64_t kBase = 0x10000;
        const size_t which = random() % programs.size();
        Packet packet{programs[which], {}, {1, 1, 1, 1}, {}, {kBase, {}}};
        packet.size[2] = static_cast<uint32_t>(1 + random() % 6);
        packet.size[3] = static_cast<uint32_t>(1 + random() % 40);
        const uint64_t elements = packet.size[2] * packet.size[3];
        constexpr uint8_t kTypes[] = {SIDRA_TYPE_F32, SIDRA_TYPE_S32, SIDRA_TYPE_F16, SIDRA_TYPE_U8};
        for (uint64_t o = 0; o < 3; o++) {
            const bool gathered = which == 1 && o > 0;
            sidra_operand operand{};
            operand.type = kTypes[random() % std::size(kTypes)];
            operand.flags = (o == 2) != (random() % 50 == 0) ? SIDRA_OPERAND_WRITE : 0;
            if (gathered) operand.extent = static_cast<uint32_t>(2 + random() % 9);
            const uint64_t bytes = element_size(operand.type);
            operand.stride[3] = o < 2 && !gathered && random() % 4 == 0 ? 0 : bytes;
            if (random() % 4 == 0 && !gathered) operand.stride[3] *= 2;
            operand.stride[2] = gathered ? 0 : std::max(operand.stride[3], bytes) * packet.size[3];
            operand.addr = kBase + o * elements * 8 * 2;
            packet.operands.push_back(operand);
        }
        // Mostly as an array of its own.
        for (const size_t o : {size_t{0}, size_t{1}})
            if (random() % 4 == 0) {
                const uint8_t flags = packet.operands[o].flags;
                packet.operands[o] = packet.operands[2];
                packet.operands[o].flags = flags;
                if (which == 1 && o == 0) packet.operands[o].extent = 0;
            }
        // Small integers, which are indices too, some of them out of range; or floats among them.
        std::vector<uint8_t> memory(elements * 8 * 2 * 3 + 256);
        for (size_t i = 0; i + 4 <= memory.size(); i += 4) {
            const float value = static_cast<float>(random() % 100) - 50;
            if (which != 1 && random() % 2) std::memcpy(&memory[i], &value, 4);
            else memory[i] = static_cast<uint8_t>(random() % 3);
        }
        packet.memory = {kBase, std::move(memory)};
        Placed placed(context, packet);
        const uint64_t at = queue.submit(placed.cmd());
        bench.run();
        const auto verdict = vector_reference::verify(packet.program, placed.operands(), packet.size);
        const std::string where = "packet " + std::to_string(n) + "\n" + describe(packet);
        if (verdict.why != SIDRA_PROGRAM_OK) {
            ASSERT_EQ(SIDRA_FAULT_PROGRAM, queue.state().fault.cause) << where;
            queue.reset();
            refused++;
            continue;
        }
        if (const auto bad = execute(packet.program, packet.operands, packet.size, packet.param, packet.memory)) {
            ASSERT_TRUE(faulted(queue, at, placed.cmd(), {{SIDRA_FAULT_VALUE}}, static_cast<uint64_t>(*bad))) << where;
            queue.reset();
            continue;
        }
        ASSERT_TRUE(retired(queue)) << where;
        ASSERT_EQ("", first_difference(packet.memory.bytes(), placed.memory())) << where;
        computed++;
    }
    EXPECT_GT(computed, 30u);
    EXPECT_GT(refused, 10u);
}

// The chip remembers what it has prepared for a packet. A queue submits the same packet again and again, while its
// program, its operands, its parameters, their pages and the context change.
TEST_P(Vector, APacketThatComesAgainDoesWhatMemorySaysNow) {
    constexpr uint32_t kCols = 40;
    const Host host = GetParam();
    BenchOptions options;
    options.engine = host.engine;
    options.scatter = host.scatter;
    options.workers = host.workers;
    Bench bench(options);
    struct Place {
        Context& context;
        Queue& queue;
        uint64_t in, program, operands;
    };
    std::vector<float> in(kCols);
    for (uint32_t i = 0; i < kCols; i++) in[i] = static_cast<float>(i) - 7;
    std::vector<std::vector<sidra_vector_instruction>> programs;
    for (const char* text : {"pass:\nv0 = load o0\nv1 = mul v0, p0\nstore o1, v1\n",
                             "pass:\nv0 = load o0\nv1 = add v0, p0\nstore o1, v1\n"})
        programs.push_back(std::get<program::Code>(program::assemble(text)).instructions);
    std::vector<Place> places;
    for (uint32_t i = 0; i < 2; i++) {
        Context& context = bench.context();
        const uint64_t from = context.put(in);
        const uint64_t program = context.put(programs[0]);
        places.push_back({context, context.queue(), from, program, context.alloc(2 * sizeof(sidra_operand))});
    }
    ASSERT_EQ(places[0].program, places[1].program) << "equal packets of two contexts";
    Random random(5 + host.engine * 2 + host.scatter);
    for (uint32_t n = 0; n < 60; n++) {
        const Place& place = places[random() % places.size()];
        const size_t which = random() % programs.size();
        const bool wide = random() % 2, refused = random() % 8 == 0;
        place.context.write(place.program, programs[which].data(),
                            programs[which].size() * sizeof(sidra_vector_instruction));
        const uint32_t stride = wide ? 2 : 1;
        const uint64_t out = place.context.put(std::vector<float>(kCols * 2, -1.0f));
        const uint64_t pages[] = {place.program, place.operands, place.in, out};
        if (random() % 2) place.context.move_page(pages[random() % std::size(pages)]);
        sidra_operand operands[2]{};
        for (sidra_operand& o : operands) o.type = SIDRA_TYPE_F32, o.stride[3] = 4;
        operands[0].addr = place.in;
        operands[1].addr = out;
        operands[1].stride[3] = 4 * stride;
        operands[1].flags = refused ? 0 : SIDRA_OPERAND_WRITE;
        place.context.write(place.operands, operands, sizeof operands);
        sidra_cmd cmd = blank(SIDRA_CMD_VECTOR);
        cmd.vector.program = place.program;
        cmd.vector.operands = place.operands;
        cmd.vector.instructions = static_cast<uint16_t>(programs[which].size());
        cmd.vector.operand_count = 2;
        std::fill(std::begin(cmd.vector.size), std::end(cmd.vector.size), 1u);
        cmd.vector.size[3] = random() % 2 ? kCols : kCols / 2;
        const auto param = static_cast<float>(random() % 5);
        cmd.vector.param[0] = std::bit_cast<uint32_t>(param);
        place.queue.submit(cmd);
        bench.run();
        std::vector<float> expected(kCols * 2, -1.0f);
        if (refused) {
            ASSERT_EQ(SIDRA_FAULT_PROGRAM, place.queue.state().fault.cause) << n;
            place.queue.reset();
        } else {
            ASSERT_TRUE(retired(place.queue)) << n;
            for (uint32_t i = 0; i < cmd.vector.size[3]; i++)
                expected[i * stride] = which == 0 ? in[i] * param : in[i] + param;
        }
        ASSERT_EQ(expected, place.context.get<float>(out, expected.size())) << n;
    }
}

// Small packets of one slice find their operands on pages that stay mapped. Here these pages change from packet to
// packet, an operand crosses pages now and then, and the last packet stores to a page that is only readable.
TEST_P(Vector, PacketsOfASliceHaveOperandsOnAnyPages) {
    constexpr uint32_t kPages = 5, kCols = 16, kPackets = 200;
    constexpr size_t kFloats = kPages * kPage / sizeof(float);
    const Host host = GetParam();
    BenchOptions options;
    options.engine = host.engine;
    options.scatter = host.scatter;
    options.workers = host.workers;
    Bench bench(options);
    Context& context = bench.context();
    Queue& queue = context.queue({.log2 = 10});
    Random random(7 + host.engine * 2 + host.scatter);
    std::vector<float> memory(kFloats);
    for (float& value : memory) value = static_cast<float>(random() % 100);
    const uint64_t at = context.put(memory);
    const uint64_t readable = context.put(std::vector<float>(kCols), kRead);
    const auto code =
        std::get<program::Code>(program::assemble("pass:\nv0 = load o0\nv1 = load o1\nv0 = add v0, v1\nstore o2, v0\n"))
            .instructions;
    sidra_cmd cmd = blank(SIDRA_CMD_VECTOR);
    cmd.vector.program = context.put(code);
    cmd.vector.instructions = static_cast<uint16_t>(code.size());
    cmd.vector.operand_count = 3;
    std::fill(std::begin(cmd.vector.size), std::end(cmd.vector.size), 1u);
    cmd.vector.size[3] = kCols;
    std::vector<sidra_cmd> packets;
    for (uint32_t n = 0; n <= kPackets; n++) {
        std::vector<sidra_operand> operands(3);
        size_t place[3];
        for (size_t o = 0; o < 3; o++) {
            // Apart from each other; sometimes at the end of a page, and behind it.
            const size_t third = kFloats / 3, near = kPage / sizeof(float) - kCols / 2;
            place[o] = o * third + (random() % 3 == 0 ? near : random() % (third - kCols));
            operands[o].type = SIDRA_TYPE_F32, operands[o].stride[3] = 4;
            operands[o].addr = at + place[o] * sizeof(float);
        }
        if (random() % 2) std::swap(operands[0].addr, operands[2].addr), std::swap(place[0], place[2]);
        operands[2].flags = SIDRA_OPERAND_WRITE;
        if (n == kPackets) operands[2].addr = readable;
        for (size_t i = 0; i < kCols && n < kPackets; i++)
            memory[place[2] + i] = memory[place[0] + i] + memory[place[1] + i];
        cmd.vector.operands = context.put(operands);
        packets.push_back(cmd);
    }
    uint64_t last = 0;
    for (const sidra_cmd& packet : packets) last = queue.submit(packet);
    bench.run();
    EXPECT_TRUE(faulted(queue, last, cmd, {{SIDRA_FAULT_PERMISSION}}, readable));
    EXPECT_EQ(memory, context.get<float>(at, kFloats));
}

// What is loaded and stored needs both rights, wherever the host has it.
TEST_P(Vector, MemoryThatIsLoadedAndStoredNeedsBothRights) {
    const Host host = GetParam();
    BenchOptions options;
    options.engine = host.engine;
    options.workers = host.workers;
    options.scatter = host.scatter;
    Bench bench(options);
    Context& context = bench.context();
    Queue& queue = context.queue();
    struct Size {
        uint32_t rows, cols;
    };
    constexpr uint64_t kBytes = 64 << 10;
    const uint64_t indices = context.alloc(kBytes), read = context.alloc(kBytes);
    for (const auto& [rows, cols] : {Size{1, 8}, Size{2, 3000}, Size{5, 1000}})
        for (const bool gathered : {false, true})
            for (const uint64_t rights : {kRead, kWrite, kReadWrite}) {
                SCOPED_TRACE(::testing::Message()
                             << rows << " x " << cols << (gathered ? " gathered " : " ") << rights);
                const uint64_t at = context.alloc(kBytes, rights);
                sidra_cmd cmd = gathered ? vector_rows(context,
                                                       "pass:\nv0 = load_int o0\nv1 = gather o1, v0\nstore o2, v1\n"
                                                       "pass:\nv0 = load_int o0\nv1 = load o2\nscatter o1, v1, v0\n",
                                                       rows, cols, {{indices, SIDRA_TYPE_S32}, {at}, {read}})
                                         : vector_rows(context, "pass:\nv0 = load o0\nv0 = add v0, 1.0\nstore o0, v0\n",
                                                       rows, cols, {{at}});
                if (gathered) {
                    auto table = context.get<sidra_operand>(cmd.vector.operands, 3);
                    table[1].extent = cols, table[1].flags = SIDRA_OPERAND_WRITE;
                    context.write(cmd.vector.operands, table.data(), table.size() * sizeof table[0]);
                }
                const uint64_t packet = queue.submit(cmd);
                bench.run();
                if (rights == kReadWrite) {
                    EXPECT_TRUE(retired(queue));
                } else {
                    EXPECT_TRUE(faulted(queue, packet, cmd, {{SIDRA_FAULT_PERMISSION}}, at));
                    queue.reset();
                }
            }
}

// Programs all of whose registers may be the memory of operands, of which engines compute several long rows at a time;
// and such that have one instruction too many for that.
TEST_P(Vector, SeveralLongRowsAreTheReference) {
    const Host host = GetParam();
    Random random(6 + host.engine * 2 + host.scatter);
    const std::string mean = "pass:\nv0 = load o0\ns0 = reduce_sum v0\ns0 = mul s0, p0\n";
    const std::string deviation =
        "pass:\nv0 = load o0\nv1 = sub v0, s0\ns1 = reduce_dot v1, v1\ns1 = fma s1, p0, p1\ns1 = rsqrt s1\n";
    const std::string extreme = "pass:\nv0 = load o0\ns0 = reduce_max v0\ns1 = reduce_min v0\n";
    const std::string products = "pass:\nv0 = load o0\nv1 = load o3\ns0 = reduce_dot v0, v1\ns1 = reduce_dot v0, v0\n";
    const std::string normal = "pass:\nv0 = load o0\nv1 = sub v0, s0\nv1 = mul v1, s1\n";
    const std::string starts[] = {mean + deviation, extreme, products, mean + "s1 = add s0, p1\n"};
    const std::string ends[] = {
        normal + "v2 = load o2\nv3 = load o3\nv1 = fma v1, v2, v3\nstore o1, v1\n",
        normal + "v2 = load o3\nv3 = load o2\nv1 = fma v1, v2, v3\nstore o1, v1\n",
        normal + "v2 = load o2\nv3 = load o3\nv1 = fma v1, v2, p1\nv1 = add v1, v3\nstore o1, v1\n",
        "pass:\nv0 = load o0\nv1 = sub v0, s0\nv1 = exp v1\nstore o1, v1\ns2 = reduce_sum v1\ns2 = div 1.0, s2\n"
        "pass:\nv0 = load o1\nv0 = mul v0, s2\nstore o1, v0\npass:\nv2 = load o2\nv3 = load o3\n"
        "v3 = sub v2, v3\ns3 = reduce_dot v3, v3\npass:\nv1 = load o1\nv1 = mul v1, s3\nstore o1, v1\n",
        "pass:\nv0 = load o0\nv1 = load o3\nv0 = add v0, v1\nv0 = gelu v0\nv2 = load o2\nv0 = add v0, v2\n"
        "store o1, v0\npass:\nv0 = load o2\nv0 = mul v0, s1\nstore o1, v0\n",
    };
    const std::string others[] = {"pass:\nv0 = load o2\nv1 = load o3\nv1 = mul v0, v1\nstore o4, v1\n",
                                  "pass:\nv0 = load o0\nv1 = exp v0\nv2 = sub s0, v1\nstore o4, v2\n",
                                  "pass:\nv15 = load o3\nv14 = tanh v15\nv14 = mul v14, s1\nstore o4, v14\n"};
    uint32_t compared = 0;
    for (const std::string& start : starts) {
        Bench bench(chain_options(host, static_cast<int>(compared) + 1));
        Context& context = bench.context();
        Queue& queue = context.queue();
        for (const std::string& end : ends)
            for (const std::string& other : others)
                for (int n = 0; n < 8 / static_cast<int>(kStep) + 1 && !HasFailure(); n++)
                    compared += compare_chain(bench, context, queue, random, start + end + other);
    }
    EXPECT_EQ(std::size(starts) * std::size(ends) * std::size(others) * (8 / kStep + 1), compared);
}

INSTANTIATE_TEST_SUITE_P(Engines, Vector, ::testing::ValuesIn(hosts()), host_name);

// Of three operands that are one array, the one that is written comes last: what a pass stores, the next one loads
// through any of them, also where the chip works on copies of rows.
TEST(VectorArrays, AllOperandsOfAnArrayShareItsRows) {
    constexpr uint32_t kCols = 3000;  // several pages
    Bench bench;
    Context& context = bench.context();
    const auto assembly = program::assemble(
        "pass:\nv0 = load o0\nv1 = mul v0, 3.0\nstore o2, v1\n"
        "pass:\nv0 = load o1\nv1 = add v0, 1.0\nstore o2, v1\n");
    const auto code = std::get<program::Code>(assembly).instructions;
    std::vector<sidra_operand> operands(3);
    const uint64_t array = context.put(std::vector<float>(kCols, 2.0f));
    for (sidra_operand& o : operands) o.addr = array, o.stride[3] = 4, o.type = SIDRA_TYPE_F32;
    operands[2].flags = SIDRA_OPERAND_WRITE;
    sidra_cmd cmd = blank(SIDRA_CMD_VECTOR);
    cmd.vector.program = context.put(code);
    cmd.vector.operands = context.put(operands);
    cmd.vector.instructions = static_cast<uint16_t>(code.size());
    cmd.vector.operand_count = 3;
    std::fill_n(cmd.vector.size, 3, 1u);
    cmd.vector.size[3] = kCols;
    Queue& queue = context.queue();
    queue.submit(cmd);
    bench.run();
    ASSERT_TRUE(retired(queue));
    EXPECT_EQ(std::vector<float>(kCols, 7.0f), context.get<float>(array, kCols));
}

// Changed bytes: the chip refuses what the second verifier refuses, and nothing else.
TEST(VectorRefusal, IsThatOfTheSecondVerifier) {
    uint32_t refused = 0;
    for (int b = 0; b < 40 / static_cast<int>(kStep) + 1; b++) {
        BenchOptions options;
        options.pages = 1u << 15;
        Bench bench(options);
        Context& context = bench.context();
        Queue& queue = context.queue();
        for (int n = 0; n < kPacketsOfABench; n++) {
            Random random(77'000 + static_cast<uint64_t>(b * kPacketsOfABench + n));
            Packet packet = vector_reference::random_packet(random);
            vector_reference::mutate(packet, random);
            Placed placed(context, packet);
            const auto before = placed.memory();
            queue.submit(placed.cmd());
            bench.run();
            const auto verdict = vector_reference::verify(packet.program, placed.operands(), packet.size);
            const sidra_queue_state state = queue.state();
            const bool by_program = state.run_state == SIDRA_QUEUE_FAULTED && state.fault.cause == SIDRA_FAULT_PROGRAM;
            ASSERT_EQ(verdict.why != SIDRA_PROGRAM_OK, by_program)
                << "bench " << b << " packet " << n << ": reason " << verdict.why << " instruction "
                << verdict.instruction << " operand " << verdict.operand << "; the chip: cause " << state.fault.cause
                << " address " << std::hex << state.fault.address;
            if (by_program) {
                refused++;
                ASSERT_EQ("", first_difference(before, placed.memory())) << "bench " << b << " packet " << n;
            }
            if (state.run_state == SIDRA_QUEUE_FAULTED) queue.reset();
        }
    }
    EXPECT_GT(refused, 100u / kStep);
}

}  // namespace
}  // namespace sidra::chip_test
