// SPDX-License-Identifier: MIT
#include "kernel_queue.h"

#include <fcntl.h>
#include <fmt/format.h>
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

    ~State() {
        if (page != nullptr) munmap(const_cast<sidra_queue_state*>(page), SIDRA_PAGE_SIZE);
        if (node >= 0) close(node);
    }

    void request(unsigned long number, void* argument, const char* what) const {
        if (drmIoctl(node, number, argument) != 0) throw Error(fmt::format("{}: {}", what, strerror(errno)));
    }

    void wait(uint64_t value) const {
        const double end = now_s() + kPatience;
        for (uint32_t looks = 1; __atomic_load_n(&page->timeline, __ATOMIC_ACQUIRE) < value; ++looks) {
            if (__atomic_load_n(&page->run_state, __ATOMIC_RELAXED) == SIDRA_QUEUE_FAULTED)
                throw Error("a no-op in a kernel queue faulted");
            if (looks % 1024 == 0 && now_s() > end) throw Error("no-ops in a kernel queue do not end");
        }
    }
};

KernelQueue::KernelQueue(const std::string& node) : state_(std::make_unique<State>()) {
    State& s = *state_;
    s.node = open(node.c_str(), O_RDWR | O_CLOEXEC);
    if (s.node < 0) throw Error(fmt::format("{}: {}", node, strerror(errno)));
    s.request(SIDRA_IOCTL_CONTEXT_CREATE, &s.context, "a context");
    s.queue.context = s.context.context;
    s.queue.kind = SIDRA_QUEUE_KERNEL;
    s.queue.ring_log2 = kRingLog2;
    s.queue.priority = 1;
    s.request(SIDRA_IOCTL_QUEUE_CREATE, &s.queue, "a kernel queue");
    void* page =
        mmap(nullptr, SIDRA_PAGE_SIZE, PROT_READ, MAP_SHARED, s.node, static_cast<off_t>(s.queue.state_offset));
    if (page == MAP_FAILED) throw Error(fmt::format("the state page of a kernel queue: {}", strerror(errno)));
    s.page = static_cast<const sidra_queue_state*>(page);
    sidra_cmd nop{};
    nop.hdr.opcode = SIDRA_CMD_NOP;
    s.packets.assign(64, nop);
}

KernelQueue::~KernelQueue() = default;

void KernelQueue::run_ioctl(uint32_t batch, uint64_t calls) {
    const State& s = *state_;
    for (uint64_t call = 0; call < calls; ++call) {
        sidra_ioctl_submit submit{};
        submit.context = s.context.context;
        submit.queue = s.queue.queue;
        submit.packets = reinterpret_cast<uintptr_t>(s.packets.data());
        submit.count = batch;
        submit.in_fence_fd = -1;
        submit.out_fence_fd = -1;
        s.request(SIDRA_IOCTL_SUBMIT, &submit, "submitting to a kernel queue");
        s.wait(submit.value);
    }
}

}  // namespace sidra::bench
