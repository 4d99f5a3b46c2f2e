// SPDX-License-Identifier: MIT
// The library's thread that runs a context's callbacks: made on first use, asleep while nothing is due.
#ifndef SIDRA_CALLBACK_H
#define SIDRA_CALLBACK_H

#include <condition_variable>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <thread>

#include "sidra/sidra.h"

namespace sidra {

class Queue;
class WaitSet;
struct Point;

class CallbackThread {
   public:
    // Throws std::system_error without threads or file descriptors.
    CallbackThread();
    CallbackThread(const CallbackThread&) = delete;
    CallbackThread& operator=(const CallbackThread&) = delete;
    // Ends the thread; all callbacks must have run.
    ~CallbackThread();

    // To look at all callbacks now.
    void wake();
    // While it is held no callback learns its status: for whoever drops work in two steps, the driver's and ours,
    // between which a state page may say that it was done or lost; and for whoever adds a callback, so that no drop
    // comes between its place and its entry.
    std::unique_lock<std::mutex> hold() { return std::unique_lock(mutex_); }
    // Held. A callback for a place of the queue as it is now.
    void add(const Point& point, sidra_callback function, void* user);
    // Runs what is pending of a queue whose places were dropped, and returns when that is done (at once on the thread
    // itself).
    void drain(const Queue* queue);
    bool is_current_thread() const { return thread_.get_id() == std::this_thread::get_id(); }

   private:
    struct Lane;  // callbacks of one queue, in order

    void run();
    bool run_due(std::unique_lock<std::mutex>& lock);
    void arm_fronts(WaitSet& waits);

    std::mutex mutex_;
    std::condition_variable drained_;
    std::map<const Queue*, std::unique_ptr<Lane>> lanes_;
    const Queue* served_ = nullptr;  // last; the next one has its turn first
    bool ending_ = false;
    int eventfd_;  // something new: a callback, the end
    std::thread thread_;
};

}  // namespace sidra

#endif
