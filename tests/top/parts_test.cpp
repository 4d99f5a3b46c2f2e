// SPDX-License-Identifier: MIT
// The parts of the screen, each alone.
#include <gtest/gtest.h>

#include <limits>

#include "common/units.h"
#include "draw.h"
#include "graph.h"
#include "heat.h"
#include "processes.h"
#include "units.h"

namespace sidra::top {
namespace {

TEST(Grid, NothingIsDrawnOutside) {
    Grid grid(4, 2);
    grid.text(-2, 0, "abcdef", Style::kPlain);
    grid.text(2, 1, "xyz", Style::kPlain);
    grid.text(0, 2, "below", Style::kPlain);
    grid.text(0, -1, "above", Style::kPlain);
    grid.bar(7, Style::kBar);
    EXPECT_EQ(rows_of(grid), (std::vector<std::string>{"cdef", "  xy"}));
}

TEST(Grid, WhatATerminalMightObeyIsNotDrawn) {
    Grid grid(12, 1);
    EXPECT_EQ(grid.text(0, 0, "a\x1b[2Jb\n\x7f\xc3\xa4", Style::kPlain), 10);
    EXPECT_EQ(grid.row(0), "a?[2Jb????");
}

TEST(Grid, HasNoSizeBelowNothing) {
    Grid grid(-3, 5);
    grid.put(0, 0, U'x', Style::kPlain);
    EXPECT_EQ(grid.width(), 0);
}

TEST(History, KeepsTheNewestAndTheirGaps) {
    History history;
    EXPECT_EQ(history.at(0), std::nullopt);
    push(history, {1.0, std::nullopt, 3.0});
    EXPECT_EQ(history.at(0), 3.0);
    EXPECT_EQ(history.at(1), std::nullopt);
    EXPECT_EQ(history.at(2), 1.0);
    EXPECT_EQ(history.at(3), std::nullopt);
    for (size_t i = 0; i < History::kCapacity; ++i) history.push(static_cast<double>(i));
    EXPECT_EQ(history.size(), History::kCapacity);
    EXPECT_EQ(history.at(History::kCapacity - 1), 0.0);
    EXPECT_EQ(history.at(History::kCapacity), std::nullopt);
}

TEST(History, LargestOfTheNewestOnly) {
    History history;
    push(history, {9.0, 4.0, std::nullopt, 2.0});
    EXPECT_EQ(history.largest(3), 4.0);
    EXPECT_EQ(history.largest(100), 9.0);
    EXPECT_EQ(History().largest(3), 0.0);
}

TEST(History, WhatIsNoNumberIsAbsent) {
    History history;
    push(history, {std::numeric_limits<double>::quiet_NaN(), std::numeric_limits<double>::infinity()});
    EXPECT_EQ(history.at(0), std::nullopt);
    EXPECT_EQ(history.at(1), std::nullopt);
    EXPECT_EQ(history.size(), 2U);
}

TEST(Units, ThreeDigitsAndAPrefix) {
    EXPECT_EQ(tools::scaled(0.0, "B"), "0 B");
    EXPECT_EQ(tools::scaled(999.0, "B"), "999 B");
    EXPECT_EQ(tools::scaled(999.6, "B/s"), "1.00 kB/s");
    EXPECT_EQ(tools::scaled(1234.0, "B"), "1.23 kB");
    EXPECT_EQ(tools::scaled(12345678.0, "B"), "12.3 MB");
    EXPECT_EQ(tools::scaled(999500.0, "B"), "1.00 MB");
    EXPECT_EQ(tools::scaled(99960.0, "B"), "100 kB");
    EXPECT_EQ(tools::scaled(0.25, "/s"), "0.25 /s");
    EXPECT_EQ(tools::scaled(1e30, "B"), "1000000000000 EB");
    EXPECT_EQ(tools::scaled(std::nullopt, "B"), "-");
    EXPECT_EQ(tools::scaled(std::numeric_limits<double>::quiet_NaN(), "B"), "-");
    EXPECT_EQ(tools::scaled(55417715.0, "s", -3), "55.4 ms");
    EXPECT_EQ(tools::scaled(42.0, "s", -3), "42 ns");
    EXPECT_EQ(tools::scaled(2.5e15, "J", -4), "2.50 kJ");
    EXPECT_EQ(fixed(61.25, 1, "C"), "61.2 C");
    EXPECT_EQ(fixed(std::nullopt, 1, "C"), "-");
}

TEST(Units, SizesOfMemory) {
    using tools::bytes_text;
    EXPECT_EQ(bytes_text(std::nullopt), "-");
    EXPECT_EQ(bytes_text(0), "0B");
    EXPECT_EQ(bytes_text(999), "999B");
    EXPECT_EQ(bytes_text(1000), "1.0K");
    EXPECT_EQ(bytes_text(1024), "1.0K");
    EXPECT_EQ(bytes_text(1536), "1.5K");
    EXPECT_EQ(bytes_text(64 << 10), "64K");
    EXPECT_EQ(bytes_text(999 << 10), "999K");
    EXPECT_EQ(bytes_text((1000 << 10) - 512), "1.0M") << "never five characters";
    EXPECT_EQ(bytes_text(16 << 20), "16M");
    EXPECT_EQ(bytes_text(uint64_t{3} << 30), "3.0G");
    EXPECT_EQ(bytes_text(UINT64_MAX), "16E");
}

TEST(Units, TopsOfGraphs) {
    const double of[][2] = {{0, 1}, {1, 1}, {1.1, 2}, {2.5, 5}, {7, 10}, {10, 10}, {1.5e9, 2e9}, {-4, 1}};
    for (const auto& [value, top] : of) EXPECT_DOUBLE_EQ(round_up(value), top) << value;
    EXPECT_DOUBLE_EQ(round_up(std::numeric_limits<double>::quiet_NaN()), 1);
}

TEST(Graph, ColumnsOfEighths) {
    History history;
    push(history, {0.0, 12.5, 50.0, 100.0, 150.0});
    Grid grid(6, 2);
    draw_graph(grid, {0, 0, 6, 2}, history, {100, {}, {}}, true);
    // 0 and 12.5 % of 16 steps: a mark, and two; nothing in the oldest column.
    EXPECT_EQ(rows_of(grid), (std::vector<std::string>{"    ██", " ▁▂███"}));
}

TEST(Graph, WithoutUnicode) {
    History history;
    push(history, {0.0, 50.0, 75.0, std::nullopt, 100.0});
    Grid grid(5, 2);
    draw_graph(grid, {0, 0, 5, 2}, history, {100, {}, {}}, false);
    EXPECT_EQ(rows_of(grid), (std::vector<std::string>{"  : #", ".## #"}));
}

TEST(Graph, LimitsAreLinesAndStyles) {
    History history;
    push(history, {10.0, 60.0, 95.0});
    Grid grid(4, 4);
    draw_graph(grid, {0, 0, 4, 4}, history, {100, 50.0, 90.0}, false);
    EXPECT_EQ(grid.row(0), "---:");
    EXPECT_EQ(grid.row(1), "--.#");
    EXPECT_EQ(grid.at(0, 1).style, Style::kDim);
    EXPECT_EQ(grid.at(1, 3).style, Style::kGood);
    EXPECT_EQ(grid.at(2, 3).style, Style::kWarning);
    EXPECT_EQ(grid.at(3, 3).style, Style::kCritical);
}

TEST(Graph, StaysInItsPlace) {
    History history;
    for (int i = 0; i < 100; ++i) history.push(100);
    Grid grid(5, 3);
    draw_graph(grid, {1, 1, 3, 1}, history, {100, {}, {}}, false);
    EXPECT_EQ(rows_of(grid), (std::vector<std::string>{"", " ###", ""}));
    draw_graph(grid, {0, 0, 0, 3}, history, {100, {}, {}}, false);
    draw_graph(grid, {0, 0, 5, 3}, history, {0, {}, {}}, false);
    EXPECT_EQ(grid.row(0), "");
}

TEST(Heat, EachClusterARow) {
    const Chip chip = whole_chip();
    const HeatMap map = reduce(chip.crossbars, chip.geometry, HeatKey::kUse, 16, 4);
    ASSERT_EQ(map.rows.size(), 2U);
    EXPECT_STREQ(map.row_is, "cluster");
    EXPECT_EQ(map.group, 1U);
    EXPECT_EQ(map.rows[0].size(), 16U);
    EXPECT_EQ(map.rows[0][0], 1.0);
    EXPECT_EQ(map.rows[0][9], 0.5);
    EXPECT_EQ(map.rows[1][15], 1.0 / 16);
}

TEST(Heat, EachUnitARowWhereThereIsRoom) {
    const Chip chip = whole_chip();
    const HeatMap map = reduce(chip.crossbars, chip.geometry, HeatKey::kWear, 16, 8);
    ASSERT_EQ(map.rows.size(), 8U);
    EXPECT_STREQ(map.row_is, "CU");
    EXPECT_EQ(map.rows[2][1], 1.0);
    EXPECT_EQ(map.most, 7);
}

TEST(Heat, MeanOfUseAndWorstOfWear) {
    const Chip chip = whole_chip();
    const HeatMap use = reduce(chip.crossbars, chip.geometry, HeatKey::kUse, 3, 1);
    ASSERT_EQ(use.rows.size(), 1U);
    EXPECT_STREQ(use.row_is, "cluster");
    EXPECT_EQ(use.clusters_a_row, 2U);
    EXPECT_EQ(use.group, 11U);
    EXPECT_EQ(use.rows[0], (std::vector<double>{384.0 / 256 / 11, 0, 16.0 / 256 / 10}));
    const HeatMap bad = reduce(chip.crossbars, chip.geometry, HeatKey::kBad, 3, 1);
    EXPECT_EQ(bad.rows[0], (std::vector<double>{0.4, 0, 1}));
}

TEST(Heat, SizesOfTheWholeChip) {
    const Geometry y1 = {16, 25, 16};
    const std::vector<Crossbar> crossbars(y1.count());
    for (int width = 1; width < 450; width += 7)
        for (int height = 1; height < 40; ++height) {
            const HeatMap map = reduce(crossbars, y1, HeatKey::kUse, width, height);
            ASSERT_LE(map.rows.size(), static_cast<size_t>(height));
            for (const auto& row : map.rows) ASSERT_LE(row.size(), static_cast<size_t>(width));
        }
}

TEST(Heat, NoMapOfWhatIsNotThere) {
    const Chip chip = whole_chip();
    EXPECT_TRUE(reduce({}, chip.geometry, HeatKey::kUse, 10, 10).rows.empty());
    EXPECT_TRUE(reduce(chip.crossbars, chip.geometry, HeatKey::kUse, 0, 10).rows.empty());
    EXPECT_TRUE(reduce(chip.crossbars, chip.geometry, HeatKey::kUse, 10, -1).rows.empty());
    // A geometry that does not belong to them.
    EXPECT_TRUE(reduce(chip.crossbars, {2, 4, 5}, HeatKey::kUse, 10, 10).rows.empty());
    EXPECT_TRUE(reduce(chip.crossbars, {0, 4, 5}, HeatKey::kUse, 10, 10).rows.empty());
}

TEST(Heat, ALittleIsNotNothing) {
    HeatMap map;
    map.rows = {{0, 0.001, 0.25, 0.5, 1}};
    Grid grid(5, 2);
    draw_heat(grid, 0, 0, map, HeatKey::kWear, true);
    draw_heat(grid, 0, 1, map, HeatKey::kWear, false);
    EXPECT_EQ(grid.row(0), "·░░▒█");
    EXPECT_EQ(grid.row(1), ".-=*@");
}

std::vector<int32_t> pids(const std::vector<const Process*>& order) {
    std::vector<int32_t> found;
    for (const Process* one : order) found.push_back(one->pid);
    return found;
}

TEST(Processes, Sorted) {
    const std::vector<Process> all = {{3, "u", "c", {10.0, 0.0, 0.0, 0.0}, 50.0},
                                      {1, "u", "b", {5.0, 10.0, 0.0, 0.0}, {}},
                                      {2, "u", "a", {}, 70.0},
                                      {4, "u", "a", {5.0, 10.0, 0.0, 0.0}, 60.0}};
    EXPECT_EQ(pids(sorted(all, Sort::kUse, false)), (std::vector<int32_t>{1, 4, 3, 2}));
    EXPECT_EQ(pids(sorted(all, Sort::kUse, true)), (std::vector<int32_t>{3, 1, 4, 2}));
    EXPECT_EQ(pids(sorted(all, Sort::kMemory, false)), (std::vector<int32_t>{2, 4, 3, 1}));
    EXPECT_EQ(pids(sorted(all, Sort::kMemory, true)), (std::vector<int32_t>{3, 4, 2, 1}));
    EXPECT_EQ(pids(sorted(all, Sort::kPid, false)), (std::vector<int32_t>{1, 2, 3, 4}));
    EXPECT_EQ(pids(sorted(all, Sort::kPid, true)), (std::vector<int32_t>{4, 3, 2, 1}));
    EXPECT_EQ(pids(sorted(all, Sort::kName, false)), (std::vector<int32_t>{2, 4, 1, 3}));
}

}  // namespace
}  // namespace sidra::top
