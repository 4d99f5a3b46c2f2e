// SPDX-License-Identifier: MIT
// A socket that listens.
#ifndef SIDRA_SMI_EXPORTER_LISTENER_H
#define SIDRA_SMI_EXPORTER_LISTENER_H

#include <sys/types.h>

#include <stdexcept>
#include <string>

#include "address.h"
#include "descriptor.h"

namespace sidra::exporter {

// Of an address that is in use (EADDRINUSE), or cannot be had (another errno).
class CannotListen : public std::runtime_error {
   public:
    CannotListen(int error, const std::string& sentence) : std::runtime_error(sentence), error_(error) {}
    int error() const { return error_; }

   private:
    int error_;
};

// Throws CannotListen. The file of a Unix socket that nobody listens
// on any more is taken over; at the end the file goes away, unless it is somebody else's by then.
class Listener {
   public:
    explicit Listener(const Address& address);
    ~Listener();
    Listener(const Listener&) = delete;
    Listener& operator=(const Listener&) = delete;

    int fd() const { return socket_.get(); }
    // With the port that it got.
    const std::string& text() const { return text_; }

   private:
    Descriptor socket_;
    std::string path_, text_;
    dev_t device_ = 0;
    ino_t inode_ = 0;
};

}  // namespace sidra::exporter

#endif
