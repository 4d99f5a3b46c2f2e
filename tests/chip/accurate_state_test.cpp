// SPDX-License-Identifier: MIT
// A state file at level `accurate`. A restored chip must equal, bit for bit, a chip of the same seed that was never
// switched off.
#include <signal.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <random>

#include "analog.h"
#include "bench.h"
#include "cells_chunk.h"
#include "folder.h"
#include "packets.h"

namespace sidra::chip_test {
namespace {

using chip::Analog;
using chip::CrossbarCells;

constexpr uint32_t kOffset = SIDRA_ENCODING_OFFSET, kPairs = SIDRA_ENCODING_DIFFERENTIAL;

std::vector<int8_t> numbers(size_t count, uint64_t seed) {
    std::mt19937_64 random(seed);
    std::vector<int8_t> values(count);
    for (int8_t& each : values) each = static_cast<int8_t>(static_cast<int>(random() % 255) - 127);
    return values;
}

// A chip and one object on its crossbars.
struct Rig {
    Rig(const std::string& file, uint32_t rows, uint32_t cols, uint32_t encoding, std::vector<uint32_t> crossbars,
        uint64_t seed = 1)
        : bench({.seed = seed, .level = SIDRA_CHIP_ACCURATE, .state_file = file}),
          rows_(rows),
          cols_(cols),
          weights_(context.weights(
              {.rows = rows, .cols = cols, .encoding = encoding, .uid = 4711, .crossbars = std::move(crossbars)})),
          data_(context.alloc(uint64_t{rows} * cols)),
          in_(context.put(std::vector<uint8_t>(size_t{kBatch} * rows, 77))),
          out_(context.alloc(kBatch * cols * 4)) {}
    void program(const std::vector<int8_t>& w, uint32_t row = 0, uint32_t rows = 0) {
        context.write(data_, w.data(), w.size());
        run(chip_test::program(weights_, row, rows ? rows : rows_, 0, cols_, data_, cols_));
    }
    // Weights as they read back, followed by products.
    std::vector<int32_t> answers() {
        run(readback(weights_, 0, rows_, 0, cols_, data_, cols_));
        run(mvm(static_cast<uint16_t>(weights_), SIDRA_TYPE_U8, SIDRA_TYPE_S32, kBatch, in_, rows_, out_, cols_ * 4));
        auto result = context.get<int32_t>(out_, size_t{kBatch} * cols_);
        for (const int8_t each : read()) result.push_back(each);
        return result;
    }
    std::vector<int8_t> read() {
        run(readback(weights_, 0, rows_, 0, cols_, data_, cols_));
        return context.get<int8_t>(data_, size_t{rows_} * cols_);
    }
    void run(const sidra_cmd& cmd) {
        queue->submit(cmd);
        bench.run();
        ASSERT_TRUE(retired(*queue));
    }
    void calibrate() {
        sidra_cmd cmd =
            mvm(static_cast<uint16_t>(weights_), SIDRA_TYPE_U8, SIDRA_TYPE_S32, kBatch, in_, rows_, out_, cols_ * 4);
        cmd.mvm.flags = SIDRA_CMD_MVM_CALIBRATE;
        run(cmd);
    }
    bool knob(sidra_chip_knob which, uint64_t value) { return sidra_chip_set_knob(bench.chip(), which, value); }
    sidra_hw_xbar_report report(uint32_t xbar) { return bench.reports(xbar, 1)[0]; }
    void power_cycle() {
        bench.replace_chip();
        bench.enable();
        queue = &context.queue();
    }

    static constexpr uint32_t kBatch = 3;
    Bench bench;
    Context& context = bench.context(64);
    Queue* queue = &context.queue();
    const uint32_t rows_, cols_, weights_;
    const uint64_t data_, in_, out_;
};

class AccurateState : public testing::Test {
   protected:
    Folder folder_;
    const std::string path_ = folder_.path("state");
};

TEST_F(AccurateState, NothingTellsThatItWasSwitchedOff) {
    for (const uint32_t encoding : {kOffset, kPairs}) {
        if (kSanitized && encoding == kOffset) continue;
        const std::string path = folder_.path(std::to_string(encoding));
        const std::vector<uint32_t> crossbars = {5, 0};
        Rig kept(path, 300, 100, encoding, crossbars), other("", 300, 100, encoding, crossbars);
        const auto each = [&](const auto& what) {
            what(kept);
            what(other);
        };
        const auto same = [&] {
            ASSERT_EQ(kept.answers(), other.answers());
            for (const uint32_t xbar : crossbars) {
                const auto a = kept.report(xbar), b = other.report(xbar);
                EXPECT_EQ(std::memcmp(&a, &b, sizeof a), 0);
            }
            const auto a = kept.bench.xbars(0, 8), b = other.bench.xbars(0, 8);
            EXPECT_EQ(std::memcmp(a.data(), b.data(), a.size() * sizeof a[0]), 0);
        };
        each([](Rig& rig) {
            rig.program(numbers(size_t{rig.rows_} * rig.cols_, 1));
            rig.program(numbers(size_t{rig.rows_} * rig.cols_, 2), 250, 20);
            EXPECT_TRUE(rig.knob(SIDRA_KNOB_STUCK_CELL, uint64_t{5} << 32 | 9 << 24 | 8 << 16 | 255));
            EXPECT_TRUE(rig.knob(SIDRA_KNOB_STUCK_CELL, uint64_t{1} << 32 | 7));
            EXPECT_TRUE(rig.knob(SIDRA_KNOB_AGE_S, 31'557'600));
            rig.calibrate();
            EXPECT_NE(rig.report(5).adc_range, 0u);
        });
        same();
        kept.power_cycle();
        same();
        each([](Rig& rig) {
            EXPECT_TRUE(rig.knob(SIDRA_KNOB_AGE_S, 31'557'600));
            rig.program(numbers(size_t{rig.rows_} * rig.cols_, 3), 10, 30);
        });
        kept.power_cycle();
        same();
        each([](Rig& rig) { EXPECT_TRUE(rig.knob(SIDRA_KNOB_STUCK_CELL, ~uint64_t{0})); });
        kept.power_cycle();
        same();
        // Erasing and programming are recorded as well.
        each([](Rig& rig) { EXPECT_EQ(rig.bench.admin(SIDRA_ADMIN_XBAR_ERASE, 0, 8), SIDRA_ADMIN_OK); });
        EXPECT_LT(std::filesystem::file_size(path), 40u << 20);
        kept.power_cycle();
        each([](Rig& rig) { rig.program(numbers(size_t{rig.rows_} * rig.cols_, 4)); });
        kept.power_cycle();
        same();
        EXPECT_EQ(kept.bench.reports(), std::vector<std::string>{});
    }
}

TEST_F(AccurateState, ItIsTheChipOfTheFileWhateverItsSeed) {
    std::vector<int32_t> expected;
    {
        Rig rig(path_, 20, 30, kOffset, {3}), never_off("", 20, 30, kOffset, {3});
        for (Rig* each : {&rig, &never_off}) each->program(numbers(600, 1));
        EXPECT_EQ(rig.answers(), never_off.answers());
        for (Rig* each : {&never_off}) each->program(numbers(600, 2));
        expected = never_off.answers();
    }
    Rig rig(path_, 20, 30, kOffset, {3}, 99);
    rig.program(numbers(600, 2));
    EXPECT_EQ(rig.answers(), expected);
    Rig another("", 20, 30, kOffset, {3}, 99);
    another.program(numbers(600, 1));
    another.answers();
    another.program(numbers(600, 2));
    EXPECT_NE(another.answers(), expected);
}

TEST_F(AccurateState, OfAnotherLevelIsRefused) {
    { Rig rig(path_, 20, 30, kOffset, {3}); }
    const auto before = read_file(path_);
    EXPECT_NE(try_create({SIDRA_CHIP_SMALL, SIDRA_CHIP_ENGINE_AUTO, 1, 1, path_.c_str()}).find("another level"),
              std::string::npos);
    EXPECT_EQ(read_file(path_), before);
    const std::string fast = folder_.path("fast");
    { Bench bench({.state_file = fast}); }
    EXPECT_NE(try_create({SIDRA_CHIP_SMALL, SIDRA_CHIP_ENGINE_AUTO, 1, 1, fast.c_str(), SIDRA_CHIP_ACCURATE})
                  .find("another level"),
              std::string::npos);
}

TEST_F(AccurateState, AFullDiskLeavesCellsAsTheyWere) {
    Rig kept(path_, 256, 256, kOffset, {1}), other("", 256, 256, kOffset, {1});
    kept.program(numbers(65536, 1));
    other.program(numbers(65536, 1));
    rlimit before{};
    getrlimit(RLIMIT_FSIZE, &before);
    const auto handler = signal(SIGXFSZ, SIG_IGN);
    // Room for the levels, but not for what cells conduct as well.
    const rlimit little{read_file(path_).size() + 100'000, before.rlim_max};
    setrlimit(RLIMIT_FSIZE, &little);
    kept.context.write(kept.data_, numbers(65536, 2).data(), 65536);
    const sidra_cmd again = program(kept.weights_, 0, 256, 0, 256, kept.data_, 256);
    const uint64_t index = kept.queue->submit(again);
    kept.bench.run();
    EXPECT_TRUE(faulted(*kept.queue, index, again, {{SIDRA_FAULT_BUS}}));
    EXPECT_FALSE(kept.knob(SIDRA_KNOB_STUCK_CELL, uint64_t{1} << 32 | 7));
    setrlimit(RLIMIT_FSIZE, &before);
    signal(SIGXFSZ, handler);
    kept.queue = &kept.context.queue();
    EXPECT_EQ(kept.answers(), other.answers());
    kept.power_cycle();
    EXPECT_EQ(kept.answers(), other.answers());
    kept.bench.reports();
}

// A file that is cut or damaged anywhere in the record of the last programming yields the old cells or the new ones, or
// is refused with a reason.
TEST_F(AccurateState, CutOrDamagedAnywhere) {
    // What cells conduct, and how often each of the two records says that they were programmed.
    const auto contents = [](Rig& rig) {
        auto result = rig.read();
        result.push_back(static_cast<int8_t>(rig.report(2).programs));
        result.push_back(static_cast<int8_t>(rig.bench.xbars(2, 1)[0].programs));
        rig.bench.reports();  // that an end was cut off
        return result;
    };
    std::vector<int8_t> before, after;
    std::vector<uint8_t> first, whole;
    {
        Rig rig(path_, 6, 5, kPairs, {2});
        rig.program(numbers(30, 1));
        ASSERT_EQ(sidra_chip_sync(rig.bench.chip()), 0);
        first = read_file(path_);
        rig.program(numbers(30, 2));
        whole = read_file(path_);
    }
    const std::string cut = folder_.path("cut");
    const auto found = [&](const std::vector<uint8_t>& bytes) {
        write_file(cut, bytes);
        Rig rig(cut, 6, 5, kPairs, {2});
        return contents(rig);
    };
    before = found(first);
    after = found(whole);
    ASSERT_NE(before, after);
    size_t cuts = 0;
    for (size_t length = first.size(); length < whole.size(); length += 331 * kStep, cuts++)
        ASSERT_EQ(found({whole.begin(), whole.begin() + static_cast<ptrdiff_t>(length)}), before) << length;
    // Just before the end, and at it.
    ASSERT_EQ(found({whole.begin(), whole.end() - 1}), before);
    EXPECT_GT(cuts, 200u / kStep);

    std::mt19937_64 random(3);
    unsigned refused = 0, good = 0;
    for (unsigned round = 0; round < rounds(300); round++) {
        auto bytes = whole;
        bytes[random() % bytes.size()] ^= static_cast<uint8_t>(1 + random() % 255);
        write_file(cut, bytes);
        const std::string error =
            try_create({SIDRA_CHIP_SMALL, SIDRA_CHIP_ENGINE_AUTO, 1, 1, cut.c_str(), SIDRA_CHIP_ACCURATE});
        if (!error.empty()) {
            EXPECT_NE(error.find(cut), std::string::npos) << error;
            refused++;
            continue;
        }
        write_file(cut, bytes);
        Rig rig(cut, 6, 5, kPairs, {2});
        const auto what = contents(rig);
        ASSERT_TRUE(what == before || what == after);
        good++;
    }
    EXPECT_GT(refused, 10u / kStep);
    EXPECT_GT(good, 10u / kStep);
}

// A chip that is killed while it programs: each tile holds the last acknowledged programming, or the one in progress,
// bit for bit.
TEST_F(AccurateState, KilledAtAnyMoment) {
    constexpr uint32_t kTiles = 2;
    const auto data_of = [](uint64_t n) { return numbers(size_t{256} * 256, n); };
    std::mt19937_64 random(20261122);
    uint64_t reached = 0;
    std::vector<std::unique_ptr<Rig>> shadows;  // of each tile: never switched off
    for (uint32_t i = 0; i < kTiles; i++)
        shadows.push_back(std::make_unique<Rig>("", 256, 256, kOffset, std::vector<uint32_t>{3 * i}));
    for (unsigned round = 0; round < rounds(12); round++) {
        SCOPED_TRACE(round);
        int ends[2];
        ASSERT_EQ(pipe(ends), 0);
        const pid_t child = fork();
        if (child == 0) {
            Bench bench({.level = SIDRA_CHIP_ACCURATE, .state_file = path_});
            Context& context = bench.context();
            Queue& queue = context.queue();
            std::vector<uint32_t> weights;
            for (uint32_t i = 0; i < kTiles; i++)
                weights.push_back(context.weights({.uid = 4711, .crossbars = {3 * i}}));
            const uint64_t buffer = context.alloc(65536);
            for (uint64_t n = reached + 1;; n++) {
                const auto data = data_of(n);
                context.write(buffer, data.data(), data.size());
                queue.submit(program(weights[n % kTiles], 0, 256, 0, 256, buffer, 256));
                bench.run();
                if (queue.timeline() != n - reached) _exit(1);
                if (write(ends[1], &n, sizeof n) != sizeof n) _exit(2);
            }
        }
        ASSERT_GT(child, 0);
        close(ends[1]);
        uint64_t told = reached, next = 0;
        const auto hear = [&] {
            if (read(ends[0], &next, sizeof next) != sizeof next) return false;
            told = next;
            return true;
        };
        for (uint64_t left = 1 + random() % 3; left > 0; left--) ASSERT_TRUE(hear()) << "the child has failed";
        for (uint64_t spin = random() % 4'000'000; spin > 0; spin--)
            std::atomic_signal_fence(std::memory_order_seq_cst);
        kill(child, SIGKILL);
        while (hear()) continue;
        close(ends[0]);
        ASSERT_EQ(waitpid(child, nullptr, 0), child);

        for (uint64_t n = reached + 1; n <= told; n++) shadows[n % kTiles]->program(data_of(n));
        reached = told;
        for (uint32_t i = 0; i < kTiles; i++) {
            Rig found(path_, 256, 256, kOffset, {3 * i});
            Rig& shadow = *shadows[i];
            if (found.report(3 * i).programs !=
                shadow.report(3 * i).programs) {  // the programming in progress was recorded
                ASSERT_EQ((told + 1) % kTiles, i);
                shadow.program(data_of(told + 1));
                reached = told + 1;
            }
            if (shadow.report(3 * i).programs == 0) continue;
            EXPECT_EQ(found.report(3 * i).programs, found.bench.xbars(3 * i, 1)[0].programs);
            ASSERT_EQ(found.read(), shadow.read());
            found.bench.reports();
        }
    }
    EXPECT_GT(reached, 12u / kStep);
}

// Products counted after the last sync are counted again after a kill, so later products repeat the noise of earlier
// ones.
TEST_F(AccurateState, AKillTakesProductsBackToTheLastSync) {
    const std::string copy = folder_.path("copy");
    Rig rig(path_, 20, 30, kOffset, {3});
    rig.program(numbers(600, 1));
    const auto first = rig.answers();
    ASSERT_EQ(sidra_chip_sync(rig.bench.chip()), 0);
    write_file(copy, read_file(path_));  // as a kill would leave it
    const auto second = rig.answers();
    EXPECT_NE(first, second);
    Rig again(copy, 20, 30, kOffset, {3});
    EXPECT_EQ(again.answers(), second);
}

// Both encodings of a chunk decode to their input; everything else is refused.
TEST(CellsChunk, RoundTripsAndRefusals) {
    std::mt19937_64 random(9);
    Analog analog(2, 0, 1);
    const auto make = [&](uint32_t runs) {
        CrossbarCells content = analog.copy(1);
        content.counts.range = 5;
        content.record.programs = 7;
        content.record.totals.failed = 99;
        for (uint32_t i = 0; i < chip::kXbarCells; i++) {
            const uint32_t run = static_cast<uint32_t>(uint64_t{i} * runs / chip::kXbarCells);
            content.g[i] = static_cast<uint16_t>(run * 2 + 1);
            content.cells[i] = static_cast<physics::CellState>(run % 4);
        }
        return content;
    };
    size_t last = 0;
    for (const uint32_t runs : {1u, 2u, 500u, 20'000u, 24'575u, 24'576u, 30'000u, 65'536u}) {
        const CrossbarCells content = make(runs);
        const auto chunk = chip::cells_chunk(content);
        EXPECT_GE(chunk.size(), last);
        EXPECT_LE(chunk.size(), chip::kCellsChunkMax);
        last = chunk.size();
        CrossbarCells back;
        ASSERT_TRUE(chip::parse_cells_chunk(chunk, &back)) << runs;
        EXPECT_EQ(back.g, content.g);
        EXPECT_TRUE(back.cells == content.cells);
        EXPECT_EQ(back.xbar, 1u);
        EXPECT_EQ(back.counts.range, 5u);
        EXPECT_EQ(back.record.programs, 7u);
        EXPECT_EQ(std::memcmp(&back.record.totals, &content.record.totals, sizeof back.record.totals), 0);
    }
    EXPECT_LT(chip::cells_chunk(make(1)).size(), 1000u);
    const auto chunk = chip::cells_chunk(make(3));
    const size_t body = chunk.size() - 3 * 8;
    CrossbarCells back;
    for (size_t length = 0; length < chunk.size(); length++)
        ASSERT_FALSE(chip::parse_cells_chunk(std::span(chunk).first(length), &back)) << length;
    const auto with = [&](size_t at, uint8_t value) {
        auto bad = chunk;
        bad[at] = value;
        return chip::parse_cells_chunk(bad, &back);
    };
    EXPECT_FALSE(with(body, chunk[body] + 1)) << "more cells than there are";
    EXPECT_FALSE(with(body, chunk[body] - 1)) << "fewer";
    EXPECT_FALSE(with(body + 3, 0xff)) << "very many";
    EXPECT_FALSE(with(body + 7, 1)) << "reserved";
    // An undefined cell state is checked by restore(), not here.
    ASSERT_TRUE(with(body + 6, 9));
    EXPECT_FALSE(analog.restore(back));
    ASSERT_TRUE(chip::parse_cells_chunk(chunk, &back));
    EXPECT_TRUE(analog.restore(back));
    EXPECT_FALSE(analog.restore(back)) << "twice";
}

}  // namespace
}  // namespace sidra::chip_test
