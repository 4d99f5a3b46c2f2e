// SPDX-License-Identifier: MIT
// A small chip in this process, and short forms of requests.
#ifndef SIDRA_TESTS_EMBEDDED_FIXTURE_H
#define SIDRA_TESTS_EMBEDDED_FIXTURE_H

#include <gtest/gtest.h>
#include <time.h>

#include <cstring>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "sidra_hw.h"
#include "transport.h"

namespace sidra::test {

inline uint64_t now_ns() {
    timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return static_cast<uint64_t>(now.tv_sec) * 1'000'000'000u + static_cast<uint64_t>(now.tv_nsec);
}
inline uint64_t in_ms(uint64_t ms) { return now_ns() + ms * 1'000'000; }
inline void sleep_ms(long ms) {
    const timespec pause{ms / 1000, ms % 1000 * 1'000'000};
    nanosleep(&pause, nullptr);
}
// Long enough that only a hang reaches it, under sanitizers too.
constexpr uint64_t kPatienceMs = 60'000;

inline sidra_device_options small_chip(bool private_chip = true) {
    sidra_device_options options = SIDRA_INIT(sidra_device_options);
    options.profile = SIDRA_PROFILE_SMALL;
    options.workers = 1;
    options.private_chip = private_chip;
    return options;
}

// One open of a chip.
class Client {
   public:
    explicit Client(const sidra_device_options& options = small_chip(), uint32_t index = 0) {
        const int error = open_embedded(index, options, &transport_, &detail);
        EXPECT_EQ(error, 0) << detail;
    }

    // 0 or -errno; the text of a failure is in `detail`. Every failure has one.
    template <class Argument>
    int call(unsigned long request, Argument& argument) {
        detail.clear();
        const int error = transport_->ioctl(request, &argument, &detail);
        EXPECT_EQ(error == 0, detail.empty()) << error << ": " << detail;
        return error;
    }

    Transport* operator->() { return transport_.get(); }
    void close() { transport_.reset(); }

    uint32_t create_vm() {
        sidra_ioctl_vm_create a{};
        EXPECT_EQ(call(SIDRA_IOCTL_VM_CREATE, a), 0) << detail;
        return a.vm;
    }
    // In an address space of its own, or in a given one.
    uint32_t create_context(uint64_t* doorbells = nullptr, uint32_t vm = 0) {
        sidra_ioctl_context_create a{};
        a.vm = vm != 0 ? vm : create_vm();
        EXPECT_EQ(call(SIDRA_IOCTL_CONTEXT_CREATE, a), 0) << detail;
        if (doorbells) *doorbells = a.doorbell_offset;
        vms_[a.context] = a.vm;
        return a.context;
    }
    int destroy_context(uint32_t context) {
        sidra_ioctl_context a{context, 0};
        return call(SIDRA_IOCTL_CONTEXT_DESTROY, a);
    }
    int recover(uint32_t context) {
        sidra_ioctl_context a{context, 0};
        return call(SIDRA_IOCTL_CONTEXT_RECOVER, a);
    }
    sidra_ioctl_context_query query_context(uint32_t context) {
        sidra_ioctl_context_query a{};
        a.context = context;
        EXPECT_EQ(call(SIDRA_IOCTL_CONTEXT_QUERY, a), 0) << detail;
        return a;
    }
    template <class Answer>
    Answer query(sidra_query_type type) {
        Answer answer{};
        sidra_ioctl_device_query a{type, 0, reinterpret_cast<uintptr_t>(&answer), sizeof answer, 0};
        EXPECT_EQ(call(SIDRA_IOCTL_DEVICE_QUERY, a), 0) << detail;
        EXPECT_EQ(a.size, sizeof answer);
        return answer;
    }
    sidra_query_device device() { return query<sidra_query_device>(SIDRA_QUERY_DEVICE); }
    sidra_query_status status() { return query<sidra_query_status>(SIDRA_QUERY_STATUS); }
    // The address space of a context; of one that this client has not created, a number that is none.
    uint32_t vm_of(uint32_t context) const {
        const auto found = vms_.find(context);
        return found == vms_.end() ? ~0u : found->second;
    }
    int bind(uint32_t context, uint32_t handle, uint32_t flags, uint64_t* address) {
        sidra_ioctl_buffer_bind a{vm_of(context), handle, flags, 0, 0, {}};
        const int error = call(SIDRA_IOCTL_BUFFER_BIND, a);
        *address = a.address;
        return error;
    }
    int unbind(uint32_t context, uint32_t handle, uint64_t address) {
        sidra_ioctl_buffer_unbind a{vm_of(context), handle, address};
        return call(SIDRA_IOCTL_BUFFER_UNBIND, a);
    }
    int close_buffer(uint32_t handle) {
        sidra_ioctl_buffer_close a{handle, 0};
        return call(SIDRA_IOCTL_BUFFER_CLOSE, a);
    }
    int reg(void* memory, uint64_t size, uint32_t flags, uint32_t* handle) {
        sidra_ioctl_buffer_register a{reinterpret_cast<uintptr_t>(memory), size, flags, 0};
        const int error = call(SIDRA_IOCTL_BUFFER_REGISTER, a);
        *handle = a.handle;
        return error;
    }
    int knob(const char* name, uint64_t value) { return transport_->set_fault_knob(name, value); }

    std::string detail;

   private:
    std::unique_ptr<Transport> transport_;
    std::map<uint32_t, uint32_t> vms_;  // by context
};

// A buffer, mapped, and bound read/write.
struct Buffer {
    Buffer(Client& c, uint32_t its_context, uint64_t bytes, uint32_t flags = 0) : client(c), context(its_context) {
        sidra_ioctl_buffer_create a{bytes, flags, 0, 0};
        EXPECT_EQ(client.call(SIDRA_IOCTL_BUFFER_CREATE, a), 0) << client.detail;
        handle = a.handle;
        size = a.size;
        offset = a.mmap_offset;
        data = static_cast<uint8_t*>(client->map(offset, size, true));
        EXPECT_NE(data, nullptr);
        EXPECT_EQ(client.bind(context, handle, SIDRA_BIND_READ | SIDRA_BIND_WRITE, &va), 0) << client.detail;
    }
    ~Buffer() {
        if (data) client->unmap(data, size);
        client.close_buffer(handle);
    }
    Buffer(const Buffer&) = delete;
    Buffer& operator=(const Buffer&) = delete;
    uint64_t* words() { return reinterpret_cast<uint64_t*>(data); }

    Client& client;
    uint32_t context, handle;
    uint64_t size, offset, va;
    uint8_t* data;
};

inline sidra_cmd packet(sidra_cmd_opcode opcode) {
    sidra_cmd cmd{};
    cmd.hdr.opcode = static_cast<uint8_t>(opcode);
    return cmd;
}
inline sidra_cmd nop() { return packet(SIDRA_CMD_NOP); }
inline sidra_cmd copy(uint64_t dst, uint64_t src, uint64_t bytes) {
    sidra_cmd cmd = packet(SIDRA_CMD_COPY);
    cmd.copy.dst = dst;
    cmd.copy.src = src;
    cmd.copy.row_bytes = bytes;
    cmd.copy.rows = 1;
    return cmd;
}
inline sidra_cmd sem_wait(uint64_t address, uint64_t value) {
    sidra_cmd cmd = packet(SIDRA_CMD_SEM_WAIT);
    cmd.sem.addr = address;
    cmd.sem.value = value;
    return cmd;
}
inline sidra_cmd sem_wait_queue(uint32_t queue, uint32_t epoch, uint64_t value) {
    sidra_cmd cmd = packet(SIDRA_CMD_SEM_WAIT);
    cmd.hdr.flags = SIDRA_CMD_SEM_QUEUE;
    cmd.sem.queue = queue;
    cmd.sem.epoch = epoch;
    cmd.sem.value = value;
    return cmd;
}
inline sidra_cmd program(uint32_t weights, uint32_t rows, uint32_t cols, uint64_t address) {
    sidra_cmd cmd = packet(SIDRA_CMD_PROGRAM);
    cmd.weights.weights = weights;
    cmd.weights.rows = rows;
    cmd.weights.cols = cols;
    cmd.weights.addr = address;
    cmd.weights.stride = cols;
    return cmd;
}
inline sidra_cmd readback(uint32_t weights, uint32_t rows, uint32_t cols, uint64_t address) {
    sidra_cmd cmd = program(weights, rows, cols, address);
    cmd.hdr.opcode = SIDRA_CMD_READBACK;
    return cmd;
}

// A user queue with its ring in hand.
struct Queue {
    Queue(Client& c, uint32_t its_context, uint64_t doorbells, uint32_t flags = 0, uint32_t log2 = 6)
        : client(c), context(its_context), ring_log2(log2) {
        sidra_ioctl_queue_create a{};
        a.context = context;
        a.ring_log2 = log2;
        a.priority = 1;
        a.flags = flags;
        EXPECT_EQ(client.call(SIDRA_IOCTL_QUEUE_CREATE, a), 0) << client.detail;
        create = a;
        number = a.queue;
        ring = static_cast<sidra_cmd*>(client->map(a.ring_offset, a.ring_size, true));
        state = static_cast<const sidra_queue_state*>(client->map(a.state_offset, SIDRA_PAGE_SIZE, false));
        EXPECT_NE(ring, nullptr);
        EXPECT_NE(state, nullptr);
        write_word = reinterpret_cast<uint64_t*>(reinterpret_cast<uint8_t*>(ring) + (uint64_t{SIDRA_CMD_SIZE} << log2));
        if (a.report_offset)
            reports = reinterpret_cast<sidra_report*>(reinterpret_cast<uint8_t*>(ring) + a.report_offset);
        doorbell = client->doorbell(doorbells, number);
    }
    ~Queue() { release(); }
    Queue(const Queue&) = delete;
    Queue& operator=(const Queue&) = delete;
    void release() {
        if (ring) client->unmap(ring, create.ring_size);
        if (state) client->unmap(const_cast<sidra_queue_state*>(state), SIDRA_PAGE_SIZE);
        ring = nullptr;
        state = nullptr;
    }
    // Returns the timeline value that means "done".
    uint64_t push(const sidra_cmd& cmd) {
        ring[next & ((uint64_t{1} << ring_log2) - 1)] = cmd;
        next++;
        __atomic_store_n(write_word, next, __ATOMIC_RELEASE);
        return next;
    }
    void kick() { client->ring(doorbell); }
    uint64_t submit(const sidra_cmd& cmd) {
        const uint64_t value = push(cmd);
        kick();
        return value;
    }
    int wait(uint64_t value, uint64_t deadline = in_ms(kPatienceMs)) { return wait_epoch(epoch(), value, deadline); }
    int wait_epoch(uint32_t of, uint64_t value, uint64_t deadline = in_ms(kPatienceMs)) {
        sidra_wait_item item{context, number, value, of, 0};
        sidra_ioctl_wait a{reinterpret_cast<uintptr_t>(&item), 1, sizeof item, 0, 0, deadline};
        return client.call(SIDRA_IOCTL_WAIT, a);
    }
    int run(const sidra_cmd& cmd) { return wait(submit(cmd)); }
    uint64_t timeline() const { return __atomic_load_n(&state->timeline, __ATOMIC_ACQUIRE); }
    uint32_t epoch() const { return __atomic_load_n(&state->epoch, __ATOMIC_ACQUIRE); }
    uint32_t run_state() const { return __atomic_load_n(&state->run_state, __ATOMIC_ACQUIRE); }
    uint32_t fault() {
        sidra_ioctl_queue_query a{};
        a.context = context;
        a.queue = number;
        EXPECT_EQ(client.call(SIDRA_IOCTL_QUEUE_QUERY, a), 0) << client.detail;
        return a.fault.cause;
    }
    int destroy() {
        sidra_ioctl_queue a{context, number, 0, 0};
        return client.call(SIDRA_IOCTL_QUEUE_DESTROY, a);
    }
    int reset() {
        sidra_ioctl_queue_reset a{context, number, 0, 0, 0};
        const int error = client.call(SIDRA_IOCTL_QUEUE_RESET, a);
        if (error == 0) EXPECT_EQ(a.epoch, epoch());
        retired = a.retired;
        next = timeline();
        return error;
    }

    Client& client;
    uint32_t context, number = 0, ring_log2;
    sidra_ioctl_queue_create create{};
    sidra_cmd* ring = nullptr;
    uint64_t* write_word = nullptr;
    sidra_report* reports = nullptr;
    const sidra_queue_state* state = nullptr;
    uintptr_t doorbell = 0;
    uint64_t next = 0;
    uint64_t retired = 0;  // retired before the last reset
};

// A client with a context and a queue.
struct Bench {
    explicit Bench(const sidra_device_options& options = small_chip()) : client(options) {
        context = client.create_context(&doorbells);
        queue = std::make_unique<Queue>(client, context, doorbells);
    }
    Client client;
    uint64_t doorbells = 0;
    uint32_t context = 0;
    std::unique_ptr<Queue> queue;
};

}  // namespace sidra::test

#endif
