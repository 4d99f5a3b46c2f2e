// SPDX-License-Identifier: MIT
// The layout of the whole screen, at every size.
#include "screen.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <sstream>

#include "draw.h"
#include "keys.h"
#include "layout.h"

namespace sidra::top {
namespace {

std::string text_of(const Grid& grid) {
    std::string text;
    for (const std::string& row : rows_of(grid)) text += row + '\n';
    return text;
}
std::string screen(int width, int height, const Choice& choice = {}, const std::vector<Chip>& chips = {whole_chip()}) {
    return text_of(draw(chips, choice, width, height, false));
}
#define EXPECT_SAYS(text, part) \
    EXPECT_NE((text).find(part), std::string::npos) << "no '" << (part) << "' in\n" << (text)
#define EXPECT_SILENT(text, part) EXPECT_EQ((text).find(part), std::string::npos) << "'" << (part) << "' in\n" << (text)

TEST(Layout, NothingOverlapsOrLeavesTheScreen) {
    for (const auto& [chips, whole] : {std::pair<size_t, bool>(1, false), {3, false}, {3, true}})
        for (int width = 0; width <= 220; width += width < 140 ? 1 : 9)
            for (int height = 0; height <= 70; ++height) {
                const Layout layout = lay_out(width, height, chips, whole);
                std::vector<Rect> all = {layout.header, layout.overview,  layout.info,
                                         layout.heat,   layout.processes, layout.footer};
                all.insert(all.end(), layout.panels.begin(), layout.panels.end());
                all.insert(all.end(), layout.lines.begin(), layout.lines.end());
                std::vector<bool> taken(static_cast<size_t>(width) * static_cast<size_t>(height));
                for (const Rect& one : all)
                    for (int y = one.y; y < one.y + one.height && !one.empty(); ++y)
                        for (int x = one.x; x < one.x + one.width; ++x) {
                            ASSERT_TRUE(x >= 0 && y >= 0 && x < width && y < height) << width << "x" << height;
                            auto cell =
                                taken[static_cast<size_t>(y) * static_cast<size_t>(width) + static_cast<size_t>(x)];
                            ASSERT_FALSE(cell) << width << "x" << height << " at " << x << "," << y;
                            cell = true;
                        }
            }
}

TEST(Layout, AllOfItFrom80x24) {
    for (const auto& [width, height] : {std::pair(80, 24), {100, 30}, {132, 43}, {200, 50}}) {
        const Layout layout = lay_out(width, height, 3, false);
        EXPECT_EQ(layout.overview.height, 4) << "all three of them";
        EXPECT_EQ(layout.info.height, 1);
        for (const Rect& panel : layout.panels) {
            EXPECT_GE(panel.width, 18);
            EXPECT_GE(panel.height, 3);
        }
        EXPECT_GE(layout.heat.height, 4);
        EXPECT_GE(layout.processes.height, 4);
        EXPECT_EQ(layout.footer.height, 1);
    }
}

TEST(Screen, WholeAt80x24) {
    const std::string text = screen(80, 24);
    for (const char* part : {"sidra0 ready  0000:01:00.0",
                             "every 1 s",
                             "Busy 45 %   Clock 800 of 1000 MHz   L3 4.0M of 16M   Firmware 1.2.3   Queues 2",
                             "MVM           41 %",
                             "Vector",
                             "12 %",
                             "Copy",
                             "7 %",
                             "Program",
                             "3 %",
                             "22.5 of 75 W",
                             "Temp    61/95/105 C",
                             "1.50 GB/s",
                             "25.0 k/s",
                             "Crossbars: use   3 of 32 programmed",
                             "shade = rows used, 0 .-=+*%#@ 256; 1 line = 1 cluster, 1 character = 1 crossbar",
                             "Processes: 2, by use",
                             "    100 ann         41     2     0     0     1.9M  alpha",
                             "    200 bob          -     -     -     -        -  beta",
                             "q quit",
                             "h help",
                             "Tab chip",
                             "a all",
                             "m map",
                             "s sort",
                             "r order",
                             "Space pause",
                             "+/- speed"})
        EXPECT_SAYS(text, part);
}

TEST(Screen, TheMapStandsWhereTheCrossbarsAre) {
    const Grid grid = draw({whole_chip()}, {}, 80, 24, false);
    const Layout layout = lay_out(80, 24, 1, false);
    EXPECT_EQ(grid.row(layout.heat.y + 1), "@........*......");
    EXPECT_EQ(grid.row(layout.heat.y + 2), "...............-");
    Choice choice;
    choice.heat = HeatKey::kBad;
    EXPECT_EQ(draw({whole_chip()}, choice, 80, 24, false).row(layout.heat.y + 1), ".........+......");
}

TEST(Screen, SaysSomethingAt20x5) {
    const std::string text = screen(20, 5);
    for (const char* part : {"sidra0 ready", "MVM   41 %", "Power 22.5 of 75 W", "Temp  61/95/105 C", "q quit  h help"})
        EXPECT_SAYS(text, part);
}

TEST(Screen, AnySizeAndAnyData) {
    Chip empty, hostile = whole_chip();
    hostile.name = std::string(300, 'n');
    hostile.state = "\x1b]0;x\x07";
    hostile.temperature_max = -1e300;
    hostile.temperature_critical = 0;
    hostile.power_limit = 1e-300;
    hostile.geometry = {UINT32_MAX, UINT32_MAX, UINT32_MAX};
    for (History& one : hostile.series) one.push(-1e300), one.push(1e300), one.push(0);
    hostile.processes[0].name = std::string(300, '\n');
    hostile.processes[0].memory = UINT64_MAX;
    for (const Chip& chip : {empty, hostile})
        for (int width = 0; width < 210; width += width < 90 ? 1 : 13)
            for (int height = 0; height < 60; ++height)
                for (const bool unicode : {false, true}) {
                    const Grid grid = draw({chip}, {}, width, height, unicode);
                    for (int y = 0; y < height; ++y)
                        for (int x = 0; x < width; ++x) ASSERT_GE(grid.at(x, y).glyph, U' ');
                }
}

TEST(Screen, AbsentIsNotZero) {
    const std::string text = screen(80, 24, {}, {Chip{}});
    EXPECT_SAYS(text, "MVM              -");
    EXPECT_SILENT(text, "0 %");
    EXPECT_SILENT(text, "0 W");
}

TEST(Screen, WhyThereIsNoMapAndNoTable) {
    Chip chip = whole_chip();
    chip.crossbars.clear();
    chip.crossbars_absent = "cannot be read: Permission denied";
    chip.processes_absent = "they cannot be known";
    const std::string text = screen(80, 24, {}, {chip});
    EXPECT_SAYS(text, "cannot be read: Permission denied");
    EXPECT_SAYS(text, "Processes: they cannot be known");
}

TEST(Screen, AChipThatIsGone) {
    Chip chip = whole_chip();
    chip.gone = true;
    const Grid grid = draw({chip}, {}, 80, 24, false);
    EXPECT_EQ(grid.row(0).substr(0, 12), "sidra0 gone ");
    EXPECT_EQ(grid.at(79, 0).style, Style::kCritical);
}

TEST(Screen, LimitsAreMarked) {
    Chip chip = whole_chip();
    chip.series[static_cast<size_t>(Series::kTemperature)].push(96);
    const Grid grid = draw({chip}, {}, 80, 24, false);
    const Rect panel = lay_out(80, 24, 1, false).panels[static_cast<size_t>(Series::kTemperature)];
    EXPECT_EQ(grid.at(panel.x + panel.width - 1, panel.y).style, Style::kWarning);
}

TEST(Screen, HelpHasEveryKey) {
    Choice choice;
    choice.help = true;
    const std::string text = screen(80, 24, choice);
    for (const Help& key : keys()) EXPECT_SAYS(text, key.about);
    EXPECT_SILENT(text, "Crossbars:");
    EXPECT_SAYS(text, "shutdown limit,");
    EXPECT_SAYS(screen(20, 5, choice), "q       quit (also\n        Ctrl-C)\nh       show or\n");
}

// Every word is shown unbroken, also when a line has no room for all of them.
TEST(Screen, HelpIsBrokenBetweenWords) {
    Choice choice;
    choice.help = true;
    for (const int width : {40, 60, 80, 100}) {
        const Grid grid = draw({whole_chip()}, choice, width, 40, false);
        std::string said;
        for (int row = 1; row < 39; ++row) said += grid.row(row) + ' ';
        std::istringstream words(said);
        std::string word, all = " ";
        while (words >> word) all += word + ' ';
        for (const Help& key : keys()) EXPECT_SAYS(all, std::string(" ") + key.about + ' ');
        EXPECT_SAYS(all,
                    " of power its limit, of temperature the shutdown limit, and of the others their highest value. ");
    }
}

TEST(Screen, PausedAndOneOfTwo) {
    Choice choice;
    choice.paused = true;
    choice.chip = 1;
    Chip other = whole_chip();
    other.name = "model 1234-0";
    EXPECT_SAYS(screen(80, 24, choice, {whole_chip(), other}), "#1 of 2  model 1234-0 ready paused");
}

// "0/3" reads as zero of three; and at 20 columns "ready" and "recovery" both were "re".
TEST(Screen, TheStatusCanBeReadAtAnyWidth) {
    Choice choice;
    std::vector<Chip> chips(3, whole_chip());
    for (Chip& chip : chips) chip.name = "model 4194304-0";
    for (const char* state : {"ready", "recovery", "throttled", "no-answer", "stale"}) {
        chips[0].state = state;
        for (int width = 20; width < 80; ++width)
            EXPECT_SAYS(draw(chips, choice, width, 5, false).row(0), state) << "at " << width;
    }
}

TEST(Screen, SeveralChipsAreATable) {
    Choice choice;
    choice.chip = 1;
    std::vector<Chip> chips(3, whole_chip());
    chips[1].name = "sidra1";
    chips[1].state = "throttled";
    chips[2].name = "sidra2";
    chips[2].gone = true;
    const Grid grid = draw(chips, choice, 80, 24, false);
    const std::string text = text_of(grid);
    EXPECT_SAYS(text, "  # CHIP          STATUS        TEMP    POWER    CLOCK   BUSY        L3 FIRMWARE");
    EXPECT_SAYS(text, "  0 sidra0        ready       61.2 C   22.5 W  800 MHz   45 %  4.0M/16M 1.2.3");
    EXPECT_SAYS(text, "  1 sidra1        throttled ");
    EXPECT_SAYS(text, "  2 sidra2        gone ");
    const int selected = lay_out(80, 24, 3, false).overview.y + 2;
    EXPECT_EQ(grid.at(0, selected).style, Style::kBar);
    EXPECT_NE(grid.at(0, selected - 1).style, Style::kBar);
    EXPECT_SILENT(screen(80, 24), "STATUS") << "one chip needs no table";
}

// More chips than rows: the overview shows as many as fit, including the selected one.
TEST(Screen, AllChipsOnOneScreen) {
    Choice choice;
    std::vector<Chip> chips(60, whole_chip());
    for (size_t i = 0; i < chips.size(); ++i) chips[i].name = "sidra" + std::to_string(i);
    press(choice, 'a', chips.size(), 0);
    for (choice.chip = 0; choice.chip < chips.size(); ++choice.chip) {
        const std::string text = screen(80, 24, choice, chips);
        EXPECT_SAYS(text, chips[choice.chip].name + " ");
        EXPECT_SILENT(text, "Crossbars");
        EXPECT_EQ(std::count(text.begin(), text.end(), '\n'), 24);
    }
    chips.resize(20);
    choice.chip = 0;
    const std::string text = screen(80, 24, choice, chips);
    for (const Chip& chip : chips) EXPECT_SAYS(text, " " + chip.name + " ");
    press(choice, 'a', chips.size(), 0);
    EXPECT_SAYS(screen(80, 24, choice, chips), "Crossbars");
}

TEST(Screen, ProcessesScroll) {
    Chip chip = whole_chip();
    chip.processes.clear();
    for (int i = 0; i < 50; ++i) chip.processes.push_back({1000 + i, "u", "p" + std::to_string(i), {}, {}});
    Choice choice;
    choice.sort = Sort::kPid;
    EXPECT_SAYS(screen(80, 24, choice, {chip}), "   1000 u");
    choice.first_process = 49;  // the last page is a whole one
    const std::string text = screen(80, 24, choice, {chip});
    EXPECT_SAYS(text, "   1049 u");
    EXPECT_SAYS(text, "   1048 u");
    EXPECT_SILENT(text, "   1000 u");
}

TEST(Keys, ChooseAChip) {
    Choice choice;
    choice.first_process = 5;
    EXPECT_EQ(press(choice, '\t', 3, 0), Result::kDraw);
    EXPECT_EQ(choice.chip, 1U);
    EXPECT_EQ(choice.first_process, 0U);
    press(choice, kKeyLeft, 3, 0);
    press(choice, kKeyLeft, 3, 0);
    EXPECT_EQ(choice.chip, 2U);
    press(choice, kKeyRight, 3, 0);
    EXPECT_EQ(choice.chip, 0U);
    press(choice, '2', 3, 0);
    EXPECT_EQ(choice.chip, 2U);
    EXPECT_EQ(press(choice, '3', 3, 0), Result::kNothing);
    EXPECT_EQ(choice.chip, 2U);
}

TEST(Keys, CycleAndSwitch) {
    Choice choice;
    for (size_t i = 1; i <= static_cast<size_t>(HeatKey::kCount); ++i) {
        press(choice, 'm', 1, 0);
        EXPECT_EQ(static_cast<size_t>(choice.heat), i % static_cast<size_t>(HeatKey::kCount));
    }
    for (size_t i = 1; i <= static_cast<size_t>(Sort::kCount); ++i) {
        press(choice, 's', 1, 0);
        EXPECT_EQ(static_cast<size_t>(choice.sort), i % static_cast<size_t>(Sort::kCount));
    }
    for (const bool on : {true, false}) {
        press(choice, ' ', 1, 0);
        press(choice, 'h', 1, 0);
        press(choice, 'r', 1, 0);
        EXPECT_EQ(choice.paused, on);
        EXPECT_EQ(choice.help, on);
        EXPECT_EQ(choice.reversed, on);
    }
    EXPECT_EQ(press(choice, 'q', 1, 0), Result::kQuit);
    EXPECT_EQ(press(choice, 'z', 1, 0), Result::kNothing);
    EXPECT_EQ(press(choice, -1, 1, 0), Result::kNothing);
}

TEST(Keys, SpeedHasEnds) {
    Choice choice;
    for (int i = 0; i < 20; ++i) press(choice, '+', 1, 0);
    EXPECT_EQ(kIntervals[choice.interval], 0.1);
    for (int i = 0; i < 20; ++i) press(choice, '-', 1, 0);
    EXPECT_EQ(kIntervals[choice.interval], 60);
}

TEST(Keys, ScrollHasEnds) {
    Choice choice;
    press(choice, kKeyUp, 1, 30);
    EXPECT_EQ(choice.first_process, 0U);
    press(choice, kKeyPageDown, 1, 30);
    press(choice, kKeyDown, 1, 30);
    EXPECT_EQ(choice.first_process, 11U);
    press(choice, kKeyPageDown, 1, 12);  // most processes have ended
    EXPECT_EQ(choice.first_process, 11U);
    press(choice, kKeyPageUp, 1, 12);
    EXPECT_EQ(choice.first_process, 1U);
    press(choice, kKeyPageUp, 1, 0);
    EXPECT_EQ(choice.first_process, 0U);
}

}  // namespace
}  // namespace sidra::top
