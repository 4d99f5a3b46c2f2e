// SPDX-License-Identifier: MIT
// What the chip does not compute runs on the CPU: it waits for the stream, and computes on the same pages.
#ifndef SIDRA_PYTORCH_FALLBACK_H
#define SIDRA_PYTORCH_FALLBACK_H

#include <ATen/Operators.h>
#include <ATen/core/boxing/KernelFunction.h>
#include <ATen/core/dispatch/Dispatcher.h>
#include <ATen/native/CPUFallback.h>

#include <chrono>
#include <cstdint>
#include <string>
#include <vector>

#include "profiler/profile.h"

namespace sidra::pytorch {

void fallback(const c10::OperatorHandle& op, torch::jit::Stack* stack);

// For native kernels that do not take a type or shape: FALL_BACK(op, overload)(arguments...).
#define SIDRA_FALL_BACK(name) at::native::call_fallback_fn<&::sidra::pytorch::fallback, ATEN_OP(name)>::call
#define SIDRA_FALL_BACK_SYMINT(name) \
    at::native::call_fallback_fn_symint<&::sidra::pytorch::fallback, ATEN_OP(name)>::call
#define SIDRA_FALL_BACK2(name, overload) \
    at::native::call_fallback_fn<&::sidra::pytorch::fallback, ATEN_OP2(name, overload)>::call

// For operators that have no kernel of the CPU under their name. begin waits for the stream (and throws where fallbacks
// are errors); end brings a result of the CPU to the device.
struct FallbackStart {
    const char* op;
    c10::DeviceIndex device;
    std::chrono::steady_clock::time_point at;
    OnHost span;
};
FallbackStart begin_fallback(const char* op, c10::DeviceIndex device);
at::Tensor end_fallback(const FallbackStart& start, const at::Tensor& result);

enum class FallbackMode { kWarn, kSilent, kError };
FallbackMode fallback_mode();
void set_fallback_mode(FallbackMode mode);

struct FallbackCount {
    std::string op;
    uint64_t calls = 0;
    uint64_t in_place = 0;  // results that the CPU wrote into the device's pages, or views of them
    uint64_t copied = 0;    // results that had to be copied there, since the CPU's operator allocates them itself
    uint64_t nanoseconds = 0;
};
std::vector<FallbackCount> fallback_counts();
void reset_fallback_counts();

// A call that ran on the chip, for the share of the fallbacks.
void count_native();
uint64_t native_calls();

}  // namespace sidra::pytorch

#endif
