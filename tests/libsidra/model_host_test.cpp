// SPDX-License-Identifier: MIT
// Compiled models in which the host computes something: in the order of the stream, and with each error.
#include <atomic>
#include <fstream>
#include <iterator>
#include <tuple>

#include "busy_thread.h"
#include "model_fixture.h"
#include "paths.h"
#include "patience.h"

namespace sidra::test {
namespace {

constexpr uint32_t kRows = HostModel::kRows, kColumns = HostModel::kColumns, kUpdates = HostModel::kUpdates;

struct Case {
    std::vector<float> x = std::vector<float>(kRows * kColumns), updates = std::vector<float>(kUpdates * kColumns);
    std::vector<int64_t> indices = {1, -2, 1};

    std::vector<float> wanted() const {
        std::vector<float> y = x;
        for (float& each : y) each += 1;
        const auto row = [&](int64_t index) { return static_cast<size_t>((index + kRows) % kRows) * kColumns; };
        for (size_t i = 0; i < kUpdates; ++i)
            for (size_t c = 0; c < kColumns; ++c) y[row(indices[i]) + c] = updates[i * kColumns + c];
        for (float& each : y) each *= 2;
        for (size_t i = 0; i < kUpdates; ++i)
            for (size_t c = 0; c < kColumns; ++c) y[(i == 2 ? 3 : 0) * kColumns + c] += updates[i * kColumns + c];
        return y;
    }
};

class ModelHost : public ModelStreams {
   protected:
    static void expect_completed(sidra_stream* stream, uint64_t packets) {
        EXPECT_TRUE(eventually([&] {
            uint64_t completed = 0;
            EXPECT_OK(sidra_stream_timeline(stream, nullptr, &completed));
            return completed == packets;
        }));
    }
    Case any() {
        Case made;
        randomise(std::span(made.x), -1.0f, 1.0f);
        randomise(std::span(made.updates), -1.0f, 1.0f);
        return made;
    }
    sidra_status run(sidra_model* model, const Case& with, std::vector<float>* y, sidra_stream* on = nullptr,
                     uint64_t deadline = soon()) {
        y->assign(kRows * kColumns, 0);
        const void* const inputs[] = {with.x.data(), with.indices.data(), with.updates.data()};
        void* const outputs[] = {y->data()};
        return sidra_model_run(on != nullptr ? on : stream, model, 0, inputs, outputs, deadline);
    }
    void expect_right(sidra_model* model, sidra_stream* on = nullptr) {
        const Case with = any();
        std::vector<float> y;
        ASSERT_OK(run(model, with, &y, on));
        EXPECT_EQ(with.wanted(), y);
    }
    void refused(const std::function<void(fb::HostT&)>& change, const std::string& text) {
        const Bytes bytes =
            HostModel().model.file([&](fb::ModelT& m) { change(*m.variants[0]->calls[1]->step.AsHost()); });
        const TestFile file(bytes);
        sidra_model* model = nullptr;
        EXPECT_FAILS(SIDRA_ERROR_INVALID_ARGUMENT, sidra_model_load(context, file.path(), &model));
        expect_said("variant 0, call 1 '/Scatter': " + text);
    }
};

TEST_F(ModelHost, ChipAndHostTakeTurns) {
    sidra_model* model = load(HostModel().model.file());
    auto variant = SIDRA_INIT(sidra_model_variant_info);
    ASSERT_OK(sidra_model_get_variant(model, 0, &variant));
    EXPECT_EQ(4u, variant.calls);
    EXPECT_EQ(2u, variant.host_calls);
    for (int round = 0; round < 20; ++round) expect_right(model, round % 2 == 0 ? stream : second);
}

// A model that the host computes alone; each run takes what the one before it left.
TEST_F(ModelHost, RunsInQueuesAreInOrder) {
    TestModel test;
    const int64_t zero = 0;
    const float one = 1;
    const fb::Place at_zero = test.add_constants(&zero, sizeof zero), at_one = test.add_constants(&one, sizeof one);
    const uint32_t copy = test.add_program("pass:\nv0 = load o0\nstore o1, v0\n");
    const uint32_t variant = test.add_variant(128);
    test.add_output(variant, "count", fb::Type::F32, {1, 1}, 64);
    fb::VectorT back;
    back.program = copy;
    back.size = {1, 1, 1, 1};
    back.operands =
        operands(dense_operand(work(64), fb::Type::F32, back.size), dense_operand(work(0), fb::Type::F32, back.size));
    fb::HostT add;
    add.function = "scatter";
    add.inputs.push_back(std::make_unique<fb::ArrayT>(host_array(work(0), fb::Type::F32, {1, 1})));
    add.inputs.push_back(std::make_unique<fb::ArrayT>(host_array(at_zero, fb::Type::S64, {1})));
    add.inputs.push_back(std::make_unique<fb::ArrayT>(host_array(at_one, fb::Type::F32, {1, 1})));
    add.output = std::make_unique<fb::ArrayT>(host_array(work(64), fb::Type::F32, {1, 1}));
    add.parameters = {1};
    test.add_call(variant, "/Back", std::move(back));
    test.add_call(variant, "/Add", std::move(add));
    sidra_model* model = load(test.file());
    const auto count = memory<float>(model, 0, 64, 1);
    block(stream);
    for (int i = 0; i < 20; ++i) ASSERT_OK(sidra_model_run_async(i % 2 == 0 ? stream : second, model, 0));
    EXPECT_EQ(0, count[0]);
    unblock();
    ASSERT_OK(sidra_stream_synchronize(second, soon()));
    ASSERT_OK(sidra_stream_synchronize(stream, soon()));
    EXPECT_EQ(20, count[0]);
    ASSERT_OK(sidra_batch_begin(stream));
    ASSERT_OK(sidra_model_run_async(stream, model, 0));
    ASSERT_OK(sidra_model_run(stream, model, 0, nullptr, nullptr, soon()));
    ASSERT_OK(sidra_batch_end(stream));
    EXPECT_EQ(22, count[0]);
    ASSERT_OK(sidra_graph_begin(stream));
    EXPECT_FAILS(SIDRA_ERROR_NOT_RECORDABLE, sidra_model_run_async(stream, model, 0));
    EXPECT_FAILS(SIDRA_ERROR_INVALID_ARGUMENT, sidra_graph_end(stream, nullptr));
}

TEST_F(ModelHost, ValuesThatAFunctionRefusesStopTheStream) {
    sidra_model* model = load(HostModel().model.file());
    Case with = any();
    with.indices[2] = 4;
    std::vector<float> y;
    for (int round = 0; round < 3; ++round) {
        EXPECT_FAILS(SIDRA_ERROR_FAULT, run(model, with, &y));
        expect_said("variant 0, call 1 '/Scatter': index 2 is 4, but there are 4 rows; sidra_stream_reset()");
        auto fault = SIDRA_INIT(sidra_fault_info);
        ASSERT_OK(sidra_stream_fault(stream, &fault));
        EXPECT_EQ(uint32_t{SIDRA_FAULT_PRODUCER}, fault.cause);
        EXPECT_EQ(uint32_t{SIDRA_FAULT_VALUE}, fault.root_cause);
        EXPECT_FAILS(SIDRA_ERROR_FAULT, sidra_model_run_async(stream, model, 0));
        expect_right(model, second);  // other streams go on
        ASSERT_OK(sidra_stream_reset(stream));
        expect_right(model);
    }
    // Queued, the error comes with what waits for it. (It would come with the call if the function failed meanwhile.)
    std::ranges::copy(with.indices, memory<int64_t>(model, 0, HostModel::kIndices, kUpdates).begin());
    block(stream);
    ASSERT_OK(sidra_model_run_async(stream, model, 0));
    unblock();
    EXPECT_FAILS(SIDRA_ERROR_FAULT, sidra_stream_synchronize(stream, soon()));
    expect_said("what it waited for failed");
    ASSERT_OK(sidra_stream_reset(stream));
}

TEST_F(ModelHost, RunsThatAreDropped) {
    sidra_model* model = load(HostModel().model.file());
    block(stream);
    for (int i = 0; i < 3; ++i) ASSERT_OK(sidra_model_run_async(stream, model, 0));
    ASSERT_OK(sidra_stream_reset(stream));
    expect_right(model);
    ASSERT_OK(sidra_semaphore_wait_async(stream, words->at(), 2));
    ASSERT_OK(sidra_model_run_async(stream, model, 0));
    destroy(model);
    ASSERT_OK(sidra_semaphore_signal(context, words->at(), 2));
    EXPECT_FAILS(SIDRA_ERROR_FAULT, sidra_stream_synchronize(stream, soon()));
    EXPECT_OK(sidra_stream_reset(stream));
}

// While the thread of the callbacks is busy, a stream waits at the gate of a function; then the memory is gone.
TEST_F(ModelHost, DestructionBeforeAFunction) {
    sidra_model* model = load(HostModel().model.file());
    BusyThread busy(second);
    EXPECT_OK(sidra_model_run_async(stream, model, 0));
    expect_completed(stream, 1);
    destroy(model);
    EXPECT_FAILS(SIDRA_ERROR_NOT_READY, sidra_stream_query(stream));
    busy.end();
    EXPECT_FAILS(SIDRA_ERROR_FAULT, sidra_stream_synchronize(stream, soon()));
    EXPECT_OK(sidra_stream_reset(stream));
}

// The ring has room for the calls before the first function and for its gate, or for the calls only.
TEST_F(ModelHost, ADeadlinePassesBeforeAllIsQueued) {
    constexpr uint32_t kRing = 64;
    auto options = SIDRA_INIT(sidra_stream_options);
    options.ring_packets = kRing;
    for (const uint32_t room : {2u, 1u}) {
        sidra_model* model = load(HostModel().model.file());
        sidra_stream* small = nullptr;
        ASSERT_OK(sidra_stream_create(context, &options, &small));
        BusyThread busy(second);
        const Buffer word(context, 64);
        ASSERT_OK(sidra_semaphore_wait_async(small, word.at(), 1));
        for (uint32_t i = 1; i < kRing - room; ++i) ASSERT_OK(sidra_nop_async(small));
        const Case one = any(), other = any();
        std::vector<float> y;
        EXPECT_FAILS(SIDRA_ERROR_TIMEOUT, run(model, one, &y, small, sidra_deadline_after_ns(0)));
        ASSERT_OK(sidra_semaphore_signal(context, word.at(), 1));
        expect_completed(small, kRing - room + 1);
        if (room == 2) {  // the function is to come, and its inputs must stay
            EXPECT_FAILS(SIDRA_ERROR_TIMEOUT, run(model, other, &y, small, sidra_deadline_after_ns(0)));
            EXPECT_TRUE(std::ranges::equal(one.x, memory<float>(model, 0, 0, one.x.size())));
        }
        busy.end();
        expect_right(model, small);
        EXPECT_OK(sidra_stream_destroy(small));
    }
}

TEST_F(ModelHost, ACallbackCannotWait) {
    sidra_model* model = load(HostModel().model.file());
    expect_right(model);
    struct Answer {
        sidra_stream* stream;
        sidra_model* model;
        std::atomic<int> waited = -1, queued = -1;
        std::string text;
    } answer{second, model};
    const auto ask = [](sidra_status, void* user) {
        auto* const a = static_cast<Answer*>(user);
        const sidra_status waited = sidra_model_run(a->stream, a->model, 0, nullptr, nullptr, SIDRA_NEVER);
        a->text = sidra_last_error();
        a->queued = sidra_model_run_async(a->stream, a->model, 0);
        a->waited = waited;
    };
    ASSERT_OK(sidra_stream_add_callback(stream, ask, &answer));
    EXPECT_TRUE(eventually([&] { return answer.waited != -1; }));
    EXPECT_EQ(SIDRA_ERROR_BUSY, answer.waited);
    EXPECT_NE(std::string::npos, answer.text.find("a callback cannot wait for model")) << answer.text;
    EXPECT_EQ(SIDRA_OK, answer.queued);
    ASSERT_OK(sidra_stream_synchronize(second, soon()));
}

TEST_F(ModelHost, WrongCallsAreRefused) {
    refused([](fb::HostT& h) { h.function = "non\nsense"; }, "the host has no function 'non?sense'");
    refused([](fb::HostT& h) { h.output->type = fb::Type{9}; }, "output: type is 9");
    refused([](fb::HostT& h) { *h.output->at = constant(0); }, "output is not in the work memory");
    refused([](fb::HostT& h) { *h.output->at = work(417); }, "output: offset 417 is not a multiple of the 4 bytes");
    refused([](fb::HostT& h) { *h.output->at = work(420); }, "output: 32 bytes from 420 on are not in the work memory");
    refused([](fb::HostT& h) { *h.output->at = work(UINT64_MAX - 3); }, "output: 32 bytes from 18446744073709551612");
    refused([](fb::HostT& h) { h.output->shape.assign(9, 1); }, "output: shape has 9 dimensions");
    refused([](fb::HostT& h) { h.output->shape.assign(8, UINT32_MAX); }, "output: shape[1] is 4294967295, so it has");
    refused([](fb::HostT& h) { h.inputs[0]->type = fb::Type{200}; }, "input 0: type is 200");
    refused([](fb::HostT& h) { *h.inputs[1]->at = {fb::Memory{2}, 0}; }, "input 1 is in memory 2");
    refused([](fb::HostT& h) { *h.inputs[1]->at = constant(8); },
            "input 1: 24 bytes from 8 on are not in the constants");
    refused([](fb::HostT& h) { *h.inputs[2]->at = work(HostModel::kScattered - 20); }, "input 2 and output overlap");
    refused([](fb::HostT& h) { *h.output->at = work(HostModel::kSum + 28); }, "input 0 and output overlap");
    refused([](fb::HostT& h) { h.inputs.clear(); }, "scatter: it has 0 inputs, must have 3");
    refused([](fb::HostT& h) { h.parameters.clear(); }, "scatter: it has 0 parameters, must have 1");
}

// Files of the next minor version may have what this library does not know.
TEST_F(ModelHost, TheFormatHasANewVersion) {
    Bytes bytes = HostModel().model.file();
    EXPECT_EQ(0x00010002u, fb::kVersion);
    change_header(&bytes, [](fb::FileHeader& h) { h.version = 0x00010003; });
    const TestFile file(bytes);
    sidra_model* model = nullptr;
    EXPECT_FAILS(SIDRA_ERROR_VERSION, sidra_model_load(context, file.path(), &model));
    expect_said("has version 1.3 of the format, but this libsidra reads 1.0 to 1.2");
    change_header(&bytes, [](fb::FileHeader& h) { h.version = 0x00010000; });
    expect_right(load(bytes));
}

TEST_F(ModelHost, TensorsWithoutElements) {
    TestModel test;
    const uint32_t variant = test.add_variant(64);
    test.add_input(variant, "x", fb::Type::F32, {0, 3}, 64);
    test.add_input(variant, "indices", fb::Type::S64, {0}, 0);
    test.add_output(variant, "y", fb::Type::F32, {0, 3}, 0);
    fb::HostT host;
    host.function = "scatter";
    for (const fb::ArrayT& input :
         {host_array(work(64), fb::Type::F32, {0, 3}), host_array(work(0), fb::Type::S64, {0}),
          host_array(work(0), fb::Type::F32, {0, 3})})
        host.inputs.push_back(std::make_unique<fb::ArrayT>(input));
    host.output = std::make_unique<fb::ArrayT>(host_array(work(0), fb::Type::F32, {0, 3}));
    host.parameters = {0};
    test.add_call(variant, "/Scatter", std::move(host));
    sidra_model* model = load(test.file());
    auto tensor = SIDRA_INIT(sidra_model_tensor);
    ASSERT_OK(sidra_model_get_input(model, 0, 0, &tensor));
    EXPECT_EQ(2u, tensor.rank);
    EXPECT_EQ(0u, tensor.shape[0]);
    EXPECT_EQ(0u, tensor.bytes);
    float none = 7;
    const void* const inputs[] = {&none, &none};
    void* const outputs[] = {&none};
    ASSERT_OK(sidra_model_run(stream, model, 0, inputs, outputs, soon()));
    EXPECT_EQ(7, none);
    const uint32_t shape[] = {0, 3}, indices[] = {0};
    const uint32_t* const shapes[] = {shape, indices};
    const uint32_t ranks[] = {2, 1};
    uint32_t found = 9;
    ASSERT_OK(sidra_model_find_variant(model, shapes, ranks, 2, &found));
    EXPECT_EQ(0u, found);
}

// The compiler gives them a place among constants, of which there may be none.
TEST_F(ModelHost, ConstantsWithoutElements) {
    TestModel test;
    const uint32_t variant = test.add_variant(64);
    fb::HostT host;
    host.function = "power";
    for (const fb::Place& at : {constant(0), work(0)})
        host.inputs.push_back(std::make_unique<fb::ArrayT>(host_array(at, fb::Type::S64, {0})));
    host.output = std::make_unique<fb::ArrayT>(host_array(work(0), fb::Type::S64, {0}));
    test.add_call(variant, "/Pow", std::move(host));
    sidra_model* model = load(test.file());
    ASSERT_OK(sidra_model_run(stream, model, 0, nullptr, nullptr, soon()));
}

// A list of numbers of 64 bits between its bytes, which the fuzzer found.
TEST_F(ModelHost, MisalignedNumbersAreRefused) {
    std::ifstream stored(source_file("tests/fuzz/corpus/model/misaligned-parameters"), std::ios::binary);
    Bytes bytes(std::istreambuf_iterator<char>(stored), {});
    ASSERT_FALSE(bytes.empty());
    bytes.erase(bytes.begin());
    change_header(&bytes, [&](fb::FileHeader& header) { header.file_size = bytes.size(); });
    seal(&bytes);
    const TestFile file(bytes);
    sidra_model* model = nullptr;
    EXPECT_FAILS(SIDRA_ERROR_INVALID_ARGUMENT, sidra_model_load(context, file.path(), &model));
    expect_said("parameters does not lie at a multiple of 8 bytes in the manifest");
}

// A file whose calls count n-grams, with one vector of that many parameters for all of them.
enum class Shared { Call, Step, Parameters };
Bytes sharing(Shared what, uint32_t variants, uint32_t calls, size_t parameters) {
    flatbuffers::FlatBufferBuilder builder;
    const auto text = builder.CreateString("n-grams");
    std::vector<int64_t> numbers(parameters);  // sequences of one number, of which the pool has none
    numbers[0] = numbers[1] = 1;
    const auto shared = builder.CreateVector(numbers);
    const auto step = [&] {
        const fb::ArrayT rows = host_array(work(0), fb::Type::S32, {1, 1}), none = host_array(work(0), rows.type, {0}),
                         out = host_array(work(64), fb::Type::F32, {1, 1});
        const std::vector inputs = {fb::Array::Pack(builder, &rows), fb::Array::Pack(builder, &none),
                                    fb::Array::Pack(builder, &none)};
        return fb::CreateHost(builder, builder.CreateString("ngrams"), builder.CreateVector(inputs),
                              fb::Array::Pack(builder, &out), shared)
            .Union();
    };
    const auto call_of = [&](const auto& its_step) { return fb::CreateCall(builder, text, fb::Step::Host, its_step); };
    const auto first_step = step();
    const auto first = call_of(first_step);
    std::vector<flatbuffers::Offset<fb::Call>> list;
    for (uint32_t i = 0; i < calls; ++i)
        list.push_back(what == Shared::Call ? first : call_of(what == Shared::Step ? first_step : step()));
    const auto tensors = builder.CreateVector(std::vector<flatbuffers::Offset<fb::Tensor>>());
    const auto variant = fb::CreateVariant(builder, tensors, tensors, 128, builder.CreateVector(list));
    const std::vector<flatbuffers::Offset<fb::Variant>> all(variants, variant);
    const auto matrices = builder.CreateVector(std::vector<flatbuffers::Offset<fb::Matrix>>());
    const auto programs = builder.CreateVector(std::vector<flatbuffers::Offset<fb::Program>>());
    builder.Finish(
        fb::CreateModel(builder, text, text, text, text, nullptr, matrices, programs, builder.CreateVector(all)));
    Bytes bytes = HostModel().model.file();
    bytes.resize(sizeof(fb::FileHeader));
    bytes.insert(bytes.end(), builder.GetBufferPointer(), builder.GetBufferPointer() + builder.GetSize());
    change_header(&bytes, [&](fb::FileHeader& header) {
        header.file_size = bytes.size();
        header.manifest_offset = sizeof header;
        header.manifest_size = builder.GetSize();
    });
    seal(&bytes);
    return bytes;
}

// Each call has a copy of its parameters, so a small file could take any amount of memory.
TEST_F(ModelHost, ParametersOfManyCallsAreRefused) {
    constexpr size_t kMany = 10'000;
    load(sharing(Shared::Call, 1, 1, kMany));
    for (const auto& [what, variants, calls] : {std::tuple{Shared::Call, 1u, 2u},
                                                {Shared::Step, 1u, 2u},
                                                {Shared::Parameters, 1u, 2u},
                                                {Shared::Call, 2u, 1u}}) {
        const TestFile file(sharing(what, variants, calls, kMany));
        sidra_model* model = nullptr;
        EXPECT_FAILS(SIDRA_ERROR_INVALID_ARGUMENT, sidra_model_load(context, file.path(), &model));
        expect_said("'n-grams': it has 10000 parameters, but the calls of the manifest can have only");
    }
}

// As the perceptron's (model_file_test.cpp).
TEST_F(ModelHost, TheFuzzersSeedIsAModel) {
    const Bytes file = HostModel().model.file();
    Bytes seed = {1};
    seed.insert(seed.end(), file.begin(), file.end());
    const std::string path = source_file("tests/fuzz/corpus/model/seed-host");
    if (std::getenv("SIDRA_WRITE_SEEDS") != nullptr)
        std::ofstream(path, std::ios::binary).write(reinterpret_cast<const char*>(seed.data()), std::ssize(seed));
    std::ifstream stored(path, std::ios::binary);
    EXPECT_EQ(seed, Bytes(std::istreambuf_iterator<char>(stored), {}));
}

}  // namespace
}  // namespace sidra::test
