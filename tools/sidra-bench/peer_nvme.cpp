// SPDX-License-Identifier: MIT
// NVMe flushes by io_uring passthrough: a command that carries no data, through the shortest way that the kernel has
// for a device.
#include <fcntl.h>
#include <fmt/format.h>
#include <liburing.h>
#include <linux/nvme_ioctl.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "error.h"
#include "peers.h"

namespace sidra::bench {
namespace {

constexpr uint8_t kFlush = 0x00;  // NVM command set, opcode of Flush
constexpr unsigned kDepth = 64;

}  // namespace

struct NvmeFlush::State {
    int node = -1;
    uint32_t name_space = 0;
    io_uring ring{};
    bool ring_made = false;

    ~State() {
        if (ring_made) io_uring_queue_exit(&ring);
        if (node >= 0) close(node);
    }
};

NvmeFlush::NvmeFlush(const std::string& node) : state_(std::make_unique<State>()) {
    state_->node = open(node.c_str(), O_RDWR | O_CLOEXEC);
    if (state_->node < 0) throw Error(fmt::format("cannot open {}: {}", node, strerror(errno)));
    const int name_space = ioctl(state_->node, NVME_IOCTL_ID);
    if (name_space <= 0)
        throw Error(
            fmt::format("{} is not a namespace of an NVMe device (such as /dev/ng0n1): {}", node, strerror(errno)));
    state_->name_space = static_cast<uint32_t>(name_space);
    if (const int error = io_uring_queue_init(kDepth, &state_->ring, IORING_SETUP_SQE128 | IORING_SETUP_CQE32);
        error != 0)
        throw Error(fmt::format("cannot set up io_uring for {}: {}", node, strerror(-error)));
    state_->ring_made = true;
    run(1, 1);
}

NvmeFlush::~NvmeFlush() = default;

void NvmeFlush::run(uint32_t batch, uint64_t calls) {
    for (uint64_t call = 0; call < calls; ++call) {
        for (uint32_t i = 0; i < batch; ++i) {
            io_uring_sqe* sqe = io_uring_get_sqe(&state_->ring);
            if (sqe == nullptr)
                throw Error(fmt::format("cannot queue an NVMe flush: a batch holds at most {}", kDepth));
            std::memset(sqe, 0, 2 * sizeof *sqe);
            sqe->opcode = IORING_OP_URING_CMD;
            sqe->fd = state_->node;
            sqe->cmd_op = NVME_URING_CMD_IO;
            auto* command = reinterpret_cast<nvme_uring_cmd*>(sqe->cmd);
            command->opcode = kFlush;
            command->nsid = state_->name_space;
        }
        uint32_t done = 0;
        if (const int got = io_uring_submit_and_wait(&state_->ring, batch); got < 0 && got != -EINTR)
            throw Error(fmt::format("cannot submit an NVMe flush: {}", strerror(-got)));
        while (done < batch) {
            io_uring_cqe* cqe = nullptr;
            if (const int error = io_uring_wait_cqe(&state_->ring, &cqe); error != 0 && error != -EINTR)
                throw Error(fmt::format("cannot wait for an NVMe flush: {}", strerror(-error)));
            if (cqe == nullptr) continue;
            if (cqe->res != 0) throw Error(fmt::format("an NVMe flush failed with status {}", cqe->res));
            io_uring_cqe_seen(&state_->ring, cqe);
            ++done;
        }
    }
}

}  // namespace sidra::bench
