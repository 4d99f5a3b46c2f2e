// SPDX-License-Identifier: MIT
// The steps of a diagnosis that compute.
#include <fmt/format.h>
#include <sidra/sidra.h>

#include <cstring>
#include <memory>
#include <stdexcept>
#include <vector>

#include "steps.h"

namespace sidra::smi_tool {
namespace {

constexpr uint32_t kInputs = 300, kOutputs = 150;  // 2 x 2 crossbars, none of them full
constexpr size_t kCopyBytes = 1 << 20;
constexpr uint64_t kStepNs = 60'000'000'000;

void check(sidra_status status) {
    if (status != SIDRA_OK) throw std::runtime_error(sidra_last_error());
}

template <typename T>
using Owned = std::unique_ptr<T, sidra_status (*)(T*)>;

// Reproducible numbers: xorshift.
class Numbers {
   public:
    uint8_t next() {
        state_ ^= state_ << 13;
        state_ ^= state_ >> 17;
        state_ ^= state_ << 5;
        return static_cast<uint8_t>(state_ >> 8);
    }

   private:
    uint32_t state_ = 0x51d7a;
};

struct Buffer {
    Buffer(sidra_context* context, size_t size, sidra_buffer_flags flags) : handle(nullptr, sidra_buffer_destroy) {
        sidra_buffer* made = nullptr;
        check(sidra_buffer_create(context, size, flags, &made));
        handle.reset(made);
    }
    template <typename T>
    T* map() const {
        void* at = nullptr;
        check(sidra_buffer_map(handle.get(), &at));
        return static_cast<T*>(at);
    }
    Owned<sidra_buffer> handle;
};

std::string copy(sidra_context* context, sidra_stream* stream) {
    const Buffer from(context, kCopyBytes, SIDRA_BUFFER_HOST), chip(context, kCopyBytes, SIDRA_BUFFER_DEVICE),
        to(context, kCopyBytes, SIDRA_BUFFER_HOST);
    Numbers numbers;
    auto* const bytes = from.map<uint8_t>();
    for (size_t n = 0; n < kCopyBytes; ++n) bytes[n] = numbers.next();
    std::memset(to.map<uint8_t>(), 0, kCopyBytes);
    check(sidra_copy_async(stream, {chip.handle.get(), 0}, {from.handle.get(), 0}, kCopyBytes));
    check(sidra_copy_async(stream, {to.handle.get(), 0}, {chip.handle.get(), 0}, kCopyBytes));
    check(sidra_stream_synchronize(stream, sidra_deadline_after_ns(kStepNs)));
    const auto* const back = to.map<uint8_t>();
    for (size_t n = 0; n < kCopyBytes; ++n)
        if (back[n] != bytes[n])
            throw std::runtime_error(
                fmt::format("byte {} was read back as {:#x} instead of {:#x}", n, back[n], bytes[n]));
    return fmt::format("{} KiB copied to the chip and back", kCopyBytes >> 10);
}

std::string program(sidra_stream* stream, sidra_weights* weights, const std::vector<int8_t>& matrix) {
    check(sidra_weights_program_async(stream, weights));
    check(sidra_stream_synchronize(stream, sidra_deadline_after_ns(kStepNs)));
    std::vector<int8_t> cells(matrix.size());
    check(sidra_weights_read(stream, weights, cells.data(), kOutputs, sidra_deadline_after_ns(kStepNs)));
    for (size_t n = 0; n < matrix.size(); ++n)
        if (cells[n] != matrix[n])
            throw std::runtime_error(
                fmt::format("weight ({}, {}) is {} instead of {}", n / kOutputs, n % kOutputs, cells[n], matrix[n]));
    return fmt::format("{} weights programmed on 4 crossbars and read back", matrix.size());
}

std::string multiply(sidra_context* context, sidra_stream* stream, sidra_weights* weights,
                     const std::vector<int8_t>& matrix) {
    const Buffer in(context, kInputs, SIDRA_BUFFER_HOST), out(context, kOutputs * sizeof(int32_t), SIDRA_BUFFER_HOST);
    Numbers numbers;
    auto* const x = in.map<uint8_t>();
    for (uint32_t k = 0; k < kInputs; ++k) x[k] = numbers.next();
    sidra_mvm mvm = SIDRA_INIT(sidra_mvm);
    mvm.batch = 1;
    mvm.in_type = SIDRA_U8;
    mvm.out_type = SIDRA_S32;
    mvm.in = {in.handle.get(), 0};
    mvm.out = {out.handle.get(), 0};
    check(sidra_mvm_async(stream, weights, &mvm));
    check(sidra_stream_synchronize(stream, sidra_deadline_after_ns(kStepNs)));
    const auto* const y = out.map<int32_t>();
    for (uint32_t n = 0; n < kOutputs; ++n) {
        int32_t exact = 0;
        for (uint32_t k = 0; k < kInputs; ++k) exact += x[k] * matrix[k * kOutputs + n];
        if (y[n] != exact) throw std::runtime_error(fmt::format("product {} is {} instead of {}", n, y[n], exact));
    }
    return fmt::format("{} x {}, all products exact", kInputs, kOutputs);
}

}  // namespace

bool compute_steps(Steps& steps, bool full) {
    Owned<sidra_device> device(nullptr, sidra_device_close);
    Owned<sidra_context> context(nullptr, sidra_context_destroy);
    Owned<sidra_stream> stream(nullptr, sidra_stream_destroy);
    Owned<sidra_weights> weights(nullptr, sidra_weights_destroy);
    std::vector<int8_t> matrix(kInputs * kOutputs);
    Numbers numbers;
    for (int8_t& weight : matrix) weight = static_cast<int8_t>(numbers.next() % 255 - 127);
    const bool opened = steps.run("open", [&] {
        sidra_device* chip = nullptr;
        check(sidra_device_open(0, nullptr, &chip));
        device.reset(chip);
        sidra_context* made = nullptr;
        check(sidra_context_create(device.get(), &made));
        context.reset(made);
        sidra_stream* queue = nullptr;
        check(sidra_stream_create(context.get(), nullptr, &queue));
        stream.reset(queue);
        sidra_device_info info = SIDRA_INIT(sidra_device_info);
        check(sidra_device_get_info(device.get(), &info));
        return fmt::format("{} through the {} transport", info.name, info.transport);
    });
    if (!opened || !full) return opened;
    return steps.run("copy", [&] { return copy(context.get(), stream.get()); }) && steps.run("program", [&] {
        sidra_weights* made = nullptr;
        check(sidra_weights_create_s8(context.get(), kInputs, kOutputs, matrix.data(), kOutputs, nullptr, nullptr,
                                      &made));
        weights.reset(made);
        return program(stream.get(), weights.get(), matrix);
    }) && steps.run("multiply", [&] { return multiply(context.get(), stream.get(), weights.get(), matrix); });
}

}  // namespace sidra::smi_tool
