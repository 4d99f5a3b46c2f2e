// SPDX-License-Identifier: MIT
// Figures of the driver that need a guest: what a flood of clients at their limits costs one that works, and how long
// an unbind takes with a waiter in every kind of wait. A case checks what the calls return, and prints its figures as
// "# figure NAME VALUE" for scripts/vm/driver-figures.sh. It never fails because of a time.
#include <grp.h>
#include <sched.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <map>
#include <optional>

#include "attribute_waiters.h"
#include "page_waiters.h"
#include "ring.h"
#include "stuck_call.h"
#include "users.h"

namespace sidra::test {
namespace {

void print_figure(const char* name, double value) {
    std::printf("# figure %s %.4g\n", name, value);
    std::fflush(stdout);
}

double median(std::vector<double> values) {
    std::sort(values.begin(), values.end());
    return values[values.size() / 2];
}

bool run_on(int cpu) {
    cpu_set_t one;
    CPU_ZERO(&one);
    CPU_SET(cpu, &one);
    return sched_setaffinity(0, sizeof one, &one) == 0;
}

// What the clients of the flood do. They share the page with the test.
enum Phase : int { kStarting, kIdle, kSpinning, kFlooding, kOver };
struct Shared {
    std::atomic<int> phase{kStarting}, ready{0};
    std::atomic<uint64_t> refusals{0};
};

constexpr int kClients = 3;
constexpr uid_t kFirstUser = 64'101;

// One client: an ordinary user who holds as much of everything as a user may, and asks for more. Data needs a name, so
// some clients hold one name less: data alone is the reason why they may not have another one.
class Client {
   public:
    explicit Client(int number) : number_(number), names_(number % 2 == 0 ? kNames : kNames - 1) {
        for (uint32_t i = 0; i < names_; i++)
            EXPECT_EQ(named_[i].publish(name(i).c_str(), 0600, i == 0 ? kData : 0), 0);
        const auto until_refused = [](auto call) {
            int error = 0;
            for (int i = 0; i < 4096 && error == 0; i++) error = call();
            EXPECT_EQ(error, -EDQUOT);
        };
        until_refused([this] { return create_context(); });
        until_refused([this] { return create_queue(); });
        until_refused([this] { return create_weights(); });
        until_refused([this] { return create_local_buffer(); });
        EXPECT_EQ(publish_one_more(), -EDQUOT);
        const auto held = query_device<sidra_query_limits>(node_, SIDRA_QUERY_LIMITS);
        EXPECT_EQ(held.names, names_);
        EXPECT_EQ(held.names_max, kNames);
        EXPECT_EQ(held.data, held.data_max);
    }
    ~Client() {
        for (uint32_t i = 0; i < names_; i++) {
            const std::string its_name = name(i);
            sidra_ioctl_weights_unlink a{reinterpret_cast<uintptr_t>(its_name.c_str()), 0, SIDRA_OWNER_CALLER};
            EXPECT_EQ(node_.call(SIDRA_IOCTL_WEIGHTS_UNLINK, a), 0);
        }
    }
    Client(const Client&) = delete;
    Client& operator=(const Client&) = delete;

    // Asks for one more of each; returns how many of these calls were refused.
    unsigned ask() {
        unsigned refusals = 0;
        for (const int error :
             {create_context(), create_queue(), create_weights(), create_local_buffer(), publish_one_more()})
            refusals += error == -EDQUOT;
        return refusals;
    }

    static constexpr unsigned kKinds = 5;
    static constexpr uint32_t kNames = 2;
    static constexpr uint64_t kContexts = 5, kQueues = 5, kXbars = 5, kLocal = 64 * SIDRA_PAGE_SIZE, kData = 4096;

   private:
    std::string name(uint32_t i) const { return "flood-" + std::to_string(number_) + "-" + std::to_string(i); }
    int create_context() const {
        sidra_ioctl_context_create a{};
        a.vm = named_[0].context.vm;
        return node_.call(SIDRA_IOCTL_CONTEXT_CREATE, a);
    }
    int create_queue() const {
        sidra_ioctl_queue_create a{};
        a.context = named_[0].context.handle;
        a.kind = SIDRA_QUEUE_KERNEL;
        a.ring_log2 = 6;
        a.priority = 1;
        return node_.call(SIDRA_IOCTL_QUEUE_CREATE, a);
    }
    int create_weights() const {
        sidra_ioctl_weights_create a{};
        a.context = named_[0].context.handle;
        a.encoding = SIDRA_ENCODING_OFFSET;
        a.rows = a.cols = 16;
        a.rights = SIDRA_WEIGHTS_RIGHTS;
        return node_.call(SIDRA_IOCTL_WEIGHTS_CREATE, a);
    }
    int create_local_buffer() const {
        sidra_ioctl_buffer_create a{SIDRA_PAGE_SIZE, SIDRA_BUFFER_LOCAL, 0, 0};
        return node_.call(SIDRA_IOCTL_BUFFER_CREATE, a);
    }
    int publish_one_more() const { return named_[kNames].publish(name(kNames).c_str(), 0600, 1); }

    const int number_;
    const uint32_t names_;
    Node node_;
    const Programmed named_[kNames + 1]{Programmed(node_), Programmed(node_), Programmed(node_)};
};

// In a process of its own.
int run_client(int number, Shared& shared) {
    const uid_t user = kFirstUser + static_cast<uid_t>(number);
    if (!run_on(1) || setgroups(0, nullptr) != 0 || setresgid(user, user, user) != 0 ||
        setresuid(user, user, user) != 0)
        return 2;
    Client client(number);
    shared.ready++;
    while (shared.phase != kOver) {
        switch (shared.phase) {
            case kFlooding: {
                const unsigned refusals = client.ask();
                EXPECT_EQ(refusals, Client::kKinds);
                shared.refusals += refusals;
                break;
            }
            case kSpinning:
                for (int i = 0; i < 1000; i++) getppid();
                break;
            default:
                sleep_ms(1);
        }
    }
    return testing::Test::HasFailure() ? 1 : 0;
}

// Copies 64 KiB by each packet and compares, on the first CPU.
class Victim {
   public:
    double per_second(uint64_t ms) {
        const uint64_t begin = in_ms(0), end = in_ms(ms);
        uint64_t done = 0;
        for (; in_ms(0) < end; done++) {
            buffer_.words[0] = ++value_;
            EXPECT_EQ(queue_.wait(queue_.push(copy(buffer_.va + kBytes, buffer_.va, kBytes))), 0);
            EXPECT_EQ(buffer_.words[kBytes / 8], value_);
        }
        return static_cast<double>(done) * 1e9 / static_cast<double>(in_ms(0) - begin);
    }

   private:
    static constexpr uint64_t kBytes = 65'536;
    const Node node_;
    const Context context_{node_};
    const Buffer buffer_{context_, 2 * kBytes};
    Queue queue_{context_, SIDRA_QUEUE_USER};
    uint64_t value_ = 0;
};

class Figures : public NodeTest {};

// The clients have the second CPU, and the victim the first one: what the kernel's scheduler divides is not the
// driver's. So the victim's speed beside the flood is compared with that beside the same processes when they only use
// their CPU, and, for information, when they sleep.
TEST_F(Figures, VictimOfAFlood) {
    ASSERT_EQ(geteuid(), 0u) << "only root can become somebody else";
    ASSERT_GE(sysconf(_SC_NPROCESSORS_ONLN), 2);
    const Limit contexts("contexts", Client::kContexts), queues("queues", Client::kQueues),
        names("names", Client::kNames), xbars("crossbars", Client::kXbars), local("l3", Client::kLocal),
        data("data", Client::kData);
    ASSERT_TRUE(contexts.good && queues.good && names.good && xbars.good && local.good && data.good);
    struct stat before {};
    ASSERT_EQ(stat(node_path().c_str(), &before), 0);
    ASSERT_EQ(chmod(node_path().c_str(), 0666), 0);

    void* page = mmap(nullptr, SIDRA_PAGE_SIZE, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    ASSERT_NE(page, MAP_FAILED);
    auto& shared = *new (page) Shared;
    std::vector<pid_t> clients;
    for (int i = 0; i < kClients; i++) {
        clients.push_back(fork());
        if (clients.back() == 0) _exit(run_client(i, shared));
    }
    EXPECT_TRUE(eventually([&] { return shared.ready == kClients; }));
    ASSERT_TRUE(run_on(0));
    Victim victim;
    victim.per_second(500);
    // Many short periods, each beside those that it is compared with, in both orders, and their sums: on a shared
    // machine, the speed of a single period varies by half.
    std::array<double, kOver> speed{};
    for (int round = 0; round < rounds(40, 160); round++) {
        std::array<Phase, 3> order{kIdle, kSpinning, kFlooding};
        if (round % 2 == 1) std::reverse(order.begin(), order.end());
        for (const Phase phase : order) {
            shared.phase = phase;
            sleep_ms(20);
            speed[phase] += victim.per_second(200);
        }
    }
    shared.phase = kOver;
    for (const pid_t client : clients) {
        int status = 0;
        EXPECT_EQ(waitpid(client, &status, 0), client);
        EXPECT_EQ(status, 0);
    }
    EXPECT_GT(shared.refusals, 0u);
    chmod(node_path().c_str(), before.st_mode & 07777);
    std::printf("# %d clients were refused %llu calls\n", kClients,
                static_cast<unsigned long long>(shared.refusals.load()));
    print_figure("flood_victim_share", speed[kFlooding] / speed[kSpinning]);
    print_figure("flood_victim_share_of_idle", speed[kFlooding] / speed[kIdle]);
    munmap(page, SIDRA_PAGE_SIZE);
}

// Sleeping waits for locks of the driver, counted by the kernel's event of contention while the object exists.
class LockWaits {
   public:
    LockWaits() { good = write_text(kTrigger, kKeys); }
    ~LockWaits() { EXPECT_TRUE(write_text(kTrigger, std::string("!") + kKeys)); }
    LockWaits(const LockWaits&) = delete;
    LockWaits& operator=(const LockWaits&) = delete;

    // How many there were, by the function of the driver that waited.
    static std::map<std::string, uint64_t> by_function() {
        std::map<std::string, uint64_t> waits;
        std::ifstream lines(kFolder + "/hist");
        std::string line, function;
        // A block begins with `{ flags: N, common_stacktrace:`, goes on with `FUNCTION+OFFSET [MODULE]` for each frame,
        // and ends with `} hitcount: N`.
        while (std::getline(lines, line)) {
            if (line.rfind("{ ", 0) == 0) function = line.find(kSpinning) == std::string::npos ? "" : "-";
            const size_t name = line.find("sidra_"), end = line.find('+');
            if (function.empty() && name != std::string::npos && end != std::string::npos)
                function = line.substr(name, end - name);
            const size_t count = line.find("hitcount:");
            if (line.rfind("} ", 0) == 0 && function.size() > 1 && count != std::string::npos)
                waits[function] += std::stoull(line.substr(count + sizeof "hitcount:" - 1));
        }
        return waits;
    }
    bool good;

   private:
    static inline const std::string kFolder = "/sys/kernel/tracing/events/lock/contention_begin";
    static inline const std::string kTrigger = kFolder + "/trigger";
    static constexpr const char* kKeys = "hist:keys=flags,common_stacktrace";
    static constexpr const char* kSpinning = "flags:          1,";  // LCB_F_SPIN alone: a spinlock
};

// Processes that work in contexts of their own, each in the calls of one kind. They share the page with the test.
struct Load {
    std::atomic<bool> over{false};
    std::atomic<uint64_t> binds{0}, queues{0}, queries{0}, names{0};
};

void load_with_bindings(Load& load) {
    const Node node;
    const Context context(node);
    const Buffer buffer(context, uint64_t{16} << 20);
    while (!load.over) {
        sidra_ioctl_buffer_unbind unbind{context.vm, buffer.handle, Buffer::bind(context, buffer.handle)};
        EXPECT_EQ(node.call(SIDRA_IOCTL_BUFFER_UNBIND, unbind), 0);
        load.binds++;
    }
}

void load_with_queues(Load& load) {
    const Node node;
    const Context context(node);
    for (; !load.over; load.queues++) {
        const Queue queue(context, SIDRA_QUEUE_KERNEL);
        sidra_ioctl_queue destroy{context.handle, queue.create.queue, 0, 0};
        EXPECT_EQ(node.call(SIDRA_IOCTL_QUEUE_DESTROY, destroy), 0);
    }
}

void load_with_queries(Load& load) {
    const Node node;
    const Context context(node);
    for (; !load.over; load.queries++) EXPECT_EQ(state_of(context), SIDRA_CONTEXT_OK);
}

void load_with_names(Load& load) {
    static constexpr char kName[] = "load";
    const Node node;
    const Programmed weights(node);
    for (; !load.over; load.names++) {
        EXPECT_EQ(weights.publish(kName, 0600), 0);
        sidra_ioctl_weights_unlink unlink{reinterpret_cast<uintptr_t>(kName), 0, SIDRA_OWNER_CALLER};
        EXPECT_EQ(node.call(SIDRA_IOCTL_WEIGHTS_UNLINK, unlink), 0);
    }
}

TEST_F(Figures, LocksUnderLoad) {
    void* page = mmap(nullptr, SIDRA_PAGE_SIZE, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    ASSERT_NE(page, MAP_FAILED);
    auto& load = *new (page) Load;
    std::map<std::string, uint64_t> waits;
    {
        const LockWaits counted;
        ASSERT_TRUE(counted.good) << "the kernel has no CONFIG_HIST_TRIGGERS";
        std::vector<pid_t> processes;
        for (void (*work)(Load&) : {load_with_bindings, load_with_bindings, load_with_queues, load_with_queues,
                                    load_with_queries, load_with_queries, load_with_names}) {
            processes.push_back(fork());
            if (processes.back() != 0) continue;
            work(load);
            _exit(testing::Test::HasFailure() ? 1 : 0);
        }
        sleep_ms(rounds(5000, 30'000));
        load.over = true;
        for (const pid_t process : processes) {
            int status = 0;
            EXPECT_EQ(waitpid(process, &status, 0), process);
            EXPECT_EQ(status, 0);
        }
        waits = counted.by_function();
    }
    const uint64_t calls = 2 * load.binds + 2 * load.queues + load.queries + 2 * load.names;
    std::printf("# %llu calls: %llu pairs of bind and unbind, %llu of queues, %llu of names, and %llu queries\n",
                static_cast<unsigned long long>(calls), static_cast<unsigned long long>(load.binds),
                static_cast<unsigned long long>(load.queues), static_cast<unsigned long long>(load.names),
                static_cast<unsigned long long>(load.queries));
    uint64_t all = 0;
    for (const auto& [function, count] : waits) {
        std::printf("# %s waited %llu times\n", function.c_str(), static_cast<unsigned long long>(count));
        all += count;
    }
    EXPECT_GT(load.binds * load.queues * load.queries * load.names, 0u);
    print_figure("lock_waits_per_call", static_cast<double>(all) / static_cast<double>(calls));
    munmap(page, SIDRA_PAGE_SIZE);
}

// Threads in every wait that the driver has: WAIT, syncobjs, DMA buffers, missing pages, a command that the chip does
// not acknowledge, the channel of commands behind it, attributes that the chip or its firmware has to tell; and what is
// signalled without a thread: eventfds, sync_files, commands of io_uring.
TEST_F(Figures, UnbindWithWaiters) {
    std::vector<double> ms;
    for (int round = 0; round < rounds(5, 20); round++) {
        const Card card;
        ASSERT_TRUE(card.known());
        MissingPages pages(PageWaiters::kPages);
        ASSERT_TRUE(pages.known()) << "the kernel has no CONFIG_USERFAULTFD";
        {
            const Node node;
            const Context context(node);
            const Buffer buffer(context, SIDRA_PAGE_SIZE);
            Queue parked(context, SIDRA_QUEUE_USER);
            const Queue kernel(context, SIDRA_QUEUE_KERNEL), destroyed(context, SIDRA_QUEUE_KERNEL);
            Ring ring;
            ASSERT_GE(ring.fd, 0);
            PageWaiters page_waiters(context, pages);
            parked.push(sem_wait(buffer.va, 1));
            FenceWaiters fence_waiters(context);
            Caller waiter("WAIT", [&] {
                sidra_wait_item item{context.handle, parked.create.queue, 1, parked.epoch(), 0};
                sidra_ioctl_wait a{reinterpret_cast<uintptr_t>(&item), 1, sizeof item, 0, 0, SIDRA_DEADLINE_NEVER};
                return ioctl(node.fd, SIDRA_IOCTL_WAIT, &a);
            });
            EXPECT_TRUE(eventually([&] { return waiter.sleeps(); }));
            const int event = eventfd(0, EFD_CLOEXEC);
            sidra_ioctl_arm arm{context.handle, parked.create.queue, 1, event, 0, parked.epoch(), 0};
            EXPECT_EQ(node.call(SIDRA_IOCTL_ARM, arm), 0);
            const sidra_cmd packet = nop();
            ring.add(node.fd, SIDRA_URING_WAIT_VALUE, parked, 1, 1)->len = parked.epoch();
            ring.add(node.fd, SIDRA_URING_SUBMIT, kernel, 0, 2, &packet);
            EXPECT_EQ(ring.enter(), 2);
            // Last: who needs the channel of commands waits behind it.
            StuckCall stuck;
            Caller behind("QUEUE_DESTROY", [&] {
                sidra_ioctl_queue a{context.handle, destroyed.create.queue, 0, 0};
                return ioctl(node.fd, SIDRA_IOCTL_QUEUE_DESTROY, &a);
            });
            EXPECT_TRUE(stays_asleep([&] { return behind.state() == 'D'; }));
            FirmwareWaiters firmware_waiters;
            AttributeWaiter reader(kClass + "crossbars");
            EXPECT_TRUE(stays_asleep([&] { return reader.sleeps(); }));

            const uint64_t begin = in_ms(0);
            EXPECT_TRUE(card.unbind());
            ms.push_back(static_cast<double>(in_ms(0) - begin) / 1e6);

            fence_waiters.expect_job_ended();
            fence_waiters.expect_others_wait(-ENODEV);
            page_waiters.expect_wait(-ENODEV);
            EXPECT_EQ(waiter.result(), -ENODEV);
            EXPECT_TRUE(signalled(event));
            const auto results = ring.reap(2);
            EXPECT_EQ(results.at(1), -ENODEV);
            EXPECT_EQ(results.at(2), -ENODEV);
            stuck.expect_removed();
            EXPECT_EQ(behind.result(), 0);
            reader.expect_removed();
            firmware_waiters.expect_removed();
            close(event);
        }
        knob("stall", 0);
        ASSERT_TRUE(card.bind());
    }
    std::printf("# unbind took %.1f ms in the median of %zu rounds\n", median(ms), ms.size());
    print_figure("unbind_ms", *std::max_element(ms.begin(), ms.end()));
}

}  // namespace
}  // namespace sidra::test
