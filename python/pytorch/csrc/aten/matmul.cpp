// SPDX-License-Identifier: MIT
#include "aten/matmul.h"

#include "aten/arrays.h"
#include "aten/programs.h"
#include "profiler/profile.h"
#include "residency/residency.h"
#include "runtime/block.h"
#include "runtime/device.h"
#include "runtime/error.h"

namespace sidra::pytorch {
namespace {

// A factor or result of up to two batch dimensions; `batches` of a single matrix repeat it.
sidra_vector_operand operand_of(const at::Tensor& tensor) {
    sidra_vector_operand operand = {
        place_of(tensor), *type_of(tensor.scalar_type()), 0, {0, 0, 0, 0}, {nullptr, 0}, {}};
    for (int64_t d = 0; d < tensor.dim(); ++d) {
        const int64_t stride = tensor.size(d) == 1 ? 0 : tensor.stride(d);
        operand.stride[static_cast<size_t>(4 - tensor.dim() + d)] = static_cast<size_t>(stride) * tensor.itemsize();
    }
    return operand;
}

// The chip reads factors by rows or by columns of adjacent elements.
at::Tensor as_factor(const at::Tensor& tensor) {
    const auto adjacent = [&](int64_t d) { return tensor.size(d) == 1 || tensor.stride(d) <= 1; };
    return adjacent(-1) || adjacent(-2) ? tensor : tensor.contiguous();
}

// A row becomes u8 codes: its smallest value 0, its largest 255, and zero a code of its own.
constexpr const char* kQuantiseRows = R"(pass:
    v0 = load input
    s0 = reduce_min v0
    s1 = reduce_max v0
    s2 = min s0, 0.0
    s3 = max s1, 0.0
    s4 = sub s3, s2
    s5 = max s4, 1e-30
    s6 = div s5, 255.0
    s7 = div 255.0, s5
    s8 = mul s2, s7
    s9 = round s8
    s10 = neg s9
pass:
    v0 = load input
    v1 = fma v0, s7, s10
    store codes, v1
epilogue:
pass:
    v0 = load sums
    v1 = load o0
    v2 = fma v1, s9, v0
    v3 = load o1
    v4 = mul v3, s6
    v5 = load o2
    v6 = fma v2, v4, v5
    store o3, v6
)";

}  // namespace

bool product(VectorProgram& program, const at::Tensor& out, const at::Tensor& a, const at::Tensor& b,
             const at::Tensor& extra, float p0, float p1) {
    const at::ScalarType type = a.scalar_type();
    if (!is_float(type) || b.scalar_type() != type || !is_float(out.scalar_type()) || out.dim() > 4) return false;
    if (a.size(-1) != b.size(-2)) return false;
    if (out.numel() == 0 || a.numel() == 0 || (extra.defined() && !is_float(extra.scalar_type()))) return false;
    if (overlaps(out, extra.defined() ? extra : out)) return false;
    const at::Tensor left = as_factor(a), right = as_factor(b);
    std::array<sidra_vector_operand, 4> operands = {operand_of(left), operand_of(right), operand_of(out), {}};
    auto call = SIDRA_INIT(sidra_matmul);
    call.operand_count = 3;
    if (extra.defined()) operands[call.operand_count++] = operand_of(extra.expand(out.sizes()));
    const c10::DeviceIndex index = out.device().index();
    call.program = program.on(index);
    call.param[0] = sidra_param_f32(p0), call.param[1] = sidra_param_f32(p1);
    call.m = static_cast<uint32_t>(out.size(-2)), call.n = static_cast<uint32_t>(out.size(-1));
    call.k = static_cast<uint32_t>(a.size(-1));
    for (int64_t d = 0; d < out.dim() - 2; ++d) call.batch[4 - out.dim() + d] = static_cast<uint32_t>(out.size(d));
    call.operands = operands.data();
    if (!queued(sidra_matmul_async(OnStream(index, "sidra::matmul"), &call))) return false;
    mark_written(out);
    return true;
}

bool digital_product(const at::Tensor& out, const at::Tensor& a, const at::Tensor& b, const at::Tensor& addend,
                     float beta, float alpha) {
    static VectorProgram plain("pass:\n v0 = load sums\n store o2, v0\n");
    static VectorProgram scaled("pass:\n v0 = load sums\n v1 = mul v0, p0\n store o2, v1\n");
    static VectorProgram added(
        "pass:\n v0 = load sums\n v1 = mul v0, p0\n v2 = load o3\n v3 = fma v2, p1, v1\n store o2, v3\n");
    if (addend.defined() && beta != 0) return product(added, out, a, b, addend, alpha, beta);
    return product(alpha == 1 ? plain : scaled, out, a, b, {}, alpha);
}

namespace {

bool takes(const at::Tensor& out, const at::Tensor& in, const at::Tensor& weight, const at::Tensor& bias,
           const at::Tensor& scale) {
    return matmul_mode() == MatmulMode::kInt8 && out.numel() > 0 && is_float(in.scalar_type()) &&
           (scale.defined() ? weight.scalar_type() == at::kChar : is_float(weight.scalar_type())) &&
           is_float(out.scalar_type()) && (!bias.defined() || is_float(bias.scalar_type()));
}

// out: as many rows as there are windows, dense.
bool run_layer(const at::Tensor& out, const Resident& on, const sidra_windows& windows, const at::Tensor& bias,
               const at::Tensor& scale) {
    static VectorProgram program(kQuantiseRows);
    const Sizes row_sizes = {1, 1, 1, on.n};
    const at::Tensor addend = bias.defined() ? bias.contiguous() : bias;
    const at::Tensor factor = scale.defined() ? scale.contiguous() : scale;
    const sidra_ref to = place_of(out);
    const Sizes sizes = {windows.images, windows.rows, windows.columns, on.n};
    const sidra_vector_operand operands[] = {
        sidra_operand_dense(on.sums, SIDRA_S32, row_sizes.data()),
        scale.defined() ? row(factor) : sidra_operand_dense(on.scale, SIDRA_F32, row_sizes.data()),
        bias.defined() ? row(addend) : sidra_operand_dense(on.zeros, SIDRA_F32, row_sizes.data()),
        sidra_operand_dense(to, *type_of(out.scalar_type()), sizes.data()),
    };
    const c10::DeviceIndex index = out.device().index();
    auto call = SIDRA_INIT(sidra_layer);
    call.program = program.on(index);
    call.windows = windows;
    call.windows.codes = SIDRA_U8;
    call.operands = operands;
    call.operand_count = 4;
    if (!queued(sidra_layer_async(OnStream(index, "sidra::layer"), on.weights, &call))) return false;
    mark_written(out);
    return true;
}

}  // namespace

bool crossbar_product(const at::Tensor& out, const at::Tensor& rows, const at::Tensor& matrix, const at::Tensor& bias,
                      const at::Tensor& scale) {
    if (!takes(out, rows, matrix, bias, scale)) return false;
    const std::shared_ptr<const Resident> on = resident(matrix);
    if (on == nullptr) return false;
    const at::Tensor in = rows.contiguous();
    return run_layer(out, *on,
                     sidra_windows_matrix(place_of(in), *type_of(in.scalar_type()),
                                          static_cast<uint32_t>(in.numel() / on->k), on->k),
                     bias, scale);
}

bool crossbar_convolution(const at::Tensor& out, const at::Tensor& images, const at::Tensor& kernel,
                          const at::Tensor& bias, const Windows& of, const at::Tensor& scale) {
    if (!takes(out, images, kernel, bias, scale)) return false;
    const std::shared_ptr<const Resident> on = resident(kernel);
    if (on == nullptr) return false;
    const at::Tensor in = images.contiguous(at::MemoryFormat::ChannelsLast);
    const auto size = [](int64_t value) { return static_cast<uint32_t>(value); };
    sidra_windows windows =
        sidra_windows_image(place_of(in), *type_of(in.scalar_type()), size(in.size(0)), size(in.size(2)),
                            size(in.size(3)), size(in.size(1)), size(kernel.size(2)), size(kernel.size(3)));
    windows.stride_h = size(of.stride_h), windows.stride_w = size(of.stride_w);
    windows.pad_h = size(of.pad_h), windows.pad_w = size(of.pad_w);
    windows.dilation_h = size(of.dilation_h), windows.dilation_w = size(of.dilation_w);
    windows.rows = size(of.rows), windows.columns = size(of.columns);
    return run_layer(out, *on, windows, bias, scale);
}

}  // namespace sidra::pytorch
