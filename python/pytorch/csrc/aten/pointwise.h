// SPDX-License-Identifier: MIT
// Operators that compute each element by itself, as vector programs.
#ifndef SIDRA_PYTORCH_POINTWISE_H
#define SIDRA_PYTORCH_POINTWISE_H

#include <ATen/TensorIterator.h>
#include <ATen/core/Scalar.h>

#include <array>
#include <mutex>
#include <optional>
#include <span>
#include <string>

#include "aten/long_arithmetic.h"
#include "aten/programs.h"

namespace sidra::pytorch {

// What a function computes for each kind of number, as in pointwise.inc, with c for a third input, and p, q for
// `numbers`. Empty: the chip does not compute it.
struct PointwiseText {
    const char* floats = "";
    const char* integers = "";  // s32
    const char* longs = "";     // s64: long_arithmetic.h
    bool compares = false;      // the mask t is the result
    bool small = false;         // `integers` gives the right bits for shorter integers and bool, too
};

// Whether a number is one of the type. What the CPU would wrap, round to an integer or refuse, it does.
bool fits(at::ScalarType type, const at::Scalar& number);

// A pointwise function with its programs: for each kind of number, and for each choice of inputs that are numbers.
class Pointwise {
   public:
    static constexpr int kInputsMax = 3;

    constexpr explicit Pointwise(const PointwiseText& text) : text_(text) {}

    // Queues it for the iterator's output 0 and inputs. type: in which it computes, where the iterator has no common
    // one. False: the chip does not take these types, or this shape.
    bool run(at::TensorIteratorBase& iter, std::span<const c10::Scalar> numbers = {},
             std::optional<at::ScalarType> type = {});

    // The same, and true if there is nothing to do.
    bool taken(at::TensorIteratorBase& iter, std::span<const c10::Scalar> numbers = {}) {
        return iter.numel() == 0 || run(iter, numbers);
    }

   private:
    enum class Kind { kFloats, kIntegers, kLongs };
    // Inputs, as bits: those that are numbers, and those that an s64 is made from.
    struct Variant {
        Kind kind;
        unsigned scalars, narrow;
        int inputs;
        size_t index() const { return ((static_cast<size_t>(kind) << kInputsMax | scalars) << kInputsMax) | narrow; }
    };
    std::optional<Kind> kind_of(at::ScalarType type) const;
    VectorProgram& program(const Variant& variant);
    std::string assembly(const Variant& variant) const;

    const PointwiseText text_;
    std::mutex lock_;
    std::array<std::atomic<VectorProgram*>, size_t{3} << 2 * kInputsMax> programs_{};
};

}  // namespace sidra::pytorch

#endif
