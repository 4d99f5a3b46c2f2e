// SPDX-License-Identifier: MIT
// Processes that wait for the lock of the device, which a call of somebody else holds while the chip does not answer.
#include <sys/wait.h>

#include "fence_waiters.h"

namespace sidra::test {
namespace {

using Lock = NodeTest;

// A process in one call. It shares its open file with this one: it does not have to close it when it is killed.
class Process {
   public:
    template <class Argument>
    Process(std::string its_name, const Node& node, unsigned long request, Argument argument)
        : name(std::move(its_name)), pid_(fork()) {
        if (pid_ != 0) return;
        ioctl(node.fd, request, &argument);
        _exit(0);
    }
    ~Process() {
        if (!reaped_) waitpid(pid_, &status_, 0);
    }
    Process(const Process&) = delete;
    Process& operator=(const Process&) = delete;

    bool waits() const { return sleep_in_ioctl(std::to_string(pid_)) == 'D'; }
    void kill() const { EXPECT_EQ(::kill(pid_, SIGKILL), 0) << name; }
    // It has ended; not before everybody who was killed is gone from the kernel.
    bool ends() { return reaped_ = reaped_ || waitpid(pid_, &status_, WNOHANG) == pid_; }
    bool was_killed() const { return WIFSIGNALED(status_) && WTERMSIG(status_) == SIGKILL; }

    const std::string name;

   private:
    const pid_t pid_;
    int status_ = 0;
    bool reaped_ = false;
};

// Who waits is killed while the other call still holds the lock: the order of the two ends is what counts, not the
// time.
TEST_F(Lock, WhoWaitsForItCanBeKilled) {
    const Parameter patient("admin_timeout_ms", "15000");
    ASSERT_TRUE(patient.good);
    const Node node;
    const Context stuck(node), context(node);
    const Buffer unused(stuck, SIDRA_PAGE_SIZE), buffer(context, SIDRA_PAGE_SIZE);
    const Queue queue(context, SIDRA_QUEUE_KERNEL);
    ASSERT_TRUE(knob("no-quiesce-ack", 1));
    {
        Caller holder("BUFFER_UNBIND", [&] {
            sidra_ioctl_buffer_unbind unbind{stuck.handle, unused.handle, unused.va};
            return node.call(SIDRA_IOCTL_BUFFER_UNBIND, unbind);
        });
        // It sleeps for longer than it would for memory.
        int asleep = 0;
        EXPECT_TRUE(eventually([&] { return (asleep = holder.state() == 'D' ? asleep + 1 : 0) == 20; }));

        const sidra_ioctl_queue_create create{context.handle, SIDRA_QUEUE_USER, 6, 1, 0, 0, 0, 0, 0, 0};
        std::list<Process> waiters;
        waiters.emplace_back("CONTEXT_CREATE", node, SIDRA_IOCTL_CONTEXT_CREATE,
                             sidra_ioctl_context_create{context.vm, 0, 0, 0, 0});
        waiters.emplace_back("BUFFER_BIND", node, SIDRA_IOCTL_BUFFER_BIND,
                             sidra_ioctl_buffer_bind{context.vm, buffer.handle, SIDRA_BIND_READ, 0, 0});
        waiters.emplace_back("BUFFER_UNBIND", node, SIDRA_IOCTL_BUFFER_UNBIND,
                             sidra_ioctl_buffer_unbind{context.vm, buffer.handle, buffer.va});
        waiters.emplace_back("QUEUE_CREATE", node, SIDRA_IOCTL_QUEUE_CREATE, create);
        waiters.emplace_back("QUEUE_DESTROY", node, SIDRA_IOCTL_QUEUE_DESTROY,
                             sidra_ioctl_queue{context.handle, queue.create.queue, 0, 0});
        waiters.emplace_back("WEIGHTS_CREATE", node, SIDRA_IOCTL_WEIGHTS_CREATE,
                             sidra_ioctl_weights_create{context.handle, SIDRA_ENCODING_OFFSET, 16, 16,
                                                        SIDRA_WEIGHTS_RIGHTS, 0, 0, 0, 0});
        for (const Process& waiter : waiters)
            EXPECT_TRUE(eventually([&] { return waiter.waits() || holder.done(); })) << waiter.name;
        EXPECT_FALSE(holder.done());
        for (const Process& waiter : waiters) waiter.kill();
        for (Process& waiter : waiters) {
            EXPECT_TRUE(eventually([&] { return waiter.ends(); })) << waiter.name;
            EXPECT_TRUE(waiter.was_killed()) << waiter.name;
        }
        EXPECT_FALSE(holder.done()) << "they waited until they had the lock";
        EXPECT_EQ(holder.result(), 0);
    }
    EXPECT_TRUE(knob("no-quiesce-ack", 0));
    EXPECT_EQ(state_of(stuck), SIDRA_CONTEXT_LOST);
    EXPECT_EQ(state_of(context), SIDRA_CONTEXT_OK);
    EXPECT_EQ(queue.submit({nop()}), 0) << "no killed call was carried out";
}

}  // namespace
}  // namespace sidra::test
