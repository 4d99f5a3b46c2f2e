// SPDX-License-Identifier: MIT
// What of a chip is lost at power-off: registers, admin command, queues, counters, L3, and the management core. The
// stream of a saved chip has it. Loading does not trust the stream: each chunk is checked as if an attacker had written
// it.
#ifndef SIDRA_CHIP_VOLATILE_STATE_H
#define SIDRA_CHIP_VOLATILE_STATE_H

#include <cstdint>
#include <vector>

#include "adcs.h"
#include "admin_queue.h"
#include "arms.h"
#include "array.h"
#include "busy.h"
#include "chip_clock.h"
#include "chunk_stream.h"
#include "counters.h"
#include "dma.h"
#include "interrupts.h"
#include "lazy_memory.h"
#include "loader.h"
#include "management.h"
#include "objects.h"
#include "registers.h"
#include "scheduler.h"
#include "stops.h"

namespace sidra::chip {

// No other call of the chip may run.
class VolatileState {
   public:
    struct Parts {
        ChipClock& clock;
        Bus& bus;
        LazyMemory& l3;
        Array& array;
        Adcs& adcs;
        Objects& objects;
        Scheduler& scheduler;
        Stops& stops;
        Counters& counters;
        Busy& busy;
        Interrupts& interrupts;
        Arms& arms;
        Loader& loader;
        Management& management;
        AdminQueue& admin;
        Registers& registers;
    };
    explicit VolatileState(const Parts& parts) : parts_(parts) {}

    void save(ChunkWriter& out);

    // Returns nullptr, or what is wrong with the chunk.
    const char* load(uint32_t tag, const std::vector<uint8_t>& data);

    // Returns to the state after power-on, except for the management core.
    void clear();

   private:
    void save_registers(ChunkWriter& out);
    void save_counters(ChunkWriter& out);
    void save_queues(ChunkWriter& out);
    void save_queue(ChunkWriter& out, uint32_t context, uint32_t queue);
    void save_management(ChunkWriter& out);
    const char* load_registers(const std::vector<uint8_t>& data);
    const char* load_counters(const std::vector<uint8_t>& data);
    const char* load_slot(const std::vector<uint8_t>& data);
    const char* load_context(const std::vector<uint8_t>& data);
    const char* load_epoch(const std::vector<uint8_t>& data);
    template <typename F>
    void for_each_counter(F&& visit);

    const Parts parts_;
};

}  // namespace sidra::chip

#endif
