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

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <memory>
#include <mutex>
#include <new>
#include <string_view>
#include <vector>

#include "file_kind.h"
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

// The submitter's stores must be visible before the doorbell reaches the device.
inline void order_before_doorbell() {
#if defined(__aarch64__)
    asm volatile("dmb oshst" ::: "memory");
#elif defined(__x86_64__)
    asm volatile("" ::: "memory");  // stores stay in order, also between cached and uncached memory
#else
#error "which barrier orders a store to memory before a store to a device here?"
#endif
}

class KernelTransport final : public Transport {
   public:
    KernelTransport(std::unique_ptr<FileDescriptor> file, dev_t number) : file_(std::move(file)), number_(number) {}

    ~KernelTransport() override {
        for (const DoorbellPage& page : doorbells_)
            if (page.address != MAP_FAILED) munmap(page.address, SIDRA_DOORBELL_PAGE_SIZE);
    }

    int ioctl(unsigned long request, void* argument, std::string* detail) override {
        if (request == SIDRA_IOCTL_CONTEXT_CREATE) reserve_doorbells();
        const int result = drmIoctl(file_->get(), request, argument) == 0 ? 0 : -errno;
        if (result != 0) {
            if (detail != nullptr) explain(request, result, argument, detail);
            return result;
        }
        switch (request) {
            case SIDRA_IOCTL_CONTEXT_CREATE: {
                const auto& create = *static_cast<const sidra_ioctl_context_create*>(argument);
                const std::lock_guard guard(lock_);
                doorbells_.push_back({create.context, create.doorbell_offset, MAP_FAILED});  // reserved
                break;
            }
            case SIDRA_IOCTL_CONTEXT_DESTROY:
                forget_doorbells(static_cast<const sidra_ioctl_context*>(argument)->context);
                break;
            default:
                break;
        }
        return 0;
    }

    void* map(uint64_t offset, size_t size, bool writable) override {
        void* address = mmap(nullptr, size, writable ? PROT_READ | PROT_WRITE : PROT_READ, MAP_SHARED, file_->get(),
                             static_cast<off_t>(offset));
        return address == MAP_FAILED ? nullptr : address;
    }
    void unmap(void* address, size_t size) override { munmap(address, size); }

    uintptr_t doorbell(uint64_t doorbell_offset, uint32_t queue) override {
        const std::lock_guard guard(lock_);
        for (DoorbellPage& page : doorbells_) {
            if (page.offset != doorbell_offset) continue;
            if (page.address == MAP_FAILED)
                page.address = mmap(nullptr, SIDRA_DOORBELL_PAGE_SIZE, PROT_WRITE, MAP_SHARED, file_->get(),
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
    int uring_file() const override { return file_->get(); }
    const char* kind() const override { return "kernel"; }
    std::string engine() const override { return {}; }

    int telemetry(sidra_telemetry* out) override {
        const std::string path = fmt::format("/sys/dev/char/{}:{}/telemetry", major(number_), minor(number_));
        const FileDescriptor file(open(path.c_str(), O_RDONLY | O_CLOEXEC));
        if (file.get() < 0) return errno == ENOENT ? -ENODEV : -errno;
        *out = {};
        const ssize_t got = pread(file.get(), out, sizeof *out, 0);
        if (got < 0) return -errno;
        return static_cast<size_t>(got) == sizeof *out && out->magic == SIDRA_TELEMETRY_MAGIC ? 0 : -ENODEV;
    }

    // Fault knobs belong to the chip: in QEMU they are properties of the device.
    int set_fault_knob(const std::string&, uint64_t) override { return -EOPNOTSUPP; }

   private:
    struct DoorbellPage {
        uint32_t context;
        uint64_t offset;
        void* address;  // MAP_FAILED until the first queue needs it; works again once the context was recovered
    };

    void explain(unsigned long request, int error, const void* argument, std::string* detail) const {
        try {
            *detail = reason_of(request, error, argument);
            if (detail->empty() && may_name_an_argument(error))
                *detail = reason_of_refusal(request, error, latest_refusal());
        } catch (const std::bad_alloc&) {
            detail->clear();  // then use errno
        }
    }

    // Of this thread; of call 0 if the driver does not know.
    sidra_query_refusal latest_refusal() const {
        sidra_query_refusal refusal{};
        sidra_ioctl_device_query query{SIDRA_QUERY_REFUSAL, 0, reinterpret_cast<uintptr_t>(&refusal), sizeof refusal,
                                       0};
        return drmIoctl(file_->get(), SIDRA_IOCTL_DEVICE_QUERY, &query) == 0 ? refusal : sidra_query_refusal{};
    }

    // So that nothing can fail after the driver has created the context.
    void reserve_doorbells() {
        const std::lock_guard guard(lock_);
        doorbells_.reserve(doorbells_.size() * 2 + 2);
    }

    std::vector<DoorbellPage>::iterator find_doorbells(uint32_t context) {
        return std::find_if(doorbells_.begin(), doorbells_.end(), [&](auto& page) { return page.context == context; });
    }

    void forget_doorbells(uint32_t context) {
        const std::lock_guard guard(lock_);
        const auto page = find_doorbells(context);
        if (page == doorbells_.end()) return;
        if (page->address != MAP_FAILED) munmap(page->address, SIDRA_DOORBELL_PAGE_SIZE);
        doorbells_.erase(page);
    }

    const std::unique_ptr<FileDescriptor> file_;
    const dev_t number_;
    std::mutex lock_;                      // protects doorbells_
    std::vector<DoorbellPage> doorbells_;  // of the contexts of this open
};

int refuse(std::string* detail, int error, std::string text) {
    if (detail != nullptr) *detail = std::move(text);
    return error;
}

int refuse_kind(std::string* detail, const std::string& node, const struct stat& status) {
    return refuse(detail, -ENODEV,
                  fmt::format("{} is not a device node but {}; SIDRA_DEVICE must name one such as /dev/sidra0", node,
                              file_kind(status.st_mode)));
}

// Checks the driver's name: other drivers use the same request numbers, and would execute the requests.
bool is_ours(int fd) {
    const std::unique_ptr<drmVersion, void (*)(drmVersionPtr)> version(drmGetVersion(fd), drmFreeVersion);
    return version && std::string_view(version->name, static_cast<size_t>(version->name_len)) == "sidra";
}

}  // namespace

int open_kernel(const std::string& node, std::unique_ptr<Transport>* transport, std::string* detail) {
    struct stat status {};
    // Checked before opening: opening some files has side effects, and others fail for write access with a misleading
    // error.
    if (stat(node.c_str(), &status) == 0 && !S_ISCHR(status.st_mode)) return refuse_kind(detail, node, status);
    auto file = std::make_unique<FileDescriptor>(open(node.c_str(), O_RDWR | O_CLOEXEC));
    if (file->get() < 0) {
        const int error = -errno;
        return refuse(detail, error, reason_of_open(node, error));
    }
    if (fstat(file->get(), &status) != 0 || !S_ISCHR(status.st_mode)) return refuse_kind(detail, node, status);
    if (!is_ours(file->get()))
        return refuse(
            detail, -ENODEV,
            fmt::format("{} belongs to another driver; SIDRA_DEVICE must name a node such as /dev/sidra0", node));
    *transport = std::make_unique<KernelTransport>(std::move(file), status.st_rdev);
    return 0;
}

}  // namespace sidra
