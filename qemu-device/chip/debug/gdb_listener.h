// SPDX-License-Identifier: MIT
// Where GDB finds the management core: a socket and a thread that serves it. One debugger at a time.
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

// A file descriptor, closed at the end.
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
    // `address` is a port of 127.0.0.1 ("1234", "tcp:127.0.0.1:1234"; 0: any that is free), or the path of a Unix
    // socket ("/run/user/1000/chip", "./chip"), which is made, for its owner only, and removed at the end. `wake`: the
    // core is to look at `debugger`; must not block. Throws GdbError, std::system_error (no thread).
    GdbListener(const std::string& address, Debugger& debugger, std::function<void()> wake);
    // Whoever is there is sent away.
    ~GdbListener();
    GdbListener(const GdbListener&) = delete;
    GdbListener& operator=(const GdbListener&) = delete;

    // Where it listens, as GDB's `target remote` takes it.
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
    Descriptor look_, poke_;  // a pipe: what is written to `poke_` has the thread look
    std::atomic<bool> stop_{false};
    bool deaf_ = false;  // the system had no descriptor for who called
    std::string out_;    // what the debugger has not taken yet
    std::thread thread_;
};

}  // namespace sidra::chip

#endif
