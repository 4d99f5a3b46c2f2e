// SPDX-License-Identifier: MIT
// A ring of io_uring, with the system calls alone.
#ifndef SIDRA_TESTS_RING_H
#define SIDRA_TESTS_RING_H

#include <linux/io_uring.h>
#include <linux/time_types.h>
#include <sys/syscall.h>

#include <algorithm>
#include <map>

#include "node.h"

namespace sidra::test {

class Ring {
   public:
    explicit Ring(unsigned flags = IORING_SETUP_SQE128) {
        io_uring_params params{};
        params.flags = flags;
        fd = static_cast<int>(syscall(SYS_io_uring_setup, 64, &params));
        if (fd < 0) return;
        sqe_size_ = flags & IORING_SETUP_SQE128 ? 128 : 64;
        size_ = std::max<size_t>(params.sq_off.array + params.sq_entries * sizeof(uint32_t),
                                 params.cq_off.cqes + params.cq_entries * sizeof(io_uring_cqe));
        memory_ =
            static_cast<uint8_t*>(mmap(nullptr, size_, PROT_READ | PROT_WRITE, MAP_SHARED, fd, IORING_OFF_SQ_RING));
        sqes_size_ = params.sq_entries * sqe_size_;
        sqes_ = static_cast<uint8_t*>(
            mmap(nullptr, sqes_size_, PROT_READ | PROT_WRITE, MAP_SHARED, fd, static_cast<off_t>(IORING_OFF_SQES)));
        params_ = params;
    }
    ~Ring() {
        if (fd < 0) return;
        munmap(memory_, size_);
        munmap(sqes_, sqes_size_);
        close(fd);
    }
    Ring(const Ring&) = delete;
    Ring& operator=(const Ring&) = delete;

    // Visible only at enter(): otherwise the kernel's polling thread might take half of a linked chain.
    io_uring_sqe* add(int file, uint32_t op, const sidra_uring_cmd& cmd, uint64_t user,
                      const sidra_cmd* packet = nullptr, uint8_t flags = 0) {
        if (added_ == 0) tail_ = *word(params_.sq_off.tail);  // another process may have moved it
        const uint32_t at = tail_++ & *word(params_.sq_off.ring_mask);
        auto* sqe = reinterpret_cast<io_uring_sqe*>(sqes_ + at * sqe_size_);
        std::memset(static_cast<void*>(sqe), 0, sqe_size_);
        sqe->opcode = IORING_OP_URING_CMD;
        sqe->fd = file;
        sqe->cmd_op = op;
        sqe->user_data = user;
        sqe->flags = flags;
        std::memcpy(reinterpret_cast<uint8_t*>(sqe) + 48, &cmd, sizeof cmd);
        if (packet) {
            std::memcpy(reinterpret_cast<uint8_t*>(sqe) + 64, packet, sizeof *packet);
            sqe->len = sizeof *packet;
        }
        word(params_.sq_off.array)[at] = at;
        added_++;
        return sqe;
    }
    io_uring_sqe* add(int file, uint32_t op, const Queue& queue, uint64_t value, uint64_t user,
                      const sidra_cmd* packet = nullptr, uint8_t flags = 0) {
        return add(file, op, command(queue, value), user, packet, flags);
    }
    static sidra_uring_cmd command(const Queue& queue, uint64_t value) {
        return {queue.context.handle, static_cast<uint16_t>(queue.create.queue), 0, value};
    }
    int enter(unsigned wait = 0) {
        if (added_ != 0) __atomic_store_n(word(params_.sq_off.tail), tail_, __ATOMIC_SEQ_CST);
        // The kernel's polling thread may have to be woken: it takes all commands added so far.
        const bool wake = __atomic_load_n(word(params_.sq_off.flags), __ATOMIC_SEQ_CST) & IORING_SQ_NEED_WAKEUP;
        const __kernel_timespec patience{kPatienceMs / 1000, 0};
        io_uring_getevents_arg arg{};
        arg.ts = reinterpret_cast<uintptr_t>(&patience);
        const int done = static_cast<int>(
            syscall(SYS_io_uring_enter, fd, added_, wait,
                    (wait ? IORING_ENTER_GETEVENTS | IORING_ENTER_EXT_ARG : 0) | (wake ? IORING_ENTER_SQ_WAKEUP : 0),
                    &arg, sizeof arg));
        if (done >= 0) added_ -= static_cast<unsigned>(done);
        return done;
    }
    // Results by user data, of `count` commands.
    std::map<uint64_t, int> reap(unsigned count) {
        std::map<uint64_t, int> results;
        while (results.size() < count) {
            if (enter(1) < 0 && errno != EINTR) break;
            uint32_t head = *word(params_.cq_off.head);
            while (head != __atomic_load_n(word(params_.cq_off.tail), __ATOMIC_ACQUIRE)) {
                const auto* cqes = reinterpret_cast<const io_uring_cqe*>(memory_ + params_.cq_off.cqes);
                const io_uring_cqe& cqe = cqes[head & *word(params_.cq_off.ring_mask)];
                results[cqe.user_data] = cqe.res;
                order.push_back(cqe.user_data);
                head++;
            }
            __atomic_store_n(word(params_.cq_off.head), head, __ATOMIC_RELEASE);
        }
        return results;
    }

    // Whatever has come.
    void forget() {
        __atomic_store_n(word(params_.cq_off.head), __atomic_load_n(word(params_.cq_off.tail), __ATOMIC_ACQUIRE),
                         __ATOMIC_RELEASE);
    }

    int fd = -1;
    std::vector<uint64_t> order;

   private:
    uint32_t* word(uint32_t offset) { return reinterpret_cast<uint32_t*>(memory_ + offset); }
    io_uring_params params_{};
    size_t sqe_size_ = 0, size_ = 0, sqes_size_ = 0;
    uint8_t *memory_ = nullptr, *sqes_ = nullptr;
    uint32_t tail_ = 0;
    unsigned added_ = 0;
};

}  // namespace sidra::test

#endif
