// SPDX-License-Identifier: MIT
// The engine of the host's processor as an object.
#include <gtest/gtest.h>
#include <signal.h>

#include <atomic>
#include <set>
#include <thread>
#include <vector>

#include "engine.h"

namespace sidra::engine::test {
namespace {

// Units that are taken until none is left.
struct Units {
    std::atomic<uint32_t> left{1000};
    std::atomic<uint32_t> done{0};
    std::atomic<Staging*> last{nullptr};

    static void run(void* self, Staging& staging) {
        auto& units = *static_cast<Units*>(self);
        units.last.store(&staging);
        for (uint32_t left = units.left.load(); left != 0;) {
            if (!units.left.compare_exchange_weak(left, left - 1)) continue;
            staging.scratch.begin();
            uint8_t* const bytes = staging.scratch.take(64);
            bytes[0] = 1;  // of one thread at a time: TSan would see another
            units.done.fetch_add(bytes[0]);
        }
    }
};

void never(void*) { ADD_FAILURE() << "completed after all"; }

TEST(HostEngine, HasRunTheWorkWhenSubmitReturns) {
    for (const bool parallel : {false, true}) {
        const auto engine = make(SIDRA_CHIP_ENGINE_AUTO, 3);
        EXPECT_EQ(engine->can().threads, 3u);
        EXPECT_FALSE(engine->can().later);
        for (int i = 0; i < 50; ++i) {
            Units units;
            EXPECT_TRUE(engine->submit({Units::run, &units, parallel}, {never, nullptr}));
            EXPECT_EQ(units.done.load(), 1000u);
        }
    }
}

TEST(HostEngine, WorksForSeveralThreads) {
    const auto engine = make(SIDRA_CHIP_ENGINE_SCALAR, 2);
    std::vector<std::thread> threads;
    for (int t = 0; t < 4; ++t) {
        threads.emplace_back([&engine] {
            for (int i = 0; i < 50; ++i) {
                Units units;
                EXPECT_TRUE(engine->submit({Units::run, &units, true}, {never, nullptr}));
                EXPECT_EQ(units.done.load(), 1000u);
            }
        });
    }
    for (std::thread& thread : threads) thread.join();
}

TEST(HostEngine, AThreadGetsTheSameStagingAgain) {
    const auto engine = make(SIDRA_CHIP_ENGINE_SCALAR, 1);
    std::set<Staging*> used;
    for (int i = 0; i < 20; ++i) {
        Units units;
        engine->submit({Units::run, &units, false}, {never, nullptr});
        used.insert(units.last.load());
    }
    EXPECT_EQ(used.size(), 1u) << "what a unit has converted is there for the next one";
}

// Of the application: its handlers must run on its own threads.
TEST(HostEngine, HelpersTakeNoSignals) {
    struct Meeting {
        const std::thread::id caller = std::this_thread::get_id();
        std::atomic<bool> helped{false};
        sigset_t blocked{};

        static void run(void* self, Staging&) {
            auto& meeting = *static_cast<Meeting*>(self);
            if (std::this_thread::get_id() == meeting.caller) {
                while (!meeting.helped.load()) std::this_thread::yield();
                return;
            }
            pthread_sigmask(SIG_BLOCK, nullptr, &meeting.blocked);
            meeting.helped.store(true);
        }
    } meeting;
    const auto engine = make(SIDRA_CHIP_ENGINE_SCALAR, 2);
    EXPECT_TRUE(engine->submit({Meeting::run, &meeting, true}, {never, nullptr}));
    sigset_t own;
    pthread_sigmask(SIG_BLOCK, nullptr, &own);
    for (const int signal : {SIGTERM, SIGINT, SIGALRM, SIGUSR1, SIGPROF}) {
        EXPECT_EQ(sigismember(&meeting.blocked, signal), 1) << signal;
        EXPECT_EQ(sigismember(&own, signal), 0) << signal;
    }
}

TEST(HostEngine, ThereIsNoneWithoutItsInstructions) {
    for (uint32_t id = 0; id <= SIDRA_CHIP_ENGINE_AVX_VNNI + 1; ++id) {
        const auto engine = static_cast<sidra_chip_engine>(id);
        EXPECT_EQ(make(engine, 1) != nullptr, find(engine) != nullptr) << id;
    }
}

TEST(PlaneVersion, NoTwoContentsHaveTheSame) {
    PlaneVersion a, b;
    std::set<uint64_t> seen = {a.load(), b.load()};
    for (int i = 0; i < 10; ++i) {
        a.change();
        seen.insert(a.load());
        b.change();
        seen.insert(b.load());
    }
    EXPECT_EQ(seen.size(), 22u);
}

}  // namespace
}  // namespace sidra::engine::test
