// SPDX-License-Identifier: MIT
// Between the thread that brings what a debugger says and the one that runs the core: only the latter touches the core,
// so an instruction that is stepped has the host's memory and interrupts as any other has.
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

    // ---- Any thread; one brings. Then the core is to be woken.

    // Told, on the core's thread, that take() and heard() may have changed; must not block. None: nobody is.
    void tell(std::function<void()> changed);
    void come();
    void bring(std::string_view bytes);
    void go();
    // What is to be sent.
    std::string take();
    // Whether all that was brought has been looked at.
    bool heard();

    // ---- The core's thread

    // Whether one is there, or was until just now.
    bool there() const { return there_.load(); }
    // Answers what was brought; whether the core may run.
    bool lets_run();
    // It has come to where it was to stop.
    void stopped();

   private:
    void answer(uint64_t visit, const std::string& bytes);

    core::GdbServer server_;
    std::atomic<bool> there_{false};
    uint64_t served_ = 0;  // visit that server_ knows of; the core's thread

    std::mutex lock_;  // of what follows; not held while the core does something
    std::function<void()> changed_;
    uint64_t visit_ = 0;  // counts comings and goings
    bool connected_ = false, busy_ = false;
    std::string in_, out_;
};

}  // namespace sidra::chip

#endif
