// SPDX-License-Identifier: MIT
// The chip model and what it asks of its host: memory, interrupts, time, threads. Lives as long as the "card" is
// powered.
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
    // nullptr on failure, with -errno and why, as sidra_chip_create() has them. Throws std::bad_alloc.
    static std::unique_ptr<ChipHost> create(const sidra_chip_config& config, int* error, std::string* why);
    ~ChipHost();

    // 0 or -errno; why, as sidra_chip_gdb_listen() has it.
    int listen_for_gdb(const std::string& address, std::string* why);

    uint64_t read_register(uint64_t offset, unsigned size) const { return sidra_chip_mmio_read(chip_, offset, size); }
    void write_register(uint64_t offset, uint64_t value, unsigned size) {
        sidra_chip_mmio_write(chip_, offset, value, size);
    }
    // The hot path of a submission.
    void doorbell(uint64_t offset) { sidra_chip_mmio_write(chip_, offset, 0, 4); }

    // One slice on the calling thread, which ends with the first turn after which the caller has got `enough`: what it
    // waits for, or its deadline. False: nothing to do now.
    bool help(bool (*enough)(void*), void* argument);
    // One turn, for callers who look for themselves.
    bool help() {
        return help([](void*) { return true; }, nullptr);
    }

    // The executor's thread calls it up to ten times a second while the chip works, and about twice a second while it
    // does not. It may run the chip for a while, but only to stop what hangs. On return what was set before is not
    // called any more.
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
    // The executor's.
    uint64_t kept_ns_ = 0;  // when it was called last
    uint64_t busy_ns_ = 0;  // since then the executor has not slept; 0: it has
    Executor executor_;
};

}  // namespace sidra::embedded

#endif
