// SPDX-License-Identifier: MIT
// Pages that hold whole operands of units. Small packets come again and again with operands on the same pages, so these
// stay mapped until the slice ends, or another page takes the place.
#ifndef SIDRA_CHIP_OPERAND_PAGES_H
#define SIDRA_CHIP_OPERAND_PAGES_H

#include <array>
#include <cstdint>
#include <optional>

#include "dma.h"

namespace sidra::chip {

// For one thread, and for one unit at a time.
class OperandPages {
   public:
    OperandPages(Bus& bus, Tlb& tlb, const AddressSpace& space) : bus_(bus), tlb_(tlb), space_(space) {}

    // Pointer to a range of operand `n`, valid until at() is called for that operand again. Returns nullptr without a
    // fault if the range crosses pages.
    uint8_t* at(uint32_t n, const Range& range, Access access, Fault* fault) {
        if (PageWindow::crosses(range)) return nullptr;
        const uint32_t kind = access == Access::kRead ? 0 : access == Access::kWrite ? 1 : 2;
        std::optional<PageWindow>& page = pages_[kKinds * n + kind];
        if (!page) page.emplace(bus_, tlb_, space_, access);
        uint8_t* const found = page->at(range, fault);
        if (!found) fault->address = range.offset();
        return found;
    }

   private:
    Bus& bus_;
    Tlb& tlb_;
    const AddressSpace& space_;
    static constexpr uint32_t kKinds = 3;  // of access
    std::array<std::optional<PageWindow>, kKinds * SIDRA_VECTOR_OPERANDS_MAX> pages_;
};

}  // namespace sidra::chip

#endif
