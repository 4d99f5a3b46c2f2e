// SPDX-License-Identifier: MIT
// The management core in its chip: threads, clock, connection to the host, and factory firmware.
#ifndef SIDRA_CHIP_MANAGEMENT_H
#define SIDRA_CHIP_MANAGEMENT_H

#include <atomic>
#include <cstdint>
#include <functional>
#include <mutex>

#include "debugger.h"
#include "dma.h"
#include "unit.h"

namespace sidra::chip {

class Management final : private management::Surroundings {
   public:
    static constexpr uint64_t kNever = ~uint64_t{0};

    // While `stopped` is true, the core does not run and does no DMA. `energy_pj`: energy spent on work. `interrupt`
    // takes SIDRA_INT_*; `lies` returns whether a SIDRA_LIE_* is due.
    Management(Bus& bus, const std::atomic<bool>& stopped, const std::atomic<uint64_t>& energy_pj,
               std::function<void(uint32_t)> interrupt, std::function<bool(uint32_t)> lies);

    // ---- Any thread may call these functions.

    // Runs the core for one slice if it is due and no other thread runs it. Returns false if there was nothing to do.
    bool run(uint64_t clock_ns);
    // Whether the core is due now, and when it is due next without a wakeup (ns of the chip's clock; kNever).
    bool pending() const { return due_ns_.load() == 0; }
    uint64_t due_ns() const { return due_ns_.load(); }
    // Whether no slice is in progress. Once true while stopped, it stays true.
    bool drained();

    // Access the core's registers (SIDRA_REG_*), 32 bits. Return false for other registers.
    bool read(uint64_t offset, uint32_t* value) const;
    bool write(uint64_t offset, uint32_t value);
    uint32_t status() const;  // SIDRA_STATUS_STAGE_MASK, _FIRMWARE_ALIVE, _THROTTLED
    uint32_t clock_level() const { return unit_.power().level(); }
    management::Power::Published published() const;  // invalid while the core does not run

    // Fault knobs, effective from the next slice on: the core hangs until its watchdog fires, or traps.
    void hang() { ask(kHang); }
    void crash() { ask(kCrash); }
    // Sets the ambient temperature, in thousandths of a degree Celsius.
    void set_around(int32_t mc) {
        unit_.power().set_around(mc);
        wake();
    }

    // Waits for a slice in progress.
    void reset();

    // Commands to the debugger take effect in run(), after wake().
    Debugger& debugger() { return debugger_; }

    // ---- No other function may run while these are called.

    management::Unit& unit() { return unit_; }
    const management::Unit& unit() const { return unit_; }
    // Returns to factory state.
    void clear();
    // Makes the core due now.
    void wake() { due_ns_.store(0); }

   private:
    bool read_host(uint64_t bus, std::span<uint8_t> to) override {
        return bus_.read({Space::kBus, bus, to.size()}, to.data());
    }
    bool write_host(uint64_t bus, std::span<const uint8_t> from) override;
    void interrupt_host(uint32_t cause) override { interrupt_(cause); }
    enum : uint32_t { kHang = 1, kCrash = 2 };
    void ask(uint32_t what) {
        asked_.fetch_or(what);
        wake();
    }
    void fill_flash();

    Bus& bus_;
    const std::atomic<bool>& stopped_;
    const std::atomic<uint64_t>& energy_pj_;
    const std::function<void(uint32_t)> interrupt_;
    const std::function<bool(uint32_t)> lies_;
    std::mutex lock_;  // protects unit_, except for functions that any thread may call
    management::Unit unit_;
    Debugger debugger_{unit_};
    std::atomic<uint32_t> asked_{0};
    std::atomic<uint64_t> due_ns_{0};
};

}  // namespace sidra::chip

#endif
