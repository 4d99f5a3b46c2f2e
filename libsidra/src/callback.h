// SPDX-License-Identifier: MIT
// The library's thread for the callbacks of a context: created on first use, sleeps while no callback is due.
#ifndef SIDRA_CALLBACK_H
#define SIDRA_CALLBACK_H

#include <condition_variable>
#include <cstdint>
#include <list>
#include <map>
#include <mutex>
#include <thread>

#include "queue.h"
#include "sidra/sidra.h"

namespace sidra {

class WaitSet;

class CallbackThread {
    struct Entry {
        Point point;
        sidra_callback function = nullptr;
        void* user = nullptr;
    };
    // Callbacks of one queue, in order.
    struct Lane {
        std::list<Entry> entries;
        bool armed = false;  // in the driver for the front entry
    };
    using Lanes = std::map<const Queue*, Lane>;

   public:
    // Memory for one callback, so that adding it cannot fail.
    class Room {
       public:
        Room();

       private:
        friend CallbackThread;
        std::list<Entry> entry_;
        Lanes::node_type lane_;
    };

    // Throws std::system_error if threads or file descriptors are exhausted.
    CallbackThread();
    CallbackThread(const CallbackThread&) = delete;
    CallbackThread& operator=(const CallbackThread&) = delete;
    // Ends the thread; all callbacks must have run.
    ~CallbackThread();

    // Makes the thread check all callbacks now.
    void wake();
    // While this lock is held, no callback determines its status. Needed when work is dropped in two steps (driver,
    // library), because in between the state page may show it as done or lost; and when a callback is added, so that no
    // drop comes between its timeline point and its entry.
    std::unique_lock<std::mutex> hold() { return std::unique_lock(mutex_); }
    // Adds a callback for a point. Those of one queue run in the order of their points. The lock is held.
    void add(Room room, const Point& point, sidra_callback function, void* user) noexcept;
    // Runs the pending callbacks of a queue whose points were dropped, and returns when they are done (at once on the
    // callback thread itself).
    void drain(const Queue* queue);
    // The same for all callbacks. Not on the callback thread.
    void drain();
    bool is_current_thread() const { return thread_.get_id() == std::this_thread::get_id(); }

   private:
    void run();
    bool run_due(std::unique_lock<std::mutex>& lock);
    void arm_fronts(WaitSet& waits);

    std::mutex mutex_;
    std::condition_variable drained_;
    Lanes lanes_;
    const Queue* served_ = nullptr;  // queue served last; the next one is served first
    bool ending_ = false;
    int eventfd_;  // signals a new callback or the end
    std::thread thread_;
};

}  // namespace sidra

#endif
