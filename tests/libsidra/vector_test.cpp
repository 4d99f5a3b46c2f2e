// SPDX-License-Identifier: MIT
// Vector programs without a chip: the packets and operand tables of their calls, and everything that is refused. With
// the fake driver.
#include <algorithm>
#include <array>
#include <atomic>
#include <cstring>
#include <functional>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "fake_fixture.h"
#include "memory.h"
#include "sidra_vector.h"
#include "stream.h"

namespace sidra::test {
namespace {

class Vectors : public FakeTest {
   protected:
    static constexpr uint32_t kRows = 4, kCols = 10;
    static constexpr uint32_t kSize[4] = {1, 1, kRows, kCols};
    static constexpr uint32_t kRow[4] = {1, 1, 1, kCols};

    void SetUp() override {
        FakeTest::SetUp();
        ASSERT_OK(sidra_buffer_create(context, kBufferSize, 0, &second));
        ASSERT_OK(sidra_buffer_register(context, memory, sizeof memory, true, &readonly));
        base = address_of(buffer);
        second_base = address_of(second);
    }
    void TearDown() override {
        for (sidra_program* program : programs) EXPECT_OK(sidra_program_destroy(program));
        EXPECT_OK(sidra_buffer_destroy(readonly));
        EXPECT_OK(sidra_buffer_destroy(second));
        FakeTest::TearDown();
    }
    uint64_t address_of(sidra_buffer* of) {
        EXPECT_OK(sidra_timestamp_async(stream, {of, 0}));
        return last_packet().timestamp.addr;
    }
    // A program that lives as long as the test.
    sidra_program* assemble(const std::string& text) {
        sidra_program* program = nullptr;
        EXPECT_OK(sidra_program_assemble(context, text.c_str(), &program)) << text;
        if (program != nullptr) programs.push_back(program);
        return program;
    }
    std::string text_of(sidra_program* program) {
        size_t size = 0;
        EXPECT_OK(sidra_program_disassemble(program, nullptr, 0, &size));
        std::vector<char> text(size);
        EXPECT_OK(sidra_program_disassemble(program, text.data(), size, nullptr));
        return text.data();
    }
    // A call with these operands, which it refers to.
    sidra_vector call_of(sidra_program* program, const std::vector<sidra_vector_operand>& operands,
                         const uint32_t (&size)[4] = kSize) {
        auto vector = SIDRA_INIT(sidra_vector);
        vector.program = program;
        std::copy(std::begin(size), std::end(size), vector.size);
        vector.operands = operands.data();
        vector.operand_count = static_cast<uint32_t>(operands.size());
        return vector;
    }
    // The operands of the packet that was queued last.
    std::vector<sidra_operand> last_operands() {
        const sidra_cmd_vector packet = last_packet().vector;
        const DeviceMemory& tables = *HandleTable<sidra_stream>::find(parts_of(stream))->tables;
        EXPECT_GE(packet.operands, tables.address());
        EXPECT_LE(packet.operands + 8 * sizeof(sidra_operand), tables.address() + tables.size());
        std::vector<sidra_operand> operands(packet.operand_count);
        std::memcpy(operands.data(), tables.host() + (packet.operands - tables.address()),
                    operands.size() * sizeof(sidra_operand));
        return operands;
    }
    // The call fails with a text that has each of these parts, and leaves no packet.
    void refuses(const std::function<sidra_status()>& call, const std::vector<std::string>& parts,
                 sidra_status status = SIDRA_ERROR_INVALID_ARGUMENT) {
        uint64_t before = 0, after = 0;
        EXPECT_OK(sidra_stream_timeline(stream, &before, nullptr));
        EXPECT_FAILS(status, call());
        const std::string text = sidra_last_error();
        for (const std::string& part : parts) EXPECT_NE(std::string::npos, text.find(part)) << part << "\n" << text;
        EXPECT_OK(sidra_stream_timeline(stream, &after, nullptr));
        EXPECT_EQ(before, after) << text;
    }
    void refuses_text(const std::string& text, const std::vector<std::string>& parts) {
        sidra_program* program = nullptr;
        refuses([&] { return sidra_program_assemble(context, text.c_str(), &program); }, parts);
        EXPECT_EQ(nullptr, program) << text;
    }
    void refuses_code(const std::vector<sidra_vector_instruction>& code, const std::vector<std::string>& parts) {
        sidra_program* program = nullptr;
        refuses([&] { return sidra_program_create(context, code.data(), code.size(), 0, &program); }, parts);
        EXPECT_EQ(nullptr, program);
    }
    void refuses_call(sidra_program* program, const std::vector<sidra_vector_operand>& operands,
                      const std::vector<std::string>& parts, const uint32_t (&size)[4] = kSize,
                      sidra_status status = SIDRA_ERROR_INVALID_ARGUMENT) {
        const sidra_vector vector = call_of(program, operands, size);
        refuses([&] { return sidra_vector_async(stream, &vector); }, parts, status);
    }

    alignas(64) unsigned char memory[4096] = {};
    sidra_buffer* second = nullptr;
    sidra_buffer* readonly = nullptr;
    std::vector<sidra_program*> programs;
    uint64_t base = 0, second_base = 0;
};

constexpr const char* kBias = "pass:\nv0 = load o0\nv1 = load o1\nv2 = add v0, v1\nstore o2, v2";
constexpr const char* kTakeRows = "pass:\nv0 = load o0\nstore o1, v0";

TEST_F(Vectors, ThePacketAndItsOperands) {
    sidra_program* program = assemble(kBias);
    const std::vector operands = {sidra_operand_dense(at(0), SIDRA_F16, kSize),
                                  sidra_operand_dense(at(4096), SIDRA_F32, kRow),
                                  sidra_operand_dense({second, 8}, SIDRA_F32, kSize)};
    sidra_vector vector = call_of(program, operands);
    vector.param[0] = sidra_param_f32(1.0f);
    vector.param[3] = static_cast<uint32_t>(-2);
    vector.cookie = 77;
    ASSERT_OK(sidra_vector_async(stream, &vector));
    const sidra_cmd_vector packet = last_packet().vector;
    EXPECT_EQ(SIDRA_CMD_VECTOR, packet.hdr.opcode);
    EXPECT_EQ(0, packet.hdr.flags);
    EXPECT_EQ(77u, packet.hdr.cookie);
    EXPECT_TRUE(std::equal(std::begin(kSize), std::end(kSize), packet.size));
    EXPECT_EQ(0x3f800000u, packet.param[0]);
    EXPECT_EQ(0xfffffffeu, packet.param[3]);
    EXPECT_EQ(4u, packet.instructions);
    EXPECT_EQ(3u, packet.operand_count);
    EXPECT_NE(0u, packet.program);
    EXPECT_EQ(0u, packet.program % 16);
    EXPECT_EQ(0u, packet.reserved);

    const auto table = last_operands();
    const auto is = [](const sidra_operand& operand, uint64_t address, std::array<uint64_t, 4> stride, int type,
                       int flags) {
        sidra_operand wanted{};
        wanted.addr = address;
        std::copy(stride.begin(), stride.end(), wanted.stride);
        wanted.type = static_cast<uint8_t>(type);
        wanted.flags = static_cast<uint8_t>(flags);
        return std::memcmp(&operand, &wanted, sizeof wanted) == 0;
    };
    EXPECT_TRUE(is(table[0], base, {0, 0, kCols * 2, 2}, SIDRA_TYPE_F16, 0));
    EXPECT_TRUE(is(table[1], base + 4096, {0, 0, 0, 4}, SIDRA_TYPE_F32, 0)) << "one row for all";
    EXPECT_TRUE(is(table[2], second_base + 8, {0, 0, kCols * 4, 4}, SIDRA_TYPE_F32, SIDRA_OPERAND_WRITE));
}

TEST_F(Vectors, IndicesAndExtents) {
    std::vector operands = {sidra_operand_dense(at(0), SIDRA_S8, kSize),
                            sidra_operand_dense({second, 0}, SIDRA_S8, kSize)};
    operands[0].index = at(1024), operands[0].index_type = SIDRA_S64, operands[0].extent = 100;
    sidra_vector vector = call_of(assemble(kTakeRows), operands);
    ASSERT_OK(sidra_vector_async(stream, &vector));
    const auto table = last_operands();
    EXPECT_EQ(base + 1024, table[0].index);
    EXPECT_EQ(SIDRA_TYPE_S64, table[0].index_type);
    EXPECT_EQ(100u, table[0].extent);
    EXPECT_EQ(0u, table[1].index);

    // The bounds are those of all indices, and of all rows of the index array.
    operands[0].at = at(kBufferSize - 100 * kCols);
    EXPECT_OK(sidra_vector_async(stream, &vector));
    operands[0].extent = 101;
    refuses_call(vector.program, operands, {"operands[0].at", "1010 bytes"});
    operands[0].at = at(0), operands[0].index = at(kBufferSize - kRows * 8 + 8);
    refuses_call(vector.program, operands, {"operands[0].index", "32 bytes"});
    operands[0].index = at(1020);
    refuses_call(vector.program, operands, {"operands[0].index", "8-byte aligned"});
    for (const auto& [type, name] : {std::pair{SIDRA_F32, "F32"}, {SIDRA_U8, "U8"}}) {
        operands[0].index = at(1024), operands[0].index_type = type;
        refuses_call(vector.program, operands, {"operands[0].index_type", name, "S32 or S64"});
    }
    operands[0].index = {}, operands[0].index_type = SIDRA_S32;
    refuses_call(vector.program, operands, {"operands[0].index.buffer is NULL"});
}

TEST_F(Vectors, GatheredOperandsHaveAnExtent) {
    sidra_program* program = assemble("pass:\nv0 = load_int o0\nv1 = gather o1, v0\nstore o2, v1");
    std::vector operands = {sidra_operand_dense(at(0), SIDRA_S32, kSize),
                            sidra_operand_dense(at(kBufferSize - 1000 * 2), SIDRA_F16, kRow),
                            sidra_operand_dense({second, 0}, SIDRA_F32, kSize)};
    refuses_call(program, operands, {"operand 1: a field of the operand", "`extent`"});
    operands[1].extent = 1000;
    const sidra_vector vector = call_of(program, operands);
    EXPECT_OK(sidra_vector_async(stream, &vector));
    EXPECT_EQ(1000u, last_operands()[1].extent);
    operands[1].extent = 1001;
    refuses_call(program, operands, {"operands[1].at", "2002 bytes"});
    operands[1].extent = 1000, operands[1].index = at(0), operands[1].index_type = SIDRA_S32;
    refuses_call(program, operands, {"operand 1: a field of the operand", "`extent`"});
}

TEST_F(Vectors, OperandsLieInsideTheirBuffers) {
    sidra_program* program = assemble(kTakeRows);
    const auto of = [&](const std::function<void(sidra_vector_operand&)>& change) {
        std::vector operands = {sidra_operand_dense(at(0), SIDRA_F32, kSize),
                                sidra_operand_dense({second, 0}, SIDRA_F32, kSize)};
        change(operands[0]);
        return operands;
    };
    const size_t bytes = kRows * kCols * 4;
    const std::vector last = of([&](auto& o) { o.at = at(kBufferSize - bytes); });
    const sidra_vector vector = call_of(program, last);
    EXPECT_OK(sidra_vector_async(stream, &vector)) << "exactly to the end";
    refuses_call(program, of([&](auto& o) { o.at = at(kBufferSize - bytes + 4); }), {"operands[0].at", "160 bytes"});
    refuses_call(program, of([&](auto& o) {
                     o.stride[2] = kBufferSize / 3;
                     o.stride[2] -= o.stride[2] % 4;
                 }),
                 {"operands[0].at"});
    refuses_call(program, of([&](auto& o) { o.at.offset = SIZE_MAX - 3; }), {"operands[0].at"});
    refuses_call(program, of([&](auto& o) { o.at.offset = 2; }), {"operands[0].at", "4-byte aligned"});
    refuses_call(program, of([&](auto& o) { o.type = static_cast<sidra_type>(9); }), {"operands[0].type is 9"});
    for (const size_t stride : {SIZE_MAX - 3, size_t{1} << 62, size_t{1} << 48, size_t{1} << 40}) {
        refuses_call(program, of([&](auto& o) { o.stride[2] = stride; }), {"operand"});
        refuses_call(program, of([&](auto& o) { o.stride[3] = stride; }), {"operand"});
    }
    const std::vector to_readonly = {sidra_operand_dense(at(0), SIDRA_F32, kSize),
                                     sidra_operand_dense({readonly, 0}, SIDRA_F32, kSize)};
    refuses_call(program, to_readonly, {"operands[1].at", "read-only"}, kSize, SIDRA_ERROR_PERMISSION);
    const std::vector from_readonly = {to_readonly[1], to_readonly[0]};
    const sidra_vector reads = call_of(program, from_readonly);
    EXPECT_OK(sidra_vector_async(stream, &reads));
}

TEST_F(Vectors, EachRuleHasItsSentence) {
    const std::string load = "pass:\nv0 = load o0\n";
    // Rules that hold for any operands, when the program is made.
    sidra_vector_instruction code{};
    code.flags = SIDRA_VECTOR_PASS;
    code.op = 255;
    refuses_code({code}, {"instruction 0 (opcode 255 is unknown): the opcode does not exist"});
    code.op = SIDRA_VECTOR_OP_LOAD;
    sidra_vector_instruction bad = code;
    bad.reserved = 1;
    refuses_code({code, bad}, {"instruction 1 (v0 = load o0): ", "a field that must be zero is not"});
    bad = code;
    bad.dst = 0x40;
    refuses_code({bad}, {"instruction 0", "does not write this kind of register"});
    bad = code;
    bad.op = SIDRA_VECTOR_OP_NEG, bad.a = 0x77;
    refuses_code({bad}, {"instruction 0", "a source does not exist"});
    bad = code;
    bad.flags = 0;
    refuses_code({bad}, {"instruction 0", "a pass must begin here"});
    bad = code;
    bad.operand = 8;
    refuses_code({bad}, {"instruction 0", "operand 8: the operand does not exist"});
    refuses_code(std::vector(65, code), {"too few or too many instructions", "1..64"});
    refuses_code({}, {"is NULL"});
    sidra_program* program = nullptr;
    refuses([&] { return sidra_program_create(context, &code, 0, 0, &program); }, {"too few or too many"});
    refuses([&] { return sidra_program_create(context, &code, SIZE_MAX, 0, &program); }, {"too few or too many"});
    refuses([&] { return sidra_program_create(context, &code, 1, 0, nullptr); }, {"`program` is NULL"});
    refuses([&] { return sidra_program_assemble(context, nullptr, &program); }, {"`text` is NULL"});
    refuses_text(load + "store o1, v1", {"instruction 1 (store o1, v1): a source has no value at this place; "});
    refuses_text(load + "v1 = add_int v0, 1\nstore o1, v1", {"instruction 1 (v1 = add_int v0, 1): a source has the "});
    refuses_text(load + "s0 = move 1.0\nstore o1, v0", {"instruction 2 (store o1, v0): a pass must begin here; "});
    refuses_text(load + "store o2, v0", {"operand 1: the program does not use the operand; "});

    // Rules about operands, in calls.
    const auto dense = [&](size_t offset, sidra_type type) { return sidra_operand_dense(at(offset), type, kSize); };
    program = assemble(kTakeRows);
    std::vector operands = {dense(0, SIDRA_F32), dense(4096, SIDRA_F32)};
    operands[0].extent = 1;
    refuses_call(program, operands, {"program ", "operand 0: a field of the operand", "`extent`"});
    sidra_program* integers = assemble("pass:\nv0 = load_int o0\nstore_int o1, v0");
    refuses_call(integers, {dense(0, SIDRA_F32), dense(4096, SIDRA_S32)},
                 {"instruction 0 (v0 = load_int o0), operand 0: the instruction does not take elements of this type"});
    operands = {dense(0, SIDRA_F32), dense(4096, SIDRA_F32)};
    operands[1].stride[2] = 42;
    refuses_call(program, operands, {"operand 1: the address or a stride is not a multiple"});
    operands[1].stride[2] = size_t{1} << 47;
    refuses_call(program, operands, {"operand 1: the operand reaches beyond the address space"});
    refuses_call(program, {dense(0, SIDRA_F32), dense(4, SIDRA_F32)}, {"operand 1: the operand is written, and over"});
    operands[1] = dense(4096, SIDRA_F32), operands[1].stride[2] = 0;
    refuses_call(program, operands, {"operand 1: the operand is written, and overlaps itself"});
    operands[1] = dense(4096, SIDRA_F32);
    for (const uint32_t size : {0u, (1u << 30) + 1, UINT32_MAX})
        for (int d = 0; d < 4; ++d) {
            uint32_t sizes[4] = {1, 1, 1, 1};
            sizes[d] = size;
            refuses_call(program, operands, {"the iteration space is empty or too large"}, sizes);
        }
    sidra_program* sum = assemble("pass:\nv0 = load o0\ns0 = reduce_sum v0\nstore o1, s0");
    const uint32_t one_row[4] = {1, 1, 1, 1u << 30}, one_value[4] = {1, 1, 1, 1};
    refuses_call(sum,
                 {sidra_operand_dense(at(0), SIDRA_F32, one_row), sidra_operand_dense(at(4096), SIDRA_F32, one_value)},
                 {"the rows are too long for a program that needs whole rows"}, one_row);
    refuses_call(program, {operands[0]}, {"operand_count is 1", "has 2 operands"});
    refuses_call(program, {operands[0], operands[1], operands[1]}, {"operand_count is 3", "has 2 operands"});
    sidra_vector vector = call_of(program, operands);
    vector.operands = nullptr;
    refuses([&] { return sidra_vector_async(stream, &vector); }, {"`operands` is NULL"});
    vector.struct_size = 8;
    refuses([&] { return sidra_vector_async(stream, &vector); }, {"struct_size of `sidra_vector` is 8"});
}

// A program remembers operands that were verified: whatever it remembers, it says the same as a new program.
TEST_F(Vectors, AnOldProgramRefusesWhatANewOneRefuses) {
    std::mt19937 random(20260101);
    const auto below = [&](uint32_t n) { return std::uniform_int_distribution<uint32_t>(0, n - 1)(random); };
    const std::string texts[] = {
        kBias, "pass:\nv0 = load_int o0\nv1 = load o1\nv2 = to_float v0\nv3 = add v1, v2\nstore o2, v3",
        "pass:\nv0 = load_int o0\nv1 = gather o1, v0\nstore o2, v1",
        "pass:\nv0 = load o0\nv1 = load_int o1\nscatter o2, v0, v1",
        "pass:\nv0 = load o0\ns0 = reduce_max v0\nstore o2, s0\npass:\nv0 = load o1\nstore o3, v0"};
    constexpr uint32_t kLong[4] = {1, 1, 2, 60'000};
    int accepted = 0, refused = 0;
    for (const std::string& text : texts) {
        sidra_program* old = assemble(text);
        for (int i = 0; i < 3000; ++i) {
            sidra_program* fresh = nullptr;
            ASSERT_OK(sidra_program_assemble(context, text.c_str(), &fresh));
            const uint32_t(&size)[4] = below(8) == 0 ? kLong : kSize;
            std::vector<sidra_vector_operand> operands(text.ends_with("o3, v0") ? 4 : 3);
            for (size_t n = 0; n < operands.size(); ++n) {
                const auto type = static_cast<sidra_type>(below(9));
                operands[n] =
                    sidra_operand_dense({n == 2 ? second : buffer, 8 * (n == 3 ? 4096 : below(400))}, type, size);
                if (below(6) == 0) operands[n].stride[3] = sidra_type_size(type) * below(4);
                if (below(12) == 0) operands[n].stride[below(4)] += 1 + below(8);
                if (below(6) == 0)
                    operands[n].index = at(60'000), operands[n].index_type = below(2) == 0 ? SIDRA_S32 : SIDRA_S64;
                if (operands[n].index.buffer != nullptr || below(6) == 0) operands[n].extent = below(12);
                if (n == 2 && below(3) == 0) operands[n].stride[3] = 0;
            }
            sidra_vector vector = call_of(old, operands, size);
            const sidra_status status = sidra_vector_async(stream, &vector);
            std::string said = status == SIDRA_OK ? "" : sidra_last_error();
            vector.program = fresh;
            ASSERT_EQ(status, sidra_vector_async(stream, &vector)) << text << "\n" << said;
            std::string says = status == SIDRA_OK ? "" : sidra_last_error();
            for (std::string* each : {&said, &says})  // the programs have other numbers
                if (const size_t name = each->find("program "); name != std::string::npos)
                    each->erase(name, each->find(',', name) - name);
            ASSERT_EQ(says, said);
            ++(status == SIDRA_OK ? accepted : refused);
            ASSERT_OK(sidra_program_destroy(fresh));
        }
    }
    EXPECT_GT(accepted, 1000);
    EXPECT_GT(refused, 1000);
}

TEST_F(Vectors, TextsAreToldWithLineAndColumn) {
    refuses_text("pass:\n    v0 = lode o0\n", {"line 2, column 10: "});
    refuses_text("", {"line 1, column 1: ", "the program is empty"});
    refuses_text("v0 = load o0", {"line 1, column 1: ", "must be 'pass:'"});
}

TEST_F(Vectors, ProgramsBecomeTextAgain) {
    const std::string text = "pass:\n    v0 = load o0\n    v1 = mul v0, 0.5\n    store o1, v1\n";
    sidra_program* program = assemble(text);
    EXPECT_EQ(text, text_of(program));
    size_t needed = 0;
    ASSERT_OK(sidra_program_disassemble(program, nullptr, 0, &needed));
    EXPECT_EQ(text.size() + 1, needed);
    std::vector<char> room(needed, 'x');
    needed = 0;
    refuses([&] { return sidra_program_disassemble(program, room.data(), room.size() - 1, &needed); }, {"`capacity`"});
    EXPECT_EQ(room.size(), needed);
    EXPECT_EQ('x', room[0]) << "nothing is written";
    refuses([&] { return sidra_program_disassemble(program, nullptr, 5, nullptr); }, {"`text` is NULL"});
}

TEST_F(Vectors, EachEntryOfTheRingHasItsOwnTable) {
    sidra_stream* ring = nullptr;
    const auto options = [] {
        auto made = SIDRA_INIT(sidra_stream_options);
        made.ring_packets = 64;
        return made;
    }();
    ASSERT_OK(sidra_stream_create(context, &options, &ring));
    std::vector operands = {sidra_operand_dense(at(0), SIDRA_F32, kSize),
                            sidra_operand_dense({second, 0}, SIDRA_F32, kSize)};
    const sidra_vector vector = call_of(assemble(kTakeRows), operands);
    fake->set_automatic(false);
    const size_t buffers = fake->live_buffers();
    uint64_t first = 0;
    for (uint64_t i = 0; i < 64; ++i) {
        operands[0].at.offset = i * 64;
        ASSERT_OK(sidra_vector_async(ring, &vector));
        const uint64_t table = fake->packet(1, i).vector.operands;
        if (i == 0) first = table;
        EXPECT_EQ(first + i * 576, table);
    }
    EXPECT_EQ(buffers + 1, fake->live_buffers()) << "one allocation for all";
    const DeviceMemory& tables = *HandleTable<sidra_stream>::find(parts_of(ring))->tables;
    for (uint64_t i = 0; i < 64; ++i) {
        sidra_operand operand;
        std::memcpy(&operand, tables.host() + i * 576, sizeof operand);
        EXPECT_EQ(base + i * 64, operand.addr) << "still waiting, so its table is untouched";
    }
    ASSERT_OK(sidra_stream_set_deadline(ring, 0));
    EXPECT_FAILS(SIDRA_ERROR_TIMEOUT, sidra_vector_async(ring, &vector));
    fake->retire(1, 1);
    ASSERT_OK(sidra_vector_async(ring, &vector));
    EXPECT_EQ(first, fake->packet(1, 64).vector.operands) << "the first table again";
    fake->set_automatic(true);
    EXPECT_OK(sidra_stream_destroy(ring));
    EXPECT_EQ(buffers, fake->live_buffers());
}

TEST_F(Vectors, ThreadsThatCallFirstShareTheTables) {
    const std::vector operands = {sidra_operand_dense(at(0), SIDRA_F32, kSize),
                                  sidra_operand_dense({second, 0}, SIDRA_F32, kSize)};
    const sidra_vector vector = call_of(assemble(kTakeRows), operands);
    const size_t buffers = fake->live_buffers();
    std::atomic<int> failures{0};
    std::vector<std::thread> threads;
    for (int i = 0; i < 4; ++i)
        threads.emplace_back([&] {
            for (int n = 0; n < 100; ++n) failures += sidra_vector_async(stream, &vector) != SIDRA_OK;
        });
    for (std::thread& thread : threads) thread.join();
    EXPECT_EQ(0, failures);
    EXPECT_EQ(buffers + 1, fake->live_buffers());
    for (uint64_t i = 0; i < 400; ++i)  // packets 0 and 1 are timestamps
        ASSERT_EQ(fake->packet(0, 2).vector.operands + i * 576, fake->packet(0, 2 + i).vector.operands);
}

TEST_F(Vectors, ARefusedAllocationQueuesNothing) {
    const std::vector operands = {sidra_operand_dense(at(0), SIDRA_F32, kSize),
                                  sidra_operand_dense({second, 0}, SIDRA_F32, kSize)};
    const sidra_vector vector = call_of(assemble(kTakeRows), operands);
    fake->fail(SIDRA_IOCTL_BUFFER_CREATE, ENOMEM);
    refuses([&] { return sidra_vector_async(stream, &vector); }, {"allocating 589824 bytes"},
            SIDRA_ERROR_OUT_OF_MEMORY);
    EXPECT_OK(sidra_vector_async(stream, &vector));
    sidra_program* program = nullptr;
    fake->fail(SIDRA_IOCTL_BUFFER_BIND, ENOMEM);
    EXPECT_FAILS(SIDRA_ERROR_OUT_OF_MEMORY, sidra_program_assemble(context, kBias, &program));
    EXPECT_EQ(nullptr, program);
}

TEST_F(Vectors, AProgramWithoutOperandsNeedsNoTable) {
    const size_t buffers = fake->live_buffers();
    const sidra_vector vector = call_of(assemble("pass:\ns0 = move 1.0"), {});
    ASSERT_OK(sidra_vector_async(stream, &vector));
    EXPECT_EQ(0u, last_packet().vector.operands);
    EXPECT_EQ(buffers + 1, fake->live_buffers()) << "the program";
}

TEST_F(Vectors, AFailedDestructionKeepsTheProgram) {
    sidra_program* program = assemble(kTakeRows);
    fake->fail(SIDRA_IOCTL_BUFFER_UNBIND, EINVAL);
    EXPECT_NE(SIDRA_OK, sidra_program_destroy(program));
    EXPECT_FALSE(text_of(program).empty());
}

TEST_F(Vectors, SizesOfTypes) {
    const size_t sizes[] = {1, 1, 4, 4, 2, 8, 1, 2, 2};
    for (uint32_t type = 0; type < std::size(sizes); ++type)
        EXPECT_EQ(sizes[type], sidra_type_size(static_cast<sidra_type>(type))) << type;
    EXPECT_EQ(0u, sidra_type_size(static_cast<sidra_type>(9)));
}

}  // namespace
}  // namespace sidra::test
