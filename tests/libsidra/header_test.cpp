// SPDX-License-Identifier: MIT
// The public headers: the version script exports exactly what they declare, and the C++ layer does what it says.
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <fstream>
#include <functional>
#include <future>
#include <memory>
#include <set>
#include <string>
#include <utility>

#include "chip_fixture.h"
#include "model_builder.h"
#include "paths.h"
#include "sidra/sidra.hpp"
#include "sidra_vector.h"
#include "test_device.h"

namespace sidra::test {
namespace {

// Identifiers `sidra_...` that stand right before `end`, in the lines that begin with `start`.
std::set<std::string> names_in(const std::string& path, const std::string& start, char end) {
    std::ifstream file(source_file("libsidra/" + path));
    std::set<std::string> names;
    for (std::string line; std::getline(file, line);) {
        if (!line.starts_with(start)) continue;
        const size_t stop = line.find(end);
        const size_t begin = line.rfind("sidra_", stop);
        if (stop != std::string::npos && begin != std::string::npos) names.insert(line.substr(begin, stop - begin));
    }
    return names;
}

TEST(Headers, TheVersionScriptExportsWhatTheHeadersDeclare) {
    auto declared = names_in("include/sidra/sidra.h", "SIDRA_API ", '(');
    declared.merge(names_in("include/sidra/functions.h", "SIDRA_API ", '('));
    declared.merge(names_in("include/sidra/model.h", "SIDRA_API ", '('));
    declared.merge(names_in("include/sidra/pipeline.h", "SIDRA_API ", '('));
    const auto exported = names_in("libsidra.map", "\t\tsidra_", ';');
    EXPECT_GT(declared.size(), 130u);
    EXPECT_EQ(declared, exported);
}

class CppLayer : public testing::Test {
   protected:
    CppLayer() {
        choose_test_device();
        device = Device::open(0, {.profile = SIDRA_PROFILE_SMALL, .private_chip = !on_a_node()});
        context = Context(device);
        stream = Stream(context);
    }
    Device device;
    Context context;
    Stream stream;
};

TEST_F(CppLayer, ErrorsAreExceptionsWithStatusAndText) {
    try {
        Buffer(context, 0);
        FAIL() << "no exception";
    } catch (const Error& error) {
        EXPECT_EQ(SIDRA_ERROR_INVALID_ARGUMENT, error.status());
        EXPECT_STREQ("SIDRA_ERROR_INVALID_ARGUMENT", error.status_name());
        EXPECT_NE(nullptr, std::strstr(error.what(), "sidra_buffer_create"));
    }
    EXPECT_THROW(Device::open(7), Error);
    EXPECT_THROW(Weights::from_f32(context, 2, 2, std::vector<float>(3)), Error);
    EXPECT_THROW(context.close(), Error) << "a stream exists";
    EXPECT_TRUE(static_cast<bool>(context));
    EXPECT_THROW(context.unlink("nobody"), Error);
}

TEST_F(CppLayer, HandlesMoveAndClose) {
    Buffer first(context, 64);
    sidra_buffer* handle = first.get();
    Buffer second(std::move(first));
    EXPECT_EQ(handle, second.get());
    EXPECT_FALSE(static_cast<bool>(first));
    second = Buffer(context, 128);
    EXPECT_EQ(SIDRA_ERROR_INVALID_HANDLE, sidra_buffer_destroy(handle)) << "the move destroyed the old one";
    second.close();
    EXPECT_FALSE(static_cast<bool>(second));
}

TEST_F(CppLayer, Models) {
    Perceptron network({2}, 1);
    const TestFile file(network.model.file());
    Model model(context, file.path());
    EXPECT_STREQ("perceptron", model.info().name);
    EXPECT_STREQ("fc2.weight", model.matrix(1).name);
    EXPECT_EQ(0u, model.find(std::vector<std::vector<uint32_t>>{{2, 64}}));
    EXPECT_THROW(static_cast<void>(model.find(std::vector<std::vector<uint32_t>>{{3, 64}})), Error);
    stream.deploy(model);
    const std::vector<uint8_t> pixels(2 * Perceptron::kInputs, 9);
    std::vector<float> scores(2 * Perceptron::kOutputs);
    const void* const inputs[] = {pixels.data()};
    void* const outputs[] = {scores.data(), nullptr};
    stream.run(model, 0, inputs, outputs);
    EXPECT_EQ(network.answers(pixels), scores);
    EXPECT_TRUE(model.progress().complete());
    const std::span<float> in_place = model.data<float>(0, model.output(0, 0));
    std::ranges::fill(in_place, 0.0f);
    stream.launch(model, model.info().variants - 1);
    stream.synchronize();
    EXPECT_TRUE(std::ranges::equal(scores, in_place));
    EXPECT_TRUE(stream.run(model, 0, {}, {}, Deadline::after(std::chrono::hours(1))));
    EXPECT_THROW(stream.run(model, 0, {}, std::span(outputs).first(1)), Error);
    EXPECT_EQ(model.input(0, 0).bytes, pixels.size());
    EXPECT_EQ(model.variant(0).calls, 3u);
    EXPECT_THROW(Model(context, "/no/such/file"), Error);
}

// Objects are destroyed in reverse order of declaration, so these are in the wrong order; a program may also release a
// parent early.
TEST(CppOwnership, AnyOrderOfDestructionClosesTheChip) {
    choose_test_device();
    if (on_a_node()) GTEST_SKIP() << "a card has no state file of this process";
    const std::string path = testing::TempDir() + "sidra-ownership-" + std::to_string(getpid());
    for (int round = 0; round < 3; ++round) {
        Graph graph;
        Program program;
        Allocation memory;
        Event event;
        Weights weights;
        Buffer data, copy;
        Stream stream, other_stream;
        Context context, other_context;
        Device device;
        // BUSY if the chip of the previous round still existed: a state file has one user.
        ASSERT_NO_THROW(device = Device::open(
                            0, {.profile = SIDRA_PROFILE_SMALL, .private_chip = true, .state_file = path.c_str()}));
        context = Context(device);
        stream = Stream(context);
        data = Buffer(context, 4096);
        weights = Weights::from_s8(context, 1, 1, std::vector<int8_t>{1});
        event = Event(context);
        memory = stream.allocate(4096);
        program = Program::assemble(context, "pass:\n    v0 = load o0\n    store o1, v0\n");
        other_context = Context(device);
        other_stream = Stream(other_context);
        copy = Buffer(other_context, 4096);
        graph = stream.capture([&] { stream.fill(data.at(8), uint64_t{7}, 8); });
        if (round == 1) {
            device = Device();
            context = Context();
            other_context = Context();
            stream.launch(graph);
            const Size size{1, 1, 1, 1};
            stream.vector(program, size, {dense(data.at(8), SIDRA_S32, size), dense(memory.at(0), SIDRA_S32, size)});
            stream.record(event);
            other_stream.copy_peer(copy.at(16), stream, memory.at(0), 8);
            event.synchronize();
            EXPECT_EQ(7u, data.as<uint64_t>()[1]) << "an object keeps its parents";
            other_stream.synchronize();
            EXPECT_EQ(7, copy.as<int32_t>()[4]);
        }
        if (round == 2) {
            EXPECT_THROW(device.close(), Error) << "BUSY, and kept";
            EXPECT_TRUE(static_cast<bool>(device));
            stream = Stream();
            EXPECT_TRUE(static_cast<bool>(graph));
            EXPECT_EQ(4096u, memory.size()) << "it keeps its stream";
        }
    }
    unlink(path.c_str());
}

// Copies between two chips that are pending when the objects of one chip end, or of both: at no moment does one hold a
// context, or the chip.
TEST(CppOwnership, PendingCopiesHoldNothing) {
    choose_test_device();
    if (on_a_node()) GTEST_SKIP() << "a card has no state file of this process";
    const std::string path = testing::TempDir() + "sidra-copies-" + std::to_string(getpid());
    const std::string files[] = {path + ".0", path + ".1"};
    struct Side {
        Stream stream, behind;  // another stream, which comes to its copy
        Buffer data, word;
        Context context;
        Device device;
    };
    enum Loss { kNone, kReset, kLink, kLosses };
    // Which of the copy's streams wait before it: bit 0: the source's, bit 1: the target's.
    for (unsigned waits = 0; waits < 4; ++waits)
        for (unsigned lost = 0; lost < kLosses; ++lost)
            for (const size_t lost_side : {0, 1})
                for (const unsigned order : {0, 1, 2, 3, 4, 5}) {
                    if (lost == kNone ? lost_side != 0 : order != 0 && order != 5) continue;
                    SCOPED_TRACE(testing::Message() << "waits " << waits << ", lost " << lost << " of " << lost_side
                                                    << ", order " << order);
                    std::optional<Side> sides[2];
                    for (size_t i = 0; i < 2; ++i) {
                        Side& side = sides[i].emplace();
                        // BUSY if the chip of the previous round still existed: a state file has one user.
                        ASSERT_NO_THROW(side.device = Device::open(0, {.profile = SIDRA_PROFILE_SMALL,
                                                                       .workers = 1,
                                                                       .private_chip = true,
                                                                       .state_file = files[i].c_str()}));
                        side.context = Context(side.device);
                        side.stream = Stream(side.context), side.behind = Stream(side.context);
                        side.data = Buffer(side.context, 4096), side.word = Buffer(side.context, 64);
                        if (waits >> i & 1) side.stream.wait(side.word.at(), uint64_t{1});
                    }
                    Side &source = *sides[0], &target = *sides[1];
                    target.stream.copy_peer(target.data.at(0), source.stream, source.data.at(0), 64);
                    target.behind.copy_peer(target.data.at(64), source.stream, source.data.at(64), 64);
                    target.stream.copy_peer(target.data.at(128), source.behind, source.data.at(128), 64);
                    if (lost == kReset) sides[lost_side]->device.reset();
                    if (lost == kLink) sides[lost_side]->device.set_fault_knob("link-lost", 1);
                    const size_t first = order & 1;
                    const auto end_stream = [&](size_t i) { sides[i]->stream = Stream(), sides[i]->behind = Stream(); };
                    if (order >= 2) end_stream(order >= 4 ? 1 - first : first);
                    if (order >= 4) end_stream(first);
                    sides[first].reset();
                    ASSERT_NO_THROW(Device::open(
                        0, {.profile = SIDRA_PROFILE_SMALL, .private_chip = true, .state_file = files[first].c_str()}));
                    sides[1 - first].reset();
                }
    for (const std::string& file : files) {
        ASSERT_NO_THROW(
            Device::open(0, {.profile = SIDRA_PROFILE_SMALL, .private_chip = true, .state_file = file.c_str()}));
        unlink(file.c_str());
    }
}

// One object at a time is the last of its chip.
TEST(CppOwnership, EachObjectKeepsTheChip) {
    choose_test_device();
    if (on_a_node()) GTEST_SKIP() << "a card has no state file of this process";
    const std::string path = testing::TempDir() + "sidra-last-" + std::to_string(getpid());
    const sidra_device_options options{
        .profile = SIDRA_PROFILE_SMALL, .private_chip = true, .state_file = path.c_str()};
    const auto moved = [](auto object) -> std::shared_ptr<void> {
        return std::make_shared<decltype(object)>(std::move(object));
    };
    using Maker = std::function<std::shared_ptr<void>(Context&, Stream&)>;
    const std::pair<const char*, Maker> makers[] = {
        {"context", [&](Context& context, Stream&) { return moved(std::move(context)); }},
        {"stream", [&](Context&, Stream& stream) { return moved(std::move(stream)); }},
        {"buffer", [&](Context& context, Stream&) { return moved(Buffer(context, 64)); }},
        {"weights",
         [&](Context& context, Stream&) { return moved(Weights::from_s8(context, 1, 1, std::vector<int8_t>{1})); }},
        {"program",
         [&](Context& context, Stream&) {
             return moved(Program::assemble(context, "pass:\n    v0 = load o0\n    store o1, v0\n"));
         }},
        {"event", [&](Context& context, Stream&) { return moved(Event(context)); }},
        {"graph", [&](Context&, Stream& stream) { return moved(stream.capture([&] { stream.nop(); })); }},
        {"allocation", [&](Context&, Stream& stream) { return moved(stream.allocate(64)); }},
    };
    for (const auto& [name, make] : makers) {
        std::shared_ptr<void> last;
        {
            Device device;
            ASSERT_NO_THROW(device = Device::open(0, options)) << "before: " << name;
            Context context(device);
            Stream stream(context);
            last = make(context, stream);
        }
        EXPECT_THROW(Device::open(0, options), Error) << name << ": the chip is there still";
        last.reset();
        EXPECT_NO_THROW(Device::open(0, options)) << name << " was the last";
    }
    unlink(path.c_str());
}

TEST_F(CppLayer, ReleasedHandlesAreTheCallers) {
    Buffer buffer(context, 64);
    sidra_buffer* handle = buffer.release();
    EXPECT_FALSE(static_cast<bool>(buffer));
    EXPECT_EQ(SIDRA_OK, sidra_buffer_destroy(handle));
    sidra_event* event = nullptr;
    ASSERT_EQ(SIDRA_OK, sidra_event_create(context.get(), SIDRA_EVENT_DEFAULT, &event));
    { const Event taken(event); }
    EXPECT_EQ(SIDRA_ERROR_INVALID_HANDLE, sidra_event_destroy(event)) << "what is taken over is destroyed";
}

TEST_F(CppLayer, AFullRingThrowsAtTheDeadline) {
    Buffer words(context, 64);
    stream = Stream(context, {.ring_packets = 64});
    stream.set_deadline(Deadline::poll());
    stream.wait(words.at(0), 1);
    for (int i = 1; i < 64; ++i) stream.nop();
    try {
        stream.nop();
        FAIL() << "no exception";
    } catch (const Error& error) {
        EXPECT_EQ(SIDRA_ERROR_TIMEOUT, error.status());
    }
    context.signal(words.at(0), 1);
    stream.synchronize();
}

TEST_F(CppLayer, VectorPrograms) {
    const Program scale = Program::assemble(context, R"(
pass:                           # o0 input, o1 factor of each row, o2 output; p0, p1: added
    s0 = load o1
    s1 = to_float p1
pass:
    v0 = load o0
    v1 = fma v0, s0, p0
    v2 = add v1, s1
    store o2, v2
)");
    Buffer data(context, 4096);
    const Size size{1, 1, 3, 4};
    for (uint32_t i = 0; i < 12; ++i) data.as<int16_t>()[i] = static_cast<int16_t>(i - 5);
    for (uint32_t row = 0; row < 3; ++row) data.as<float>()[256 + row] = static_cast<float>(row);
    stream.vector(scale, size,
                  {dense(data.at(0), SIDRA_S16, size), dense(data.at(1024), SIDRA_F32, {1, 1, 3, 1}),
                   dense(data.at(2048), SIDRA_F32, size)},
                  {0.5f, 100});
    stream.synchronize();
    for (int i = 0; i < 12; ++i)
        EXPECT_EQ(static_cast<float>((i - 5) * (i / 4)) + 100.5f, data.as<float>()[512 + static_cast<size_t>(i)]) << i;

    const std::string text = scale.disassemble();
    EXPECT_EQ(text, Program::assemble(context, text).disassemble());
    const sidra_vector_instruction code{
        SIDRA_VECTOR_OP_MOVE, SIDRA_VECTOR_PASS, SIDRA_VECTOR_S(0), 0, SIDRA_VECTOR_PARAM(0), 0, 0, 0, {}};
    EXPECT_EQ("pass:\n    s0 = move p0\n", Program(context, &code, 1).disassemble());
    EXPECT_THROW((void)Program::assemble(context, "nonsense"), Error);
    EXPECT_THROW(stream.vector(scale, size, {}), Error);
}

TEST_F(CppLayer, LayersAndProducts) {
    const std::vector<int8_t> values{1, 2, 3, -4};  // 2 x 2
    const Weights weights = Weights::from_s8(context, 2, 2, values);
    stream.program(weights);
    const Program sums = Program::assemble(context, "pass:\nv0 = load sums\nv1 = add v0, p0\nstore o0, v1");
    Buffer data(context, 4096);
    const int8_t codes[] = {1, 1, 2, -1};
    std::copy(std::begin(codes), std::end(codes), data.as<int8_t>().data());
    const Size size{1, 1, 2, 2};
    const Operand y = dense(data.at(1024), SIDRA_F32, size), product = dense(data.at(2048), SIDRA_F32, size);
    stream.layer(weights, sums, sidra_windows_matrix(data, SIDRA_S8, 2, 2), {y}, {0.5f});  // 4.5, -1.5; -0.5, 8.5
    Operand transposed = y;
    std::swap(transposed.stride[2], transposed.stride[3]);
    stream.matmul(2, 2, 2, y, transposed, product);
    stream.synchronize();
    const float wanted[] = {4.5f, -1.5f, -0.5f, 8.5f};
    const float squares[] = {22.5f, -15, -15, 72.5f};
    EXPECT_TRUE(std::equal(std::begin(wanted), std::end(wanted), data.as<float>().subspan(256, 4).begin()));
    EXPECT_TRUE(std::equal(std::begin(squares), std::end(squares), data.as<float>().subspan(512, 4).begin()));
    EXPECT_THROW(stream.matmul(2, 2, 2, y, transposed, y), Error) << "it would overwrite what it reads";
}

TEST_F(CppLayer, PoolingAndSorting) {
    Buffer data(context, 4096);
    const uint8_t pixels[] = {1, 9, 3, 4};
    std::copy(std::begin(pixels), std::end(pixels), data.as<uint8_t>().data());
    stream.pool({.op = SIDRA_POOLING_ARGMAX,
                 .windows = sidra_windows_image(data, SIDRA_U8, 1, 2, 2, 1, 2, 2),
                 .out = data.at(1024)});
    stream.sort({.type = SIDRA_U8, .in = data, .values = data.at(2048), .rows = 1, .cols = 4, .descending = true});
    stream.synchronize();
    EXPECT_EQ(1, data.as<int32_t>()[256]);
    const uint8_t sorted[] = {9, 4, 3, 1};
    EXPECT_TRUE(std::equal(std::begin(sorted), std::end(sorted), data.as<uint8_t>().subspan(2048, 4).begin()));
    EXPECT_THROW(stream.sort({}), Error);
}

TEST_F(CppLayer, EverythingTogether) {
    EXPECT_EQ(1u, Device::count());
    EXPECT_STREQ(on_a_node() ? "kernel" : "embedded", device.info().transport);
    EXPECT_GT(device.clock().monotonic.count(), 0);
    EXPECT_EQ(SIDRA_TELEMETRY_MAGIC, device.telemetry<sidra_telemetry>().magic);
    EXPECT_EQ(SIDRA_OK, context.status());

    Buffer data(context, 4096);
    stream.fill(data.at(16), uint16_t{0xabcd}, 32);
    stream.copy(data.at(128), data.at(16), 32);
    stream.copy_2d(data.at(256), 16, data.at(128), 8, 4, 4);
    stream.barrier();
    stream.nop();
    stream.timestamp(data.at(1024));
    EXPECT_TRUE(stream.synchronize(Deadline::after(std::chrono::milliseconds(kPatienceMs))));
    EXPECT_TRUE(stream.done());
    EXPECT_EQ(0xabcd, data.as<uint16_t>()[64]);
    EXPECT_EQ(6u, stream.timeline().completed);
    EXPECT_GT(stream.device_time().picoseconds, 0u);
    EXPECT_FALSE(stream.fault().has_value());

    const std::vector<int8_t> values{1, -2, 3, 4, 5, -6};
    Weights weights = Weights::from_s8(context, 3, 2, values);
    stream.program(weights);
    data.as<int8_t>()[0] = 10;
    data.as<int8_t>()[1] = 20;
    data.as<int8_t>()[2] = -30;
    const Graph graph = stream.capture([&] {
        stream.mvm(weights,
                   {.batch = 1, .in_type = SIDRA_S8, .out_type = SIDRA_S32, .in = data.at(0), .out = data.at(512)});
        const Array sums = dense(data.at(512), SIDRA_S32, {1, 1, 1, 2});
        stream.relu({1, 1, 1, 2}, sums, sums);
    });
    EXPECT_EQ(2u, graph.operations());
    Event event(context);
    EXPECT_TRUE(event.done());
    stream.batch([&] {
        stream.launch(graph);
        stream.record(event);
    });
    Stream other(context);
    other.wait(event);
    other.copy(data.at(600), data.at(512), 8);
    other.synchronize();
    event.synchronize();
    EXPECT_EQ(std::max(0, 10 * 1 + 20 * 3 - 30 * 5), data.as<int32_t>()[150]);
    EXPECT_EQ(std::max(0, 10 * -2 + 20 * 4 - 30 * -6), data.as<int32_t>()[151]);
    EXPECT_EQ(values, stream.read(weights));
    stream.update(weights, 0, 1, 0, 2, std::vector<int8_t>{7, 8});
    stream.refresh(weights);
    EXPECT_EQ(7, stream.read(weights)[0]);
    EXPECT_TRUE(weights.progress().complete());
    EXPECT_EQ(weights.info().crossbars, weights.crossbars().size());
    EXPECT_EQ(3u, weights.report(0).rows);
    EXPECT_THROW((void)weights.report(1), Error);
    EXPECT_EQ(1.0f, weights.scale()[1]);
    weights.publish("net");
    EXPECT_EQ(std::vector<std::string>{"net"}, context.names());
    EXPECT_EQ(3u, Weights::open(context, "net").info().k);
    context.unlink("net");

    stream.wait(data.at(2048), 1);
    EXPECT_FALSE(stream.synchronize(Deadline::poll()));
    EXPECT_FALSE(stream.done());
    std::promise<sidra_status> called;
    stream.add_callback([&](sidra_status status) { called.set_value(status); });
    context.signal(data.at(2048), 1);
    EXPECT_EQ(SIDRA_OK, called.get_future().get());
    context.synchronize();

    std::vector<int32_t> host(100, 5);
    const Buffer registered = Buffer::register_memory(context, std::span<const int32_t>(host));
    stream.copy(data.at(0), registered, 400);
    stream.synchronize();
    EXPECT_EQ(5, data.as<int32_t>()[99]);
    EXPECT_THROW(stream.copy(registered, data.at(0), 4), Error);

    EXPECT_THROW(stream.batch([] { throw std::runtime_error("of the user"); }), std::runtime_error);
    stream.batch([] {});
    EXPECT_THROW(static_cast<void>(stream.capture([] { throw std::runtime_error("of the user"); })),
                 std::runtime_error);
    stream.nop();
    device.reset();
    EXPECT_EQ(SIDRA_ERROR_CONTEXT_LOST, context.status());
    context.recover();
    stream.nop();
    stream.synchronize();
}

}  // namespace
}  // namespace sidra::test
