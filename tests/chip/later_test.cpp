// SPDX-License-Identifier: MIT
// Units that are in an engine which completes later (later_engine.h), while the driver stops, resets, moves or destroys
// what they work for. (The other tests run on such an engine, too: SIDRA_TEST_LATER.)
#include <atomic>
#include <optional>
#include <thread>

#include "bench.h"
#include "chip.h"
#include "create.h"
#include "later_engine.h"
#include "packets.h"
#include "stream.h"
#include "vectors.h"

namespace sidra::chip_test {
namespace {

constexpr uint64_t kBytes = 4 << 20;
constexpr uint32_t kPieces = engine::Capabilities::kPiecesMax;

std::vector<uint32_t> counted() {
    std::vector<uint32_t> values(kBytes / 4);
    for (size_t i = 0; i < values.size(); i++) values[i] = static_cast<uint32_t>(i) * 2654435761u + 3;
    return values;
}

// A queue with a long packet, whose pieces wait in the engine until `hold` is gone.
struct Waiting {
    Waiting() {
        // In place: done twice, or not at all, it would show.
        const RowsAt total{sums, SIDRA_TYPE_S32};
        queue.submit(add(context, 1024, 1024, total, {from, SIDRA_TYPE_S32}, total));
        while (sidra_chip_run(bench.chip())) {
        }
    }
    bool busy() const { return bench_status() & SIDRA_ADMIN_BUSY; }
    uint32_t bench_status() const {
        return static_cast<uint32_t>(sidra_chip_mmio_read(bench.chip(), SIDRA_REG_ADMIN_STATUS, 4));
    }
    void let_go() {
        hold.reset();
        sidra_chip_settle(bench.chip());
    }
    void expect_done() {
        EXPECT_TRUE(retired(queue));
        std::vector<uint32_t> wanted(data);
        for (uint32_t& value : wanted) value *= 2;
        EXPECT_EQ(context.get<uint32_t>(sums, data.size()), wanted);
    }

    Bench bench{BenchOptions{.workers = 2, .later = true}};
    Context& context = bench.context();
    Queue& queue = context.queue();
    const std::vector<uint32_t> data = counted();
    const uint64_t from = context.put(data), sums = context.put(data);
    std::optional<LaterEngine::Hold> hold{std::in_place};
};

TEST(Later, PiecesOfSeveralJobsAreInFlight) {
    Waiting w;
    EXPECT_EQ(w.hold->waiting(), size_t{kPieces});
    EXPECT_EQ(w.queue.timeline(), 0u);
    EXPECT_FALSE(sidra_chip_pending(w.bench.chip())) << "no thread is needed";
    EXPECT_TRUE(sidra_chip_in_flight(w.bench.chip()));
    Queue& other = w.context.queue();
    const uint64_t to = w.context.alloc(kBytes);
    other.submit(std::vector<sidra_cmd>{nop(), copy(to, w.from, kBytes), nop()});
    while (sidra_chip_run(w.bench.chip())) {
    }
    EXPECT_EQ(w.hold->waiting(), size_t{2 * kPieces});
    EXPECT_EQ(other.timeline(), 1u) << "what was before it has retired";
    EXPECT_GT(w.bench.telemetry().busy_ns, 0u);
    w.let_go();
    EXPECT_FALSE(sidra_chip_in_flight(w.bench.chip()));
    EXPECT_TRUE(sidra_chip_pending(w.bench.chip()));
    w.bench.run();
    w.expect_done();
    EXPECT_TRUE(retired(other));
    EXPECT_EQ(w.context.get<uint32_t>(to, w.data.size()), w.data);
    EXPECT_GT(w.queue.state().engine_ns[SIDRA_HW_ENGINE_VEC], 0u);
}

class LaterAdmin : public ::testing::TestWithParam<uint32_t> {};

TEST_P(LaterAdmin, WaitsForWhatIsInFlight) {
    const uint32_t op = GetParam();
    Waiting w;
    const bool range = op == SIDRA_ADMIN_QUIESCE_RANGE;
    const uint64_t second = range ? w.sums : op == SIDRA_ADMIN_QUIESCE_WEIGHTS ? 0 : w.queue.index();
    w.bench.start_admin(op, w.context.index(), second, range ? kBytes : 0);
    for (int i = 0; i < 10; i++) {
        while (sidra_chip_run(w.bench.chip())) {
        }
        ASSERT_TRUE(w.busy());
    }
    EXPECT_EQ(w.hold->waiting(), size_t{kPieces});
    w.let_go();
    while (w.busy() && sidra_chip_run(w.bench.chip())) {
    }
    ASSERT_EQ(w.bench_status() & 0xffff, uint32_t{SIDRA_ADMIN_OK});
    EXPECT_EQ(w.bench.bus().live_maps(), 0) << "nothing is accessed after the acknowledgement";
    switch (op) {
        case SIDRA_ADMIN_QUIESCE_QUEUE:
        case SIDRA_ADMIN_QUIESCE_CONTEXT:
        case SIDRA_ADMIN_QUIESCE_DEVICE: {
            w.bench.run();
            EXPECT_EQ(w.queue.timeline(), 0u);
            const uint32_t resume = op - SIDRA_ADMIN_QUIESCE_QUEUE + SIDRA_ADMIN_RESUME_QUEUE;
            EXPECT_EQ(w.bench.admin(resume, w.context.index(), w.queue.index()), uint32_t{SIDRA_ADMIN_OK});
            w.bench.run();
            w.expect_done();
            break;
        }
        case SIDRA_ADMIN_RESET_QUEUE:
        case SIDRA_ADMIN_RESET_CONTEXT:
            w.bench.run();
            EXPECT_EQ(w.queue.timeline(), 0u) << "the packet was dropped";
            break;
        default:
            w.bench.run();
            w.expect_done();
    }
}

INSTANTIATE_TEST_SUITE_P(, LaterAdmin,
                         ::testing::Values(SIDRA_ADMIN_QUIESCE_RANGE, SIDRA_ADMIN_QUIESCE_WEIGHTS,
                                           SIDRA_ADMIN_QUIESCE_QUEUE, SIDRA_ADMIN_QUIESCE_CONTEXT,
                                           SIDRA_ADMIN_QUIESCE_DEVICE, SIDRA_ADMIN_RESET_QUEUE,
                                           SIDRA_ADMIN_RESET_CONTEXT));

TEST(Later, ADeviceResetWaitsForWhatIsInFlight) {
    Waiting w;
    const uint32_t before = w.bench.read32(SIDRA_REG_GENERATION);
    w.bench.write32(SIDRA_REG_RESET, SIDRA_RESET_MAGIC);
    for (int i = 0; i < 10; i++) {
        while (sidra_chip_run(w.bench.chip())) {
        }
        ASSERT_EQ(w.bench.read32(SIDRA_REG_GENERATION), before);
    }
    w.let_go();
    while (w.bench.read32(SIDRA_REG_GENERATION) == before) ASSERT_TRUE(sidra_chip_run(w.bench.chip()));
    EXPECT_EQ(w.bench.bus().live_maps(), 0);
    EXPECT_EQ(w.queue.timeline(), 0u);
}

// Lets go as soon as a thread waits in the chip for what is in flight; or in the end, and then the test fails.
class LetGo {
   public:
    explicit LetGo(Waiting* w)
        : thread_([this, w, chip = w->bench.chip()] {
              while (chip->in_flight().waiters() == 0 && !end_.load()) std::this_thread::yield();
              EXPECT_NE(w->hold->waiting(), 0u);
              EXPECT_FALSE(end_.load()) << "nothing has waited for what is in flight";
              w->hold.reset();
          }) {}
    ~LetGo() {
        end_.store(true);
        thread_.join();
    }

   private:
    std::atomic<bool> end_{false};
    std::thread thread_;
};

struct Waiter {
    const char* name;
    void (*call)(Bench&);
};
class LaterWaiter : public ::testing::TestWithParam<Waiter> {};

TEST_P(LaterWaiter, WaitsForWhatIsInFlight) {
    std::optional<LetGo> later;
    Waiting w;
    later.emplace(&w);
    GetParam().call(w.bench);
    EXPECT_EQ(w.bench.bus().live_maps(), 0);
    later.reset();
}

INSTANTIATE_TEST_SUITE_P(, LaterWaiter,
                         ::testing::Values(Waiter{"Settle", [](Bench& b) { sidra_chip_settle(b.chip()); }},
                                           Waiter{"Save", [](Bench& b) { save(b); }},
                                           Waiter{"Load", [](Bench& b) { EXPECT_EQ(load(b, save(Bench())), ""); }},
                                           Waiter{"Close", [](Bench& b) { sidra_chip_close_state_file(b.chip()); }},
                                           Waiter{"Destroy", [](Bench& b) { b.replace_chip(); }}),
                         [](const auto& info) { return std::string(info.param.name); });

TEST(Later, ASaveWaitsAndWhatHasRunDoesNotRunAgain) {
    Waiting w;
    {
        const LetGo later(&w);
        const Stream stream = save(w.bench);
        w.bench.replace_chip();
        ASSERT_EQ(load(w.bench, stream), "");
    }
    w.bench.run();
    w.expect_done();
}

// The fault of a unit that was in flight is part of the saved state, whatever becomes of its cause.
TEST(Later, AFaultDuringASaveIsReportedByTheLoadedChip) {
    Waiting w;
    Queue& other = w.context.queue();
    const uint64_t half = kBytes / 2, to = w.context.alloc(half);
    const sidra_cmd cmd = copy(to, w.from, kBytes);
    const uint64_t at = other.submit(cmd);
    while (sidra_chip_run(w.bench.chip())) {
    }
    std::optional<LetGo> later(&w);
    Stream stream = save(w.bench);
    later.reset();
    w.bench.set_clock_step(0);
    for (int copies = 0; copies < 2; copies++) {
        w.bench.replace_chip();
        ASSERT_EQ(load(w.bench, stream), "");
        stream = save(w.bench);  // a copy of the copy has it, too
    }
    w.bench.set_clock_step(1);
    for (uint64_t page = 0; page < half; page += kPage) w.context.map(to + half + page, w.context.bus().alloc_page());
    w.context.write(to, std::vector<uint8_t>(kBytes).data(), kBytes);
    w.bench.run();
    EXPECT_TRUE(faulted(other, at, cmd, {{SIDRA_FAULT_TRANSLATION}}, to + half));
    EXPECT_EQ(w.context.get<uint8_t>(to, kBytes), std::vector<uint8_t>(kBytes)) << "no unit has run again";
    const uint64_t progress = other.state().progress;
    EXPECT_GT(progress, half / (256 << 10));
    EXPECT_LE(progress, kBytes / (256 << 10)) << "each unit counts once";
    w.expect_done();
}

TEST(Later, AFaultInFlightIsReportedWhenItLands) {
    Waiting w;
    Queue& other = w.context.queue();
    const uint64_t to = w.context.alloc(kBytes / 2);
    const sidra_cmd cmd = copy(to, w.from, kBytes);
    const uint64_t at = other.submit(cmd);
    while (sidra_chip_run(w.bench.chip())) {
    }
    EXPECT_EQ(other.run_state(), uint32_t{SIDRA_QUEUE_RUNNING});
    w.let_go();
    w.bench.run();
    EXPECT_TRUE(faulted(other, at, cmd, {{SIDRA_FAULT_TRANSLATION}}, to + kBytes / 2));
    w.expect_done();
}

// The host may split the word in which units in flight are counted.
TEST(Later, NothingIsWrittenBehindAShortMap) {
    Waiting w;
    const uint64_t before = w.queue.state().progress;
    w.bench.bus().set_short(w.queue.entry().state, 4);
    w.let_go();
    EXPECT_EQ(w.queue.state().progress, before);
    w.bench.run();
    EXPECT_EQ(w.queue.timeline(), 0u) << "the queue has stopped without its state page";
    w.bench.bus().set_short(0, 0);
    w.queue.reset();
    w.queue.submit(nop());
    w.bench.run();
    EXPECT_TRUE(retired(w.queue));
}

// What an engine may say of itself, by pieces and threads.
TEST(Later, AnEngineWithoutThreadsOrWithTooManyPiecesIsRefused) {
    static uint32_t pieces, threads;
    class Idle final : public engine::Engine {
       public:
        explicit Idle(engine::Capabilities can) : Engine(can, *engine::find(SIDRA_CHIP_ENGINE_SCALAR)) {}
        bool submit(const engine::Work&, const engine::Completion&) override { return true; }
    };
    const chip::MakeEngine make = [](sidra_chip_engine, uint32_t) -> std::unique_ptr<engine::Engine> {
        engine::Capabilities can = engine::find(SIDRA_CHIP_ENGINE_SCALAR)->can;
        can.pieces = pieces, can.threads = threads;
        return std::make_unique<Idle>(can);
    };
    const sidra_chip_host host = {nullptr,
                                  [](void*, uint64_t, uint64_t*, bool) -> void* { return nullptr; },
                                  [](void*, void*, uint64_t, bool) {},
                                  [](void*, uint64_t, uint64_t*) { return false; },
                                  [](void*, uint64_t, uint64_t) { return false; },
                                  [](void*, unsigned) {},
                                  [](void*) { return uint64_t{0}; },
                                  [](void*) {},
                                  [](void*, const char*) {}};
    sidra_chip_config config{};
    config.profile = SIDRA_CHIP_SMALL;
    const auto refusal = [&](uint32_t some_pieces, uint32_t some_threads) {
        pieces = some_pieces, threads = some_threads;
        sidra_chip* chip = nullptr;
        char error[128] = "";
        const int result = chip::create(&config, &host, make, &chip, error, sizeof error);
        EXPECT_EQ(result == 0, chip != nullptr);
        sidra_chip_destroy(chip);
        return std::string(error);
    };
    EXPECT_EQ(refusal(1, 1), "");
    EXPECT_EQ(refusal(kPieces, 1), "");
    for (const auto& [p, t] : {std::pair{0u, 1u}, {kPieces + 1, 1u}, {1u, 0u}})
        EXPECT_NE(refusal(p, t).find("the engine has no threads"), std::string::npos) << p << ' ' << t;
}

}  // namespace
}  // namespace sidra::chip_test
