// SPDX-License-Identifier: MIT
#include "shapes.h"

#include "xnn.h"

namespace sidra::xnn {

bool broadcast(llvm::SmallVectorImpl<int64_t>& shape, llvm::ArrayRef<int64_t> other) {
    if (shape.size() < other.size()) shape.insert(shape.begin(), other.size() - shape.size(), 1);
    for (size_t d = 1; d <= other.size(); d++) {
        int64_t& mine = shape[shape.size() - d];
        const int64_t its = other[other.size() - d];
        if (mine == 1) mine = its;
        else if (its != 1 && its != mine) return false;
    }
    return true;
}

int64_t window_count(int64_t size, WindowsAttr windows, unsigned dimension) {
    const int64_t reach = (windows.getKernel()[dimension] - 1) * windows.getDilation()[dimension] + 1;
    const int64_t padded = size + windows.getBefore()[dimension] + windows.getAfter()[dimension];
    return padded < reach ? 0 : (padded - reach) / windows.getStride()[dimension] + 1;
}

llvm::SmallVector<int64_t> dense_strides(llvm::ArrayRef<int64_t> shape) {
    llvm::SmallVector<int64_t> strides(shape.size());
    int64_t stride = 1;
    for (size_t d = shape.size(); d-- > 0; stride *= shape[d]) strides[d] = stride;
    return strides;
}

}  // namespace sidra::xnn
