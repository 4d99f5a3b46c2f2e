// SPDX-License-Identifier: MIT
// A listening socket.
#ifndef SIDRA_SMI_EXPORTER_LISTENER_H
#define SIDRA_SMI_EXPORTER_LISTENER_H

#include <sys/types.h>

#include <stdexcept>
#include <string>

#include "address.h"
#include "descriptor.h"

namespace sidra::exporter {

// The address is in use (EADDRINUSE), or not available (another errno).
class CannotListen : public std::runtime_error {
   public:
    CannotListen(int error, const std::string& sentence) : std::runtime_error(sentence), error_(error) {}
    int error() const { return error_; }

   private:
    int error_;
};

// Throws CannotListen. Takes over the file of a Unix socket without a server. The destructor removes the file, unless
// it has been replaced.
class Listener {
   public:
    explicit Listener(const Address& address);
    ~Listener();
    Listener(const Listener&) = delete;
    Listener& operator=(const Listener&) = delete;

    int fd() const { return socket_.get(); }
    // The address with its actual port.
    const std::string& text() const { return text_; }

   private:
    Descriptor socket_;
    std::string path_, text_;
    dev_t device_ = 0;
    ino_t inode_ = 0;
};

}  // namespace sidra::exporter

#endif
