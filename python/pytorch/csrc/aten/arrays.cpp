// SPDX-License-Identifier: MIT
#include "aten/arrays.h"

#include <ATen/MemoryOverlap.h>
#include <ATen/ops/empty.h>
#include <sidra/uapi/sidra_vector.h>

#include "aten/fallback.h"
#include "profiler/profile.h"
#include "runtime/block.h"
#include "runtime/device.h"
#include "runtime/error.h"

namespace sidra::pytorch {

std::optional<sidra_type> type_of(at::ScalarType dtype) {
    switch (dtype) {
        case at::kByte:
            return SIDRA_U8;
        case at::kChar:
            return SIDRA_S8;
        case at::kShort:
            return SIDRA_S16;
        case at::kInt:
            return SIDRA_S32;
        case at::kLong:
            return SIDRA_S64;
        case at::kBool:
            return SIDRA_BOOL;
        case at::kHalf:
            return SIDRA_F16;
        case at::kBFloat16:
            return SIDRA_BF16;
        case at::kFloat:
            return SIDRA_F32;
        default:
            return std::nullopt;
    }
}

std::optional<sidra_type> bits_of(size_t size) {
    switch (size) {
        case 1:
            return SIDRA_U8;
        case 2:
            return SIDRA_S16;
        case 4:
            return SIDRA_S32;
        case 8:
            return SIDRA_S64;
        default:
            return std::nullopt;
    }
}

bool is_float(at::ScalarType dtype) { return dtype == at::kFloat || dtype == at::kHalf || dtype == at::kBFloat16; }

bool is_narrow(at::ScalarType dtype) {
    return dtype == at::kByte || dtype == at::kChar || dtype == at::kShort || dtype == at::kBool;
}

std::optional<Sizes> sizes_of(const at::TensorIteratorBase& iter) {
    if (iter.ndim() > 4) return std::nullopt;
    Sizes sizes = {1, 1, 1, 1};
    for (int d = 0; d < iter.ndim(); ++d) {
        const int64_t size = iter.shape()[static_cast<size_t>(d)];
        if (size < 1 || size > static_cast<int64_t>(SIDRA_VECTOR_SIZE_MAX)) return std::nullopt;
        sizes[static_cast<size_t>(3 - d)] = static_cast<uint32_t>(size);
    }
    return sizes;
}

sidra_array array_of(const at::TensorIteratorBase& iter, int arg, sidra_type type) {
    const at::TensorBase& tensor = iter.tensor_base(arg);
    const sidra_ref first = place_of(tensor);
    const auto offset =
        static_cast<const std::byte*>(iter.data_ptr(arg)) - static_cast<const std::byte*>(tensor.const_data_ptr());
    sidra_array array = {
        {first.buffer, first.offset + static_cast<size_t>(offset)}, type, 0, {0, 0, 0, 0}, {nullptr, 0}, {}};
    for (int d = 0; d < iter.ndim(); ++d)
        array.stride[3 - d] = static_cast<size_t>(iter.strides(arg)[static_cast<size_t>(d)]);
    return array;
}

sidra_array low_word(const sidra_array& array) {
    sidra_array word = array;
    word.type = SIDRA_S32;
    return word;
}

sidra_array high_word(const sidra_array& array) {
    sidra_array word = low_word(array);
    word.at.offset += sizeof(uint32_t);
    return word;
}

StoredWords::StoredWords(const Sizes& sizes, c10::Device device)
    : sizes_(sizes),
      words_(at::empty({2, int64_t{sizes[0]} * sizes[1] * sizes[2] * sizes[3]}, at::device(device).dtype(at::kInt))) {}

sidra_array StoredWords::word(int number) const {
    sidra_array array = dense(words_.select(0, number), sizes_);
    if (sizes_[3] == 1) array.stride[3] = 0;  // as a scalar's
    return array;
}

bool StoredWords::place(const sidra_array& into) const {
    const OnStream stream(words_.device().index(), "sidra::copy", words_.nbytes());
    const sidra_array from[2] = {low(), high()}, to[2] = {low_word(into), high_word(into)};
    return queued(sidra_convert(stream, sizes_.data(), &to[0], &from[0])) &&
           queued(sidra_convert(stream, sizes_.data(), &to[1], &from[1]));
}

std::optional<Sizes> rows_of(const at::Tensor& tensor) {
    const int64_t columns = tensor.dim() == 0 ? 1 : tensor.size(-1);
    const int64_t rows = columns == 0 ? 0 : tensor.numel() / columns;
    constexpr int64_t kMax = SIDRA_VECTOR_SIZE_MAX;
    if (rows < 1 || rows > kMax || columns > kMax) return std::nullopt;
    return Sizes{1, 1, static_cast<uint32_t>(rows), static_cast<uint32_t>(columns)};
}

sidra_array dense(const at::Tensor& tensor, const Sizes& sizes) {
    return sidra_operand_dense(place_of(tensor), *type_of(tensor.scalar_type()), sizes.data());
}

sidra_array row(const at::Tensor& tensor) { return dense(tensor, {1, 1, 1, static_cast<uint32_t>(tensor.numel())}); }

sidra_array of_rows(const at::Tensor& tensor) {
    const size_t stride = tensor.numel() == 1 ? 0 : tensor.itemsize();
    return {place_of(tensor), *type_of(tensor.scalar_type()), 0, {0, 0, stride, 0}, {nullptr, 0}, {}};
}

bool overlaps(const at::Tensor& out, const at::Tensor& in) {
    return at::has_internal_overlap(out) == at::MemOverlap::Yes ||
           at::get_overlap_status(out, in) == at::MemOverlapStatus::Partial;
}

bool run_program(VectorProgram& program, c10::DeviceIndex index, const Sizes& sizes,
                 std::span<const sidra_vector_operand> operands, std::span<const uint32_t> params) {
    auto call = SIDRA_INIT(sidra_vector);
    call.program = program.on(index);
    std::copy(sizes.begin(), sizes.end(), call.size);
    std::copy(params.begin(), params.end(), call.param);
    call.operands = operands.data();
    call.operand_count = static_cast<uint32_t>(operands.size());
    return queued(sidra_vector_async(OnStream(index, "sidra::vector"), &call));
}

bool queued(sidra_status status) {
    if (status == SIDRA_ERROR_INVALID_ARGUMENT) return false;
    check(status);
    count_native();
    return true;
}

}  // namespace sidra::pytorch
