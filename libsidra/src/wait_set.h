// SPDX-License-Identifier: MIT
// Sleeps until any of many queues has reached a value, for the callback thread. If the driver accepts commands through
// io_uring, one system call arms all new entries and sleeps. Otherwise (an embedded chip, or a system that forbids
// io_uring) each entry is armed with an ioctl and signals an eventfd.
#ifndef SIDRA_WAIT_SET_H
#define SIDRA_WAIT_SET_H

#include <cstdint>
#include <memory>

namespace sidra {

struct Point;

// Used by one thread only, including destruction.
class WaitSet {
   public:
    // A write to `eventfd` (non-blocking) ends the sleep; it must outlive this object.
    explicit WaitSet(int eventfd);
    ~WaitSet();
    WaitSet(const WaitSet&) = delete;
    WaitSet& operator=(const WaitSet&) = delete;

    // sleep() will return once when the queue has reached the value or has stopped. Returns false if the driver
    // refuses; the reason will appear in the queue's state page.
    bool arm(const Point& point);
    // Sleeps until an armed entry is due, the eventfd is signalled, or `timeout_ms` have passed (-1: no timeout); may
    // return early. Returns false if io_uring was refused: all entries are disarmed, and the object uses eventfds from
    // now on.
    bool sleep(int timeout_ms);
    // Whether entries are armed with ioctls.
    bool uses_eventfd() const { return ring_ == nullptr; }

   private:
    class Ring;
    const int eventfd_;
    bool ring_tried_ = false;
    std::unique_ptr<Ring> ring_;
};

}  // namespace sidra

#endif
