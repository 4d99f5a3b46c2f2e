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
   public:
    // Whose callback it is. One of the library's own ends soon, and waits for nothing that the application does.
    enum class Of { kApplication, kLibrary };

   private:
    struct Entry {
        Point point;
        sidra_callback function = nullptr;
        void* user = nullptr;
        Of of = Of::kApplication;
    };
    // Callbacks of one queue, in order.
    struct Lane {
        std::list<Entry> entries;
        bool armed = false;     // in the driver for the front entry
        bool disarmed = false;  // since then, if that was with an eventfd
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
    void add(Room room, const Point& point, sidra_callback function, void* user, Of of) noexcept;
    // The eventfds of a queue were disarmed for this value: that of this thread, too.
    void disarmed(const Queue* queue, uint64_t value);
    // Runs the pending callbacks of a queue whose points were dropped, and returns when they are done (at once on the
    // callback thread itself).
    void drain(const Queue* queue);
    // The same for all callbacks. Not on the callback thread.
    void drain();
    // If a callback of the library's own is under way for a point of this queue (null: of any queue), returns when it
    // ends; at once on the callback thread itself. Work that was dropped is over then.
    void finish(const Queue* queue);
    bool is_current_thread() const { return thread_.get_id() == std::this_thread::get_id(); }

   private:
    void run();
    bool run_due(std::unique_lock<std::mutex>& lock);
    void arm_fronts(WaitSet& waits);

    std::mutex mutex_;
    std::condition_variable drained_, finished_;
    Lanes lanes_;
    const Queue* served_ = nullptr;  // queue served last; the next one is served first
    const Queue* busy_ = nullptr;    // queue for which a callback of the library's own is under way
    uint64_t begun_ = 0;             // how many of those have begun
    bool ending_ = false;
    int eventfd_;  // signals a new callback or the end
    std::thread thread_;
};

}  // namespace sidra

#endif
