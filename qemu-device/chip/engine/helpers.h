// SPDX-License-Identifier: MIT
// Threads that share the units of one packet. The first parallel job creates them, with the floating-point environment
// of its thread; they sleep while there is no work.
#ifndef SIDRA_CHIP_ENGINE_HELPERS_H
#define SIDRA_CHIP_ENGINE_HELPERS_H

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <thread>
#include <vector>

namespace sidra::engine {

class Helpers {
   public:
    // `threads` includes the caller of run().
    explicit Helpers(uint32_t threads) : threads_(threads) {}
    ~Helpers();
    Helpers(const Helpers&) = delete;
    Helpers& operator=(const Helpers&) = delete;

    // Calls task(argument, helps) in the caller and in all helpers that join in time (`helps`); returns when every call
    // has returned. The task takes work from a shared counter until none is left. If another thread uses the helpers,
    // the caller works alone.
    void run(void (*task)(void*, bool helps), void* argument);

   private:
    void create_helpers();
    void serve();
    void begin_round();

    static constexpr uint64_t kOpen = 1;    // helpers may join
    static constexpr uint64_t kJoined = 2;  // counts the helpers inside the task

    const uint32_t threads_;
    std::mutex lock_;  // one parallel job at a time; protects the creation of helpers_
    std::vector<std::thread> helpers_;
    void (*task_)(void*, bool) = nullptr;  // task of the open job
    void* argument_ = nullptr;
    std::mutex sleep_lock_;  // orders falling asleep and waking up
    std::condition_variable wake_;
    std::atomic<uint32_t> sleepers_{0};
    alignas(64) std::atomic<uint32_t> round_{0};  // changes with each job and at the end
    alignas(64) std::atomic<uint64_t> state_{0};  // kOpen | kJoined * helpers
    std::atomic<bool> stop_{false};
};

}  // namespace sidra::engine

#endif
