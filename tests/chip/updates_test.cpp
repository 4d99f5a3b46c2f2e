// SPDX-License-Identifier: MIT
// PROGRAMs of several tiles on a chip whose state file ends in the middle of them: nothing computes with an object of
// which some tiles are new and others old.
#include "updates.h"

#include <algorithm>
#include <map>
#include <optional>

#include "bench.h"
#include "chunks.h"
#include "folder.h"
#include "packets.h"
#include "state_file.h"
#include "stream.h"

namespace sidra::chip_test {
namespace {

using chip::kUpdate;
using chip::Record;
using chip::SavedUpdate;
using chip::StateFile;
using chip::Update;

constexpr uint64_t kUid = 77;
constexpr uint32_t kRows = 300, kCols = 300;  // two tiles by two

std::vector<int8_t> all_of(int8_t value, uint32_t rows = kRows) { return std::vector<int8_t>(rows * kCols, value); }

// The object on a chip with the file.
struct Rig {
    explicit Rig(const std::string& file)
        : bench({.state_file = file}),
          weights(context.weights({.rows = kRows, .cols = kCols, .uid = kUid, .crossbars = {0, 1, 2, 3}})),
          in(context.put(std::vector<uint8_t>(kRows, 1))),
          buffer(context.alloc(kRows * kCols)),
          out(context.alloc(kCols * 4)) {}
    void program(int8_t value, uint32_t row = 0, uint32_t rows = kRows) {
        Queue& queue = context.queue();
        queue.submit(chip_test::program(weights, row, rows, 0, kCols, context.put(all_of(value, rows)), kCols));
        bench.run();
        ASSERT_TRUE(retired(queue));
    }
    // The contents of the object; nullopt while it counts as unprogrammed for every reader.
    std::optional<std::vector<int8_t>> content() {
        Queue& reads = context.queue();
        reads.submit(readback(weights, 0, kRows, 0, kCols, buffer, kCols));
        bench.run();
        const bool there = retired(reads);
        if (!there) EXPECT_EQ(reads.state().fault.cause, SIDRA_FAULT_UNPROGRAMMED);
        Queue& computes = context.queue();
        computes.submit(
            mvm(static_cast<uint16_t>(weights), SIDRA_TYPE_U8, SIDRA_TYPE_S32, 1, in, kRows, out, kCols * 4));
        bench.run();
        EXPECT_EQ(retired(computes), there);
        if (!there) EXPECT_EQ(computes.state().fault.cause, SIDRA_FAULT_UNPROGRAMMED);
        for (const sidra_hw_xbar& xbar : bench.xbars(0, 4)) EXPECT_EQ(xbar.programmed_rows != 0, there);
        if (!there) return {};
        return context.get<int8_t>(buffer, kRows * kCols);
    }

    Bench bench;
    Context& context = bench.context(32);
    uint32_t weights;
    uint64_t in, buffer, out;
};

class Updates : public testing::Test {
   protected:
    using Step = std::function<void(Rig&)>;
    // The file after the first step, and after the second one.
    void take(const Step& before, const Step& update) {
        {
            Rig rig(path_);
            before(rig);
        }
        before_ = read_file(path_).size();
        {
            Rig rig(path_);
            update(rig);
        }
        after_ = read_file(path_);
        ASSERT_GT(after_.size(), before_);
    }
    // The file of a process that was killed when it had written this many bytes.
    void cut(size_t bytes) { write_file(path_, {after_.begin(), after_.begin() + static_cast<ptrdiff_t>(bytes)}); }
    // At each place where a record of the second step may end.
    void at_each_cut(const std::function<void(size_t)>& look) {
        for (size_t at = before_; at < after_.size(); at += 64 * kStep) {
            // Within the levels of a tile one place is as good as another.
            if ((at - before_) % 4096 > 512 && at + 512 < after_.size()) continue;
            SCOPED_TRACE(at);
            look(at);
        }
        look(after_.size());
    }

    Folder folder_;
    const std::string path_ = folder_.path("state");
    size_t before_ = 0;
    std::vector<uint8_t> after_;
};

TEST_F(Updates, AreOldOrNewOrNoticed) {
    take([](Rig& rig) { rig.program(1); }, [](Rig& rig) { rig.program(2); });
    unsigned old = 0, fresh = 0, torn = 0;
    at_each_cut([&](size_t at) {
        cut(at);
        {
            Rig rig(path_);
            const auto content = rig.content();
            const auto reports = rig.bench.reports();
            const bool told = std::any_of(reports.begin(), reports.end(), [](const std::string& line) {
                return line.find("1 update(s) of weights were interrupted") != std::string::npos;
            });
            EXPECT_EQ(told, !content);
            old += content == all_of(1);
            fresh += content == all_of(2);
            torn += !content;
            EXPECT_TRUE(!content || content == all_of(1) || content == all_of(2)) << "a mixture";
            if (content) return;
            // Neither the missing half nor any other part completes the object.
            rig.program(3, 0, 256);
            EXPECT_FALSE(rig.content());
        }
        Rig rig(path_);
        EXPECT_FALSE(rig.content()) << "still, at the next start";
        rig.program(4);
        EXPECT_EQ(rig.content(), all_of(4));
        rig.bench.replace_chip();
        rig.bench.enable();
        EXPECT_EQ(rig.content(), all_of(4)) << "for good";
        rig.bench.reports();
    });
    EXPECT_GT(old, 0u);
    EXPECT_GT(fresh, 0u);
    EXPECT_GT(torn, 4u);
}

// Repeating the interrupted part is enough, and no more than that is required.
TEST_F(Updates, APartIsMendedByThatPart) {
    take([](Rig& rig) { rig.program(1); }, [](Rig& rig) { rig.program(2, 100, 50); });
    auto expected = all_of(1);
    std::fill_n(expected.begin() + 100 * kCols, 50 * kCols, int8_t{2});
    unsigned torn = 0;
    at_each_cut([&](size_t at) {
        cut(at);
        Rig rig(path_);
        const auto content = rig.content();
        rig.bench.reports();
        EXPECT_TRUE(!content || content == all_of(1) || content == expected);
        if (content) return;
        torn++;
        rig.program(2, 100, 50);
        EXPECT_EQ(rig.content(), expected);
    });
    EXPECT_GT(torn, 0u);
}

// A driver that ends an update on a running chip knows about it; one that starts after a power-off does not.
TEST_F(Updates, EndedByAResetAreNoticedByTheNextStart) {
    {
        Rig rig(path_);
        rig.program(1);
        Queue& queue = rig.context.queue();
        const uint64_t nowhere = rig.context.put(all_of(2, 256));  // ends before the rows of the lower tiles
        queue.submit(chip_test::program(rig.weights, 0, kRows, 0, kCols, nowhere, kCols));
        rig.bench.run();
        ASSERT_FALSE(retired(queue)) << "it faults when it comes to memory that is not there";
        rig.bench.drop_violation_checks();
        EXPECT_TRUE(rig.content()) << "here it is as the fault left it";
    }
    Rig rig(path_);
    EXPECT_FALSE(rig.content());
    rig.bench.reports();
    rig.program(3);
    EXPECT_EQ(rig.content(), all_of(3));
}

// However many PROGRAMs of an object fault or are reset, it is remembered that there were some, and in little space.
TEST_F(Updates, EndedByThousandsOfFaultsTakeLittleSpace) {
    constexpr uint64_t kNowhere = uint64_t{1} << 38;
    uint64_t bytes;
    {
        Rig rig(path_);
        rig.program(1);
    }
    bytes = read_file(path_).size();
    {
        Rig rig(path_);
        Queue& queue = rig.context.queue();
        for (uint32_t i = 0; i < 10'000; i++) {  // none contains another one
            queue.submit(chip_test::program(rig.weights, i / 40, 1, i % 40, 257, kNowhere, 257));
            rig.bench.run();
            ASSERT_EQ(queue.state().fault.cause, SIDRA_FAULT_TRANSLATION);
            queue.reset();
        }
        EXPECT_EQ(rig.content(), all_of(1)) << "here it is known";
    }
    {
        Rig rig(path_);
        unsigned updates = 0;
        for (const std::string& line : rig.bench.reports())
            if (const size_t at = line.find(" update(s)"); at != std::string::npos)
                updates = static_cast<unsigned>(std::stoul(line.substr(line.rfind(' ', at - 1) + 1)));
        EXPECT_GT(updates, 0u);
        EXPECT_LE(updates, 64u);
        EXPECT_FALSE(rig.content());
        rig.program(2);
        EXPECT_EQ(rig.content(), all_of(2));
        rig.bench.reports();
    }
    EXPECT_LT(read_file(path_).size(), bytes + (512u << 10));
}

// The updates of a file, without a chip. Objects 1 to 3 have crossbars.
struct Alone {
    explicit Alone(const std::string& path) : file(path, [](const std::string&) {}) {
        if (file.empty()) file.replace([](const StateFile::Put&) {});
        for (const auto& [number, saved] : of_file()) EXPECT_TRUE(updates.load(saved));
        updates.cut_short();
        file.settle();
        updates.keep_in(&file);
    }
    std::map<uint64_t, SavedUpdate> of_file() const {
        std::map<uint64_t, SavedUpdate> found;
        file.replay([&](uint32_t, const std::vector<uint8_t>& payload) {
            SavedUpdate saved;
            ASSERT_EQ(payload.size(), sizeof saved);
            std::memcpy(&saved, payload.data(), sizeof saved);
            found[saved.number] = saved;
        });
        return found;
    }
    // Those that it has in memory and in the file, which must be the same ones.
    std::vector<SavedUpdate> all() const {
        std::vector<SavedUpdate> found;
        auto left = of_file();
        updates.save([&](const Record& record) {
            SavedUpdate saved;
            std::memcpy(&saved, record.payload.data(), sizeof saved);
            EXPECT_EQ(left.erase(saved.number), 1u);
            found.push_back(saved);
        });
        EXPECT_TRUE(left.empty());
        return found;
    }
    std::vector<SavedUpdate> all_of(uint64_t uid) const {
        auto found = all();
        std::erase_if(found, [uid](const SavedUpdate& saved) { return saved.update.uid != uid; });
        return found;
    }

    StateFile file;
    chip::Updates updates{[] { return std::vector<uint64_t>{1, 2, 2, 3}; }};
};

TEST_F(Updates, OfManyObjectsAreFew) {
    Alone alone(path_);
    constexpr uint64_t kObjects = 3 * chip::Updates::kMax;
    for (uint32_t row : {0u, 700u}) ASSERT_TRUE(alone.updates.begin({2, row, 300, 5, 300}));
    for (uint64_t uid = 4; uid < kObjects; uid++) ASSERT_TRUE(alone.updates.begin({uid, 0, 300, 0, 300}));
    EXPECT_LE(alone.all().size(), chip::Updates::kMax);
    const auto there = alone.all_of(2);
    ASSERT_EQ(there.size(), 1u);
    EXPECT_EQ(there[0].update.row0, 0u);
    EXPECT_EQ(there[0].update.rows, 1000u);
    EXPECT_EQ(there[0].update.col0, 5u);
    EXPECT_EQ(there[0].update.cols, 300u);
    EXPECT_EQ(alone.all_of(kObjects - 1).size(), 1u) << "its first tile may be next";
    EXPECT_EQ(alone.updates.torn_count(), 0u);
}

// As many as a file may have of an earlier version.
TEST_F(Updates, OfAnObjectAreJoinedWhenTheyAreMany) {
    {
        Alone alone(path_);
        std::vector<SavedUpdate> saved;
        for (uint32_t i = 0; i < 1000; i++) saved.push_back({i, {1, i, 300, 1000 - i, 300}, 0, 0});
        for (const SavedUpdate& each : saved) {
            const Record record{kUpdate, each.number, {reinterpret_cast<const uint8_t*>(&each), sizeof each}, {}};
            ASSERT_TRUE(alone.file.append({&record, 1}));
        }
    }
    Alone alone(path_);
    EXPECT_EQ(alone.updates.torn_count(), 1000u);
    EXPECT_TRUE(alone.updates.torn(1));
    EXPECT_FALSE(alone.updates.torn(2));
    ASSERT_TRUE(alone.updates.begin({1, 2000, 300, 0, 300}));
    const auto joined = alone.all();
    ASSERT_EQ(joined.size(), 1u);
    EXPECT_EQ(joined[0].update.row0 + joined[0].update.rows, 2300u);
    EXPECT_EQ(joined[0].update.col0 + joined[0].update.cols, 1300u);
    EXPECT_EQ(joined[0].cut, 1u);
    ASSERT_TRUE(alone.updates.end({1, 2000, 300, 0, 300}));
    EXPECT_TRUE(alone.updates.torn(1)) << "it has overwritten the last part only";
    ASSERT_TRUE(alone.updates.begin({1, 0, 2300, 0, 1300}));
    EXPECT_TRUE(alone.updates.torn(1));
    ASSERT_TRUE(alone.updates.end({1, 0, 2300, 0, 1300}));
    EXPECT_FALSE(alone.updates.torn(1));
    EXPECT_TRUE(alone.all().empty());
}

TEST_F(Updates, OfASavedChipAreMendedWithoutAFileToo) {
    const Update update{1, 0, 300, 0, 300};
    chip::Updates updates{[] { return std::vector<uint64_t>{1}; }};
    ASSERT_TRUE(updates.load({0, update, 1, 0}));
    EXPECT_TRUE(updates.torn(1));
    ASSERT_TRUE(updates.begin(update));
    EXPECT_TRUE(updates.torn(1));
    ASSERT_TRUE(updates.end(update));
    EXPECT_FALSE(updates.torn(1));
}

TEST_F(Updates, OfObjectsThatAreGoneLeaveTheFile) {
    {
        Alone alone(path_);
        for (const uint64_t uid : {1, 9, 3}) ASSERT_TRUE(alone.updates.begin({uid, 0, 300, 0, 300}));
    }
    Alone alone(path_);
    EXPECT_EQ(alone.updates.torn_count(), 2u);
    EXPECT_EQ(alone.of_file().size(), 3u) << "opening it does not change it";
    ASSERT_TRUE(alone.updates.begin({2, 0, 300, 0, 300}));
    EXPECT_EQ(alone.all().size(), 3u);
    EXPECT_TRUE(alone.all_of(9).empty());
}

// Interrupted updates are part of a saved machine, too.
TEST_F(Updates, AreSavedWithTheChip) {
    take([](Rig& rig) { rig.program(1); }, [](Rig& rig) { rig.program(2); });
    cut(before_ + (after_.size() - before_) / 2);
    {
        Rig rig(path_);
        EXPECT_FALSE(rig.content());
        const Stream saved = save(rig.bench);
        rig.program(3);
        EXPECT_EQ(rig.content(), all_of(3));
        EXPECT_EQ(load(rig.bench, saved), "");
        EXPECT_FALSE(rig.content());
        rig.bench.reports();
    }
    Rig rig(path_);
    EXPECT_FALSE(rig.content()) << "the file has it from the machine";
    rig.bench.reports();
}

}  // namespace
}  // namespace sidra::chip_test
