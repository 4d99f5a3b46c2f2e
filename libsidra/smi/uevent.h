// SPDX-License-Identifier: MIT
// Events that the kernel reports about the nodes of cards (docs/driver.md).
#ifndef SIDRA_SMI_UEVENT_H
#define SIDRA_SMI_UEVENT_H

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace sidra::smi {

struct Uevent {
    std::string node;   // sidra0
    std::string event;  // SIDRA_EVENT: "reset", "context-lost", "firmware-panic", "firmware-watchdog"
    std::optional<uint64_t> cause, context, generation, panic;
};

// A message of the kernel: "ACTION@PATH", then KEY=VALUE, each with a NUL at its end. Nothing: it is not an event of a
// card.
std::optional<Uevent> parse_uevent(std::string_view message);

// The kernel's messages, as they arrive. It needs no privilege.
class Uevents {
   public:
    Uevents();
    ~Uevents();
    Uevents(const Uevents&) = delete;
    Uevents& operator=(const Uevents&) = delete;

    // Waits until a message arrives, or for `timeout_ns`. Without a socket it only waits.
    void wait(uint64_t timeout_ns) const;
    // The next event that has arrived. The kernel drops messages that nobody takes: readings of the chip show the rest.
    std::optional<Uevent> next() const;

   private:
    int fd_;  // negative: this system offers none
};

}  // namespace sidra::smi

#endif
