// SPDX-License-Identifier: MIT
// The environment of the firmware's services on the host: registers, blocks that may fail, and the memory of a host
// that may lie. The services use this process's memory, which a sanitizer checks.
#ifndef SIDRA_TESTS_SERVICES_BOARD_H
#define SIDRA_TESTS_SERVICES_BOARD_H

#include <array>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <span>
#include <vector>

#include "management/flash.h"
#include "management/power.h"
#include "management/sequencer.h"
#include "management/verifier.h"
#include "sidra_boot.h"
#include "sidra_hw.h"
#include "sidra_operation.h"

namespace sidra::test {

// A singleton, as the firmware is: its variables persist from test to test, as they do on a chip.
class Board {
   public:
    static Board& get();

    // ---- The host's side

    static constexpr uint64_t kHost = 0x3'0000'0000, kHostSize = 1 << 20;
    std::vector<uint8_t> host = std::vector<uint8_t>(kHostSize);
    struct Range {
        uint64_t begin, size;
    };
    std::vector<Range> stored;         // the firmware's stores to the host's memory
    std::function<void()> while_copy;  // called before each copy, to act as a concurrent host
    uint64_t request = 0, reply = 0;
    uint32_t entries = 0, doorbell = 0, reply_read = 0, reply_index = 0;

    // ---- The chip's

    enum Block { kCopy, kFlash, kVerify, kSequencer, kBlocks };
    std::array<uint32_t, kBlocks> fail_at{};  // the n-th command from now on fails; 0: none
    management::Flash flash;
    management::Power power;
    // Advances the time, with queues that draw this much power.
    void pass(uint64_t ns, uint64_t queues_mw = 0);
    uint32_t interrupts = 0;  // SIDRA_INT_THERMAL
    static constexpr uint32_t kXbars = 8;
    management::Sequencer sequencer;
    std::vector<management::Sequencer::Order>
        orders;  // orders to crossbars, each of which has 100 cells, a third of them drifted
    uint64_t cycles = 1000;
    uint32_t security = 0, stage = SIDRA_STAGE_RUNTIME, heartbeat = 0;
    uint32_t meals = 0;  // of the watchdog
    sidra_boot_info boot{};
    sidra_boot_dump dump{};
    sidra_kept_operation operations[2] = {};

    uint32_t read(uint32_t address);
    void write(uint32_t address, uint32_t value);
    uint32_t local(const void* pointer);

   private:
    Board();
    bool fails(Block block);
    uint8_t* at(uint32_t local) const;
    uint32_t copy(uint32_t command);
    uint32_t use_flash(uint32_t command);
    uint32_t verify(uint32_t command);
    uint32_t* plain(uint32_t address);

    uint64_t power_ns_ = 0, queues_pj_ = 0;
    std::map<uint32_t, uintptr_t> locals_;
    std::map<uint32_t, uint32_t> plain_;  // registers that return what was written
    std::map<uint32_t, uint32_t> results_;
    management::Verifier verifier_{};
};

}  // namespace sidra::test

#endif
