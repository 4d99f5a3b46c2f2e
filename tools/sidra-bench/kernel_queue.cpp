// SPDX-License-Identifier: MIT
#include "kernel_queue.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <liburing.h>
#include <sys/mman.h>
#include <unistd.h>
#include <xf86drm.h>

#include <cerrno>
#include <cstring>
#include <vector>

#include "contest.h"
#include "error.h"
#include "sidra_accel.h"
#include "sidra_cmd.h"

namespace sidra::bench {
namespace {

constexpr uint32_t kRingLog2 = 10;
constexpr double kPatience = 10;  // seconds for a batch: a hang ends

}  // namespace

struct KernelQueue::State {
    int node = -1;
    sidra_ioctl_context_create context{};
    sidra_ioctl_queue_create queue{};
    const sidra_queue_state* page = nullptr;
    std::vector<sidra_cmd> packets;
    io_uring ring{};
    bool ring_made = false;

    ~State() {
        if (ring_made) io_uring_queue_exit(&ring);
        if (page != nullptr) munmap(const_cast<sidra_queue_state*>(page), SIDRA_PAGE_SIZE);
        if (node >= 0) close(node);
    }

    void request(unsigned long number, void* argument, const char* what) const {
        if (drmIoctl(node, number, argument) != 0) throw Error(fmt::format("{} failed: {}", what, strerror(errno)));
    }

    void create_queue() {
        queue = {};
        queue.context = context.context;
        queue.kind = SIDRA_QUEUE_KERNEL;
        queue.ring_log2 = kRingLog2;
        queue.priority = 1;
        request(SIDRA_IOCTL_QUEUE_CREATE, &queue, "a kernel queue");
        if (page != nullptr) munmap(const_cast<sidra_queue_state*>(page), SIDRA_PAGE_SIZE);
        void* mapped =
            mmap(nullptr, SIDRA_PAGE_SIZE, PROT_READ, MAP_SHARED, node, static_cast<off_t>(queue.state_offset));
        page = mapped == MAP_FAILED ? nullptr : static_cast<const sidra_queue_state*>(mapped);
        if (page == nullptr)
            throw Error(fmt::format("cannot map the state page of a kernel queue: {}", strerror(errno)));
    }

    uint64_t submit(const sidra_cmd* from, uint32_t count) const {
        sidra_ioctl_submit submit{};
        submit.context = context.context;
        submit.queue = queue.queue;
        submit.packets = reinterpret_cast<uintptr_t>(from);
        submit.packet_stride = sizeof *from;
        submit.count = count;
        submit.in_fence_fd = -1;
        submit.out_fence_fd = -1;
        request(SIDRA_IOCTL_SUBMIT, &submit, "submitting to a kernel queue");
        return submit.value;
    }

    void lose_context() const {
        sidra_ioctl_device_reset reset{};
        request(SIDRA_IOCTL_DEVICE_RESET, &reset, "a reset of the device");
    }

    void recover() {
        sidra_ioctl_context again{context.context, 0};
        request(SIDRA_IOCTL_CONTEXT_RECOVER, &again, "the recovery of a context");
        create_queue();
        wait(submit(packets.data(), 1));
    }

    void wait(uint64_t value) const {
        const double end = now_s() + kPatience;
        for (uint32_t looks = 1; __atomic_load_n(&page->timeline, __ATOMIC_ACQUIRE) < value; ++looks) {
            if (__atomic_load_n(&page->run_state, __ATOMIC_RELAXED) == SIDRA_QUEUE_FAULTED)
                throw Error("a no-op in a kernel queue faulted");
            if (looks % 1024 == 0 && now_s() > end) throw Error("no-op packets in a kernel queue did not complete");
        }
    }
};

KernelQueue::KernelQueue(const std::string& node) : state_(std::make_unique<State>()) {
    State& s = *state_;
    s.node = open(node.c_str(), O_RDWR | O_CLOEXEC);
    if (s.node < 0) throw Error(fmt::format("cannot open {}: {}", node, strerror(errno)));
    sidra_ioctl_vm_create space{};
    s.request(SIDRA_IOCTL_VM_CREATE, &space, "an address space");
    s.context.vm = space.vm;
    s.request(SIDRA_IOCTL_CONTEXT_CREATE, &s.context, "a context");
    s.create_queue();
    sidra_cmd nop{};
    nop.hdr.opcode = SIDRA_CMD_NOP;
    s.packets.assign(64, nop);
    if (const int error = io_uring_queue_init(64, &s.ring, IORING_SETUP_SQE128); error != 0)
        throw Error(fmt::format("cannot set up io_uring for {}: {}", node, strerror(-error)));
    s.ring_made = true;
}

KernelQueue::~KernelQueue() = default;

void KernelQueue::run_ioctl(uint32_t batch, uint64_t calls) {
    const State& s = *state_;
    for (uint64_t call = 0; call < calls; ++call) s.wait(s.submit(s.packets.data(), batch));
}

void KernelQueue::run_uring(uint32_t batch, uint64_t calls) {
    State& s = *state_;
    for (uint64_t call = 0; call < calls; ++call) {
        for (uint32_t i = 0; i < batch; ++i) {
            io_uring_sqe* sqe = io_uring_get_sqe(&s.ring);
            if (sqe == nullptr) throw Error("a batch by io_uring is larger than its ring");
            std::memset(sqe, 0, sizeof *sqe);
            sqe->opcode = IORING_OP_URING_CMD;
            sqe->fd = s.node;
            sqe->cmd_op = SIDRA_URING_SUBMIT;
            sqe->len = sizeof(sidra_cmd);
            const sidra_uring_cmd command = {s.context.context, static_cast<uint16_t>(s.queue.queue), 0, 0};
            std::memcpy(sqe->cmd, &command, sizeof command);
            std::memcpy(reinterpret_cast<std::byte*>(sqe->cmd) + sizeof command, s.packets.data(), sizeof(sidra_cmd));
        }
        if (const int got = io_uring_submit_and_wait(&s.ring, batch); got < 0 && got != -EINTR)
            throw Error(fmt::format("cannot submit by io_uring: {}", strerror(-got)));
        for (uint32_t done = 0; done < batch; ++done) {
            io_uring_cqe* cqe = nullptr;
            if (const int error = io_uring_wait_cqe(&s.ring, &cqe); error != 0)
                throw Error(fmt::format("cannot wait by io_uring: {}", strerror(-error)));
            if (cqe->res != 0) throw Error(fmt::format("a no-op packet by io_uring failed: {}", strerror(-cqe->res)));
            io_uring_cqe_seen(&s.ring, cqe);
        }
    }
}

double KernelQueue::recover_queue() {
    const State& s = *state_;
    sidra_cmd wrong{};
    wrong.hdr.opcode = 255;
    s.submit(&wrong, 1);
    const double end = now_s() + kPatience;
    while (__atomic_load_n(&s.page->run_state, __ATOMIC_ACQUIRE) != SIDRA_QUEUE_FAULTED)
        if (now_s() > end) throw Error("an unknown packet did not fault");
    const double start = now_s();
    sidra_ioctl_queue_reset reset{s.context.context, s.queue.queue, 0, 0, 0};
    s.request(SIDRA_IOCTL_QUEUE_RESET, &reset, "the reset of a queue");
    s.wait(s.submit(s.packets.data(), 1));
    return now_s() - start;
}

double KernelQueue::recover_context() {
    state_->lose_context();
    const double start = now_s();
    state_->recover();
    return now_s() - start;
}

double KernelQueue::recover_device() {
    const double start = now_s();
    state_->lose_context();
    state_->recover();
    return now_s() - start;
}

}  // namespace sidra::bench
