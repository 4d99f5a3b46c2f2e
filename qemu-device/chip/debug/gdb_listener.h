// SPDX-License-Identifier: MIT
// The socket through which GDB reaches the management core, and the thread that serves it. One debugger at a time.
#ifndef SIDRA_CHIP_GDB_LISTENER_H
#define SIDRA_CHIP_GDB_LISTENER_H

#include <atomic>
#include <functional>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>

#include "debugger.h"

namespace sidra::chip {

struct GdbError : std::runtime_error {
    GdbError(int error, const std::string& text) : std::runtime_error(text), code(error) {}
    int code;  // errno
};

// A file descriptor that its destructor closes.
class Descriptor {
   public:
    Descriptor() = default;
    explicit Descriptor(int fd) : fd_(fd) {}
    ~Descriptor() { reset(); }
    Descriptor(const Descriptor&) = delete;
    Descriptor& operator=(const Descriptor&) = delete;
    int get() const { return fd_; }
    explicit operator bool() const { return fd_ >= 0; }
    void reset(int fd = -1);
    int release() { return std::exchange(fd_, -1); }

   private:
    int fd_ = -1;
};

class GdbListener {
   public:
    // `address` is a port of 127.0.0.1 ("1234", "tcp:127.0.0.1:1234"; 0: any free port), or the path of a Unix socket
    // ("/run/user/1000/chip", "./chip"), which is created for its owner only and removed at the end. `wake` makes the
    // core process requests of `debugger`; it must not block. Throws GdbError, or std::system_error if there is no
    // thread.
    GdbListener(const std::string& address, Debugger& debugger, std::function<void()> wake);
    // Disconnects the debugger.
    ~GdbListener();
    GdbListener(const GdbListener&) = delete;
    GdbListener& operator=(const GdbListener&) = delete;

    // The address in the form of GDB's `target remote`.
    const std::string& place() const { return place_; }

   private:
    void listen_tcp(const std::string& address, const std::string& port);
    void listen_unix(const std::string& path);
    void start();
    void loop();
    void meet();
    void read();
    void write();
    void hang_up();

    Debugger& debugger_;
    const std::function<void()> wake_;
    std::string place_;
    std::string made_;  // path of a Unix socket
    Descriptor listening_, client_;
    Descriptor look_, poke_;  // a pipe: writing to `poke_` wakes the thread
    std::atomic<bool> stop_{false};
    bool deaf_ = false;  // no descriptor was available for a connection
    std::string out_;    // bytes that were not sent yet
    std::thread thread_;
};

}  // namespace sidra::chip

#endif
