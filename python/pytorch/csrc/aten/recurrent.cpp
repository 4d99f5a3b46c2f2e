// SPDX-License-Identifier: MIT
// The cells of LSTM and GRU: the products are PyTorch's, and all else of a step is one vector program; of f64, which
// the chip has not, PyTorch's operators.
#include <ATen/ops/cat.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/empty_like.h>
#include <ATen/ops/zeros_like.h>
#include <torch/library.h>

#include "aten/arrays.h"
#include "aten/programs.h"
#include "profiler/profile.h"
#include "runtime/block.h"
#include "runtime/device.h"
#include "runtime/error.h"

namespace sidra::pytorch {
namespace {

// o0 to o3: gates i, f, g, o, which become their activations; o4 cell, o5 next cell, o6 next hidden state.
constexpr const char* kLstm = R"(pass:
    v0 = load o0
    v1 = sigmoid v0
    store o0, v1
    v2 = load o1
    v3 = sigmoid v2
    store o1, v3
    v4 = load o2
    v5 = tanh v4
    store o2, v5
    v6 = load o3
    v7 = sigmoid v6
    store o3, v7
    v8 = load o4
    v9 = mul v3, v8
    v10 = fma v1, v5, v9
    store o5, v10
    v11 = tanh v10
    v12 = mul v7, v11
    store o6, v12
)";

// o0 to o2: gates r, z, n of the input, which become their activations; o3 to o5: those of the hidden state; o6 hidden
// state, o7 the next one.
constexpr const char* kGru = R"(pass:
    v0 = load o0
    v1 = load o3
    v2 = add v0, v1
    v3 = sigmoid v2
    store o0, v3
    v4 = load o1
    v5 = load o4
    v6 = add v4, v5
    v7 = sigmoid v6
    store o1, v7
    v8 = load o2
    v9 = load o5
    v10 = fma v3, v9, v8
    v11 = tanh v10
    store o2, v11
    v12 = load o6
    v13 = sub v12, v11
    v14 = fma v7, v13, v11
    store o7, v14
)";

sidra_vector_operand columns_of(const at::Tensor& tensor, int64_t first) {
    const size_t stride = tensor.size(0) == 1 ? 0 : static_cast<size_t>(tensor.stride(0)) * tensor.itemsize();
    sidra_ref place = place_of(tensor);
    place.offset += static_cast<size_t>(first) * tensor.itemsize();
    return {place, *type_of(tensor.scalar_type()), 0, {0, 0, stride, tensor.itemsize()}, {nullptr, 0}, {}};
}

void run(VectorProgram& program, const at::Tensor& like, std::span<const sidra_vector_operand> operands) {
    auto call = SIDRA_INIT(sidra_vector);
    const c10::DeviceIndex index = like.device().index();
    call.program = program.on(index);
    call.size[0] = call.size[1] = 1;
    call.size[2] = static_cast<uint32_t>(like.size(0)), call.size[3] = static_cast<uint32_t>(like.size(1));
    call.operands = operands.data();
    call.operand_count = static_cast<uint32_t>(operands.size());
    check(sidra_vector_async(OnStream(index, "sidra::vector"), &call));
}

at::Tensor with_bias(const at::Tensor& gates, const std::optional<at::Tensor>& bias) {
    return bias && bias->defined() ? gates + *bias : gates;
}

std::tuple<at::Tensor, at::Tensor, at::Tensor> lstm_cell(const at::Tensor& input_gates, const at::Tensor& hidden_gates,
                                                         const at::Tensor& cell,
                                                         const std::optional<at::Tensor>& input_bias,
                                                         const std::optional<at::Tensor>& hidden_bias) {
    static VectorProgram program(kLstm);
    const DeviceScope scope(input_gates.device());
    at::Tensor gates = with_bias(with_bias(input_gates + hidden_gates, input_bias), hidden_bias).contiguous();
    const at::Tensor from = cell.contiguous();
    if (!is_float(gates.scalar_type())) {
        const std::vector<at::Tensor> part = gates.chunk(4, 1);
        const at::Tensor &i = part[0].sigmoid_(), &f = part[1].sigmoid_(), &g = part[2].tanh_(),
                         &o = part[3].sigmoid_();
        const at::Tensor next = f * from + i * g;
        return {o * next.tanh(), next, gates};
    }
    at::Tensor to = at::empty_like(from), hidden = at::empty_like(from);
    if (from.numel() > 0) {
        const int64_t n = from.size(1);
        run(program, from,
            std::array{columns_of(gates, 0), columns_of(gates, n), columns_of(gates, 2 * n), columns_of(gates, 3 * n),
                       columns_of(from, 0), columns_of(to, 0), columns_of(hidden, 0)});
    }
    return {hidden, to, gates};
}

std::tuple<at::Tensor, at::Tensor, at::Tensor> lstm_cell_backward(const std::optional<at::Tensor>& grad_hidden,
                                                                  const std::optional<at::Tensor>& grad_cell,
                                                                  const at::Tensor& from, const at::Tensor& to,
                                                                  const at::Tensor& gates, bool has_bias) {
    const DeviceScope scope(gates.device());
    const std::vector<at::Tensor> part = gates.chunk(4, 1);
    const at::Tensor &i = part[0], &f = part[1], &g = part[2], &o = part[3];
    const at::Tensor tanh = to.tanh();
    at::Tensor cell = grad_cell && grad_cell->defined() ? *grad_cell : at::zeros_like(to);
    at::Tensor output = at::zeros_like(to);
    if (grad_hidden && grad_hidden->defined()) {
        cell = cell + *grad_hidden * o * (1 - tanh * tanh);
        output = *grad_hidden * tanh * o * (1 - o);
    }
    const at::Tensor all =
        at::cat({cell * g * i * (1 - i), cell * from * f * (1 - f), cell * i * (1 - g * g), output}, 1);
    return {all, cell * f, has_bias ? all.sum(0) : at::Tensor()};
}

std::tuple<at::Tensor, at::Tensor> gru_cell(const at::Tensor& input_gates, const at::Tensor& hidden_gates,
                                            const at::Tensor& hidden, const std::optional<at::Tensor>& input_bias,
                                            const std::optional<at::Tensor>& hidden_bias) {
    static VectorProgram program(kGru);
    const DeviceScope scope(input_gates.device());
    const at::Tensor from = hidden.contiguous(), recurrent = with_bias(hidden_gates, hidden_bias).contiguous();
    at::Tensor gates = with_bias(input_gates, input_bias).clone(at::MemoryFormat::Contiguous),
               to = at::empty_like(from);
    const int64_t n = from.size(1);
    if (!is_float(gates.scalar_type())) {
        const std::vector<at::Tensor> part = gates.chunk(3, 1), other = recurrent.chunk(3, 1);
        const at::Tensor &r = part[0].add_(other[0]).sigmoid_(), &z = part[1].add_(other[1]).sigmoid_(),
                         &taken = part[2].add_(r * other[2]).tanh_();
        to = taken + z * (from - taken);
    } else if (from.numel() > 0) {
        run(program, from,
            std::array{columns_of(gates, 0), columns_of(gates, n), columns_of(gates, 2 * n), columns_of(recurrent, 0),
                       columns_of(recurrent, n), columns_of(recurrent, 2 * n), columns_of(from, 0), columns_of(to, 0)});
    }
    // For the backward pass: r, z, n, the hidden state, and what n took of it.
    return {to, at::cat({gates, from, recurrent.narrow(1, 2 * n, n)}, 1)};
}

std::tuple<at::Tensor, at::Tensor, at::Tensor, at::Tensor, at::Tensor> gru_cell_backward(const at::Tensor& grad,
                                                                                         const at::Tensor& workspace,
                                                                                         bool has_bias) {
    const DeviceScope scope(workspace.device());
    const std::vector<at::Tensor> part = workspace.chunk(5, 1);
    const at::Tensor &r = part[0], &z = part[1], &n = part[2], &hidden = part[3], &taken = part[4];
    const at::Tensor grad_n = grad * (1 - z) * (1 - n * n), grad_z = grad * (hidden - n) * z * (1 - z),
                     grad_r = grad_n * taken * r * (1 - r);
    const at::Tensor input = at::cat({grad_r, grad_z, grad_n}, 1), recurrent = at::cat({grad_r, grad_z, grad_n * r}, 1);
    return {input, recurrent, grad * z, has_bias ? input.sum(0) : at::Tensor(),
            has_bias ? recurrent.sum(0) : at::Tensor()};
}

TORCH_LIBRARY_IMPL(aten, PrivateUse1, m) {
    m.impl("_thnn_fused_lstm_cell", lstm_cell);
    m.impl("_thnn_fused_lstm_cell_backward_impl", lstm_cell_backward);
    m.impl("_thnn_fused_gru_cell", gru_cell);
    m.impl("_thnn_fused_gru_cell_backward", gru_cell_backward);
}

}  // namespace
}  // namespace sidra::pytorch
