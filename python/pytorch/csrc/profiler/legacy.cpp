// SPDX-License-Identifier: MIT
// For PyTorch's older profiler, torch.autograd.profiler.profile(use_device="sidra"): it records an event at the
// beginning and at the end of each operator.
#include <torch/csrc/profiler/stubs/base.h>

#include <chrono>

#include "runtime/device.h"
#include "runtime/error.h"

namespace sidra::pytorch {
namespace {

using Recorded = torch::profiler::impl::ProfilerVoidEventStub;

struct Events final : torch::profiler::impl::ProfilerStubs {
    void record(c10::DeviceIndex* index, Recorded* event, int64_t* cpu_ns) const override {
        const c10::DeviceIndex current = current_device();
        sidra_event* made = nullptr;
        check(sidra_event_create(device(current).context(), SIDRA_EVENT_TIMING, &made));
        *event = Recorded(
            made, [](void* handle) { static_cast<void>(sidra_event_destroy(static_cast<sidra_event*>(handle))); });
        if (index != nullptr) *index = current;
        if (cpu_ns != nullptr)
            *cpu_ns = std::chrono::duration_cast<std::chrono::nanoseconds>(
                          std::chrono::system_clock::now().time_since_epoch())
                          .count();
        check(sidra_event_record(made, current_stream(current)));
    }
    // Microseconds.
    float elapsed(const Recorded* begin, const Recorded* end) const override {
        auto* const last = static_cast<sidra_event*>(end->get());
        check(sidra_event_synchronize(last, SIDRA_NEVER));
        int64_t ns = 0;
        check(sidra_event_elapsed(static_cast<sidra_event*>(begin->get()), last, &ns));
        return static_cast<float>(ns) / 1e3f;
    }
    // Ranges are for tools that watch a process from outside; there is none.
    void mark(const char*) const override {}
    void rangePush(const char*) const override {}
    void rangePop() const override {}
    bool enabled() const override { return true; }
    void onEachDevice(std::function<void(int)> call) const override {
        for (c10::DeviceIndex index = 0; index < device_count(); ++index) {
            if (!is_open(index)) continue;
            const DeviceScope scope(c10::Device(c10::DeviceType::PrivateUse1, index));
            call(index);
        }
    }
    void synchronize() const override {
        for (c10::DeviceIndex index = 0; index < device_count(); ++index) {
            if (is_open(index)) device(index).synchronize();
        }
    }
};

const bool registered = [] {
    torch::profiler::impl::registerPrivateUse1Methods(new Events);
    return true;
}();

}  // namespace
}  // namespace sidra::pytorch
