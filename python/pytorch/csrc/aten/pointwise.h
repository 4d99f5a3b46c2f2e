// SPDX-License-Identifier: MIT
// Operators that compute each element by itself, as vector programs.
#ifndef SIDRA_PYTORCH_POINTWISE_H
#define SIDRA_PYTORCH_POINTWISE_H

#include <ATen/TensorIterator.h>
#include <c10/core/Scalar.h>

#include <array>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>

#include "aten/programs.h"

namespace sidra::pytorch {

// A pointwise function with its programs: for floats and for s32, and for each choice of inputs that are numbers.
class Pointwise {
   public:
    static constexpr int kInputsMax = 3;

    // As in pointwise.inc, with c for a third input, and p, q for `numbers`. integers: "" for none. compares: the mask
    // t is the result.
    constexpr Pointwise(const char* floats, const char* integers, bool compares = false)
        : floats_(floats), integers_(integers), compares_(compares) {}

    // Queues it for the iterator's output 0 and inputs. type: in which it computes, where the iterator has no common
    // one. False: the chip does not take these types, or this shape.
    bool run(at::TensorIteratorBase& iter, std::span<const c10::Scalar> numbers = {},
             std::optional<at::ScalarType> type = {});

   private:
    VectorProgram& program(bool integers, unsigned scalars, int inputs);
    std::string text(bool integers, unsigned scalars, int inputs) const;

    const char* floats_;
    const char* integers_;
    bool compares_;
    std::mutex lock_;
    std::array<std::atomic<VectorProgram*>, size_t{2} << kInputsMax> programs_{};
};

}  // namespace sidra::pytorch

#endif
