// SPDX-License-Identifier: MIT
#include "contest.h"

#include <time.h>

#include <algorithm>
#include <cmath>
#include <optional>

#include "machine.h"

namespace sidra::bench {
namespace {

// Of the machine's CPU time: with more than this spent by others, a best sample may be reached twice and still be a
// disturbed one.
constexpr double kOthersMax = 15;

double clock_s(clockid_t clock) {
    timespec t;
    clock_gettime(clock, &t);
    return static_cast<double>(t.tv_sec) + static_cast<double>(t.tv_nsec) * 1e-9;
}

double timed(const Contender& contender, uint64_t calls) {
    const double start = now_s();
    contender.run(calls);
    return now_s() - start;
}

// How many calls make a sample. The first call is not counted: it faults pages in and fills caches.
uint64_t calibrate(const Contender& contender, double sample_s) {
    wait_until_quiet();
    if (contender.prepare) contender.prepare();
    if (timed(contender, 1) > 4 * sample_s) return 1;
    for (uint64_t calls = 1;; calls *= 2) {
        const double took = timed(contender, calls);
        if (took < sample_s / 4) continue;
        return std::max<uint64_t>(1, static_cast<uint64_t>(std::ceil(static_cast<double>(calls) * sample_s / took)));
    }
}

struct Lane {
    uint64_t calls = 1;  // in a sample
    double used_s = 0;
    std::vector<double> samples;
    std::vector<double> block_bests;
};

// The best figure was reached in two blocks, so it is no accident.
bool settled(const Lane& lane) {
    if (lane.block_bests.size() < 2) return false;
    std::vector<double> bests = lane.block_bests;
    std::nth_element(bests.begin(), bests.begin() + 1, bests.end());
    return bests[1] <= 1.02 * *std::min_element(bests.begin(), bests.end());
}

// One sample, a call. If it turns out to be far too short (calibration was disturbed), the next one gets more calls.
std::optional<double> sample(const Contender& contender, const Method& method, Lane& lane) {
    const double took = timed(contender, lane.calls);
    const double a_call = took / static_cast<double>(lane.calls);
    if (took >= method.sample_s / 4) return a_call;
    lane.calls =
        static_cast<uint64_t>(std::ceil(static_cast<double>(lane.calls) * std::min(10.0, method.sample_s / took)));
    return std::nullopt;
}

void run_block(const Contender& contender, const Method& method, Lane& lane, Timing& timing) {
    wait_until_quiet();
    if (contender.prepare) contender.prepare();
    const double start = now_s();
    // A call much longer than the warm-up warms itself.
    const bool long_call = lane.used_s > 0 && lane.samples.front() > 20 * method.warm_s;
    while (!long_call && now_s() - start < method.warm_s) contender.run(std::max<uint64_t>(1, lane.calls / 4));
    std::vector<double> block;
    while (block.size() < static_cast<size_t>(method.samples)) {
        if (const auto a_call = sample(contender, method, lane)) block.push_back(*a_call);
        if (!block.empty() && lane.used_s + (now_s() - start) > method.budget_s) break;
    }
    lane.block_bests.push_back(*std::min_element(block.begin(), block.end()));
    lane.used_s += now_s() - start;
    lane.samples.insert(lane.samples.end(), block.begin(), block.end());
    timing.block_medians.push_back(median(std::move(block)));
}

}  // namespace

double now_s() { return clock_s(CLOCK_MONOTONIC); }

double median(std::vector<double> values) {
    if (values.empty()) return 0;
    const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
    std::nth_element(values.begin(), middle, values.end());
    if (values.size() % 2 == 1) return *middle;
    return (*middle + *std::max_element(values.begin(), middle)) / 2;
}

void wait_until_quiet() {
    constexpr timespec kStep = {0, 1'000'000};
    constexpr int kSteps = 250;
    for (int i = 0; i < kSteps; ++i) {
        const double wall = now_s();
        const double cpu = clock_s(CLOCK_PROCESS_CPUTIME_ID);
        nanosleep(&kStep, nullptr);
        if (clock_s(CLOCK_PROCESS_CPUTIME_ID) - cpu < 0.1 * (now_s() - wall)) return;
    }
}

std::vector<Timing> measure(const std::vector<Contender>& contenders, const Method& method) {
    const size_t count = contenders.size();
    std::vector<Lane> lanes(count);
    std::vector<Timing> timings(count);
    for (size_t i = 0; i < count; ++i) {
        timings[i].name = contenders[i].name;
        lanes[i].calls = std::max(contenders[i].min_calls, calibrate(contenders[i], method.sample_s));
    }
    const OtherLoad others;
    for (int round = 0; round < method.max_rounds; ++round) {
        if (round >= method.rounds && others.percent() <= kOthersMax &&
            std::all_of(lanes.begin(), lanes.end(), settled))
            break;
        for (size_t turn = 0; turn < count; ++turn) {
            const size_t i = (turn + static_cast<size_t>(round)) % count;
            const bool spent = round >= 2 && lanes[i].used_s > method.budget_s;
            if (!spent) run_block(contenders[i], method, lanes[i], timings[i]);
        }
    }
    const bool undisturbed = others.percent() <= kOthersMax;
    for (size_t i = 0; i < count; ++i) {
        timings[i].min_s = *std::min_element(lanes[i].samples.begin(), lanes[i].samples.end());
        timings[i].settled = undisturbed && settled(lanes[i]);
        timings[i].samples = lanes[i].samples.size();
        timings[i].median_s = median(std::move(lanes[i].samples));
    }
    return timings;
}

Ratio speed_ratio(const Timing& ours, const Timing& peer) {
    std::vector<double> pairs;
    const size_t rounds = std::min(ours.block_medians.size(), peer.block_medians.size());
    for (size_t i = 0; i < rounds; ++i) pairs.push_back(peer.block_medians[i] / ours.block_medians[i]);
    return {peer.min_s / ours.min_s, median(std::move(pairs)), ours.settled && peer.settled};
}

}  // namespace sidra::bench
