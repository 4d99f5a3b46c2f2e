// SPDX-License-Identifier: MIT
// The cost of a submit and of a polled wait, observed from outside: the kernel kills a child at its first system call,
// and the chip counts accesses and interrupts.
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include <algorithm>
#include <cstddef>
#include <memory>

#include "node.h"
#include "sidra/sidra.h"

namespace sidra::test {
namespace {

constexpr unsigned kSubmits = 500;

// From now on only _exit() is allowed; anything else kills the process with SIGSYS.
bool forbid_system_calls() {
    sock_filter program[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_exit_group, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS),
    };
    const sock_fprog whole = {sizeof program / sizeof program[0], program};
    return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 && prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &whole) == 0;
}

struct Opened {
    sidra_device* device = nullptr;
    sidra_context* context = nullptr;
    sidra_stream* stream = nullptr;

    bool open() {
        setenv("SIDRA_DEVICE", kOwnNode, 1);
        return sidra_device_open(0, nullptr, &device) == SIDRA_OK &&
               sidra_context_create(device, &context) == SIDRA_OK &&
               sidra_stream_create(context, nullptr, &stream) == SIDRA_OK && sidra_nop_async(stream) == SIDRA_OK &&
               sidra_stream_synchronize(stream, SIDRA_NEVER) == SIDRA_OK;
    }
    // Status 0: all was well.
    int submit_and_poll(unsigned count) const {
        for (unsigned i = 0; i < count; ++i) {
            if (sidra_nop_async(stream) != SIDRA_OK) return 2;
            sidra_status status = SIDRA_ERROR_NOT_READY;
            while (status == SIDRA_ERROR_NOT_READY) status = sidra_stream_query(stream);
            if (status != SIDRA_OK) return 3;
        }
        return 0;
    }
};

class NodeHotPath : public NodeTest {};

TEST_F(NodeHotPath, SubmitAndPolledWaitMakeNoSystemCall) {
    const pid_t child = fork();
    ASSERT_GE(child, 0);
    if (child == 0) {
        Opened opened;
        if (!opened.open() || !forbid_system_calls()) _exit(1);
        _exit(opened.submit_and_poll(kSubmits));
    }
    int status = 0;
    ASSERT_EQ(waitpid(child, &status, 0), child);
    EXPECT_TRUE(WIFEXITED(status)) << "killed by signal " << WTERMSIG(status)
                                   << (WTERMSIG(status) == SIGSYS ? ": a system call" : "");
    EXPECT_EQ(WEXITSTATUS(status), 0);
}

// The counterpart of the test above, which therefore cannot pass by accident.
TEST_F(NodeHotPath, ASystemCallWouldBeSeen) {
    const pid_t child = fork();
    ASSERT_GE(child, 0);
    if (child == 0) {
        if (!forbid_system_calls()) _exit(1);
        syscall(SYS_getppid);
        _exit(0);
    }
    int status = 0;
    ASSERT_EQ(waitpid(child, &status, 0), child);
    EXPECT_TRUE(WIFSIGNALED(status) && WTERMSIG(status) == SIGSYS);
}

TEST_F(NodeHotPath, ASubmitIsOneRegisterWriteAndNoInterrupt) {
    Opened opened;
    ASSERT_TRUE(opened.open()) << sidra_last_error();
    const auto counters = [&] {
        sidra_telemetry now{};
        EXPECT_EQ(SIDRA_OK, sidra_device_telemetry(opened.device, &now, sizeof now));
        return now;
    };
    // The driver checks stalled queues, to which this queue may belong on a busy machine: the best of several rounds
    // counts.
    const auto best = [&](auto work) {
        sidra_telemetry least{};
        least.doorbells = least.mmio_writes = least.mmio_reads = least.interrupts = least.arms = UINT64_MAX;
        for (unsigned round = 0; round < 10; round++) {
            const sidra_telemetry before = counters();
            EXPECT_TRUE(work());
            const sidra_telemetry after = counters();
            for (uint64_t sidra_telemetry::*counter :
                 {&sidra_telemetry::doorbells, &sidra_telemetry::mmio_writes, &sidra_telemetry::mmio_reads,
                  &sidra_telemetry::interrupts, &sidra_telemetry::arms})
                least.*counter = std::min(least.*counter, after.*counter - before.*counter);
        }
        return least;
    };
    const sidra_telemetry looking = best([] { return true; });
    const sidra_telemetry submitting = best([&] { return opened.submit_and_poll(kSubmits) == 0; });
    EXPECT_EQ(submitting.doorbells, kSubmits);
    EXPECT_EQ(submitting.mmio_writes, kSubmits + looking.mmio_writes);
    EXPECT_EQ(submitting.mmio_reads, looking.mmio_reads);
    EXPECT_EQ(submitting.interrupts, 0u);
    EXPECT_EQ(submitting.arms, 0u);
    EXPECT_EQ(sidra_stream_destroy(opened.stream), SIDRA_OK);
    EXPECT_EQ(sidra_context_destroy(opened.context), SIDRA_OK);
    EXPECT_EQ(sidra_device_close(opened.device), SIDRA_OK);
}

// Sleeping waiters cost nothing: an interrupt arms the chip only for queues that have changed, not for all of its
// vector.
TEST_F(NodeHotPath, AnInterruptWritesNoRegisterForThoseWhoStillWait) {
    constexpr uint64_t kBlocks = 10, kRounds = 10, kSleepers = 200;
    const Card card;
    ASSERT_TRUE(card.known()) << "only root reads the counters";
    Node node;
    Context context(node);
    Queue queue(context, SIDRA_QUEUE_USER);
    const int event = eventfd(0, EFD_CLOEXEC);
    const auto arm = [&](const Queue& its_queue, uint64_t value) {
        sidra_ioctl_arm request{context.handle, its_queue.create.queue, value, event, 0, its_queue.epoch(), 0};
        return node.call(SIDRA_IOCTL_ARM, request);
    };
    std::vector<std::unique_ptr<Queue>> sleepers;
    for (uint64_t i = 0; i < kSleepers; i++) {
        sleepers.push_back(std::make_unique<Queue>(context, SIDRA_QUEUE_USER));
        ASSERT_EQ(arm(*sleepers.back(), 1), 0);
    }
    // A recheck without an interrupt may come first.
    const auto looks = [&] { return card.counter("interrupts") + card.counter("rechecks"); };
    const uint64_t before = looks();
    // A recheck at the moment of an interrupt arms the chip again: the best of several blocks counts.
    uint64_t writes = UINT64_MAX;
    for (uint64_t block = 0; block < kBlocks; block++) {
        const uint64_t written = card.counter("mmio_writes");
        for (uint64_t round = 0; round < kRounds; round++) {
            ASSERT_EQ(arm(queue, queue.next + 1), 0);
            queue.push(nop());
            pollfd fired{event, POLLIN, 0};
            ASSERT_EQ(poll(&fired, 1, static_cast<int>(kPatienceMs)), 1);
            uint64_t count = 0;
            ASSERT_EQ(read(event, &count, sizeof count), static_cast<ssize_t>(sizeof count));
            EXPECT_EQ(count, 1u) << "nobody else is woken";
        }
        writes = std::min(writes, card.counter("mmio_writes") - written);
    }
    EXPECT_TRUE(eventually([&] { return looks() - before >= kBlocks * kRounds; }))
        << "the last may be counted after its wake-up";
    EXPECT_EQ(writes, kRounds) << "that of each call alone";
    close(event);
}

TEST_F(NodeHotPath, TwoProcessesWorkSideBySide) {
    constexpr unsigned kChildren = 2;
    constexpr unsigned kRounds = 50;
    pid_t children[kChildren];
    for (unsigned n = 0; n < kChildren; ++n) {
        children[n] = fork();
        ASSERT_GE(children[n], 0);
        if (children[n] != 0) continue;
        Opened opened;
        sidra_buffer* buffer = nullptr;
        void* address = nullptr;
        if (!opened.open() || sidra_buffer_create(opened.context, 65536, 0, &buffer) != SIDRA_OK ||
            sidra_buffer_map(buffer, &address) != SIDRA_OK)
            _exit(1);
        auto* words = static_cast<uint32_t*>(address);
        for (unsigned round = 0; round < kRounds; ++round) {
            for (unsigned i = 0; i < 8192; ++i) words[i] = n << 24 | round << 14 | i;
            if (sidra_copy_async(opened.stream, {buffer, 32768}, {buffer, 0}, 32768) != SIDRA_OK) _exit(2);
            if (sidra_stream_synchronize(opened.stream, SIDRA_NEVER) != SIDRA_OK) _exit(3);
            if (std::memcmp(words, words + 8192, 32768) != 0) _exit(4);
        }
        _exit(0);
    }
    for (const pid_t child : children) {
        int status = 0;
        ASSERT_EQ(waitpid(child, &status, 0), child);
        EXPECT_TRUE(WIFEXITED(status));
        EXPECT_EQ(WEXITSTATUS(status), 0);
    }
}

}  // namespace
}  // namespace sidra::test
