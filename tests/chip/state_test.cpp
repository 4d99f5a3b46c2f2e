// SPDX-License-Identifier: MIT
// A chip with a state file: its work survives a power-off, a kill or a full disk, exactly as computed.
#include <signal.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <random>

#include "bench.h"
#include "failing_new.h"
#include "folder.h"
#include "packets.h"

namespace sidra::chip_test {
namespace {

template <typename T>
std::vector<T> counted(size_t count, uint32_t step) {
    std::vector<T> values(count);
    for (size_t i = 0; i < count; i++) values[i] = static_cast<T>(static_cast<uint32_t>(i) * step + 3);
    return values;
}

uint64_t stuck(uint32_t xbar, uint32_t row, uint32_t column, uint32_t level) {
    return uint64_t{xbar} << 32 | row << 24 | column << 16 | level;
}

class State : public testing::Test {
   protected:
    BenchOptions options() const { return {.state_file = path_}; }
    static uint64_t nvm(Bench& bench, uint64_t offset) {
        const uint64_t page = bench.bus().alloc_page();
        EXPECT_EQ(bench.admin(SIDRA_ADMIN_NVM_READ, offset, page, 8), SIDRA_ADMIN_OK);
        return bench.bus().load64(page);
    }
    static uint32_t set_nvm(Bench& bench, uint64_t offset, uint64_t value) {
        const uint64_t page = bench.bus().alloc_page();
        bench.bus().store64(page, value);
        return bench.admin(SIDRA_ADMIN_NVM_WRITE, offset, page, 8);
    }
    std::string create_error(uint32_t profile = SIDRA_CHIP_SMALL) const {
        return try_create({profile, SIDRA_CHIP_ENGINE_AUTO, 1, 1, path_.c_str()});
    }
    Folder folder_;
    const std::string path_ = folder_.path("state");
};

// Not even that all of it is on disk is noted there.
TEST_F(State, WhatIsRefusedStaysAsItIs) {
    { const Bench bench({.state_file = path_}); }
    std::vector<uint8_t> bytes = read_file(path_);
    ASSERT_GT(bytes.size(), 64u);
    bytes.erase(bytes.end() - 64, bytes.end());  // without the mark behind the last record
    write_file(path_, bytes);
    EXPECT_NE(create_error(SIDRA_CHIP_Y1), "");
    EXPECT_EQ(read_file(path_), bytes);
}

// Cells, owners, wear, stuck cells, NVM and UUID; nothing else.
TEST_F(State, WhatSurvivesPowerOff) {
    Bench bench(options());
    Context& context = bench.context();
    const uint32_t offset = context.weights({.rows = 300, .cols = 200, .crossbars = {1, 2}}),
                   pairs = context.weights(
                       {.rows = 256, .cols = 128, .encoding = SIDRA_ENCODING_DIFFERENTIAL, .crossbars = {0}}),
                   erased = context.weights({.rows = 10, .cols = 10, .crossbars = {3}});
    auto w = counted<int8_t>(300 * 200, 7);
    auto d = counted<int8_t>(256 * 128, 5);
    std::replace(d.begin(), d.end(), int8_t{-128}, int8_t{0});
    const auto x = counted<int8_t>(300, 11);
    const uint64_t in = context.put(x), out = context.alloc(8192);
    ASSERT_TRUE(sidra_chip_set_knob(bench.chip(), SIDRA_KNOB_STUCK_CELL, stuck(1, 9, 8, 255)));
    ASSERT_TRUE(sidra_chip_set_knob(bench.chip(), SIDRA_KNOB_STUCK_CELL, stuck(7, 1, 2, 3)));
    const auto compute = [&] {
        Queue& queue = context.queue();
        queue.submit(mvm(static_cast<uint16_t>(offset), SIDRA_TYPE_S8, SIDRA_TYPE_S32, 1, in, 300, out, 800));
        queue.submit(mvm(static_cast<uint16_t>(pairs), SIDRA_TYPE_S8, SIDRA_TYPE_S32, 1, in, 256, out + 4096, 512));
        bench.run();
        EXPECT_TRUE(retired(queue));
        return context.get<int32_t>(out, 2048);
    };
    {
        Queue& queue = context.queue();
        queue.submit(program(offset, 0, 300, 0, 200, context.put(w), 200));
        queue.submit(program(pairs, 0, 256, 0, 128, context.put(d), 128));
        queue.submit(program(erased, 0, 10, 0, 10, context.put(w), 10));
        w[5 * 200 + 50] = 100;
        queue.submit(program(offset, 5, 1, 50, 1, context.put(std::vector<int8_t>{100}), 1));
        bench.run();
        ASSERT_TRUE(retired(queue));
    }
    ASSERT_EQ(bench.admin(SIDRA_ADMIN_XBAR_ERASE, 3, 5), SIDRA_ADMIN_OK);
    // The cell is also stuck once the tile is programmed, and keeps its level when it is released.
    ASSERT_TRUE(sidra_chip_set_knob(bench.chip(), SIDRA_KNOB_STUCK_CELL, stuck(2, 3, 4, 200)));
    ASSERT_EQ(set_nvm(bench, 8192, 0x5eed), SIDRA_ADMIN_OK);
    ASSERT_EQ(set_nvm(bench, 2 * 4096 - 4, 0x1122334455667788), SIDRA_ADMIN_OK) << "over a page's end";
    const auto headers = bench.xbars(0, bench.crossbars_total());
    const auto before = compute();
    const uint64_t uuid = bench.read64(SIDRA_REG_UUID);
    EXPECT_EQ(bench.read64(SIDRA_REG_FEATURES), SIDRA_FEATURE_FIRMWARE | SIDRA_FEATURE_STATE_FILE);
    bench.l3()[12345] = 99;
    bench.write32(SIDRA_REG_SCRATCH, 77);

    const auto same_after_power_off = [&] {
        bench.replace_chip();
        EXPECT_EQ(bench.read64(SIDRA_REG_UUID), uuid);
        EXPECT_EQ(bench.read32(SIDRA_REG_SCRATCH), ~0u);
        EXPECT_EQ(bench.l3()[12345], 0);
        EXPECT_EQ(bench.telemetry().packets, 0u);
        bench.enable();
        const auto after = bench.xbars(0, bench.crossbars_total());
        EXPECT_EQ(std::memcmp(headers.data(), after.data(), headers.size() * sizeof headers[0]), 0);
        EXPECT_EQ(compute(), before);
        EXPECT_EQ(nvm(bench, 2 * 4096 - 4), 0x1122334455667788u);
    };
    same_after_power_off();
    EXPECT_EQ(bench.telemetry().xbars_programmed, 3u);
    int32_t sum = 0;  // of a column without stuck cells
    for (size_t k = 0; k < 300; k++) sum += x[k] * w[k * 200 + 50];
    EXPECT_EQ(before[50], sum);
    // A stuck cell keeps its level, and the others can be written.
    {
        Queue& queue = context.queue();
        queue.submit(program(offset, 9, 1, 8, 1, context.put(std::vector<int8_t>{1}), 1));
        const uint64_t back = context.alloc(4096);
        queue.submit(readback(offset, 9, 1, 8, 1, back, 1));
        queue.submit(program(offset, 9, 1, 9, 1, context.put(std::vector<int8_t>{1}), 1));
        queue.submit(readback(offset, 9, 1, 9, 1, back + 1, 1));
        bench.run();
        ASSERT_TRUE(retired(queue));
        const auto read = context.get<int8_t>(back, 2);
        EXPECT_EQ(read[0], 127);
        EXPECT_EQ(read[1], 1);
    }
    ASSERT_TRUE(sidra_chip_set_knob(bench.chip(), SIDRA_KNOB_STUCK_CELL, ~uint64_t{0}));
    const auto loose = compute();
    bench.replace_chip();
    bench.enable();
    EXPECT_EQ(compute(), loose);
    for (const sidra_hw_xbar& header : bench.xbars(0, bench.crossbars_total())) EXPECT_EQ(header.stuck_cells, 0u);
    EXPECT_EQ(bench.reports(), std::vector<std::string>{});
}

TEST_F(State, WithoutAFileNothingIsPromised) {
    EXPECT_EQ(Bench().read64(SIDRA_REG_FEATURES), SIDRA_FEATURE_FIRMWARE);
    EXPECT_EQ(sidra_chip_sync(Bench().chip()), 0);
}

TEST_F(State, OneChipHasItAndOnlyOfItsProfile) {
    {
        Bench bench(options());
        errno = 0;
        EXPECT_NE(create_error().find("another chip has it"), std::string::npos);
        EXPECT_EQ(errno, EBUSY);
    }
    {
        Bench bench(options());
        sidra_chip_close_state_file(bench.chip());
        EXPECT_EQ(create_error(), "") << "given back";
        EXPECT_EQ(set_nvm(bench, 0, 1), SIDRA_ADMIN_OK);
        EXPECT_EQ(nvm(bench, 0), 1u);
        EXPECT_EQ(sidra_chip_sync(bench.chip()), 0);
    }
    {
        Bench bench(options());
        EXPECT_EQ(nvm(bench, 0), 0u) << "what came later has ended with the chip";
    }
    const auto before = read_file(path_);
    EXPECT_NE(create_error(SIDRA_CHIP_Y1).find("another profile"), std::string::npos);
    EXPECT_NE(create_error(SIDRA_CHIP_Y1).find("state file '" + path_ + "' cannot be used"), std::string::npos);
    EXPECT_EQ(read_file(path_), before);
    EXPECT_EQ(create_error(), "");
}

// Each operation fails with an error and without effect; once there is room it works.
TEST_F(State, AFullDisk) {
    Bench bench(options());
    Context& context = bench.context();
    const uint32_t weights = context.weights({.rows = 256, .cols = 256});
    const uint64_t old_data = context.put(counted<int8_t>(65536, 7)), new_data = context.put(counted<int8_t>(65536, 9)),
                   back = context.alloc(65536);
    Queue& queue = context.queue();
    queue.submit(program(weights, 0, 256, 0, 256, old_data, 256));
    bench.run();
    ASSERT_TRUE(retired(queue));
    ASSERT_EQ(set_nvm(bench, 0, 1), SIDRA_ADMIN_OK);
    rlimit before{};
    getrlimit(RLIMIT_FSIZE, &before);
    const auto handler = signal(SIGXFSZ, SIG_IGN);
    const rlimit little{read_file(path_).size() + 100, before.rlim_max};
    setrlimit(RLIMIT_FSIZE, &little);
    const sidra_cmd again = program(weights, 0, 256, 0, 256, new_data, 256);
    const uint64_t index = queue.submit(again);
    bench.run();
    EXPECT_TRUE(faulted(queue, index, again, {{SIDRA_FAULT_BUS}}));
    const auto said = bench.reports();
    ASSERT_EQ(said.size(), 1u);
    EXPECT_NE(said[0].find("state file '" + path_ + "' cannot be written: File too large"), std::string::npos);
    EXPECT_EQ(set_nvm(bench, 0, 2), SIDRA_ADMIN_BUS_ERROR);
    EXPECT_EQ(bench.admin(SIDRA_ADMIN_XBAR_ERASE, 0, bench.crossbars_total()), SIDRA_ADMIN_BUS_ERROR);
    EXPECT_FALSE(sidra_chip_set_knob(bench.chip(), SIDRA_KNOB_STUCK_CELL, stuck(1, 9, 8, 255)));
    EXPECT_EQ(bench.reports(), std::vector<std::string>{}) << "said once";
    setrlimit(RLIMIT_FSIZE, &before);
    signal(SIGXFSZ, handler);

    Queue& other = context.queue();
    other.submit(readback(weights, 0, 256, 0, 256, back, 256));
    bench.run();
    ASSERT_TRUE(retired(other));
    EXPECT_EQ(context.get<int8_t>(back, 65536), counted<int8_t>(65536, 7)) << "as if nothing had been asked";
    EXPECT_EQ(nvm(bench, 0), 1u);
    other.submit(again);
    bench.run();
    EXPECT_TRUE(retired(other)) << "the next try";
    EXPECT_EQ(set_nvm(bench, 0, 2), SIDRA_ADMIN_OK);
    bench.replace_chip();
    bench.enable();
    EXPECT_EQ(nvm(bench, 0), 2u);
    Queue& third = context.queue();
    third.submit(readback(weights, 0, 256, 0, 256, back, 256));
    bench.run();
    ASSERT_TRUE(retired(third));
    EXPECT_EQ(context.get<int8_t>(back, 65536), counted<int8_t>(65536, 9));
}

// A load replaces the contents of the file; a refused load leaves them.
TEST_F(State, LoadedChipsAreInTheFile) {
    std::vector<uint8_t> stream;
    const auto append = [](void* opaque, const void* data, size_t size) {
        auto* to = static_cast<std::vector<uint8_t>*>(opaque);
        to->insert(to->end(), static_cast<const uint8_t*>(data), static_cast<const uint8_t*>(data) + size);
        return true;
    };
    {
        Bench other({.seed = 5});
        ASSERT_EQ(set_nvm(other, 4096, 0xa), SIDRA_ADMIN_OK);
        ASSERT_EQ(sidra_chip_save(other.chip(), append, &stream), 0);
    }
    const auto load = [&](Bench& bench) {
        size_t at = 0;
        struct Reader {
            const std::vector<uint8_t>& stream;
            size_t& at;
        } reader{stream, at};
        char error[1024] = "";
        sidra_chip_load(
            bench.chip(),
            [](void* opaque, void* data, size_t size) {
                auto* from = static_cast<Reader*>(opaque);
                if (size > from->stream.size() - from->at) return false;
                std::memcpy(data, from->stream.data() + from->at, size);
                from->at += size;
                return true;
            },
            &reader, error, sizeof error);
        return std::string(error);
    };
    Bench bench(options());
    ASSERT_EQ(set_nvm(bench, 0, 0xb), SIDRA_ADMIN_OK);
    const uint64_t uuid = bench.read64(SIDRA_REG_UUID);
    stream.back() ^= 1;
    EXPECT_NE(load(bench), "");
    bench.enable();
    EXPECT_EQ(nvm(bench, 0), 0xbu) << "as after power-on: with the cells of the file";
    EXPECT_EQ(bench.read64(SIDRA_REG_UUID), uuid);
    ASSERT_EQ(set_nvm(bench, 8192, 0xc), SIDRA_ADMIN_OK);
    bench.replace_chip();
    bench.enable();
    EXPECT_EQ(nvm(bench, 8192), 0xcu) << "and what came after it is kept";

    stream.back() ^= 1;
    rlimit before{};
    getrlimit(RLIMIT_FSIZE, &before);
    const auto handler = signal(SIGXFSZ, SIG_IGN);
    const rlimit little{100, before.rlim_max};
    setrlimit(RLIMIT_FSIZE, &little);
    EXPECT_NE(load(bench).find("cannot be written: File too large"), std::string::npos);
    setrlimit(RLIMIT_FSIZE, &before);
    signal(SIGXFSZ, handler);
    bench.enable();
    EXPECT_EQ(nvm(bench, 8192), 0xcu) << "no half of a load";
    EXPECT_EQ(load(bench), "");
    EXPECT_NE(bench.read64(SIDRA_REG_UUID), uuid);
    bench.replace_chip();
    bench.enable();
    EXPECT_NE(bench.read64(SIDRA_REG_UUID), uuid);
    EXPECT_EQ(nvm(bench, 0), 0u);
    EXPECT_EQ(nvm(bench, 4096), 0xau);
}

// Whichever allocation fails: the packet faults and nothing has changed, or it is done and recorded.
TEST_F(State, NoMemory) {
    const auto old_data = counted<int8_t>(65536, 7), new_data = counted<int8_t>(65536, 9);
    uint64_t failures = 0;
    for (uint64_t first = 0;; first++) {
        SCOPED_TRACE(first);
        Bench bench({.workers = 1, .state_file = folder_.path(std::to_string(first))});
        Context& context = bench.context();
        const uint32_t weights = context.weights({.uid = 77, .crossbars = {2}});
        const uint64_t from = context.put(new_data), back = context.alloc(65536);
        Queue &queue = context.queue(), &other = context.queue();
        queue.submit(program(weights, 0, 256, 0, 256, context.put(old_data), 256));
        bench.run();
        ASSERT_TRUE(retired(queue));
        const sidra_cmd again = program(weights, 0, 256, 0, 256, from, 256);
        queue.push(again);
        queue.publish();
        uint64_t failed;
        {
            test::FailingNew failing(first, 1);
            queue.doorbell();
            bench.run();
            failed = failing.failed();
        }
        if (failed != 0) EXPECT_TRUE(faulted(queue, 1, again, {{SIDRA_FAULT_BUS}}));
        else EXPECT_TRUE(retired(queue));
        const auto& expected = failed != 0 ? old_data : new_data;
        for (int power = 0; power < 2; power++) {
            Queue& reader = power ? context.queue() : other;
            reader.submit(readback(weights, 0, 256, 0, 256, back, 256));
            bench.run();
            ASSERT_TRUE(retired(reader));
            EXPECT_TRUE((context.get<int8_t>(back, 65536)) == expected);
            bench.replace_chip();
            bench.enable();
        }
        if (failed == 0) break;
        failures++;
    }
    EXPECT_GE(failures, 2u) << "the test has looked at nothing";
}

// Many queues and threads at once, each with tiles of its own.
TEST_F(State, ConcurrentPrograms) {
    constexpr unsigned kQueues = 6;
    const unsigned count = rounds(40);
    std::vector<std::vector<int8_t>> last(kQueues);
    Bench bench({.workers = 2, .pages = 16384, .state_file = path_});
    Context& context = bench.context(16);
    std::vector<uint32_t> weights;
    std::vector<Queue*> queues;
    for (unsigned q = 0; q < kQueues; q++) {
        weights.push_back(context.weights({.rows = 256, .cols = 256}));
        queues.push_back(&context.queue({.log2 = 8}));
        std::mt19937_64 random(q);
        for (unsigned i = 0; i < count; i++) {
            const auto data = counted<int8_t>(65536, static_cast<uint32_t>(random() | 1));
            if (i == 0 || i + 1 == count) {
                queues[q]->push(program(weights[q], 0, 256, 0, 256, context.put(data), 256));
                last[q] = data;
            } else {  // a part of the tile
                const uint32_t row = static_cast<uint32_t>(random() % 200);
                const std::vector<int8_t> piece(50 * 256, static_cast<int8_t>(i));
                queues[q]->push(program(weights[q], row, 50, 0, 256, context.put(piece), 256));
            }
        }
    }
    bench.start_threads(3);
    for (Queue* queue : queues) {
        queue->publish();
        queue->doorbell();
    }
    for (Queue* queue : queues) EXPECT_TRUE(bench.wait(*queue, count));
    bench.stop_threads();
    bench.replace_chip();
    bench.enable();
    for (unsigned q = 0; q < kQueues; q++) {
        const uint64_t back = context.alloc(65536);
        Queue& queue = context.queue();
        queue.submit(readback(weights[q], 0, 256, 0, 256, back, 256));
        bench.run();
        ASSERT_TRUE(retired(queue));
        EXPECT_EQ(context.get<int8_t>(back, 65536), last[q]);
    }
}

// A chip that is killed while it programs tiles: each tile has the last acknowledged data or the data in progress. The
// same holds for NVM, where one command writes a number and its complement.
TEST_F(State, KilledAtAnyMoment) {
    constexpr uint64_t kTiles = 4;
    const auto data_of = [](uint64_t n) { return counted<int8_t>(65536, static_cast<uint32_t>(2 * n + 1)); };
    std::mt19937_64 random(20260103);
    uint64_t reached = 0, reached_nvm = 0;
    struct Told {
        uint64_t tile, nvm;
    };
    for (unsigned round = 0; round < rounds(40); round++) {
        SCOPED_TRACE(round);
        int ends[2];
        ASSERT_EQ(pipe(ends), 0);
        const pid_t child = fork();
        if (child == 0) {
            Bench bench(options());
            Context& context = bench.context();
            Queue& queue = context.queue();
            std::vector<uint32_t> weights;
            for (uint64_t i = 0; i < kTiles; i++)
                weights.push_back(context.weights({.uid = 1000 + i, .crossbars = {static_cast<uint32_t>(i)}}));
            const uint64_t buffer = context.alloc(65536), pages = bench.bus().alloc(2 * 4096);
            Told told{reached, reached_nvm};
            for (uint64_t n = reached + 1;; n++) {
                const auto data = data_of(n);
                context.write(buffer, data.data(), data.size());
                queue.submit(program(weights[n % kTiles], 0, 256, 0, 256, buffer, 256));
                bench.run();
                if (queue.timeline() != n - reached) _exit(1);
                told.tile = n;
                if (write(ends[1], &told, sizeof told) != sizeof told) _exit(2);
                bench.bus().store64(pages, n);
                bench.bus().store64(pages + 4096, ~n);
                if (bench.admin(SIDRA_ADMIN_NVM_WRITE, 0, pages, 8192) != SIDRA_ADMIN_OK) _exit(3);
                told.nvm = n;
                if (write(ends[1], &told, sizeof told) != sizeof told) _exit(2);
            }
        }
        ASSERT_GT(child, 0);
        close(ends[1]);
        Told told{reached, reached_nvm}, next;
        const auto hear = [&] {
            if (read(ends[0], &next, sizeof next) != sizeof next) return false;
            told = next;
            return true;
        };
        for (uint64_t left = 1 + random() % 12; left > 0; left--) ASSERT_TRUE(hear()) << "the child has failed";
        for (uint64_t spin = random() % 200000; spin > 0; spin--) std::atomic_signal_fence(std::memory_order_seq_cst);
        kill(child, SIGKILL);
        while (hear()) continue;
        close(ends[0]);
        ASSERT_EQ(waitpid(child, nullptr, 0), child);

        Bench bench(options());
        const uint64_t number = nvm(bench, 0);
        EXPECT_EQ(nvm(bench, 4096), number == 0 ? 0 : ~number) << "two pages of one command";
        EXPECT_TRUE(number == told.nvm || number == told.tile) << number << ", told " << told.nvm;
        Context& context = bench.context();
        const uint64_t back = context.alloc(65536);
        uint64_t last = told.tile;
        for (uint64_t i = 0; i < kTiles; i++) {
            // The last acknowledged write of this tile, and the one that may have been in progress.
            uint64_t old = told.tile;
            while (old > 0 && old % kTiles != i) old--;
            const uint64_t fresh = told.tile + 1;
            const uint32_t weights = context.weights({.uid = 1000 + i, .crossbars = {static_cast<uint32_t>(i)}});
            if (old == 0 && fresh % kTiles != i) continue;
            Queue& queue = context.queue();
            queue.submit(readback(weights, 0, 256, 0, 256, back, 256));
            bench.run();
            if (old == 0 && queue.run_state() == SIDRA_QUEUE_FAULTED) continue;  // the first write was not recorded yet
            ASSERT_TRUE(retired(queue));
            const auto found = context.get<int8_t>(back, 65536);
            const bool is_fresh = fresh % kTiles == i && found == data_of(fresh);
            EXPECT_TRUE(is_fresh || (old != 0 && found == data_of(old))) << "tile " << i;
            if (is_fresh) last = fresh;
        }
        reached = last;
        reached_nvm = number;
    }
    EXPECT_GT(reached, rounds(40));
}

// An erased array is a few small writes, and a chip that has done nothing writes nothing.
TEST_F(State, WhatItCosts) {
    Bench bench(options());
    const auto size = [&] { return read_file(path_).size(); };
    const size_t empty = size();
    ASSERT_EQ(bench.admin(SIDRA_ADMIN_XBAR_ERASE, 0, bench.crossbars_total()), SIDRA_ADMIN_OK);
    EXPECT_EQ(size(), empty) << "nothing was there";
    Context& context = bench.context();
    Queue& queue = context.queue();
    const uint32_t weights = context.weights({.rows = 512, .cols = 512});
    queue.submit(program(weights, 0, 512, 0, 512, context.put(counted<int8_t>(512 * 512, 7)), 512));
    bench.run();
    const size_t programmed = size();
    EXPECT_EQ(programmed, empty + 4 * (65536 + 2 * 64) + 2 * 64 + 64) << "a record a tile, and when it begins and ends";
    const uint64_t in = context.alloc(4096), out = context.alloc(8192);
    queue.submit(nop());
    queue.submit(mvm(static_cast<uint16_t>(weights), SIDRA_TYPE_S8, SIDRA_TYPE_S32, 1, in, 512, out, 2048));
    bench.run();
    ASSERT_TRUE(retired(queue));
    EXPECT_EQ(size(), programmed);
    ASSERT_EQ(bench.admin(SIDRA_ADMIN_XBAR_ERASE, 0, bench.crossbars_total()), SIDRA_ADMIN_OK);
    EXPECT_EQ(size(), programmed + 4 * 2 * 64);
}

}  // namespace
}  // namespace sidra::chip_test
