// SPDX-License-Identifier: MIT
// libsidra's callbacks on the node: by io_uring where that is allowed, otherwise by ioctl, with the same visible
// behaviour.
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include <atomic>
#include <cstddef>
#include <filesystem>

#include "node.h"
#include "sidra/sidra.h"

namespace sidra::test {
namespace {

constexpr unsigned kStreams = 8;
constexpr unsigned kRounds = 5;

// Makes the system call fail with EPERM from now on, also in later threads, as in a container.
bool forbid(unsigned number) {
    sock_filter program[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, number, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    const sock_fprog whole = {sizeof program / sizeof program[0], program};
    return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 && prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &whole) == 0;
}

// Sets kernel.io_uring_disabled, and restores it on destruction.
class UringSetting {
   public:
    explicit UringSetting(const char* value) {
        std::ifstream(kPath) >> before_;
        write_text(kPath, value);
    }
    ~UringSetting() { write_text(kPath, before_); }
    UringSetting(const UringSetting&) = delete;
    UringSetting& operator=(const UringSetting&) = delete;

   private:
    static constexpr const char* kPath = "/proc/sys/kernel/io_uring_disabled";
    std::string before_;
};

bool holds_a_ring() {
    for (const auto& entry : std::filesystem::directory_iterator("/proc/self/fd")) {
        std::error_code gone;
        if (std::filesystem::read_symlink(entry, gone) == "anon_inode:[io_uring]") return true;
    }
    return false;
}

struct Counted {
    std::atomic<unsigned> count{0};
    std::atomic<int> wrong{0};  // the first status that was not SIDRA_OK
    static void call(sidra_status status, void* user) {
        auto& self = *static_cast<Counted*>(user);
        int none = 0;
        self.wrong.compare_exchange_strong(none, status);
        self.count++;
    }
};

// What a process observed of its callbacks.
struct Seen {
    bool whole = false;  // complete, without errors
    bool ring = false;   // it had a ring at the end
    long ioctls = -1;    // from the first callback to the last one
};

class Streams {
   public:
    bool open() {
        setenv("SIDRA_DEVICE", kOwnNode, 1);
        if (sidra_device_open(0, nullptr, &device_) != SIDRA_OK ||
            sidra_context_create(device_, &context_) != SIDRA_OK ||
            sidra_buffer_create(context_, 4096, SIDRA_BUFFER_HOST, &words_) != SIDRA_OK)
            return false;
        void* address = nullptr;
        if (sidra_buffer_map(words_, &address) != SIDRA_OK) return false;
        std::memset(address, 0, 4096);
        for (sidra_stream*& stream : streams_)
            if (sidra_stream_create(context_, nullptr, &stream) != SIDRA_OK) return false;
        return true;
    }
    // A callback for each stream, which waits at a semaphore until release().
    bool wait(uint64_t value, Counted* counted) {
        for (sidra_stream* stream : streams_)
            if (sidra_semaphore_wait_async(stream, {words_, 0}, value) != SIDRA_OK ||
                sidra_stream_add_callback(stream, Counted::call, counted) != SIDRA_OK)
                return false;
        return true;
    }
    bool release(uint64_t value) { return sidra_semaphore_signal(context_, {words_, 0}, value) == SIDRA_OK; }
    // Number of the driver's requests for an interrupt.
    uint64_t arms() {
        sidra_telemetry now{};
        return sidra_device_telemetry(device_, &now, sizeof now) == SIDRA_OK ? now.arms : 0;
    }
    bool close() {
        for (sidra_stream* stream : streams_)
            if (sidra_stream_destroy(stream) != SIDRA_OK) return false;
        return sidra_buffer_destroy(words_) == SIDRA_OK && sidra_context_destroy(context_) == SIDRA_OK &&
               sidra_device_close(device_) == SIDRA_OK;
    }

   private:
    sidra_device* device_ = nullptr;
    sidra_context* context_ = nullptr;
    sidra_buffer* words_ = nullptr;
    sidra_stream* streams_[kStreams] = {};
};

// In each round the thread arms all streams before the round completes their waits.
Seen run_callbacks(const std::string& counters) {
    const auto ioctls = [&] {
        std::ifstream file(counters);
        std::string name;
        for (long value; file >> name >> value;)
            if (name == "ioctls") return value;
        return -1L;
    };
    Seen seen;
    Streams streams;
    Counted counted;
    if (!streams.open()) return seen;
    const long before = ioctls();
    for (unsigned round = 1; round <= kRounds; round++) {
        const uint64_t arms = streams.arms();
        // A stream may be armed more than once; what matters is that all of them wait.
        const auto all_wait = [&] {
            return holds_a_ring() ? streams.arms() >= arms + kStreams : ioctls() - before >= round * kStreams;
        };
        if (!streams.wait(round, &counted) || !eventually(all_wait) || !streams.release(round) ||
            !eventually([&] { return counted.count == round * kStreams; }))
            return seen;
    }
    seen.ioctls = before < 0 ? -1 : ioctls() - before;
    seen.ring = holds_a_ring();
    seen.whole = counted.wrong == SIDRA_OK && streams.close();
    return seen;
}

class Callbacks : public NodeTest {
   protected:
    void SetUp() override {
        NodeTest::SetUp();
        const Card card;
        ASSERT_TRUE(card.known()) << "needs root";
        counters_ = "/sys/kernel/debug/accel/" + card.name() + "/counters";
    }
    // In a child process; `forbidden`: a system call number, 0 for none.
    Seen run(unsigned forbidden = 0) const {
        Seen seen;
        int ends[2];
        if (pipe(ends) != 0) return seen;
        const pid_t child = fork();
        if (child == 0) {
            if (forbidden != 0 && !forbid(forbidden)) _exit(1);
            const Seen result = run_callbacks(counters_);
            _exit(write(ends[1], &result, sizeof result) == sizeof result ? 0 : 2);
        }
        close(ends[1]);
        EXPECT_EQ(read(ends[0], &seen, sizeof seen), static_cast<ssize_t>(sizeof seen));
        close(ends[0]);
        int status = -1;
        EXPECT_EQ(waitpid(child, &status, 0), child);
        EXPECT_EQ(status, 0);
        return seen;
    }

    std::string counters_;
};

TEST_F(Callbacks, NeedNoIoctlByUring) {
    const Seen seen = run();
    EXPECT_TRUE(seen.whole);
    EXPECT_TRUE(seen.ring);
    EXPECT_EQ(seen.ioctls, 0);
}

TEST_F(Callbacks, ComeWhereUringIsSwitchedOff) {
    const UringSetting off("2");
    const Seen seen = run();
    EXPECT_TRUE(seen.whole);
    EXPECT_FALSE(seen.ring);
    EXPECT_EQ(seen.ioctls, kRounds * kStreams) << "each armed once";
}

TEST_F(Callbacks, ComeWhereAFilterForbidsRings) {
    const Seen seen = run(SYS_io_uring_setup);
    EXPECT_TRUE(seen.whole);
    EXPECT_FALSE(seen.ring);
    EXPECT_EQ(seen.ioctls, kRounds * kStreams);
}

// A ring that can be created but not used: noticed at the first sleep, and everything is armed again without it.
TEST_F(Callbacks, ComeWhereAFilterForbidsCommands) {
    const Seen seen = run(SYS_io_uring_enter);
    EXPECT_TRUE(seen.whole);
    EXPECT_FALSE(seen.ring);
    EXPECT_EQ(seen.ioctls, kRounds * kStreams);
}

// More streams than the commands of one system call, all of them armed when their work is dropped. The state page shows
// the drop a little before the library has evaluated it.
TEST_F(Callbacks, LearnHowTheirWorkWasDropped) {
    constexpr size_t kMany = 100;
    setenv("SIDRA_DEVICE", kOwnNode, 1);
    sidra_device* device = nullptr;
    sidra_context* context = nullptr;
    sidra_buffer* word = nullptr;
    ASSERT_EQ(sidra_device_open(0, nullptr, &device), SIDRA_OK);
    ASSERT_EQ(sidra_context_create(device, &context), SIDRA_OK);
    ASSERT_EQ(sidra_buffer_create(context, 4096, SIDRA_BUFFER_HOST, &word), SIDRA_OK);
    std::vector<sidra_stream*> streams(kMany);
    std::vector<Counted> seen(kMany);
    for (size_t i = 0; i < kMany; i++) {
        ASSERT_EQ(sidra_stream_create(context, nullptr, &streams[i]), SIDRA_OK);
        ASSERT_EQ(sidra_semaphore_wait_async(streams[i], {word, 0}, 1), SIDRA_OK);
        ASSERT_EQ(sidra_stream_add_callback(streams[i], Counted::call, &seen[i]), SIDRA_OK);
    }
    for (size_t i = 0; i < kMany; i++) {
        const bool reset = i % 2 == 0;
        if (reset) {
            EXPECT_EQ(sidra_stream_reset(streams[i]), SIDRA_OK);
            EXPECT_TRUE(eventually([&] { return seen[i].count == 1; })) << i;
        }
        EXPECT_EQ(sidra_stream_destroy(streams[i]), SIDRA_OK);
        EXPECT_EQ(seen[i].count, 1u) << i;
        EXPECT_EQ(seen[i].wrong, reset ? SIDRA_ERROR_FAULT : SIDRA_ERROR_INVALID_HANDLE) << i;
    }
    EXPECT_EQ(sidra_buffer_destroy(word), SIDRA_OK);
    EXPECT_EQ(sidra_context_destroy(context), SIDRA_OK);
    EXPECT_EQ(sidra_device_close(device), SIDRA_OK);
}

TEST_F(Callbacks, LearnThatTheCardIsGone) {
    const Card card;
    Streams streams;
    Counted counted;
    ASSERT_TRUE(streams.open());
    ASSERT_TRUE(streams.wait(1, &counted));
    ASSERT_TRUE(card.unbind());
    EXPECT_TRUE(eventually([&] { return counted.count == kStreams; }));
    EXPECT_EQ(counted.wrong, SIDRA_ERROR_CONTEXT_LOST);
    EXPECT_TRUE(streams.close());
    ASSERT_TRUE(card.bind());
}

}  // namespace
}  // namespace sidra::test
