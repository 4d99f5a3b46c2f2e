// SPDX-License-Identifier: MIT
// A network in ONNX's format: imported, and compiled unless it describes much memory or many operations. What the
// compiler writes, libsidra must be able to load. An input is the file.
#include <mlir/Dialect/Func/IR/FuncOps.h>
#include <mlir/IR/Diagnostics.h>
#include <mlir/Pass/PassManager.h>

#include <cstring>
#include <string>

#include "check.h"
#include "driver/compile.h"
#include "emit.h"
#include "libsidra/model/check.h"
#include "memory_file.h"
#include "onnx/import.h"
#include "passes.h"
#include "xbar.h"
#include "xnn.h"

namespace sidra::fuzz {
namespace {

// Valid networks may be as large as they like.
bool is_small(mlir::ModuleOp module) {
    constexpr int64_t kElementsMax = 1 << 18, kOperationsMax = 256;
    int64_t elements = 0, operations = 0;
    module.walk([&](mlir::Operation* op) {
        ++operations;
        for (const mlir::Type type : op->getResultTypes())
            if (const auto tensor = mlir::dyn_cast<mlir::RankedTensorType>(type))
                elements = std::min(elements + tensor.getNumElements(), kElementsMax + 1);
        if (auto function = mlir::dyn_cast<mlir::func::FuncOp>(op))
            for (const mlir::Type type : function.getArgumentTypes())
                elements =
                    std::min(elements + mlir::cast<mlir::RankedTensorType>(type).getNumElements(), kElementsMax + 1);
    });
    return elements <= kElementsMax && operations <= kOperationsMax;
}

void load(const Bytes& file) {
    if (file.size() < sizeof(format::FileHeader)) fail("the compiler wrote a file without a header");
    format::FileHeader header;
    std::memcpy(&header, file.data(), sizeof header);
    if (const format::Finding found = format::check_header(header, file.size()))
        fail("the compiler wrote a file%s", found.text.c_str());
    format::Manifest manifest(header);
    std::memcpy(manifest.bytes(), file.data() + header.manifest_offset, header.manifest_size);
    if (const format::Finding found = manifest.check(header)) fail("the compiler wrote a file%s", found.text.c_str());
}

void play(const Bytes& input) {
    static const File network, model;
    network.put(input);
    mlir::DialectRegistry registry;
    registry.insert<mlir::func::FuncDialect, xnn::XnnDialect, xbar::XbarDialect>();
    mlir::MLIRContext context(registry, mlir::MLIRContext::Threading::DISABLED);
    context.loadAllAvailableDialects();
    std::string why;
    const mlir::ScopedDiagnosticHandler handler(&context, [&](mlir::Diagnostic& said) { why += said.str(); });
    compiler::Store& store = xnn::store_of(&context);
    mlir::OwningOpRef<mlir::ModuleOp> module;
    try {
        module = compiler::import_onnx(context, store, network.path());
    } catch (const compiler::ImportError& refused) {
        if (std::string_view(refused.what()).find("wrong module") != std::string_view::npos) fail("%s", refused.what());
        return;
    }
    if (!is_small(*module)) return;
    mlir::PassManager passes(&context);
    compiler::build_layers_pipeline(passes, compiler::kOptimizationMax);
    compiler::build_calls_pipeline(passes, compiler::kOptimizationMax);
    compiler::build_memory_pipeline(passes);
    if (mlir::failed(passes.run(*module))) {
        if (why.empty()) fail("a pass failed without a reason");
        return;
    }
    compiler::emit(*module, store, {"network", "fuzzer", ""}, model.path());
    load(model.get());
}

}  // namespace
}  // namespace sidra::fuzz

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
    sidra::fuzz::play({data, data + size});
    return 0;
}
