// SPDX-License-Identifier: MIT
// Memory for the device: created by or registered with the driver, and mapped for the device and the host.
#ifndef SIDRA_MEMORY_H
#define SIDRA_MEMORY_H

#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <shared_mutex>

#include "status.h"

namespace sidra {

// Lets a thread of the library use memory without keeping it: it lives while the lock is held and it is not gone.
struct MemoryLife {
    std::shared_mutex mutex;  // protects gone
    bool gone = false;
};

class DeviceMemory {
   public:
    // Allocates `size` bytes of zeroed memory, in the host or (`local`) in L3.
    static sidra_status create(const char* call, sidra_context* context, uint64_t size, bool local,
                               std::unique_ptr<DeviceMemory>* memory);
    // The same in the host, which only the host may write.
    static sidra_status create_readonly(const char* call, sidra_context* context, uint64_t size,
                                        std::unique_ptr<DeviceMemory>* memory);
    // Registers the caller's memory.
    static sidra_status enroll(const char* call, sidra_context* context, void* memory, uint64_t size, bool readonly,
                               std::unique_ptr<DeviceMemory>* result);

    DeviceMemory(const DeviceMemory&) = delete;
    DeviceMemory& operator=(const DeviceMemory&) = delete;
    ~DeviceMemory();

    // Unmaps it from the device, and waits until the device no longer uses it. On failure nothing has changed. Only
    // once.
    sidra_status release(const char* call);

    uint64_t address() const { return address_; }  // device address
    std::byte* host() const { return host_; }
    uint64_t size() const { return size_; }
    const std::shared_ptr<MemoryLife>& life() const { return life_; }

   private:
    DeviceMemory(sidra_context* context, uint64_t size) : context_(context), size_(size) {}
    static sidra_status allocate(const char* call, sidra_context* context, uint64_t size, bool local, bool readonly,
                                 std::unique_ptr<DeviceMemory>* memory);
    sidra_status bind(const char* call, bool readonly);
    void close();

    sidra_context* context_;
    uint64_t size_;        // requested size
    uint64_t mapped_ = 0;  // bytes mapped by the library; 0 for the caller's memory
    uint32_t handle_ = 0;  // 0: closed
    bool bound_ = false;
    uint64_t address_ = 0;
    std::byte* host_ = nullptr;
    std::shared_ptr<MemoryLife> life_ = std::make_shared<MemoryLife>();
};

// A copy of data for the device, freed when the device has read it.
class Staging {
   public:
    explicit Staging(std::unique_ptr<DeviceMemory> memory) : memory_(std::move(memory)) {}

    uint64_t address() const { return memory_->address(); }
    std::byte* host() const { return memory_->host(); }
    void release() {
        std::unique_ptr<DeviceMemory> gone;
        const std::lock_guard lock(mutex_);
        gone.swap(memory_);
    }
    bool released() {
        const std::lock_guard lock(mutex_);
        return memory_ == nullptr;
    }

   private:
    std::mutex mutex_;
    std::unique_ptr<DeviceMemory> memory_;
};

}  // namespace sidra

#endif
