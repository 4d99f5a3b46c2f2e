// SPDX-License-Identifier: MIT
// Constants: from messages of ONNX, and files beside the model, to attributes and the store.
#ifndef SIDRA_COMPILER_ONNX_TENSORS_H
#define SIDRA_COMPILER_ONNX_TENSORS_H

#include <llvm/Support/MemoryBuffer.h>

#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <string>

#include "build.h"
#include "proto.h"
#include "values/store.h"

namespace sidra::compiler {

// Constants of at least this many bytes go to the store, unless they are masks, indices or positions: masks and shapes
// are computed from them, which can be done here if they have at most xnn::kFoldLimit elements.
inline constexpr size_t kStoredBytes = 1024;

// The element type with a number of onnx::TensorProto::DataType. Throws BuildError if the chip has no such type.
mlir::Type element_type(mlir::MLIRContext* context, int data_type);

class Tensors {
   public:
    // `model` owns the messages, which the store shares.
    Tensors(Store& store, std::filesystem::path folder, std::shared_ptr<const void> model)
        : store_(store), folder_(std::move(folder)), model_(std::move(model)) {}

    mlir::Value constant(xnn::Build& build, const onnx::TensorProto& tensor);
    // The elements of a value, if it is a constant of at most `limit` elements, in the text or in the store.
    std::optional<xnn::Elements> elements(mlir::Value value, int64_t limit) const;

   private:
    // Bytes, and who keeps them.
    struct Kept {
        Bytes bytes;
        std::shared_ptr<const void> owner;
    };
    Kept external(const onnx::TensorProto& tensor, size_t size);
    Kept bytes(const onnx::TensorProto& tensor, mlir::RankedTensorType type);

    Store& store_;
    std::filesystem::path folder_;
    std::shared_ptr<const void> model_;
    std::map<std::string, std::shared_ptr<const llvm::MemoryBuffer>> files_;
};

}  // namespace sidra::compiler

#endif
