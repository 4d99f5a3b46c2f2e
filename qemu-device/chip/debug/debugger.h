// SPDX-License-Identifier: MIT
// Connects the thread that receives a debugger's requests and the thread that runs the core. Only the latter accesses
// the core, so a stepped instruction has access to the host's memory and interrupts like any other.
#ifndef SIDRA_CHIP_DEBUGGER_H
#define SIDRA_CHIP_DEBUGGER_H

#include <atomic>
#include <cstdint>
#include <functional>
#include <mutex>
#include <string>
#include <string_view>

#include "gdb_server.h"
#include "unit.h"

namespace sidra::chip {

class Debugger {
   public:
    explicit Debugger(management::Unit& unit) : server_(unit.core(), [&unit] { unit.step(); }) {}

    // ---- Any thread, one at a time for requests. The core must be woken afterwards.

    // Sets the function that is called on the core's thread when take() or heard() may have changed; it must not block.
    void tell(std::function<void()> changed);
    void come();
    void bring(std::string_view bytes);
    void go();
    // Takes the bytes to send to the debugger.
    std::string take();
    // Whether all requests have been processed.
    bool heard();

    // ---- The core's thread

    // Whether a debugger is attached, or its end was not processed yet.
    bool there() const { return there_.load(); }
    // Processes requests; returns whether the core may run.
    bool lets_run();
    // Called when the core has reached a breakpoint or watchpoint.
    void stopped();

   private:
    void answer(uint64_t visit, const std::string& bytes);

    core::GdbServer server_;
    std::atomic<bool> there_{false};
    uint64_t served_ = 0;  // the connection that server_ has processed; used by the core's thread

    std::mutex lock_;  // protects the fields below; not held while the core executes
    std::function<void()> changed_;
    uint64_t visit_ = 0;  // counts connections and disconnections
    bool connected_ = false, busy_ = false;
    std::string in_, out_;
};

}  // namespace sidra::chip

#endif
