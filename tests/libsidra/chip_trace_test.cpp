// SPDX-License-Identifier: MIT
// The trace of an embedded chip: written to the requested file and complete once the device is closed. Its contents are
// tested in tests/chip.
#include <stdlib.h>

#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>

#include "../chip/failing_new.h"
#include "expect.h"
#include "patience.h"
#include "sidra/sidra.h"

namespace sidra::test {
namespace {

class ChipTrace : public testing::Test {
   protected:
    void SetUp() override {
        setenv("SIDRA_DEVICE", "embedded", 1);
        std::string name = (std::filesystem::temp_directory_path() / "sidra-trace-XXXXXX").string();
        ASSERT_NE(mkdtemp(name.data()), nullptr);
        folder = name;
        path = folder + "/trace.json";
        options.profile = SIDRA_PROFILE_SMALL;
        options.workers = 1;
        options.private_chip = true;
    }
    void TearDown() override {
        unsetenv("SIDRA_TRACE");
        std::filesystem::remove_all(folder);
    }
    static std::string contents(const std::string& file) {
        std::ifstream stream(file);
        return {std::istreambuf_iterator<char>(stream), {}};
    }
    std::string folder, path;
    sidra_device_options options = SIDRA_INIT(sidra_device_options);
    sidra_device* device = nullptr;
};

TEST_F(ChipTrace, IsWhereTheEnvironmentSays) {
    setenv("SIDRA_TRACE", path.c_str(), 1);
    options.private_chip = false;
    ASSERT_OK(sidra_device_open(0, &options, &device));
    EXPECT_OK(sidra_device_close(device));
    const std::string empty = contents(path);
    EXPECT_EQ(empty.substr(0, 2), "[\n");
    EXPECT_NE(empty.find("\"summary\",\"args\":{\"device_ps\":0,\"energy_pj\":0,"), std::string::npos) << empty;
    EXPECT_EQ(empty.substr(empty.size() - 3), "\n]\n");
}

TEST_F(ChipTrace, IsWhereTheProgramSays) {
    setenv("SIDRA_TRACE", folder.c_str(), 1);
    options.private_chip = false;
    EXPECT_FAILS(SIDRA_ERROR_INVALID_ARGUMENT, sidra_device_open(0, &options, &device));
    EXPECT_NE(nullptr, std::strstr(sidra_last_error(), "Is a directory")) << sidra_last_error();
    options.private_chip = true;
    options.trace_file = path.c_str();
    ASSERT_OK(sidra_device_open(0, &options, &device));
    sidra_device* second = nullptr;
    EXPECT_FAILS(SIDRA_ERROR_BUSY, sidra_device_open(0, &options, &second));
    EXPECT_NE(nullptr, std::strstr(sidra_last_error(), "another chip writes it")) << sidra_last_error();
    EXPECT_OK(sidra_device_close(device));
    EXPECT_TRUE(std::filesystem::exists(path));
}

// What has failed leaves no weights that nobody knows: the context can be destroyed at the end.
TEST_F(ChipTrace, MemoryForANameMayBeMissing) {
    options.trace_file = path.c_str();
    ASSERT_OK(sidra_device_open(0, &options, &device));
    sidra_context* context = nullptr;
    ASSERT_OK(sidra_context_create(device, &context));
    const int8_t value = 1;
    const std::string name(40, 'w');
    auto weights_options = SIDRA_INIT(sidra_weights_options);
    weights_options.label = name.c_str();
    uint64_t attempt = 0;
    for (bool again = true; again; ++attempt) {
        const uint64_t first = attempt / 3;  // memory allocated by one attempt is reused by the next
        sidra_weights* weights = nullptr;
        sidra_status status = SIDRA_OK;
        {
            const FailingNew failing(first, 1, FailingNew::Of::kThisThread);
            status = sidra_weights_create_s8(context, 1, 1, &value, 1, nullptr, &weights_options, &weights);
            again = failing.failed() != 0;
        }
        // FAULT: it was one of the embedded chip's.
        EXPECT_TRUE(status == SIDRA_OK ||
                    (again && (status == SIDRA_ERROR_OUT_OF_MEMORY || status == SIDRA_ERROR_FAULT)))
            << first << ": " << status;
        EXPECT_OK(sidra_weights_destroy(weights));
    }
    EXPECT_OK(sidra_context_destroy(context));
    EXPECT_OK(sidra_device_close(device));
}

// A small model: its weights and its steps have names, eagerly and in a graph.
class ChipNames : public ChipTrace {
   protected:
    void run(const char* trace) {
        options.trace_file = trace;
        ASSERT_OK(sidra_device_open(0, &options, &device));
        sidra_context* context = nullptr;
        sidra_stream *stream = nullptr, *other = nullptr;
        ASSERT_OK(sidra_context_create(device, &context));
        ASSERT_OK(sidra_stream_create(context, nullptr, &stream));
        ASSERT_OK(sidra_stream_create(context, nullptr, &other));
        sidra_buffer* buffer = nullptr;
        ASSERT_OK(sidra_buffer_create(context, 4096, SIDRA_BUFFER_HOST, &buffer));
        const int8_t values[16] = {};
        auto weights_options = SIDRA_INIT(sidra_weights_options);
        const std::string long_name = std::string(55, 'w') + "µ, which has no room";
        weights_options.label = long_name.c_str();
        sidra_weights *first = nullptr, *second = nullptr, *opened = nullptr;
        ASSERT_OK(sidra_weights_create_s8(context, 4, 4, values, 4, nullptr, &weights_options, &first));
        ASSERT_OK(sidra_weights_create_s8(context, 4, 4, values, 4, nullptr, nullptr, &second));
        ASSERT_OK(sidra_weights_program_async(stream, first));
        ASSERT_OK(sidra_weights_program_async(stream, second));
        ASSERT_OK(sidra_stream_synchronize(stream, soon()));
        ASSERT_OK(sidra_weights_publish(second, "fc2.weight", 0));
        ASSERT_OK(sidra_weights_open(context, "fc2.weight", &opened));

        auto mvm = SIDRA_INIT(sidra_mvm);
        mvm.batch = 1;
        mvm.in_type = SIDRA_U8;
        mvm.out_type = SIDRA_S32;
        mvm.in = {buffer, 0};
        mvm.out = {buffer, 1024};
        ASSERT_OK(sidra_semaphore_wait_async(stream, {buffer, 2048}, 1));  // so that the event is to come
        ASSERT_OK(sidra_label_async(stream, "eager"));
        ASSERT_OK(sidra_mvm_async(stream, second, &mvm));
        sidra_event* event = nullptr;
        ASSERT_OK(sidra_event_create(context, SIDRA_EVENT_DEFAULT, &event));
        ASSERT_OK(sidra_event_record(event, stream));
        ASSERT_OK(sidra_stream_wait_event(other, event));
        ASSERT_OK(sidra_semaphore_signal(context, {buffer, 2048}, 1));
        ASSERT_OK(sidra_mvm_async(other, opened, &mvm));
        ASSERT_OK(sidra_label_async(stream, nullptr));
        sidra_graph* graph = nullptr;
        ASSERT_OK(sidra_graph_begin(stream));
        ASSERT_OK(sidra_label_async(stream, "in the graph"));
        ASSERT_OK(sidra_mvm_async(stream, first, &mvm));
        ASSERT_OK(sidra_graph_end(stream, &graph));
        ASSERT_OK(sidra_graph_operations(graph, &operations));
        ASSERT_OK(sidra_graph_launch_async(stream, graph));
        ASSERT_OK(sidra_stream_synchronize(stream, soon()));
        ASSERT_OK(sidra_stream_synchronize(other, soon()));
        ASSERT_OK(sidra_stream_timeline(stream, &queued, nullptr));
        ASSERT_OK(sidra_stream_device_time(stream, &device_ps, &energy_pj));
        EXPECT_OK(sidra_graph_destroy(graph));
        EXPECT_OK(sidra_event_destroy(event));
        for (sidra_weights* weights : {first, second, opened}) EXPECT_OK(sidra_weights_destroy(weights));
        EXPECT_OK(sidra_weights_unlink(context, "fc2.weight"));
        EXPECT_OK(sidra_buffer_destroy(buffer));
        for (sidra_stream* each : {stream, other}) EXPECT_OK(sidra_stream_destroy(each));
        EXPECT_OK(sidra_context_destroy(context));
        EXPECT_OK(sidra_device_close(device));
    }
    uint32_t operations = 0;
    uint64_t queued = 0, device_ps = 0, energy_pj = 0;
};

TEST_F(ChipNames, AreInTheTrace) {
    run(path.c_str());
    EXPECT_EQ(operations, 1u) << "a label is none";
    const std::string all = contents(path);
    for (const std::string& wanted :
         {"\"name\":\"PROGRAM " + std::string(55, 'w') + "\"", std::string("\"name\":\"MVM fc2.weight\""),
          "\"name\":\"MVM " + std::string(55, 'w') + "\"", std::string("\"operation\":\"in the graph\""),
          std::string("\"tid\":1,\"name\":\"thread_name\",\"args\":{\"name\":\"operations\"}"),
          std::string("\"name\":\"SEM_WAIT\"")})
        EXPECT_NE(all.find(wanted), std::string::npos) << wanted << " is not in " << all;
}

TEST_F(ChipNames, CostNothingWithoutATrace) {
    run(path.c_str());
    const uint64_t traced_ps = device_ps, traced_pj = energy_pj;
    ASSERT_GT(queued, 5u);
    run(nullptr);
    EXPECT_EQ(queued, 5u) << "two programmings, a wait, a product, a graph: no packet is for a name";
    EXPECT_EQ(operations, 1u);
    EXPECT_EQ(device_ps, traced_ps) << "and a name takes no time";
    EXPECT_EQ(energy_pj, traced_pj);
}

// A graph sends the names of weights that the chip did not have when it was recorded. After an update it sends those of
// its present weights only: the index of former ones may be that of others.
TEST_F(ChipTrace, AGraphNamesOnlyWeightsThatItUses) {
    options.trace_file = path.c_str();
    ASSERT_OK(sidra_device_open(0, &options, &device));
    sidra_context* context = nullptr;
    sidra_stream* stream = nullptr;
    sidra_buffer* buffer = nullptr;
    ASSERT_OK(sidra_context_create(device, &context));
    ASSERT_OK(sidra_stream_create(context, nullptr, &stream));
    ASSERT_OK(sidra_buffer_create(context, 4096, SIDRA_BUFFER_HOST, &buffer));
    const auto make = [&](sidra_weights** weights) {
        const int8_t values[16] = {};
        ASSERT_OK(sidra_weights_create_s8(context, 4, 4, values, 4, nullptr, nullptr, weights));
        ASSERT_OK(sidra_weights_program_async(stream, *weights));
        ASSERT_OK(sidra_stream_synchronize(stream, soon()));
    };
    const auto multiply = [&](sidra_weights* weights) {
        auto mvm = SIDRA_INIT(sidra_mvm);
        mvm.batch = 1;
        mvm.in_type = SIDRA_U8, mvm.out_type = SIDRA_S32;
        mvm.in = {buffer, 0}, mvm.out = {buffer, 1024};
        ASSERT_OK(sidra_mvm_async(stream, weights, &mvm));
    };
    sidra_weights *first = nullptr, *former = nullptr, *plain = nullptr, *second = nullptr, *present = nullptr,
                  *next = nullptr;
    make(&first), make(&plain), make(&second);
    ASSERT_OK(sidra_weights_publish(first, "former", 0));
    ASSERT_OK(sidra_weights_publish(second, "present", 0));
    ASSERT_OK(sidra_weights_open(context, "present", &present));
    ASSERT_OK(sidra_weights_open(context, "former", &former));
    sidra_graph* graph = nullptr;
    ASSERT_OK(sidra_graph_begin(stream));
    multiply(former);  // after its name
    multiply(former);
    ASSERT_OK(sidra_graph_end(stream, &graph));
    ASSERT_OK(sidra_graph_begin(stream));
    multiply(plain);
    multiply(present);
    ASSERT_OK(sidra_graph_update(graph, 0, stream));
    ASSERT_OK(sidra_weights_destroy(former));
    make(&next);  // with the index of `former`
    ASSERT_OK(sidra_graph_launch_async(stream, graph));
    multiply(next);
    ASSERT_OK(sidra_stream_synchronize(stream, soon()));
    EXPECT_OK(sidra_graph_destroy(graph));
    for (sidra_weights* weights : {first, plain, second, present, next}) EXPECT_OK(sidra_weights_destroy(weights));
    for (const char* name : {"former", "present"}) EXPECT_OK(sidra_weights_unlink(context, name));
    EXPECT_OK(sidra_buffer_destroy(buffer));
    EXPECT_OK(sidra_stream_destroy(stream));
    EXPECT_OK(sidra_context_destroy(context));
    EXPECT_OK(sidra_device_close(device));
    const std::string all = contents(path);
    EXPECT_EQ(all.find("\"MVM former\""), std::string::npos) << all;
    EXPECT_NE(all.find("\"MVM present\""), std::string::npos) << all;
}

}  // namespace
}  // namespace sidra::test
