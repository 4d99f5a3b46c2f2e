// SPDX-License-Identifier: MIT
// Waiters for a fence of the driver, in every way that user space has.
#ifndef SIDRA_TESTS_FENCE_WAITERS_H
#define SIDRA_TESTS_FENCE_WAITERS_H

#include <linux/dma-buf.h>
#include <signal.h>
#include <sys/syscall.h>

#include <atomic>
#include <functional>
#include <list>
#include <thread>

#include "fences.h"

namespace sidra::test {

// How a task that is in this system call sleeps: S (interruptible), D (not so), or another state. 0: it is not in it.
inline char sleep_in_call(const std::string& task, long wanted = SYS_ioctl) {
    long number = 0;
    std::string line;
    std::getline(std::ifstream("/proc/" + task + "/stat") >> std::ws, line);
    const size_t state = line.rfind(") ");
    const bool inside = std::ifstream("/proc/" + task + "/syscall") >> number && number == wanted;
    return inside && state != std::string::npos ? line[state + 2] : '\0';
}

// Whether something sleeps at last, and for longer than it would for memory.
template <class Sleeps>
bool stays_asleep(const Sleeps& sleeps) {
    int times = 0;
    return eventually([&] { return (times = sleeps() ? times + 1 : 0) == 20; });
}

// A thread in one system call, which returns when its wait is over or on a signal.
class Caller {
   public:
    Caller(std::string its_name, std::function<int()> call, long number = SYS_ioctl)
        : name(std::move(its_name)), number_(number) {
        const struct sigaction interrupts = interrupting();
        EXPECT_EQ(sigaction(SIGUSR1, &interrupts, nullptr), 0);
        thread_ = std::thread([this, call = std::move(call)] {
            task_ = static_cast<int>(syscall(SYS_gettid));
            result_ = call() < 0 ? -errno : 0;
            done_ = true;
        });
    }
    ~Caller() { interrupt(); }
    Caller(const Caller&) = delete;
    Caller& operator=(const Caller&) = delete;

    // The thread sleeps in the call, interruptibly. Before that it may also sleep for a page or a lock,
    // uninterruptibly: a call that meets the removal before its wait returns at once.
    bool sleeps() const { return state() == 'S'; }
    char state() const {
        return done_ || task_ == 0 ? '\0' : sleep_in_call("self/task/" + std::to_string(task_), number_);
    }
    bool done() const { return done_; }
    // The result once it is done: 0 or -errno.
    int result() {
        EXPECT_TRUE(eventually([&] { return done_.load(); })) << name;
        return result_;
    }
    // A signal may come just before the call sleeps, so it is repeated until the call is done.
    void interrupt() {
        if (!thread_.joinable()) return;
        while (!done_) {
            pthread_kill(thread_.native_handle(), SIGUSR1);
            sleep_ms(1);
        }
        thread_.join();
    }

    const std::string name;

   private:
    // Without SA_RESTART.
    static struct sigaction interrupting() {
        struct sigaction action {};
        action.sa_handler = [](int) {};
        return action;
    }
    const long number_;
    std::atomic<int> task_{0};
    std::atomic<bool> done_{false};
    int result_ = 0;
    std::thread thread_;
};

// A job that makes no progress, all the ways to wait for its end, and all those to wait for a syncobj point without a
// submission. None has a timeout.
class FenceWaiters {
   public:
    explicit FenceWaiters(const Context& context)
        : node_(context.node),
          queue_(context, SIDRA_QUEUE_KERNEL),
          behind_(context, SIDRA_QUEUE_KERNEL),
          buffer_(context, SIDRA_PAGE_SIZE) {
        EXPECT_TRUE(knob("stall", 1));
        submit();
        export_buffer();
        wait_for_the_job();
        wait_for_nothing();
        for (const Caller& caller : callers_) EXPECT_TRUE(eventually([&] { return caller.sleeps(); })) << caller.name;
        EXPECT_EQ(status(job_), 0);
    }
    ~FenceWaiters() {
        for (const int fd : {job_, dependent_, event_, never_event_, dma_buf_}) close(fd);
    }
    FenceWaiters(const FenceWaiters&) = delete;
    FenceWaiters& operator=(const FenceWaiters&) = delete;

    const Queue& queue() const { return queue_; }

    // The job has ended with an error, which its waiters get.
    void expect_job_ended() {
        EXPECT_TRUE(signalled(job_) && signalled(dependent_) && signalled(event_) && signalled(dma_buf_));
        EXPECT_LT(status(job_), 0);
        EXPECT_LT(status(dependent_), 0);
        for (Caller* caller : for_job_) EXPECT_EQ(caller->result(), 0) << caller->name;
    }
    // A wait for a point that is never submitted lasts until a signal, and then returns @error. DRM's core may end it
    // earlier when the device is removed, with the same error, as it does with ACPI hotplug.
    void expect_others_wait(int error) {
        pollfd fires{never_event_, POLLIN, 0};
        EXPECT_EQ(poll(&fires, 1, 0), 0);
        for (Caller* caller : for_nothing_) {
            if (error == -EINTR) {
                EXPECT_FALSE(caller->done()) << caller->name;  // the device is present
            }
            caller->interrupt();
            EXPECT_EQ(caller->result(), error) << caller->name;
        }
    }

   private:
    // As in the kernel's drm.h from 6.6 on.
    struct SyncobjEventfd {
        uint32_t handle, flags;
        uint64_t point;
        int32_t fd;
        uint32_t pad;
    };
    static constexpr unsigned long kSyncobjEventfd = DRM_IOWR(0xcf, SyncobjEventfd);
    static constexpr int64_t kNoLimit = INT64_MAX;

    void submit() {
        binary_ = create_syncobj(node_);
        timeline_ = create_syncobj(node_);
        never_ = create_syncobj(node_);
        const sidra_syncobj_point out[2] = {{timeline_, 0, 1}, {binary_, 0, 0}};
        const std::vector<sidra_cmd> packets = {nop()};
        sidra_ioctl_submit first = queue_.request(packets), second = behind_.request(packets);
        first.flags = second.flags = SIDRA_SUBMIT_OUT_FENCE;
        first.out_points = reinterpret_cast<uintptr_t>(out);
        first.out_count = 2;
        EXPECT_EQ(node_.call(SIDRA_IOCTL_SUBMIT, first), 0);
        second.in_fence_fd = job_ = first.out_fence_fd;
        EXPECT_EQ(node_.call(SIDRA_IOCTL_SUBMIT, second), 0);
        dependent_ = second.out_fence_fd;
    }
    // A CPU access to the buffer has to wait for the job.
    void export_buffer() {
        drm_prime_handle prime{buffer_.handle, DRM_CLOEXEC | DRM_RDWR, -1};
        EXPECT_EQ(node_.call(DRM_IOCTL_PRIME_HANDLE_TO_FD, prime), 0);
        dma_buf_ = prime.fd;
        dma_buf_import_sync_file import{DMA_BUF_SYNC_WRITE, job_};
        EXPECT_EQ(ioctl(dma_buf_, DMA_BUF_IOCTL_IMPORT_SYNC_FILE, &import), 0);
    }
    Caller* call(const std::string& name, std::function<int()> call) {
        return &callers_.emplace_back(name, std::move(call));
    }
    Caller* wait_for(const std::string& name, uint32_t handle, uint32_t flags) {
        return call(name, [this, handle, flags] {
            drm_syncobj_wait a{};
            a.handles = reinterpret_cast<uintptr_t>(&handle);
            a.count_handles = 1;
            a.timeout_nsec = kNoLimit;
            a.flags = flags;
            return ioctl(node_.fd, DRM_IOCTL_SYNCOBJ_WAIT, &a);
        });
    }
    Caller* wait_for_point(const std::string& name, uint32_t handle, uint32_t flags) {
        return call(name, [this, handle, flags] {
            const uint64_t point = 1;
            drm_syncobj_timeline_wait a{};
            a.handles = reinterpret_cast<uintptr_t>(&handle);
            a.points = reinterpret_cast<uintptr_t>(&point);
            a.count_handles = 1;
            a.timeout_nsec = kNoLimit;
            a.flags = flags;
            return ioctl(node_.fd, DRM_IOCTL_SYNCOBJ_TIMELINE_WAIT, &a);
        });
    }
    int event_for(uint32_t handle, uint32_t flags) {
        SyncobjEventfd a{handle, flags, 1, eventfd(0, EFD_CLOEXEC), 0};
        EXPECT_EQ(node_.call(kSyncobjEventfd, a), 0);
        return a.fd;
    }
    void wait_for_the_job() {
        event_ = event_for(timeline_, 0);
        for_job_ = {
            wait_for("SYNCOBJ_WAIT", binary_, 0), wait_for_point("SYNCOBJ_TIMELINE_WAIT", timeline_, 0),
            wait_for_point("SYNCOBJ_TIMELINE_WAIT, WAIT_FOR_SUBMIT", timeline_, DRM_SYNCOBJ_WAIT_FLAGS_WAIT_FOR_SUBMIT),
            call("DMA_BUF_IOCTL_SYNC", [this] {
                dma_buf_sync a{DMA_BUF_SYNC_START | DMA_BUF_SYNC_RW};
                return ioctl(dma_buf_, DMA_BUF_IOCTL_SYNC, &a);
            })};
    }
    void wait_for_nothing() {
        never_event_ = event_for(never_, DRM_SYNCOBJ_WAIT_FLAGS_WAIT_AVAILABLE);
        for_nothing_ = {
            wait_for("SYNCOBJ_WAIT of nothing", never_, DRM_SYNCOBJ_WAIT_FLAGS_WAIT_FOR_SUBMIT),
            wait_for_point("SYNCOBJ_TIMELINE_WAIT of nothing", never_, DRM_SYNCOBJ_WAIT_FLAGS_WAIT_FOR_SUBMIT),
            wait_for_point("SYNCOBJ_TIMELINE_WAIT of nothing, WAIT_AVAILABLE", never_,
                           DRM_SYNCOBJ_WAIT_FLAGS_WAIT_AVAILABLE)};
    }

    // Neither times out, however slow the machine is.
    const Parameter job_patience_{"job_timeout_ms", "600000"}, queue_patience_{"queue_timeout_ms", "600000"};
    const Node& node_;
    const Queue queue_, behind_;
    const Buffer buffer_;
    uint32_t binary_ = 0, timeline_ = 0, never_ = 0;
    int job_ = -1, dependent_ = -1, event_ = -1, never_event_ = -1, dma_buf_ = -1;
    std::vector<Caller*> for_job_, for_nothing_;
    std::list<Caller> callers_;
};

}  // namespace sidra::test

#endif
