// SPDX-License-Identifier: MIT
// Tensors as libsidra's arrays.
#ifndef SIDRA_PYTORCH_ARRAYS_H
#define SIDRA_PYTORCH_ARRAYS_H

#include <ATen/TensorIterator.h>
#include <ATen/core/Tensor.h>
#include <sidra/functions.h>
#include <sidra/sidra.h>

#include <array>
#include <cstdint>
#include <optional>
#include <span>

#include "aten/programs.h"

namespace sidra::pytorch {

using Sizes = std::array<uint32_t, 4>;

// The chip's type of a dtype; nothing: it has none (f64, complex numbers).
std::optional<sidra_type> type_of(at::ScalarType dtype);
// The type that moves elements of a size without looking at them.
std::optional<sidra_type> bits_of(size_t size);
// The types of which the chip computes in f32 what PyTorch computes in f32.
bool is_float(at::ScalarType dtype);
// The integers that are shorter than an s32, and bool.
bool is_narrow(at::ScalarType dtype);

// The space that an iterator goes over; nothing: it has more than four dimensions, or one too large.
std::optional<Sizes> sizes_of(const at::TensorIteratorBase& iter);
// Operand `arg` of the iterator over that space.
sidra_array array_of(const at::TensorIteratorBase& iter, int arg, sidra_type type);

// The words of the elements of an array of s64, as s32.
sidra_array low_word(const sidra_array& array);
sidra_array high_word(const sidra_array& array);

// Where a program stores the words of an array of s64. The chip refuses operands that interleave, so these are two
// dense arrays, which place() copies into the array.
class StoredWords {
   public:
    // For an array of this size, on this device.
    StoredWords(const Sizes& sizes, c10::Device device);
    sidra_array low() const { return word(0); }
    sidra_array high() const { return word(1); }
    bool place(const sidra_array& into) const;

   private:
    sidra_array word(int number) const;

    const Sizes sizes_;
    const at::Tensor words_;
};

// The tensor as a dense matrix of rows of its last dimension: {1, 1, rows, columns}. The tensor is contiguous. Nothing:
// too large, or empty.
std::optional<Sizes> rows_of(const at::Tensor& tensor);
sidra_array dense(const at::Tensor& tensor, const Sizes& sizes);
// One row, the same for all rows.
sidra_array row(const at::Tensor& tensor);
// A number for each row.
sidra_array of_rows(const at::Tensor& tensor);

// Whether elements of `out` share memory with each other, or with an element of `in` at another place. What is then an
// error the CPU's operator says; what is none, it computes.
bool overlaps(const at::Tensor& out, const at::Tensor& in);

// Queues a vector program on the current stream. False: the chip does not take the shapes.
bool run_program(VectorProgram& program, c10::DeviceIndex index, const Sizes& sizes,
                 std::span<const sidra_vector_operand> operands, std::span<const uint32_t> params = {});

// What a call of libsidra says: true if it was queued, false if the chip does not take such a shape, so the CPU has to.
// Everything else is thrown.
bool queued(sidra_status status);

}  // namespace sidra::pytorch

#endif
