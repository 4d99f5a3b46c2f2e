// SPDX-License-Identifier: MIT
// One open of a chip: its handles, and the requests of uapi/sidra_accel.h for them.
#ifndef SIDRA_EMBEDDED_SESSION_H
#define SIDRA_EMBEDDED_SESSION_H

#include <cstdint>
#include <map>
#include <memory>
#include <span>

#include "context.h"
#include "detail.h"
#include "driver.h"

namespace sidra::embedded {

// The object of an mmap offset. Page-aligned, never 0; valid only in the session that returned it.
class MapOffset {
   public:
    enum Kind : uint32_t { kDoorbell = 0, kRing = 1, kState = 2, kBuffer = 3 };
    static constexpr uint32_t kHandleMax = (1u << 21) - 1;

    MapOffset(Kind kind, uint32_t handle, uint32_t queue = 0)
        : raw_(uint64_t{1u << 31 | uint32_t{kind} << 29 | handle << 8 | queue} << SIDRA_PAGE_SHIFT) {}
    explicit MapOffset(uint64_t raw) : raw_(raw) {}
    uint64_t raw() const { return raw_; }
    uint32_t kind() const { return page() >> 29 & 3; }
    uint32_t handle() const { return page() >> 8 & kHandleMax; }
    uint32_t queue() const { return page() & 0xff; }
    // Whether it has exactly the form of an offset of that kind.
    bool valid() const {
        const bool of_queue = kind() == kRing || kind() == kState;
        return raw_ == MapOffset(static_cast<Kind>(kind()), handle(), of_queue ? queue() : 0).raw_;
    }

   private:
    uint32_t page() const { return static_cast<uint32_t>(raw_ >> SIDRA_PAGE_SHIFT); }

    uint64_t raw_;
};

// Thread-safe.
class Session {
   public:
    explicit Session(std::shared_ptr<Driver> driver) : driver_(std::move(driver)) {}
    ~Session();
    Session(const Session&) = delete;
    Session& operator=(const Session&) = delete;

    // As ioctl(2), with -errno.
    int ioctl(unsigned long request, void* argument, Detail& detail);

    // The memory at an offset, and its owner; address nullptr: error is -errno.
    struct Mapping {
        uint8_t* address = nullptr;
        std::shared_ptr<void> owner;
        int error = 0;
    };
    Mapping map(uint64_t offset, uint64_t size, bool writable);
    // Drops a mapping's reference; takes the driver's lock.
    void release(std::shared_ptr<void> owner);

    // BAR0 offset of a doorbell; 0 if the offset does not belong to a context of this session.
    uint64_t doorbell(uint64_t doorbell_offset, uint32_t queue);

    Driver& driver() { return *driver_; }

   private:
    friend struct Requests;
    enum Access { kNormal, kRelease };  // kRelease: also on a lost context or device, so that all objects can be freed

    // session.cpp
    int device_query(sidra_ioctl_device_query& a, Detail& detail);
    int device_reset(sidra_ioctl_device_reset& a, Detail& detail);
    int vm_create(sidra_ioctl_vm_create& a, Detail& detail);
    int vm_destroy(sidra_ioctl_vm& a, Detail& detail);
    int context_create(sidra_ioctl_context_create& a, Detail& detail);
    int context_destroy(sidra_ioctl_context& a, Detail& detail);
    int context_query(sidra_ioctl_context_query& a, Detail& detail);
    int context_recover(sidra_ioctl_context& a, Detail& detail);

    // session_buffer.cpp
    int buffer_create(sidra_ioctl_buffer_create& a, Detail& detail);
    int buffer_register(sidra_ioctl_buffer_register& a, Detail& detail);
    int buffer_close(sidra_ioctl_buffer_close& a, Detail& detail);
    int buffer_bind(sidra_ioctl_buffer_bind& a, Detail& detail);
    int buffer_unbind(sidra_ioctl_buffer_unbind& a, Detail& detail);

    // session_queue.cpp
    int queue_create(sidra_ioctl_queue_create& a, Detail& detail);
    int queue_destroy(sidra_ioctl_queue& a, Detail& detail);
    int queue_reset(sidra_ioctl_queue_reset& a, Detail& detail);
    int queue_query(sidra_ioctl_queue_query& a, Detail& detail);
    int submit(sidra_ioctl_submit& a, Detail& detail);

    // session_wait.cpp
    int wait(sidra_ioctl_wait& a, Detail& detail);
    int arm(sidra_ioctl_arm& a, Detail& detail);

    // session_weights.cpp
    int read_wanted(const sidra_ioctl_weights_create& a, uint32_t given, std::vector<uint32_t>* wanted,
                    Detail& detail) const;
    int weights_create(sidra_ioctl_weights_create& a, Detail& detail);
    int weights_publish(sidra_ioctl_weights_publish& a, Detail& detail);
    int weights_open(sidra_ioctl_weights_open& a, Detail& detail);
    int weights_unlink(sidra_ioctl_weights_unlink& a, Detail& detail);
    int weights_destroy(sidra_ioctl_weights& a, Detail& detail);
    int weights_share(sidra_ioctl_weights_share& a, Detail& detail);
    int weights_import(sidra_ioctl_weights_import& a, Detail& detail);
    int weights_query(sidra_ioctl_weights_query& a, Detail& detail);
    int weights_report(sidra_ioctl_weights_report& a, Detail& detail);
    int weights_list(sidra_ioctl_weights_list& a, Detail& detail);

    // The lock is held in all functions below.
    int find_vm(uint32_t handle, std::shared_ptr<Vm>* vm, Detail& detail);
    int find_context(uint32_t handle, Access access, Context** context, Detail& detail);
    int find_queue(Context& context, uint32_t number, std::shared_ptr<Queue>* queue, Detail& detail);
    int find_queue(uint32_t handle, uint32_t number, Access access, std::shared_ptr<Queue>* queue, Detail& detail);
    int find_weights(Context& context, uint32_t index, WeightsHandle* handle, Detail& detail);
    int find_buffer(uint32_t handle, std::shared_ptr<BufferMemory>* memory, Detail& detail);
    uint32_t take_handle();
    uint32_t add_buffer(std::shared_ptr<BufferMemory> memory);
    void drop_buffer(std::map<uint32_t, std::shared_ptr<BufferMemory>>::iterator buffer);
    void unbind(Vm& vm, Bindings::iterator binding);
    int bind_ring(Context& context, Queue& queue, Detail& detail);
    // Removes the queue from the chip, its waiters and the context; mappings keep its memory.
    void drop_queue(Context& context, Queue& queue);
    void destroy_context(Context& context);
    static sidra_fault latest_fault(const Context& context);
    // For a queue that the chip has forgotten.
    static void remember_fault(Context& context, const Queue& queue);
    sidra_query_status status() const;
    sidra_query_limits limits() const;
    template <class Argument>
    int return_data(Argument& a, WeightsObject& object, std::span<const uint8_t> data, uint64_t room, Detail& detail);
    int install_weights(Context& context, WeightsObject& object, uint32_t rights, uint32_t* index, Detail& detail);
    int free_weights_index(const Context& context, uint32_t* index, Detail& detail);
    void drop_weights(Context& context, std::map<uint32_t, WeightsHandle>::iterator handle);

    const std::shared_ptr<Driver> driver_;
    uint32_t next_handle_ = 0;
    std::map<uint32_t, std::shared_ptr<Vm>> vms_;
    std::map<uint32_t, std::unique_ptr<Context>> contexts_;
    std::map<uint32_t, std::shared_ptr<BufferMemory>> buffers_;
};

// Copies a struct to the caller, who gives its size in `room`, which becomes the size that this driver knows: less if
// the caller's struct is smaller, zeros behind it if it is larger. An address of 0 only asks for the size.
[[nodiscard]] int return_struct(uint64_t to, uint32_t* room, const void* from, size_t size, Detail& detail);

// Checks that a stride is one of elements of `size` bytes.
[[nodiscard]] int check_stride(uint32_t stride, size_t size, const char* field, Detail& detail);
// Copy `count` elements of `size` bytes, `stride` bytes apart.
[[nodiscard]] int read_array(void* to, size_t size, uint64_t from, uint32_t count, uint32_t stride, Detail& detail);
[[nodiscard]] int write_array(uint64_t to, uint32_t count, uint32_t stride, const void* from, size_t size,
                              Detail& detail);

// Checks flags, pads and reserved fields of requests: only known bits may be set.
[[nodiscard]] inline int check_flags(uint64_t flags, uint64_t known, const char* field, Detail& detail) {
    if ((flags & ~known) == 0) return 0;
    return fail(detail, -EINVAL, "{} {:#x} has unknown bits; known are {:#x}", field, flags, known);
}

}  // namespace sidra::embedded

#endif
