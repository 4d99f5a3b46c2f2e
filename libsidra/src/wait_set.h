// SPDX-License-Identifier: MIT
// Sleeping until any of many queues has come to a value: for the thread that runs callbacks. Where the driver takes
// commands by io_uring one system call arms all that is new and sleeps; elsewhere (an embedded chip, or a system that
// forbids io_uring) each is armed by an ioctl and signals an eventfd.
#ifndef SIDRA_WAIT_SET_H
#define SIDRA_WAIT_SET_H

#include <cstdint>
#include <memory>

namespace sidra {

struct Point;

// All of it by one thread, destruction too.
class WaitSet {
   public:
    // Whoever adds to `eventfd` (non-blocking) ends the sleep; it must outlive this.
    explicit WaitSet(int eventfd);
    ~WaitSet();
    WaitSet(const WaitSet&) = delete;
    WaitSet& operator=(const WaitSet&) = delete;

    // Once, when the queue has reached the value or stopped, sleep() ends. False: the driver refuses; its reason is in
    // the queue's state page, sooner or later.
    bool arm(const Point& point);
    // Until something armed has come, the eventfd is signalled, or `timeout_ms` have passed (-1: never); now and then
    // for nothing. False: nothing is armed any more, because io_uring was refused; from now on it goes without.
    bool sleep(int timeout_ms);

   private:
    class Ring;
    const int eventfd_;
    bool ring_tried_ = false;
    std::unique_ptr<Ring> ring_;
};

}  // namespace sidra

#endif
