// SPDX-License-Identifier: MIT
#include "keys.h"

#include <algorithm>

namespace sidra::top {
namespace {

constexpr size_t kPage = 10;
constexpr Help kKeys[] = {
    {"q", "quit", "quit (also Ctrl-C)"},
    {"h", "help", "show or leave this help"},
    {"Tab", "chip", "select the next chip (also Left and Right; 0 to 9: by number)"},
    {"a", "all", "show all chips, or the selected one"},
    {"m", "map", "select what the map of crossbars shows: use, wear, stuck cells"},
    {"s", "sort", "select the sort key of processes: use, memory, PID, name"},
    {"r", "order", "reverse the sort order"},
    {"Space", "pause", "pause or continue reading"},
    {"+/-", "speed", "read more or less often"},
    {"Up/Down", "scroll", "scroll the processes (also PageUp, PageDown)"},
};

template <typename Enum>
Enum next(Enum value) {
    return static_cast<Enum>((static_cast<int>(value) + 1) % static_cast<int>(Enum::kCount));
}

void show(Choice& choice, size_t chip) {
    choice.chip = chip;
    choice.first_process = 0;
}

void scroll(Choice& choice, bool down, size_t lines, size_t processes) {
    const size_t last = processes > 0 ? processes - 1 : 0;
    const size_t first = std::min(choice.first_process, last);
    choice.first_process = down ? std::min(first + lines, last) : first - std::min(first, lines);
}

}  // namespace

std::span<const Help> keys() { return kKeys; }

Result press(Choice& choice, int key, size_t chips, size_t processes) {
    chips = std::max<size_t>(chips, 1);
    switch (key) {
        case 'q':
        case 'Q':
            return Result::kQuit;
        case 'h':
        case '?':
            choice.help = !choice.help;
            break;
        case '\t':
        case kKeyRight:
            show(choice, (choice.chip + 1) % chips);
            break;
        case kKeyLeft:
            show(choice, (choice.chip + chips - 1) % chips);
            break;
        case 'a':
            choice.all = !choice.all;
            break;
        case 'm':
            choice.heat = next(choice.heat);
            break;
        case 's':
            choice.sort = next(choice.sort);
            break;
        case 'r':
            choice.reversed = !choice.reversed;
            break;
        case ' ':
            choice.paused = !choice.paused;
            break;
        case '+':
            choice.interval -= choice.interval > 0 ? 1 : 0;
            break;
        case '-':
            choice.interval += choice.interval + 1 < kIntervals.size() ? 1 : 0;
            break;
        case kKeyUp:
            scroll(choice, false, 1, processes);
            break;
        case kKeyDown:
            scroll(choice, true, 1, processes);
            break;
        case kKeyPageUp:
            scroll(choice, false, kPage, processes);
            break;
        case kKeyPageDown:
            scroll(choice, true, kPage, processes);
            break;
        default:
            if (key < '0' || key > '9' || static_cast<size_t>(key - '0') >= chips) return Result::kNothing;
            show(choice, static_cast<size_t>(key - '0'));
    }
    return Result::kDraw;
}

}  // namespace sidra::top
