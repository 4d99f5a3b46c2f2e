// SPDX-License-Identifier: MIT
// Products and layers without a chip: the packets and tables of their calls, and everything that is refused. With the
// fake driver.
#include <algorithm>
#include <array>
#include <cstring>
#include <functional>
#include <random>
#include <string>
#include <vector>

#include "fake_fixture.h"
#include "memory.h"
#include "sidra_vector.h"
#include "stream.h"

namespace sidra::test {
namespace {

constexpr const char* kStore = "pass:\nv0 = load sums\nstore o2, v0";
constexpr const char* kDequantise = "pass:\nv0 = load sums\nv1 = load o1\nv0 = mul v0, v1\nstore o0, v0";
constexpr const char* kDynamic =
    "pass:\nv0 = load input\nv1 = abs v0\ns0 = reduce_max v1\ns1 = div 127.0, s0\n"
    "pass:\nv0 = load input\nv0 = mul v0, s1\nstore codes, v0\n"
    "epilogue:\npass:\nv0 = load sums\nv0 = mul v0, s0\nstore o0, v0";

class Products : public FakeTest {
   protected:
    static constexpr uint32_t kM = 4, kN = 6, kK = 5;

    void SetUp() override {
        FakeTest::SetUp();
        ASSERT_OK(sidra_timestamp_async(stream, {buffer, 0}));
        base = last_packet().timestamp.addr;
        const std::vector<float> values(size_t{kK} * kN, 1.0f);
        auto options = SIDRA_INIT(sidra_weights_options);
        ASSERT_OK(sidra_weights_create_f32(context, kK, kN, values.data(), kN, &options, &weights));
        ASSERT_OK(sidra_weights_program_async(stream, weights));
        ASSERT_OK(sidra_buffer_register(context, memory, sizeof memory, true, &readonly));
    }
    void TearDown() override {
        for (sidra_program* program : programs) EXPECT_OK(sidra_program_destroy(program));
        EXPECT_OK(sidra_weights_destroy(weights));
        EXPECT_OK(sidra_buffer_destroy(readonly));
        FakeTest::TearDown();
    }
    static constexpr uint32_t sizes[4] = {1, 1, 12, kN};

    sidra_program* assemble(const std::string& text) {
        sidra_program* program = nullptr;
        EXPECT_OK(sidra_program_assemble(context, text.c_str(), &program)) << text;
        if (program != nullptr) programs.push_back(program);
        return program;
    }
    sidra_vector_operand matrix(uint64_t offset, sidra_type type, uint32_t rows, uint32_t cols) {
        const uint32_t size[4] = {1, 1, rows, cols};
        return sidra_operand_dense({buffer, offset}, type, size);
    }
    // The table of the packet that was queued last.
    template <typename T>
    T table(uint64_t address) {
        const DeviceMemory& tables = *HandleTable<sidra_stream>::find(parts_of(stream))->tables;
        T value;
        EXPECT_GE(address, tables.address());
        EXPECT_LE(address + sizeof value, tables.address() + tables.size());
        std::memcpy(&value, tables.host() + (address - tables.address()), sizeof value);
        return value;
    }
    void refuses(const std::function<sidra_status()>& call, const std::string& part,
                 sidra_status status = SIDRA_ERROR_INVALID_ARGUMENT) {
        uint64_t before = 0, after = 0;
        EXPECT_OK(sidra_stream_timeline(stream, &before, nullptr));
        EXPECT_FAILS(status, call());
        const std::string text = sidra_last_error();
        EXPECT_NE(std::string::npos, text.find(part)) << part << "\n" << text;
        EXPECT_OK(sidra_stream_timeline(stream, &after, nullptr));
        EXPECT_EQ(before, after) << text;
    }

    uint64_t base = 0;
    alignas(64) unsigned char memory[4096] = {};
    sidra_buffer* readonly = nullptr;
    sidra_weights* weights = nullptr;
    std::vector<sidra_program*> programs;
};

TEST_F(Products, ThePacketOfAMatmul) {
    const std::vector operands = {matrix(0, SIDRA_F32, kM, kK), matrix(4096, SIDRA_BF16, kK, kN),
                                  matrix(8192, SIDRA_F16, kM, kN)};
    auto matmul = SIDRA_INIT(sidra_matmul);
    matmul.program = assemble(kStore);
    matmul.m = kM, matmul.n = kN, matmul.k = kK;
    matmul.param[1] = 7;
    matmul.operands = operands.data();
    matmul.operand_count = 3;
    matmul.cookie = 9;
    ASSERT_OK(sidra_matmul_async(stream, &matmul));
    const sidra_cmd_matmul packet = last_packet().matmul;
    EXPECT_EQ(SIDRA_CMD_MATMUL, packet.hdr.opcode);
    EXPECT_EQ(9u, packet.hdr.cookie);
    EXPECT_EQ(kM, packet.m);
    EXPECT_EQ(kN, packet.n);
    EXPECT_EQ(kK, packet.k);
    EXPECT_EQ(1u, packet.batch[0]);
    EXPECT_EQ(1u, packet.batch[1]);
    EXPECT_EQ(7u, packet.param[1]);
    EXPECT_EQ(2u, packet.instructions);
    EXPECT_EQ(3u, packet.operand_count);
    const auto a = table<sidra_operand>(packet.operands), c = table<sidra_operand>(packet.operands + 128);
    EXPECT_EQ(base, a.addr);
    EXPECT_EQ(kK * 4u, a.stride[2]);
    EXPECT_EQ(0, a.flags);
    EXPECT_EQ(base + 8192, c.addr);
    EXPECT_EQ(SIDRA_TYPE_F16, c.type);
    EXPECT_EQ(SIDRA_OPERAND_WRITE, c.flags);
}

TEST_F(Products, WhatAMatmulRefuses) {
    std::array operands = {matrix(0, SIDRA_F32, kM, kK), matrix(4096, SIDRA_F32, kK, kN),
                           matrix(8192, SIDRA_F32, kM, kN)};
    const auto good = operands;
    auto matmul = SIDRA_INIT(sidra_matmul);
    matmul.program = assemble(kStore);
    matmul.m = kM, matmul.n = kN, matmul.k = kK;
    matmul.operands = operands.data();
    matmul.operand_count = 3;
    const auto call = [&] { return sidra_matmul_async(stream, &matmul); };
    ASSERT_OK(call());
    const auto with = [&](const std::function<void()>& change, const std::string& part,
                          sidra_status status = SIDRA_ERROR_INVALID_ARGUMENT) {
        const sidra_matmul before = matmul;
        change();
        refuses(call, part, status);
        matmul = before;
        operands = good;
    };
    with([&] { matmul.k = 0; }, "k is 0: must be 1..16384");
    with([&] { matmul.k = 16385; }, "k is 16385");
    with([&] { matmul.m = 0; }, "the iteration space is empty or too large");
    with([&] { matmul.operand_count = 2; }, " has 3 operands, of which the first two");
    with([&] { operands[0] = matrix(0, SIDRA_S8, kM, kK); }, "operands[1] (B) has the type F32: both factors");
    with([&] { operands[1].type = SIDRA_S32; }, "operands[1] (B) has the type S32");
    with([&] { operands[0].extent = 4; }, "operands[0] (A) has an index or an extent");
    with([&] { operands[0].stride[3] = 8; }, "operands[0] (A) has the strides 20 and 8 in its matrix");
    with([&] { operands[1].stride[2] = SIZE_MAX / 4 * 4 - 3; }, "operand 1: the address or a stride");
    with([&] { operands[1].stride[2] = uint64_t{1} << 62; }, "operand 1: the operand reaches beyond");
    with([&] { operands[1].at.offset = kBufferSize - 4; }, "operands[1].at");
    with([&] { operands[2].at.offset = kBufferSize - 4; }, "operands[2].at");
    with([&] { operands[2].at.offset = 16; },
         "stores to operands[2] between the first and the last byte of operands[0] (A)");
    with([&] { operands[2].at.offset = 4096 + 64; }, "between the first and the last byte of operands[1] (B)");
    with([&] { operands[2].stride[2] = 4; }, "operand 2: the operand is written, and overlaps itself");
    with([&] { matmul.operands = nullptr; }, "`operands` is NULL, but program");
    with([&] { operands[2].at = {readonly, 0}; }, "operands[2].at", SIDRA_ERROR_PERMISSION);
    with([&] { operands[2].type = static_cast<sidra_type>(9); }, "operands[2].type is 9");
    with([&] { matmul.batch[1] = 1u << 31; }, "the iteration space is empty or too large");
    with(
        [&] {
            matmul.program = assemble("pass:\nv0 = load_int sums\nstore_int o2, v0");
            operands[2].type = SIDRA_S32;
        },
        "instruction 0 (v0 = load_int sums), operand sums: the instruction does not take elements of this type");
    // Programs that need whole rows: of 16385 columns, and of 2500 columns that cost 482 each.
    std::string costly = "pass:\nv0 = load sums\n";
    for (int i = 0; i < 60; ++i) costly += "v0 = exp v0\n";
    costly += "s0 = reduce_sum v0\nstore o2, s0";
    const auto wide = [&](uint32_t n, const char* text) {
        matmul.program = assemble(text);
        matmul.m = matmul.k = 1, matmul.n = n;
        operands = {matrix(0, SIDRA_U8, 1, 1), matrix(64, SIDRA_U8, 1, n), matrix(kBufferSize - 64, SIDRA_F32, 1, 1)};
        if (n > 3000) operands[1].stride[3] = 0;
    };
    with([&] { wide(16385, "pass:\nv0 = load sums\ns0 = reduce_sum v0\nstore o2, s0"); }, "the rows are too long");
    with([&] { wide(2500, costly.c_str()); }, "the rows are too long");
    wide(2000, costly.c_str());
    EXPECT_OK(call());
    wide(16384, "pass:\nv0 = load sums\ns0 = reduce_sum v0\nstore o2, s0");
    EXPECT_OK(call());
    matmul.m = kM, matmul.n = kN, matmul.k = kK;
    matmul.program = programs[0];
    operands = good;
    with([&] { matmul.program = assemble("pass:\nv0 = load o0\nstore o1, v0"); },
         "is made for sidra_vector_async(): it loads no `sums`");
    with([&] { matmul.program = assemble(kDequantise); }, "is made for sidra_layer_async(): it loads `sums`");
    with([&] { matmul.struct_size = 8; }, "struct_size");
    // The other way round.
    auto vector = SIDRA_INIT(sidra_vector);
    vector.program = assemble(kStore);
    refuses([&] { return sidra_vector_async(stream, &vector); }, "is made for sidra_matmul_async()");
}

// Without a program the sums are stored as they are, by a program of the library.
TEST_F(Products, AMatmulWithoutAProgram) {
    const size_t buffers = fake->live_buffers();
    std::vector operands = {matrix(0, SIDRA_F16, kM, kK), matrix(4096, SIDRA_F32, kK, kN),
                            matrix(8192, SIDRA_BF16, kM, kN)};
    auto matmul = SIDRA_INIT(sidra_matmul);
    matmul.m = kM, matmul.n = kN, matmul.k = kK;
    matmul.operands = operands.data();
    matmul.operand_count = 3;
    const auto call = [&] { return sidra_matmul_async(stream, &matmul); };
    fake->fail(SIDRA_IOCTL_BUFFER_CREATE, ENOMEM);
    refuses(call, "allocating", SIDRA_ERROR_OUT_OF_MEMORY);
    ASSERT_OK(call());
    const sidra_cmd_matmul first = last_packet().matmul;
    EXPECT_NE(0u, first.program);
    EXPECT_EQ(2u, first.instructions);
    EXPECT_EQ(3u, first.operand_count);
    ASSERT_OK(call());
    EXPECT_EQ(first.program, last_packet().matmul.program);
    operands = {matrix(0, SIDRA_S8, kM, kK), matrix(4096, SIDRA_U8, kK, kN), matrix(8192, SIDRA_S32, kM, kN)};
    ASSERT_OK(call());
    EXPECT_NE(first.program, last_packet().matmul.program);
    EXPECT_EQ(buffers + 2, fake->live_buffers()) << "the library's programs, and the tables of the ring";

    for (const sidra_type type : {SIDRA_F32, SIDRA_S8, SIDRA_S64, static_cast<sidra_type>(9)}) {
        operands[2].type = type;
        refuses(call, "without a program the sums of 8-bit factors are stored as S32");
    }
    operands[0].type = operands[1].type = SIDRA_BF16, operands[0].stride[3] = operands[1].stride[3] = 2;
    operands[2].type = SIDRA_S32;
    refuses(call, "operands[2] has the type S32: without a program the sums of floating-point factors are stored as");
    operands[0].type = SIDRA_S16;
    refuses(call, "operands[0] (A) has the type S16");
    operands = {matrix(0, SIDRA_F32, kM, kK), matrix(4096, SIDRA_F32, kK, kN), matrix(8192, SIDRA_F32, kM, kN)};
    operands[2].stride[2] = 4;
    refuses(call, "without a program, operand 2: the operand is written, and overlaps itself");
    matmul.operand_count = 4;
    refuses(call, "operand_count is 4: without a program there are three operands");
    matmul.operand_count = 3, matmul.operands = nullptr;
    refuses(call, "`operands` is NULL");
}

TEST_F(Products, ThePacketOfALayer) {
    const std::vector operands = {matrix(8192, SIDRA_F32, 12, kN)};
    auto layer = SIDRA_INIT(sidra_layer);
    layer.program = assemble(kDynamic);
    layer.windows = sidra_windows_matrix({buffer, 64}, SIDRA_F16, 12, kK);
    layer.operands = operands.data();
    layer.operand_count = 1;
    layer.calibrate = true;
    layer.param[3] = 5;
    ASSERT_OK(sidra_layer_async(stream, weights, &layer));
    const sidra_cmd_layer packet = last_packet().layer;
    EXPECT_EQ(SIDRA_CMD_LAYER, packet.opcode);
    EXPECT_EQ(SIDRA_CMD_MVM_CALIBRATE, packet.flags);
    EXPECT_EQ(1u, packet.size[0]);
    EXPECT_EQ(1u, packet.size[1]);
    EXPECT_EQ(12u, packet.size[2]);
    EXPECT_EQ(5u, packet.param[3]);
    EXPECT_EQ(7, packet.prologue);
    EXPECT_EQ(3, packet.epilogue);
    EXPECT_EQ(1, packet.operand_count);
    EXPECT_EQ(packet.operands + 64, packet.pattern);
    const auto pattern = table<sidra_pattern>(packet.pattern);
    EXPECT_EQ(base + 64, pattern.addr);
    EXPECT_EQ(SIDRA_TYPE_F16, pattern.type);
    EXPECT_EQ(SIDRA_TYPE_S8, pattern.codes);
    EXPECT_EQ(kK * 2u, pattern.pixel_stride);
    EXPECT_EQ(kK * 2u * 12, pattern.row_stride);
    EXPECT_EQ(1u, pattern.height);
    EXPECT_EQ(12u, pattern.width);
    EXPECT_EQ(kK, pattern.channels);
    EXPECT_EQ(base + 8192, table<sidra_operand>(packet.operands).addr);
}

TEST_F(Products, WhatALayerRefuses) {
    std::array operands = {matrix(8192, SIDRA_F32, 12, kN)};
    const auto good = operands;
    auto layer = SIDRA_INIT(sidra_layer);
    layer.program = assemble(kDynamic);
    layer.windows = sidra_windows_matrix({buffer, 64}, SIDRA_F32, 12, kK);
    layer.operands = operands.data();
    layer.operand_count = 1;
    const auto call = [&] { return sidra_layer_async(stream, weights, &layer); };
    ASSERT_OK(call());
    const auto with = [&](const std::function<void()>& change, const std::string& part,
                          sidra_status status = SIDRA_ERROR_INVALID_ARGUMENT) {
        const sidra_layer before = layer;
        change();
        refuses(call, part, status);
        layer = before;
        operands = good;
    };
    sidra_windows& w = layer.windows;
    with([&] { w.images = 0; }, "windows.images is 0: must be 1..");
    with([&] { w.columns = 1u << 25; }, "windows.columns is 33554432");
    with([&] { w.images = w.rows = 1u << 20; }, "windows are more than 16777216");
    with([&] { w.kernel_h = 257; }, "windows.kernel_h is 257: must be 1..256");
    with([&] { w.kernel_h = w.kernel_w = 100; }, "a kernel of 100 x 100 has more than 4096 pixels");
    with([&] { w.stride_w = 0; }, "windows.stride_w is 0");
    with([&] { w.dilation_h = 70000; }, "windows.dilation_h is 70000");
    with([&] { w.pad_w = 70000; }, "windows.pad_w is 70000");
    with([&] { w.channels = 4; }, "a window has 1 x 1 x 4 = 4 elements, but weights");
    with([&] { w.codes = SIDRA_F32; }, "windows.codes is F32: must be U8 or S8");
    with([&] { w.type = static_cast<sidra_type>(77); }, "windows.type is 77");
    with([&] { w.zero = 128; }, "windows.zero is 128: must be -128..127 with codes of S8");
    with([&] { w.pixel_stride = 6; }, "a stride of `windows` is 6");
    with([&] { w.pixel_stride = SIZE_MAX / 4 * 4 - 3 + 3; }, "windows.at");
    with([&] { w.at.offset = kBufferSize - 4; }, "windows.at");
    with([&] { layer.operand_count = 2; }, "operand_count is 2, but program");
    with([&] { operands[0].at.offset = kBufferSize - 4; }, "operands[0].at");
    with(
        [&] {
            layer.program = assemble(kDequantise);
            layer.operand_count = 2;
        },
        "windows.type is F32 and windows.codes is S8: without a prologue they must be the same");
    with([&] { layer.program = assemble(kStore); }, "is made for sidra_matmul_async()");
    with([&] { operands[0].type = SIDRA_S64, operands[0].stride[3] = 4; }, "operand 0: the address or a stride");
}

// Rows of the output must not be what other rows still read.
// A program remembers what was verified: whatever it remembers, it says the same as a new program.
TEST_F(Products, AnOldProgramRefusesWhatANewOneRefuses) {
    std::mt19937 random(20261126);
    const auto below = [&](uint32_t n) { return std::uniform_int_distribution<uint32_t>(0, n - 1)(random); };
    const char* const matmuls[] = {kStore, "pass:\nv0 = load sums\nv1 = load o2\nv0 = add v0, v1\nstore o3, v0"};
    const char* const layers[] = {kDynamic, kDequantise,
                                  "pass:\nv0 = load input\nv1 = load o1\nv0 = mul v0, v1\nstore codes, v0\n"
                                  "epilogue:\npass:\nv0 = load sums\nv1 = load o2\nv0 = mul v0, v1\nstore o0, v0"};
    int accepted = 0, refused = 0;
    const auto compare = [&](sidra_program* old, const char* text, const auto& call) {
        sidra_program* fresh = nullptr;
        ASSERT_OK(sidra_program_assemble(context, text, &fresh));
        std::string said[2];
        sidra_status status[2];
        for (const int n : {0, 1}) {
            status[n] = call(n == 0 ? old : fresh);
            if (status[n] != SIDRA_OK) said[n] = sidra_last_error();
            if (const size_t name = said[n].find("program "); name != std::string::npos)  // they have other numbers
                said[n].erase(name, said[n].find(',', name) - name);
        }
        ASSERT_EQ(status[1], status[0]) << text << "\n" << said[1] << "\n" << said[0];
        ASSERT_EQ(said[1], said[0]) << text;
        ++(status[0] == SIDRA_OK ? accepted : refused);
        ASSERT_OK(sidra_program_destroy(fresh));
    };
    const auto change = [&](std::vector<sidra_vector_operand>& operands) {
        if (below(2) == 0) return;
        sidra_vector_operand& o = operands[below(static_cast<uint32_t>(operands.size()))];
        if (below(3) == 0) o.type = static_cast<sidra_type>(below(9));
        if (below(6) == 0) o.stride[3] = sidra_type_size(o.type) * below(4);
        if (below(8) == 0) o.stride[below(4)] += 1 + below(8);
        if (below(6) == 0) o.index = {buffer, 60'000}, o.index_type = below(2) == 0 ? SIDRA_S32 : SIDRA_S64;
        if (o.index.buffer != nullptr || below(8) == 0) o.extent = below(12);
        if (below(8) == 0) o.at.offset = 8 * below(400);
    };
    for (const char* const text : matmuls) {
        sidra_program* old = assemble(text);
        for (int i = 0; i < 1500; ++i) {
            const sidra_type types[] = {SIDRA_F32, SIDRA_BF16, SIDRA_S8, SIDRA_U8};
            const uint32_t kind = below(2);
            std::vector operands = {matrix(0, types[2 * kind + below(2)], kM, kK),
                                    matrix(4096, types[2 * kind + below(2)], kK, kN)};
            for (uint64_t o = text == kStore ? 1 : 0; o < 2; ++o)
                operands.push_back(matrix(8192 + o * 4096, static_cast<sidra_type>(below(9)), kM, kN));
            change(operands);
            compare(old, text, [&](sidra_program* program) {
                auto matmul = SIDRA_INIT(sidra_matmul);
                matmul.program = program;
                matmul.m = kM, matmul.n = kN, matmul.k = kK;
                matmul.operands = operands.data();
                matmul.operand_count = static_cast<uint32_t>(operands.size());
                return sidra_matmul_async(stream, &matmul);
            });
            if (HasFatalFailure()) return;
        }
    }
    for (const char* const text : layers) {
        sidra_program* old = assemble(text);
        for (int i = 0; i < 1500; ++i) {
            const bool codes = text == kDequantise;
            const uint32_t rows[] = {12, 1, 1}, columns[] = {kN, codes ? kN : kK, kN};
            std::vector<sidra_vector_operand> operands;
            for (size_t o = 0; o < (text == kDynamic ? 1 : codes ? 2 : 3); ++o) {
                const uint32_t size[4] = {1, 1, rows[o], columns[o]};
                operands.push_back(sidra_operand_dense({buffer, 8192 + o * 4096}, SIDRA_F32, size));
                if (o > 0) operands.back().stride[2] = 0;
            }
            change(operands);
            const sidra_type inputs[] = {SIDRA_F32, SIDRA_F16, SIDRA_S8, SIDRA_S64};
            const sidra_type type = codes ? below(2) == 0 ? SIDRA_S8 : SIDRA_U8 : inputs[below(4)];
            const sidra_type code = codes ? type : below(2) == 0 ? SIDRA_S8 : SIDRA_U8;
            compare(old, text, [&](sidra_program* program) {
                auto layer = SIDRA_INIT(sidra_layer);
                layer.program = program;
                layer.windows = sidra_windows_matrix({buffer, 64}, type, 12, kK);
                layer.windows.codes = code;
                layer.operands = operands.data();
                layer.operand_count = static_cast<uint32_t>(operands.size());
                return sidra_layer_async(stream, weights, &layer);
            });
            if (HasFatalFailure()) return;
        }
    }
    EXPECT_GT(accepted, 1000);
    EXPECT_GT(refused, 1000);
}

TEST_F(Products, ALayerDoesNotStoreToItsInput) {
    // Codes with a scale of each row from memory, at indices.
    sidra_program* program = assemble(
        "pass:\ns0 = load o1\npass:\nv0 = load input\nv0 = mul v0, s0\nstore codes, v0\n"
        "epilogue:\npass:\nv0 = load sums\nstore o0, v0");
    const uint32_t one_column[4] = {1, 1, 12, 1};
    const std::vector good = {matrix(8192, SIDRA_F32, 12, kN), sidra_operand_dense(at(4096), SIDRA_F32, one_column)};
    std::vector operands = good;
    auto layer = SIDRA_INIT(sidra_layer);
    layer.program = program;
    layer.windows = sidra_windows_matrix(at(1024), SIDRA_F32, 12, kK);
    layer.operands = operands.data(), layer.operand_count = 2;
    const auto call = [&] { return sidra_layer_async(stream, weights, &layer); };
    const size_t bytes = size_t{12} * kN * 4, input = size_t{12} * kK * 4;
    const auto put = [&](size_t offset) { operands[0].at = at(offset); };
    put(1024 - bytes);
    EXPECT_OK(call()) << "right before the input";
    put(1024 + input);
    EXPECT_OK(call()) << "right behind it";
    for (const size_t offset : {1024 - bytes + 4, 1024 + input - 4}) {
        put(offset);
        refuses(call, "stores to operands[0] between the first and the last byte of the images of `windows`");
    }
    put(4096 + 44);
    refuses(call, "stores to operands[0] between the first and the last byte of operands[1]");
    put(4096 + 48);
    EXPECT_OK(call());
    operands = good;
    operands[1].index = at(8192 + bytes), operands[1].index_type = SIDRA_S32, operands[1].extent = 12;
    EXPECT_OK(call());
    operands[1].index = at(8192 + bytes - 4);
    refuses(call, "stores to operands[0] between the first and the last byte of operands[1]");
}

TEST_F(Products, WhatALayerNeeds) {
    const std::vector operands = {matrix(8192, SIDRA_F32, 12, kN)};
    auto layer = SIDRA_INIT(sidra_layer);
    layer.program = assemble(kDynamic);
    layer.windows = sidra_windows_matrix(at(64), SIDRA_F32, 12, kK);
    layer.operands = operands.data(), layer.operand_count = 1;
    sidra_weights* empty = nullptr;
    const std::vector<int8_t> values(size_t{kK} * kN);
    ASSERT_OK(sidra_weights_create_s8(context, kK, kN, values.data(), kN, nullptr, nullptr, &empty));
    refuses([&] { return sidra_layer_async(stream, empty, &layer); }, "are not programmed", SIDRA_ERROR_UNPROGRAMMED);
    EXPECT_OK(sidra_weights_destroy(empty));
    refuses([&] { return sidra_layer_async(stream, weights, nullptr); }, "sidra_layer");
    layer.struct_size = 8;
    refuses([&] { return sidra_layer_async(stream, weights, &layer); }, "struct_size of `sidra_layer` is 8");
    layer.struct_size = sizeof layer;
    layer.operands = nullptr;
    refuses([&] { return sidra_layer_async(stream, weights, &layer); }, "`operands` is NULL, but program");
    const std::vector to_readonly = {sidra_operand_dense({readonly, 0}, SIDRA_F32, sizes)};
    layer.operands = to_readonly.data();
    refuses([&] { return sidra_layer_async(stream, weights, &layer); }, "operands[0].at", SIDRA_ERROR_PERMISSION);
    layer.windows.at = {readonly, 0};
    layer.operands = operands.data();
    EXPECT_OK(sidra_layer_async(stream, weights, &layer)) << "windows are only read";
    // Whole rows of the prologue, and of an epilogue, have a cost.
    sidra_weights* large = nullptr;
    const std::vector<int8_t> many(size_t{2048} * 2);
    ASSERT_OK(sidra_weights_create_s8(context, 2048, 2, many.data(), 2, nullptr, nullptr, &large));
    ASSERT_OK(sidra_weights_program_async(stream, large));
    const auto costly = [&](int functions) {
        std::string text = "pass:\nv0 = load input\n";
        for (int i = 0; i < functions; ++i) text += "v0 = exp v0\n";
        return assemble(text + "store codes, v0\nepilogue:\npass:\nv0 = load sums\nstore o0, v0");
    };
    layer.windows = sidra_windows_matrix(at(0), SIDRA_U8, 1, 2048);
    layer.program = costly(15);  // 122 for each column
    EXPECT_OK(sidra_layer_async(stream, large, &layer));
    layer.program = costly(16);
    refuses([&] { return sidra_layer_async(stream, large, &layer); }, "the rows are too long");
    EXPECT_OK(sidra_weights_destroy(large));
}

TEST_F(Products, ProgramsWithAPrologue) {
    sidra_program* program = assemble(kDynamic);
    size_t size = 0;
    ASSERT_OK(sidra_program_disassemble(program, nullptr, 0, &size));
    std::string text(size, '\0');
    ASSERT_OK(sidra_program_disassemble(program, text.data(), size, nullptr));
    EXPECT_NE(std::string::npos, text.find("epilogue:\n")) << text;
    sidra_program* made = nullptr;
    const sidra_vector_instruction code{SIDRA_VECTOR_OP_LOAD, SIDRA_VECTOR_PASS, 0, SIDRA_OPERAND_SUMS, 0, 0, 0, 0, {}};
    refuses([&] { return sidra_program_create(context, &code, 1, 1, &made); },
            "prologue is 1, but the program has 1 instructions: at least one must follow it");
    refuses([&] { return sidra_program_assemble(context, "pass:\nv0 = load input\nstore o0, v0\n", &made); },
            "the operand does not exist");
    refuses(
        [&] {
            return sidra_program_assemble(
                context, "pass:\nv0 = load input\nepilogue:\npass:\nv0 = load sums\nstore o0, v0", &made);
        },
        "the program does not use the operand");
}

// A graph keeps tables and patterns of its own, and names what they name.
TEST_F(Products, AGraphOfThem) {
    const std::vector operands = {matrix(0, SIDRA_S8, kM, kK), matrix(4096, SIDRA_U8, kK, kN),
                                  matrix(8192, SIDRA_S32, kM, kN)},
                      out = {matrix(8192, SIDRA_F32, 12, kN)};
    auto matmul = SIDRA_INIT(sidra_matmul);
    matmul.program = assemble("pass:\nv0 = load_int sums\nstore_int o2, v0");
    matmul.m = kM, matmul.n = kN, matmul.k = kK;
    matmul.operands = operands.data();
    matmul.operand_count = 3;
    auto layer = SIDRA_INIT(sidra_layer);
    layer.program = assemble(kDynamic);
    sidra_buffer* images = nullptr;
    ASSERT_OK(sidra_buffer_create(context, 4096, 0, &images));
    layer.windows = sidra_windows_matrix({images, 0}, SIDRA_F32, 12, kK);
    layer.operands = out.data();
    layer.operand_count = 1;
    sidra_graph* graph = nullptr;
    ASSERT_OK(sidra_graph_begin(stream));
    ASSERT_OK(sidra_matmul_async(stream, &matmul));
    ASSERT_OK(sidra_layer_async(stream, weights, &layer));
    ASSERT_OK(sidra_graph_end(stream, &graph));
    ASSERT_OK(sidra_graph_launch_async(stream, graph));
    ASSERT_OK(sidra_buffer_destroy(images));
    refuses([&] { return sidra_graph_launch_async(stream, graph); }, "which was destroyed since then",
            SIDRA_ERROR_INVALID_HANDLE);
    ASSERT_OK(sidra_graph_destroy(graph));

    // One without programs of the user.
    matmul.program = nullptr;
    sidra_buffer* product = nullptr;
    ASSERT_OK(sidra_buffer_create(context, 4096, 0, &product));
    std::vector to_product = operands;
    to_product[2].at = {product, 0};
    matmul.operands = to_product.data();
    ASSERT_OK(sidra_graph_begin(stream));
    ASSERT_OK(sidra_matmul_async(stream, &matmul));
    ASSERT_OK(sidra_graph_end(stream, &graph));
    ASSERT_OK(sidra_graph_launch_async(stream, graph));
    ASSERT_OK(sidra_buffer_destroy(product));
    refuses([&] { return sidra_graph_launch_async(stream, graph); }, "which was destroyed since then",
            SIDRA_ERROR_INVALID_HANDLE);
    ASSERT_OK(sidra_graph_destroy(graph));
}

TEST(Windows, Count) {
    EXPECT_EQ(3u, sidra_windows_count(5, 3, 1, 0, 1));
    EXPECT_EQ(5u, sidra_windows_count(5, 3, 1, 1, 1));
    EXPECT_EQ(3u, sidra_windows_count(5, 3, 2, 1, 1));
    EXPECT_EQ(1u, sidra_windows_count(5, 3, 1, 0, 2));
    EXPECT_EQ(0u, sidra_windows_count(2, 3, 1, 0, 1));
    EXPECT_EQ(0u, sidra_windows_count(5, 3, 0, 0, 1));
    EXPECT_EQ(0u, sidra_windows_count(5, 0, 1, 0, 1));
    EXPECT_EQ(0u, sidra_windows_count(5, 3, 1, 0, UINT32_MAX));
    EXPECT_EQ(UINT32_MAX, sidra_windows_count(UINT32_MAX, 1, 1, 0, 1));
    EXPECT_EQ(2u, sidra_windows_count(UINT32_MAX, 1, UINT32_MAX, UINT32_MAX / 2, 1));
}

TEST(Windows, OfAnImage) {
    sidra_windows windows = sidra_windows_image({nullptr, 24}, SIDRA_U8, 2, 7, 9, 5, 3, 2);
    EXPECT_EQ(24u, windows.at.offset);
    EXPECT_EQ(SIDRA_U8, windows.type);
    EXPECT_EQ(SIDRA_U8, windows.codes);
    EXPECT_EQ(2u, windows.images);
    EXPECT_EQ(7u, windows.height);
    EXPECT_EQ(9u, windows.width);
    EXPECT_EQ(5u, windows.channels);
    EXPECT_EQ(3u, windows.kernel_h);
    EXPECT_EQ(2u, windows.kernel_w);
    EXPECT_EQ(5u, windows.rows);
    EXPECT_EQ(8u, windows.columns);
    windows.pad_h = 1, windows.stride_w = 3, windows.dilation_w = 2;
    sidra_windows_fit(&windows);
    EXPECT_EQ(7u, windows.rows);
    EXPECT_EQ(3u, windows.columns);
}

}  // namespace
}  // namespace sidra::test
