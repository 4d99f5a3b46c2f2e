// SPDX-License-Identifier: MIT
// Handles: NULL, destroyed, of another kind, garbage; and the rule of struct_size.
#include "handle.h"

#include <atomic>
#include <cstring>
#include <future>
#include <thread>
#include <vector>

#include "context.h"
#include "fake_fixture.h"
#include "sidra/functions.h"
#include "sidra/model.h"
#include "sidra_vector.h"

namespace sidra::test {
namespace {

class Handles : public FakeTest {
   protected:
    void SetUp() override {
        FakeTest::SetUp();
        ASSERT_OK(sidra_event_create(context, SIDRA_EVENT_DEFAULT, &event));
        ASSERT_OK(sidra_graph_begin(stream));
        ASSERT_OK(sidra_nop_async(stream));
        ASSERT_OK(sidra_graph_end(stream, &graph));
        const int8_t value = 1;
        ASSERT_OK(sidra_weights_create_s8(context, 1, 1, &value, 1, nullptr, nullptr, &weights));
        ASSERT_OK(sidra_program_assemble(context, kProgram, &program));
    }
    void TearDown() override {
        EXPECT_OK(sidra_program_destroy(program));
        EXPECT_OK(sidra_weights_destroy(weights));
        EXPECT_OK(sidra_graph_destroy(graph));
        EXPECT_OK(sidra_event_destroy(event));
        FakeTest::TearDown();
    }
    static constexpr const char* kProgram = "pass:\nv0 = load o0\nstore o1, v0";
    sidra_event* event = nullptr;
    sidra_graph* graph = nullptr;
    sidra_weights* weights = nullptr;
    sidra_program* program = nullptr;
};

// A function, because the compiler needs minutes for as many checks written out in one test.
void refused(const char* call, sidra_status status) {
    EXPECT_EQ(SIDRA_ERROR_INVALID_HANDLE, status) << call;
    EXPECT_STRNE("", sidra_last_error()) << call;
}

// Each function that takes a handle gets one of the wrong kind: a device instead of a context, and so on.
TEST_F(Handles, OfAnotherKindOrNullAreRefusedByEveryFunction) {
    alignas(64) unsigned char garbage[256];
    std::memset(garbage, 0xa5, sizeof garbage);
    void* const wrong_handles[] = {nullptr, static_cast<void*>(garbage), static_cast<void*>(garbage + 1)};
    const uint32_t one[4] = {1, 1, 1, 1};
    const sidra_array good_array = sidra_operand_dense(at(0), SIDRA_F32, one);
    ASSERT_OK(sidra_relu(stream, one, &good_array, &good_array));  // makes the programs of functions
    uint32_t u32 = 1;
    uint64_t u64 = 0;
    size_t size = 0;
    int number = 0;
    int8_t value = 0;
    float factor = 0;
    const float* factors = nullptr;
    char name[64] = "name";
    void* address = nullptr;
    auto device_info = SIDRA_INIT(sidra_device_info);
    auto weights_info = SIDRA_INIT(sidra_weights_info);
    auto tile_report = SIDRA_INIT(sidra_tile_report);
    auto fault = SIDRA_INIT(sidra_fault_info);
    auto report = SIDRA_INIT(sidra_operation_report);
    auto mvm = SIDRA_INIT(sidra_mvm);
    sidra_context* new_context = nullptr;
    sidra_buffer* new_buffer = nullptr;
    sidra_stream* new_stream = nullptr;
    sidra_event* new_event = nullptr;
    sidra_weights* new_weights = nullptr;
    sidra_graph* new_graph = nullptr;
    sidra_program* new_program = nullptr;
    const sidra_vector_instruction code{};
    const uint32_t sizes[4] = {1, 1, 1, 4};
    const sidra_vector_operand good_operands[] = {sidra_operand_dense(at(0), SIDRA_F32, sizes),
                                                  sidra_operand_dense(at(64), SIDRA_F32, sizes)};
    auto vector = SIDRA_INIT(sidra_vector);
    vector.program = program;
    vector.size[0] = vector.size[1] = vector.size[2] = 1, vector.size[3] = 4;
    vector.operands = good_operands, vector.operand_count = 2;
    const sidra_vector_operand good_factors[] = {sidra_operand_dense(at(0), SIDRA_F32, one),
                                                 sidra_operand_dense(at(64), SIDRA_F32, one),
                                                 sidra_operand_dense(at(128), SIDRA_F32, one)};
    auto matmul = SIDRA_INIT(sidra_matmul);
    matmul.m = matmul.n = matmul.k = 1;
    matmul.operands = good_factors, matmul.operand_count = 3;
    sidra_program* sums = nullptr;
    ASSERT_OK(sidra_program_assemble(context, "pass:\nv0 = load sums\nstore o0, v0", &sums));
    ASSERT_OK(sidra_weights_program_async(stream, weights));
    auto layer = SIDRA_INIT(sidra_layer);
    layer.program = sums;
    layer.windows = sidra_windows_matrix(at(0), SIDRA_U8, 1, 1);
    layer.operands = good_factors + 1, layer.operand_count = 1;
    auto pool = SIDRA_INIT(sidra_pool);
    pool.op = SIDRA_POOLING_MAX;
    pool.windows = layer.windows;
    pool.out = at(64);
    auto sort = SIDRA_INIT(sidra_sort);
    sort.index_type = SIDRA_S32;
    sort.in = at(0), sort.values = at(64), sort.indices = at(128);
    sort.rows = sort.cols = 1;
    ASSERT_OK(sidra_pool_async(stream, &pool));
    ASSERT_OK(sidra_sort_async(stream, &sort));
    // They make what the first ones of a stream and a context need.
    ASSERT_OK(sidra_matmul_async(stream, &matmul));
    ASSERT_OK(sidra_layer_async(stream, weights, &layer));
    const size_t requests = fake->all_requests();
    const size_t doorbells = fake->doorbells();

    const auto try_all = [&](void* as_device, void* as_context, void* as_buffer, void* as_stream, void* as_event,
                             void* as_weights, void* as_graph, void* as_program) {
        auto* d = static_cast<sidra_device*>(as_device);
        auto* c = static_cast<sidra_context*>(as_context);
        auto* b = static_cast<sidra_buffer*>(as_buffer);
        auto* s = static_cast<sidra_stream*>(as_stream);
        auto* e = static_cast<sidra_event*>(as_event);
        auto* w = static_cast<sidra_weights*>(as_weights);
        auto* g = static_cast<sidra_graph*>(as_graph);
        auto* p = static_cast<sidra_program*>(as_program);
        const sidra_ref ref{b, 0};
#define BAD(expression) refused(#expression, expression)
        BAD(sidra_device_get_info(d, &device_info));
        BAD(sidra_device_clock(d, &u64, &u64));
        BAD(sidra_device_telemetry(d, name, sizeof name));
        BAD(sidra_device_reset(d));
        BAD(sidra_device_set_fault_knob(d, "stall", 1));
        BAD(sidra_context_create(d, &new_context));
        BAD(sidra_context_synchronize(c, 0));
        BAD(sidra_context_status(c));
        BAD(sidra_context_recover(c));
        BAD(sidra_buffer_create(c, 1, 0, &new_buffer));
        BAD(sidra_buffer_register(c, &u64, sizeof u64, false, &new_buffer));
        BAD(sidra_buffer_map(b, &address));
        BAD(sidra_buffer_size(b, &size));
        BAD(sidra_stream_create(c, nullptr, &new_stream));
        BAD(sidra_stream_synchronize(s, 0));
        BAD(sidra_stream_query(s));
        BAD(sidra_stream_timeline(s, &u64, &u64));
        BAD(sidra_stream_device_time(s, &u64, &u64));
        BAD(sidra_stream_get_fd(s, &number));
        BAD(sidra_stream_add_callback(
            s, [](sidra_status, void*) {}, nullptr));
        BAD(sidra_stream_fault(s, &fault));
        BAD(sidra_stream_reset(s));
        BAD(sidra_stream_report(s, 0, &report));
        BAD(sidra_batch_begin(s));
        BAD(sidra_batch_end(s));
        BAD(sidra_event_create(c, SIDRA_EVENT_DEFAULT, &new_event));
        BAD(sidra_event_record(e, stream));
        BAD(sidra_event_record(event, s));
        BAD(sidra_event_query(e));
        BAD(sidra_event_synchronize(e, 0));
        BAD(sidra_stream_wait_event(s, event));
        BAD(sidra_stream_wait_event(stream, e));
        BAD(sidra_label_async(s, "x"));
        BAD(sidra_nop_async(s));
        BAD(sidra_barrier_async(s));
        BAD(sidra_copy_async(s, at(0), at(64), 64));
        BAD(sidra_copy_async(stream, ref, at(64), 64));
        BAD(sidra_copy_async(stream, at(64), ref, 64));
        BAD(sidra_copy_2d_async(s, at(0), 8, at(64), 8, 8, 2));
        BAD(sidra_copy_2d_async(stream, ref, 8, at(64), 8, 8, 2));
        BAD(sidra_fill_async(s, at(0), 0, 1, 1));
        BAD(sidra_fill_async(stream, ref, 0, 1, 1));
        BAD(sidra_timestamp_async(s, at(0)));
        BAD(sidra_timestamp_async(stream, ref));
        BAD(sidra_semaphore_signal_async(s, at(0), 1));
        BAD(sidra_semaphore_signal_async(stream, ref, 1));
        BAD(sidra_semaphore_wait_async(s, at(0), 1));
        BAD(sidra_semaphore_wait_async(stream, ref, 1));
        BAD(sidra_semaphore_signal(c, at(0), 1));
        BAD(sidra_semaphore_signal(context, ref, 1));
        BAD(sidra_weights_create_s8(c, 1, 1, &value, 1, nullptr, nullptr, &new_weights));
        BAD(sidra_weights_create_f32(c, 1, 1, &factor, 1, nullptr, &new_weights));
        BAD(sidra_weights_program_async(s, weights));
        BAD(sidra_weights_program_async(stream, w));
        BAD(sidra_weights_update_async(s, weights, 0, 1, 0, 1, &value, 1));
        BAD(sidra_weights_update_async(stream, w, 0, 1, 0, 1, &value, 1));
        BAD(sidra_weights_refresh_async(s, weights, 0));
        BAD(sidra_weights_refresh_async(stream, w, 0));
        BAD(sidra_weights_progress(w, &u32, &u32));
        BAD(sidra_weights_get_info(w, &weights_info));
        BAD(sidra_weights_crossbars(w, &u32, &u32));
        BAD(sidra_weights_report(w, 0, &tile_report));
        BAD(sidra_weights_scale(w, &factors));
        BAD(sidra_weights_read(s, weights, &value, 1, 0));
        BAD(sidra_weights_read(stream, w, &value, 1, 0));
        BAD(sidra_weights_publish(w, "name", 0));
        BAD(sidra_weights_open(c, "name", &new_weights));
        BAD(sidra_weights_unlink(c, "name"));
        BAD(sidra_weights_evict(c, "name"));
        BAD(sidra_weights_list(c, &u32, name, sizeof name));
        BAD(sidra_weights_export(w, false, &number));
        BAD(sidra_weights_import(c, 0, &new_weights));
        BAD(sidra_mvm_async(s, weights, &mvm));
        BAD(sidra_mvm_async(stream, w, &mvm));
        BAD(sidra_weights_calibrate_async(s, weights, &mvm));
        BAD(sidra_weights_calibrate_async(stream, w, &mvm));
        BAD(sidra_program_create(c, &code, 1, 0, &new_program));
        BAD(sidra_program_assemble(c, kProgram, &new_program));
        BAD(sidra_program_disassemble(p, name, sizeof name, &size));
        BAD(sidra_vector_async(s, &vector));
        sidra_vector of_bad_program = vector;
        of_bad_program.program = p;
        BAD(sidra_vector_async(stream, &of_bad_program));
        BAD(sidra_relu(s, sizes, &good_operands[1], &good_operands[0]));
        const sidra_array bad_array = sidra_operand_dense(ref, SIDRA_F32, sizes);
        BAD(sidra_relu(stream, sizes, &good_operands[1], &bad_array));
        sidra_vector_operand operands[] = {good_operands[0], good_operands[1]};
        operands[1].at = ref;
        sidra_vector of_bad_buffer = vector;
        of_bad_buffer.operands = operands;
        BAD(sidra_vector_async(stream, &of_bad_buffer));
        BAD(sidra_matmul_async(s, &matmul));
        sidra_matmul bad_matmul = matmul;
        if (p != nullptr) {  // without a program it is the library's
            bad_matmul.program = p;
            BAD(sidra_matmul_async(stream, &bad_matmul));
        }
        bad_matmul = matmul;
        sidra_vector_operand factors[] = {good_factors[0], good_factors[1], good_factors[2]};
        bad_matmul.operands = factors;
        for (sidra_vector_operand& factor : factors) {
            const sidra_ref good = factor.at;
            factor.at = ref;
            BAD(sidra_matmul_async(stream, &bad_matmul));
            factor.at = good;
        }
        BAD(sidra_layer_async(s, weights, &layer));
        BAD(sidra_layer_async(stream, w, &layer));
        sidra_layer bad_layer = layer;
        bad_layer.program = p;
        BAD(sidra_layer_async(stream, weights, &bad_layer));
        bad_layer = layer;
        bad_layer.windows.at = ref;
        BAD(sidra_layer_async(stream, weights, &bad_layer));
        BAD(sidra_pool_async(s, &pool));
        sidra_pool bad_pool = pool;
        bad_pool.windows.at = ref;
        BAD(sidra_pool_async(stream, &bad_pool));
        bad_pool = pool;
        bad_pool.out = ref;
        BAD(sidra_pool_async(stream, &bad_pool));
        BAD(sidra_sort_async(s, &sort));
        sidra_sort bad_sort = sort;
        bad_sort.in = ref;
        BAD(sidra_sort_async(stream, &bad_sort));
        if (b != nullptr) {  // NULL: not wanted
            bad_sort = sort;
            bad_sort.values = ref;
            BAD(sidra_sort_async(stream, &bad_sort));
            bad_sort = sort;
            bad_sort.indices = ref;
            BAD(sidra_sort_async(stream, &bad_sort));
        }
        BAD(sidra_graph_begin(s));
        BAD(sidra_graph_end(s, &new_graph));
        BAD(sidra_graph_launch_async(s, graph));
        BAD(sidra_graph_launch_async(stream, g));
        BAD(sidra_graph_operations(g, &u32));
        // There is no good model here; what is of another kind is refused as one, too.
        auto* m = static_cast<sidra_model*>(as_graph);
        auto model_info = SIDRA_INIT(sidra_model_info);
        auto variant_info = SIDRA_INIT(sidra_model_variant_info);
        auto tensor = SIDRA_INIT(sidra_model_tensor);
        auto matrix = SIDRA_INIT(sidra_model_matrix);
        uint64_t many = 0;
        BAD(sidra_model_load(c, "/dev/null", &m));
        BAD(sidra_model_get_info(m, &model_info));
        BAD(sidra_model_get_variant(m, 0, &variant_info));
        BAD(sidra_model_get_input(m, 0, 0, &tensor));
        BAD(sidra_model_get_output(m, 0, 0, &tensor));
        BAD(sidra_model_get_matrix(m, 0, &matrix));
        BAD(sidra_model_find_variant(m, nullptr, nullptr, 0, &u32));
        BAD(sidra_model_share_matrices(m, m, &u32));
        BAD(sidra_model_deploy_async(s, m));
        BAD(sidra_model_deploy_async(stream, m));
        BAD(sidra_model_progress(m, &many, &many));
        BAD(sidra_model_get_buffer(m, 0, &new_buffer));
        BAD(sidra_model_run_async(s, m, 0));
        BAD(sidra_model_run_async(stream, m, 0));
        BAD(sidra_model_run(stream, m, 0, nullptr, nullptr, 0));
        auto model_fault = SIDRA_INIT(sidra_model_fault_info);
        BAD(sidra_model_fault(m, stream, &model_fault));
        if (m) BAD(sidra_model_destroy(m));
        // Destroying NULL is allowed.
        if (d) BAD(sidra_device_close(d));
        if (c) BAD(sidra_context_destroy(c));
        if (b) BAD(sidra_buffer_destroy(b));
        if (s) BAD(sidra_stream_destroy(s));
        if (e) BAD(sidra_event_destroy(e));
        if (w) BAD(sidra_weights_destroy(w));
        if (g) BAD(sidra_graph_destroy(g));
        if (p) BAD(sidra_program_destroy(p));
#undef BAD
    };
    for (void* wrong : wrong_handles) try_all(wrong, wrong, wrong, wrong, wrong, wrong, wrong, wrong);
    // Live handles, each where another kind belongs.
    try_all(context, buffer, stream, event, weights, graph, program, device);

    EXPECT_EQ(requests, fake->all_requests()) << "a refused call reached the driver";
    EXPECT_EQ(doorbells, fake->doorbells());
    EXPECT_EQ(nullptr, new_context);
    EXPECT_EQ(nullptr, new_buffer);
    EXPECT_EQ(nullptr, new_stream);
    EXPECT_EQ(nullptr, new_event);
    EXPECT_EQ(nullptr, new_weights);
    EXPECT_EQ(nullptr, new_graph);
    EXPECT_EQ(nullptr, new_program);
    EXPECT_OK(sidra_program_destroy(sums));
}

TEST_F(Handles, ThatWereDestroyedAreRefused) {
    sidra_buffer* gone = nullptr;
    ASSERT_OK(sidra_buffer_create(context, 64, 0, &gone));
    ASSERT_OK(sidra_buffer_destroy(gone));
    EXPECT_FAILS(SIDRA_ERROR_INVALID_HANDLE, sidra_buffer_destroy(gone));
    EXPECT_NE(nullptr, std::strstr(sidra_last_error(), "has been destroyed")) << sidra_last_error();
    EXPECT_FAILS(SIDRA_ERROR_INVALID_HANDLE, sidra_fill_async(stream, {gone, 0}, 0, 1, 1));

    sidra_stream* gone_stream = nullptr;
    ASSERT_OK(sidra_stream_create(context, nullptr, &gone_stream));
    ASSERT_OK(sidra_stream_destroy(gone_stream));
    EXPECT_FAILS(SIDRA_ERROR_INVALID_HANDLE, sidra_nop_async(gone_stream));
    EXPECT_FAILS(SIDRA_ERROR_INVALID_HANDLE, sidra_stream_query(gone_stream));
}

TEST_F(Handles, AreNeverTheSameAgain) {
    sidra_event* first = nullptr;
    ASSERT_OK(sidra_event_create(context, SIDRA_EVENT_DEFAULT, &first));
    ASSERT_OK(sidra_event_destroy(first));
    for (int i = 0; i < 200; ++i) {
        sidra_event* next = nullptr;
        ASSERT_OK(sidra_event_create(context, SIDRA_EVENT_DEFAULT, &next));
        EXPECT_NE(first, next);
        EXPECT_FAILS(SIDRA_ERROR_INVALID_HANDLE, sidra_event_query(first));
        ASSERT_OK(sidra_event_destroy(next));
    }
}

// Creates an object and lets two threads destroy it at the same time, many times.
template <typename T, typename Create>
void destroy_twice(Create&& create, sidra_status (*destroy)(T*)) {
    for (int round = 0; round < 100; ++round) {
        T* object = nullptr;
        ASSERT_OK(create(&object));
        std::atomic<int> ready{0};
        const auto attempt = [&] {
            for (++ready; ready != 2;) std::this_thread::yield();
            return destroy(object);
        };
        auto other = std::async(std::launch::async, attempt);
        const sidra_status mine = attempt(), theirs = other.get();
        ASSERT_EQ(1, (mine == SIDRA_OK) + (theirs == SIDRA_OK)) << "round " << round;
        ASSERT_EQ(SIDRA_ERROR_INVALID_HANDLE, mine == SIDRA_OK ? theirs : mine);
    }
}

TEST_F(Handles, AreDestroyedByOneOfTwoThreads) {
    destroy_twice<sidra_event>([&](auto** object) { return sidra_event_create(context, SIDRA_EVENT_DEFAULT, object); },
                               sidra_event_destroy);
    destroy_twice<sidra_buffer>([&](auto** object) { return sidra_buffer_create(context, 64, 0, object); },
                                sidra_buffer_destroy);
    destroy_twice<sidra_stream>([&](auto** object) { return sidra_stream_create(context, nullptr, object); },
                                sidra_stream_destroy);
    destroy_twice<sidra_weights>(
        [&](auto** object) {
            const int8_t value = 1;
            return sidra_weights_create_s8(context, 1, 1, &value, 1, nullptr, nullptr, object);
        },
        sidra_weights_destroy);
    destroy_twice<sidra_graph>(
        [&](auto** object) {
            EXPECT_OK(sidra_graph_begin(stream));
            EXPECT_OK(sidra_nop_async(stream));
            return sidra_graph_end(stream, object);
        },
        sidra_graph_destroy);
    destroy_twice<sidra_program>([&](auto** object) { return sidra_program_assemble(context, kProgram, object); },
                                 sidra_program_destroy);
    destroy_twice<sidra_context>([&](auto** object) { return sidra_context_create(device, object); },
                                 sidra_context_destroy);
    destroy_twice<sidra_device>(
        [&](auto** object) {
            return adopt_transport("sidra_device_open", 0, "sidra0", std::make_unique<FakeTransport>(), object);
        },
        sidra_device_close);
}

TEST_F(Handles, StayWhereTheirDestructionIsRefused) {
    for (int i = 0; i < 2; ++i) {
        EXPECT_FAILS(SIDRA_ERROR_BUSY, sidra_context_destroy(context));
        EXPECT_FAILS(SIDRA_ERROR_BUSY, sidra_device_close(device));
        EXPECT_OK(sidra_context_status(context));
    }
}

TEST_F(Handles, ManyComeAndGo) {
    std::vector<sidra_event*> events(1000);
    for (int round = 0; round < 3; ++round) {
        for (sidra_event*& each : events) ASSERT_OK(sidra_event_create(context, SIDRA_EVENT_DEFAULT, &each));
        for (sidra_event* each : events) EXPECT_OK(sidra_event_query(each));
        for (sidra_event* each : events) ASSERT_OK(sidra_event_destroy(each));
        for (sidra_event* each : events) EXPECT_EQ(SIDRA_ERROR_INVALID_HANDLE, sidra_event_query(each));
    }
}

TEST_F(Handles, KeepTheirParentsAlive) {
    EXPECT_FAILS(SIDRA_ERROR_BUSY, sidra_device_close(device));
    EXPECT_FAILS(SIDRA_ERROR_BUSY, sidra_context_destroy(context));
    EXPECT_STREQ(fmt::format("sidra_context_destroy: context {} still has 1 buffer, 1 stream, 1 event, 1 weights, 1 "
                             "graph, 1 program; destroy them first",
                             HandleTable<sidra_context>::find(parts_of(context))->id)
                     .c_str(),
                 sidra_last_error());
    EXPECT_OK(sidra_context_status(context));
}

TEST_F(Handles, OfDifferentContextsDoNotMix) {
    sidra_context* other = nullptr;
    sidra_buffer* foreign = nullptr;
    sidra_event* foreign_event = nullptr;
    sidra_weights* foreign_weights = nullptr;
    sidra_stream* foreign_stream = nullptr;
    const int8_t value = 1;
    ASSERT_OK(sidra_context_create(device, &other));
    ASSERT_OK(sidra_buffer_create(other, 4096, 0, &foreign));
    ASSERT_OK(sidra_event_create(other, SIDRA_EVENT_DEFAULT, &foreign_event));
    ASSERT_OK(sidra_stream_create(other, nullptr, &foreign_stream));
    ASSERT_OK(sidra_weights_create_s8(other, 1, 1, &value, 1, nullptr, nullptr, &foreign_weights));
    sidra_program* foreign_program = nullptr;
    ASSERT_OK(sidra_program_assemble(other, "pass:\ns0 = move 1.0", &foreign_program));
    auto vector = SIDRA_INIT(sidra_vector);
    vector.program = foreign_program;
    const size_t doorbells = fake->doorbells();
    const auto mvm = SIDRA_INIT(sidra_mvm);
    int8_t read = 0;
    EXPECT_FAILS(SIDRA_ERROR_WRONG_CONTEXT, sidra_copy_async(stream, at(0), {foreign, 0}, 64));
    EXPECT_FAILS(SIDRA_ERROR_WRONG_CONTEXT, sidra_copy_async(stream, {foreign, 0}, at(0), 64));
    EXPECT_FAILS(SIDRA_ERROR_WRONG_CONTEXT, sidra_semaphore_signal(context, {foreign, 0}, 64));
    EXPECT_FAILS(SIDRA_ERROR_WRONG_CONTEXT, sidra_event_record(foreign_event, stream));
    EXPECT_FAILS(SIDRA_ERROR_WRONG_CONTEXT, sidra_stream_wait_event(stream, foreign_event));
    EXPECT_FAILS(SIDRA_ERROR_WRONG_CONTEXT, sidra_weights_program_async(stream, foreign_weights));
    EXPECT_FAILS(SIDRA_ERROR_WRONG_CONTEXT, sidra_weights_update_async(stream, foreign_weights, 0, 1, 0, 1, &value, 1));
    EXPECT_FAILS(SIDRA_ERROR_WRONG_CONTEXT, sidra_weights_read(stream, foreign_weights, &read, 1, 0));
    EXPECT_FAILS(SIDRA_ERROR_WRONG_CONTEXT, sidra_mvm_async(stream, foreign_weights, &mvm));
    EXPECT_FAILS(SIDRA_ERROR_WRONG_CONTEXT, sidra_vector_async(stream, &vector));
    auto matmul = SIDRA_INIT(sidra_matmul);
    matmul.program = foreign_program;
    EXPECT_FAILS(SIDRA_ERROR_WRONG_CONTEXT, sidra_matmul_async(stream, &matmul));
    const uint32_t one[4] = {1, 1, 1, 1};
    const sidra_vector_operand operands[] = {sidra_operand_dense(at(0), SIDRA_F32, one),
                                             sidra_operand_dense({foreign, 0}, SIDRA_F32, one),
                                             sidra_operand_dense(at(64), SIDRA_F32, one)};
    matmul.program = nullptr;
    matmul.m = matmul.n = matmul.k = 1;
    matmul.operands = operands, matmul.operand_count = 3;
    EXPECT_FAILS(SIDRA_ERROR_WRONG_CONTEXT, sidra_matmul_async(stream, &matmul));
    auto layer = SIDRA_INIT(sidra_layer);
    EXPECT_FAILS(SIDRA_ERROR_WRONG_CONTEXT, sidra_layer_async(stream, foreign_weights, &layer));
    layer.program = foreign_program;
    EXPECT_FAILS(SIDRA_ERROR_WRONG_CONTEXT, sidra_layer_async(stream, weights, &layer));
    auto pool = SIDRA_INIT(sidra_pool);
    pool.op = SIDRA_POOLING_MAX;
    pool.windows = sidra_windows_matrix({foreign, 0}, SIDRA_U8, 1, 1);
    pool.out = at(64);
    EXPECT_FAILS(SIDRA_ERROR_WRONG_CONTEXT, sidra_pool_async(stream, &pool));
    auto sort = SIDRA_INIT(sidra_sort);
    sort.in = at(0), sort.values = {foreign, 0};
    sort.rows = sort.cols = 1;
    EXPECT_FAILS(SIDRA_ERROR_WRONG_CONTEXT, sidra_sort_async(stream, &sort));
    EXPECT_FAILS(SIDRA_ERROR_WRONG_CONTEXT, sidra_graph_launch_async(foreign_stream, graph));
    EXPECT_EQ(doorbells, fake->doorbells());
    EXPECT_OK(sidra_program_destroy(foreign_program));
    EXPECT_OK(sidra_weights_destroy(foreign_weights));
    EXPECT_OK(sidra_stream_destroy(foreign_stream));
    EXPECT_OK(sidra_event_destroy(foreign_event));
    EXPECT_OK(sidra_buffer_destroy(foreign));
    EXPECT_OK(sidra_context_destroy(other));
}

TEST(HandlesNull, MayBeDestroyed) {
    EXPECT_OK(sidra_device_close(nullptr));
    EXPECT_OK(sidra_context_destroy(nullptr));
    EXPECT_OK(sidra_buffer_destroy(nullptr));
    EXPECT_OK(sidra_stream_destroy(nullptr));
    EXPECT_OK(sidra_event_destroy(nullptr));
    EXPECT_OK(sidra_weights_destroy(nullptr));
    EXPECT_OK(sidra_graph_destroy(nullptr));
    EXPECT_OK(sidra_program_destroy(nullptr));
}

class StructSize : public FakeTest {};

TEST_F(StructSize, MustBeKnownOrZeroBeyond) {
    struct Newer {
        sidra_device_info known;
        uint64_t later;
    };
    Newer info{};
    info.known.struct_size = sizeof info;
    EXPECT_OK(sidra_device_get_info(device, &info.known));
    EXPECT_EQ(sizeof info, info.known.struct_size);
    EXPECT_EQ(8u, info.known.crossbars_total);
    info.later = 1;
    EXPECT_FAILS(SIDRA_ERROR_INVALID_ARGUMENT, sidra_device_get_info(device, &info.known));
    for (const size_t size : {size_t{0}, sizeof(sidra_device_info) - 1, size_t{1} << 20}) {
        sidra_device_info bad{};
        bad.struct_size = size;
        EXPECT_FAILS(SIDRA_ERROR_INVALID_ARGUMENT, sidra_device_get_info(device, &bad));
        EXPECT_EQ(0u, bad.crossbars_total);
    }
    EXPECT_FAILS(SIDRA_ERROR_INVALID_ARGUMENT, sidra_device_get_info(device, nullptr));
}

TEST_F(StructSize, IsCheckedInEveryStruct) {
    sidra_stream_options stream_options{};
    sidra_weights_options weights_options{};
    sidra_fault_info fault{};
    sidra_operation_report report{};
    sidra_tile_report tile_report{};
    sidra_vector vector{};
    sidra_device_options device_options{};
    sidra_stream* new_stream = nullptr;
    sidra_weights* new_weights = nullptr;
    sidra_device* new_device = nullptr;
    const int8_t value = 1;
    EXPECT_FAILS(SIDRA_ERROR_INVALID_ARGUMENT, sidra_device_open(0, &device_options, &new_device));
    EXPECT_FAILS(SIDRA_ERROR_INVALID_ARGUMENT, sidra_stream_create(context, &stream_options, &new_stream));
    EXPECT_FAILS(SIDRA_ERROR_INVALID_ARGUMENT,
                 sidra_weights_create_s8(context, 1, 1, &value, 1, nullptr, &weights_options, &new_weights));
    EXPECT_FAILS(SIDRA_ERROR_INVALID_ARGUMENT, sidra_stream_fault(stream, &fault));
    EXPECT_FAILS(SIDRA_ERROR_INVALID_ARGUMENT, sidra_stream_report(stream, 0, &report));
    sidra_weights* weights = nullptr;
    ASSERT_OK(sidra_weights_create_s8(context, 1, 1, &value, 1, nullptr, nullptr, &weights));
    EXPECT_FAILS(SIDRA_ERROR_INVALID_ARGUMENT, sidra_weights_report(weights, 0, &tile_report));
    EXPECT_FAILS(SIDRA_ERROR_INVALID_ARGUMENT, sidra_weights_report(weights, 0, nullptr));
    EXPECT_OK(sidra_weights_destroy(weights));
    EXPECT_FAILS(SIDRA_ERROR_INVALID_ARGUMENT, sidra_vector_async(stream, &vector));
    EXPECT_FAILS(SIDRA_ERROR_INVALID_ARGUMENT, sidra_vector_async(stream, nullptr));
    sidra_matmul matmul{};
    EXPECT_FAILS(SIDRA_ERROR_INVALID_ARGUMENT, sidra_matmul_async(stream, &matmul));
    EXPECT_FAILS(SIDRA_ERROR_INVALID_ARGUMENT, sidra_matmul_async(stream, nullptr));
    EXPECT_FAILS(SIDRA_ERROR_INVALID_ARGUMENT, sidra_pool_async(stream, nullptr));
    EXPECT_FAILS(SIDRA_ERROR_INVALID_ARGUMENT, sidra_sort_async(stream, nullptr));
}

}  // namespace
}  // namespace sidra::test
