// SPDX-License-Identifier: MIT
// The flash that stores firmware: erasing a sector sets all its bits to one, and programming clears bits.
#ifndef SIDRA_MANAGEMENT_FLASH_H
#define SIDRA_MANAGEMENT_FLASH_H

#include <cstdint>
#include <functional>
#include <span>
#include <utility>
#include <vector>

#include "sidra_management.h"

namespace sidra::management {

// One thread at a time.
class Flash {
   public:
    static constexpr uint8_t kErased = 0xff;

    Flash() : bytes_(SIDRA_MGMT_FLASH_SIZE, kErased) {}

    // Called with the new content of the sectors from `first` on, before it takes effect. False: the content cannot be
    // stored for power-off, and the sectors do not change.
    using Keep = std::function<bool(uint32_t first, std::span<const uint8_t> sectors)>;
    void keep_by(Keep keep) { keep_ = std::move(keep); }

    // The whole content, for initialisation from the factory image or a file; includes the slot that the core cannot
    // write.
    std::span<uint8_t> bytes() { return bytes_; }
    std::span<const uint8_t> bytes() const { return bytes_; }

    // Execute the commands of the same names: OK, BAD_RANGE, READ_ONLY, or NOT_KEPT, also without memory for it.
    sidra_mgmt_result read(uint32_t offset, std::span<uint8_t> to) const;
    sidra_mgmt_result erase(uint32_t offset);
    sidra_mgmt_result program(uint32_t offset, std::span<const uint8_t> from);

   private:
    // `change` receives a copy of the bytes to modify.
    template <typename Change>
    sidra_mgmt_result write(uint32_t offset, size_t bytes, Change&& change);

    std::vector<uint8_t> bytes_;
    Keep keep_;
};

}  // namespace sidra::management

#endif
