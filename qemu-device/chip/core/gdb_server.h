// SPDX-License-Identifier: MIT
// GDB's remote protocol for the core ("Debugging with GDB", appendix E). It is independent of sockets: bytes in, bytes
// out.
#ifndef SIDRA_CORE_GDB_SERVER_H
#define SIDRA_CORE_GDB_SERVER_H

#include <functional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "rv32.h"

namespace sidra::core {

// One debugger. While it is attached the core runs only if running() says so.
class GdbServer {
   public:
    // The largest number of breakpoints, and of watchpoints.
    static constexpr size_t kPointsMax = 256;

    // `step` lets the core execute one instruction.
    GdbServer(Rv32& core, std::function<void()> step) : core_(core), step_(std::move(step)) {}

    // The debugger has connected: halts the core.
    void attach();
    // The debugger has disconnected: the core continues without breakpoints and watchpoints.
    void detach();

    // Processes bytes from the debugger, in pieces of any size, and returns the bytes to send back.
    std::string receive(std::string_view bytes);
    // Returns the message for the debugger after run() has stopped at a breakpoint or watchpoint.
    std::string stopped();

    bool running() const { return running_; }

   private:
    std::string answer(std::string_view packet);
    std::string read_registers() const;
    std::string write_registers(std::string_view hex);
    std::string read_register(std::string_view number) const;
    std::string write_register(std::string_view assignment);
    std::string read_memory(std::string_view range) const;
    std::string write_memory(std::string_view range);
    std::string change_point(std::string_view what, bool on);
    std::string change_breakpoint(uint32_t address, bool on);
    std::string change_watchpoint(const Rv32::Watchpoint& watchpoint, bool on);
    std::string why_stopped() const;
    std::string query(std::string_view packet) const;
    // Returns nullptr if there is no such register.
    uint32_t* register_at(uint32_t number) const;

    Rv32& core_;
    const std::function<void()> step_;
    std::string received_;
    std::set<uint32_t> breakpoints_;
    std::vector<Rv32::Watchpoint> watchpoints_;
    bool running_ = true;
};

}  // namespace sidra::core

#endif
