// SPDX-License-Identifier: MIT
// Where firmware is kept: sectors that are erased to ones, and bits that are cleared.
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

    // Asked with what sectors from `first` on are about to hold, before they do; false: it cannot be kept over
    // power-off, and they stay as they are.
    using Keep = std::function<bool(uint32_t first, std::span<const uint8_t> sectors)>;
    void keep_by(Keep keep) { keep_ = std::move(keep); }

    // All of it, as it leaves the factory or a file; also the slot that the core cannot write.
    std::span<uint8_t> bytes() { return bytes_; }
    std::span<const uint8_t> bytes() const { return bytes_; }

    // Each as the command of its name; OK, BAD_RANGE, READ_ONLY or NOT_KEPT.
    sidra_mgmt_result read(uint32_t offset, std::span<uint8_t> to) const;
    sidra_mgmt_result erase(uint32_t offset);
    sidra_mgmt_result program(uint32_t offset, std::span<const uint8_t> from);

   private:
    // `change` is given a copy of those bytes.
    template <typename Change>
    sidra_mgmt_result write(uint32_t offset, size_t bytes, Change&& change);

    std::vector<uint8_t> bytes_;
    Keep keep_;
};

}  // namespace sidra::management

#endif
