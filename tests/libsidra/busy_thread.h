// SPDX-License-Identifier: MIT
#ifndef SIDRA_TESTS_BUSY_THREAD_H
#define SIDRA_TESTS_BUSY_THREAD_H

#include <atomic>
#include <thread>

#include "expect.h"
#include "patience.h"

namespace sidra::test {

// Keeps the thread of the callbacks, which computes the functions of the host, until it is told to end.
class BusyThread {
   public:
    explicit BusyThread(sidra_stream* stream) {
        const auto hold = [](sidra_status, void* user) {
            auto& its_step = *static_cast<std::atomic<int>*>(user);
            its_step = 1;
            while (its_step != 2) std::this_thread::yield();
            its_step = 3;
        };
        EXPECT_OK(sidra_stream_add_callback(stream, hold, &step_));
        EXPECT_TRUE(eventually([&] { return step_ == 1; }));
    }
    BusyThread(const BusyThread&) = delete;
    BusyThread& operator=(const BusyThread&) = delete;
    ~BusyThread() { end(); }
    void end() {
        if (step_ == 3) return;
        step_ = 2;
        EXPECT_TRUE(eventually([&] { return step_ == 3; }));
    }

   private:
    std::atomic<int> step_ = 0;
};

}  // namespace sidra::test

#endif
