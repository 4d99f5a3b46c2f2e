// SPDX-License-Identifier: MIT
// How PyTorch's core chooses devices and streams, and orders work with events.
#include <c10/core/impl/DeviceGuardImplInterface.h>
#include <torch/version.h>

#include <utility>

#include "profiler/profile.h"
#include "runtime/device.h"
#include "runtime/error.h"
#include "runtime/memory.h"

namespace sidra::pytorch {
namespace {

constexpr c10::DeviceType kType = c10::DeviceType::PrivateUse1;

c10::Stream make_stream(c10::DeviceIndex index, c10::StreamId id) {
    return c10::Stream(c10::Stream::UNSAFE, c10::Device(kType, index), id);
}

sidra_stream* handle_of(const c10::Stream& stream) { return device(stream.device_index()).stream(stream.id()); }

using Interface = c10::impl::DeviceGuardImplInterface;

struct Guard final : Interface {
    c10::DeviceType type() const override { return kType; }

    c10::Device exchangeDevice(c10::Device to) const override {
        return {kType, to.has_index() ? set_current_device(to.index()) : current_device()};
    }
    c10::Device getDevice() const override { return {kType, current_device()}; }
    void setDevice(c10::Device to) const override {
        if (to.has_index()) set_current_device(to.index());
    }
    void uncheckedSetDevice(c10::Device to) const noexcept override {
        try {
            setDevice(to);
        } catch (...) {  // the former device of this thread, so there is one
        }
    }
    c10::DeviceIndex deviceCount() const noexcept override { return device_count(); }

    // noexcept in PyTorch 2.6 only, where a device or stream that does not exist ends the process.
    c10::Stream getStream(c10::Device on) const
        noexcept(noexcept(std::declval<const Interface&>().getStream(on))) override {
        return make_stream(index_of(on), current_stream_id(index_of(on)));
    }
    c10::Stream getDefaultStream(c10::Device on) const override { return make_stream(index_of(on), 0); }
    c10::Stream getStreamFromGlobalPool(c10::Device on, bool high_priority) const override {
        return make_stream(index_of(on), device(index_of(on)).pool_stream(high_priority ? -1 : 0));
    }
    c10::Stream getNewStream(c10::Device on, int priority) const override {
        return make_stream(index_of(on), device(index_of(on)).pool_stream(priority));
    }
    c10::Stream exchangeStream(c10::Stream to) const
        noexcept(noexcept(std::declval<const Interface&>().exchangeStream(to))) override {
        static_cast<void>(handle_of(to));  // it exists
        return make_stream(to.device_index(), set_current_stream(to.device_index(), to.id()));
    }
    bool queryStream(const c10::Stream& stream) const override {
        require_not_dropped(stream.device_index(), stream.id());
        const sidra_status status = sidra_stream_query(handle_of(stream));
        if (status == SIDRA_ERROR_NOT_READY) return false;
        check(status);
        return true;
    }
    void synchronizeStream(const c10::Stream& stream) const override {
        synchronize_stream(stream.device_index(), stream.id());
    }
    void synchronizeDevice(const c10::DeviceIndex index) const override {
        if (is_open(index)) device(index).synchronize();
    }

    // An event is made at its first record, on the device of that stream.
    void record(void** event, const c10::Stream& stream, const c10::DeviceIndex,
                const c10::EventFlag flag) const override {
        require_not_dropped(stream.device_index(), stream.id());
        if (*event == nullptr) {
            const uint32_t flags = flag == c10::EventFlag::BACKEND_DEFAULT ? SIDRA_EVENT_TIMING : SIDRA_EVENT_DEFAULT;
            sidra_event* made = nullptr;
            check(sidra_event_create(device(stream.device_index()).context(), flags, &made));
            *event = made;
        }
        const sidra_status status = sidra_event_record(static_cast<sidra_event*>(*event), handle_of(stream));
        TORCH_CHECK(status != SIDRA_ERROR_WRONG_CONTEXT,
                    "the event is of another device than sidra:", static_cast<int>(stream.device_index()),
                    ", so stream ", stream.id(), " there cannot record it; make an event for each device");
        check(status);
    }
    // No chip sees events of another one, so for these the host waits.
    void block(void* event, const c10::Stream& stream) const override {
        if (event == nullptr) return;
        auto* const waited = static_cast<sidra_event*>(event);
        const sidra_status status =
            sidra_stream_wait_event(OnStream(stream.device_index(), stream.id(), "sidra::wait"), waited);
        check(status == SIDRA_ERROR_WRONG_CONTEXT ? sidra_event_synchronize(waited, SIDRA_NEVER) : status);
    }
    bool queryEvent(void* event) const override {
        if (event == nullptr) return true;
        const sidra_status status = sidra_event_query(static_cast<sidra_event*>(event));
        if (status == SIDRA_ERROR_NOT_READY) return false;
        check(status);
        return true;
    }
    void synchronizeEvent(void* event) const override {
        if (event == nullptr) return;
        const OnHost span(current_device(), HostWork::kSynchronize);
        check(sidra_event_synchronize(static_cast<sidra_event*>(event), SIDRA_NEVER));
    }
    void destroyEvent(void* event, const c10::DeviceIndex) const noexcept override {
        static_cast<void>(sidra_event_destroy(static_cast<sidra_event*>(event)));
    }
    double elapsedTime(void* start, void* end, const c10::DeviceIndex) const override {
        TORCH_CHECK(start != nullptr && end != nullptr, "elapsed_time: both events must be recorded first");
        int64_t ns = 0;
        check(sidra_event_elapsed(static_cast<sidra_event*>(start), static_cast<sidra_event*>(end), &ns));
        return static_cast<double>(ns) / 1e6;
    }
    void recordDataPtrOnStream(const c10::DataPtr& data, const c10::Stream& stream) const override {
        record_stream(data, stream);
    }

   private:
    static c10::DeviceIndex index_of(c10::Device on) { return on.has_index() ? on.index() : current_device(); }
};

C10_REGISTER_GUARD_IMPL(PrivateUse1, Guard);

}  // namespace
}  // namespace sidra::pytorch
