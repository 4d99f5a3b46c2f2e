// SPDX-License-Identifier: MIT
// BAR0: registers, doorbells, ARM values, and the telemetry page. Accesses record and wake; they never touch memory.
#ifndef SIDRA_CHIP_REGISTERS_H
#define SIDRA_CHIP_REGISTERS_H

#include <array>
#include <atomic>
#include <cstdint>
#include <mutex>

#include "admin_queue.h"
#include "arms.h"
#include "chip_clock.h"
#include "counters.h"
#include "dma.h"
#include "identity.h"
#include "interrupts.h"
#include "knobs.h"
#include "loader.h"
#include "management.h"
#include "objects.h"
#include "stops.h"
#include "telemetry.h"
#include "wakeups.h"

namespace sidra::chip {

class Registers {
   public:
    struct Parts {
        const Identity& identity;
        const ChipClock& clock;
        const Bus& bus;
        const Stops& stops;
        const Objects& objects;
        const Telemetry& telemetry;
        Knobs& knobs;
        Counters& counters;
        Interrupts& interrupts;
        Wakeups& wakeups;
        Arms& arms;
        Loader& loader;
        Management& management;
        AdminQueue& admin;
    };
    explicit Registers(const Parts& parts) : parts_(parts) {}

    // ---- Any thread.

    uint64_t read(uint64_t offset, unsigned size);
    void write(uint64_t offset, uint64_t value, unsigned size);
    // The content of the page, as of now.
    sidra_telemetry telemetry() const;
    // Whether software lets queues run.
    bool enabled() const { return enabled_.load(std::memory_order_relaxed); }

    // The state after a reset of the device, and, when all parts have it, the next generation.
    void reset();
    void begin_generation() { generation_.fetch_add(1); }

    // ---- No other call may run.

    // What is not a register of another part.
    struct State {
        uint64_t context_table = 0;
        std::array<uint64_t, 3> admin_arg{};
        uint32_t control = 0;
        uint32_t scratch = 0;
        uint64_t clock_latch = 0;
        sidra_telemetry telemetry_latch{};
    };
    const State& state() const { return state_; }
    uint32_t generation() const { return generation_.load(); }
    // Returns false if the state is invalid.
    bool load(const State& state, uint32_t generation);

   private:
    uint32_t status() const;
    uint32_t read32(uint64_t offset);
    uint64_t read64(uint64_t offset);
    uint64_t read_telemetry(uint64_t offset, unsigned size);
    bool read_lie(uint64_t offset, uint64_t* value);
    bool ring_doorbell(uint64_t offset);
    void arm(uint64_t offset, uint64_t value);
    void write32(uint64_t offset, uint32_t value);
    bool write_half(uint64_t offset, uint32_t value);
    uint64_t* wide_register(uint64_t offset);

    const Parts parts_;
    std::atomic<bool> enabled_{false};
    std::atomic<uint32_t> generation_{0};
    std::mutex lock_;  // protects state_
    State state_;
};

}  // namespace sidra::chip

#endif
