// SPDX-License-Identifier: MIT
// sidra-objdump: says what is in a compiled model, and draws it. docs: sidra-objdump(1).
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <optional>

#include "calls.h"
#include "common/output_file.h"
#include "common/program.h"
#include "matrix.h"
#include "pictures.h"
#include "summary.h"

namespace sidra::objdump {
namespace {

struct Options {
    std::string model, matrix, extract;  // "": not wanted
    std::string memory, chip, timeline;  // likewise
    std::optional<uint32_t> variant, stage;
    bool calls = false, programs = false, json = false;

    bool wants_pictures() const { return !memory.empty() || !chip.empty() || !timeline.empty(); }
    // Only what was asked for is printed.
    bool wants_summary() const { return !calls && !programs && matrix.empty() && !wants_pictures(); }
};

class Dump {
   public:
    Dump(const Options& options, uint32_t stage)
        : options_(options),
          file_(options.model, stage),
          contents_(read_contents(file_)),
          placement_(place(file_.model(), contents_)) {
        const uint32_t count = file_.model().variants()->size();
        if (options_.variant && *options_.variant >= count)
            throw tools::Failure(
                fmt::format("--variant is {}, but the model has {}, which count from 0", *options_.variant, count));
        if (!options_.matrix.empty()) matrix_ = find_matrix(file_.model(), options_.matrix);
    }

    uint32_t stages() const { return file_.stages(); }

    void run() const {
        draw();
        if (!options_.extract.empty()) tools::write_file(options_.extract, matrix_npy(file_, *matrix_));
        fmt::print("{}", options_.json ? json().text() + '\n' : text());
        if (!contents_.intact()) throw std::runtime_error(damage());
    }

   private:
    const format::Model& model() const { return file_.model(); }

    void draw() const {
        if (!options_.chip.empty()) tools::write_file(options_.chip, chip_picture(model(), placement_));
        if (options_.memory.empty() && options_.timeline.empty()) return;
        const uint32_t variant = options_.variant.value_or(0);
        const std::vector<CallAnalysis> calls = analyse(model(), *model().variants()->Get(variant), placement_);
        if (!options_.memory.empty()) tools::write_file(options_.memory, memory_picture(model(), variant, calls));
        if (!options_.timeline.empty()) tools::write_file(options_.timeline, timeline_picture(model(), variant, calls));
    }

    std::string text() const {
        std::string text;
        if (options_.wants_summary()) text += summary_text(file_, contents_, placement_);
        if (options_.calls) text += variants_text(model(), placement_, options_.variant);
        if (options_.programs) text += programs_text(model());
        if (matrix_) text += matrix_text(model(), *matrix_, statistics_of(file_, *matrix_));
        return text;
    }

    tools::Json json() const {
        using tools::Json;
        Json::Object document = summary_json(file_, contents_, placement_);
        if (options_.calls) document.emplace_back("calls", variants_json(model(), placement_, options_.variant));
        if (options_.programs) document.emplace_back("program_texts", programs_json(model()));
        if (matrix_) document.emplace_back("matrix", matrix_json(model(), *matrix_, statistics_of(file_, *matrix_)));
        return document;
    }

    std::string damage() const {
        std::string parts;
        const auto add = [&](const std::string& part) { parts += (parts.empty() ? "" : ", ") + part; };
        if (!contents_.constants.intact) add("constants");
        for (uint32_t i = 0; i < contents_.matrices.size(); ++i)
            if (!contents_.matrices[i].intact) add(format::matrix_name(model(), i));
        return fmt::format("{} is damaged: the hash is wrong of: {}; copy or compile the model again", file_.path(),
                           parts);
    }

    const Options& options_;
    const ModelFile file_;
    const Contents contents_;
    const Placement placement_;
    std::optional<uint32_t> matrix_;
};

void main_inner(int argc, char** argv) {
    Options options;
    CLI::App app("Says what is in a compiled model, and draws it. Without options it prints a summary.",
                 "sidra-objdump");
    app.add_flag("--calls", options.calls, "Print each call: sizes, operands, and its time on a chip");
    app.add_flag("--programs", options.programs, "Print the text of each vector program");
    CLI::Option* const matrix =
        app.add_option("--matrix", options.matrix, "Print statistics of the values of this matrix (name or number)");
    app.add_option("--extract", options.extract, "Write the values of the matrix to this file (.npy)")->needs(matrix);
    app.add_option("--variant", options.variant, "Only this variant; pictures are of variant 0 otherwise");
    app.add_option("--stage", options.stage, "Only this stage of a model for several chips");
    app.add_flag("--json", options.json, "Print JSON");
    app.add_option("--memory", options.memory, "Draw the work memory of a variant (SVG)");
    app.add_option("--chip", options.chip, "Draw the crossbars that the matrices take (SVG)");
    app.add_option("--timeline", options.timeline, "Draw when the engines of a chip work in a run of a variant (SVG)");
    app.add_option("model", options.model, "Compiled model (.sidra)")->required();
    if (!tools::parse_arguments(app, argc, argv)) return;
    for (const std::string& path : {options.extract, options.memory, options.chip, options.timeline})
        if (!path.empty()) tools::require_writable(path);
    const Dump first(options, options.stage.value_or(0));
    if (options.stage || first.stages() == 0) return first.run();
    if (options.json || options.wants_pictures() || !options.matrix.empty())
        throw tools::Failure(
            fmt::format("{} has {} stages for as many chips; choose one with --stage", options.model, first.stages()),
            tools::kExitUsage);
    for (uint32_t s = 0; s < first.stages(); ++s) {
        fmt::print("{}stage {} of {}\n", s == 0 ? "" : "\n", s, first.stages());
        Dump(options, s).run();
    }
}

}  // namespace
}  // namespace sidra::objdump

int main(int argc, char** argv) {
    return sidra::tools::run_program("sidra-objdump", [&] { sidra::objdump::main_inner(argc, argv); });
}
