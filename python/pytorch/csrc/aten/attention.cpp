// SPDX-License-Identifier: MIT
// Scaled dot-product attention: two products with a softmax in the first one's epilogue.
#include <ATen/native/DispatchStub.h>
#include <ATen/native/transformers/attention.h>
#include <ATen/native/transformers/sdp_utils_cpp.h>
#include <ATen/ops/_safe_softmax.h>
#include <ATen/ops/empty.h>
#include <torch/library.h>

#include <cmath>

#include "aten/alias.h"
#include "aten/arrays.h"
#include "aten/matmul.h"
#include "aten/programs.h"
#include "residency/residency.h"
#include "runtime/block.h"
#include "runtime/device.h"

namespace sidra::pytorch {
namespace {

// Queries times transposed keys, for each head: softmax of the scores. o2 result, o3 mask, which is added; p0: scale.
// A query for which all keys are masked has zeros, as with PyTorch's _safe_softmax(): the bounds of s1 and s3 only
// change what would be NaN then.
constexpr const char* kMasked = R"(pass:
    v0 = load sums
    v1 = load o3
    v2 = fma v0, p0, v1
    store o2, v2
    s0 = reduce_max v2
    s1 = max s0, -3e38
pass:
    v0 = load o2
    v1 = sub v0, s1
    v2 = exp v1
    store o2, v2
    s2 = reduce_sum v2
    s3 = max s2, 1e-30
    s2 = div 1.0, s3
pass:
    v0 = load o2
    v1 = mul v0, s2
    store o2, v1
)";
constexpr const char* kPlain = R"(pass:
    v0 = load sums
    v1 = mul v0, p0
    store o2, v1
    s0 = reduce_max v1
pass:
    v0 = load o2
    v1 = sub v0, s0
    v2 = exp v1
    store o2, v2
    s1 = reduce_sum v2
    s2 = div 1.0, s1
pass:
    v0 = load o2
    v1 = mul v0, s2
    store o2, v1
)";

std::tuple<at::Tensor, at::Tensor, at::Tensor, at::Tensor, c10::SymInt, c10::SymInt, at::Tensor, at::Tensor, at::Tensor>
attention(const at::Tensor& query, const at::Tensor& key, const at::Tensor& value,
          const std::optional<at::Tensor>& bias, double, bool is_causal, bool, std::optional<double> scale_or_none) {
    static VectorProgram masked(kMasked), plain(kPlain);
    const DeviceScope scope(query.device());
    for (const at::Tensor& other : {key, value, bias.value_or(at::Tensor())})
        TORCH_CHECK(!other.defined() || other.device() == query.device(),
                    "attention: Expected all tensors to be on the same device, but the query is on ", query.device(),
                    " and another tensor on ", other.device(), "; move one with .to()");
    const float scale = static_cast<float>(scale_or_none.value_or(1 / std::sqrt(static_cast<double>(query.size(-1)))));
    at::Tensor mask = bias.value_or(at::Tensor());
    if (is_causal) {
        mask = at::full({query.size(2), key.size(2)}, -std::numeric_limits<float>::infinity(),
                        query.options().dtype(at::kFloat).device(at::kCPU))
                   .triu(1)
                   .to(query.device());
    }
    at::Tensor shares = at::empty({query.size(0), query.size(1), query.size(2), key.size(2)}, query.options());
    at::Tensor out =
        at::empty({query.size(0), query.size(2), query.size(1), value.size(3)}, query.options()).transpose(1, 2);
    const at::Tensor keys = key.transpose(-1, -2);
    if (!product(mask.defined() ? masked : plain, shares, query, keys, mask, scale) ||
        !digital_product(out, shares, value, {})) {
        at::Tensor products = at::matmul(query * scale, keys);
        if (mask.defined()) products = products + mask;
        out.copy_(at::matmul(mask.defined() ? at::_safe_softmax(products, -1) : at::softmax(products, -1), value));
    }
    const at::Tensor none;
    return {out, none, none, none, c10::SymInt(query.size(2)), c10::SymInt(key.size(2)), none, none, none};
}

}  // namespace

// Whether attention() takes the call; otherwise PyTorch computes it from products and a softmax, whose derivatives it
// knows.
int64_t choose(const at::Tensor& query, const at::Tensor& key, const at::Tensor& value,
               const std::optional<at::Tensor>& mask, double dropout, bool, std::optional<double>, bool enable_gqa) {
    const bool grad =
        at::GradMode::is_enabled() && (query.requires_grad() || key.requires_grad() || value.requires_grad() ||
                                       (mask && mask->defined() && mask->requires_grad()));
    const auto fits = [&](const at::Tensor& tensor) {
        // Dynamo calls this with sizes that are not known yet, and another time when they are.
        return tensor.dim() == 4 && !tensor.unsafeGetTensorImpl()->has_symbolic_sizes_strides() && tensor.numel() > 0 &&
               tensor.scalar_type() == query.scalar_type() && tensor.size(0) == query.size(0) &&
               tensor.size(1) == query.size(1);
    };
    const bool takes = !grad && !enable_gqa && dropout == 0 && is_float(query.scalar_type()) && fits(query) &&
                       fits(key) && fits(value) && matmul_mode() != MatmulMode::kCpu &&
                       (!mask || !mask->defined() || is_float(mask->scalar_type()) || mask->scalar_type() == at::kBool);
    return static_cast<int64_t>(takes ? sdp::SDPBackend::overrideable : sdp::SDPBackend::math);
}

namespace {

TORCH_LIBRARY_IMPL(aten, PrivateUse1, m) { m.impl("_scaled_dot_product_fused_attention_overrideable", attention); }

}  // namespace
}  // namespace sidra::pytorch

namespace at::native {
REGISTER_PRIVATEUSE1_DISPATCH(_fused_sdp_choice_stub, &sidra::pytorch::choose)
}
