// SPDX-License-Identifier: MIT
// The interface between libsidra and the carrier of its requests. The requests are those of uapi/sidra_accel.h, for
// every transport. Tables, packets and policies are implemented on one side only.
#ifndef SIDRA_TRANSPORT_H
#define SIDRA_TRANSPORT_H

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

#include "sidra/sidra.h"
#include "sidra_accel.h"
#include "sidra_monitor.h"

namespace sidra {

// One open of a device. Like a file descriptor, it has its own handles, and closing it releases all its resources.
// Thread-safe.
class Transport {
   public:
    Transport() = default;
    Transport(const Transport&) = delete;
    Transport& operator=(const Transport&) = delete;
    virtual ~Transport() = default;

    // As ioctl(2): returns 0, or -errno, with the driver's explanation in `*detail` (if given).
    virtual int ioctl(unsigned long request, void* argument, std::string* detail = nullptr) = 0;

    // As mmap(2) with an offset from an ioctl; nullptr on failure. The mapping stays readable (possibly stale) until
    // unmap, whatever happens to the device.
    virtual void* map(uint64_t offset, size_t size, bool writable) = 0;
    virtual void unmap(void* address, size_t size) = 0;

    // The doorbell of a queue, looked up once for ring() in the hot path; 0 if it cannot be mapped. `doorbell_offset`
    // comes from CONTEXT_CREATE.
    virtual uintptr_t doorbell(uint64_t doorbell_offset, uint32_t queue) = 0;
    virtual void ring(uintptr_t doorbell) = 0;

    // Lends the calling, waiting thread to the device for one slice of work. Returns false if there is nothing to do
    // (or the device is real).
    virtual bool help() = 0;

    // The file for commands of enum sidra_uring_op through io_uring; -1: not supported.
    virtual int uring_file() const { return -1; }

    virtual const char* kind() const = 0;    // "embedded", "kernel"
    virtual std::string engine() const = 0;  // engine of a model; "" for real hardware
    virtual int telemetry(sidra_telemetry* out) = 0;
    virtual int set_fault_knob(const std::string& name, uint64_t value) = 0;  // -ENOENT: no such knob; -EOPNOTSUPP
};

// Opens embedded chip `index`. All opens of this process with the same index share it, unless options->private_chip. On
// failure returns -errno and a text. -EBUSY: the shared chip has other options, and as_open is false.
int open_embedded(uint32_t index, const sidra_device_options& options, std::unique_ptr<Transport>* transport,
                  std::string* detail, bool as_open = false);

// Opens a node of the kernel driver, such as "/dev/sidra0". On failure returns -errno and a text.
int open_kernel(const std::string& node, std::unique_ptr<Transport>* transport, std::string* detail);

// A number that changes in a child of fork(). Handles store it.
uint32_t fork_generation();

}  // namespace sidra

#endif
