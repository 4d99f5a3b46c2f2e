// SPDX-License-Identifier: MIT
#include "aten/rows.h"

#include <ATen/TensorIterator.h>

#include "profiler/profile.h"
#include "runtime/block.h"
#include "runtime/device.h"

namespace sidra::pytorch {

std::optional<Rows> rows_along(const at::Tensor& out, const at::Tensor& in, int64_t dim) {
    if (in.numel() == 0 || out.dim() != in.dim() || !type_of(in.scalar_type()) || !type_of(out.scalar_type()) ||
        overlaps(out, in))
        return std::nullopt;
    if (in.dim() == 0) {
        const Sizes one = {1, 1, 1, 1};
        return Rows{one, dense(out, one), dense(in, one)};
    }
    const int64_t columns = in.size(dim);
    const at::TensorIterator iter = at::TensorIteratorConfig()
                                        .set_check_mem_overlap(false)
                                        .check_all_same_dtype(false)
                                        .resize_outputs(false)
                                        .add_output(out)
                                        .add_const_input(in)
                                        .declare_static_shape(in.sizes(), dim)
                                        .build();
    if (iter.ndim() > 3) return std::nullopt;
    const std::optional<Sizes> outer = sizes_of(iter);
    if (!outer || columns > int64_t{UINT32_MAX}) return std::nullopt;
    Rows rows = {{(*outer)[1], (*outer)[2], (*outer)[3], static_cast<uint32_t>(columns)},
                 array_of(iter, 0, *type_of(out.scalar_type())),
                 array_of(iter, 1, *type_of(in.scalar_type()))};
    const auto shift = [&](sidra_array& array, const at::Tensor& tensor) {
        for (int d = 0; d < 3; ++d)
            array.stride[d] = (*outer)[static_cast<size_t>(d) + 1] == 1 ? 0 : array.stride[d + 1];
        array.stride[3] = tensor.size(dim) == 1 ? 0 : static_cast<size_t>(tensor.stride(dim)) * tensor.itemsize();
    };
    shift(rows.out, out);
    shift(rows.in, in);
    return rows;
}

bool run_rows(RowFunction function, const at::Tensor& out, const at::Tensor& in, int64_t dim) {
    const std::optional<Rows> rows = rows_along(out, in, dim);
    if (!rows ||
        !queued(function(OnStream(out.device().index(), "sidra::rows"), rows->sizes.data(), &rows->out, &rows->in)))
        return false;
    mark_written(out);
    return true;
}

bool run_long_rows(VectorProgram& program, const at::Tensor& out, const at::Tensor& in, int64_t dim) {
    const std::optional<Rows> rows = rows_along(out, in, dim);
    if (!rows) return false;
    std::array<sidra_vector_operand, 4> operands;
    unsigned count = 0;
    if (rows->in.type == SIDRA_S64) {
        operands[count++] = low_word(rows->in);
        operands[count++] = high_word(rows->in);
    } else {
        operands[count++] = rows->in;
    }
    const bool one = rows->out.stride[3] == 0;
    const StoredWords words({rows->sizes[0], rows->sizes[1], rows->sizes[2], one ? 1 : rows->sizes[3]}, out.device());
    operands[count++] = words.low();
    operands[count++] = words.high();
    if (!run_program(program, out.device().index(), rows->sizes, {operands.data(), count}) || !words.place(rows->out))
        return false;
    mark_written(out);
    return true;
}

}  // namespace sidra::pytorch
