// SPDX-License-Identifier: MIT
// A process that abuses everything that the node offers to all users, beside one that must not notice.
#include <libdrm/drm.h>
#include <sys/prctl.h>
#include <sys/wait.h>

#include <algorithm>
#include <atomic>
#include <csignal>
#include <random>
#include <thread>

#include "innocent.h"

namespace sidra::test {
namespace {

// Resources of a hostile process, which continues after any error.
struct Villain {
    Villain(uint32_t seed, std::atomic<uint64_t>& its_deeds) : deeds(its_deeds), random(seed) {}

    uint64_t number() {
        return uint64_t{random()} << 42 ^ uint64_t { random() } << 21 ^ random();
    }
    uint32_t below(uint32_t limit) { return static_cast<uint32_t>(random() % limit); }
    // Of all sizes, in the buffer, and anywhere.
    uint64_t word() {
        switch (below(6)) {
            case 0:
                return 0;
            case 1:
                return below(100);
            case 2:
                return buffer.va + below(1 << 20);
            case 3:
                return buffer.va + below(256) * uint64_t{4096};
            case 4:
                return number() >> below(64);
            default:
                return ~uint64_t{0} >> below(64);
        }
    }
    sidra_cmd any_packet() {
        sidra_cmd cmd{};
        for (uint64_t& raw : cmd.raw)
            if (below(2)) raw = word();
        if (below(8)) cmd.raw[0] = 1 + below(SIDRA_CMD_OPCODE_COUNT);
        return cmd;
    }
    sidra_cmd slow_copy() const { return copy(buffer.va, buffer.va + kSize / 2, kSize / 2); }
    // A queue that has stopped runs again.
    void revive(Queue& queue) const {
        if (queue.run_state() <= SIDRA_QUEUE_RUNNING) return;
        queue.reset();
        queue.next = queue.timeline();
    }
    uint64_t* index(const Queue& queue) const {
        return reinterpret_cast<uint64_t*>(queue.ring + (size_t{1} << queue.create.ring_log2));
    }

    static constexpr uint64_t kSize = 1 << 20;
    std::atomic<uint64_t>& deeds;
    std::minstd_rand random;
    Node node;
    Context context{node};
    Queue user{context, SIDRA_QUEUE_USER}, kernel{context, SIDRA_QUEUE_KERNEL};
    Buffer buffer{context, kSize};
};

void random_packets(Villain& v) {
    for (int i = 0; i < 8; i++) v.user.push(v.any_packet());
    v.revive(v.user);
}

// While the chip reads it.
void rewritten_rings(Villain& v) {
    std::atomic<bool> stop{false};
    std::thread other([&] {
        for (uint64_t i = 1; !stop; i++) {
            auto* words = reinterpret_cast<volatile uint64_t*>(v.user.ring);
            words[i * 0x9e3779b97f4a7c15u % 512] = i % 3 ? i * 0x9e3779b97f4a7c15u : v.buffer.va + i % 4096;
        }
    });
    for (int i = 0; i < 100; i++) {
        for (int k = 0; k < 20; k++) v.user.push(copy(v.buffer.va, v.buffer.va + 65536, 64));
        v.revive(v.user);
        v.deeds++;
    }
    stop = true;
    other.join();
}

void index_jumps(Villain& v) {
    v.user.push(v.slow_copy());
    __atomic_store_n(v.index(v.user), v.below(2) ? v.user.next + v.below(200) : v.word(), __ATOMIC_RELEASE);
    v.user.kick();
    v.revive(v.user);
    v.user.next = v.user.timeline();
}

// Page tables change under running copies. When a call reports that memory is released, nothing is written there any
// more; if that were broken, this process would be killed.
void churn(Villain& v) {
    sidra_ioctl_buffer_create create{v.kSize, 0, 0, 0};
    if (v.node.call(SIDRA_IOCTL_BUFFER_CREATE, create) != 0) return;
    auto* bytes = static_cast<uint8_t*>(v.node.map(create.mmap_offset, v.kSize));
    const uint64_t va = Buffer::bind(v.context, create.handle);
    for (int i = 0; i < 30; i++) v.user.push(copy(va, v.buffer.va, v.kSize));
    sidra_ioctl_buffer_unbind unbind{v.context.vm, create.handle, va};
    v.node.call(SIDRA_IOCTL_BUFFER_UNBIND, unbind);
    std::memset(bytes, 7, v.kSize);
    v.user.wait(v.user.next);
    if (std::count(bytes, bytes + v.kSize, 7) != static_cast<long>(v.kSize)) abort();
    munmap(bytes, v.kSize);
    sidra_ioctl_buffer_close close{create.handle, 0};
    v.node.call(SIDRA_IOCTL_BUFFER_CLOSE, close);
    v.revive(v.user);
}

// Doorbells of all existing queues and of invalid ones.
void doorbells(Villain& v) {
    auto* page = reinterpret_cast<volatile uint32_t*>(v.context.doorbells);
    for (int i = 0; i < 500; i++) page[v.below(SIDRA_DOORBELL_PAGE_SIZE / 4)] = v.random();
    *reinterpret_cast<volatile uint64_t*>(v.context.doorbells + 8 * v.below(512)) = v.number();
    *reinterpret_cast<volatile uint8_t*>(v.context.doorbells + v.below(4096)) = 1;
}

// Handles are small numbers: tries those of others, and invalid ones.
void handles_of_others(Villain& v) {
    const uint32_t other = v.below(8) ? v.below(70) : v.random();
    if (other == v.context.handle) return;
    sidra_ioctl_context context{other, 0};
    v.node.call(SIDRA_IOCTL_CONTEXT_DESTROY, context);
    v.node.call(SIDRA_IOCTL_CONTEXT_RECOVER, context);
    sidra_ioctl_queue queue{other, v.below(4), 0, 0};
    sidra_ioctl_queue_reset reset_it{other, v.below(4), 0, 0, 0};
    v.node.call(SIDRA_IOCTL_QUEUE_RESET, reset_it);
    v.node.call(SIDRA_IOCTL_QUEUE_DESTROY, queue);
    sidra_ioctl_weights weights{other, v.below(4), 0, 0};
    v.node.call(SIDRA_IOCTL_WEIGHTS_DESTROY, weights);
    sidra_ioctl_buffer_bind bind{other, v.below(8), SIDRA_BIND_READ | SIDRA_BIND_WRITE, 0, 0};
    v.node.call(SIDRA_IOCTL_BUFFER_BIND, bind);
    sidra_ioctl_buffer_unbind unbind{other, v.below(8), v.word()};
    v.node.call(SIDRA_IOCTL_BUFFER_UNBIND, unbind);
    sidra_ioctl_weights_import import{};
    import.context = v.context.handle;
    import.fd = static_cast<int32_t>(v.below(8));
    v.node.call(SIDRA_IOCTL_WEIGHTS_IMPORT, import);
    sidra_ioctl_arm arm{other, v.below(4), v.word(), static_cast<int32_t>(v.below(8)), 0, 1 + v.below(8), 0};
    v.node.call(SIDRA_IOCTL_ARM, arm);
    sidra_ioctl_device_reset reset{};
    v.node.call(SIDRA_IOCTL_DEVICE_RESET, reset);  // requires root
    for (uint64_t page = 0; page < 4; page++)
        if (void* mapped = v.node.map(v.number() << 12, 4096)) munmap(mapped, 4096);
}

// Computes with, overwrites and reads the weights at every index.
void weights_of_others(Villain& v) {
    sidra_cmd cmd = packet(v.below(2) ? SIDRA_CMD_PROGRAM : SIDRA_CMD_READBACK);
    const uint32_t index = v.below(2) ? v.below(4) : v.below(70'000);
    if (v.below(3)) {
        cmd.weights.weights = index;
        cmd.weights.rows = 1 + v.below(300);
        cmd.weights.cols = cmd.weights.stride = 1 + v.below(300);
        cmd.weights.addr = v.buffer.va;
    } else {
        cmd = packet(SIDRA_CMD_MVM);
        cmd.mvm.types = SIDRA_MVM_TYPES(SIDRA_TYPE_U8, SIDRA_TYPE_S32);
        cmd.mvm.weights = static_cast<uint16_t>(index);
        cmd.mvm.batch = 1 + v.below(16);
        cmd.mvm.in = v.buffer.va;
        cmd.mvm.in_stride = cmd.mvm.out_stride = 4096;
        cmd.mvm.out = v.buffer.va + v.kSize / 2;
    }
    v.user.push(cmd);
    v.user.wait(v.user.next, in_ms(1000));
    v.revive(v.user);
}

// Each packet of the ring is a program of 65,536.
void endless_programs(Villain& v) {
    auto* program = reinterpret_cast<sidra_cmd*>(v.buffer.words);
    for (uint64_t i = 0; i < v.kSize / sizeof *program; i++) program[i] = i % 64 ? nop() : v.slow_copy();
    sidra_cmd call = packet(SIDRA_CMD_CALL);
    call.call.addr = v.buffer.va;
    call.call.count = v.kSize / sizeof *program;
    for (;;) {
        if (v.user.next - v.user.timeline() < 60) v.user.push(call);
        v.revive(v.user);
        v.deeds++;
        v.user.wait(v.user.timeline() + 1, in_ms(1));
    }
}

void waits_for_ever(Villain& v) {
    Queue one(v.context, SIDRA_QUEUE_USER), two(v.context, SIDRA_QUEUE_USER);
    one.push(two.waited_for(1));
    two.push(one.waited_for(1));
    v.user.push(sem_wait(v.buffer.va, ~uint64_t{0}));
    for (int i = 0; i < 50; i++) {
        one.kick();
        two.kick();
        v.user.kick();
        v.deeds++;
    }
    for (const Queue* queue : {&one, &two, &v.user}) {
        sidra_ioctl_queue destroy{v.context.handle, queue->create.queue, 0, 0};
        if (queue == &v.user) v.user.reset();
        else v.node.call(SIDRA_IOCTL_QUEUE_DESTROY, destroy);
    }
}

void garbage_for_the_driver(Villain& v) {
    std::vector<sidra_cmd> packets(1 + v.below(64));
    for (sidra_cmd& cmd : packets) cmd = v.any_packet();
    sidra_ioctl_submit submit = v.kernel.request(packets);
    if (v.below(4) == 0) submit.count = v.random();
    if (v.below(4) == 0) submit.packets = v.number();
    if (v.below(4) == 0) submit.in_fence_fd = static_cast<int32_t>(v.below(8));
    if (v.below(4) == 0) submit.flags = v.below(4);
    if (v.below(4) == 0) submit.in_count = v.below(100);
    submit.point_stride = v.below(4) ? sizeof(sidra_syncobj_point) : static_cast<uint32_t>(v.number());
    submit.in_points = v.below(2) ? v.number() : reinterpret_cast<uintptr_t>(packets.data());
    submit.limit_ns = v.below(2) ? v.number() : 0;
    if (v.node.call(SIDRA_IOCTL_SUBMIT, submit) == 0 && submit.out_fence_fd >= 0) close(submit.out_fence_fd);
    v.revive(v.kernel);
}

struct Crime {
    const char* name;
    void (*once)(Villain& v);
};
void PrintTo(const Crime& crime, std::ostream* out) { *out << crime.name; }

const Crime kCrimes[] = {
    {"RandomPackets", random_packets},
    {"RewrittenRings", rewritten_rings},
    {"IndexJumps", index_jumps},
    {"Churn", churn},
    {"Doorbells", doorbells},
    {"HandlesOfOthers", handles_of_others},
    {"WeightsOfOthers", weights_of_others},
    {"EndlessPrograms", endless_programs},
    {"WaitsForEver", waits_for_ever},
    {"GarbageForTheDriver", garbage_for_the_driver},
};

// A process that repeats one of these attacks until it is killed.
class Culprit {
   public:
    Culprit(const Crime& crime, uint32_t seed)
        : deeds_(static_cast<std::atomic<uint64_t>*>(
              mmap(nullptr, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0))) {
        pid_ = fork();
        if (pid_ != 0) return;
        // Its failures do not matter; nor does its parent's open node.
        if (!std::freopen("/dev/null", "w", stdout)) _exit(1);
        for (int fd = 3; fd < 64; fd++) close(fd);
        Villain villain(seed, *deeds_);
        if (setuid(kNobody) != 0 || prctl(PR_SET_PDEATHSIG, SIGKILL) != 0) _exit(1);
        for (;; (*deeds_)++) crime.once(villain);
    }
    ~Culprit() {
        end();
        munmap(deeds_, 4096);
    }
    Culprit(const Culprit&) = delete;
    Culprit& operator=(const Culprit&) = delete;
    uint64_t deeds() const { return *deeds_; }
    // Its wait status.
    int end() {
        int status = 0;
        if (pid_ <= 0) return status;
        kill(pid_, SIGKILL);
        EXPECT_EQ(waitpid(pid_, &status, 0), pid_);
        pid_ = 0;
        return status;
    }

   private:
    static constexpr uid_t kNobody = 65534;
    std::atomic<uint64_t>* deeds_;
    pid_t pid_;
};

void commit(const std::vector<Crime>& crimes, int how_often, uint64_t how_many) {
    Innocent innocent;
    const Census census(innocent.node());
    for (int round = 0; round < how_often; round++) {
        std::vector<std::unique_ptr<Culprit>> culprits;
        for (const Crime& crime : crimes)
            culprits.push_back(std::make_unique<Culprit>(crime, static_cast<uint32_t>(round + 1)));
        // Together they can be slow, but none of them stops.
        for (const auto& culprit : culprits)
            for (uint64_t deeds = 0; deeds < how_many; deeds = culprit->deeds())
                ASSERT_TRUE(eventually([&] {
                    innocent.work();
                    return culprit->deeds() > deeds;
                }));
        for (const auto& culprit : culprits) {
            const int status = culprit->end();
            ASSERT_TRUE(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL) << status;
            innocent.work();
        }
    }
    census.expect_unchanged();
}

class Hostile : public NodeTest, public testing::WithParamInterface<Crime> {};

TEST_P(Hostile, OneAlone) { commit({GetParam()}, rounds(2, 20), 50); }

INSTANTIATE_TEST_SUITE_P(Crimes, Hostile, testing::ValuesIn(kCrimes),
                         [](const testing::TestParamInfo<Crime>& info) { return std::string(info.param.name); });

class Gang : public NodeTest {};

TEST_F(Gang, AllAtTheSameTime) { commit(std::vector<Crime>(std::begin(kCrimes), std::end(kCrimes)), rounds(1, 10), 5); }

}  // namespace
}  // namespace sidra::test
