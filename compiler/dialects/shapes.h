// SPDX-License-Identifier: MIT
// Arithmetic of shapes.
#ifndef SIDRA_COMPILER_SHAPES_H
#define SIDRA_COMPILER_SHAPES_H

#include <llvm/ADT/ArrayRef.h>
#include <llvm/ADT/SmallVector.h>

#include <cstdint>

namespace sidra::xnn {

class WindowsAttr;

// Makes `shape` that to which it and `other` broadcast, as in NumPy. False: they do not.
bool broadcast(llvm::SmallVectorImpl<int64_t>& shape, llvm::ArrayRef<int64_t> other);

// How many windows fit into `size` pixels, in dimension 0 (height) or 1 (width).
int64_t window_count(int64_t size, WindowsAttr windows, unsigned dimension);

// Elements between neighbours in each dimension of a dense array.
llvm::SmallVector<int64_t> dense_strides(llvm::ArrayRef<int64_t> shape);

}  // namespace sidra::xnn

#endif
