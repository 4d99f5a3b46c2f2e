// SPDX-License-Identifier: MIT
#include "target.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <optional>
#include <span>

namespace sidra::compiler {
namespace {

constexpr int kCrossbarsMax = 8;  // for each one that a layer needs

// The share of samples whose largest score is that of their label. Scores are the first output, a row for each sample.
double accuracy(const std::string& file, const Target& target, sidra_level level) {
    size_t right = 0, count = 0;
    run_samples(file, target.samples, level, SIZE_MAX, {}, [&](const Model& model) {
        const sidra_model_tensor scores = model.output(0, 0);
        if (scores.type != SIDRA_F32 || scores.rank == 0)
            throw SamplesError("its first output is not one of scores of f32, so it has no accuracy");
        const uint32_t classes = scores.shape[scores.rank - 1];
        const std::span<const float> values = model.data<const float>(0, scores);
        for (size_t at = 0; at + classes <= values.size(); at += classes, count++) {
            if (count == target.labels.size())
                throw SamplesError(fmt::format("there are {} labels, but more samples", count));
            const auto row = values.subspan(at, classes);
            right += std::ranges::max_element(row) - row.begin() == target.labels[count];
        }
    });
    if (count != target.labels.size() || count == 0)
        throw SamplesError(fmt::format("there are {} labels for {} samples", target.labels.size(), count));
    return static_cast<double>(right) / static_cast<double>(count);
}

std::string text_of(const Options& effort) {
    std::string text = fmt::format("{} {} of each layer", effort.copies, effort.copies == 1 ? "copy" : "copies");
    if (effort.copies > 1 && effort.copies_by_layer) text += " on average";
    if (effort.tmr == 1) text += ", the median of three crossbars";
    else if (effort.tmr != 0)
        text += fmt::format(", the median of three crossbars for {:g} % of the columns", 100 * effort.tmr);
    if (effort.predistort) text += ", weights against the loss in wires";
    if (!effort.calibration.samples.empty())
        text += fmt::format(", 16 bits below {:.0f} dB", effort.calibration.enough);
    return text;
}

}  // namespace

std::vector<Redundancy> redundancies(const Redundancy& asked_for) {
    std::vector<Redundancy> all;
    for (int copies = asked_for.copies;; copies = std::min(2 * copies, kCrossbarsMax)) {
        for (const double tmr : {asked_for.tmr, 1.0}) {
            const Redundancy one{copies, tmr};
            if (one != asked_for && one.cost() > kCrossbarsMax) continue;
            if (std::ranges::find(all, one) == all.end()) all.push_back(one);
        }
        if (copies >= kCrossbarsMax) break;
    }
    std::ranges::stable_sort(all, {}, &Redundancy::cost);
    return all;
}

Options find_effort(Options effort, double wanted, const Judge& judge) {
    const bool calibrated = !effort.calibration.samples.empty();
    double fast = 0;
    // The share at level accurate. None: that at level fast is too low.
    const auto attempt = [&]() -> std::optional<double> {
        fast = judge(effort, SIDRA_LEVEL_FAST);
        if (fast < wanted) return std::nullopt;
        return judge(effort, SIDRA_LEVEL_ACCURATE);
    };
    // Without errors of analog hardware only the bits of codes matter.
    std::optional<double> share = attempt();
    while (!share) {
        double& enough = effort.calibration.enough;
        if (!calibrated || enough >= kAllLayers)
            throw TargetMissed(fmt::format(
                "{:.2f} % of the samples are right without errors of analog hardware, not {:.2f} %{}", 100 * fast,
                100 * wanted, calibrated ? "" : "; with samples for calibration, layers can have more bits"));
        enough = enough < 40 ? 40 : kAllLayers;
        share = attempt();
    }
    double most = *share;
    const Redundancy first{effort.copies, effort.tmr};
    std::string problem;
    try {
        for (const Redundancy& next : redundancies(first)) {
            effort.copies = next.copies, effort.tmr = next.tmr;
            if (next != first) share = attempt();
            most = std::max(most, share.value_or(0));
            if (most >= wanted) return effort;
            // Copies have the loss in wires in common, so what is of no use with few of them can be with more.
            if (effort.predistort) continue;
            effort.predistort = true;
            const std::optional<double> changed = attempt();
            most = std::max(most, changed.value_or(0));
            if (most >= wanted) return effort;
            effort.predistort = changed > share;
        }
    } catch (const std::runtime_error& failed) {
        // What was asked for could be compiled and has run, so more of it is too much for a chip.
        problem = fmt::format("; {} is not possible: {}", text_of(effort), failed.what());
    }
    throw TargetMissed(fmt::format(
        "at most {:.2f} % of the samples are right at level accurate, not {:.2f} %{}; training with noise may help",
        100 * most, 100 * wanted, problem));
}

void compile_for_target(const std::string& input, const std::string& output, const Options& options) try {
    const std::string file = output + ".part";
    struct Remove {
        const std::string& file;
        ~Remove() {
            std::error_code ignored;
            std::filesystem::remove(file, ignored);
        }
    } const remove{file};
    Options effort = options;
    effort.target.reset();
    effort.report = {};
    effort.report_file.clear();
    effort.copies_by_layer = effort.copies_by_layer || !effort.calibration.samples.empty();
    effort = find_effort(std::move(effort), options.target->accuracy, [&](const Options& tried, sidra_level level) {
        if (level == SIDRA_LEVEL_FAST) compile(input, file, tried);
        const double share = accuracy(file, *options.target, level);
        options.note(fmt::format("level {}: {:.2f} % right with {}", level == SIDRA_LEVEL_FAST ? "fast" : "accurate",
                                 100 * share, text_of(tried)));
        return share;
    });
    if (options.report || !options.report_file.empty()) {
        effort.report = options.report;
        effort.report_file = options.report_file;
        compile(input, file, effort);
    }
    std::error_code error;
    std::filesystem::rename(file, output, error);
    if (error) throw CompileError(fmt::format("{}: {}", output, error.message()));
} catch (const SamplesError& error) {
    throw CompileError(fmt::format("{}: {}", input, error.what()));
} catch (const TargetMissed& missed) {
    throw TargetMissed(fmt::format("{}: {}", input, missed.what()));
}

}  // namespace sidra::compiler
