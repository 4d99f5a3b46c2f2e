// SPDX-License-Identifier: MIT
// Windows of images: ONNX has the channels before the pixels, the dialect has them last.
#ifndef SIDRA_COMPILER_ONNX_WINDOWS_H
#define SIDRA_COMPILER_ONNX_WINDOWS_H

#include "node.h"

namespace sidra::compiler {

// Images N x C x H x W as N x H x W x C, and back. They may have any number of dimensions besides images and channels,
// but at least one.
Value images_of(Build& b, Value input);
Value from_images(Build& b, Value images);
// Filters M x C x H x W, for images of as many dimensions, as H x W x C x M.
Value filters_of(Build& b, Value weights, Value input);

// The windows of a node: a number for each dimension of the images besides images and channels.
struct Windows {
    Shape kernel, stride, before, after, dilation;
};

// Of images N x H x W x C, from the node's attributes. `kernel` is that of the filters, if there are some.
Windows windows_of(Node& n, llvm::ArrayRef<int64_t> images, llvm::ArrayRef<int64_t> kernel);

// The windows of the chip have two dimensions. Those with more become several, and those with one get a second.
Value convolve(Build& b, Value images, Value filters, const Windows& windows, int64_t groups);
Value pool_windows(Build& b, xnn::Pooling pooling, Value images, const Windows& windows);

}  // namespace sidra::compiler

#endif
