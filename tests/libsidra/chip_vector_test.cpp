// SPDX-License-Identifier: MIT
// Vector programs on a chip: whole programs against the same computation in double precision, in streams and in graphs,
// and what becomes of calls whose program is destroyed.
#include <algorithm>
#include <cmath>
#include <cstring>
#include <memory>
#include <string>
#include <vector>

#include "chip_fixture.h"
#include "sidra_vector.h"

namespace sidra::test {
namespace {

class ChipVector : public ChipTest {
   protected:
    static constexpr uint32_t kRows = 9, kCols = 75;
    static constexpr uint32_t kSize[4] = {1, 1, kRows, kCols};
    static constexpr uint32_t kOneRow[4] = {1, 1, 1, kCols};
    static constexpr uint32_t kOneColumn[4] = {1, 1, kRows, 1};

    void SetUp() override {
        ChipTest::SetUp();
        in = std::make_unique<Buffer>(context, 1 << 16);
        out = std::make_unique<Buffer>(context, 1 << 16);
        randomise(in->as<float>(), -4.0f, 4.0f);
    }
    void TearDown() override {
        for (sidra_program* program : programs) EXPECT_OK(sidra_program_destroy(program));
        in.reset();
        out.reset();
        ChipTest::TearDown();
    }
    // A program that lives as long as the test.
    sidra_program* assemble(const char* text) {
        sidra_program* program = nullptr;
        EXPECT_OK(sidra_program_assemble(context, text, &program));
        if (program != nullptr) programs.push_back(program);
        return program;
    }
    sidra_status call(sidra_program* program, const std::vector<sidra_vector_operand>& operands,
                      const std::vector<uint32_t>& params = {}, const uint32_t (&size)[4] = kSize,
                      uint32_t cookie = 0) {
        auto vector = SIDRA_INIT(sidra_vector);
        vector.program = program;
        std::copy(std::begin(size), std::end(size), vector.size);
        std::copy(params.begin(), params.end(), vector.param);
        vector.operands = operands.data();
        vector.operand_count = static_cast<uint32_t>(operands.size());
        vector.cookie = cookie;
        return sidra_vector_async(stream, &vector);
    }
    static sidra_vector_operand dense(sidra_ref at, sidra_type type = SIDRA_F32, const uint32_t (&size)[4] = kSize) {
        return sidra_operand_dense(at, type, size);
    }
    std::unique_ptr<Buffer> in, out;
    std::vector<sidra_program*> programs;
};

constexpr const char* kAdd = "pass:\nv0 = load o0\nv1 = load o1\nv2 = add v0, v1\nstore o2, v2";
constexpr const char* kAddParam = "pass:\nv0 = load o0\nv1 = add v0, p0\nstore o1, v1";

TEST_F(ChipVector, AddsARowToAllRows) {
    ASSERT_OK(call(assemble(kAdd), {dense(in->at()), dense(in->at(32768), SIDRA_F32, kOneRow), dense(out->at())}));
    synchronize();
    const auto a = in->as<float>(), b = in->as<float>().subspan(8192), sum = out->as<float>();
    for (uint32_t i = 0; i < kRows * kCols; ++i) ASSERT_EQ(a[i] + b[i % kCols], sum[i]) << i;
    EXPECT_EQ(0.0f, sum[kRows * kCols]);
}

TEST_F(ChipVector, Softmax) {
    sidra_program* program = assemble(R"(
pass:                           # softmax: o0 input, o1 output
    v0 = load o0
    s0 = reduce_max v0
pass:
    v0 = load o0
    v1 = sub v0, s0
    v2 = exp v1
    store o1, v2
    s1 = reduce_sum v2
    s2 = div 1.0, s1
pass:
    v0 = load o1
    v1 = mul v0, s2
    store o1, v1
)");
    ASSERT_OK(call(program, {dense(in->at()), dense(out->at())}));
    synchronize();
    for (uint32_t row = 0; row < kRows; ++row) {
        const auto x = in->as<float>().subspan(row * kCols, kCols), y = out->as<float>().subspan(row * kCols, kCols);
        double sum = 0;
        for (const float value : x) sum += std::exp(double{value});
        for (uint32_t col = 0; col < kCols; ++col) ASSERT_NEAR(std::exp(double{x[col]}) / sum, y[col], 1e-6);
    }
}

TEST_F(ChipVector, RowsAtIndices) {
    for (const sidra_type type : {SIDRA_S32, SIDRA_S64}) {
        const Buffer indices(context, 4096);
        const uint32_t order[kRows] = {7, 0, 0, 39, 3, 12, 39, 1, 20};
        for (uint32_t row = 0; row < kRows; ++row)
            if (type == SIDRA_S32) indices.as<int32_t>()[row] = static_cast<int32_t>(order[row]);
            else indices.as<int64_t>()[row] = order[row];
        std::vector operands = {dense(in->at()), dense(out->at())};
        operands[0].index = indices.at(), operands[0].index_type = type, operands[0].extent = 40;
        ASSERT_OK(call(assemble("pass:\nv0 = load o0\nstore o1, v0"), operands));
        synchronize();
        for (uint32_t row = 0; row < kRows; ++row)
            ASSERT_EQ(0, std::memcmp(in->as<float>().data() + order[row] * kCols, out->as<float>().data() + row * kCols,
                                     kCols * sizeof(float)))
                << row;
        // An index that the table does not have stops the stream.
        operands[0].extent = 39;
        ASSERT_OK(call(programs.back(), operands, {}, kSize, 5));
        EXPECT_FAILS(SIDRA_ERROR_FAULT, sidra_stream_synchronize(stream, soon()));
        auto fault = SIDRA_INIT(sidra_fault_info);
        ASSERT_OK(sidra_stream_fault(stream, &fault));
        EXPECT_EQ(uint32_t{SIDRA_FAULT_VALUE}, fault.cause);
        EXPECT_EQ(uint32_t{SIDRA_CMD_VECTOR}, fault.opcode);
        EXPECT_EQ(39u, fault.address);
        EXPECT_EQ(5u, fault.cookie);
        ASSERT_OK(sidra_stream_reset(stream));
    }
}

TEST_F(ChipVector, ElementsAtIndices) {
    constexpr uint32_t kTable = 4096;
    const Buffer indices(context, kRows * kCols * sizeof(int64_t));
    std::uniform_int_distribution<int64_t> any(0, kTable - 1);
    for (int64_t& index : indices.as<int64_t>()) index = any(random);
    const uint32_t table[4] = {1, 1, 1, kTable};
    std::vector operands = {dense(indices.at(), SIDRA_S64), dense(in->at(), SIDRA_F32, table),
                            dense(out->at(), SIDRA_BF16)};
    operands[1].extent = kTable;
    ASSERT_OK(call(assemble("pass:\nv0 = load_int o0\nv1 = gather o1, v0\nstore o2, v1"), operands));
    synchronize();
    for (uint32_t i = 0; i < kRows * kCols; ++i) {
        const float value = in->as<float>()[static_cast<size_t>(indices.as<int64_t>()[i])];
        uint32_t bits = sidra_param_f32(value);
        bits += 0x7fff + (bits >> 16 & 1);  // to the nearest bf16, ties to even
        ASSERT_EQ(bits >> 16, out->as<uint16_t>()[i]) << value;
    }
}

TEST_F(ChipVector, QuantisesEachRow) {
    sidra_program* program = assemble(R"(
pass:                           # o0 input, o1 output (s8), o2 scale of each row
    v0 = load o0
    v1 = abs v0
    s0 = reduce_max v1
    s1 = max s0, 1e-30          # a row of zeros has a scale, too
    s2 = div 127.0, s1
    s3 = div s1, 127.0
    store o2, s3
pass:
    v0 = load o0
    v1 = mul v0, s2
    store o1, v1                # rounds, and saturates to the type
)");
    ASSERT_OK(
        call(program, {dense(in->at()), dense(out->at(), SIDRA_S8), dense(out->at(32768), SIDRA_F32, kOneColumn)}));
    synchronize();
    const auto scale = out->as<float>().subspan(8192);
    for (uint32_t row = 0; row < kRows; ++row) {
        const auto x = in->as<float>().subspan(row * kCols, kCols);
        float largest = 0;
        for (const float value : x) largest = std::max(largest, std::fabs(value));
        ASSERT_EQ(largest / 127.0f, scale[row]);
        for (uint32_t col = 0; col < kCols; ++col)
            ASSERT_EQ(std::nearbyint(x[col] * (127.0f / largest)), out->as<int8_t>()[row * kCols + col]);
    }
}

// Sizes, strides, offsets, types and indices at random, some of them right at the end of a buffer.
TEST_F(ChipVector, WhatIsAcceptedDoesNotFault) {
    const std::vector all = {assemble(kAdd), assemble(kAddParam),
                             assemble("pass:\nv0 = load_int o0\nv1 = gather o1, v0\nstore o2, v1"),
                             assemble("pass:\nv0 = load o0\nv1 = load_int o1\nscatter o2, v0, v1"),
                             assemble("pass:\nv0 = load o0\ns0 = reduce_max v0\ns1 = load o1\ns2 = add s0, s1\n"
                                      "store o2, s2")};
    const auto below = [&](uint32_t n) { return std::uniform_int_distribution<uint32_t>(0, n - 1)(random); };
    constexpr size_t kBytes = 4096;
    const Buffer zeros(context, kBytes), results(context, kBytes);  // 0 is a valid index everywhere
    int accepted = 0, refused = 0;
    for (int i = 0; i < 20'000; ++i) {
        uint32_t size[4];
        for (uint32_t& each : size) each = 1 + below(5);
        const size_t which = below(static_cast<uint32_t>(all.size()));
        std::vector<sidra_vector_operand> operands(which == 1 ? 2 : 3);
        for (size_t n = 0; n < operands.size(); ++n) {
            const Buffer& buffer = n + 1 == operands.size() ? results : zeros;
            const auto type = static_cast<sidra_type>(below(9));
            const size_t element = sidra_type_size(type);
            operands[n] = dense(buffer.at(), type, size);
            for (size_t& stride : operands[n].stride)
                if (below(8) == 0) stride = element * below(below(4) == 0 ? 2048 : 40);
            const bool indexed = below(6) == 0;
            if (indexed)
                operands[n].index = zeros.at(kBytes - 8 * (1 + below(200))),
                operands[n].index_type = below(2) == 0 ? SIDRA_S32 : SIDRA_S64;
            if (n == 1 && which == 2) operands[n].extent = 1 + below(30);
            else if (n == 2 && which == 3) operands[n].extent = 1 + below(30);
            else if (indexed) operands[n].extent = 1 + below(10);
            if (which == 4 && n != 0) operands[n].stride[3] = 0;
            operands[n].at.offset = below(3) == 0 ? kBytes - element * (1 + below(300)) : element * below(64);
        }
        if (call(all[which], operands, {}, size) != SIDRA_OK) {
            ++refused;
            continue;
        }
        ++accepted;
        ASSERT_OK(sidra_stream_synchronize(stream, soon())) << "program " << which << ", call " << i;
        std::fill(results.as().begin(), results.as().end(), uint8_t{0});
    }
    EXPECT_GT(accepted, 2000);
    EXPECT_GT(refused, 2000);
}

TEST_F(ChipVector, GraphsKeepTheirOperands) {
    sidra_program* add = assemble(kAddParam);
    sidra_graph* graph = nullptr;
    ASSERT_OK(sidra_graph_begin(stream));
    ASSERT_OK(call(add, {dense(in->at()), dense(out->at())}, {sidra_param_f32(1.0f)}));
    ASSERT_OK(sidra_fill_async(stream, out->at(32768), 9, 8, 64));
    ASSERT_OK(call(add, {dense(out->at()), dense(out->at(16384))}, {sidra_param_f32(-0.5f)}));
    ASSERT_OK(sidra_graph_end(stream, &graph));
    uint32_t operations = 0;
    ASSERT_OK(sidra_graph_operations(graph, &operations));
    EXPECT_EQ(3u, operations);
    for (int round = 0; round < 2; ++round) {
        randomise(in->as<float>(), -4.0f, 4.0f);
        ASSERT_OK(call(add, {dense(in->at(4)), dense(out->at())}));  // uses a table of the ring meanwhile
        ASSERT_OK(sidra_graph_launch_async(stream, graph));
        synchronize();
        const auto x = in->as<float>(), y = out->as<float>();
        for (uint32_t i = 0; i < kRows * kCols; ++i) {
            ASSERT_EQ(x[i] + 1.0f, y[i]);
            ASSERT_EQ(x[i] + 1.0f - 0.5f, y[4096 + i]);
        }
        EXPECT_EQ(9u, out->as<uint64_t>()[4096]);
    }
    EXPECT_OK(sidra_graph_destroy(graph));
}

TEST_F(ChipVector, GraphsNameWhatTheyUse) {
    const Buffer indices(context, 4096);
    sidra_program* program = nullptr;
    for (const char* which : {"program", "operand", "index"}) {
        SCOPED_TRACE(which);
        sidra_buffer *operand = nullptr, *index = nullptr;
        ASSERT_OK(sidra_program_assemble(context, "pass:\nv0 = load o0\nstore o1, v0", &program));
        ASSERT_OK(sidra_buffer_create(context, 1 << 16, 0, &operand));
        ASSERT_OK(sidra_buffer_create(context, 4096, 0, &index));
        std::vector operands = {dense({operand, 4096}), dense(out->at())};
        operands[0].index = {index, 64}, operands[0].index_type = SIDRA_S32, operands[0].extent = 1;
        sidra_graph* graph = nullptr;
        ASSERT_OK(sidra_graph_begin(stream));
        ASSERT_OK(call(program, operands));
        ASSERT_OK(sidra_graph_end(stream, &graph));
        ASSERT_OK(sidra_graph_launch_async(stream, graph));
        synchronize();
        const bool of_program = which == std::string("program");
        if (of_program) {
            ASSERT_OK(sidra_program_destroy(program));
            ASSERT_OK(sidra_program_assemble(context, "pass:\nv0 = load o0\nstore o1, v0", &program));
        } else {
            sidra_buffer*& gone = which == std::string("operand") ? operand : index;
            ASSERT_OK(sidra_buffer_destroy(gone));
            ASSERT_OK(sidra_buffer_create(context, 1 << 16, 0, &gone));
        }
        EXPECT_FAILS(SIDRA_ERROR_INVALID_HANDLE, sidra_graph_launch_async(stream, graph));
        const std::string text = sidra_last_error();
        EXPECT_NE(std::string::npos, text.find(of_program ? "with program " : "with buffer ")) << text;
        EXPECT_NE(std::string::npos, text.find("destroyed")) << text;
        EXPECT_OK(sidra_graph_destroy(graph));
        EXPECT_OK(sidra_program_destroy(program));
        EXPECT_OK(sidra_buffer_destroy(operand));
        EXPECT_OK(sidra_buffer_destroy(index));
    }
}

TEST_F(ChipVector, TenThousandCallsEachHaveTheirOwnOperands) {
    constexpr uint32_t kCalls = 10'000;
    auto options = SIDRA_INIT(sidra_stream_options);
    options.ring_packets = 64;
    sidra_stream* const first_stream = stream;
    ASSERT_OK(sidra_stream_create(context, &options, &stream));
    const Buffer sums(context, kCalls * sizeof(float));
    sidra_program* add = assemble(kAddParam);
    const uint32_t one[4] = {1, 1, 1, 1};
    for (uint32_t i = 0; i < kCalls; ++i)
        ASSERT_OK(call(add, {dense(in->at(i % 4096 * 4), SIDRA_F32, one), dense(sums.at(i * 4), SIDRA_F32, one)},
                       {sidra_param_f32(static_cast<float>(i))}, one));
    synchronize();
    for (uint32_t i = 0; i < kCalls; ++i)
        ASSERT_EQ(in->as<float>()[i % 4096] + static_cast<float>(i), sums.as<float>()[i]) << i;
    // A reset drops calls; their tables are used again.
    const Buffer word(context, 4096);
    ASSERT_OK(sidra_semaphore_wait_async(stream, word.at(), 1));
    for (uint32_t i = 0; i < 20; ++i)
        ASSERT_OK(call(add, {dense(in->at(), SIDRA_F32, one), dense(sums.at(), SIDRA_F32, one)}, {}, one));
    ASSERT_OK(sidra_stream_reset(stream));
    for (uint32_t i = 0; i < 100; ++i)
        ASSERT_OK(call(add, {dense(in->at(), SIDRA_F32, one), dense(sums.at(i * 4), SIDRA_F32, one)},
                       {sidra_param_f32(2.0f)}, one));
    synchronize();
    for (uint32_t i = 0; i < 100; ++i) ASSERT_EQ(in->as<float>()[0] + 2.0f, sums.as<float>()[i]) << i;
    ASSERT_OK(sidra_stream_destroy(stream));
    stream = first_stream;
}

TEST_F(ChipVector, StreamsGoOnAfterARecovery) {
    sidra_program* add = assemble(kAddParam);
    ASSERT_OK(call(add, {dense(in->at()), dense(out->at())}));
    synchronize();
    ASSERT_OK(sidra_device_reset(device));
    ASSERT_OK(sidra_context_recover(context));
    ASSERT_OK(call(add, {dense(in->at()), dense(out->at())}, {sidra_param_f32(3.0f)}));
    synchronize();
    EXPECT_EQ(in->as<float>()[1] + 3.0f, out->as<float>()[1]);
}

TEST_F(ChipVector, DestructionBehindTheCallFaults) {
    const Buffer word(context, 4096);
    sidra_program* program = nullptr;
    ASSERT_OK(sidra_program_assemble(context, kAddParam, &program));
    ASSERT_OK(sidra_semaphore_wait_async(stream, word.at(), 1));
    ASSERT_OK(call(program, {dense(in->at()), dense(out->at())}));
    ASSERT_OK(sidra_program_destroy(program));
    EXPECT_FAILS(SIDRA_ERROR_INVALID_HANDLE, call(program, {dense(in->at()), dense(out->at())}));
    EXPECT_NE(nullptr, std::strstr(sidra_last_error(), "program that has been destroyed")) << sidra_last_error();
    ASSERT_OK(sidra_semaphore_signal(context, word.at(), 1));
    EXPECT_FAILS(SIDRA_ERROR_FAULT, sidra_stream_synchronize(stream, soon()));
    auto fault = SIDRA_INIT(sidra_fault_info);
    ASSERT_OK(sidra_stream_fault(stream, &fault));
    EXPECT_EQ(uint32_t{SIDRA_FAULT_TRANSLATION}, fault.cause);
    EXPECT_EQ(0.0f, out->as<float>()[0]);
    ASSERT_OK(sidra_stream_reset(stream));
}

}  // namespace
}  // namespace sidra::test
