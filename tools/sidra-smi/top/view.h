// SPDX-License-Identifier: MIT
// The data on the screen: the chips as of the last reading, and the user's choices.
#ifndef SIDRA_SMI_TOP_VIEW_H
#define SIDRA_SMI_TOP_VIEW_H

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "heat.h"
#include "history.h"

namespace sidra::top {

enum class Series : unsigned char { kMvm, kVec, kCopy, kProgram, kPower, kTemperature, kDma, kCells, kCount };
constexpr size_t kSeries = static_cast<size_t>(Series::kCount);
constexpr size_t kEngines = 4;  // the first engines, in the order of enum sidra_hw_engine

struct Process {
    int32_t pid = 0;
    std::string user, name;
    std::array<std::optional<double>, kEngines> use;  // %
    std::optional<uint64_t> memory;                   // bytes
};

// One chip. Absent is not zero.
struct Chip {
    std::string name;    // "sidra0", "model 1234-0"
    std::string detail;  // "0000:01:00.0", or the process of a model
    std::string state;   // the field "status"
    std::string firmware;
    bool gone = false;
    std::array<History, kSeries> series;
    std::optional<double> busy;                // %, at least one engine
    std::optional<double> clock, clock_max;    // MHz
    std::optional<uint64_t> l3_used, l3_size;  // bytes
    std::optional<double> queues;
    std::optional<double> power_limit;                            // W
    std::optional<double> temperature_max, temperature_critical;  // C
    std::optional<double> crossbars_used, crossbars_total;
    std::string crossbars_absent;  // reason why crossbars are not available
    Geometry geometry;
    std::vector<Crossbar> crossbars;
    std::string processes_absent;  // reason why processes are unknown
    std::vector<Process> processes;
};

enum class Sort : unsigned char { kUse, kMemory, kPid, kName, kCount };

struct Choice {
    size_t chip = 0;
    HeatKey heat = HeatKey::kUse;
    Sort sort = Sort::kUse;
    bool reversed = false, paused = false, help = false;
    bool all = false;          // the table of all chips fills the screen
    size_t first_process = 0;  // first one in the table
    size_t interval = 3;       // index in kIntervals
};

constexpr std::array<double, 9> kIntervals = {0.1, 0.2, 0.5, 1, 2, 5, 10, 30, 60};  // seconds

}  // namespace sidra::top

#endif
