// SPDX-License-Identifier: MIT
// This program in a new process, with hidden options.
#ifndef SIDRA_BENCH_FRESH_PROCESS_H
#define SIDRA_BENCH_FRESH_PROCESS_H

#include <string>
#include <utility>
#include <vector>

namespace sidra::bench {

// Gives what it printed. Empty options are left out. `environment`: variables that it gets besides this process's.
std::string fresh_process(const std::vector<std::string>& options,
                          const std::vector<std::pair<std::string, std::string>>& environment);

}  // namespace sidra::bench

#endif
