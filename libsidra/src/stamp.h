// SPDX-License-Identifier: MIT
// Places in device memory where the timestamps of events are written.
#ifndef SIDRA_STAMP_H
#define SIDRA_STAMP_H

#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <vector>

#include "memory.h"
#include "queue.h"

namespace sidra {

// Room for one struct sidra_timestamp.
struct Stamp {
    uint64_t address = 0;  // device address
    const std::byte* host = nullptr;
};

// The places of a context. They grow by pages, and end with the context. Thread-safe.
class StampPool {
   public:
    sidra_status take(const char* call, sidra_context* context, Stamp* stamp);
    // The device may write to it as long as the point is pending; without a queue: it does not.
    void give(const Stamp& stamp, const Point& point);
    // The device no longer uses any of them.
    void clear();

   private:
    struct Busy {
        Stamp stamp;
        Point point;
    };
    sidra_status grow(const char* call, sidra_context* context);

    std::mutex mutex_;  // protects all members
    std::vector<std::unique_ptr<DeviceMemory>> pages_;
    std::vector<Stamp> free_;  // this and `busy_` have capacity for all places, so giving one back cannot fail
    std::vector<Busy> busy_;
};

}  // namespace sidra

#endif
