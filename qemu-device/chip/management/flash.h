// SPDX-License-Identifier: MIT
// Where firmware is kept: sectors that are erased to ones, and bits that are cleared.
#ifndef SIDRA_MANAGEMENT_FLASH_H
#define SIDRA_MANAGEMENT_FLASH_H

#include <cstdint>
#include <span>
#include <vector>

#include "sidra_management.h"

namespace sidra::management {

// One thread at a time.
class Flash {
   public:
    static constexpr uint8_t kErased = 0xff;

    Flash() : bytes_(SIDRA_MGMT_FLASH_SIZE, kErased) {}

    // All of it, as it leaves the factory or a file; also the slot that the core cannot write.
    std::span<uint8_t> bytes() { return bytes_; }
    std::span<const uint8_t> bytes() const { return bytes_; }

    // Each as the command of its name; OK, BAD_RANGE or READ_ONLY.
    sidra_mgmt_result read(uint32_t offset, std::span<uint8_t> to) const;
    sidra_mgmt_result erase(uint32_t offset);
    sidra_mgmt_result program(uint32_t offset, std::span<const uint8_t> from);

   private:
    std::vector<uint8_t> bytes_;
};

}  // namespace sidra::management

#endif
