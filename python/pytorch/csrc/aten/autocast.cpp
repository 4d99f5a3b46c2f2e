// SPDX-License-Identifier: MIT
// Autocast: the lists of operators that PyTorch keeps for all devices.
#include <ATen/autocast_mode.h>
#include <torch/library.h>

namespace sidra::pytorch {
namespace {

// Products in the lower precision, what loses digits in f32, and what takes several tensors in the widest type of them.
TORCH_LIBRARY_IMPL(aten, AutocastPrivateUse1, m) {
#define LOWER(...) KERNEL_PRIVATEUSEONE(__VA_ARGS__, lower_precision_fp)
#define FULL(...) KERNEL_PRIVATEUSEONE(__VA_ARGS__, fp32)
#define WIDEST(...) KERNEL_PRIVATEUSEONE(__VA_ARGS__, promote)
    AT_FORALL_LOWER_PRECISION_FP(LOWER)
    AT_FORALL_FP32(FULL)
    AT_FORALL_FP32_SET_OPT_DTYPE(FULL)
    AT_FORALL_PROMOTE(WIDEST)
#undef LOWER
#undef FULL
#undef WIDEST
}

}  // namespace
}  // namespace sidra::pytorch
