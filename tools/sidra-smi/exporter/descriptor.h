// SPDX-License-Identifier: MIT
// An owned file descriptor.
#ifndef SIDRA_SMI_EXPORTER_DESCRIPTOR_H
#define SIDRA_SMI_EXPORTER_DESCRIPTOR_H

#include <unistd.h>

#include <utility>

namespace sidra::exporter {

class Descriptor {
   public:
    explicit Descriptor(int fd = -1) : fd_(fd) {}
    Descriptor(Descriptor&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
    Descriptor& operator=(Descriptor&& other) noexcept {
        std::swap(fd_, other.fd_);
        return *this;
    }
    Descriptor(const Descriptor&) = delete;
    Descriptor& operator=(const Descriptor&) = delete;
    ~Descriptor() {
        if (fd_ >= 0) close(fd_);
    }
    int get() const { return fd_; }
    explicit operator bool() const { return fd_ >= 0; }

   private:
    int fd_;
};

}  // namespace sidra::exporter

#endif
