// SPDX-License-Identifier: MIT
#include "overview.h"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>

#include "common/units.h"
#include "units.h"

namespace sidra::top {
namespace {

std::string without_unit(std::optional<double> value, int digits) {
    return value ? fmt::format("{:.{}f}", *value, digits) : std::string("-");
}

std::string memory(const Chip& chip, std::string_view between) {
    return tools::bytes_text(chip.l3_used) + std::string(between) + tools::bytes_text(chip.l3_size);
}

Style style_of(const Chip& chip) {
    if (chip.gone) return Style::kDim;
    if (chip.state == "ready") return Style::kPlain;
    const bool passing = chip.state == "throttled" || chip.state == "booting" || chip.state == "recovery";
    return passing ? Style::kWarning : Style::kCritical;
}

std::optional<double> newest(const Chip& chip, Series series) { return chip.series[static_cast<size_t>(series)].at(0); }

}  // namespace

void draw_overview(Grid& grid, const Rect& place, const std::vector<Chip>& chips, const Choice& choice) {
    if (place.empty()) return;
    const auto row = [](auto number, std::string_view name, std::string_view status, auto temperature, auto power,
                        auto clock, auto busy, auto l3, std::string_view firmware) {
        return fmt::format("{:>3} {:<13.13} {:<10.10} {:>7} {:>8} {:>8} {:>6} {:>9} {:<8.8}", number, name, status,
                           temperature, power, clock, busy, l3, firmware);
    };
    grid.text(place.x, place.y, row("#", "CHIP", "STATUS", "TEMP", "POWER", "CLOCK", "BUSY", "L3", "FIRMWARE"),
              Style::kDim, place.width);
    const size_t room = static_cast<size_t>(place.height - 1);
    const size_t half = room / 2, last = chips.size() > room ? chips.size() - room : 0;
    const size_t first = std::min(choice.chip > half ? choice.chip - half : 0, last);
    for (size_t n = 0; n < room && first + n < chips.size(); ++n) {
        const Chip& chip = chips[first + n];
        const int y = place.y + 1 + static_cast<int>(n);
        const std::string text =
            row(first + n, chip.name, chip.gone ? "gone" : chip.state,
                fixed(newest(chip, Series::kTemperature), 1, "C"), fixed(newest(chip, Series::kPower), 1, "W"),
                fixed(chip.clock, 0, "MHz"), fixed(chip.busy, 0, "%"), memory(chip, "/"), chip.firmware);
        grid.text(place.x, y, text, style_of(chip), place.width);
        if (first + n == choice.chip) grid.bar(y, Style::kBar);
    }
}

void draw_info(Grid& grid, const Rect& place, const Chip& chip) {
    if (place.empty()) return;
    const std::string clock = chip.clock && chip.clock_max
                                  ? fmt::format("{:.0f} of {:.0f} MHz", *chip.clock, *chip.clock_max)
                                  : fixed(chip.clock, 0, "MHz");
    const std::pair<std::string_view, std::string> parts[] = {{"Busy", fixed(chip.busy, 0, "%")},
                                                              {"Clock", clock},
                                                              {"L3", memory(chip, " of ")},
                                                              {"Firmware", chip.firmware.empty() ? "-" : chip.firmware},
                                                              {"Queues", without_unit(chip.queues, 0)}};
    int x = place.x;
    for (const auto& [title, text] : parts) {
        const int needed = static_cast<int>(title.size() + 1 + text.size());
        if (x + needed > place.x + place.width) return;
        x = grid.text(x, place.y, title, Style::kTitle) + 1;
        x = grid.text(x, place.y, text, Style::kPlain) + 3;
    }
}

}  // namespace sidra::top
