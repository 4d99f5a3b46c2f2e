// SPDX-License-Identifier: MIT
// The rules of uapi/sidra_accel.h, call by call: sizes at the edge of a page, pads and unknown flags, 32-bit callers,
// foreign handles.
#include <algorithm>
#include <bit>
#include <cstddef>
#include <functional>
#include <optional>
#include <string>
#include <thread>

#include "fences.h"
#include "node.h"

namespace sidra::test {
namespace {

// A field that must be zero, or its undefined bits.
struct Reserved {
    const char* field;
    size_t offset;
    size_t size;
    uint64_t bits;
};

#define WHOLE(type, field)                                                  \
    Reserved {                                                              \
#field, offsetof(type, field), sizeof(type::field), ~uint64_t { 0 } \
    }
#define BEYOND(type, field, known) \
    Reserved { #field, offsetof(type, field), sizeof(type::field), ~static_cast < uint64_t>(known) }

// A value that a field must not have, and what the call returns then.
struct Wrong {
    const char* field;
    size_t offset;
    size_t size;
    uint64_t value;
    int error;
    std::string blamed;  // the field that the driver names then; "": none
};

#define WRONG(type, field, value, error) WRONG_FOR(type, field, value, error, #field)
#define WRONG_FOR(type, field, value, error, blamed) \
    Wrong { #field, offsetof(type, field), sizeof(type::field), static_cast < uint64_t>(value), error, blamed }

// One wrong value of such a field. @good: the argument that it is for.
Wrong wrong_of(const Reserved& field, const std::vector<uint8_t>& good) {
    uint64_t value = 0;
    const size_t size = std::min(field.size, sizeof value);
    std::memcpy(&value, good.data() + field.offset, size);
    value |= uint64_t{1} << std::countr_zero(field.bits);
    return {field.field, field.offset, size, value, -EINVAL, field.field + std::string(size < field.size ? "[0]" : "")};
}

// A field that a call only returns, and the value of each of its bytes if the call fails.
struct Out {
    unsigned long request;
    const char* field;
    size_t offset;
    size_t size;
    int failed;
};

#define OUT(call, type, field) OUT_OR(call, type, field, 0)
#define OUT_OR(call, type, field, failed) \
    Out { SIDRA_IOCTL_##call, #field, offsetof(sidra_ioctl_##type, field), sizeof(sidra_ioctl_##type::field), failed }

constexpr Out kOut[] = {
    OUT(VM_CREATE, vm_create, vm),
    OUT(CONTEXT_CREATE, context_create, context),
    OUT(CONTEXT_CREATE, context_create, doorbell_offset),
    OUT(CONTEXT_QUERY, context_query, state),
    OUT(CONTEXT_QUERY, context_query, generation),
    OUT(CONTEXT_QUERY, context_query, vm),
    OUT(CONTEXT_QUERY, context_query, fault),
    OUT(BUFFER_CREATE, buffer_create, handle),
    OUT(BUFFER_CREATE, buffer_create, mmap_offset),
    OUT(BUFFER_REGISTER, buffer_register, handle),
    OUT(QUEUE_CREATE, queue_create, queue),
    OUT(QUEUE_CREATE, queue_create, ring_offset),
    OUT(QUEUE_CREATE, queue_create, ring_size),
    OUT(QUEUE_CREATE, queue_create, report_offset),
    OUT(QUEUE_CREATE, queue_create, state_offset),
    OUT(QUEUE_RESET, queue_reset, epoch),
    OUT(QUEUE_RESET, queue_reset, retired),
    OUT(QUEUE_QUERY, queue_query, run_state),
    OUT(QUEUE_QUERY, queue_query, timeline),
    OUT(QUEUE_QUERY, queue_query, progress),
    OUT(QUEUE_QUERY, queue_query, fault),
    OUT(QUEUE_QUERY, queue_query, epoch),
    OUT(QUEUE_QUERY, queue_query, kind),
    OUT(QUEUE_QUERY, queue_query, ring_log2),
    OUT(QUEUE_QUERY, queue_query, priority),
    OUT(QUEUE_QUERY, queue_query, queue_flags),
    OUT(QUEUE_QUERY, queue_query, submitted),
    OUT(WAIT, wait, index),
    OUT(SUBMIT, submit, value),
    OUT(SUBMIT, submit, epoch),
    OUT(WEIGHTS_CREATE, weights_create, index),
    OUT(WEIGHTS_CREATE, weights_create, uid),
    OUT(WEIGHTS_PUBLISH, weights_publish, uuid),
    OUT(WEIGHTS_OPEN, weights_open, rows),
    OUT(WEIGHTS_OPEN, weights_open, cols),
    OUT(WEIGHTS_OPEN, weights_open, encoding),
    OUT(WEIGHTS_OPEN, weights_open, xbars),
    OUT(WEIGHTS_OPEN, weights_open, index),
    OUT(WEIGHTS_OPEN, weights_open, uid),
    OUT_OR(WEIGHTS_SHARE, weights_share, fd, 0xff),
    OUT(WEIGHTS_IMPORT, weights_import, rights),
    OUT(WEIGHTS_IMPORT, weights_import, rows),
    OUT(WEIGHTS_IMPORT, weights_import, cols),
    OUT(WEIGHTS_IMPORT, weights_import, encoding),
    OUT(WEIGHTS_IMPORT, weights_import, xbars),
    OUT(WEIGHTS_IMPORT, weights_import, index),
    OUT(WEIGHTS_IMPORT, weights_import, uid),
    OUT(WEIGHTS_QUERY, weights_query, programmed_rows),
    OUT(WEIGHTS_QUERY, weights_query, total_rows),
};

constexpr uint32_t kNobody = 0x7fff'0000;  // a handle, index or number that nothing has
constexpr uint64_t kNowhere = 8;           // an address where nothing is

struct Call {
    const char* name;
    unsigned long request;
    std::function<std::vector<uint8_t>()> argument;  // a good one
    std::vector<Reserved> reserved;
    std::vector<Wrong> wrong = {};
    bool run = true;  // false: too much of a good thing; only its refusals are tried
};

template <class Type>
std::vector<uint8_t> bytes_of(const Type& value) {
    const auto* begin = reinterpret_cast<const uint8_t*>(&value);
    return {begin, begin + sizeof value};
}

// Two pages below 4 GiB, the second of which cannot be touched.
class Edge {
   public:
    Edge()
        : pages_(static_cast<uint8_t*>(
              mmap(nullptr, 2 * kPage, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_32BIT, -1, 0))) {
        EXPECT_NE(static_cast<void*>(pages_), MAP_FAILED);
        EXPECT_EQ(mprotect(pages_ + kPage, kPage, PROT_NONE), 0);
    }
    ~Edge() { munmap(pages_, 2 * kPage); }
    Edge(const Edge&) = delete;
    Edge& operator=(const Edge&) = delete;
    // Places the argument so that it ends `beyond` bytes after the edge of the page.
    void* place(const std::vector<uint8_t>& argument, size_t beyond = 0) const {
        uint8_t* at = pages_ + kPage - argument.size() + beyond;
        std::memcpy(at, argument.data(), argument.size() - beyond);
        return at;
    }

   private:
    static constexpr size_t kPage = 4096;
    uint8_t* const pages_;
};

int plain(int fd, unsigned long request, void* argument) { return ioctl(fd, request, argument) == 0 ? 0 : -errno; }

// As a 32-bit program calls it.
int compat(int fd, unsigned long request, void* argument) {
    constexpr long kIoctl = 54;  // of i386
    long result = kIoctl;
    asm volatile("int $0x80"
                 : "+a"(result)
                 : "b"(static_cast<long>(fd)), "c"(static_cast<long>(request)), "d"(reinterpret_cast<long>(argument))
                 : "memory", "r8", "r9", "r10", "r11");
    return static_cast<int>(result);
}

class Ioctl : public NodeTest {
   protected:
    Ioctl()
        : context(node), buffer(context, 8192), queue(context, SIDRA_QUEUE_USER), jobs(context, SIDRA_QUEUE_KERNEL) {
        item = {context.handle, queue.create.queue, 0, queue.epoch(), 0};
        weights = make_weights();
    }
    ~Ioctl() override {
        if (programmed) unlink(kPublished);
        if (named) EXPECT_EQ(unlink(kOpened), 0);
        if (shared >= 0) close(shared);
    }

    uint32_t make_weights() const {
        sidra_ioctl_weights_create a{};
        a.context = context.handle;
        a.rows = a.cols = 1;
        a.rights = SIDRA_WEIGHTS_RIGHTS;
        EXPECT_EQ(node.call(SIDRA_IOCTL_WEIGHTS_CREATE, a), 0);
        return a.index;
    }
    uint32_t make_programmed() const {
        const uint32_t index = make_weights();
        Queue queue_of_it(context, SIDRA_QUEUE_USER);
        sidra_cmd program = packet(SIDRA_CMD_PROGRAM);
        program.weights.weights = static_cast<uint16_t>(index);
        program.weights.rows = program.weights.cols = program.weights.stride = 1;
        program.weights.addr = buffer.va;
        EXPECT_EQ(queue_of_it.wait(queue_of_it.push(program)), 0);
        return index;
    }
    int publish(uint32_t index, const char* name) const {
        sidra_ioctl_weights_publish a{};
        a.context = context.handle;
        a.index = index;
        a.name = reinterpret_cast<uintptr_t>(name);
        a.data = reinterpret_cast<uintptr_t>(kData);
        a.data_size = sizeof kData;
        return node.call(SIDRA_IOCTL_WEIGHTS_PUBLISH, a);
    }
    int unlink(const char* name) const {
        sidra_ioctl_weights_unlink a{reinterpret_cast<uintptr_t>(name), 0, SIDRA_OWNER_CALLER};
        return node.call(SIDRA_IOCTL_WEIGHTS_UNLINK, a);
    }
    // Weights that have the name kPublished, or have not.
    uint32_t with_name(bool has) {
        if (!programmed) programmed = make_programmed();
        const int error = has ? publish(*programmed, kPublished) : unlink(kPublished);
        EXPECT_TRUE(error == 0 || error == (has ? -EEXIST : -ENOENT)) << error;
        return *programmed;
    }
    // There are weights with the name kOpened.
    void make_name() {
        if (named) return;
        named = make_programmed();
        EXPECT_EQ(publish(*named, kOpened), 0);
    }
    int make_shared() {
        if (shared >= 0) return shared;
        sidra_ioctl_weights_share a{
            context.handle, weights, SIDRA_WEIGHTS_COMPUTE, -1, reinterpret_cast<uintptr_t>(kData), sizeof kData, 0};
        EXPECT_EQ(node.call(SIDRA_IOCTL_WEIGHTS_SHARE, a), 0);
        return shared = a.fd;
    }
    uint32_t make_vm() const { return create_vm(node); }
    uint32_t make_context() const {
        sidra_ioctl_context_create a{};
        a.vm = context.vm;
        EXPECT_EQ(node.call(SIDRA_IOCTL_CONTEXT_CREATE, a), 0);
        return a.context;
    }
    uint32_t make_buffer() const {
        sidra_ioctl_buffer_create a{4096, 0, 0, 0};
        EXPECT_EQ(node.call(SIDRA_IOCTL_BUFFER_CREATE, a), 0);
        return a.handle;
    }
    uint32_t make_queue() const {
        sidra_ioctl_queue_create a{};
        a.context = context.handle;
        a.ring_log2 = 6;
        a.priority = 1;
        EXPECT_EQ(node.call(SIDRA_IOCTL_QUEUE_CREATE, a), 0);
        return a.queue;
    }

    std::vector<Call> calls() {
        using Query = sidra_ioctl_device_query;
        using Reset = sidra_ioctl_device_reset;
        using VmCreate = sidra_ioctl_vm_create;
        using OfVm = sidra_ioctl_vm;
        using ContextCreate = sidra_ioctl_context_create;
        using OfContext = sidra_ioctl_context;
        using ContextQuery = sidra_ioctl_context_query;
        using Create = sidra_ioctl_buffer_create;
        using Register = sidra_ioctl_buffer_register;
        using Close = sidra_ioctl_buffer_close;
        using Bind = sidra_ioctl_buffer_bind;
        using Unbind = sidra_ioctl_buffer_unbind;
        using QueueCreate = sidra_ioctl_queue_create;
        using OfQueue = sidra_ioctl_queue;
        using QueueQuery = sidra_ioctl_queue_query;
        using QueueReset = sidra_ioctl_queue_reset;
        using Wait = sidra_ioctl_wait;
        using Arm = sidra_ioctl_arm;
        using Submit = sidra_ioctl_submit;
        using WeightsCreate = sidra_ioctl_weights_create;
        using Publish = sidra_ioctl_weights_publish;
        using Open = sidra_ioctl_weights_open;
        using Unlink = sidra_ioctl_weights_unlink;
        using OfWeights = sidra_ioctl_weights;
        using Share = sidra_ioctl_weights_share;
        using Import = sidra_ioctl_weights_import;
        using WeightsQuery = sidra_ioctl_weights_query;
        using List = sidra_ioctl_weights_list;
        using Report = sidra_ioctl_weights_report;
        const uint32_t c = context.handle;
        const uint32_t v = context.vm;
        const uint32_t q = queue.create.queue;
        const auto address = [](const void* pointer) { return reinterpret_cast<uintptr_t>(pointer); };
        return {
            {"DEVICE_QUERY",
             SIDRA_IOCTL_DEVICE_QUERY,
             [this, address] {
                 return bytes_of(Query{0, 0, address(memory), 8, 0});
             },
             {BEYOND(Query, query, 7), WHOLE(Query, flags), WHOLE(Query, pad)},
             {WRONG(Query, query, 0x7fff, -EINVAL), WRONG(Query, size, SIDRA_STRIDE_MAX + 1, -EINVAL),
              WRONG(Query, data, kNowhere, -EFAULT)}},
            {"DEVICE_RESET",
             SIDRA_IOCTL_DEVICE_RESET,
             [] { return bytes_of(Reset{}); },
             {WHOLE(Reset, flags)},
             {},
             false},
            {"VM_CREATE", SIDRA_IOCTL_VM_CREATE, [] { return bytes_of(VmCreate{}); }, {WHOLE(VmCreate, flags)}},
            {"VM_DESTROY",
             SIDRA_IOCTL_VM_DESTROY,
             [this] {
                 return bytes_of(OfVm{make_vm(), 0});
             },
             {WHOLE(OfVm, flags)},
             {WRONG(OfVm, vm, kNobody, -ENOENT)}},
            {"CONTEXT_CREATE",
             SIDRA_IOCTL_CONTEXT_CREATE,
             [v] {
                 ContextCreate a{};
                 a.vm = v;
                 return bytes_of(a);
             },
             {WHOLE(ContextCreate, flags), WHOLE(ContextCreate, pad)},
             {WRONG(ContextCreate, vm, kNobody, -ENOENT)}},
            {"CONTEXT_DESTROY",
             SIDRA_IOCTL_CONTEXT_DESTROY,
             [this] {
                 return bytes_of(OfContext{make_context(), 0});
             },
             {WHOLE(OfContext, flags)},
             {WRONG(OfContext, context, kNobody, -ENOENT)}},
            {"CONTEXT_RECOVER",
             SIDRA_IOCTL_CONTEXT_RECOVER,
             [c] {
                 return bytes_of(OfContext{c, 0});
             },
             {WHOLE(OfContext, flags)},
             {WRONG(OfContext, context, kNobody, -ENOENT)}},
            {"CONTEXT_QUERY",
             SIDRA_IOCTL_CONTEXT_QUERY,
             [c] {
                 ContextQuery a{};
                 a.context = c;
                 return bytes_of(a);
             },
             {WHOLE(ContextQuery, flags), WHOLE(ContextQuery, pad)},
             {WRONG(ContextQuery, context, kNobody, -ENOENT)}},
            {"BUFFER_CREATE",
             SIDRA_IOCTL_BUFFER_CREATE,
             [] {
                 return bytes_of(Create{4096, 0, 0, 0});
             },
             {BEYOND(Create, flags, SIDRA_BUFFER_LOCAL)},
             {WRONG(Create, size, 0, -EINVAL), WRONG(Create, size, ~uint64_t{0} - 4095, -EINVAL)}},
            {"BUFFER_REGISTER",
             SIDRA_IOCTL_BUFFER_REGISTER,
             [this, address] {
                 return bytes_of(Register{address(memory), sizeof memory, 0, 0});
             },
             {BEYOND(Register, flags, SIDRA_REGISTER_READONLY)},
             {WRONG(Register, address, kNowhere, -EFAULT), WRONG(Register, address, uint64_t{1} << 63, -EFAULT),
              WRONG(Register, size, 0, -EINVAL), WRONG(Register, size, ~uint64_t{0}, -EINVAL)}},
            {"BUFFER_CLOSE",
             SIDRA_IOCTL_BUFFER_CLOSE,
             [this] {
                 return bytes_of(Close{make_buffer(), 0});
             },
             {WHOLE(Close, flags)},
             {WRONG(Close, handle, kNobody, -ENOENT)}},
            {"BUFFER_BIND",
             SIDRA_IOCTL_BUFFER_BIND,
             [this, v] {
                 return bytes_of(Bind{v, make_buffer(), SIDRA_BIND_READ, 0, 0, {}});
             },
             {BEYOND(Bind, flags, SIDRA_BIND_READ | SIDRA_BIND_WRITE | SIDRA_BIND_FIXED), WHOLE(Bind, pad),
              WHOLE(Bind, address), WHOLE(Bind, reserved)},
             {WRONG(Bind, vm, kNobody, -ENOENT), WRONG(Bind, handle, kNobody, -ENOENT), WRONG(Bind, flags, 0, -EINVAL),
              WRONG_FOR(Bind, flags, SIDRA_BIND_READ | SIDRA_BIND_FIXED, -EINVAL, "address")}},
            {"BUFFER_UNBIND",
             SIDRA_IOCTL_BUFFER_UNBIND,
             [this, v] {
                 Bind bind{v, make_buffer(), SIDRA_BIND_READ, 0, 0, {}};
                 EXPECT_EQ(node.call(SIDRA_IOCTL_BUFFER_BIND, bind), 0);
                 return bytes_of(Unbind{v, bind.handle, bind.address});
             },
             {},
             {WRONG(Unbind, vm, kNobody, -ENOENT), WRONG(Unbind, handle, kNobody, -ENOENT),
              WRONG(Unbind, address, kNowhere, -ENOENT)}},
            {"QUEUE_CREATE",
             SIDRA_IOCTL_QUEUE_CREATE,
             [c] {
                 QueueCreate a{};
                 a.context = c;
                 a.ring_log2 = 6;
                 a.priority = 1;
                 return bytes_of(a);
             },
             {BEYOND(QueueCreate, flags, SIDRA_QUEUE_REPORTS), BEYOND(QueueCreate, kind, 1),
              BEYOND(QueueCreate, start, SIDRA_QUEUE_START_MAX * 2 - 1), WHOLE(QueueCreate, reserved)},
             {WRONG(QueueCreate, context, kNobody, -ENOENT), WRONG(QueueCreate, kind, 9, -EINVAL),
              WRONG(QueueCreate, ring_log2, 3, -EINVAL), WRONG(QueueCreate, ring_log2, 40, -EINVAL),
              WRONG(QueueCreate, priority, 9, -EINVAL)}},
            {"QUEUE_DESTROY",
             SIDRA_IOCTL_QUEUE_DESTROY,
             [this, c] {
                 return bytes_of(OfQueue{c, make_queue(), 0, 0});
             },
             {WHOLE(OfQueue, flags), WHOLE(OfQueue, pad)},
             {WRONG(OfQueue, context, kNobody, -ENOENT), WRONG(OfQueue, queue, kNobody, -ENOENT)}},
            {"QUEUE_RESET",
             SIDRA_IOCTL_QUEUE_RESET,
             [c, q] {
                 return bytes_of(QueueReset{c, q, 0, 0, 0});
             },
             {WHOLE(QueueReset, flags)},
             {WRONG(QueueReset, context, kNobody, -ENOENT), WRONG(QueueReset, queue, kNobody, -ENOENT)}},
            {"QUEUE_QUERY",
             SIDRA_IOCTL_QUEUE_QUERY,
             [c, q] {
                 QueueQuery a{};
                 a.context = c;
                 a.queue = q;
                 return bytes_of(a);
             },
             {WHOLE(QueueQuery, flags), WHOLE(QueueQuery, pad)},
             {WRONG(QueueQuery, context, kNobody, -ENOENT), WRONG(QueueQuery, queue, kNobody, -ENOENT)}},
            {"WAIT",
             SIDRA_IOCTL_WAIT,
             [this, address] {
                 return bytes_of(Wait{address(&item), 1, sizeof item, 0, 0, 0});
             },
             {BEYOND(Wait, flags, SIDRA_WAIT_ALL)},
             {WRONG(Wait, items, kNowhere, -EFAULT), WRONG(Wait, count, 0, -EINVAL),
              WRONG(Wait, count, SIDRA_WAIT_MAX + 1, -EINVAL), WRONG(Wait, stride, 8, -EINVAL),
              WRONG(Wait, stride, SIDRA_STRIDE_MAX + 8, -EINVAL)}},
            {"ARM",
             SIDRA_IOCTL_ARM,
             [this, c, q] {
                 return bytes_of(Arm{c, q, 1, -1, 0, queue.epoch(), 0});
             },
             {WHOLE(Arm, flags), WHOLE(Arm, pad)},
             {WRONG(Arm, context, kNobody, -ENOENT), WRONG(Arm, queue, kNobody, -ENOENT), WRONG(Arm, epoch, 0, -EINVAL),
              WRONG(Arm, eventfd, -2, -EBADF), WRONG(Arm, eventfd, 9999, -EBADF)}},
            {"SUBMIT",
             SIDRA_IOCTL_SUBMIT,
             [this] { return bytes_of(jobs.request(packets)); },
             {BEYOND(Submit, flags, SIDRA_SUBMIT_OUT_FENCE), BEYOND(Submit, packet_stride, SIDRA_CMD_SIZE),
              WHOLE(Submit, pad), WHOLE(Submit, reserved)},
             {WRONG(Submit, context, kNobody, -ENOENT), WRONG(Submit, queue, kNobody, -ENOENT),
              WRONG(Submit, queue, queue.create.queue, -EINVAL), WRONG(Submit, packets, kNowhere, -EFAULT),
              WRONG(Submit, count, 0, -EINVAL), WRONG(Submit, count, 1u << 20, -EINVAL),
              WRONG(Submit, packet_stride, 8, -EINVAL), WRONG_FOR(Submit, in_count, 1, -EFAULT, "in_points"),
              WRONG_FOR(Submit, out_count, 1, -EFAULT, "out_points"), WRONG(Submit, in_count, 1u << 20, -EINVAL),
              WRONG(Submit, out_count, 1u << 20, -EINVAL), WRONG(Submit, in_fence_fd, 9999, -EINVAL),
              WRONG(Submit, in_fence_fd, -2, -EINVAL), WRONG(Submit, out_fence_fd, 0, -EINVAL),
              WRONG(Submit, in_points, kNowhere, -EINVAL), WRONG(Submit, out_points, kNowhere, -EINVAL),
              WRONG(Submit, point_stride, 8, -EINVAL), WRONG(Submit, point_stride, SIDRA_STRIDE_MAX + 8, -EINVAL)}},
            {"WEIGHTS_CREATE",
             SIDRA_IOCTL_WEIGHTS_CREATE,
             [c] {
                 WeightsCreate a{};
                 a.context = c;
                 a.rows = a.cols = 1;
                 a.rights = SIDRA_WEIGHTS_COMPUTE;
                 return bytes_of(a);
             },
             {WHOLE(WeightsCreate, flags), BEYOND(WeightsCreate, rights, SIDRA_WEIGHTS_RIGHTS),
              WHOLE(WeightsCreate, xbar_stride), WHOLE(WeightsCreate, pad)},
             {WRONG(WeightsCreate, context, kNobody, -ENOENT), WRONG(WeightsCreate, encoding, 9, -EINVAL),
              WRONG(WeightsCreate, rows, 0, -EINVAL), WRONG(WeightsCreate, cols, 0, -EINVAL),
              WRONG_FOR(WeightsCreate, rows, 1u << 24, -ENOSPC, ""), WRONG(WeightsCreate, rights, 0, -EINVAL),
              WRONG_FOR(WeightsCreate, xbar_ids, kNowhere, -EINVAL, "xbars")}},
            {"WEIGHTS_PUBLISH",
             SIDRA_IOCTL_WEIGHTS_PUBLISH,
             [this, c, address] {
                 Publish a{};
                 a.context = c;
                 a.index = with_name(false);
                 a.name = address(kPublished);
                 a.data = address(kData);
                 a.data_size = sizeof kData;
                 a.mode = 0600;
                 return bytes_of(a);
             },
             {WHOLE(Publish, flags)},
             {WRONG(Publish, context, kNobody, -ENOENT), WRONG(Publish, index, kNobody, -ENOENT),
              WRONG_FOR(Publish, index, weights, -ENODATA, ""), WRONG(Publish, name, kNowhere, -EFAULT),
              WRONG(Publish, name, address(""), -EINVAL), WRONG(Publish, data, kNowhere, -EFAULT),
              WRONG(Publish, data_size, SIDRA_WEIGHTS_DATA_MAX + 1, -EINVAL), WRONG(Publish, mode, 010000, -EINVAL)}},
            {"WEIGHTS_OPEN",
             SIDRA_IOCTL_WEIGHTS_OPEN,
             [this, c, address] {
                 make_name();
                 Open a{};
                 a.context = c;
                 a.rights = SIDRA_WEIGHTS_COMPUTE;
                 a.name = address(kOpened);
                 a.data = address(memory);
                 a.data_size = sizeof kData;
                 a.owner = SIDRA_OWNER_CALLER;
                 return bytes_of(a);
             },
             {WHOLE(Open, flags), WHOLE(Open, pad)},
             {WRONG(Open, context, kNobody, -ENOENT), WRONG(Open, rights, 0, -EINVAL), WRONG(Open, rights, 8, -EINVAL),
              WRONG(Open, name, kNowhere, -EFAULT), WRONG(Open, name, address(kNoName), -ENOENT),
              WRONG(Open, data, kNowhere, -EFAULT), WRONG_FOR(Open, data_size, 8, -ENOSPC, ""),
              WRONG_FOR(Open, owner, ~1u, -ENOENT, "name")}},
            {"WEIGHTS_UNLINK",
             SIDRA_IOCTL_WEIGHTS_UNLINK,
             [this, address] {
                 with_name(true);
                 return bytes_of(Unlink{address(kPublished), 0, SIDRA_OWNER_CALLER});
             },
             {BEYOND(Unlink, flags, SIDRA_UNLINK_EVICT)},
             {WRONG(Unlink, name, kNowhere, -EFAULT), WRONG(Unlink, name, address(kNoName), -ENOENT),
              WRONG_FOR(Unlink, owner, ~1u, -ENOENT, "name")}},
            {"WEIGHTS_DESTROY",
             SIDRA_IOCTL_WEIGHTS_DESTROY,
             [this, c] {
                 return bytes_of(OfWeights{c, make_weights(), 0, 0});
             },
             {WHOLE(OfWeights, flags), WHOLE(OfWeights, pad)},
             {WRONG(OfWeights, context, kNobody, -ENOENT), WRONG(OfWeights, index, kNobody, -ENOENT)}},
            {"WEIGHTS_SHARE",
             SIDRA_IOCTL_WEIGHTS_SHARE,
             [this, c] {
                 return bytes_of(Share{c, weights, SIDRA_WEIGHTS_COMPUTE, 0, 0, 0, 0});
             },
             {WHOLE(Share, flags)},
             {WRONG(Share, context, kNobody, -ENOENT), WRONG(Share, index, kNobody, -ENOENT),
              WRONG(Share, rights, 0, -EINVAL), WRONG(Share, rights, 8, -EINVAL),
              WRONG(Share, data_size, SIDRA_WEIGHTS_DATA_MAX + 1, -EINVAL),
              WRONG_FOR(Share, data_size, 8, -EFAULT, "data")}},
            {"WEIGHTS_IMPORT",
             SIDRA_IOCTL_WEIGHTS_IMPORT,
             [this, c, address] {
                 Import a{};
                 a.context = c;
                 a.fd = make_shared();
                 a.data = address(memory);
                 a.data_size = sizeof kData;
                 return bytes_of(a);
             },
             {WHOLE(Import, flags)},
             {WRONG(Import, context, kNobody, -ENOENT), WRONG(Import, fd, node.fd, -ENOENT),
              WRONG(Import, fd, -1, -EBADF), WRONG(Import, data, kNowhere, -EFAULT),
              WRONG_FOR(Import, data_size, 8, -ENOSPC, "")}},
            {"WEIGHTS_QUERY",
             SIDRA_IOCTL_WEIGHTS_QUERY,
             [this, c] {
                 WeightsQuery a{};
                 a.context = c;
                 a.index = weights;
                 return bytes_of(a);
             },
             {WHOLE(WeightsQuery, flags), WHOLE(WeightsQuery, xbar_stride), WHOLE(WeightsQuery, pad)},
             {WRONG(WeightsQuery, context, kNobody, -ENOENT), WRONG(WeightsQuery, index, kNobody, -ENOENT),
              WRONG_FOR(WeightsQuery, xbar_ids, kNowhere, -EINVAL, "xbar_stride")}},
            {"WEIGHTS_LIST",
             SIDRA_IOCTL_WEIGHTS_LIST,
             [this, address] {
                 make_name();
                 return bytes_of(List{address(memory), 1, sizeof(sidra_weights_entry), 0, 0});
             },
             {WHOLE(List, flags)},
             {WRONG(List, count, 0, -EINVAL), WRONG(List, stride, 8, -EINVAL),
              WRONG(List, stride, SIDRA_STRIDE_MAX + 8, -EINVAL), WRONG(List, entries, kNowhere, -EFAULT)}},
            {"WEIGHTS_REPORT",
             SIDRA_IOCTL_WEIGHTS_REPORT,
             [this, c, address] {
                 return bytes_of(Report{c, weights, 0, 0, address(memory), sizeof(sidra_weights_tile), 0});
             },
             {WHOLE(Report, flags), WHOLE(Report, pad)},
             {WRONG(Report, context, kNobody, -ENOENT), WRONG(Report, index, kNobody, -ENOENT),
              WRONG(Report, tile, kNobody, -EINVAL), WRONG(Report, size, SIDRA_STRIDE_MAX + 1, -EINVAL),
              WRONG(Report, report, kNowhere, -EFAULT)}},
        };
    }

    // What this thread's latest failed call refused.
    sidra_query_refusal refusal() const {
        sidra_query_refusal told{};
        sidra_ioctl_device_query query{SIDRA_QUERY_REFUSAL, 0, reinterpret_cast<uintptr_t>(&told), sizeof told, 0};
        EXPECT_EQ(node.call(SIDRA_IOCTL_DEVICE_QUERY, query), 0);
        return told;
    }
    // The name that it gave if the call was this one, and returned this; "" if it gave none.
    std::string blamed(unsigned long request, int error) const {
        const sidra_query_refusal told = refusal();
        if (told.call == 0) {
            EXPECT_EQ(std::string(told.name), "");
            return "";
        }
        EXPECT_EQ(told.call, _IOC_NR(request));
        EXPECT_EQ(told.error, static_cast<uint32_t>(-error));
        return told.name;
    }

    // With other values in fields that the call only returns, which it must neither read nor keep if it fails.
    int attempt(const Call& call, std::vector<uint8_t> argument) const {
        for (const Out& out : kOut)
            if (out.request == call.request) std::memset(argument.data() + out.offset, 0xa5, out.size);
        auto* at = static_cast<uint8_t*>(edge.place(argument));
        const int returned = plain(node.fd, call.request, at);
        for (const Out& out : kOut)
            for (size_t i = 0; returned != 0 && out.request == call.request && i < out.size; i++)
                EXPECT_EQ(at[out.offset + i], out.failed) << call.name << ": " << out.field << " after " << returned;
        return returned;
    }

    sidra_query_status look() const { return status_of(node); }
    void expect_unchanged(const sidra_query_status& before, const char* call) const {
        const sidra_query_status after = look();
        EXPECT_EQ(before.xbars_free, after.xbars_free) << call;
        EXPECT_EQ(before.l3_free, after.l3_free) << call;
        EXPECT_EQ(before.generation, after.generation) << call;
        EXPECT_EQ(before.contexts, after.contexts) << call;
        EXPECT_EQ(before.queues, after.queues) << call;
    }

    static constexpr char kPublished[] = "ioctl-test", kOpened[] = "ioctl-test-open", kNoName[] = "ioctl-test-nobody";
    static constexpr char kData[16] = "fifteen bytes..";

    Node node;
    Context context;
    Buffer buffer;
    Queue queue, jobs;
    uint32_t weights = 0;
    std::optional<uint32_t> programmed, named;
    int shared = -1;
    sidra_wait_item item{};
    std::vector<sidra_cmd> packets{nop()};
    alignas(8) uint8_t memory[8192] = {};
    Edge edge;
};

TEST_F(Ioctl, EveryCallIsTried) {
    EXPECT_EQ(calls().size(), 30u);
    EXPECT_EQ(plain(node.fd, SIDRA_IOCTL(0x3f, sidra_ioctl_context), edge.place(bytes_of(sidra_ioctl_context{}))),
              -ENOTTY);
}

TEST_F(Ioctl, ArgumentsMayEndWhereAPageEnds) {
    for (const Call& call : calls())
        if (call.run) EXPECT_EQ(plain(node.fd, call.request, edge.place(call.argument())), 0) << call.name;
}

TEST_F(Ioctl, ArgumentsBeyondTheEdgeAreFaults) {
    for (const Call& call : calls())
        if (call.run) EXPECT_EQ(plain(node.fd, call.request, edge.place(call.argument(), 1)), -EFAULT) << call.name;
}

TEST_F(Ioctl, ThirtyTwoBitCallersGetTheSame) {
    for (const Call& call : calls())
        if (call.run) EXPECT_EQ(compat(node.fd, call.request, edge.place(call.argument())), 0) << call.name;
}

// Of DRM's own calls: its structs are different in 32 bits.
TEST_F(Ioctl, ThirtyTwoBitCallersGetTheNameOfTheDriver) {
    struct {
        int32_t numbers[3];
        uint32_t name_size, name, date_size, date, text_size, text;
    } version{};
    const Edge text;
    auto* name = static_cast<char*>(text.place(std::vector<uint8_t>(16)));
    version.name_size = 16;
    version.name = static_cast<uint32_t>(reinterpret_cast<uintptr_t>(name));
    void* argument = edge.place(bytes_of(version));
    ASSERT_EQ(compat(node.fd, _IOWR('d', 0x00, version), argument), 0);
    std::memcpy(&version, argument, sizeof version);
    EXPECT_EQ(std::string(name, version.name_size), "sidra");
}

TEST_F(Ioctl, PadsAndUnknownFlagsAreRefusedAndNothingChanges) {
    for (const Call& call : calls()) {
        // One object for all attempts: they leave it in place, and a small chip has few.
        const std::vector<uint8_t> good = call.argument();
        const sidra_query_status before = look();
        for (const Reserved& field : call.reserved) {
            for (size_t bit = 0; bit < field.size * 8; ++bit) {
                if ((field.bits >> bit % 64 & 1) == 0) continue;
                std::vector<uint8_t> argument = good;
                argument[field.offset + bit / 8] |= static_cast<uint8_t>(1u << (bit % 8));
                ASSERT_EQ(attempt(call, argument), -EINVAL)
                    << call.name << ", byte " << field.offset << ", bit " << bit;
                const std::string name = blamed(call.request, -EINVAL);
                ASSERT_EQ(name.substr(0, name.find('[')), field.field) << call.name << ", bit " << bit;
            }
        }
        expect_unchanged(before, call.name);
        if (call.run) EXPECT_EQ(plain(node.fd, call.request, edge.place(good)), 0) << call.name;
    }
}

// Each wrong value alone, and with each wrong value of another field: then the call returns the error of one of them,
// and names the field of one of them. Fields that must be zero, and undefined bits, have one wrong value each.
TEST_F(Ioctl, WrongFieldsAreRefusedAndNothingChanges) {
    const auto with = [&](const Call& call, std::vector<uint8_t> argument, std::initializer_list<const Wrong*> all) {
        for (const Wrong* one : all) std::memcpy(argument.data() + one->offset, &one->value, one->size);
        const sidra_query_status before = look();
        const int returned = attempt(call, argument);
        expect_unchanged(before, call.name);
        return returned;
    };
    for (const Call& call : calls()) {
        const std::vector<uint8_t> good = call.argument();
        std::vector<Wrong> wrong = call.wrong;
        for (const Reserved& field : call.reserved) wrong.push_back(wrong_of(field, good));
        for (const Wrong& one : wrong) {
            EXPECT_EQ(with(call, good, {&one}), one.error) << call.name << ": " << one.field << " = " << one.value;
            EXPECT_EQ(blamed(call.request, one.error), one.blamed)
                << call.name << ": " << one.field << " = " << one.value;
            for (const Wrong& other : wrong) {
                if (&other <= &one || other.offset == one.offset) continue;
                const int returned = with(call, good, {&one, &other});
                EXPECT_TRUE(returned == one.error || returned == other.error)
                    << call.name << ": " << one.field << " = " << one.value << " and " << other.field << " = "
                    << other.value << " return " << returned;
                const std::string name = blamed(call.request, returned);
                EXPECT_TRUE(name == one.blamed || name == other.blamed)
                    << call.name << ": of " << one.field << " = " << one.value << " and " << other.field << " = "
                    << other.value << " the driver names '" << name << "'";
            }
        }
        if (call.run) EXPECT_EQ(plain(node.fd, call.request, edge.place(good)), 0) << call.name;
    }
}

TEST_F(Ioctl, RefusedElementsOfArraysAreNamed) {
    const auto expect = [&](unsigned long request, int error, const char* name, uint64_t value) {
        EXPECT_EQ(blamed(request, error), name);
        EXPECT_EQ(refusal().value, value) << name;
    };
    const auto wait = [&](sidra_wait_item second, int error, const char* name, uint64_t value) {
        const sidra_wait_item both[] = {item, second};
        sidra_ioctl_wait a{reinterpret_cast<uintptr_t>(both), 2, sizeof *both, 0, 0, 0};
        EXPECT_EQ(node.call(SIDRA_IOCTL_WAIT, a), error);
        expect(SIDRA_IOCTL_WAIT, error, name, value);
    };
    wait({kNobody, item.queue, 0, item.epoch, 0}, -ENOENT, "items[1].context", kNobody);
    wait({item.context, kNobody, 0, item.epoch, 0}, -ENOENT, "items[1].queue", kNobody);
    wait({item.context, item.queue, 0, 0, 0}, -EINVAL, "items[1].epoch", 0);
    wait({item.context, item.queue, 0, item.epoch, 7}, -EINVAL, "items[1].pad", 7);

    packets.push_back(nop());
    packets[1].hdr.opcode = SIDRA_CMD_SEM_WAIT;
    sidra_ioctl_submit submit = jobs.request(packets);
    EXPECT_EQ(node.call(SIDRA_IOCTL_SUBMIT, submit), -EINVAL);
    expect(SIDRA_IOCTL_SUBMIT, -EINVAL, "packets[1].hdr.opcode", SIDRA_CMD_SEM_WAIT);
    packets.assign(4096, nop());
    submit = jobs.request(packets);
    EXPECT_EQ(node.call(SIDRA_IOCTL_SUBMIT, submit), -EINVAL);
    expect(SIDRA_IOCTL_SUBMIT, -EINVAL, "count", 4096);
    packets.resize(1);
    const sidra_syncobj_point nobody{kNobody, 0, 0};
    const sidra_syncobj_point unreached{create_syncobj(node), 0, 5};
    const sidra_syncobj_point padded{1, 9, 0};
    for (const bool in : {true, false}) {
        const auto point = [&](const sidra_syncobj_point& at, int error, const std::string& member, uint64_t value) {
            submit = jobs.request(packets);
            (in ? submit.in_points : submit.out_points) = reinterpret_cast<uintptr_t>(&at);
            (in ? submit.in_count : submit.out_count) = 1;
            EXPECT_EQ(node.call(SIDRA_IOCTL_SUBMIT, submit), error);
            expect(SIDRA_IOCTL_SUBMIT, error, ((in ? "in_points[0]." : "out_points[0].") + member).c_str(), value);
        };
        point(nobody, -ENOENT, "handle", kNobody);
        point(padded, -EINVAL, "pad", 9);
        if (in) point(unreached, -EINVAL, "point", 5);
    }
    sidra_ioctl_arm arm{context.handle, queue.create.queue, 1, -2, 0, queue.epoch(), 0};
    EXPECT_EQ(node.call(SIDRA_IOCTL_ARM, arm), -EBADF);
    expect(SIDRA_IOCTL_ARM, -EBADF, "eventfd", ~uint64_t{1});
}

TEST_F(Ioctl, MemoryThatTheDeviceMayOnlyReadIsNotBoundForWriting) {
    sidra_ioctl_buffer_register readonly{reinterpret_cast<uintptr_t>(memory), sizeof memory, SIDRA_REGISTER_READONLY,
                                         0};
    ASSERT_EQ(node.call(SIDRA_IOCTL_BUFFER_REGISTER, readonly), 0);
    sidra_ioctl_buffer_bind bind{context.vm, readonly.handle, SIDRA_BIND_READ | SIDRA_BIND_WRITE, 0, 0, {}};
    EXPECT_EQ(node.call(SIDRA_IOCTL_BUFFER_BIND, bind), -EACCES);
    EXPECT_EQ(blamed(SIDRA_IOCTL_BUFFER_BIND, -EACCES), "flags");
    bind.flags = SIDRA_BIND_READ;
    EXPECT_EQ(node.call(SIDRA_IOCTL_BUFFER_BIND, bind), 0);
}

TEST_F(Ioctl, RefusalsBelongToTheirThreadAndCall) {
    const auto refuse = [&] {
        sidra_ioctl_vm_create wrong{5, 0};
        EXPECT_EQ(node.call(SIDRA_IOCTL_VM_CREATE, wrong), -EINVAL);
    };
    EXPECT_EQ(refusal().call, 0u) << "nothing was refused yet";
    refuse();
    std::thread([&] { EXPECT_EQ(refusal().call, 0u) << "another thread's"; }).join();
    EXPECT_EQ(blamed(SIDRA_IOCTL_VM_CREATE, -EINVAL), "flags");
    look();
    EXPECT_EQ(blamed(SIDRA_IOCTL_VM_CREATE, -EINVAL), "flags") << "calls that succeed leave it";
    item.value = 1;
    sidra_ioctl_wait wait{reinterpret_cast<uintptr_t>(&item), 1, sizeof item, 0, 0, 0};
    EXPECT_EQ(node.call(SIDRA_IOCTL_WAIT, wait), -ETIMEDOUT);
    EXPECT_EQ(refusal().call, 0u) << "that call failed for another reason";
    refuse();
    sidra_ioctl_vm_create right{};
    EXPECT_EQ(plain(node.fd, SIDRA_IOCTL_VM_CREATE - (4ul << _IOC_SIZESHIFT), &right), -EINVAL);
    EXPECT_EQ(refusal().call, 0u) << "that struct is too small, and none of its fields was read";
    refuse();
    std::thread(refuse).join();
    EXPECT_EQ(refusal().call, 0u) << "another thread's has replaced it";
    const Node other;
    sidra_ioctl_vm_create wrong{5, 0};
    EXPECT_EQ(other.call(SIDRA_IOCTL_VM_CREATE, wrong), -EINVAL);
    EXPECT_EQ(refusal().call, 0u) << "another file's";
}

// A program that was built with a later header: its structs are larger.
TEST_F(Ioctl, LargerStructsAreTakenIfWhatIsNewIsZero) {
    constexpr unsigned kMore = 24;
    for (const Call& call : calls()) {
        if (!call.run) continue;
        const unsigned long larger = call.request + (static_cast<unsigned long>(kMore) << _IOC_SIZESHIFT);
        std::vector<uint8_t> argument = call.argument();
        const size_t known = argument.size();
        argument.resize(known + kMore);
        EXPECT_EQ(plain(node.fd, larger, edge.place(argument)), 0) << call.name;
        for (const size_t at : {known, known + kMore - 1}) {
            argument = call.argument();
            argument.resize(known + kMore);
            argument[at] = 1;
            EXPECT_EQ(plain(node.fd, larger, edge.place(argument)), -E2BIG) << call.name << " " << at - known;
        }
    }
}

TEST_F(Ioctl, SmallerStructsAndOtherDirectionsAreRefused) {
    for (const Call& call : calls()) {
        const std::vector<uint8_t> argument = call.argument();
        const unsigned long smaller = call.request - (8ul << _IOC_SIZESHIFT);
        EXPECT_EQ(plain(node.fd, smaller, edge.place(argument)), -EINVAL) << call.name;
        for (const unsigned long direction : {0ul, 1ul, 2ul}) {
            const unsigned long other = (call.request & ~(3ul << _IOC_DIRSHIFT)) | direction << _IOC_DIRSHIFT;
            EXPECT_EQ(plain(node.fd, other, edge.place(argument)), -ENOTTY) << call.name << " " << direction;
        }
    }
}

TEST_F(Ioctl, AnswersFitTheCallersStruct) {
    const auto ask = [&](uint32_t type, void* to, uint32_t size) {
        sidra_ioctl_device_query a{type, 0, reinterpret_cast<uintptr_t>(to), size, 0};
        EXPECT_EQ(node.call(SIDRA_IOCTL_DEVICE_QUERY, a), 0);
        return a.size;
    };
    const sidra_query_device whole = device_of(node);
    EXPECT_EQ(ask(SIDRA_QUERY_DEVICE, nullptr, 0), sizeof whole);
    for (const uint32_t size : {0u, 4u, 64u, uint32_t{sizeof whole}, uint32_t{sizeof whole + 40}, 512u}) {
        std::vector<uint8_t> told(1024, 0x5a);
        EXPECT_EQ(ask(SIDRA_QUERY_DEVICE, told.data(), size), sizeof whole);
        const size_t known = std::min<size_t>(size, sizeof whole);
        EXPECT_EQ(std::memcmp(told.data(), &whole, known), 0) << size;
        for (size_t i = known; i < told.size(); i++) ASSERT_EQ(told[i], i < size ? 0 : 0x5a) << size << ", byte " << i;
    }
    for (const uint32_t type : {SIDRA_QUERY_STATUS, SIDRA_QUERY_CLOCK, SIDRA_QUERY_LIMITS, SIDRA_QUERY_REFUSAL})
        EXPECT_GT(ask(type, nullptr, 0), 0u) << type;
    sidra_ioctl_device_query unknown{SIDRA_QUERY_REFUSAL + 1, 0, 0, 0, 0};
    EXPECT_EQ(node.call(SIDRA_IOCTL_DEVICE_QUERY, unknown), -EINVAL);
    sidra_ioctl_device_query nowhere{SIDRA_QUERY_DEVICE, 0, 8, 8, 0};
    EXPECT_EQ(node.call(SIDRA_IOCTL_DEVICE_QUERY, nowhere), -EFAULT);
}

TEST_F(Ioctl, ContextsOfOthersDoNotExist) {
    const Node other;
    const Context foreign(other);
    for (const uint32_t handle : {uint32_t{0}, foreign.handle + 1000, UINT32_MAX}) {
        sidra_ioctl_context_query query{};
        query.context = handle;
        EXPECT_EQ(node.call(SIDRA_IOCTL_CONTEXT_QUERY, query), -ENOENT) << handle;
        sidra_ioctl_queue_create create{};
        create.context = handle;
        create.ring_log2 = 6;
        EXPECT_EQ(node.call(SIDRA_IOCTL_QUEUE_CREATE, create), -ENOENT) << handle;
        sidra_ioctl_weights_create weights_create{};
        weights_create.context = handle;
        weights_create.rows = weights_create.cols = 1;
        weights_create.rights = SIDRA_WEIGHTS_RIGHTS;
        EXPECT_EQ(node.call(SIDRA_IOCTL_WEIGHTS_CREATE, weights_create), -ENOENT) << handle;
        sidra_ioctl_buffer_bind bind{handle, buffer.handle, SIDRA_BIND_READ, 0, 0, {}};
        EXPECT_EQ(node.call(SIDRA_IOCTL_BUFFER_BIND, bind), -ENOENT) << handle;
        sidra_ioctl_context destroy{handle, 0};
        EXPECT_EQ(node.call(SIDRA_IOCTL_CONTEXT_DESTROY, destroy), -ENOENT) << handle;
    }
    // Each open file numbers its own handles: the same number denotes another object there.
    sidra_ioctl_queue_query query{};
    query.context = foreign.handle;
    query.queue = queue.create.queue;
    EXPECT_EQ(other.call(SIDRA_IOCTL_QUEUE_QUERY, query), -ENOENT);
}

TEST_F(Ioctl, ReportsAreOfTilesThatOneHas) {
    alignas(8) sidra_weights_tile report;
    std::memset(&report, 0x55, sizeof report);
    const sidra_weights_tile before = report;
    const auto ask = [&](const Node& who, uint32_t index, uint32_t tile, uint64_t to, uint32_t in) {
        sidra_ioctl_weights_report a{in, index, tile, 0, to, sizeof(sidra_weights_tile), 0};
        return who.call(SIDRA_IOCTL_WEIGHTS_REPORT, a);
    };
    const auto address = reinterpret_cast<uintptr_t>(&report);
    const uint32_t c = context.handle;
    for (const uint32_t tile : {1u, 2u, 0x80000000u, UINT32_MAX})
        EXPECT_EQ(ask(node, weights, tile, address, c), -EINVAL) << tile;
    for (const uint32_t index : {0u, weights + 1, uint32_t{SIDRA_WEIGHTS_MAX}, UINT32_MAX})
        EXPECT_EQ(ask(node, index, 0, address, c), -ENOENT) << index;
    EXPECT_EQ(ask(node, weights, 0, address, c + 1000), -ENOENT);
    const Node other;
    const Context foreign(other);
    EXPECT_EQ(ask(other, weights, 0, address, foreign.handle), -ENOENT);
    EXPECT_EQ(std::memcmp(&report, &before, sizeof report), 0) << "nothing was stored";
    for (const uint64_t nowhere : {uint64_t{8}, uint64_t{1} << 63, ~uint64_t{0}})
        EXPECT_EQ(ask(node, weights, 0, nowhere, c), -EFAULT) << nowhere;
    for (const size_t beyond : {size_t{0}, size_t{1}, sizeof report - 1})
        EXPECT_EQ(ask(node, weights, 0, reinterpret_cast<uintptr_t>(edge.place(bytes_of(before), beyond)), c),
                  beyond ? -EFAULT : 0);
    EXPECT_EQ(ask(node, weights, 0, address, c), 0);
    EXPECT_EQ(report.programmed_rows, 0u) << "not programmed";
    EXPECT_EQ(ask(node, weights, 0, 0, c), 0) << "only its size is asked for";
}

TEST_F(Ioctl, WeightsTakeTheWantedCrossbarsOrNone) {
    const auto create = [&](std::vector<uint32_t> wanted, uint32_t rows, uint32_t* made = nullptr) {
        sidra_ioctl_weights_create a{};
        a.context = context.handle;
        a.encoding = SIDRA_ENCODING_OFFSET;
        a.rows = rows;
        a.cols = 1;
        a.rights = SIDRA_WEIGHTS_RIGHTS;
        a.xbars = static_cast<uint32_t>(wanted.size());
        a.xbar_ids = reinterpret_cast<uintptr_t>(wanted.data());
        a.xbar_stride = sizeof wanted[0];
        const int error = node.call(SIDRA_IOCTL_WEIGHTS_CREATE, a);
        if (error != 0) {
            EXPECT_EQ(a.index, 0u);
            EXPECT_EQ(a.xbars, 0u);
        }
        if (made != nullptr) *made = a.index;
        return error;
    };
    const sidra_query_status before = look();
    const uint32_t total = device_of(node).xbars_total;
    uint32_t index = 0;
    ASSERT_EQ(create({total - 1, total - 3}, 2 * SIDRA_XBAR_ROWS, &index), 0);
    std::vector<uint32_t> ids(2);
    sidra_ioctl_weights_query query{};
    query.context = context.handle;
    query.index = index;
    query.xbar_ids = reinterpret_cast<uintptr_t>(ids.data());
    query.xbars = 2;
    query.xbar_stride = sizeof ids[0];
    ASSERT_EQ(node.call(SIDRA_IOCTL_WEIGHTS_QUERY, query), 0);
    EXPECT_EQ(ids, (std::vector<uint32_t>{total - 1, total - 3}));
    EXPECT_EQ(create({total - 2, total - 1}, 2 * SIDRA_XBAR_ROWS), -EBUSY) << "in use";
    EXPECT_EQ(create({total - 2, total - 2}, 2 * SIDRA_XBAR_ROWS), -EBUSY) << "twice";
    EXPECT_EQ(create({total - 2, total}, 2 * SIDRA_XBAR_ROWS), -EBUSY) << "does not exist";
    EXPECT_EQ(create({total - 2, UINT32_MAX}, 2 * SIDRA_XBAR_ROWS), -EBUSY);
    EXPECT_EQ(create({total - 2}, 2 * SIDRA_XBAR_ROWS), -EINVAL) << "too few";
    EXPECT_EQ(create({total - 2, total - 4}, SIDRA_XBAR_ROWS), -EINVAL) << "too many";
    sidra_ioctl_weights_create nowhere{};
    nowhere.context = context.handle;
    nowhere.rows = nowhere.cols = 1;
    nowhere.rights = SIDRA_WEIGHTS_RIGHTS;
    nowhere.xbars = 1;
    nowhere.xbar_ids = 8;
    nowhere.xbar_stride = 4;
    sidra_ioctl_weights_create unreadable = nowhere;
    EXPECT_EQ(node.call(SIDRA_IOCTL_WEIGHTS_CREATE, unreadable), -EFAULT);
    sidra_ioctl_weights_create large = nowhere;
    large.rows = 1u << 24;
    large.xbars = large.rows / SIDRA_XBAR_ROWS;
    EXPECT_EQ(node.call(SIDRA_IOCTL_WEIGHTS_CREATE, large), -ENOSPC) << "more than the chip has";
    EXPECT_EQ(look().xbars_free, before.xbars_free - 2);
    EXPECT_EQ(create({total - 2}, 1), 0) << "what was refused is free";
    // Elements that are larger than the driver's: their tails have to be zero.
    const uint64_t wide[2] = {total - 4, total - 5 + (uint64_t{1} << 32)};
    sidra_ioctl_weights_create newer = nowhere;
    newer.rows = SIDRA_XBAR_ROWS;
    newer.xbar_ids = reinterpret_cast<uintptr_t>(wide);
    newer.xbar_stride = sizeof *wide;
    EXPECT_EQ(node.call(SIDRA_IOCTL_WEIGHTS_CREATE, newer), 0);
    newer.xbar_ids += sizeof *wide;
    newer.xbars = 1;
    EXPECT_EQ(node.call(SIDRA_IOCTL_WEIGHTS_CREATE, newer), -E2BIG);
    EXPECT_EQ(blamed(SIDRA_IOCTL_WEIGHTS_CREATE, -E2BIG), "xbar_stride");
    newer.xbar_ids = 8;
    newer.xbars = 1;
    EXPECT_EQ(node.call(SIDRA_IOCTL_WEIGHTS_CREATE, newer), -EFAULT);
}

TEST_F(Ioctl, ArraysWithABadShapeAreRefused) {
    sidra_ioctl_wait wait{reinterpret_cast<uintptr_t>(&item), 0, sizeof item, 0, 0, 0};
    EXPECT_EQ(node.call(SIDRA_IOCTL_WAIT, wait), -EINVAL);
    wait.count = SIDRA_WAIT_MAX + 1;
    EXPECT_EQ(node.call(SIDRA_IOCTL_WAIT, wait), -EINVAL);
    wait.count = 1;
    wait.stride = sizeof item - 8;
    EXPECT_EQ(node.call(SIDRA_IOCTL_WAIT, wait), -EINVAL);
    // A newer caller's item: its unknown tail must be zero.
    struct {
        sidra_wait_item known;
        uint64_t tail;
    } newer{item, 0};
    wait.items = reinterpret_cast<uintptr_t>(&newer);
    wait.stride = sizeof newer;
    EXPECT_EQ(node.call(SIDRA_IOCTL_WAIT, wait), 0);
    newer.tail = 1;
    EXPECT_EQ(node.call(SIDRA_IOCTL_WAIT, wait), -E2BIG);
    EXPECT_EQ(blamed(SIDRA_IOCTL_WAIT, -E2BIG), "stride");
    wait.stride = SIDRA_STRIDE_MAX + 8;
    EXPECT_EQ(node.call(SIDRA_IOCTL_WAIT, wait), -EINVAL);
    wait.stride = sizeof newer;
    wait.items = 8;
    EXPECT_EQ(node.call(SIDRA_IOCTL_WAIT, wait), -EFAULT);
    sidra_ioctl_submit submit = jobs.request(packets);
    for (const uint32_t count : {0u, 4097u, UINT32_MAX}) {
        submit.count = count;
        EXPECT_EQ(node.call(SIDRA_IOCTL_SUBMIT, submit), -EINVAL) << count;
    }
    submit.count = 1;
    for (const uint32_t stride : {1u, 15u, SIDRA_STRIDE_MAX + 8, UINT32_MAX}) {
        submit.point_stride = stride;
        EXPECT_EQ(node.call(SIDRA_IOCTL_SUBMIT, submit), -EINVAL) << stride;
    }
    submit.point_stride = 0;
    submit.packets = 8;
    EXPECT_EQ(node.call(SIDRA_IOCTL_SUBMIT, submit), -EFAULT);
}

TEST_F(Ioctl, RightsOfAHandleCannotGrow) {
    sidra_ioctl_weights_create create{};
    create.context = context.handle;
    create.rows = create.cols = 1;
    create.rights = SIDRA_WEIGHTS_COMPUTE;
    ASSERT_EQ(node.call(SIDRA_IOCTL_WEIGHTS_CREATE, create), 0);
    sidra_ioctl_weights_share share{context.handle, create.index, SIDRA_WEIGHTS_PROGRAM, 0, 0, 0, 0};
    EXPECT_EQ(node.call(SIDRA_IOCTL_WEIGHTS_SHARE, share), -EACCES);
    share.rights |= SIDRA_WEIGHTS_COMPUTE;
    EXPECT_EQ(node.call(SIDRA_IOCTL_WEIGHTS_SHARE, share), -EACCES);
}

TEST_F(Ioctl, ListsThatAreTooShortGetTheirLength) {
    sidra_ioctl_weights_create create{};
    create.context = context.handle;
    create.rows = 2 * SIDRA_XBAR_ROWS;
    create.cols = 1;
    create.rights = SIDRA_WEIGHTS_RIGHTS;
    ASSERT_EQ(node.call(SIDRA_IOCTL_WEIGHTS_CREATE, create), 0);
    uint32_t ids[2] = {77, 78};
    sidra_ioctl_weights_query query{};
    query.context = context.handle;
    query.index = create.index;
    query.xbar_ids = reinterpret_cast<uintptr_t>(ids);
    query.xbars = 1;
    query.xbar_stride = sizeof *ids;
    EXPECT_EQ(node.call(SIDRA_IOCTL_WEIGHTS_QUERY, query), -ENOSPC);
    EXPECT_EQ(query.xbars, 2u);
    EXPECT_EQ(ids[0], 77u) << "nothing is written";
    EXPECT_EQ(node.call(SIDRA_IOCTL_WEIGHTS_QUERY, query), 0) << "with the length that it said";
    // Elements that are larger than the driver's: their tails become zero.
    uint64_t wide[2] = {~uint64_t{0}, ~uint64_t{0}};
    query.xbar_ids = reinterpret_cast<uintptr_t>(wide);
    query.xbar_stride = sizeof *wide;
    EXPECT_EQ(node.call(SIDRA_IOCTL_WEIGHTS_QUERY, query), 0);
    EXPECT_EQ(wide[0], ids[0]);
    EXPECT_EQ(wide[1], ids[1]);
    query.xbar_ids = kNowhere;
    EXPECT_EQ(node.call(SIDRA_IOCTL_WEIGHTS_QUERY, query), -EFAULT);
}

TEST_F(Ioctl, PointsAreAnArrayWithAStride) {
    struct {
        sidra_syncobj_point known;
        uint64_t tail;
    } newer{{kNobody, 0, 0}, 1};
    sidra_ioctl_submit submit = jobs.request(packets);
    submit.in_points = reinterpret_cast<uintptr_t>(&newer);
    submit.in_count = 1;
    submit.point_stride = sizeof newer;
    EXPECT_EQ(node.call(SIDRA_IOCTL_SUBMIT, submit), -E2BIG) << "this driver does not know the tail";
    EXPECT_EQ(blamed(SIDRA_IOCTL_SUBMIT, -E2BIG), "point_stride");
    newer.tail = 0;
    EXPECT_EQ(node.call(SIDRA_IOCTL_SUBMIT, submit), -ENOENT) << "no such syncobj";
    submit.in_points = kNowhere;
    EXPECT_EQ(node.call(SIDRA_IOCTL_SUBMIT, submit), -EFAULT);
}

TEST_F(Ioctl, KernelQueuesHaveNoReports) {
    sidra_ioctl_queue_create create{};
    create.context = context.handle;
    create.ring_log2 = 6;
    create.flags = SIDRA_QUEUE_REPORTS;
    create.kind = SIDRA_QUEUE_KERNEL;
    EXPECT_EQ(node.call(SIDRA_IOCTL_QUEUE_CREATE, create), -EINVAL);
    create.kind = SIDRA_QUEUE_USER;
    EXPECT_EQ(node.call(SIDRA_IOCTL_QUEUE_CREATE, create), 0);
}

}  // namespace
}  // namespace sidra::test
