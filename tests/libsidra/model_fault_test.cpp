// SPDX-License-Identifier: MIT
// The call of a compiled model at which a stream has stopped: of queued runs, and of streams that waited for them.
#include <algorithm>
#include <cstring>

#include "model_fixture.h"
#include "sidra/sidra.hpp"

namespace sidra::test {
namespace {

constexpr uint32_t kRows = 4, kColumns = 8;
constexpr uint64_t kOut = 64;

// The row of a table with the index in its input; a call that is always right comes before.
TestModel picker() {
    TestModel test;
    std::vector<float> table(kRows * kColumns);
    for (size_t i = 0; i < table.size(); ++i) table[i] = static_cast<float>(i);
    const fb::Place at = test.add_constants(table.data(), table.size() * sizeof(float));
    const uint32_t copy = test.add_program("pass:\nv0 = load o0\nstore o1, v0\n");
    const uint32_t variant = test.add_variant(128);
    test.add_input(variant, "index", fb::Type::S32, {1}, 0);
    test.add_output(variant, "row", fb::Type::F32, {kColumns}, kOut);
    fb::VectorT vector;
    vector.program = copy;
    vector.size = {1, 1, 1, kColumns};
    vector.operands = operands(row_operand(at, fb::Type::F32), dense_operand(work(kOut), fb::Type::F32, vector.size));
    test.add_call(variant, "/Copy", fb::VectorT(vector));
    fb::OperandT rows = dense_operand(at, fb::Type::F32, {1, 1, kRows, kColumns});
    rows.extent = kRows;
    rows.index = std::make_unique<fb::Place>(work(0));
    rows.index_type = fb::Type::S32;
    vector.operands = operands(rows, dense_operand(work(kOut), fb::Type::F32, vector.size));
    test.add_call(variant, "/Gather", std::move(vector));
    return test;
}

class ModelFault : public ModelStreams {
   protected:
    void pick(sidra_model* model, int32_t index) { memory<int32_t>(model, 0, 0, 1)[0] = index; }
    void expect_call(sidra_model* model, sidra_stream* of, uint32_t call, const char* name, const std::string& text) {
        auto info = SIDRA_INIT(sidra_model_fault_info);
        ASSERT_OK(sidra_model_fault(model, of, &info));
        EXPECT_EQ(0u, info.variant);
        EXPECT_EQ(call, info.call);
        EXPECT_STREQ(name, info.name);
        EXPECT_EQ(0u, std::string(info.text).find(text)) << info.text;
    }
    void expect_gather(sidra_model* model, sidra_stream* of) {
        expect_call(model, of, 1, "/Gather", "variant 0, call 1 '/Gather': data out of range");
    }
    void expect_none(sidra_model* model, sidra_stream* of) {
        auto info = SIDRA_INIT(sidra_model_fault_info);
        EXPECT_FAILS(SIDRA_ERROR_NOT_FOUND, sidra_model_fault(model, of, &info));
    }
};

TEST_F(ModelFault, OfQueuedRuns) {
    sidra_model *model = load(picker().file()), *other = load(picker().file()), *fresh = load(picker().file());
    pick(model, kRows);
    block(stream);
    ASSERT_OK(sidra_model_run_async(stream, other, 0));
    ASSERT_OK(sidra_model_run_async(stream, model, 0));
    ASSERT_OK(sidra_model_run_async(stream, model, 0));  // not the one that fails
    ASSERT_OK(sidra_model_run_async(stream, other, 0));
    expect_none(model, stream);
    unblock();
    EXPECT_FAILS(SIDRA_ERROR_FAULT, sidra_stream_synchronize(stream, soon()));
    expect_gather(model, stream);
    for (sidra_model* each : {other, fresh}) expect_none(each, stream);
    expect_none(model, second);
    {
        Stream of(stream);
        Model first(model), last(other);
        EXPECT_EQ(1u, of.fault(first)->call);
        EXPECT_FALSE(of.fault(last).has_value());
        static_cast<void>(of.release());
        for (Model* each : {&first, &last}) static_cast<void>(each->release());
    }
    // A call that waits has it in its text.
    EXPECT_FAILS(SIDRA_ERROR_FAULT, sidra_model_run(stream, model, 0, nullptr, nullptr, soon()));
    expect_said("variant 0, call 1 '/Gather': ");
    EXPECT_FAILS(SIDRA_ERROR_FAULT, sidra_model_run(stream, other, 0, nullptr, nullptr, soon()));
    EXPECT_EQ(nullptr, std::strstr(sidra_last_error(), "variant 0")) << sidra_last_error();
    ASSERT_OK(sidra_stream_reset(stream));
    expect_none(model, stream);
    pick(model, 2);
    ASSERT_OK(sidra_model_run(stream, model, 0, nullptr, nullptr, soon()));
    EXPECT_EQ(2.0f * kColumns, memory<float>(model, 0, kOut, 1)[0]);
}

TEST_F(ModelFault, OfStreamsThatWaited) {
    sidra_model* model = load(picker().file());
    sidra_event* event = nullptr;
    ASSERT_OK(sidra_event_create(context, SIDRA_EVENT_DEFAULT, &event));
    for (const bool reset_first : {false, true}) {
        pick(model, -kRows - 1);
        block(stream);
        ASSERT_OK(sidra_model_run_async(stream, model, 0));
        ASSERT_OK(sidra_event_record(event, stream));
        ASSERT_OK(sidra_stream_wait_event(second, event));
        unblock();
        EXPECT_FAILS(SIDRA_ERROR_FAULT, sidra_stream_synchronize(second, soon()));
        expect_gather(model, second);
        if (reset_first) {
            ASSERT_OK(sidra_stream_reset(stream));
            expect_none(model, second);
        }
        for (sidra_stream* each : {stream, second}) ASSERT_OK(sidra_stream_reset(each));
        words.reset();
        words = std::make_unique<Buffer>(context, 64);
    }
    EXPECT_OK(sidra_event_destroy(event));
}

TEST_F(ModelFault, OfAFunctionOfTheHost) {
    sidra_model *model = load(HostModel().model.file()), *other = load(HostModel().model.file());
    for (sidra_model* each : {model, other}) {
        const int64_t indices[] = {1, 0, each == model ? int64_t{HostModel::kRows} : 2};
        std::ranges::copy(indices, memory<int64_t>(each, 0, HostModel::kIndices, HostModel::kUpdates).begin());
    }
    block(stream);
    for (int round = 0; round < 2; ++round)
        for (sidra_model* each : {other, model}) ASSERT_OK(sidra_model_run_async(stream, each, 0));
    unblock();
    EXPECT_FAILS(SIDRA_ERROR_FAULT, sidra_stream_synchronize(stream, soon()));
    expect_call(model, stream, 1, "/Scatter", "variant 0, call 1 '/Scatter': index 2 is 4, but there are 4 rows");
    expect_none(other, stream);
    ASSERT_OK(sidra_stream_reset(stream));
    expect_none(model, stream);
}

TEST_F(ModelFault, OfOperationsThatAreNoModels) {
    sidra_model* model = load(picker().file());
    pick(model, 1);
    ASSERT_OK(sidra_model_run(stream, model, 0, nullptr, nullptr, soon()));
    const uint32_t size[] = {1, 1, 1, 1};
    const sidra_array table = sidra_operand_dense(words->at(), SIDRA_S32, size);
    const sidra_array out = sidra_operand_dense(words->at(16), SIDRA_S32, size);
    words->as<int32_t>()[8] = 7;
    block(stream);
    ASSERT_OK(sidra_gather_rows(stream, size, &out, &table, 1, words->at(32), SIDRA_S32));
    ASSERT_OK(sidra_model_run_async(stream, model, 0));
    unblock();
    EXPECT_FAILS(SIDRA_ERROR_FAULT, sidra_stream_synchronize(stream, soon()));
    expect_none(model, stream);
    ASSERT_OK(sidra_stream_reset(stream));
}

TEST_F(ModelFault, WrongArguments) {
    sidra_model* model = load(picker().file());
    auto info = SIDRA_INIT(sidra_model_fault_info);
    sidra_context* other_context = nullptr;
    sidra_stream* other = nullptr;
    ASSERT_OK(sidra_context_create(device, &other_context));
    ASSERT_OK(sidra_stream_create(other_context, nullptr, &other));
    EXPECT_FAILS(SIDRA_ERROR_WRONG_CONTEXT, sidra_model_fault(model, other, &info));
    EXPECT_FAILS(SIDRA_ERROR_INVALID_ARGUMENT, sidra_model_fault(model, stream, nullptr));
    info.struct_size -= 8;
    EXPECT_FAILS(SIDRA_ERROR_INVALID_ARGUMENT, sidra_model_fault(model, stream, &info));
    EXPECT_OK(sidra_stream_destroy(other));
    EXPECT_OK(sidra_context_destroy(other_context));
}

}  // namespace
}  // namespace sidra::test
