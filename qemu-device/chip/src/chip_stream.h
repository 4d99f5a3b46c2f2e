// SPDX-License-Identifier: MIT
// Saving and loading of a chip: a stream of chunks, HEAD first, and before it any number of streams with cells that
// were saved in advance, each of which begins with another head. All-zero contents are omitted.
#ifndef SIDRA_CHIP_CHIP_STREAM_H
#define SIDRA_CHIP_CHIP_STREAM_H

#include <atomic>
#include <cstdint>
#include <string>

#include "array.h"
#include "chunk_stream.h"
#include "identity.h"
#include "in_flight.h"
#include "kept_state.h"
#include "state_keeper.h"
#include "volatile_state.h"
#include "wakeups.h"

namespace sidra::chip {

// No other call of the chip may run, unless said otherwise.
class ChipStream {
   public:
    struct Parts {
        Identity& identity;
        Array& array;
        InFlight& in_flight;
        Wakeups& wakeups;
        KeptState& kept_state;
        VolatileState& volatile_state;
        StateKeeper& keeper;
    };
    explicit ChipStream(const Parts& parts) : parts_(parts) {}

    // Waits for units in flight. Returns false if the stream failed.
    bool save(WriteBytes write, void* opaque);
    // Saves cells in advance (sidra_chip_precopy_begin()): the chip may run meanwhile.
    void precopy_begin() { parts_.array.precopy().begin(); }
    uint64_t precopy_pending() const;
    bool precopy(WriteBytes write, void* opaque, uint64_t bytes);

    // Return false if the stream failed or its data is invalid: then `why` has the reason, and the chip is as after
    // power-on.
    bool load(ReadBytes read, void* opaque, std::string* why);
    bool load_precopy(ReadBytes read, void* opaque, std::string* why);
    // Ends a precopy of either direction.
    void cancel_precopy();
    // Any thread: from the first part, or the state, until all has arrived.
    bool loading() const { return loading_.load(); }

   private:
    bool load_stream(uint32_t head, ReadBytes read, void* opaque, std::string* why);
    const char* load_chunk(uint32_t head, uint32_t tag, const std::vector<uint8_t>& data);
    const char* load_head(uint32_t tag, const std::vector<uint8_t>& data);
    void clear();
    void power_on();

    const Parts parts_;
    uint32_t loaded_parts_ = 0;         // parts of a precopy whose state has not arrived yet
    std::atomic<bool> loading_{false};  // see loading()
    Identity::Uuid uuid_before_load_{};
};

}  // namespace sidra::chip

#endif
