// SPDX-License-Identifier: MIT
// How everything here is measured: contenders take turns in one process, so that what a shared machine does to one it
// does to all.
//
// - A contest has rounds. In a round each contender has a block; the order of the blocks rotates by one from round to
//   round. The contest ends when each contender has reached its best figure, to 2 %, in two blocks (it is then
//   *settled*), or after `max_rounds`.
// - Before a block the program waits until none of its threads uses the CPU. Threads of OpenMP and OpenBLAS spin for
//   milliseconds after their work. That is their best policy, so it is allowed inside their own block, but not in the
//   block of another contender.
// - A block is an untimed warm-up and then samples. A sample has so many calls that the cost of reading the clock is
//   negligible.
// - The figure of a contender is its best sample, the least disturbed one. The ratio of two contenders is given twice:
//   of their best samples, and as the median over the rounds of the ratio of their block medians. If the two disagree,
//   other programs disturbed the measurement.
#ifndef SIDRA_BENCH_CONTEST_H
#define SIDRA_BENCH_CONTEST_H

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace sidra::bench {

struct Contender {
    std::string name;
    std::function<void(uint64_t calls)> run;  // does the work `calls` times
    std::function<void()> prepare = {};       // untimed, before each block (thread counts)
    uint64_t min_calls = 1;  // in a sample: where a disturbed call may take a thousand times as long as another
};

struct Method {
    double sample_s = 1e-3;  // a sample has at least this length (or one call)
    int samples = 5;         // in a block
    int rounds = 5;          // at least
    int max_rounds = 10;
    double warm_s = 2e-3;
    double budget_s = 4.0;  // a contender that has used this much leaves further rounds out (after its second)
};

struct Timing {
    std::string name;
    double min_s = 0;     // best sample, a call
    double median_s = 0;  // of all samples
    uint64_t samples = 0;
    bool settled = false;
    std::vector<double> block_medians;  // by round
};

// Timings in the order of the contenders.
std::vector<Timing> measure(const std::vector<Contender>& contenders, const Method& method);

// How many times as fast as `peer` is `ours` (above 1: ours is faster)?
struct Ratio {
    double best = 0;    // of the best samples
    double median = 0;  // over the rounds
    bool settled = false;
};
Ratio speed_ratio(const Timing& ours, const Timing& peer);

double median(std::vector<double> values);

// Seconds on CLOCK_MONOTONIC.
double now_s();

// Waits until the process uses (nearly) no CPU time, at most a fraction of a second.
void wait_until_quiet();

}  // namespace sidra::bench

#endif
