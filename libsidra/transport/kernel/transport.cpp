// SPDX-License-Identifier: MIT
// libsidra's transport over a node of the kernel driver: ioctl(2), mmap(2), and stores to mapped doorbells.
#include "transport.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>
#include <xf86drm.h>

#include <cerrno>
#include <map>
#include <mutex>
#include <new>

#include "reason.h"

namespace sidra {
namespace {

using namespace kernel;

class FileDescriptor {
   public:
    explicit FileDescriptor(int fd) : fd_(fd) {}
    ~FileDescriptor() {
        if (fd_ >= 0) close(fd_);
    }
    FileDescriptor(const FileDescriptor&) = delete;
    FileDescriptor& operator=(const FileDescriptor&) = delete;
    int get() const { return fd_; }

   private:
    const int fd_;
};

// What a submitter stored must be in memory before the doorbell reaches the device.
inline void order_before_doorbell() {
#if defined(__aarch64__)
    asm volatile("dmb oshst" ::: "memory");
#else
    asm volatile("" ::: "memory");  // x86 keeps stores in order, also from cached to uncached memory
#endif
}

class KernelTransport final : public Transport {
   public:
    KernelTransport(int fd, dev_t number) : node_(fd), number_(number) {}

    ~KernelTransport() override {
        for (const auto& [context, page] : doorbells_)
            if (page.address != MAP_FAILED) munmap(page.address, SIDRA_BAR_DOORBELL_STRIDE);
    }

    int ioctl(unsigned long request, void* argument, std::string* detail) override {
        const int result = drmIoctl(node_.get(), request, argument) == 0 ? 0 : -errno;
        if (result != 0) {
            if (detail != nullptr) explain(request, result, argument, detail);
            return result;
        }
        switch (request) {
            case SIDRA_IOCTL_CONTEXT_CREATE: {
                const auto& create = *static_cast<const sidra_ioctl_context_create*>(argument);
                const std::lock_guard guard(lock_);
                doorbells_[create.context] = {create.doorbell_offset, MAP_FAILED};
                break;
            }
            case SIDRA_IOCTL_CONTEXT_DESTROY:
                forget_doorbells(static_cast<const sidra_ioctl_context*>(argument)->context);
                break;
            case SIDRA_IOCTL_CONTEXT_RECOVER:
                renew_doorbells(static_cast<const sidra_ioctl_context*>(argument)->context);
                break;
            default:
                break;
        }
        return 0;
    }

    void* map(uint64_t offset, size_t size, bool writable) override {
        void* address = mmap(nullptr, size, writable ? PROT_READ | PROT_WRITE : PROT_READ, MAP_SHARED, node_.get(),
                             static_cast<off_t>(offset));
        return address == MAP_FAILED ? nullptr : address;
    }
    void unmap(void* address, size_t size) override { munmap(address, size); }

    uintptr_t doorbell(uint64_t doorbell_offset, uint32_t queue) override {
        const std::lock_guard guard(lock_);
        for (auto& [context, page] : doorbells_) {
            if (page.offset != doorbell_offset) continue;
            if (page.address == MAP_FAILED)
                page.address = mmap(nullptr, SIDRA_BAR_DOORBELL_STRIDE, PROT_WRITE, MAP_SHARED, node_.get(),
                                    static_cast<off_t>(page.offset));
            if (page.address == MAP_FAILED) return 0;
            return reinterpret_cast<uintptr_t>(page.address) + uintptr_t{queue} * 8;
        }
        return 0;
    }

    void ring(uintptr_t doorbell) override {
        order_before_doorbell();
        *reinterpret_cast<volatile uint32_t*>(doorbell) = 1;
    }

    bool help() override { return false; }
    const char* kind() const override { return "kernel"; }
    std::string engine() const override { return {}; }

    int telemetry(sidra_telemetry* out) override {
        const std::string path = fmt::format("/sys/dev/char/{}:{}/telemetry", major(number_), minor(number_));
        const FileDescriptor file(open(path.c_str(), O_RDONLY | O_CLOEXEC));
        if (file.get() < 0) return errno == ENOENT ? -ENODEV : -errno;
        const ssize_t got = pread(file.get(), out, sizeof *out, 0);
        if (got < 0) return -errno;
        return got == sizeof *out && out->magic == SIDRA_TELEMETRY_MAGIC ? 0 : -ENODEV;
    }

    // Faults are made where the chip is: properties of the device in QEMU.
    int set_fault_knob(const std::string&, uint64_t) override { return -EOPNOTSUPP; }

   private:
    struct DoorbellPage {
        uint64_t offset;
        void* address;  // MAP_FAILED until the first queue needs it
    };

    static void explain(unsigned long request, int error, const void* argument, std::string* detail) {
        try {
            *detail = reason_of(request, error, argument);
        } catch (const std::bad_alloc&) {
            detail->clear();  // then errno must do
        }
    }

    void forget_doorbells(uint32_t context) {
        const std::lock_guard guard(lock_);
        const auto place = doorbells_.find(context);
        if (place == doorbells_.end()) return;
        if (place->second.address != MAP_FAILED) munmap(place->second.address, SIDRA_BAR_DOORBELL_STRIDE);
        doorbells_.erase(place);
    }

    // The driver revoked the page when the context was lost. In place: a thread may be about to ring an old queue. If
    // that fails the revoked page stays, and what is submitted times out.
    void renew_doorbells(uint32_t context) {
        const std::lock_guard guard(lock_);
        const auto place = doorbells_.find(context);
        if (place == doorbells_.end() || place->second.address == MAP_FAILED) return;
        (void)mmap(place->second.address, SIDRA_BAR_DOORBELL_STRIDE, PROT_WRITE, MAP_SHARED | MAP_FIXED, node_.get(),
                   static_cast<off_t>(place->second.offset));
    }

    const FileDescriptor node_;
    const dev_t number_;
    std::mutex lock_;                             // of doorbells_
    std::map<uint32_t, DoorbellPage> doorbells_;  // by context
};

int refuse(std::string* detail, int error, std::string text) {
    if (detail != nullptr) *detail = std::move(text);
    return error;
}

}  // namespace

int open_kernel(const std::string& node, std::unique_ptr<Transport>* transport, std::string* detail) {
    const int fd = open(node.c_str(), O_RDWR | O_CLOEXEC);
    if (fd < 0) {
        const int error = -errno;
        return refuse(detail, error, reason_of_open(node, error));
    }
    struct stat status {};
    if (fstat(fd, &status) != 0 || !S_ISCHR(status.st_mode)) {
        close(fd);
        return refuse(detail, -ENODEV, fmt::format("{} is not a device node", node));
    }
    auto made = std::make_unique<KernelTransport>(fd, status.st_rdev);
    // Of this driver, and not some other character device?
    sidra_ioctl_device_query query{};
    if (const int error = made->ioctl(SIDRA_IOCTL_DEVICE_QUERY, &query, nullptr); error != 0)
        return refuse(detail, error == -ENOTTY || error == -EINVAL ? -ENODEV : error,
                      error == -ENOTTY || error == -EINVAL
                          ? fmt::format("{} belongs to another driver; SIDRA_DEVICE must name a node such as "
                                        "/dev/sidra0",
                                        node)
                          : reason_of(SIDRA_IOCTL_DEVICE_QUERY, error, &query));
    *transport = std::move(made);
    return 0;
}

}  // namespace sidra
