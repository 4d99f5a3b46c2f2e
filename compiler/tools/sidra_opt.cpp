// SPDX-License-Identifier: MIT
// sidra-opt: runs passes on modules in MLIR's text form, for tests and for people who work on the compiler.
#include <mlir/Dialect/Func/IR/FuncOps.h>
#include <mlir/Tools/mlir-opt/MlirOptMain.h>

#include "passes.h"
#include "xbar.h"
#include "xnn.h"

int main(int argc, char** argv) {
    sidra::compiler::register_passes();
    mlir::DialectRegistry registry;
    registry.insert<mlir::func::FuncDialect, sidra::xnn::XnnDialect, sidra::xbar::XbarDialect>();
    return mlir::asMainReturnCode(mlir::MlirOptMain(argc, argv, "SIDRA's compiler passes\n", registry));
}
