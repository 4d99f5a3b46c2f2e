// SPDX-License-Identifier: MIT
// A chip between both guests, and what its driver does. It is created once: an input leaves nothing in it that the next
// one would see. No thread but the caller's works for it.
#ifndef SIDRA_TESTS_FUZZ_PACKETS_BOARD_H
#define SIDRA_TESTS_FUZZ_PACKETS_BOARD_H

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "chip.h"
#include "memory.h"

namespace sidra::fuzz {

class Board {
   public:
    Board();

    Memory memory;

    void write32(uint64_t offset, uint64_t value) { chip_->mmio_write(offset, value, 4); }
    void write64(uint64_t offset, uint64_t value) { chip_->mmio_write(offset, value, 8); }
    // One slice; false: there was nothing to do.
    bool run();
    // The same for one turn of a queue: whoever lends the thread wants it back.
    bool run_one_turn();
    // The result, which is not long in coming: nothing runs meanwhile.
    uint32_t admin(uint32_t op, uint64_t arg0 = 0, uint64_t arg1 = 0, uint64_t arg2 = 0);

    bool pending() const { return chip_->pending(); }
    uint64_t cells_changes() const { return chip_->xbar_changes(); }
    sidra_hw_xbar crossbar(uint32_t number) const;
    uint8_t* l3() { return chip_->l3(); }
    uint64_t l3_size() { return chip_->l3_size(); }

    // As it moves to another machine; why not, or "".
    void save(std::vector<uint8_t>& stream);
    std::string load(const std::vector<uint8_t>& stream);
    // The cells in one part of a precopy, and the state that goes on from it.
    void save(std::vector<uint8_t>& part, std::vector<uint8_t>& stream);
    std::string load_part(const std::vector<uint8_t>& part);
    // By register; it has to become a chip that is ready.
    void reset();

   private:
    std::unique_ptr<chip::Chip> chip_;
    uint32_t tag_ = 0;
};

}  // namespace sidra::fuzz

#endif
