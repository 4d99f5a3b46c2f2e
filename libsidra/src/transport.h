// SPDX-License-Identifier: MIT
// What libsidra needs from whatever carries its requests to a chip. Everything else (tables, packets, policies) is
// above or below this line, never in both. The requests are those of uapi/sidra_accel.h, whoever answers them.
#ifndef SIDRA_TRANSPORT_H
#define SIDRA_TRANSPORT_H

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

#include "sidra/sidra.h"
#include "sidra_accel.h"

namespace sidra {

// One open of one device; like a file descriptor: its handles are its own, and closing it releases all it holds.
// Thread-safe.
class Transport {
   public:
    Transport() = default;
    Transport(const Transport&) = delete;
    Transport& operator=(const Transport&) = delete;
    virtual ~Transport() = default;

    // As ioctl(2): 0, or -errno with `*detail` (if given) saying what the driver knows about the reason.
    virtual int ioctl(unsigned long request, void* argument, std::string* detail = nullptr) = 0;

    // As mmap(2) with an offset that an ioctl gave; nullptr on failure. The mapping stays readable (if stale) until
    // unmap, whatever happens to the device.
    virtual void* map(uint64_t offset, size_t size, bool writable) = 0;
    virtual void unmap(void* address, size_t size) = 0;

    // Doorbell of a queue, found once (hot path: ring); 0 if it cannot be mapped. `doorbell_offset` comes from
    // CONTEXT_CREATE.
    virtual uintptr_t doorbell(uint64_t doorbell_offset, uint32_t queue) = 0;
    virtual void ring(uintptr_t doorbell) = 0;

    // Lends the calling, waiting thread to the device for one slice of work. False: nothing to do (or not that kind of
    // device).
    virtual bool help() = 0;

    // The file that takes the commands of enum sidra_uring_op by io_uring; -1: there is none.
    virtual int uring_file() const { return -1; }

    virtual const char* kind() const = 0;    // "embedded", "kernel"
    virtual std::string engine() const = 0;  // of a model; "" for silicon
    virtual int telemetry(sidra_telemetry* out) = 0;
    virtual int set_fault_knob(const std::string& name, uint64_t value) = 0;  // -ENOENT: no such knob; -EOPNOTSUPP
};

// Opens embedded chip `index`: shared by all opens of this process with the same index, unless options->private_chip.
// On failure -errno and a text. -EBUSY: the shared chip runs with other options.
int open_embedded(uint32_t index, const sidra_device_options& options, std::unique_ptr<Transport>* transport,
                  std::string* detail);

// Opens a node of the kernel driver, such as "/dev/sidra0". On failure -errno and a text.
int open_kernel(const std::string& node, std::unique_ptr<Transport>* transport, std::string* detail);

// After fork(), in the child: different from before. Handles remember it.
uint32_t fork_generation();

}  // namespace sidra

#endif
