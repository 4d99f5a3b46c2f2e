// SPDX-License-Identifier: MIT
// The first card's node by system calls alone, for features that a transport does not expose: fences, io_uring,
// removal.
#ifndef SIDRA_TESTS_NODE_H
#define SIDRA_TESTS_NODE_H

#include <fcntl.h>
#include <gtest/gtest.h>
#include <linux/udmabuf.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "sidra_accel.h"
#include "sidra_hw.h"

namespace sidra::test {

// What libsidra opens.
inline constexpr const char* kOwnNode = "/dev/sidra0";
// Path of the node: of the driver's own, or with SIDRA_TEST_NODE=accel of the generic one of the same card, whose
// number may change when the card is bound again.
inline std::string accel_path() {
    std::error_code gone;
    for (const auto& entry : std::filesystem::directory_iterator("/sys/class/sidra/sidra0/device/accel", gone))
        return "/dev/accel/" + entry.path().filename().string();
    return "/dev/accel/gone";
}
inline std::string node_path() {
    const char* kind = getenv("SIDRA_TEST_NODE");
    return kind && std::string(kind) == "accel" ? accel_path() : kOwnNode;
}

inline uint64_t in_ms(uint64_t ms) {
    timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return static_cast<uint64_t>(now.tv_sec) * 1'000'000'000u + static_cast<uint64_t>(now.tv_nsec) + ms * 1'000'000;
}
inline void sleep_ms(long ms) { usleep(static_cast<useconds_t>(ms * 1000)); }
// CHECK=full repeats tests of races more often.
inline int rounds(int fast, int full) {
    const char* check = getenv("CHECK");
    return check && std::string(check) == "full" ? full : fast;
}
// Only a hang reaches it, on a busy machine and on the debug kernel, too.
inline constexpr uint64_t kPatienceMs = 120'000;

template <class Reached>
bool eventually(Reached reached) {
    for (const uint64_t end = in_ms(kPatienceMs); !reached(); sleep_ms(1))
        if (in_ms(0) > end) return false;
    return true;
}

// Sends a command to the QEMU of this guest; false where that is not possible.
inline bool qmp(const std::string& command) { return system(("qmp " + command + " >/dev/null 2>&1").c_str()) == 0; }

// Sets a fault knob of a card. Like qmp(), but without starting an interpreter, which takes a second in the guest.
inline bool knob(const char* name, uint64_t value, unsigned card = 0) {
    const std::string command =
        R"({"execute": "qmp_capabilities", "id": "hello"}
{"execute": "qom-set", "id": "knob", "arguments": {"path": "/machine/peripheral/sidra)" +
        std::to_string(card) + R"(", "property": ")" + name + R"(", "value": )" + std::to_string(value) + "}}\n";
    const int fd = open("/dev/qemu", O_RDWR | O_CLOEXEC);
    if (write(fd, command.data(), command.size()) < 0) return false;
    FILE* port = fdopen(fd, "r");
    char line[1024];
    bool answered = false;  // other lines are events
    while (!answered && std::fgets(line, sizeof line, port)) answered = std::strstr(line, R"("id": "knob")");
    std::fclose(port);
    return answered && !std::strstr(line, R"("error":)");
}

// A single write: a stream would retry a refused one.
inline bool write_text(const std::string& path, const std::string& text) {
    const int fd = open(path.c_str(), O_WRONLY | O_CLOEXEC);
    const bool good = write(fd, text.data(), text.size()) == static_cast<ssize_t>(text.size());
    close(fd);
    return good;
}

// Writes a module parameter while it lives.
class Parameter {
   public:
    Parameter(const char* name, const std::string& value) : path_(std::string("/sys/module/sidra/parameters/") + name) {
        std::ifstream(path_) >> old_;
        good = write_text(path_, value);
    }
    ~Parameter() { write_text(path_, old_); }
    Parameter(const Parameter&) = delete;
    Parameter& operator=(const Parameter&) = delete;
    bool good;

   private:
    const std::string path_;
    std::string old_;
};

// The PCI function of the node, for its removal, which only root can request.
class Card {
   public:
    Card() {
        char target[256] = {};
        if (geteuid() != 0 || readlink("/sys/class/sidra/sidra0/device", target, sizeof target - 1) < 0) return;
        name_ = target;
        name_ = name_.substr(name_.rfind('/') + 1);
    }
    bool known() const { return !name_.empty(); }
    const std::string& name() const { return name_; }
    bool unbind() const { return write_text(kDriver + "unbind", name_); }
    bool bind() const { return write_text(kDriver + "bind", name_) && comes(); }
    // Waits for the node.
    static bool comes() {
        return eventually([] { return access(node_path().c_str(), R_OK | W_OK) == 0; });
    }
    // Waits until it is gone from the bus, when the driver has finished with it.
    bool goes() const {
        return eventually([this] { return access(("/sys/bus/pci/devices/" + name_).c_str(), F_OK) != 0; });
    }
    // Of the driver, in debugfs.
    uint64_t counter(const std::string& name) const {
        std::ifstream file("/sys/kernel/debug/accel/" + name_ + "/counters");
        std::string found;
        for (uint64_t value; file >> found >> value;)
            if (found == name) return value;
        ADD_FAILURE() << "no counter " << name;
        return 0;
    }

   private:
    inline static const std::string kDriver = "/sys/bus/pci/drivers/sidra/";
    std::string name_;
};

// An open of the node.
class Node {
   public:
    explicit Node(const std::string& path = node_path()) : fd(open(path.c_str(), O_RDWR | O_CLOEXEC)) {}
    ~Node() { close(); }
    Node(const Node&) = delete;
    Node& operator=(const Node&) = delete;
    void close() {
        if (fd >= 0) ::close(fd);
        fd = -1;
    }

    template <class Argument>
    int call(unsigned long request, Argument& argument) const {
        for (;;) {
            if (ioctl(fd, request, &argument) == 0) return 0;
            if (errno != EINTR) return -errno;
        }
    }
    void* map(uint64_t offset, size_t size, int protection = PROT_READ | PROT_WRITE) const {
        void* address = mmap(nullptr, size, protection, MAP_SHARED, fd, static_cast<off_t>(offset));
        return address == MAP_FAILED ? nullptr : address;
    }

    int fd;
};

// Memory of another driver, as a DMA buffer.
inline int foreign_buffer(size_t bytes) {
    const int memory = memfd_create("foreign", MFD_ALLOW_SEALING | MFD_CLOEXEC);
    const int driver = open("/dev/udmabuf", O_RDWR | O_CLOEXEC);
    udmabuf_create create{static_cast<uint32_t>(memory), UDMABUF_FLAGS_CLOEXEC, 0, bytes};
    int buffer = -1;
    if (ftruncate(memory, static_cast<off_t>(bytes)) == 0 && fcntl(memory, F_ADD_SEALS, F_SEAL_SHRINK) == 0)
        buffer = ioctl(driver, UDMABUF_CREATE, &create);
    close(driver);
    close(memory);
    return buffer;
}

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

// An answer of DEVICE_QUERY.
template <class Answer>
Answer query_device(const Node& node, sidra_query_type type) {
    Answer answer{};
    sidra_ioctl_device_query a{static_cast<uint32_t>(type), 0, reinterpret_cast<uintptr_t>(&answer), sizeof answer, 0};
    EXPECT_EQ(node.call(SIDRA_IOCTL_DEVICE_QUERY, a), 0);
    EXPECT_EQ(a.size, sizeof answer);
    return answer;
}
inline sidra_query_device device_of(const Node& node) {
    return query_device<sidra_query_device>(node, SIDRA_QUERY_DEVICE);
}
inline sidra_query_status status_of(const Node& node) {
    return query_device<sidra_query_status>(node, SIDRA_QUERY_STATUS);
}

// Whether calls fail because the link was lost: within a tick in which the chip has answered they need not.
inline bool finds_lost_link(const Node& node) {
    sidra_ioctl_device_query query{};
    return eventually([&] { return node.call(SIDRA_IOCTL_DEVICE_QUERY, query) == -ENODEV; });
}

inline uint32_t create_vm(const Node& node) {
    sidra_ioctl_vm_create a{};
    EXPECT_EQ(node.call(SIDRA_IOCTL_VM_CREATE, a), 0);
    return a.vm;
}

// A context in an address space of its own, or in that of another context.
struct Context {
    explicit Context(const Node& its_node) : Context(its_node, create_vm(its_node)) { own_vm_ = true; }
    Context(const Context&) = delete;
    Context(const Node& its_node, uint32_t its_vm) : node(its_node), vm(its_vm) {
        sidra_ioctl_context_create a{};
        a.vm = vm;
        EXPECT_EQ(node.call(SIDRA_IOCTL_CONTEXT_CREATE, a), 0);
        handle = a.context;
        doorbells = static_cast<uint8_t*>(node.map(a.doorbell_offset, SIDRA_DOORBELL_PAGE_SIZE));
        EXPECT_NE(doorbells, nullptr);
    }
    ~Context() {
        if (doorbells) munmap(doorbells, SIDRA_DOORBELL_PAGE_SIZE);
        sidra_ioctl_context a{handle, 0};
        node.call(SIDRA_IOCTL_CONTEXT_DESTROY, a);
        sidra_ioctl_vm b{vm, 0};
        if (own_vm_) node.call(SIDRA_IOCTL_VM_DESTROY, b);
    }
    Context& operator=(const Context&) = delete;

    const Node& node;
    const uint32_t vm;
    uint32_t handle = 0;
    uint8_t* doorbells = nullptr;

   private:
    bool own_vm_ = false;
};

// enum sidra_context_state.
inline uint32_t state_of(const Context& context) {
    sidra_ioctl_context_query query{};
    query.context = context.handle;
    EXPECT_EQ(context.node.call(SIDRA_IOCTL_CONTEXT_QUERY, query), 0);
    return query.state;
}

struct Buffer {
    Buffer(const Context& context, uint64_t bytes, uint32_t flags = 0) : node(context.node) {
        sidra_ioctl_buffer_create a{bytes, flags, 0, 0};
        EXPECT_EQ(node.call(SIDRA_IOCTL_BUFFER_CREATE, a), 0);
        handle = a.handle;
        size = a.size;
        words = static_cast<uint64_t*>(node.map(a.mmap_offset, size));
        EXPECT_NE(words, nullptr);
        va = bind(context, handle);
    }
    ~Buffer() {
        if (words) munmap(words, size);
        sidra_ioctl_buffer_close a{handle, 0};
        node.call(SIDRA_IOCTL_BUFFER_CLOSE, a);
    }
    Buffer(const Buffer&) = delete;
    Buffer& operator=(const Buffer&) = delete;
    static uint64_t bind(const Context& context, uint32_t handle) {
        sidra_ioctl_buffer_bind a{context.vm, handle, SIDRA_BIND_READ | SIDRA_BIND_WRITE, 0, 0, {}};
        EXPECT_EQ(context.node.call(SIDRA_IOCTL_BUFFER_BIND, a), 0);
        return a.address;
    }

    const Node& node;
    uint32_t handle = 0;
    uint64_t size = 0, va = 0;
    uint64_t* words = nullptr;
};

struct Queue {
    Queue(const Context& its_context, uint32_t kind, uint32_t log2 = 6, uint64_t start = 0)
        : context(its_context), node(its_context.node), next(start) {
        create.context = context.handle;
        create.kind = kind;
        create.ring_log2 = log2;
        create.priority = 1;
        create.start = start;
        EXPECT_EQ(node.call(SIDRA_IOCTL_QUEUE_CREATE, create), 0);
        state = static_cast<const sidra_queue_state*>(node.map(create.state_offset, SIDRA_PAGE_SIZE, PROT_READ));
        EXPECT_NE(state, nullptr);
        if (kind == SIDRA_QUEUE_USER) {
            ring = static_cast<sidra_cmd*>(node.map(create.ring_offset, create.ring_size));
            EXPECT_NE(ring, nullptr);
        }
    }
    ~Queue() {
        if (ring) munmap(ring, create.ring_size);
        munmap(const_cast<sidra_queue_state*>(state), SIDRA_PAGE_SIZE);
    }
    Queue(const Queue&) = delete;
    Queue& operator=(const Queue&) = delete;

    // User queue.
    uint64_t push(const sidra_cmd& cmd) {
        const uint64_t capacity = uint64_t{1} << create.ring_log2;
        ring[next & (capacity - 1)] = cmd;
        next++;
        auto* index = reinterpret_cast<uint64_t*>(reinterpret_cast<uint8_t*>(ring) + capacity * SIDRA_CMD_SIZE);
        __atomic_store_n(index, next, __ATOMIC_RELEASE);
        kick();
        return next;
    }
    void kick() const { *reinterpret_cast<volatile uint32_t*>(context.doorbells + size_t{create.queue} * 8) = 1; }

    // Kernel queue.
    sidra_ioctl_submit request(const std::vector<sidra_cmd>& packets) const {
        sidra_ioctl_submit a{};
        a.context = context.handle;
        a.queue = create.queue;
        a.packets = reinterpret_cast<uintptr_t>(packets.data());
        a.count = static_cast<uint32_t>(packets.size());
        a.packet_stride = SIDRA_CMD_SIZE;
        a.point_stride = sizeof(sidra_syncobj_point);
        a.in_fence_fd = a.out_fence_fd = -1;
        return a;
    }
    int submit(const std::vector<sidra_cmd>& packets, uint64_t* value = nullptr) const {
        sidra_ioctl_submit a = request(packets);
        const int error = node.call(SIDRA_IOCTL_SUBMIT, a);
        if (value) *value = a.value;
        return error;
    }

    int wait(uint64_t value, uint64_t deadline = in_ms(kPatienceMs)) const {
        return wait_epoch(epoch(), value, deadline);
    }
    int wait_epoch(uint32_t of, uint64_t value, uint64_t deadline = in_ms(kPatienceMs)) const {
        sidra_wait_item item{context.handle, create.queue, value, of, 0};
        sidra_ioctl_wait a{reinterpret_cast<uintptr_t>(&item), 1, sizeof item, 0, 0, deadline};
        return node.call(SIDRA_IOCTL_WAIT, a);
    }
    int reset(uint64_t* retired = nullptr) const {
        sidra_ioctl_queue_reset a{context.handle, create.queue, 0, 0, 0};
        const int error = node.call(SIDRA_IOCTL_QUEUE_RESET, a);
        if (error == 0) EXPECT_EQ(a.epoch, epoch());
        if (retired) *retired = a.retired;
        return error;
    }
    uint32_t epoch() const { return __atomic_load_n(&state->epoch, __ATOMIC_ACQUIRE); }
    // For another queue.
    sidra_cmd waited_for(uint64_t value) const {
        sidra_cmd cmd = packet(SIDRA_CMD_SEM_WAIT);
        cmd.hdr.flags = SIDRA_CMD_SEM_QUEUE;
        cmd.sem.queue = create.queue;
        cmd.sem.epoch = epoch();
        cmd.sem.value = value;
        return cmd;
    }
    uint64_t timeline() const { return __atomic_load_n(&state->timeline, __ATOMIC_ACQUIRE); }
    uint32_t run_state() const { return __atomic_load_n(&state->run_state, __ATOMIC_ACQUIRE); }

    const Context& context;
    const Node& node;
    sidra_ioctl_queue_create create{};
    const sidra_queue_state* state = nullptr;
    sidra_cmd* ring = nullptr;
    uint64_t next = 0;
};

// Waits for a packet that may never end; the driver has short time limits meanwhile, so no other queue may work.
inline int wait_for_time_out(const Queue& queue, uint64_t value) {
    const Parameter impatient("queue_timeout_ms", "300");
    EXPECT_TRUE(impatient.good);
    return queue.wait(value);
}

class NodeTest : public testing::Test {
   protected:
    void SetUp() override {
        ASSERT_EQ(access(node_path().c_str(), R_OK | W_OK), 0)
            << node_path() << " is not here: these tests run in the VM (make vm-check)";
    }
};

}  // namespace sidra::test

#endif
