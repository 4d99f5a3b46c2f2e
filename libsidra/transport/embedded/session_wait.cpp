// SPDX-License-Identifier: MIT
// Waiting for timelines, by sleeping or with eventfds.
#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <optional>

#include "futex.h"
#include "session.h"
#include "user_memory.h"

namespace sidra::embedded {
namespace {

constexpr uint64_t kSpinNs = 10'000;         // polling time when there is no work to help with
constexpr uint64_t kRecheckNs = 50'000'000;  // limits the delay after a lost interrupt

struct Item {
    uint64_t value;
    std::shared_ptr<Queue> queue;
    uint32_t epoch;

    bool reached() const { return queue->point.look(epoch, value) == WaitPoint::State::kReached; }
    // 0: reached; -EINPROGRESS: not yet; otherwise it never will be.
    int state() const {
        const bool destroyed = queue->destroyed.load(std::memory_order_acquire);  // first: it stops the queue
        switch (queue->point.look(epoch, value)) {
            case WaitPoint::State::kReached:
                return 0;
            case WaitPoint::State::kPending:
                return -EINPROGRESS;
            case WaitPoint::State::kDropped:
                return -ECANCELED;
            default:
                return destroyed || queue->destroyed.load(std::memory_order_acquire) ? -ENOENT : -EIO;
        }
    }
};

using Items = std::array<Item, SIDRA_WAIT_MAX>;

struct Verdict {
    int result;
    uint32_t index;
};

// Empty: keep waiting.
std::optional<Verdict> look(const Items& items, uint32_t count, bool all) {
    uint32_t reached = 0;
    std::optional<Verdict> failed;
    for (uint32_t i = 0; i < count; i++) {
        const int state = items[i].state();
        if (state == 0) {
            if (!all) return Verdict{0, i};
            reached++;
        } else if (state != -EINPROGRESS && !failed) {
            failed = Verdict{state, i};
        }
    }
    if (reached == count) return Verdict{0, 0};
    return failed;
}

// Arms a waiter for all points that are not reached, and disarms it.
class Armed {
   public:
    Armed(Interrupts& interrupts, Items& items, uint32_t count, Waiter& waiter)
        : interrupts_(interrupts), items_(items), count_(count), waiter_(waiter) {
        waiter_.prepare();
        for (uint32_t i = 0; i < count_; i++)
            if (!items_[i].reached()) interrupts_.arm(items_[i].queue->point, items_[i].value, waiter_);
        interrupts_.service();
    }
    ~Armed() {
        for (uint32_t i = 0; i < count_; i++) interrupts_.disarm(items_[i].queue->point, waiter_);
    }
    Armed(const Armed&) = delete;
    Armed& operator=(const Armed&) = delete;

   private:
    Interrupts& interrupts_;
    Items& items_;
    const uint32_t count_;
    Waiter& waiter_;
};

// Checks that a descriptor is an eventfd, so that writing 8 bytes to it has the intended effect.
bool is_eventfd(int fd) {
    std::array<char, 64> target{};
    const ssize_t length = readlink(fmt::format("/proc/self/fd/{}", fd).c_str(), target.data(), target.size() - 1);
    return length > 0 && std::strcmp(target.data(), "anon_inode:[eventfd]") == 0;
}

}  // namespace

int Session::wait(sidra_ioctl_wait& a, Detail& detail) {
    a.index = 0;
    if (int error = check_flags(a.flags, SIDRA_WAIT_ALL, "flags", detail)) return error;
    if (a.count == 0 || a.count > SIDRA_WAIT_MAX)
        return fail(detail, -EINVAL, "count {} is not 1..{}", a.count, SIDRA_WAIT_MAX);
    if (int error = check_stride(a.stride, sizeof(sidra_wait_item), "stride", detail)) return error;
    const bool all = a.flags & SIDRA_WAIT_ALL;

    Items items;
    for (uint32_t i = 0; i < a.count; i++) {
        a.index = i;
        sidra_wait_item item;
        if (int error = read_array(&item, sizeof item, a.items + uint64_t{i} * a.stride, 1, a.stride, detail))
            return error;
        if (int error = check_flags(item.pad, 0, "pad", detail)) return error;
        if (item.epoch == 0) return fail(detail, -EINVAL, "item {} names epoch 0, which no queue has", i);
        std::lock_guard guard(driver_->lock());
        if (int error = find_queue(item.context, item.queue, kRelease, &items[i].queue, detail)) return error;
        items[i].value = item.value;
        items[i].epoch = item.epoch;
    }
    a.index = 0;

    ChipHost& host = driver_->host();
    // Checked between two turns of the chip on this thread.
    struct {
        const Items& items;
        uint32_t count;
        bool all;
        uint64_t deadline;
    } watch{items, a.count, all, a.deadline};
    const auto enough = [](void* argument) {
        const auto& w = *static_cast<decltype(watch)*>(argument);
        return look(w.items, w.count, w.all) || monotonic_ns() >= w.deadline;
    };
    Waiter waiter;
    uint64_t idle_since = 0;
    for (;;) {
        if (const auto verdict = look(items, a.count, all)) {
            a.index = verdict->index;
            const Item& item = items[verdict->index];
            if (verdict->result == -ENOENT)
                return fail(detail, -ENOENT, "queue {} was destroyed at timeline {}, before {}", item.queue->number,
                            item.queue->point.timeline(), item.value);
            if (verdict->result == -ECANCELED)
                return fail(detail, -ECANCELED,
                            "queue {} was reset before {} of its epoch {} had retired: it was dropped",
                            item.queue->number, item.value, item.epoch);
            if (verdict->result != 0)
                return fail(detail, verdict->result, "queue {} stopped at timeline {}, before {}", item.queue->number,
                            item.queue->point.timeline(), item.value);
            return 0;
        }
        const uint64_t now = a.deadline == 0 ? 0 : monotonic_ns();
        if (a.deadline == 0 || now >= a.deadline) {
            uint32_t late = 0;
            while (late + 1 < a.count && items[late].reached()) late++;
            a.index = late;
            return fail(detail, -ETIMEDOUT, "queue {} is at timeline {}, not yet at {}", items[late].queue->number,
                        items[late].queue->point.timeline(), items[late].value);
        }
        if (host.help(enough, &watch)) {
            idle_since = 0;
            continue;
        }
        if (idle_since == 0) idle_since = now;
        if (now - idle_since < kSpinNs) {
            for (unsigned i = 0; i < 32; i++) cpu_relax();
            continue;
        }
        {
            const Armed armed(host.interrupts(), items, a.count, waiter);
            if (look(items, a.count, all)) continue;  // it was reached before it was armed
            if (sidra_chip_pending(host.chip())) host.executor().nudge();
            waiter.sleep_until(std::min<uint64_t>(a.deadline, now + kRecheckNs));
        }
        std::lock_guard guard(driver_->lock());
        if (int error = driver_->check_link(detail)) {
            if (!look(items, a.count, all)) return error;
        }
    }
}

int Session::arm(sidra_ioctl_arm& a, Detail& detail) {
    if (int error = check_flags(a.flags, 0, "flags", detail)) return error;
    if (int error = check_flags(a.pad, 0, "pad", detail)) return error;
    if (a.epoch == 0) return fail(detail, -EINVAL, "epoch 0 is none that a queue has");
    if (a.eventfd < -1) return fail(detail, -EBADF, "{} is not a file descriptor", a.eventfd);
    Interrupts& interrupts = driver_->host().interrupts();
    {
        std::lock_guard guard(driver_->lock());  // keeps the queue attached
        std::shared_ptr<Queue> queue;
        if (int error = find_queue(a.context, a.queue, kNormal, &queue, detail)) return error;
        if (a.eventfd == -1) {
            interrupts.disarm_eventfds(queue->point, a.value);
            return 0;
        }
        const WaitPoint::State state = queue->point.look(a.epoch, a.value);
        if (state == WaitPoint::State::kDropped)
            return fail(detail, -ECANCELED, "queue {} was reset before {} of its epoch {} had retired: it was dropped",
                        a.queue, a.value, a.epoch);
        // A retired point of a former epoch is below the timeline: it signals at once.
        // A duplicate, because the caller may close the original.
        const int own = fcntl(a.eventfd, F_DUPFD_CLOEXEC, 0);
        if (own < 0) {
            const int error = errno;
            return fail(detail, -error, "duplicating the eventfd {} failed: {}", a.eventfd, strerror(error));
        }
        if (!is_eventfd(own)) {
            close(own);
            return fail(detail, -EINVAL, "descriptor {} is not an eventfd", a.eventfd);
        }
        try {
            interrupts.arm(queue->point, a.value, own);
        } catch (...) {
            close(own);
            throw;
        }
    }
    interrupts.service();
    driver_->host().executor().nudge();  // the executor now wakes more often, to check for lost interrupts
    return 0;
}

}  // namespace sidra::embedded
