// SPDX-License-Identifier: MIT
// The chip model and its host callbacks: memory, interrupts, time, threads. Exists while the "card" is powered.
#ifndef SIDRA_EMBEDDED_CHIP_HOST_H
#define SIDRA_EMBEDDED_CHIP_HOST_H

#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <string>

#include "executor.h"
#include "interrupts.h"
#include "sidra_chip.h"

namespace sidra::embedded {

class ChipHost final : private Runnable {
   public:
    // Returns nullptr on failure, with -errno and a message from sidra_chip_create(). Throws std::bad_alloc.
    static std::unique_ptr<ChipHost> create(const sidra_chip_config& config, int* error, std::string* why);
    ~ChipHost();

    // Returns 0, or -errno with a message from sidra_chip_gdb_listen().
    int listen_for_gdb(const std::string& address, std::string* why);

    uint64_t read_register(uint64_t offset, unsigned size) const { return sidra_chip_mmio_read(chip_, offset, size); }
    void write_register(uint64_t offset, uint64_t value, unsigned size) {
        sidra_chip_mmio_write(chip_, offset, value, size);
    }
    // The hot path of a submission.
    void doorbell(uint64_t offset) { sidra_chip_mmio_write(chip_, offset, 0, 4); }

    // Runs one slice on the calling thread. The slice ends after the first turn when `enough` returns true: the
    // caller's result is there, or its deadline has passed. Returns false if there is nothing to do now.
    bool help(bool (*enough)(void*), void* argument);
    // Runs one turn, for callers that check by themselves.
    bool help() {
        return help([](void*) { return true; }, nullptr);
    }

    // The executor's thread calls it up to ten times per second while the chip works, otherwise about twice per second.
    // It may run the chip for a while, but only to stop a hung queue. On return the previous function is no longer
    // called.
    void set_housekeeping(std::function<void()> housekeeping);

    Executor& executor() { return executor_; }
    Interrupts& interrupts() { return interrupts_; }
    sidra_chip* chip() const { return chip_; }
    uint32_t level() const { return level_; }  // SIDRA_CHIP_FAST, _ACCURATE

   private:
    ChipHost();
    bool run() override;
    bool pending() override { return sidra_chip_pending(chip_); }
    void tick() override;
    uint64_t idle() override;
    bool keep_house(uint64_t now_ns);

    sidra_chip* chip_ = nullptr;
    uint32_t level_ = SIDRA_CHIP_FAST;
    Interrupts interrupts_;
    std::mutex housekeeping_lock_;
    std::function<void()> housekeeping_;
    // Used by the executor only.
    uint64_t kept_ns_ = 0;  // time of the last call
    uint64_t busy_ns_ = 0;  // since then the executor has not slept; 0: it has
    Executor executor_;
};

}  // namespace sidra::embedded

#endif
