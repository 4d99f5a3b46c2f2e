// SPDX-License-Identifier: MIT
#include "wait_set.h"

#include <liburing.h>
#include <poll.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <new>

#include "queue.h"

namespace sidra {
namespace {

constexpr unsigned kEntries = 64;    // commands per system call; more commands need another call
constexpr int kLastPatienceMs = 50;  // for the last completions: after a lost interrupt the driver needs this long
constexpr int kLastRounds = 10;

enum Source : uint64_t { kQueue, kEventfd };

// Whether a command was refused before it reached the driver (for example, by a sandbox).
bool refused(int result) { return result == -EPERM || result == -EACCES || result == -EINVAL || result == -EOPNOTSUPP; }

}  // namespace

class WaitSet::Ring {
   public:
    // Only the sleeping thread reads completions, so nobody has to be interrupted for them.
    explicit Ring(int eventfd)
        : eventfd_(eventfd),
          usable_(io_uring_queue_init(kEntries, &ring_, IORING_SETUP_SINGLE_ISSUER | IORING_SETUP_DEFER_TASKRUN) == 0) {
    }
    ~Ring() {
        if (!usable_) return;
        finish();
        io_uring_queue_exit(&ring_);
    }
    Ring(const Ring&) = delete;
    Ring& operator=(const Ring&) = delete;
    bool usable() const { return usable_; }

    bool arm(int file, const sidra_uring_cmd& command, uint32_t epoch) {
        io_uring_sqe* sqe = next_entry();
        if (sqe == nullptr) return false;
        std::memset(sqe, 0, sizeof *sqe);
        sqe->opcode = IORING_OP_URING_CMD;
        sqe->fd = file;
        sqe->cmd_op = SIDRA_URING_WAIT_VALUE;
        sqe->len = epoch;
        std::memcpy(sqe->cmd, &command, sizeof command);
        io_uring_sqe_set_data64(sqe, kQueue);
        under_way_++;
        return true;
    }

    // Returns false if io_uring is refused.
    bool sleep(int timeout_ms) {
        if (!reading_) {
            io_uring_sqe* sqe = next_entry();
            if (sqe == nullptr) return false;
            io_uring_prep_read(sqe, eventfd_, &count_, sizeof count_, 0);
            io_uring_sqe_set_data64(sqe, kEventfd);
            under_way_++;
            reading_ = true;
        }
        return enter(timeout_ms) && reap();
    }

   private:
    io_uring_sqe* next_entry() {
        io_uring_sqe* sqe = io_uring_get_sqe(&ring_);
        if (sqe == nullptr && io_uring_submit(&ring_) > 0) sqe = io_uring_get_sqe(&ring_);
        return sqe;
    }

    bool enter(int timeout_ms) {
        __kernel_timespec timeout{timeout_ms / 1000, timeout_ms % 1000 * 1'000'000LL};
        io_uring_cqe* first;
        const int result =
            io_uring_submit_and_wait_timeout(&ring_, &first, 1, timeout_ms < 0 ? nullptr : &timeout, nullptr);
        return result >= 0 || result == -ETIME || result == -EINTR;
    }

    bool reap() {
        bool good = true;
        io_uring_cqe* done;
        while (io_uring_peek_cqe(&ring_, &done) == 0) {
            if (done->user_data == kEventfd) {
                reading_ = false;
                good &= done->res > 0;
            } else {
                good &= !refused(done->res);
            }
            under_way_--;
            io_uring_cqe_seen(&ring_, done);
        }
        return good;
    }

    // A closed ring releases the device's file only after some time, and until then the driver could not be unloaded.
    // The waiters of all armed entries are gone, so these complete by themselves.
    void finish() {
        const uint64_t one = 1;
        if (reading_ && write(eventfd_, &one, sizeof one) < 0) return;
        for (int round = 0; under_way_ != 0 && round < kLastRounds; ++round)
            if (!enter(kLastPatienceMs) || !reap()) return;
    }

    const int eventfd_;
    io_uring ring_{};
    const bool usable_;
    unsigned under_way_ = 0;
    bool reading_ = false;
    uint64_t count_ = 0;  // read from the eventfd, and ignored
};

WaitSet::WaitSet(int eventfd) : eventfd_(eventfd) {}
WaitSet::~WaitSet() = default;

bool WaitSet::arm(const Point& point) {
    const Queue& queue = *point.queue;
    const int file = queue.transport->uring_file();
    if (!ring_tried_ && file >= 0) {
        ring_.reset(new (std::nothrow) Ring(eventfd_));
        if (ring_ && !ring_->usable()) ring_.reset();
    }
    ring_tried_ = true;
    if (ring_)
        return ring_->arm(file, {queue.context->number, static_cast<uint16_t>(queue.number), 0, point.value},
                          point.epoch->number);
    sidra_ioctl_arm arm{};
    arm.context = queue.context->number;
    arm.queue = queue.number;
    arm.value = point.value;
    arm.epoch = point.epoch->number;
    arm.eventfd = eventfd_;
    return request(*queue.transport, SIDRA_IOCTL_ARM, &arm, nullptr) == 0;
}

bool WaitSet::sleep(int timeout_ms) {
    if (ring_) {
        if (ring_->sleep(timeout_ms)) return true;
        ring_.reset();
        return false;
    }
    pollfd wait{eventfd_, POLLIN, 0};
    uint64_t count = 0;
    if (poll(&wait, 1, timeout_ms) > 0) {
        [[maybe_unused]] const ssize_t got = read(eventfd_, &count, sizeof count);
    }
    return true;
}

}  // namespace sidra
