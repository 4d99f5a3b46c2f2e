// SPDX-License-Identifier: MIT
// Compiles again, with more effort each time, until a network is as accurate as wanted.
#ifndef SIDRA_COMPILER_TARGET_H
#define SIDRA_COMPILER_TARGET_H

#include <functional>
#include <string>
#include <vector>

#include "compile.h"

namespace sidra::compiler {

// On how many crossbars the layers are: so many copies of each, of which a share of the columns three times.
struct Redundancy {
    int copies = 1;
    double tmr = 0;

    // Crossbars for each one that a layer needs.
    double cost() const { return copies * (1 + 2 * tmr); }
    bool operator==(const Redundancy&) const = default;
};

// What is tried, in the order of its cost: from what is asked for to eight crossbars for each one.
std::vector<Redundancy> redundancies(const Redundancy& asked_for);

// The share of samples that is right with these options at a level. It is asked about level fast first, and about level
// accurate only behind that, with the same options.
using Judge = std::function<double(const Options&, sidra_level)>;

// The effort that gets the wanted share right at both levels, and with which `judge` was asked last: `effort`, or more.
// Throws TargetMissed.
Options find_effort(Options effort, double wanted, const Judge& judge);

// Throws TargetMissed if no effort suffices. options.target says what is wanted.
void compile_for_target(const std::string& input, const std::string& output, const Options& options);

}  // namespace sidra::compiler

#endif
