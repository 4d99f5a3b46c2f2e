// SPDX-License-Identifier: MIT
// Calls while another one waits for a chip that does not answer: who needs what it holds can be killed, and nobody else
// waits.
#include <sys/wait.h>

#include "stuck_call.h"

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

    bool waits() const { return sleep_in_call(std::to_string(pid_)) == 'D'; }
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

// What needs no answer of the chip goes on, in other contexts of any process.
TEST_F(Lock, OtherContextsDoNotWait) {
    StuckCall stuck;
    const Node node;
    const Context context(node);
    const Buffer buffer(context, 64 * SIDRA_PAGE_SIZE);
    EXPECT_EQ(state_of(context), SIDRA_CONTEXT_OK);
    const Queue queue(context, SIDRA_QUEUE_KERNEL);
    uint64_t value = 0;
    EXPECT_EQ(queue.submit({nop()}, &value), 0);
    EXPECT_EQ(queue.wait(value), 0);
    EXPECT_FALSE(stuck.ended()) << "these calls waited for the other one";
    stuck.end();  // who destroys a queue needs the chip's acknowledgement
}

TEST_F(Lock, WhoWaitsForItCanBeKilled) {
    const Node node;
    const Context context(node);
    const Buffer buffer(context, SIDRA_PAGE_SIZE);
    const Queue queue(context, SIDRA_QUEUE_KERNEL);
    const Node closing;
    const Context its_context(closing);
    const Buffer closed(its_context, SIDRA_PAGE_SIZE);
    // Each has a context of its own, so that it waits for what they share.
    const Context spared(node), creating(node), publishing(node), opening(node), reporting(node);
    const auto weights = [](const Context& in) {
        return sidra_ioctl_weights_create{in.handle, SIDRA_ENCODING_OFFSET, 16, 16, SIDRA_WEIGHTS_RIGHTS, 0, 0, 0, 0};
    };
    sidra_ioctl_weights_create published = weights(publishing), reported = weights(reporting);
    ASSERT_EQ(node.call(SIDRA_IOCTL_WEIGHTS_CREATE, published), 0);
    ASSERT_EQ(node.call(SIDRA_IOCTL_WEIGHTS_CREATE, reported), 0);
    {
        const StuckCall holder;
        const sidra_ioctl_queue_create create{holder.context.handle, SIDRA_QUEUE_USER, 6, 1, 0, 0, 0, 0, 0, 0};
        std::list<Process> waiters;
        // Each waits before the next one begins: who opens or unlinks a name waits for who publishes one.
        const auto add = [&](const auto&... call) {
            const Process& waiter = waiters.emplace_back(call...);
            EXPECT_TRUE(stays_asleep([&] { return waiter.waits() || holder.ended(); })) << waiter.name;
            EXPECT_FALSE(holder.ended()) << waiter.name << " did not wait";
        };
        // For the address space
        add("CONTEXT_CREATE", holder.node, SIDRA_IOCTL_CONTEXT_CREATE,
            sidra_ioctl_context_create{holder.context.vm, 0, 0, 0, 0});
        add("QUEUE_CREATE", holder.node, SIDRA_IOCTL_QUEUE_CREATE, create);
        sidra_ioctl_buffer_create unbound{SIDRA_PAGE_SIZE, 0, 0, 0};
        ASSERT_EQ(holder.node.call(SIDRA_IOCTL_BUFFER_CREATE, unbound), 0);
        add("BUFFER_CLOSE", holder.node, SIDRA_IOCTL_BUFFER_CLOSE, sidra_ioctl_buffer_close{unbound.handle, 0});
        // For the channel of commands
        add("BUFFER_UNBIND", node, SIDRA_IOCTL_BUFFER_UNBIND,
            sidra_ioctl_buffer_unbind{context.vm, buffer.handle, buffer.va});
        add("BUFFER_CLOSE of what is bound", closing, SIDRA_IOCTL_BUFFER_CLOSE,
            sidra_ioctl_buffer_close{closed.handle, 0});
        add("QUEUE_DESTROY", node, SIDRA_IOCTL_QUEUE_DESTROY,
            sidra_ioctl_queue{context.handle, queue.create.queue, 0, 0});
        add("CONTEXT_DESTROY", node, SIDRA_IOCTL_CONTEXT_DESTROY, sidra_ioctl_context{spared.handle, 0});
        // For these, and for the directory of weights
        add("WEIGHTS_CREATE", node, SIDRA_IOCTL_WEIGHTS_CREATE, weights(creating));
        static constexpr char kName[] = "name";
        const auto name = reinterpret_cast<uintptr_t>(kName);
        sidra_ioctl_weights_publish publish{};
        publish.context = publishing.handle;
        publish.index = published.index;
        publish.name = name;
        add("WEIGHTS_PUBLISH", node, SIDRA_IOCTL_WEIGHTS_PUBLISH, publish);
        sidra_ioctl_weights_open open{};
        open.context = opening.handle;
        open.rights = SIDRA_WEIGHTS_COMPUTE;
        open.name = name;
        open.owner = SIDRA_OWNER_CALLER;
        add("WEIGHTS_OPEN", node, SIDRA_IOCTL_WEIGHTS_OPEN, open);
        add("WEIGHTS_UNLINK", node, SIDRA_IOCTL_WEIGHTS_UNLINK,
            sidra_ioctl_weights_unlink{name, 0, SIDRA_OWNER_CALLER});
        add("WEIGHTS_REPORT", node, SIDRA_IOCTL_WEIGHTS_REPORT,
            sidra_ioctl_weights_report{reporting.handle, reported.index, 0, 0, 0, 0, 0});
        // In reverse order, so that none gets what the one before it held.
        for (auto waiter = waiters.rbegin(); waiter != waiters.rend(); ++waiter) waiter->kill();
        for (Process& waiter : waiters) {
            EXPECT_TRUE(eventually([&] { return waiter.ends(); })) << waiter.name;
            EXPECT_TRUE(waiter.was_killed()) << waiter.name;
        }
        EXPECT_FALSE(holder.ended()) << "they waited until they had the lock";
    }
    EXPECT_EQ(state_of(context), SIDRA_CONTEXT_OK);
    EXPECT_EQ(state_of(spared), SIDRA_CONTEXT_OK);
    EXPECT_EQ(queue.submit({nop()}), 0) << "no killed call was carried out";
    sidra_ioctl_buffer_unbind unbind{its_context.vm, closed.handle, closed.va};
    EXPECT_EQ(closing.call(SIDRA_IOCTL_BUFFER_UNBIND, unbind), 0) << "it is still open";
}

TEST_F(Lock, WhoRecoversCanBeKilled) {
    const StuckCall holder(true);
    Process recovering("CONTEXT_RECOVER", holder.node, SIDRA_IOCTL_CONTEXT_RECOVER,
                       sidra_ioctl_context{holder.neighbour.handle, 0});
    EXPECT_TRUE(stays_asleep([&] { return recovering.waits(); }));
    recovering.kill();
    EXPECT_TRUE(eventually([&] { return recovering.ends(); }));
    EXPECT_TRUE(recovering.was_killed());
    EXPECT_FALSE(holder.ended()) << "it waited until it had the lock";
}

}  // namespace
}  // namespace sidra::test
