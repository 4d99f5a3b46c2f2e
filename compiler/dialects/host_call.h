// SPDX-License-Identifier: MIT
// Calls of the host's functions (libsidra/model/host.h) in types of MLIR.
#ifndef SIDRA_COMPILER_HOST_CALL_H
#define SIDRA_COMPILER_HOST_CALL_H

#include <llvm/ADT/ArrayRef.h>
#include <mlir/IR/BuiltinTypes.h>
#include <mlir/IR/TypeRange.h>

#include <string>

#include "host.h"

namespace sidra::xnn {

struct HostCall {
    const format::HostFunction* function = nullptr;
    format::HostCall call;
    std::string problem;  // as the end of a sentence that begins with the operation; "": none, and it can be run
};

// Of arrays with these types of tensors.
HostCall host_call(llvm::StringRef function, mlir::TypeRange inputs, mlir::Type output,
                   llvm::ArrayRef<int64_t> parameters);

}  // namespace sidra::xnn

#endif
