// SPDX-License-Identifier: MIT
// Products and layers in graphs, whose operands change between launches, and come and go: later launches have the new
// values, and none uses what was destroyed. Plain loops over integers are the oracle; all sums are exact.
#include <algorithm>
#include <string>
#include <vector>

#include "graph_fixture.h"
#include "sidra/sidra.hpp"

namespace sidra::test {
namespace {

class ChipGraphProducts : public GraphTest {
   protected:
    sidra_program* assemble(const char* text) {
        sidra_program* program = nullptr;
        EXPECT_OK(sidra_program_assemble(context, text, &program)) << text;
        return program;
    }
};

// C[m][n] = p0 * sum over k of A[m][k] * B[k][n] + table[index[m]][n]
struct Product {
    uint32_t m, n, k;
    bool transposed;  // B is in memory as [n][k]
    float p0;
    static constexpr uint32_t kRows = 6;  // of the table
};

class ChipGraphMatmul : public ChipGraphProducts {
   protected:
    static constexpr const char* kProgram =
        "pass:\nv0 = load sums\nv0 = mul v0, p0\nv1 = load o3\nv0 = add v0, v1\nstore o2, v0\n";
    struct Objects {
        Numbers a, b, out, table, index;
        sidra_program* program;
    };
    Objects make(const Product& p) {
        Objects made{numbers<float>(size_t{p.m} * p.k, -9, 9),     numbers<float>(size_t{p.k} * p.n, -9, 9),
                     numbers<float>(size_t{p.m} * p.n, 0, 0),      numbers<float>(size_t{Product::kRows} * p.n, -9, 9),
                     numbers<int32_t>(p.m, 0, Product::kRows - 1), assemble(kProgram)};
        return made;
    }
    sidra_status queue(const Product& p, const Objects& o) {
        sidra_vector_operand operands[4]{};
        for (sidra_vector_operand& each : operands) each.type = SIDRA_F32, each.stride[3] = 4;
        operands[0].at = o.a.at(), operands[0].stride[2] = size_t{p.k} * 4;
        operands[1].at = o.b.at(), operands[1].stride[2] = size_t{p.n} * 4;
        if (p.transposed) operands[1].stride[2] = 4, operands[1].stride[3] = size_t{p.k} * 4;
        operands[2].at = o.out.at(), operands[2].stride[2] = size_t{p.n} * 4;
        operands[3].at = o.table.at(), operands[3].stride[2] = size_t{p.n} * 4;
        operands[3].extent = Product::kRows;
        operands[3].index = o.index.at(), operands[3].index_type = SIDRA_S32;
        auto matmul = SIDRA_INIT(sidra_matmul);
        matmul.program = o.program;
        matmul.m = p.m, matmul.n = p.n, matmul.k = p.k;
        matmul.param[0] = sidra_param_f32(p.p0);
        matmul.operands = operands, matmul.operand_count = 4;
        return sidra_matmul_async(stream, &matmul);
    }
    static void expect(const Product& p, const Objects& o) {
        const auto a = o.a.as<float>(), b = o.b.as<float>(), table = o.table.as<float>();
        for (uint32_t m = 0; m < p.m; ++m)
            for (uint32_t n = 0; n < p.n; ++n) {
                int sum = 0;
                for (uint32_t k = 0; k < p.k; ++k)
                    sum += static_cast<int>(a[m * p.k + k]) *
                           static_cast<int>(b[p.transposed ? n * p.k + k : k * p.n + n]);
                const auto row = static_cast<size_t>(o.index.as<int32_t>()[m]);
                ASSERT_EQ(p.p0 * static_cast<float>(sum) + table[row * p.n + n], o.out.as<float>()[m * p.n + n])
                    << m << " " << n;
            }
    }
};

constexpr Product kFirst{5, 7, 9, false, 2.0f}, kSecond{17, 3, 33, true, 0.5f};

TEST_F(ChipGraphMatmul, EverythingChanges) {
    Product first = kFirst;
    Objects one = make(first), two = make(kSecond), three = make(kFirst);
    sidra_graph* graph = nullptr;
    ASSERT_OK(sidra_graph_begin(stream));
    ASSERT_OK(sidra_nop_async(stream));
    ASSERT_OK(queue(first, one));
    ASSERT_OK(queue(kFirst, three));  // its table stands behind the other one's
    ASSERT_OK(sidra_graph_end(stream, &graph));
    launch(graph);
    expect(first, one);
    first.p0 = -3;
    ASSERT_OK(sidra_graph_set_param(graph, 1, 0, sidra_param_f32(first.p0)));
    launch(graph);
    expect(first, one);
    update(graph, 1, [&] { ASSERT_OK(queue(kSecond, two)); });
    std::ranges::fill(one.out.as<float>(), 77.0f);
    std::ranges::fill(three.out.as<float>(), 77.0f);
    launch(graph);
    expect(kSecond, two);
    expect(kFirst, three);
    EXPECT_EQ(77.0f, one.out.as<float>()[0]) << "the former output is left alone";
    EXPECT_OK(sidra_graph_destroy(graph));
    for (const Objects* each : {&one, &two, &three}) EXPECT_OK(sidra_program_destroy(each->program));
}

// A change while a launch is queued does not reach that launch, in parameters, operands and sizes.
TEST_F(ChipGraphMatmul, QueuedLaunchesKeepTheirTables) {
    std::vector<Objects> objects;
    constexpr uint32_t kLaunches = 12;
    const auto product = [](uint32_t i) {
        return Product{i % 5 + 1, i % 3 + 2, i + 1, i % 2 == 0, static_cast<float>(i)};
    };
    for (uint32_t i = 0; i < kLaunches; ++i) objects.push_back(make(product(i)));
    launch_updated(kLaunches, [&](uint32_t i) { return queue(product(i), objects[i]); });
    for (uint32_t i = 0; i < kLaunches; ++i) expect(product(i), objects[i]);
    for (const Objects& each : objects) EXPECT_OK(sidra_program_destroy(each.program));
}

// Each object that a product names is needed, until an update names others; then the former ones are not.
TEST_F(ChipGraphMatmul, EachObjectHasToExist) {
    sidra_graph* graph = nullptr;
    Objects now = make(kFirst);
    ASSERT_OK(sidra_graph_begin(stream));
    ASSERT_OK(queue(kFirst, now));
    ASSERT_OK(sidra_graph_end(stream, &graph));
    for (Numbers Objects::*member : {&Objects::a, &Objects::b, &Objects::out, &Objects::table, &Objects::index}) {
        launch(graph);
        expect(kFirst, now);
        (now.*member).buffer.reset();
        expect_gone(graph, "buffer");
        Objects next = make(kFirst);  // may well have the place of what is gone
        expect_gone(graph, "buffer");
        update(graph, 0, [&] { ASSERT_OK(queue(kFirst, next)); });
        EXPECT_OK(sidra_program_destroy(now.program));
        now = std::move(next);
    }
    launch(graph);
    EXPECT_OK(sidra_program_destroy(now.program));
    expect_gone(graph, "program");
    now.program = assemble(kProgram);
    expect_gone(graph, "program");
    update(graph, 0, [&] { ASSERT_OK(queue(kFirst, now)); });
    launch(graph);
    expect(kFirst, now);
    EXPECT_OK(sidra_graph_destroy(graph));
    EXPECT_OK(sidra_program_destroy(now.program));
}

// The library's own program, which stores the sums, needs no handle.
TEST_F(ChipGraphMatmul, ProductsWithoutAProgramChange) {
    const Buffer data(context, 4096);
    const auto bytes = data.as<int8_t>();
    randomise(bytes.first(2048), -128, 127);
    const uint32_t kK = 40;
    const auto product = [&](uint32_t a, uint32_t b, uint32_t out, uint32_t side) {
        const uint32_t left[4] = {1, 1, side, kK}, right[4] = {1, 1, kK, side}, sums[4] = {1, 1, side, side};
        const sidra_vector_operand operands[] = {sidra_operand_dense(data.at(a), SIDRA_S8, left),
                                                 sidra_operand_dense(data.at(b), SIDRA_S8, right),
                                                 sidra_operand_dense(data.at(out), SIDRA_S32, sums)};
        auto matmul = SIDRA_INIT(sidra_matmul);
        matmul.m = matmul.n = side, matmul.k = kK;
        matmul.operands = operands, matmul.operand_count = 3;
        return sidra_matmul_async(stream, &matmul);
    };
    const auto expect_product = [&](uint32_t a, uint32_t b, uint32_t out, uint32_t side) {
        for (uint32_t m = 0; m < side; ++m)
            for (uint32_t n = 0; n < side; ++n) {
                int32_t sum = 0;
                for (uint32_t k = 0; k < kK; ++k) sum += bytes[a + m * kK + k] * bytes[b + k * side + n];
                ASSERT_EQ(sum, data.as<int32_t>()[out / 4 + m * side + n]) << m << " " << n;
            }
    };
    sidra_graph* graph = nullptr;
    ASSERT_OK(sidra_graph_begin(stream));
    ASSERT_OK(product(0, 512, 2048, 4));
    ASSERT_OK(sidra_graph_end(stream, &graph));
    launch(graph);
    expect_product(0, 512, 2048, 4);
    update(graph, 0, [&] { ASSERT_OK(product(800, 1400, 3072, 13)); });
    launch(graph);
    expect_product(800, 1400, 3072, 13);
    EXPECT_OK(sidra_graph_destroy(graph));
}

// out[row][n] = o1[n] * sum over k of (code[k] - zero) * w[k][n] + table[index[row]][n], with code = p0 * pixel
struct Convolution {
    uint32_t side, channels, kernel, step, pad, outputs;
    int zero;
    int p0;
    static constexpr uint32_t kImages = 2, kRows = 6;
    uint32_t inputs() const { return kernel * kernel * channels; }
    uint32_t windows() const { return (side + 2 * pad - kernel) / step + 1; }
};

class ChipGraphLayer : public ChipGraphProducts {
   protected:
    static constexpr const char* kProgram =
        "pass:\nv0 = load input\nv0 = mul v0, p0\nstore codes, v0\n"
        "epilogue:\n"
        "pass:\nv0 = load sums\nv1 = load o1\nv0 = mul v0, v1\nv1 = load o2\nv0 = add v0, v1\nstore o0, v0\n";
    struct Objects {
        Numbers images, out, scales, table, index;
        std::vector<int8_t> values;
        sidra_weights* weights;
        sidra_program* program;
    };
    Objects make(const Convolution& c) {
        const size_t rows = size_t{Convolution::kImages} * c.windows() * c.windows();
        Objects made{numbers<uint8_t>(size_t{Convolution::kImages} * c.side * c.side * c.channels, 0, 60),
                     numbers<float>(rows * c.outputs, 0, 0),
                     numbers<float>(c.outputs, 1, 4),
                     numbers<float>(size_t{Convolution::kRows} * c.outputs, -9, 9),
                     numbers<int32_t>(rows, 0, Convolution::kRows - 1),
                     std::vector<int8_t>(size_t{c.inputs()} * c.outputs),
                     nullptr,
                     assemble(kProgram)};
        randomise(std::span(made.values), -100, 100);
        made.weights = make_weights(c, made.values);
        return made;
    }
    sidra_weights* make_weights(const Convolution& c, const std::vector<int8_t>& values) {
        sidra_weights* made = nullptr;
        EXPECT_OK(
            sidra_weights_create_s8(context, c.inputs(), c.outputs, values.data(), c.outputs, nullptr, nullptr, &made));
        EXPECT_OK(sidra_weights_program_async(stream, made));
        return made;
    }
    void destroy(const Objects& o) {
        EXPECT_OK(sidra_weights_destroy(o.weights));
        EXPECT_OK(sidra_program_destroy(o.program));
    }
    sidra_status queue(const Convolution& c, const Objects& o) {
        const uint32_t all[4] = {Convolution::kImages, c.windows(), c.windows(), c.outputs};
        sidra_vector_operand operands[3]{sidra_operand_dense(o.out.at(), SIDRA_F32, all)};
        operands[1].at = o.scales.at(), operands[1].type = SIDRA_F32, operands[1].stride[3] = 4;
        operands[2].at = o.table.at(), operands[2].type = SIDRA_F32, operands[2].stride[3] = 4;
        operands[2].stride[2] = size_t{c.outputs} * 4, operands[2].extent = Convolution::kRows;
        operands[2].index = o.index.at(), operands[2].index_type = SIDRA_S32;
        auto layer = SIDRA_INIT(sidra_layer);
        layer.program = o.program;
        layer.windows = sidra_windows_image(o.images.at(), SIDRA_U8, Convolution::kImages, c.side, c.side, c.channels,
                                            c.kernel, c.kernel);
        layer.windows.stride_h = layer.windows.stride_w = c.step;
        layer.windows.pad_h = layer.windows.pad_w = c.pad;
        layer.windows.zero = c.zero;
        sidra_windows_fit(&layer.windows);
        layer.param[0] = sidra_param_f32(static_cast<float>(c.p0));
        layer.operands = operands, layer.operand_count = 3;
        return sidra_layer_async(stream, o.weights, &layer);
    }
    static void expect(const Convolution& c, const Objects& o) {
        const auto images = o.images.as<uint8_t>();
        const uint32_t windows = c.windows();
        for (uint32_t row = 0; row < Convolution::kImages * windows * windows; ++row)
            for (uint32_t n = 0; n < c.outputs; ++n) {
                const uint32_t image = row / (windows * windows), y = row / windows % windows, x = row % windows;
                int sum = 0;
                for (uint32_t k = 0; k < c.inputs(); ++k) {
                    const uint32_t i = k / c.channels / c.kernel, j = k / c.channels % c.kernel;
                    // Above and left of the image these wrap, and are not below `side`.
                    const uint32_t pixel_row = y * c.step + i - c.pad, pixel = x * c.step + j - c.pad;
                    const bool inside = pixel_row < c.side && pixel < c.side;
                    const size_t at = ((size_t{image} * c.side + pixel_row) * c.side + pixel) * c.channels;
                    const int code = inside ? c.p0 * images[at + k % c.channels] : 0;
                    sum += (code - c.zero) * o.values[size_t{k} * c.outputs + n];
                }
                const auto entry = static_cast<size_t>(o.index.as<int32_t>()[row]);
                ASSERT_EQ(
                    o.scales.as<float>()[n] * static_cast<float>(sum) + o.table.as<float>()[entry * c.outputs + n],
                    o.out.as<float>()[size_t{row} * c.outputs + n])
                    << row << " " << n;
            }
    }
};

constexpr Convolution kSame{6, 4, 3, 1, 1, 10, 3, 2}, kSmaller{9, 5, 2, 2, 0, 21, 0, 4};

TEST_F(ChipGraphLayer, EverythingChanges) {
    Convolution same = kSame;
    Objects one = make(same), two = make(kSmaller), three = make(kSame);
    sidra_graph* graph = nullptr;
    ASSERT_OK(sidra_graph_begin(stream));
    ASSERT_OK(queue(same, one));
    ASSERT_OK(sidra_nop_async(stream));
    ASSERT_OK(queue(kSame, three));  // its table and its pattern stand behind the other one's
    ASSERT_OK(sidra_graph_end(stream, &graph));
    launch(graph);
    expect(same, one);
    same.p0 = 1;
    ASSERT_OK(sidra_graph_set_param(graph, 0, 0, sidra_param_f32(1)));
    launch(graph);
    expect(same, one);
    update(graph, 0, [&] { ASSERT_OK(queue(kSmaller, two)); });
    std::ranges::fill(one.out.as<float>(), 77.0f);
    std::ranges::fill(three.out.as<float>(), 77.0f);
    launch(graph);
    expect(kSmaller, two);
    expect(kSame, three);
    EXPECT_EQ(77.0f, one.out.as<float>()[0]) << "the former output is left alone";
    // The same weights with other values.
    randomise(std::span(two.values), -5, 5);
    ASSERT_OK(sidra_weights_update_async(stream, two.weights, 0, kSmaller.inputs(), 0, kSmaller.outputs,
                                         two.values.data(), kSmaller.outputs));
    launch(graph);
    expect(kSmaller, two);
    EXPECT_OK(sidra_graph_destroy(graph));
    for (const Objects* each : {&one, &two, &three}) destroy(*each);
}

TEST_F(ChipGraphLayer, QueuedLaunchesKeepTheirTables) {
    std::vector<Objects> objects;
    constexpr uint32_t kLaunches = 8;
    const auto convolution = [](uint32_t i) {
        return Convolution{6 + i, i % 4 + 1, i % 3 + 1, i % 2 + 1, i % 2, i + 1, static_cast<int>(i), 2};
    };
    for (uint32_t i = 0; i < kLaunches; ++i) objects.push_back(make(convolution(i)));
    launch_updated(kLaunches, [&](uint32_t i) { return queue(convolution(i), objects[i]); });
    for (uint32_t i = 0; i < kLaunches; ++i) expect(convolution(i), objects[i]);
    for (const Objects& each : objects) destroy(each);
}

TEST_F(ChipGraphLayer, EachObjectHasToExist) {
    sidra_graph* graph = nullptr;
    Objects now = make(kSame);
    ASSERT_OK(sidra_graph_begin(stream));
    ASSERT_OK(queue(kSame, now));
    ASSERT_OK(sidra_graph_end(stream, &graph));
    for (Numbers Objects::*member :
         {&Objects::images, &Objects::out, &Objects::scales, &Objects::table, &Objects::index}) {
        launch(graph);
        expect(kSame, now);
        (now.*member).buffer.reset();
        expect_gone(graph, "buffer");
        Objects next = make(kSame);  // may well have the place of what is gone
        expect_gone(graph, "buffer");
        update(graph, 0, [&] { ASSERT_OK(queue(kSame, next)); });
        destroy(now);
        now = std::move(next);
    }
    launch(graph);
    EXPECT_OK(sidra_program_destroy(now.program));
    expect_gone(graph, "program");
    now.program = assemble(kProgram);
    update(graph, 0, [&] { ASSERT_OK(queue(kSame, now)); });
    launch(graph);
    EXPECT_OK(sidra_weights_destroy(now.weights));
    expect_gone(graph, "weights");
    randomise(std::span(now.values), -100, 100);
    now.weights = make_weights(kSame, now.values);  // has the index of the former ones
    expect_gone(graph, "weights");
    update(graph, 0, [&] { ASSERT_OK(queue(kSame, now)); });
    launch(graph);
    expect(kSame, now);
    EXPECT_OK(sidra_graph_destroy(graph));
    destroy(now);
}

TEST_F(ChipGraphLayer, WhatIsRefusedChangesNothing) {
    Objects one = make(kSame);
    sidra_program* const plain = assemble("pass:\nv0 = load sums\nv1 = load o1\nv0 = mul v0, v1\nstore o0, v0\n");
    sidra_graph* graph = nullptr;
    ASSERT_OK(sidra_graph_begin(stream));
    ASSERT_OK(queue(kSame, one));
    ASSERT_OK(queue(kSame, one));
    ASSERT_OK(sidra_graph_end(stream, &graph));
    const auto expect_refused = [&](sidra_status status, const std::string& why) {
        EXPECT_FAILS(status, sidra_graph_update(graph, 0, stream));
        EXPECT_NE(std::string::npos, std::string(sidra_last_error()).find(why)) << sidra_last_error();
        std::ranges::fill(one.out.as<float>(), 0.0f);
        launch(graph);
        expect(kSame, one);
    };
    // Two operands instead of three; the first operation would do, the second one does not.
    const uint32_t all[4] = {1, 1, 1, kSame.outputs};
    const sidra_vector_operand operands[] = {sidra_operand_dense(one.out.at(), SIDRA_F32, all),
                                             sidra_operand_dense(one.scales.at(), SIDRA_F32, all)};
    auto layer = SIDRA_INIT(sidra_layer);
    layer.program = plain;
    layer.windows = sidra_windows_matrix(one.images.at(), SIDRA_U8, 1, kSame.inputs());
    layer.operands = operands, layer.operand_count = 2;
    Convolution other = kSame;
    other.zero = 50;
    ASSERT_OK(sidra_graph_begin(stream));
    ASSERT_OK(queue(other, one));
    ASSERT_OK(sidra_layer_async(stream, one.weights, &layer));
    expect_refused(SIDRA_ERROR_INVALID_ARGUMENT, "operation 1 of graph");
    // A product in memory has tables, too, but is of another kind.
    const uint32_t size[4] = {1, 1, 2, 2};
    const sidra_vector_operand factors[] = {sidra_operand_dense(one.scales.at(), SIDRA_F32, size),
                                            sidra_operand_dense(one.scales.at(), SIDRA_F32, size),
                                            sidra_operand_dense(one.out.at(), SIDRA_F32, size)};
    auto matmul = SIDRA_INIT(sidra_matmul);
    matmul.m = matmul.n = matmul.k = 2;
    matmul.operands = factors, matmul.operand_count = 3;
    ASSERT_OK(sidra_graph_begin(stream));
    ASSERT_OK(sidra_matmul_async(stream, &matmul));
    expect_refused(SIDRA_ERROR_INVALID_ARGUMENT, "MATMUL");
    // A stream of another context.
    sidra_context* foreign = nullptr;
    sidra_stream* theirs = nullptr;
    ASSERT_OK(sidra_context_create(device, &foreign));
    ASSERT_OK(sidra_stream_create(foreign, nullptr, &theirs));
    ASSERT_OK(sidra_graph_begin(theirs));
    ASSERT_OK(sidra_nop_async(theirs));
    EXPECT_FAILS(SIDRA_ERROR_WRONG_CONTEXT, sidra_graph_update(graph, 0, theirs));
    EXPECT_FAILS(SIDRA_ERROR_NOT_RECORDABLE, sidra_graph_update(graph, 0, theirs));
    EXPECT_OK(sidra_stream_destroy(theirs));
    EXPECT_OK(sidra_context_destroy(foreign));
    EXPECT_OK(sidra_graph_destroy(graph));
    EXPECT_OK(sidra_program_destroy(plain));
    destroy(one);
}

// The indices of a program call without a product are objects, too.
TEST_F(ChipGraphProducts, IndicesOfVectorsHaveToExist) {
    sidra_program* const program = assemble("pass:\nv0 = load o0\nstore o1, v0\n");
    const auto table = numbers<float>(8, 1, 9), out = numbers<float>(4, 0, 0);
    const auto gather = [&](const Numbers& index) {
        const uint32_t size[4] = {1, 1, 4, 1};
        sidra_vector_operand operands[] = {sidra_operand_dense(table.at(), SIDRA_F32, size),
                                           sidra_operand_dense(out.at(), SIDRA_F32, size)};
        operands[0].index = index.at(), operands[0].index_type = SIDRA_S64, operands[0].extent = 8;
        auto vector = SIDRA_INIT(sidra_vector);
        vector.program = program;
        std::copy(std::begin(size), std::end(size), vector.size);
        vector.operands = operands, vector.operand_count = 2;
        return sidra_vector_async(stream, &vector);
    };
    Numbers index = numbers<int64_t>(4, 0, 7);
    sidra_graph* graph = nullptr;
    ASSERT_OK(sidra_graph_begin(stream));
    ASSERT_OK(gather(index));
    ASSERT_OK(sidra_graph_end(stream, &graph));
    for (int round = 0; round < 2; ++round) {
        launch(graph);
        for (size_t i = 0; i < 4; ++i)
            EXPECT_EQ(table.as<float>()[static_cast<size_t>(index.as<int64_t>()[i])], out.as<float>()[i]) << i;
        index.buffer.reset();
        expect_gone(graph, "buffer");
        index = numbers<int64_t>(4, 0, 7);
        expect_gone(graph, "buffer");
        update(graph, 0, [&] { ASSERT_OK(gather(index)); });
    }
    EXPECT_OK(sidra_graph_destroy(graph));
    EXPECT_OK(sidra_program_destroy(program));
}

TEST(ChipGraphProductsCpp, StreamsUpdateProductsAndLayers) {
    choose_test_device();
    Device device = Device::open(0, {.profile = SIDRA_PROFILE_SMALL, .private_chip = !on_a_node()});
    Context context(device);
    Stream stream(context);
    sidra::Buffer data(context, 4096);
    const auto f32 = data.as<float>();
    f32[0] = 2, f32[1] = 3;
    data.as<uint8_t>()[2048] = 5;
    const Weights four = Weights::from_s8(context, 1, 1, std::vector<int8_t>{4});
    const Weights six = Weights::from_s8(context, 1, 1, std::vector<int8_t>{6});
    stream.program(four);
    stream.program(six);
    const auto program = Program::assemble(context, "pass:\nv0 = load sums\nv0 = mul v0, p0\nstore o0, v0");
    const Size one{1, 1, 1, 1};
    const auto at = [&](size_t offset) { return dense(data.at(offset), SIDRA_F32, one); };
    const sidra_windows window = sidra_windows_matrix(data.at(2048), SIDRA_U8, 1, 1);
    const Graph graph = stream.capture([&] {
        stream.matmul(1, 1, 1, at(0), at(4), at(1024));
        stream.layer(four, program, window, {at(1028)}, {0.5f});
    });
    stream.launch(graph);
    stream.synchronize();
    EXPECT_EQ(6.0f, f32[256]);
    EXPECT_EQ(10.0f, f32[257]);
    stream.update(graph, 0, [&] {
        stream.matmul(1, 1, 1, at(4), at(4), at(1032));
        stream.layer(six, program, window, {at(1036)}, {2.0f});
    });
    stream.launch(graph);
    stream.synchronize();
    EXPECT_EQ(9.0f, f32[258]);
    EXPECT_EQ(60.0f, f32[259]);
}

}  // namespace
}  // namespace sidra::test
