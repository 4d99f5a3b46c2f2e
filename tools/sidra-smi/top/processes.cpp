// SPDX-License-Identifier: MIT
#include "processes.h"

#include <fmt/format.h>

#include <algorithm>

#include "common/units.h"

namespace sidra::top {
namespace {

// Sum over all engines: may exceed 100 %.
std::optional<double> whole_use(const Process& process) {
    std::optional<double> sum;
    for (const auto& use : process.use)
        if (use) sum = sum.value_or(0) + *use;
    return sum;
}

const char* name_of(Sort sort) {
    switch (sort) {
        case Sort::kUse:
            return "use";
        case Sort::kMemory:
            return "memory";
        case Sort::kPid:
            return "PID";
        default:
            return "name";
    }
}

// Compares by the sort key only: -1, 0, 1.
int compare(const Process& a, const Process& b, Sort by, bool reversed) {
    const int sign = reversed ? -1 : 1;
    const auto numbers = [&](std::optional<double> left, std::optional<double> right) {
        if (!left || !right) return left ? -1 : right ? 1 : 0;
        return *left > *right ? -sign : *left < *right ? sign : 0;
    };
    switch (by) {
        case Sort::kUse:
            return numbers(whole_use(a), whole_use(b));
        case Sort::kMemory:
            return numbers(a.memory, b.memory);
        case Sort::kPid:
            return numbers(-a.pid, -b.pid);
        default:
            return sign * a.name.compare(b.name);
    }
}

std::string percent(std::optional<double> value) { return value ? fmt::format("{:.0f}", *value) : "-"; }

}  // namespace

std::vector<const Process*> sorted(const std::vector<Process>& processes, Sort by, bool reversed) {
    std::vector<const Process*> order;
    for (const Process& process : processes) order.push_back(&process);
    std::sort(order.begin(), order.end(), [&](const Process* a, const Process* b) {
        const int first = compare(*a, *b, by, reversed);
        return first != 0 ? first < 0 : a->pid < b->pid;
    });
    return order;
}

void draw_processes(Grid& grid, const Rect& place, const Chip& chip, const Choice& choice) {
    if (place.empty()) return;
    const auto line = [&](int row, std::string_view text, Style style) {
        grid.text(place.x, place.y + row, text, style, place.width);
    };
    if (!chip.processes_absent.empty()) return line(0, "Processes: " + chip.processes_absent, Style::kDim);
    const auto order = sorted(chip.processes, choice.sort, choice.reversed);
    line(0,
         fmt::format("Processes: {}, by {}{}", order.size(), name_of(choice.sort), choice.reversed ? ", reversed" : ""),
         Style::kTitle);
    const auto row = [](auto pid, std::string_view user, auto mvm, auto vec, auto copy, auto program, auto memory,
                        std::string_view name) {
        return fmt::format("{:>7} {:<8.8} {:>5} {:>5} {:>5} {:>5} {:>8}  {}", pid, user, mvm, vec, copy, program,
                           memory, name);
    };
    if (place.height < 3) return;
    line(1, row("PID", "USER", "MVM%", "VEC%", "COPY%", "PROG%", "MEMORY", "NAME"), Style::kDim);
    const size_t room = static_cast<size_t>(place.height - 2);
    // No empty rows below the last process while others are scrolled off the top.
    const size_t first = std::min(choice.first_process, order.size() > room ? order.size() - room : 0);
    for (size_t i = 0; i < room && first + i < order.size(); ++i) {
        const Process& one = *order[first + i];
        line(static_cast<int>(i) + 2,
             row(one.pid, one.user, percent(one.use[0]), percent(one.use[1]), percent(one.use[2]), percent(one.use[3]),
                 tools::bytes_text(one.memory), one.name),
             Style::kPlain);
    }
}

}  // namespace sidra::top
