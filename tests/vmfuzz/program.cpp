// SPDX-License-Identifier: MIT
#include "program.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <iterator>
#include <list>
#include <memory>
#include <mutex>
#include <thread>

#include "input.h"
#include "table.h"

namespace sidra::vmfuzz {
namespace {

using fuzz::Input;

constexpr size_t kPage = 4096;
constexpr const char* kNodes[] = {"/dev/sidra0", "/dev/accel/accel0"};
constexpr size_t kMemory = 16 * kPage;

// What calls before have returned, by kind. Threads share it.
class Pools {
   public:
    void add(int kind, uint64_t value) {
        const std::lock_guard held(mutex_);
        values_[static_cast<size_t>(kind)].push_back(value);
    }
    // 0: the latest; others: earlier ones, none (`missing`), or anything.
    uint64_t take(int kind, Input& input, uint64_t missing) {
        const uint8_t which = input.u8();
        if (which >= 248) return input.u32();
        const std::lock_guard held(mutex_);
        const auto& values = values_[static_cast<size_t>(kind)];
        if (values.empty() || which >= 240) return missing;
        return values[(values.size() - 1 + values.size() * 256 - which) % values.size()];
    }

   private:
    std::mutex mutex_;
    std::vector<uint64_t> values_[kResources];
};

struct World {
    Pools pools;
    uint8_t* memory = nullptr;  // the caller's
    std::mutex mutex;
    std::vector<std::pair<uint8_t*, size_t>> mappings;
    io_uring ring{};
    bool has_ring = false;
};

int node(World& world, Input& input) {
    return static_cast<int>(world.pools.take(fd_sidra_resource, input, static_cast<uint64_t>(-1)));
}

uint64_t integer(Input& input, int64_t low, int64_t high, size_t size) {
    const uint8_t how = input.u8();
    switch (how % 8) {
        case 0:
            return low <= high ? static_cast<uint64_t>(low) : size == 8 ? kPage : 0;
        case 1:
            return input.u64();
        case 2:
            return input.u8();
        case 3:
            return (uint64_t{1} << (input.u8() % 64)) + static_cast<uint64_t>(static_cast<int8_t>(input.u8()));
        case 4:
            return uint64_t{input.u8()} * kPage;
        case 5:
            return ~uint64_t{0} >> (how / 8);
        case 6:
            return input.u16();
        default:
            return low <= high ? static_cast<uint64_t>(low) + input.u16() % static_cast<uint64_t>(high - low + 1)
                               : input.u32();
    }
}

uint64_t flags(Input& input, const Flags& set) {
    const uint8_t which = input.u8();
    if (which >= 0xf8) return input.u64();
    if (which >= 0x80 || set.values.size() > 7) return set.values[which % set.values.size()];  // one of an enumeration
    uint64_t value = which ? 0 : set.values.back();
    for (size_t bit = 0; bit < set.values.size(); bit++)
        if (which >> bit & 1) value |= set.values[bit];
    return value;
}

// Memory that an argument points at.
using Blocks = std::list<std::vector<uint8_t>>;

void fill(World& world, Input& input, const Struct& of, uint8_t* at, Blocks& blocks);

// Makes what a leaf points at; returns its address, and sets the number of its elements.
uint64_t pointed(World& world, Input& input, const Leaf& leaf, Blocks& blocks, uint64_t& count, size_t& element) {
    const uint8_t how = input.u8();
    const auto first = static_cast<size_t>(leaf.first);
    element = 1;
    count = static_cast<uint64_t>(leaf.second);
    if (leaf.kind != Kind::text && leaf.third > leaf.second)
        count += how % static_cast<uint64_t>(leaf.third - leaf.second + 1);
    if (leaf.kind == Kind::structs) element = kStructs[first].size;
    if (leaf.kind == Kind::block) element = first;
    if (how >= 0xf8)
        return how == 0xff ? 0 : how == 0xfe ? input.u64() : reinterpret_cast<uintptr_t>(world.memory) + kMemory - how;
    if (leaf.kind == Kind::text) {
        const auto& texts = kFlags[first].texts;
        return reinterpret_cast<uintptr_t>(texts[how % texts.size()]);
    }
    if (!count) return 0;
    auto& block = blocks.emplace_back(count * element, how);
    if (leaf.kind == Kind::structs)
        for (uint64_t i = 0; i < count; i++) fill(world, input, kStructs[first], block.data() + i * element, blocks);
    return reinterpret_cast<uintptr_t>(block.data());
}

void fill(World& world, Input& input, const Struct& of, uint8_t* at, Blocks& blocks) {
    std::vector<uint64_t> counts(of.leaves.size());
    std::vector<size_t> elements(of.leaves.size());
    std::memset(at, 0, of.size);
    const auto store = [at](const Leaf& leaf, uint64_t value) { std::memcpy(at + leaf.offset, &value, leaf.size); };
    for (size_t i = 0; i < of.leaves.size(); i++) {
        const Leaf& leaf = of.leaves[i];
        if (!leaf.in) continue;
        switch (leaf.kind) {
            case Kind::integer:
                store(leaf, integer(input, leaf.first, leaf.second, leaf.size));
                break;
            case Kind::constant: {
                const uint8_t how = input.u8();
                store(leaf, how < 0xf0 ? static_cast<uint64_t>(leaf.first) : input.u64());
                break;
            }
            case Kind::flags:
                store(leaf, flags(input, kFlags[leaf.first]));
                break;
            case Kind::resource:
                if (leaf.out)  // a file descriptor that the call returns is -1 before; anything else is seldom wanted
                    store(leaf, leaf.second         ? ~uint64_t{0}
                                : input.u8() < 0xc0 ? 0
                                                    : world.pools.take(static_cast<int>(leaf.first), input, 0));
                else store(leaf, world.pools.take(static_cast<int>(leaf.first), input, leaf.second ? ~uint64_t{0} : 0));
                break;
            case Kind::bytes:
                std::memset(at + leaf.offset, input.u8(), leaf.size);
                break;
            case Kind::memory:
                store(leaf, reinterpret_cast<uintptr_t>(world.memory) + uint64_t{input.u16()} % kMemory);
                break;
            case Kind::structs:
            case Kind::block:
            case Kind::text:
                store(leaf, pointed(world, input, leaf, blocks, counts[i], elements[i]));
                break;
            case Kind::length:
                break;  // below: it may stand before what it counts
        }
    }
    for (const Leaf& leaf : of.leaves) {
        if (leaf.kind != Kind::length) continue;
        const auto target = static_cast<size_t>(leaf.first);
        const uint8_t how = input.u8();
        const uint64_t count = counts[target] * (leaf.second ? elements[target] : 1);
        store(leaf, how < 0xe0 ? count : how < 0xf0 ? count + how % 4 - 2 : integer(input, 1, 0, leaf.size));
    }
}

// Keeps what a call has returned.
void harvest(World& world, const Struct& of, const uint8_t* at) {
    for (const Leaf& leaf : of.leaves) {
        if (!leaf.out || leaf.kind != Kind::resource) continue;
        uint64_t value = 0;
        std::memcpy(&value, at + leaf.offset, leaf.size);
        if (!leaf.second || static_cast<int32_t>(value) >= 0) world.pools.add(static_cast<int>(leaf.first), value);
    }
}

int result(int returned) { return returned < 0 ? -errno : returned; }

int call_ioctl(World& world, Input& input, const Ioctl& what) {
    const Struct& of = kStructs[what.argument];
    const int fd = node(world, input);
    Blocks blocks;
    std::vector<uint8_t> argument(of.size);
    fill(world, input, of, argument.data(), blocks);
    const int returned = result(ioctl(fd, what.request, argument.data()));
    if (returned >= 0) harvest(world, of, argument.data());
    return returned;
}

int open_node(World& world, Input& input) {
    const int fd = result(open(kNodes[input.u8() % std::size(kNodes)], O_RDWR | O_CLOEXEC));
    if (fd >= 0) world.pools.add(fd_sidra_resource, static_cast<uint64_t>(fd));
    return fd;
}

int close_one(World& world, Input& input) {
    constexpr int kKinds[] = {fd_sidra_resource, fd_sidra_weights_resource, fd_sidra_event_resource,
                              fd_sidra_fence_resource};
    const int kind = kKinds[input.u8() % std::size(kKinds)];
    const int fd = static_cast<int>(world.pools.take(kind, input, ~uint64_t{0}));
    return fd > 2 ? result(close(fd)) : -EBADF;
}

int make_event(World& world, Input& input) {
    const int fd = result(eventfd(input.u8() & 1, EFD_CLOEXEC | EFD_NONBLOCK));
    if (fd >= 0) world.pools.add(fd_sidra_event_resource, static_cast<uint64_t>(fd));
    return fd;
}

int map(World& world, Input& input) {
    const int fd = node(world, input);
    const uint64_t offset = world.pools.take(sidra_offset_resource, input, 0);
    const uint8_t pages = input.u8();
    const uint8_t protection = input.u8();
    const uint8_t flags = input.u8();
    const size_t size = (pages ? pages : size_t{1}) * kPage;
    void* at = mmap(nullptr, size, protection ? protection & 7 : PROT_READ | PROT_WRITE,
                    flags < 0xe0 ? MAP_SHARED : MAP_PRIVATE, fd,
                    static_cast<off_t>(offset + (input.u8() >= 0xe0 ? kPage * input.u8() : 0)));
    if (at == MAP_FAILED) return -errno;
    const std::lock_guard held(world.mutex);
    world.mappings.emplace_back(static_cast<uint8_t*>(at), size);
    return 0;
}

// Reads or writes a mapping by a system call, which fails where an access would raise a signal.
int touch(World& world, Input& input, bool unmap) {
    std::pair<uint8_t*, size_t> where;
    {
        const std::lock_guard held(world.mutex);
        if (world.mappings.empty()) return -ENOENT;
        where = world.mappings[(world.mappings.size() * 256 - 1 - input.u8()) % world.mappings.size()];
    }
    if (unmap) return result(munmap(where.first, where.second));
    int ends[2];
    if (pipe2(ends, O_CLOEXEC | O_NONBLOCK)) return -errno;
    const size_t at = (input.u16() * size_t{8}) % where.second;
    const uint64_t value = integer(input, 1, 0, 8);
    int returned = result(static_cast<int>(write(ends[1], where.first + at, sizeof value)));
    if (returned >= 0 && write(ends[1], &value, sizeof value) == sizeof value) {
        uint64_t old;
        if (read(ends[0], &old, sizeof old) == sizeof old)
            returned = result(static_cast<int>(read(ends[0], where.first + at, sizeof value)));
    }
    close(ends[0]);
    close(ends[1]);
    return returned;
}

// A command of io_uring; nobody waits for its completion.
int uring(World& world, Input& input) {
    const std::lock_guard held(world.mutex);
    if (!world.has_ring) {
        const uint8_t how = input.u8();
        unsigned setup = IORING_SETUP_SQE128;
        if (how & 1) setup |= IORING_SETUP_CQE32;
        if (how >= 0xe0) setup &= ~unsigned{IORING_SETUP_SQE128};
        if (how >= 0xf0) setup |= IORING_SETUP_IOPOLL;
        const int failed = io_uring_queue_init(32, &world.ring, setup);
        if (failed) return failed;
        const iovec memory{world.memory, kMemory};
        io_uring_register_buffers(&world.ring, &memory, 1);
        world.has_ring = true;
    }
    io_uring_sqe* entry = io_uring_get_sqe(&world.ring);
    if (!entry) return -EBUSY;
    io_uring_prep_rw(IORING_OP_URING_CMD, entry, node(world, input), nullptr, 0, 0);
    constexpr uint64_t kCommands[] = {SIDRA_URING_SUBMIT, SIDRA_URING_WAIT_VALUE, SIDRA_URING_CANCEL};
    entry->cmd_op = static_cast<uint32_t>(flags(input, Flags{kCommands, {}}));
    const uint8_t how = input.u8();
    Blocks none;
    fill(world, input, kStructs[sidra_uring_cmd_struct], entry->cmd, none);
    if (how & 1) {
        entry->uring_cmd_flags = IORING_URING_CMD_FIXED;
        entry->addr = reinterpret_cast<uintptr_t>(world.memory) + kPage * (how % 16);
        entry->len = SIDRA_CMD_SIZE * (how / 16);
    } else if (entry->cmd_op == SIDRA_URING_WAIT_VALUE) {
        entry->len = static_cast<uint32_t>(world.pools.take(sidra_epoch_resource, input, 1));
    } else if (world.ring.flags & IORING_SETUP_SQE128) {
        entry->cmd[sizeof(sidra_uring_cmd)] = static_cast<uint8_t>(flags(input, Flags{sidra_opcodes_values, {}}));
    }
    return io_uring_submit(&world.ring);
}

int close_ring(World& world, Input&) {
    const std::lock_guard held(world.mutex);
    if (!world.has_ring) return -ENOENT;
    io_uring_queue_exit(&world.ring);
    world.has_ring = false;
    return 0;
}

int destroy_syncobj(World& world, Input& input) {
    const int fd = node(world, input);
    drm_syncobj_destroy a{};
    a.handle = static_cast<uint32_t>(world.pools.take(sidra_syncobj_resource, input, 0));
    return result(ioctl(fd, DRM_IOCTL_SYNCOBJ_DESTROY, &a));
}

// Exports a buffer, and imports it, into the same or another open file.
int pass_buffer(World& world, Input& input) {
    drm_prime_handle a{};
    const int from = node(world, input), to = node(world, input);
    a.handle = static_cast<uint32_t>(world.pools.take(sidra_buffer_resource, input, 0));
    a.flags = DRM_CLOEXEC | (input.u8() & 1 ? 0 : DRM_RDWR);
    if (ioctl(from, DRM_IOCTL_PRIME_HANDLE_TO_FD, &a)) return -errno;
    const int returned = result(ioctl(to, DRM_IOCTL_PRIME_FD_TO_HANDLE, &a));
    if (returned >= 0) world.pools.add(sidra_buffer_resource, a.handle);
    close(a.fd);
    return returned;
}

int look(World& world, Input& input) {
    const int fd = node(world, input);
    pollfd asked{fd, static_cast<short>(POLLIN | POLLOUT), 0};
    const int returned = result(poll(&asked, 1, 0));
    char path[64], text[2048];
    std::snprintf(path, sizeof path, "/proc/self/fdinfo/%d", fd);
    if (const int info = open(path, O_RDONLY | O_CLOEXEC); info >= 0) {
        while (read(info, text, sizeof text) > 0) {
        }
        close(info);
    }
    return returned;
}

struct Other {
    const char* name;
    int (*call)(World& world, Input& input);
};
constexpr Other kOthers[] = {
    {"open", open_node},
    {"close", close_one},
    {"eventfd", make_event},
    {"mmap", map},
    {"touch", [](World& world, Input& input) { return touch(world, input, false); }},
    {"munmap", [](World& world, Input& input) { return touch(world, input, true); }},
    {"io_uring", uring},
    {"io_uring_exit", close_ring},
    {"SYNCOBJ_DESTROY", destroy_syncobj},
    {"PRIME", pass_buffer},
    {"poll", look},
};

size_t number_of(const CallBytes& bytes) { return bytes[0] % calls(); }

int perform(World& world, const CallBytes& bytes) {
    Input input(std::span<const uint8_t>{bytes}.subspan(2));
    const size_t number = number_of(bytes);
    if (number < std::size(kIoctls)) return call_ioctl(world, input, kIoctls[number]);
    return kOthers[number - std::size(kIoctls)].call(world, input);
}

void tell(const CallBytes& bytes, int returned) {
    std::printf("#   %s: %s\n", name_of(number_of(bytes)), returned < 0 ? strerrorname_np(-returned) : "done");
    std::fflush(stdout);
}

bool has(const CallBytes& bytes, uint8_t who) { return (bytes[1] & who) == who; }

}  // namespace

size_t calls() { return std::size(kIoctls) + std::size(kOthers); }

const char* name_of(size_t call) {
    return call < std::size(kIoctls) ? kIoctls[call].name : kOthers[call - std::size(kIoctls)].name;
}

void run(const Program& program, bool told) {
    // Threads may still be at work when the process ends.
    auto* world = new World;
    void* memory = mmap(nullptr, kMemory, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    world->memory = static_cast<uint8_t*>(memory);
    std::memset(memory, SIDRA_CMD_NOP, kMemory);
    Input usual({});
    open_node(*world, usual);
    for (const CallBytes& bytes : program) {
        if (has(bytes, kInProcess)) {
            if (fork() == 0) {
                perform(*world, bytes);
                _exit(0);
            }
        } else if (has(bytes, kInThread)) {
            std::thread(perform, std::ref(*world), bytes).detach();
        } else {
            const int returned = perform(*world, bytes);
            if (told) tell(bytes, returned);
        }
    }
}

}  // namespace sidra::vmfuzz
