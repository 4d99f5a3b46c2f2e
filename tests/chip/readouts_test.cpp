// SPDX-License-Identifier: MIT
// Level `accurate`: jobs hold readouts of their tiles, and those of jobs before and after a change of the cells differ.
// However jobs share them, wait for them and give them back, results are those of one job after the other.
#include <array>
#include <random>
#include <type_traits>
#include <vector>

#include "bench.h"
#include "chip.h"
#include "packets.h"
#include "sidra_vector.h"
#include "stream.h"

namespace sidra::chip_test {
namespace {

constexpr uint32_t kRows = 512, kCols = 16, kTiles = 2;
constexpr uint32_t kLong = 10'000, kShort = 50;                 // vectors
constexpr uint64_t kTenYears = uint64_t{10} * 365 * 24 * 3600;  // which changes every readout

template <typename T>
std::vector<T> numbers(size_t count, uint64_t seed) {
    std::mt19937_64 random(seed);
    std::vector<T> values(count);
    for (T& each : values) each = static_cast<T>(random() % 255 - (std::is_signed_v<T> ? 127 : 0));
    return values;
}

// A chip with one object, and queues that multiply by it.
class Rig {
   public:
    explicit Rig(uint8_t opcode, uint32_t workers = 1, uint8_t input = SIDRA_TYPE_U8)
        : bench({.workers = workers,
                 .pages = 1u << 14,
                 .level = SIDRA_CHIP_ACCURATE,
                 .stuck_ppm = SIDRA_CHIP_STUCK_NONE}),
          opcode_(opcode),
          input_(input) {
        bench.set_clock_step(0);
        for (auto& each : at) each = {&context.queue(), context.alloc(uint64_t{kLong} * kCols * 4)};
        program(0, kCols);
    }
    void program(uint32_t column, uint32_t columns) {
        run(other, chip_test::program(weights, 0, kRows, column, columns, data, kCols));
    }
    void age() { ASSERT_TRUE(sidra_chip_set_knob(bench.chip(), SIDRA_KNOB_AGE_S, kTenYears)); }
    uint64_t made() const { return bench.chip()->array().analog()->readouts_made(); }
    void run(Queue& queue, const sidra_cmd& cmd) {
        const uint64_t end = queue.submit(cmd) + 1;
        for (int i = 0; i < 100'000 && queue.timeline() < end && queue.run_state() != SIDRA_QUEUE_FAULTED; i++)
            bench.run_once();
        ASSERT_TRUE(retired(queue));
    }

    // Products of `batch` vectors by the queue with this number: an MVM, or a LAYER that adds them to what is there.
    sidra_cmd product(uint32_t number, uint32_t batch) {
        if (opcode_ == SIDRA_CMD_MVM)
            return mvm(static_cast<uint16_t>(weights), input_, SIDRA_TYPE_S32, batch, in, kRows, at[number].out,
                       kCols * 4);
        sidra_pattern pattern{};
        pattern.addr = in, pattern.pixel_stride = pattern.channels = kRows;
        pattern.height = 1, pattern.width = batch;
        pattern.kernel_h = pattern.kernel_w = pattern.stride_h = pattern.stride_w = 1;
        pattern.dilation_h = pattern.dilation_w = 1;
        pattern.type = pattern.codes = input_;
        sidra_operand sums{};
        sums.addr = at[number].out, sums.type = SIDRA_TYPE_S32, sums.flags = SIDRA_OPERAND_WRITE;
        sums.stride[2] = kCols * 4, sums.stride[3] = 4;
        std::vector<sidra_vector_instruction> code(4);
        code[0] = {.op = SIDRA_VECTOR_OP_LOAD_INT, .flags = SIDRA_VECTOR_PASS, .operand = SIDRA_OPERAND_SUMS};
        code[1] = {.op = SIDRA_VECTOR_OP_LOAD_INT, .dst = SIDRA_VECTOR_V(1)};
        code[2] = {.op = SIDRA_VECTOR_OP_ADD_INT, .b = SIDRA_VECTOR_V(1)};
        code[3] = {.op = SIDRA_VECTOR_OP_STORE_INT};
        sidra_cmd cmd = blank(SIDRA_CMD_LAYER);
        cmd.layer.weights = static_cast<uint16_t>(weights);
        cmd.layer.operands = context.put(std::vector{sums});
        cmd.layer.program = context.put(code);
        cmd.layer.pattern = context.put(std::vector{pattern});
        cmd.layer.size[0] = cmd.layer.size[1] = 1, cmd.layer.size[2] = batch;
        cmd.layer.epilogue = 4, cmd.layer.operand_count = 1;
        return cmd;
    }
    // Until it has made its readouts, and multiplied some vectors.
    void begin(uint32_t number, uint32_t batch) {
        Queue& queue = *at[number].queue;
        const uint64_t before = queue.state().progress, end = queue.submit(product(number, batch)) + 1;
        for (int i = 0; i < 10'000 && queue.state().progress <= before + kTiles; i++) bench.run_once();
        ASSERT_GT(queue.state().progress, before + kTiles);
        ASSERT_LT(queue.timeline(), end) << "the test looks at nothing";
    }
    std::vector<int32_t> result(uint32_t number, uint32_t batch) {
        return context.get<int32_t>(at[number].out, size_t{batch} * kCols);
    }

    struct Place {
        Queue* queue;
        uint64_t out;
    };
    Bench bench;
    Context& context = bench.context();
    Queue& other = context.queue();
    std::array<Place, 3> at;
    const uint64_t data = context.put(numbers<int8_t>(kRows * kCols, 1)),
                   in = context.put(numbers<uint8_t>(size_t{kRows} * kLong, 2));
    const uint32_t weights = context.weights({.rows = kRows, .cols = kCols, .encoding = SIDRA_ENCODING_OFFSET});

   private:
    const uint8_t opcode_, input_;
};

class ReadoutsOf : public ::testing::TestWithParam<sidra_cmd_opcode> {
   protected:
    // What the queues compute one after the other, with a change before each one but the first.
    template <typename F>
    static std::vector<std::vector<int32_t>> expected(const std::vector<uint32_t>& batches, F&& change) {
        Rig rig(GetParam());
        std::vector<std::vector<int32_t>> results;
        for (uint32_t number = 0; number < batches.size(); number++) {
            if (number > 0) change(rig);
            rig.run(*rig.at[number].queue, rig.product(number, batches[number]));
            results.push_back(rig.result(number, batches[number]));
        }
        return results;
    }
    static void age(Rig& rig) { rig.age(); }
    static void reprogram(Rig& rig) { rig.program(7, 1); }

    // Two queues hold readouts of different times, and the third one waits.
    static void let_third_wait(Rig& rig, uint32_t batch = kLong) {
        rig.begin(0, batch);
        rig.age();
        rig.begin(1, batch);
        rig.age();
        rig.at[2].queue->submit(rig.product(2, kShort));
        for (int i = 0; i < 20 && !third_waits(rig); i++) rig.bench.run_once();
    }
    static bool third_waits(const Rig& rig) {
        const Queue& third = *rig.at[2].queue;
        return third.state().parked == 1 && third.timeline() == 0 && third.run_state() == SIDRA_QUEUE_RUNNING;
    }
    static void expect_all(Rig& rig, const std::vector<uint32_t>& batches,
                           const std::vector<std::vector<int32_t>>& wanted) {
        for (uint32_t number = 0; number < batches.size(); number++) {
            EXPECT_TRUE(retired(*rig.at[number].queue)) << "queue " << number;
            EXPECT_EQ(rig.at[number].queue->state().parked, 0u);
            EXPECT_TRUE(rig.result(number, batches[number]) == wanted[number]) << "queue " << number;
        }
    }
};

// One process, two queues: a PROGRAM between the units of a product must not make one of these take as long as all
// tiles of the object.
TEST_P(ReadoutsOf, AJobAreMadeOnceWhateverIsProgrammedMeanwhile) {
    const std::vector<uint32_t> batches = {kLong, kShort};
    const auto wanted = expected(batches, reprogram);
    Rig rig(GetParam());
    rig.begin(0, kLong);
    EXPECT_EQ(rig.made(), kTiles);
    rig.program(7, 1);
    ASSERT_EQ(rig.at[0].queue->timeline(), 0u) << "the test looks at nothing";
    rig.bench.run();
    EXPECT_EQ(rig.made(), kTiles);
    rig.run(*rig.at[1].queue, rig.product(1, kShort));
    EXPECT_EQ(rig.made(), 2 * kTiles);
    expect_all(rig, batches, wanted);
    rig.run(*rig.at[1].queue, rig.product(1, kShort));
    EXPECT_EQ(rig.made(), 2 * kTiles) << "they are kept for the next packet";
}

TEST_P(ReadoutsOf, TwoTimesLetAThirdWait) {
    const std::vector<uint32_t> batches = {kLong, kLong, kShort};
    for (const auto change : {age, reprogram}) {
        const auto wanted = expected(batches, change);
        Rig rig(GetParam());
        for (uint32_t number = 0; number < 2; number++) {
            rig.begin(number, kLong);
            change(rig);
        }
        Queue& third = *rig.at[2].queue;
        third.submit(rig.product(2, kShort));
        for (int i = 0; i < 10; i++) rig.bench.run_once();
        ASSERT_TRUE(third_waits(rig));
        EXPECT_EQ(rig.made(), 2 * kTiles);
        third.doorbell();
        for (int i = 0; i < 5; i++) rig.bench.run_once();
        EXPECT_TRUE(third_waits(rig));
        for (const bool stop : {true, false}) {
            const uint32_t op = stop ? SIDRA_ADMIN_QUIESCE_QUEUE : SIDRA_ADMIN_RESUME_QUEUE;
            EXPECT_EQ(rig.bench.admin(op, rig.context.index(), third.index()), uint32_t{SIDRA_ADMIN_OK});
        }
        for (int i = 0; i < 5; i++) rig.bench.run_once();
        EXPECT_TRUE(third_waits(rig));
        EXPECT_EQ(rig.at[0].queue->timeline() + rig.at[1].queue->timeline(), 0u) << "the test looks at nothing";
        rig.bench.run();
        EXPECT_EQ(rig.made(), 3 * kTiles);
        expect_all(rig, batches, wanted);
    }
}

TEST_P(ReadoutsOf, AResetQueueAreFree) {
    const auto wanted = expected({kLong, kLong, kShort}, age);
    Rig rig(GetParam());
    let_third_wait(rig);
    ASSERT_TRUE(third_waits(rig));
    rig.at[0].queue->reset();
    for (int i = 0; i < 1000 && rig.at[2].queue->timeline() == 0; i++) rig.bench.run_once();
    EXPECT_EQ(rig.at[1].queue->timeline(), 0u) << "the test looks at nothing";
    EXPECT_TRUE(rig.result(2, kShort) == wanted[2]);
    // Now the second queue holds some, and the kept ones are others.
    EXPECT_EQ(rig.bench.admin(SIDRA_ADMIN_RESET_CONTEXT, rig.context.index()), uint32_t{SIDRA_ADMIN_OK});
    for (const Rig::Place& each : rig.at) each.queue->reset();
    for (uint32_t number = 0; number < 2; number++) {
        rig.age();
        rig.begin(number, kLong);
    }
}

TEST_P(ReadoutsOf, AFaultedQueueAreFree) {
    Rig rig(GetParam());
    let_third_wait(rig);
    ASSERT_TRUE(third_waits(rig));
    // The next DMA operations are those of the first or the second queue.
    ASSERT_TRUE(sidra_chip_set_knob(rig.bench.chip(), SIDRA_KNOB_DMA_ERROR_AT, 5));
    for (int i = 0; i < 1000 && rig.at[2].queue->timeline() == 0; i++) rig.bench.run_once();
    EXPECT_EQ(rig.at[2].queue->timeline(), 1u);
    EXPECT_EQ(
        (rig.at[0].queue->run_state() == SIDRA_QUEUE_FAULTED) + (rig.at[1].queue->run_state() == SIDRA_QUEUE_FAULTED),
        1);
    rig.bench.run();
}

// However long the packets are that others run.
TEST_P(ReadoutsOf, LongJobsAreGivenBackInTime) {
    const std::vector<uint32_t> batches = {1500, 1500, kShort};
    const auto wanted = expected(batches, age);
    Rig rig(GetParam());
    // So that few vectors take as long as to make readouts.
    ASSERT_TRUE(sidra_chip_set_knob(rig.bench.chip(), SIDRA_KNOB_SLOW_TILE_NS, 100'000));
    let_third_wait(rig, batches[0]);
    ASSERT_TRUE(third_waits(rig));
    for (int i = 0; i < 1000 && rig.at[2].queue->timeline() == 0; i++) rig.bench.run_once();
    EXPECT_EQ(rig.at[2].queue->timeline(), 1u);
    EXPECT_EQ(rig.at[0].queue->timeline() + rig.at[1].queue->timeline(), 0u) << "neither has ended";
    rig.bench.run();
    EXPECT_GT(rig.made(), 3 * kTiles) << "what was given back was made again";
    expect_all(rig, batches, wanted);
}

TEST_P(ReadoutsOf, WaitingQueuesAreSavedAndGoOn) {
    const std::vector<uint32_t> batches = {kLong, kLong, kShort};
    const auto wanted = expected(batches, age);
    Rig rig(GetParam());
    let_third_wait(rig);
    ASSERT_TRUE(third_waits(rig));
    for (int i = 0; i < 2; i++) {
        const Stream stream = save(rig.bench);
        rig.bench.replace_chip();
        ASSERT_EQ(load(rig.bench, stream), "");
        EXPECT_TRUE(save(rig.bench) == stream) << "a copy of the copy differs";
        for (int slices = 0; slices < 30; slices++) rig.bench.run_once();
    }
    EXPECT_EQ(rig.at[0].queue->timeline(), 0u) << "the test looks at nothing";
    rig.bench.run();
    expect_all(rig, batches, wanted);
}

// After the load there is room at once.
TEST_P(ReadoutsOf, ASavedQueueWaitsNoMore) {
    const auto wanted = expected({kLong, kLong, kShort}, age);
    Rig rig(GetParam());
    let_third_wait(rig);
    ASSERT_TRUE(third_waits(rig));
    const Stream stream = save(rig.bench);
    rig.bench.replace_chip();
    ASSERT_EQ(load(rig.bench, stream), "");
    rig.at[0].queue->reset();
    const Queue& third = *rig.at[2].queue;
    for (int i = 0; i < 1000 && third.timeline() == 0; i++) rig.bench.run_once();
    EXPECT_EQ(third.timeline(), 1u);
    EXPECT_EQ(third.state().parked, 0u);
    EXPECT_TRUE(rig.result(2, kShort) == wanted[2]);
}

// A turn that ends without readouts costs something, else the others would have none.
TEST_P(ReadoutsOf, AQueueThatTriesOftenLeavesTheChipToOthers) {
    Rig rig(GetParam());
    Queue& third = rig.context.queue({.priority = 0});  // it shares the chip as a queue of another user does
    rig.at[2].queue = &third;
    let_third_wait(rig);
    ASSERT_TRUE(third_waits(rig));
    const auto progress = [&rig] { return rig.at[0].queue->state().progress + rig.at[1].queue->state().progress; };
    const auto try_often = [&] {
        const uint64_t before = progress();
        for (int i = 0; i < 4000 && progress() == before; i++) {
            third.doorbell();
            rig.bench.run_once();
        }
        return progress() > before;
    };
    for (int i = 0; i < 10; i++) EXPECT_TRUE(try_often()) << i;
}

// A packet with a PROGRAM while its products run goes on with all of what was there: also with the sums that correct
// for the zero point of its input.
TEST_P(ReadoutsOf, TheZeroPointAreOfTheSameCells) {
    Rig before(GetParam(), 1, SIDRA_TYPE_S8), meanwhile(GetParam(), 1, SIDRA_TYPE_S8);
    before.run(*before.at[0].queue, before.product(0, kLong));
    meanwhile.begin(0, kLong);
    meanwhile.program(7, 1);
    ASSERT_EQ(meanwhile.at[0].queue->timeline(), 0u) << "the test looks at nothing";
    meanwhile.bench.run();
    EXPECT_TRUE(meanwhile.result(0, kLong) == before.result(0, kLong));
}

INSTANTIATE_TEST_SUITE_P(, ReadoutsOf, ::testing::Values(SIDRA_CMD_MVM, SIDRA_CMD_LAYER),
                         [](const auto& info) { return info.param == SIDRA_CMD_MVM ? "Mvm" : "Layer"; });

// A LAYER of one unit whose readouts take longer than a slice: meanwhile its thread prepares other packets.
TEST(Readouts, OfOneUnitAreMadeWhileOtherPacketsArePrepared) {
    constexpr uint32_t kFew = 5, kOthers = 300;
    const auto wanted = [] {
        Rig rig(SIDRA_CMD_LAYER);
        rig.run(*rig.at[0].queue, rig.product(0, kFew));
        return rig.result(0, kFew);
    }();
    Rig rig(SIDRA_CMD_LAYER);
    Queue& queue = *rig.at[0].queue;
    queue.submit(rig.product(0, kFew));
    rig.at[1].queue->submit(rig.product(1, 1));  // so that the slice ends with the turn
    for (int i = 0; i < 100 && rig.made() < kTiles; i++) rig.bench.run_once();
    const auto admin = [&](uint32_t op) { return rig.bench.admin(op, rig.context.index(), queue.index()); };
    EXPECT_EQ(admin(SIDRA_ADMIN_QUIESCE_QUEUE), uint32_t{SIDRA_ADMIN_OK});
    ASSERT_EQ(queue.timeline(), 0u) << "the test looks at nothing";
    for (uint32_t i = 0; i < kOthers; i++) {
        rig.context.alloc(64 * (1 + i * i % 29));  // so that their places are spread
        rig.run(*rig.at[1].queue, rig.product(1, 1 + i % 4));
    }
    EXPECT_EQ(admin(SIDRA_ADMIN_RESUME_QUEUE), uint32_t{SIDRA_ADMIN_OK});
    rig.bench.run();
    EXPECT_TRUE(rig.result(0, kFew) == wanted);
}

// Queues that share, wait and give back at the same time.
TEST(Readouts, OfManyQueuesOnThreads) {
    constexpr uint32_t kPackets = 20;
    Rig rig(SIDRA_CMD_MVM, 2);
    ASSERT_TRUE(sidra_chip_set_knob(rig.bench.chip(), SIDRA_KNOB_SLOW_TILE_NS, 10'000));
    rig.bench.start_threads(3);
    for (uint32_t i = 0; i < kPackets; i++) {
        for (uint32_t number = 0; number < rig.at.size(); number++)
            rig.at[number].queue->submit(rig.product(number, kShort * (1 + (i + number) % 3)));
        if (i % 4 == 3) rig.age();
        for (const Rig::Place& each : rig.at)
            if (i > 2) ASSERT_TRUE(rig.bench.wait(*each.queue, i - 2));
    }
    for (const Rig::Place& each : rig.at) EXPECT_TRUE(rig.bench.wait(*each.queue, kPackets));
    rig.bench.stop_threads();
    for (const Rig::Place& each : rig.at) EXPECT_TRUE(retired(*each.queue));
}

}  // namespace
}  // namespace sidra::chip_test
