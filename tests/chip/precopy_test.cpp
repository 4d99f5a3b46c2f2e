// SPDX-License-Identifier: MIT
// Cells that are saved in parts while the chip goes on, and the rest of it afterwards.
#include <atomic>
#include <cstring>
#include <string>
#include <thread>
#include <vector>

#include "bench.h"
#include "folder.h"
#include "packets.h"
#include "stream.h"

namespace sidra::chip_test {
namespace {

constexpr uint32_t kRows = 512, kCols = 512;  // four crossbars in offset code

std::vector<int8_t> counted(size_t count, uint32_t step) {
    std::vector<int8_t> values(count);
    for (size_t i = 0; i < count; i++) values[i] = static_cast<int8_t>(static_cast<uint32_t>(i) * step + 3);
    return values;
}

Stream part(const Bench& bench, uint64_t bytes) {
    Stream stream;
    EXPECT_EQ(sidra_chip_precopy_save(bench.chip(), bytes, append, &stream), 0);
    return stream;
}

std::string load_part(const Bench& bench, const Stream& stream) {
    Reader reader{stream};
    char error[1024] = "";
    const int result = sidra_chip_precopy_load(bench.chip(), Reader::read, &reader, error, sizeof error);
    EXPECT_EQ(result == 0, error[0] == '\0');
    if (result == 0) EXPECT_EQ(reader.at, stream.size());
    return error;
}

unsigned count(const Stream& stream, const char* tag) {
    unsigned found = 0;
    for (const Chunk& chunk : chunks_of(stream)) found += std::memcmp(&stream[chunk.at], tag, 4) == 0;
    return found;
}

class Precopy : public testing::TestWithParam<uint32_t> {
   protected:
    Precopy() {
        bench_.set_clock_step(0);
        data_ = context_.put(counted(kRows * kCols, 7));
        other_ = context_.put(counted(kRows * kCols, 11));
        program_all(data_);
    }
    void program_all(uint64_t from) {
        queue_.submit(program(weights_, 0, kRows, 0, kCols, from, kCols));
        bench_.run();
        ASSERT_TRUE(retired(queue_));
    }
    void program_row(uint32_t row) {  // of two crossbars
        queue_.submit(program(weights_, row, 1, 0, kCols, other_, kCols));
        bench_.run();
        ASSERT_TRUE(retired(queue_));
    }
    std::vector<Stream> all_parts(uint64_t bytes) {
        std::vector<Stream> parts;
        while (sidra_chip_precopy_pending(bench_.chip())) parts.push_back(part(bench_, bytes));
        return parts;
    }
    // Another chip gets all that, and is then as this one is.
    void arrives(const std::vector<Stream>& parts, const Stream& rest) {
        sidra_chip_precopy_end(bench_.chip());
        const Stream whole = save(bench_);
        bench_.replace_chip();
        bench_.set_clock_step(0);
        for (const Stream& each : parts) ASSERT_EQ(load_part(bench_, each), "");
        ASSERT_EQ(load(bench_, rest), "");
        EXPECT_TRUE(save(bench_) == whole) << "the chip that was loaded is another one";
    }

    Bench bench_{{.level = GetParam()}};
    Context& context_ = bench_.context();
    Queue& queue_ = context_.queue();
    const uint32_t weights_ = context_.weights({.rows = kRows, .cols = kCols, .crossbars = {0, 1, 2, 3}});
    uint64_t data_ = 0, other_ = 0;
};
INSTANTIATE_TEST_SUITE_P(Levels, Precopy, testing::Values(SIDRA_CHIP_FAST, SIDRA_CHIP_ACCURATE),
                         [](const auto& info) { return info.param == SIDRA_CHIP_FAST ? "Fast" : "Accurate"; });

TEST_P(Precopy, LeavesNothingOfTheCellsForTheEnd) {
    EXPECT_EQ(count(save(bench_), "XBAR"), 4u) << "without a precopy the state has all crossbars";
    sidra_chip_precopy_begin(bench_.chip());
    const std::vector<Stream> parts = all_parts(1);
    ASSERT_EQ(parts.size(), 4u) << "one crossbar each";
    for (const Stream& each : parts) EXPECT_EQ(count(each, "XBAR"), 1u);
    const Stream rest = save(bench_);
    EXPECT_EQ(count(rest, "XBAR") + count(rest, "CELL") + count(rest, "BLNK"), 0u);
    arrives(parts, rest);
}

TEST_P(Precopy, SendsAgainWhatHasChanged) {
    sidra_chip_precopy_begin(bench_.chip());
    std::vector<Stream> parts = all_parts(1 << 30);
    ASSERT_EQ(parts.size(), 1u);
    program_row(300);
    for (const Stream& each : all_parts(1)) parts.push_back(each);
    EXPECT_EQ(parts.size(), 3u) << "a row of weights lies in two crossbars";
    program_row(17);
    ASSERT_TRUE(sidra_chip_set_knob(bench_.chip(), SIDRA_KNOB_STUCK_CELL, 3ull << 32 | 9u << 24 | 8u << 16 | 255));
    const Stream rest = save(bench_);
    EXPECT_EQ(count(rest, "XBAR"), 3u) << "what changed after the last part is in the state";
    EXPECT_EQ(count(rest, "BLNK"), 3u);
    arrives(parts, rest);
}

// Products are counted, and the ADCs' ranges grow, without any change of the cells.
TEST_P(Precopy, CountsAreThoseOfTheEnd) {
    sidra_chip_precopy_begin(bench_.chip());
    const std::vector<Stream> parts = all_parts(1 << 30);
    const uint64_t in = context_.put(counted(kRows, 5)), out = context_.alloc(kCols * 4);
    sidra_cmd cmd = mvm(static_cast<uint16_t>(weights_), SIDRA_TYPE_S8, SIDRA_TYPE_S32, 1, in, kRows, out, kCols * 4);
    cmd.mvm.flags = GetParam() == SIDRA_CHIP_ACCURATE ? SIDRA_CMD_MVM_CALIBRATE : 0;
    queue_.submit(cmd);
    bench_.run();
    ASSERT_TRUE(retired(queue_));
    EXPECT_EQ(sidra_chip_precopy_pending(bench_.chip()), 0u);
    arrives(parts, save(bench_));
}

TEST_P(Precopy, WhatWasErasedIsErased) {
    sidra_chip_precopy_begin(bench_.chip());
    std::vector<Stream> parts = all_parts(1 << 30);
    ASSERT_EQ(bench_.admin(SIDRA_ADMIN_XBAR_ERASE, 0, bench_.crossbars_total()), SIDRA_ADMIN_OK);
    for (const Stream& each : all_parts(1 << 30)) parts.push_back(each);
    EXPECT_EQ(parts.size(), 2u);
    arrives(parts, save(bench_));
}

// Whoever programs is not waited for.
TEST_P(Precopy, WhileCellsArePulsed) {
    sidra_chip_precopy_begin(bench_.chip());
    constexpr uint32_t kPackets = kSanitized ? 6 : 30;
    for (uint32_t i = 0; i < kPackets; i++)
        queue_.submit(program(weights_, 16 * i, 8, 0, kCols, i % 2 ? data_ : other_, kCols));
    std::atomic<bool> done{false};
    std::thread runs([&] {
        bench_.run();
        done = true;
    });
    std::vector<Stream> parts;
    while (!done || parts.size() < 8) parts.push_back(part(bench_, 1));
    runs.join();
    ASSERT_TRUE(retired(queue_));
    arrives(parts, save(bench_));
}

TEST_P(Precopy, IsForgottenWhenItEnds) {
    sidra_chip_precopy_begin(bench_.chip());
    const std::vector<Stream> parts = all_parts(1 << 30);
    sidra_chip_precopy_end(bench_.chip());
    EXPECT_EQ(count(save(bench_), "XBAR"), 4u);
    sidra_chip_precopy_begin(bench_.chip());
    EXPECT_EQ(all_parts(1 << 30).size(), 1u);
    EXPECT_EQ(count(save(bench_), "XBAR"), 0u);
    program_row(3);
    EXPECT_EQ(sidra_chip_precopy_pending(bench_.chip()), 0u) << "the state ends the precopy";
    EXPECT_EQ(count(save(bench_), "XBAR"), 4u);
    sidra_chip_precopy_begin(bench_.chip());
    EXPECT_EQ(all_parts(1 << 30).size(), 1u) << "the next one begins again";
}

// On the way, parts are lost, come twice, or in another order; the chip is then as after power-on.
TEST_P(Precopy, PartsThatAreMissing) {
    sidra_chip_precopy_begin(bench_.chip());
    const std::vector<Stream> parts = all_parts(1);
    const Stream rest = save(bench_);
    bench_.replace_chip();
    bench_.set_clock_step(0);
    const Stream fresh = save(bench_);
    constexpr const char* kMissing = "saved state: parts of the cells are missing";
    const auto refused = [&](std::initializer_list<size_t> order) {
        SCOPED_TRACE(testing::PrintToString(std::vector<size_t>(order)));
        std::string error;
        for (const size_t each : order) {
            ASSERT_EQ(error, "");
            error = each < parts.size() ? load_part(bench_, parts[each]) : load(bench_, rest);
        }
        EXPECT_EQ(error, kMissing);
        EXPECT_TRUE(save(bench_) == fresh);
    };
    const size_t state = parts.size();
    refused({1});
    refused({0, 2});
    refused({0, 1, 1});
    refused({state});
    refused({0, 1, 2, state});
    // From the beginning again, after some that came to nothing.
    ASSERT_EQ(load_part(bench_, parts[0]), "");
    for (const Stream& each : parts) ASSERT_EQ(load_part(bench_, each), "");
    ASSERT_EQ(load(bench_, rest), "");
    EXPECT_EQ(bench_.telemetry().xbars_programmed, 4u);
}

TEST_P(Precopy, NonsenseIsRefused) {
    sidra_chip_precopy_begin(bench_.chip());
    const Stream first = part(bench_, 1 << 30);
    program_row(300);
    const Stream good = part(bench_, 1), whole = save(bench_);
    bench_.replace_chip();
    bench_.set_clock_step(0);
    const Stream fresh = save(bench_);
    const auto refused = [&](Stream stream, const char* why) {
        sign(&stream);
        ASSERT_EQ(load_part(bench_, first), "");
        EXPECT_EQ(load_part(bench_, stream), why);
        EXPECT_TRUE(save(bench_) == fresh);
    };
    const auto chunks = chunks_of(good);
    ASSERT_EQ(std::memcmp(&good[chunks[1].at], "BLNK", 4), 0);
    ASSERT_EQ(std::memcmp(&good[chunks[2].at], "XBAR", 4), 0);
    Stream bad = good;
    const uint32_t far = bench_.crossbars_total();
    std::memcpy(&bad[chunks[1].at + 8], &far, 4);
    refused(bad, "saved state: bad crossbar");
    bad = good;
    std::memcpy(&bad[chunks[2].at + 8], &far, 4);
    refused(bad, "saved state: bad crossbar");
    // The crossbar twice, without the word that what came of it counts no more.
    bad = good;
    bad.insert(bad.begin() + static_cast<ptrdiff_t>(chunks[2].at + 8 + chunks[2].bytes), &good[chunks[2].at],
               &good[chunks[2].at] + 8 + chunks[2].bytes);
    refused(bad, "saved state: bad crossbar");
    bad = good;
    std::memcpy(&bad[chunks[2].at], "NVM ", 4);
    refused(bad, "saved state: something else among the cells");
    refused(whole, "not the saved state of a sidra chip");
    for (size_t at = 0; at < good.size(); at += good.size() / 40) {
        bad = good;
        bad[at] ^= 0x10;
        ASSERT_EQ(load_part(bench_, first), "");
        EXPECT_NE(load_part(bench_, bad), "") << at;
    }
    for (size_t end = 0; end < good.size(); end += good.size() / 40) {
        ASSERT_EQ(load_part(bench_, first), "");
        EXPECT_NE(load_part(bench_, Stream(good.begin(), good.begin() + static_cast<ptrdiff_t>(end))), "") << end;
    }
    EXPECT_TRUE(save(bench_) == fresh);
}

// The file has the cells that it had until the whole state has come.
TEST_P(Precopy, AStateFileIsReplacedAtTheEnd) {
    const Folder folder;
    sidra_chip_precopy_begin(bench_.chip());
    const std::vector<Stream> parts = all_parts(1);
    const Stream rest = save(bench_);
    const BenchOptions options{.level = GetParam(), .state_file = folder.path("state")};
    const auto programmed = [&] { return Bench(options).telemetry().xbars_programmed; };
    {
        Bench there(options);
        Context& context = there.context();
        const uint32_t one = context.weights({.rows = 8, .cols = 8});
        Queue& queue = context.queue();
        queue.submit(program(one, 0, 8, 0, 8, context.put(counted(64, 3)), 8));
        there.run();
        ASSERT_TRUE(retired(queue));
        ASSERT_EQ(load_part(there, parts[0]), "");
    }  // ends before the rest has come
    EXPECT_EQ(programmed(), 1u);
    {
        Bench there(options);
        ASSERT_EQ(load_part(there, parts[0]), "");
        sidra_chip_precopy_end(there.chip());
        EXPECT_EQ(there.telemetry().xbars_programmed, 1u) << "given up: as the file has it";
        for (const Stream& each : parts) ASSERT_EQ(load_part(there, each), "");
        ASSERT_EQ(load(there, rest), "");
    }
    EXPECT_EQ(programmed(), 4u);
}

}  // namespace
}  // namespace sidra::chip_test
