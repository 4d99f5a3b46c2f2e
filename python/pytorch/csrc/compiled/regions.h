// SPDX-License-Identifier: MIT
// Which regions of torch.compile() an error of a device is about. Runs are only queued, so the call that raises it may
// be any later one.
#ifndef SIDRA_PYTORCH_REGIONS_H
#define SIDRA_PYTORCH_REGIONS_H

#include <c10/core/Device.h>
#include <sidra/model.h>

#include <atomic>
#include <string>

namespace sidra::pytorch {

// The region of a model, for errors that are raised while this exists.
class NamedModel {
   public:
    NamedModel(c10::DeviceIndex index, std::string region, sidra_model* model);
    ~NamedModel();
    NamedModel(const NamedModel&) = delete;
    NamedModel& operator=(const NamedModel&) = delete;

    const std::string& region() const { return region_; }
    // A run is about to be queued, with an event behind it, which must live as long as the model.
    void set_run(sidra_stream* stream, sidra_event* end) {
        end_.store(end, std::memory_order_relaxed);
        stream_.store(stream, std::memory_order_release);
    }

   private:
    friend std::string region_at_fault(c10::DeviceIndex index, sidra_stream* stream);
    friend std::string stopped_regions();
    friend std::string lost_regions();
    friend void forget_lost_runs(c10::DeviceIndex index);

    const c10::DeviceIndex index_;
    const std::string region_;
    sidra_model* const model_;
    // Of the latest run since the last recovery of the device; null: none.
    std::atomic<sidra_stream*> stream_{nullptr};
    std::atomic<sidra_event*> end_{nullptr};
};

// The region and the operator at which a stream has stopped, as a line for an error; "": it was something else. To be
// asked before the stream is reset.
std::string region_at_fault(c10::DeviceIndex index, sidra_stream* stream);
// The same for all streams that are stopped now, and ran a region last.
std::string stopped_regions();
// A line with the regions whose latest run was lost with its device; "": none.
std::string lost_regions();
// The device was recovered.
void forget_lost_runs(c10::DeviceIndex index);

}  // namespace sidra::pytorch

#endif
