// SPDX-License-Identifier: MIT
#include "target.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <span>

namespace sidra::compiler {
namespace {

constexpr int kCopiesMax = 8;
constexpr double kAllLayers = 200;  // a signal-to-noise ratio that no layer has with inputs of 8 bits

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
    if (count != target.labels.size())
        throw SamplesError(fmt::format("there are {} labels for {} samples", target.labels.size(), count));
    return static_cast<double>(right) / static_cast<double>(count);
}

}  // namespace

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
    const double wanted = options.target->accuracy;
    while (true) {
        compile(input, file, effort);
        const bool calibrated = !effort.calibration.samples.empty();
        const auto try_level = [&](sidra_level level) {
            const double share = accuracy(file, *options.target, level);
            options.note(fmt::format("level {}: {:.2f} % right with {} {} of each layer{}{}",
                                     level == SIDRA_LEVEL_FAST ? "fast" : "accurate", 100 * share, effort.copies,
                                     effort.copies == 1 ? "copy" : "copies",
                                     effort.copies > 1 && effort.copies_by_layer ? " on average" : "",
                                     calibrated ? fmt::format(", and 16 bits below {:.0f} dB", effort.calibration.enough) : ""));
            return share;
        };
        // Without errors of analog hardware only the bits of codes matter.
        const double fast = try_level(SIDRA_LEVEL_FAST);
        if (fast < wanted) {
            if (!calibrated || effort.calibration.enough >= kAllLayers)
                throw CompileError(fmt::format("{}: {:.2f} % of the samples are right without errors of analog hardware, not {:.2f} %{}", input,
                                               100 * fast, 100 * wanted, calibrated ? "" : "; with samples for calibration, layers can have more bits"));
            effort.calibration.enough = effort.calibration.enough < 40 ? 40 : kAllLayers;
            continue;
        }
        const double accurate = try_level(SIDRA_LEVEL_ACCURATE);
        if (accurate >= wanted) break;
        if (effort.copies >= kCopiesMax)
            throw CompileError(fmt::format("{}: {:.2f} % of the samples are right with {} copies of each layer at level accurate, not {:.2f} %; "
                                           "training with noise may help",
                                           input, 100 * accurate, effort.copies, 100 * wanted));
        effort.copies = std::min(2 * effort.copies, kCopiesMax);
    }
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
}

}  // namespace sidra::compiler
