// SPDX-License-Identifier: MIT
// The library's own programs: behind sidra/functions.h, and for products without a program.
#ifndef SIDRA_FUNCTION_PROGRAMS_H
#define SIDRA_FUNCTION_PROGRAMS_H

#include <array>
#include <cstdint>
#include <memory>

#include "vector_program.h"

namespace sidra {

// Names that end in Int compute in s32, the others in f32.
enum class Function : uint8_t {
#define SIDRA_FUNCTION(name, text) name,
#include "function_programs.inc"
#undef SIDRA_FUNCTION
    kCount
};

// All of them in one piece of device memory, for one context.
class FunctionPrograms {
   public:
    static sidra_status create(const char* call, sidra_context* context, std::shared_ptr<FunctionPrograms>* programs);

    const VectorProgram& operator[](Function function) const { return programs_[static_cast<size_t>(function)]; }

    // Before the destruction of its context, when no stream is left. On failure nothing has changed.
    sidra_status release(const char* call) { return memory_->release(call); }

   private:
    FunctionPrograms() = default;
    std::unique_ptr<DeviceMemory> memory_;
    std::array<VectorProgram, static_cast<size_t>(Function::kCount)> programs_;
};

// Makes the programs of a context, unless another thread has made them.
[[gnu::cold]] sidra_status make_function_programs(const char* call, sidra_context* context,
                                                  const FunctionPrograms** programs);

// The programs of a context; takes no lock once they exist.
inline sidra_status function_programs(const char* call, sidra_context* context, const FunctionPrograms** programs) {
    *programs = context->functions.load(std::memory_order_acquire);
    if (*programs != nullptr) [[likely]]
        return SIDRA_OK;
    return make_function_programs(call, context, programs);
}

}  // namespace sidra

#endif
