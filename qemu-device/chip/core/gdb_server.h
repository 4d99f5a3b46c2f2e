// SPDX-License-Identifier: MIT
// GDB's remote protocol for the core ("Debugging with GDB", appendix E). Knows no sockets: bytes in, bytes out.
#ifndef SIDRA_CORE_GDB_SERVER_H
#define SIDRA_CORE_GDB_SERVER_H

#include <string>
#include <string_view>

#include "rv32.h"

namespace sidra::core {

// One debugger. While it is attached the core runs only if running() says so.
class GdbServer {
   public:
    explicit GdbServer(Rv32& core) : core_(core) {}

    // The debugger has come: the core stands still.
    void attach();
    // It has gone, in order or not: the core runs on without breakpoints.
    void detach();

    // What it sent, in pieces of any size; what to send back.
    std::string receive(std::string_view bytes);
    // run() has come to a breakpoint: what to tell it.
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
    std::string change_breakpoint(std::string_view what, bool on);
    std::string query(std::string_view packet) const;
    // nullptr: there is no such register.
    uint32_t* register_at(uint32_t number) const;

    Rv32& core_;
    std::string received_;
    std::set<uint32_t> breakpoints_;
    bool running_ = true;
};

}  // namespace sidra::core

#endif
