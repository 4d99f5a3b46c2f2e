// SPDX-License-Identifier: MIT
// What the firmware's services find around them when they run on this machine: registers, blocks that may fail, and the
// memory of a host that may lie. Their memory is this process's, where a sanitizer looks after it.
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

// There is one, as there is one firmware: its variables go on from test to test, as they do on a chip.
class Board {
   public:
    static Board& get();

    // ---- The host's side

    static constexpr uint64_t kHost = 0x3'0000'0000, kHostSize = 1 << 20;
    std::vector<uint8_t> host = std::vector<uint8_t>(kHostSize);
    struct Range {
        uint64_t begin, size;
    };
    std::vector<Range> stored;         // what the firmware has stored to the host's memory
    std::function<void()> while_copy;  // before each copy: somebody else does something meanwhile
    uint64_t request = 0, reply = 0;
    uint32_t entries = 0, doorbell = 0, reply_read = 0, reply_index = 0;

    // ---- The chip's

    enum Block { kCopy, kFlash, kVerify, kSequencer, kBlocks };
    std::array<uint32_t, kBlocks> fail_at{};  // the n-th command from now on fails; 0: none
    management::Flash flash;
    management::Power power;
    // By which time goes on, with queues that draw that much.
    void pass(uint64_t ns, uint64_t queues_mw = 0);
    uint32_t interrupts = 0;  // SIDRA_INT_THERMAL
    static constexpr uint32_t kXbars = 8;
    management::Sequencer sequencer;
    std::vector<management::Sequencer::Order> orders;  // given to crossbars, each of which has 100 cells, a third off
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
    std::map<uint32_t, uint32_t> plain_;  // registers that are no more than what was written
    std::map<uint32_t, uint32_t> results_;
    management::Verifier verifier_{};
};

}  // namespace sidra::test

#endif
