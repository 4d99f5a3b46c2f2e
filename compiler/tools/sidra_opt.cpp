// SPDX-License-Identifier: MIT
// sidra-opt: runs passes on modules in MLIR's text form, for tests and for people who work on the compiler.
// With --onnx-operators, it prints the operators of ONNX that the compiler imports, and in which operator sets.
#include <fmt/core.h>
#include <mlir/Dialect/Func/IR/FuncOps.h>
#include <mlir/Tools/mlir-opt/MlirOptMain.h>

#include <string_view>

#include "onnx/import.h"
#include "passes.h"
#include "xbar.h"
#include "xnn.h"

int main(int argc, char** argv) {
    if (argc == 2 && std::string_view(argv[1]) == "--onnx-operators") {
        fmt::print("{}", sidra::compiler::supported_operators());
        return 0;
    }
    sidra::compiler::register_passes();
    mlir::DialectRegistry registry;
    registry.insert<mlir::func::FuncDialect, sidra::xnn::XnnDialect, sidra::xbar::XbarDialect>();
    return mlir::asMainReturnCode(mlir::MlirOptMain(argc, argv, "SIDRA's compiler passes\n", registry));
}
