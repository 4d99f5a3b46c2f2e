// SPDX-License-Identifier: MIT
// The management core in its chip: threads, the chip's clock, its way to the host, and what it leaves the factory with.
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

    // While `stopped` the core stands still, and so do its copies. `energy_pj`: what was spent on work. `interrupt`
    // takes SIDRA_INT_*; `lies` says whether it is time for a SIDRA_LIE_*.
    Management(Bus& bus, const std::atomic<bool>& stopped, const std::atomic<uint64_t>& energy_pj,
               std::function<void(uint32_t)> interrupt, std::function<bool(uint32_t)> lies);

    // ---- Any thread

    // Runs the core, for one slice, if it wants to by then and no other thread does. False: there was nothing to do.
    bool run(uint64_t clock_ns);
    // Whether it wants to at once; when by itself it will (ns of the chip's clock; kNever).
    bool pending() const { return due_ns_.load() == 0; }
    uint64_t due_ns() const { return due_ns_.load(); }
    // Whether no slice is under way; who is stopped and says so once stays so.
    bool drained();

    // Its registers (SIDRA_REG_*), 32 bits; false: not one of them.
    bool read(uint64_t offset, uint32_t* value) const;
    bool write(uint64_t offset, uint32_t value);  // one thread at a time
    uint32_t status() const;                      // SIDRA_STATUS_STAGE_MASK, _FIRMWARE_ALIVE, _THROTTLED
    uint32_t clock_level() const { return unit_.power().level(); }
    management::Power::Published published() const;  // nothing by a core that does not run

    // Knobs, from the next slice on: the core does nothing more until its watchdog ends that; or runs into a trap.
    void hang() { ask(kHang); }
    void crash() { ask(kCrash); }
    // How warm it is around the chip from now on, thousandths of a degree.
    void set_around(int32_t mc) {
        unit_.power().set_around(mc);
        wake();
    }

    // Waits for a slice that is under way.
    void reset();

    // What it is told takes effect in run(), so once the core is woken.
    Debugger& debugger() { return debugger_; }

    // ---- Nobody calls anything else meanwhile

    management::Unit& unit() { return unit_; }
    const management::Unit& unit() const { return unit_; }
    // As it left the factory.
    void clear();
    // The unit has been changed.
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
    std::mutex lock_;  // of unit_, but for what any thread may call
    management::Unit unit_;
    Debugger debugger_{unit_};
    std::atomic<uint32_t> asked_{0};
    std::atomic<uint64_t> due_ns_{0};
};

}  // namespace sidra::chip

#endif
