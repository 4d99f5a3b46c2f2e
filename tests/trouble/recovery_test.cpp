// SPDX-License-Identifier: MIT
// Errors: resets by the bus, errors of the bus, a lost link, stalled queues.
#include <sys/wait.h>

#include <atomic>
#include <thread>

#include "node.h"

namespace sidra::test {
namespace {

class Recovery : public NodeTest {
   protected:
    const Card card;

    void SetUp() override {
        NodeTest::SetUp();
        ASSERT_TRUE(card.known()) << "only root resets cards";
    }
    std::string sysfs(const std::string& file) const { return "/sys/bus/pci/devices/" + card.name() + "/" + file; }

    static void expect_recovery(const Context& context) {
        sidra_ioctl_context recover{context.handle, 0};
        ASSERT_EQ(context.node.call(SIDRA_IOCTL_CONTEXT_RECOVER, recover), 0);
        Queue queue(context, SIDRA_QUEUE_USER);
        EXPECT_EQ(queue.wait(queue.push(nop())), 0);
    }
};

// Calls all the time, from another thread.
class Caller {
   public:
    explicit Caller(const Node& node)
        : thread_([this, &node] {
              for (sidra_ioctl_device_query query{}; !stop_ && error == 0; calls++)
                  error = node.call(SIDRA_IOCTL_DEVICE_QUERY, query);
          }) {}
    ~Caller() {
        stop_ = true;
        thread_.join();
    }
    Caller(const Caller&) = delete;
    Caller& operator=(const Caller&) = delete;
    std::atomic<int> error{0};
    std::atomic<uint64_t> calls{0};

   private:
    std::atomic<bool> stop_{false};
    std::thread thread_;
};

TEST_F(Recovery, ResetsOfTheFunctionAreWaitedOut) {
    Node node;
    Context context(node);
    Buffer local(context, 4096, SIDRA_BUFFER_LOCAL);
    const Caller caller(node);
    for (int round = 0; round < rounds(10, 200); round++) {
        Queue queue(context, SIDRA_QUEUE_USER), kernel(context, SIDRA_QUEUE_KERNEL), parked(context, SIDRA_QUEUE_USER);
        Buffer buffer(context, 1 << 20);
        parked.push(sem_wait(buffer.va, 1));
        for (int i = 0; i < 30; i++) queue.push(copy(buffer.va, local.va, 4096));
        for (int i = 0; i < 30; i++) kernel.submit({copy(buffer.va, buffer.va + 65536, 65536)});
        local.words[1] = 1000u + static_cast<uint64_t>(round);
        int waited = 0;
        std::thread waiter([&] { waited = parked.wait(1); });
        ASSERT_TRUE(write_text(sysfs("reset"), "1"));
        waiter.join();
        EXPECT_EQ(waited, -EIO);
        EXPECT_EQ(state_of(context), SIDRA_CONTEXT_LOST);
        EXPECT_EQ(queue.run_state(), SIDRA_QUEUE_LOST);
        EXPECT_EQ(local.words[1], 1000u + static_cast<uint64_t>(round)) << "L3 stays, and is mapped again";
        expect_recovery(context);
        ASSERT_EQ(caller.error, 0) << "nobody is told that the device is gone";
    }
    EXPECT_GT(caller.calls, 0u);
}

TEST_F(Recovery, ErrorsOfTheBus) {
    Node node;
    Context context(node);
    const auto counted = [&](const char* counter) {
        std::ifstream file(sysfs(counter));
        uint64_t total = 0, value = 0;
        for (std::string word; file >> word >> value;)
            if (word.rfind("TOTAL", 0) == 0) total = value;
        return total;
    };
    // One that costs a transaction, one after which the link is reset (which is not counted), one that was corrected.
    const struct {
        const char *name, *counter;
        bool costs;
    } errors[] = {
        {"COMP_TIME", "aer_dev_nonfatal", true}, {"MALF_TLP", nullptr, true}, {"RCVR", "aer_dev_correctable", false}};
    for (const auto& error : errors) {
        for (int round = 0; round < rounds(2, 10); round++) {
            const uint64_t before = error.counter ? counted(error.counter) : 0;
            Queue queue(context, SIDRA_QUEUE_USER);
            EXPECT_EQ(queue.wait(queue.push(nop())), 0);
            ASSERT_TRUE(qmp("human-monitor-command 'command-line=pcie_aer_inject_error sidra0 " +
                            std::string(error.name) + "'"));
            ASSERT_TRUE(!error.counter || eventually([&] { return counted(error.counter) > before; })) << error.name;
            if (error.costs) {
                ASSERT_TRUE(eventually([&] { return state_of(context) == SIDRA_CONTEXT_LOST; })) << error.name;
                expect_recovery(context);
            } else {
                EXPECT_EQ(queue.wait(queue.push(nop())), 0);
                EXPECT_EQ(state_of(context), SIDRA_CONTEXT_OK);
            }
        }
    }
}

TEST_F(Recovery, ALostLinkWakesWhoeverSleeps) {
    for (int round = 0; round < rounds(2, 20); round++) {
        Node node;
        Context context(node);
        Buffer buffer(context, 4096);
        Queue parked(context, SIDRA_QUEUE_USER), kernel(context, SIDRA_QUEUE_KERNEL);
        parked.push(sem_wait(buffer.va, 1));
        const int event = eventfd(0, EFD_CLOEXEC);
        sidra_ioctl_arm arm{context.handle, parked.create.queue, 1, event, 0, parked.epoch(), 0};
        ASSERT_EQ(node.call(SIDRA_IOCTL_ARM, arm), 0);
        ASSERT_TRUE(knob("link-lost", 1));
        pollfd fired{event, POLLIN, 0};
        EXPECT_EQ(poll(&fired, 1, static_cast<int>(kPatienceMs)), 1) << "without a call that would look at the link";
        EXPECT_EQ(parked.run_state(), SIDRA_QUEUE_LOST);
        EXPECT_EQ(parked.wait(1), -EIO);
        sidra_ioctl_device_query query{};
        EXPECT_EQ(node.call(SIDRA_IOCTL_DEVICE_QUERY, query), -ENODEV);
        EXPECT_EQ(kernel.submit({nop()}), -ESTALE);
        ASSERT_TRUE(knob("link-lost", 0));
        EXPECT_EQ(node.call(SIDRA_IOCTL_DEVICE_QUERY, query), 0);
        expect_recovery(context);
        close(event);
    }
}

// Although the chip's clock cannot be read.
TEST_F(Recovery, ALostLinkIsTheLatestFault) {
    Node node;
    Context context(node);
    Queue faulted(context, SIDRA_QUEUE_USER), queue(context, SIDRA_QUEUE_USER), other(context, SIDRA_QUEUE_USER);
    const auto fault = [&] {
        sidra_ioctl_context_query query{};
        query.context = context.handle;
        EXPECT_EQ(node.call(SIDRA_IOCTL_CONTEXT_QUERY, query), 0);
        return query.fault;
    };
    const auto fails = [](Queue& its_queue) { return its_queue.wait(its_queue.push(packet(SIDRA_CMD_OPCODE_COUNT))); };
    EXPECT_EQ(fails(faulted), -EIO);
    EXPECT_EQ(fails(other), -EIO);
    EXPECT_EQ(fault().queue, other.create.queue);
    ASSERT_TRUE(knob("link-lost", 1));
    EXPECT_TRUE(finds_lost_link(node));
    ASSERT_TRUE(knob("link-lost", 0));
    EXPECT_EQ(fault().cause, SIDRA_FAULT_RESET);
    EXPECT_EQ(fault().queue, queue.create.queue);
    EXPECT_EQ(faulted.state->fault.cause, SIDRA_FAULT_OPCODE) << "to its owner a queue says its own";
    expect_recovery(context);
    EXPECT_EQ(fault().cause, SIDRA_FAULT_RESET);
    Queue again(context, SIDRA_QUEUE_USER);
    EXPECT_EQ(fails(again), -EIO);
    EXPECT_EQ(fault().cause, SIDRA_FAULT_OPCODE) << "what comes later is later";
}

TEST_F(Recovery, AQueueThatDoesNotGetOnIsStopped) {
    Node node;
    Context context(node);
    Buffer buffer(context, 4096);
    Queue queue(context, SIDRA_QUEUE_USER), parked(context, SIDRA_QUEUE_USER), idle(context, SIDRA_QUEUE_USER);
    parked.push(sem_wait(buffer.va, 1));
    EXPECT_EQ(idle.wait(idle.push(nop())), 0);
    EXPECT_EQ(queue.wait(queue.push(nop())), 0);
    ASSERT_TRUE(eventually([&] { return parked.state->parked == 1; }));
    ASSERT_TRUE(knob("stall", 1));
    EXPECT_EQ(wait_for_time_out(queue, queue.push(nop())), -EIO);
    EXPECT_EQ(queue.run_state(), SIDRA_QUEUE_FAULTED);
    EXPECT_EQ(queue.state->fault.cause, SIDRA_FAULT_TIMEOUT);
    ASSERT_TRUE(knob("stall", 0));
    EXPECT_EQ(parked.run_state(), SIDRA_QUEUE_RUNNING) << "it may wait as long as it likes";
    EXPECT_EQ(idle.run_state(), SIDRA_QUEUE_RUNNING);
    EXPECT_EQ(state_of(context), SIDRA_CONTEXT_OK);
    ASSERT_EQ(queue.reset(), 0);
    EXPECT_EQ(queue.wait(queue.push(nop())), 0);
}

TEST_F(Recovery, ALongProgramIsNoHang) {
    const Parameter impatient("queue_timeout_ms", "1000");
    Node node;
    Context context(node);
    Buffer buffer(context, 16 << 20);
    Queue queue(context, SIDRA_QUEUE_USER, 10);
    const uint64_t end = in_ms(3000);
    while (in_ms(0) < end && queue.run_state() <= SIDRA_QUEUE_RUNNING) {
        if (queue.next - queue.timeline() < 64) queue.push(copy(buffer.va, buffer.va + (8 << 20), 8 << 20));
    }
    EXPECT_EQ(queue.wait(queue.next), 0);
}

// The watchdog of a job must not outlive the device.
TEST_F(Recovery, RemovalRightAfterAJob) {
    for (int round = 0; round < rounds(5, 50); round++) {
        {
            Node node;
            Context context(node);
            Queue kernel(context, SIDRA_QUEUE_KERNEL);
            const std::vector<sidra_cmd> packets = {nop()};
            sidra_ioctl_submit fenced = kernel.request(packets);
            fenced.flags = SIDRA_SUBMIT_OUT_FENCE;
            ASSERT_EQ(node.call(SIDRA_IOCTL_SUBMIT, fenced), 0);
            close(fenced.out_fence_fd);
        }
        ASSERT_TRUE(card.unbind());
        ASSERT_TRUE(card.bind());
    }
}

// Another process, which computes all the time and checks every answer.
class Innocent {
   public:
    Innocent() {
        if (pipe2(stop_, O_CLOEXEC) != 0 || pipe2(done_, O_CLOEXEC) != 0) return;
        child_ = fork();
        if (child_ == 0) _exit(run());
    }
    ~Innocent() {
        for (int fd : {stop_[0], stop_[1], done_[0], done_[1]}) close(fd);
    }
    Innocent(const Innocent&) = delete;
    Innocent& operator=(const Innocent&) = delete;
    // Waits for so many answers from now on.
    bool gets(int answers) const {
        char answer;
        for (int i = 0; i < answers; i++) {
            pollfd more{done_[0], POLLIN, 0};
            if (poll(&more, 1, static_cast<int>(kPatienceMs)) != 1 || read(done_[0], &answer, 1) != 1) return false;
        }
        return true;
    }
    // Stops the thread and returns its error, 0 if none.
    int ends() {
        int status = 0;
        close(stop_[1]);
        stop_[1] = -1;
        close(done_[0]);  // it may be full
        done_[0] = -1;
        return waitpid(child_, &status, 0) == child_ && WIFEXITED(status) ? WEXITSTATUS(status) : -1;
    }

   private:
    int run() {
        signal(SIGPIPE, SIG_IGN);
        close(stop_[1]);
        close(done_[0]);
        Node node;
        Context context(node);
        Buffer buffer(context, 65536);
        Queue queue(context, SIDRA_QUEUE_USER);
        for (uint64_t round = 0;; round++) {
            for (uint64_t i = 0; i < 4096; i++) buffer.words[i] = (round << 32 | i) * 0x9e3779b97f4a7c15;
            if (queue.wait(queue.push(copy(buffer.va + 32768, buffer.va, 32768))) != 0) return 2;
            if (std::memcmp(buffer.words, buffer.words + 4096, 32768) != 0) return 3;
            [[maybe_unused]] const ssize_t told = write(done_[1], "", 1);
            pollfd stop{stop_[0], POLLIN, 0};
            if (poll(&stop, 1, 0) == 1) return state_of(context) == SIDRA_CONTEXT_OK ? 0 : 4;
        }
    }

    pid_t child_ = -1;
    int stop_[2] = {-1, -1}, done_[2] = {-1, -1};
};

TEST_F(Recovery, NoAcknowledgementEndsInAContextReset) {
    Innocent innocent;
    Node node;
    Context context(node);
    const uint64_t resets = card.counter("device_resets");
    ASSERT_TRUE(innocent.gets(3));
    for (int round = 0; round < rounds(3, 50); round++) {
        Buffer buffer(context, 1 << 16), unused(context, 4096);
        Queue queue(context, SIDRA_QUEUE_USER);
        for (int i = 0; i < 30; i++) queue.push(copy(buffer.va, buffer.va + 32768, 32768));
        // Not the buffer being copied, otherwise the queue might fault first.
        sidra_ioctl_buffer_unbind unbind{context.vm, unused.handle, unused.va};
        ASSERT_TRUE(knob("no-quiesce-ack", 1));
        EXPECT_EQ(node.call(SIDRA_IOCTL_BUFFER_UNBIND, unbind), 0) << "the promise is kept: by force";
        ASSERT_TRUE(knob("no-quiesce-ack", 0));
        EXPECT_EQ(state_of(context), SIDRA_CONTEXT_LOST);
        EXPECT_EQ(queue.run_state(), SIDRA_QUEUE_LOST);
        EXPECT_EQ(queue.state->fault.cause, SIDRA_FAULT_TIMEOUT);
        expect_recovery(context);
        EXPECT_TRUE(innocent.gets(3));
    }
    // A queue whose release the chip does not acknowledge either.
    Queue queue(context, SIDRA_QUEUE_USER);
    ASSERT_TRUE(knob("no-quiesce-ack", 2));
    EXPECT_EQ(queue.reset(), -ESTALE);
    ASSERT_TRUE(knob("no-quiesce-ack", 0));
    EXPECT_EQ(state_of(context), SIDRA_CONTEXT_LOST);
    expect_recovery(context);
    EXPECT_TRUE(innocent.gets(3));
    EXPECT_EQ(innocent.ends(), 0) << "2: a wait failed, 3: a wrong answer, 4: its context was lost";
    EXPECT_EQ(card.counter("device_resets"), resets);
}

TEST_F(Recovery, NoAcknowledgementEndsInADeviceReset) {
    Node node;
    Context context(node), innocent(node);
    std::vector<uint8_t> memory(1 << 16);
    sidra_ioctl_buffer_register enroll{reinterpret_cast<uintptr_t>(memory.data()), memory.size(), 0, 0};
    ASSERT_EQ(node.call(SIDRA_IOCTL_BUFFER_REGISTER, enroll), 0);
    sidra_ioctl_buffer_unbind unbind{context.vm, enroll.handle, Buffer::bind(context, enroll.handle)};
    Queue queue(innocent, SIDRA_QUEUE_USER);
    ASSERT_TRUE(knob("no-quiesce-ack", 3));
    EXPECT_EQ(node.call(SIDRA_IOCTL_BUFFER_UNBIND, unbind), 0) << "the promise is kept: by force";
    EXPECT_EQ(state_of(context), SIDRA_CONTEXT_LOST);
    EXPECT_EQ(state_of(innocent), SIDRA_CONTEXT_LOST);
    EXPECT_EQ(queue.run_state(), SIDRA_QUEUE_LOST);
    EXPECT_EQ(queue.state->fault.cause, SIDRA_FAULT_TIMEOUT);
    queue.push(nop());  // its doorbell page is a private page by now
    ASSERT_TRUE(knob("no-quiesce-ack", 0));
    sidra_ioctl_context recover{innocent.handle, 0};
    ASSERT_EQ(node.call(SIDRA_IOCTL_CONTEXT_RECOVER, recover), 0);
    Queue again(innocent, SIDRA_QUEUE_USER);
    EXPECT_EQ(again.wait(again.push(nop())), 0) << "the mapped doorbell is the real one again";
}

}  // namespace
}  // namespace sidra::test
