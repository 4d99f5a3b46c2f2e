// SPDX-License-Identifier: MIT
// Windows of images: ONNX has the channels before the pixels, the dialect has them last.
#ifndef SIDRA_COMPILER_ONNX_WINDOWS_H
#define SIDRA_COMPILER_ONNX_WINDOWS_H

#include "node.h"

namespace sidra::compiler {

// Images N x C x H x W, or N x C x W (height 1), as N x H x W x C; and back to the rank that they had.
Value images_of(Build& b, Value input);
Value from_images(Build& b, Value images, int64_t rank);
// Filters M x C x H x W, or M x C x W, as H x W x C x M.
Value filters_of(Build& b, Value weights);

// The windows of a node, of two dimensions.
struct Windows {
    Shape kernel, stride, before, after, dilation;
    xnn::WindowsAttr in(Build& b) const { return b.windows(kernel, stride, before, after, dilation); }
};

// Of images N x H x W x C, from the node's attributes. `kernel` is that of the filters, if there are some. `rank` is
// that of the node's input.
Windows windows_of(Node& n, llvm::ArrayRef<int64_t> images, int64_t rank, llvm::ArrayRef<int64_t> kernel);

}  // namespace sidra::compiler

#endif
