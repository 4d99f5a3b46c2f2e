// SPDX-License-Identifier: MIT
#include "compile.h"

#include <fmt/format.h>
#include <llvm/Support/SourceMgr.h>
#include <llvm/Support/ToolOutputFile.h>
#include <mlir/Dialect/Func/IR/FuncOps.h>
#include <mlir/IR/Diagnostics.h>
#include <mlir/IR/MLIRContext.h>
#include <mlir/IR/Verifier.h>
#include <mlir/Parser/Parser.h>
#include <mlir/Pass/PassInstrumentation.h>
#include <mlir/Pass/PassManager.h>
#include <mlir/Support/FileUtilities.h>

#include <filesystem>
#include <mutex>

#include "accuracy.h"
#include "adc_ranges.h"
#include "cache.h"
#include "common/output_file.h"
#include "effects.h"
#include "emit.h"
#include "inputs.h"
#include "names.h"
#include "network_report.h"
#include "onnx/import.h"
#include "part_file.h"
#include "passes.h"
#include "report.h"
#include "target.h"
#include "xbar.h"
#include "xnn.h"

namespace sidra::compiler {
namespace {

// The first error that MLIR reports, with the name of the node.
class FirstError {
   public:
    explicit FirstError(mlir::MLIRContext& context)
        : handler_(&context, [this](mlir::Diagnostic& diagnostic) {
              if (diagnostic.getSeverity() != mlir::DiagnosticSeverity::Error) return;
              const std::lock_guard guard(lock_);
              if (!text_.empty()) return;
              llvm::raw_string_ostream stream(text_);
              print(stream, diagnostic.getLocation());
              stream << diagnostic;
          }) {}

    [[noreturn]] void raise(const std::string& file) {
        throw CompileError(fmt::format("{}: {}", file, text_.empty() ? "a pass failed without a reason" : text_));
    }

   private:
    static void print(llvm::raw_ostream& stream, mlir::Location location) {
        if (const auto names = names_of(location); !names.empty()) stream << "node '" << names.front() << "': ";
        else if (const auto place = mlir::dyn_cast<mlir::FileLineColLoc>(location))
            stream << "line " << place.getLine() << ": ";
    }

    std::mutex lock_;
    std::string text_;
    mlir::ScopedDiagnosticHandler handler_;
};

// Reports the layers when they have their matrices, and what runs on the host.
class Reporter : public mlir::PassInstrumentation {
   public:
    explicit Reporter(const Options& options) : options_(options) {}
    void runAfterPass(mlir::Pass* pass, mlir::Operation* op) override {
        auto module = mlir::dyn_cast<mlir::ModuleOp>(op);
        if (pass->getArgument() == "xbar-stages" && module && options_.report) options_.report(explain_stages(module));
        if (pass->getArgument() != "xnn-weights" || !module) return;
        if (options_.report) options_.report(explain(module));
        for (const OnHost& node : on_host(module))
            options_.note(fmt::format("node '{}' runs on the host ({}), because the chip has no call for it", node.name,
                                      node.function));
    }

   private:
    const Options& options_;
};

bool is_text(const std::string& input) { return std::filesystem::path(input).extension() == ".mlir"; }

mlir::OwningOpRef<mlir::ModuleOp> read(mlir::MLIRContext& context, Store& store, const std::string& input,
                                       const Options& options, FirstError& error) {
    if (!is_text(input)) {
        ImportOptions import;
        import.dimensions = options.dimensions;
        import.values = options.values;
        try {
            return import_onnx(context, store, input, import);
        } catch (const ImportError& refused) {
            throw CompileError(refused.what());
        }
    }
    auto module = mlir::parseSourceFile<mlir::ModuleOp>(input, mlir::ParserConfig(&context));
    if (!module) error.raise(input);
    return module;
}

void write_text(mlir::ModuleOp module, const std::string& path) {
    std::string why;
    const std::unique_ptr<llvm::ToolOutputFile> file = mlir::openOutputFile(path, &why);
    if (!file) throw CompileError(fmt::format("{}: {}", path, why));
    module.print(file->os());
    file->os() << '\n';
    file->os().flush();
    if (file->os().has_error()) throw CompileError(fmt::format("{}: cannot be written", path));
    file->keep();
}

// The name of the network is that of its file, wherever it lies.
Provenance provenance_of(const std::string& input, const Options& options, Inputs& inputs) {
    const std::filesystem::path file = std::filesystem::path(input).filename();
    Provenance provenance{file.stem().string(), file.string(), {}};
    if (const auto hash = inputs.hash(input)) provenance.source += fmt::format(" (XXH3 {})", *hash);
    for (const auto& [name, sizes] : options.dimensions)
        provenance.options += fmt::format("--dim {}={} ", name, fmt::join(sizes, ","));
    for (const auto& [name, path] : options.values)
        provenance.options += fmt::format("--value {}={} ", name, std::filesystem::path(path).filename().string());
    if (options.optimization != kOptimizationMax) provenance.options += fmt::format("-O {} ", options.optimization);
    if (!options.equalise) provenance.options += "--no-equalisation ";
    if (options.chips == 0) provenance.options += "--chips auto ";
    else if (options.chips != 1) provenance.options += fmt::format("--chips {} ", options.chips);
    if (options.copies != 1) provenance.options += fmt::format("--copies {} ", options.copies);
    if (options.copies_by_layer) provenance.options += "--copies-by-layer ";
    if (options.tmr != 0) provenance.options += fmt::format("--tmr {} ", options.tmr);
    if (options.predistort) provenance.options += "--predistort ";
    if (options.adc_ranges) provenance.options += "--adc-ranges ";
    if (const Calibration& c = options.calibration; !c.samples.empty()) {
        for (const Samples& samples : c.samples)
            provenance.options +=
                fmt::format("--calibrate {}{}{}-bytes-{} ", samples.input, samples.input.empty() ? "" : "=",
                            samples.data.size(), hash_of(samples.data));
        provenance.options += fmt::format("--observer {} --signal-to-noise {} ", name_of(c.method), c.enough);
        if (!c.bias_correction) provenance.options += "--no-bias-correction ";
        if (c.exact) provenance.options += "--exact ";
    }
    if (!options.chip_map.empty())
        provenance.options += fmt::format("--chip-map {} (XXH3 {}) --bad-cells {} ",
                                          std::filesystem::path(options.chip_map).filename().string(),
                                          inputs.hash(options.chip_map).value_or("?"), options.bad_cells);
    return provenance;
}

CallsOptions calls_of(const Options& options) {
    return {.copies = options.copies, .vote = options.tmr, .predistort = options.predistort};
}

Calibration calibration_of(const Options& options) {
    Calibration calibration = options.calibration;
    if (options.copies_by_layer && !calibration.exact) calibration.copies = options.copies;
    calibration.calls = calls_of(options);
    return calibration;
}

// Without the cache. accuracies: gets those of the layers, if there are samples; may be nullptr.
void compile(const std::string& input, const std::string& output, const Options& options, const Provenance& provenance,
             std::vector<LayerAccuracy>* accuracies = nullptr) {
    const std::optional<ChipMap> map =
        options.chip_map.empty() ? std::nullopt : std::optional(read_chip_map(options.chip_map));
    mlir::DialectRegistry registry;
    registry.insert<mlir::func::FuncDialect, xnn::XnnDialect, xbar::XbarDialect>();
    mlir::MLIRContext context(registry, mlir::MLIRContext::Threading::DISABLED);
    context.loadAllAvailableDialects();
    FirstError error(context);
    Store& store = xnn::store_of(&context);
    const mlir::OwningOpRef<mlir::ModuleOp> module = read(context, store, input, options, error);

    mlir::PassManager passes(&context);
    passes.addInstrumentation(std::make_unique<Reporter>(options));
    if (options.pipeline.empty()) {
        const bool calibrated = !options.calibration.samples.empty();
        const bool rest = options.calibration.bias_correction || options.calibration.exact || accuracies != nullptr;
        build_layers_pipeline(passes, options.optimization, {.equalise = options.equalise, .rest = calibrated && rest});
        if (calibrated) {
            Calibration calibration = calibration_of(options);
            calibration.accuracies = accuracies;
            passes.addPass(make_calibrate_pass(std::move(calibration), options.optimization));
        }
        build_calls_pipeline(passes, options.optimization, calls_of(options));
        if (calibrated && options.adc_ranges) passes.addPass(make_adc_ranges_pass(options.calibration));
        build_memory_pipeline(passes, options.chips);
        if (map) passes.addPass(make_place_pass(*map, options.bad_cells));
    } else {
        static std::once_flag registered;
        std::call_once(registered, register_passes);
        std::string why;
        llvm::raw_string_ostream stream(why);
        mlir::FailureOr<mlir::OpPassManager> pipeline = mlir::parsePassPipeline(options.pipeline, stream);
        if (mlir::failed(pipeline) || pipeline->getOpAnchorName() != mlir::ModuleOp::getOperationName())
            throw CompileError(fmt::format("'{}' is no pipeline of passes, as builtin.module(canonicalize): {}",
                                           options.pipeline, why));
        static_cast<mlir::OpPassManager&>(passes) = *pipeline;
    }
    if (!options.dump.empty())
        passes.enableIRPrintingToFileTree([](mlir::Pass*, mlir::Operation*) { return false; },
                                          [](mlir::Pass*, mlir::Operation*) { return true; }, true, true, false,
                                          options.dump);
    if (!options.reproducer.empty()) passes.enableCrashReproducerGeneration(options.reproducer);
    if (mlir::failed(passes.run(*module))) error.raise(input);

    if (!options.pipeline.empty()) return write_text(*module, output);
    try {
        emit(*module, store, provenance, output);
    } catch (const EmitError& refused) {
        throw CompileError(refused.what());
    }
}

// A cache has files, and nothing of what else a run can show.
bool only_makes_a_file(const std::string& input, const Options& options) {
    return !is_text(input) && options.pipeline.empty() && options.dump.empty() && options.reproducer.empty() &&
           !options.report && options.report_file.empty();
}

// Without the cache, with the reports that are wanted.
void compile_and_report(const std::string& input, const std::string& output, const Options& options,
                        const Provenance& provenance) try {
    const bool page = !options.report_file.empty();
    if (page) tools::require_writable(options.report_file);
    std::vector<LayerAccuracy> accuracies;
    compile(input, output, options, provenance, page ? &accuracies : nullptr);
    std::vector<Effect> measured;
    if ((options.report || page) && !options.calibration.samples.empty() && options.chips == 1)
        measured = effects(input, options);
    if (options.report && !measured.empty()) options.report(text_of(measured));
    if (page)
        write_report(report_of(output, options.calibration.samples, accuracies, std::move(measured)),
                     options.report_file);
} catch (const CompileError&) {
    throw;
} catch (const FileError&) {
    throw;
} catch (const ChipMapError&) {
    throw;
} catch (const std::runtime_error& failed) {
    throw CompileError(fmt::format("{} is compiled, but has no report: {}", input, failed.what()));
}

}  // namespace

void compile(const std::string& input, const std::string& output, const Options& options) try {
    if (options.target) return compile_for_target(input, output, options);
    Inputs inputs;
    const Provenance provenance = provenance_of(input, options, inputs);
    std::optional<std::string> key;
    if (options.cache_limit && only_makes_a_file(input, options)) key = cache_key(inputs, input, options, provenance);
    if (!key) return compile_and_report(input, output, options, provenance);
    Cache cache(*options.cache_limit, options.note);
    if (cache.fetch(*key, output)) return;
    compile(input, output, options, provenance);
    if (inputs.unchanged()) cache.keep(*key, output);
} catch (const FileError& failed) {
    throw CompileError(failed.what());
} catch (const ChipMapError& refused) {
    throw CompileError(refused.what());
}

}  // namespace sidra::compiler
