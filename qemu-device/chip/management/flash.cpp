// SPDX-License-Identifier: MIT
#include "flash.h"

#include <algorithm>

namespace sidra::management {
namespace {

bool outside(uint32_t offset, size_t bytes) {
    return bytes == 0 || bytes > SIDRA_MGMT_FLASH_SIZE || offset > SIDRA_MGMT_FLASH_SIZE - bytes;
}

bool read_only(uint32_t offset, size_t bytes) {
    constexpr uint32_t kBegin = SIDRA_MGMT_FLASH_SLOT(SIDRA_MGMT_SLOT_RECOVERY);
    return offset + bytes > kBegin && offset < kBegin + SIDRA_MGMT_FLASH_SLOT_SIZE;
}

}  // namespace

static_assert(SIDRA_MGMT_FLASH_SLOT(SIDRA_MGMT_SLOT_RECOVERY + 1) == SIDRA_MGMT_FLASH_SIZE);
static_assert(SIDRA_MGMT_FLASH_RECORDS * SIDRA_MGMT_FLASH_SECTOR <= SIDRA_MGMT_FLASH_SLOT(0));
static_assert(SIDRA_MGMT_FLASH_SLOT_SIZE % SIDRA_MGMT_FLASH_SECTOR == 0);

sidra_mgmt_result Flash::read(uint32_t offset, std::span<uint8_t> to) const {
    if (outside(offset, to.size())) return SIDRA_MGMT_BAD_RANGE;
    std::copy_n(bytes_.begin() + offset, to.size(), to.begin());
    return SIDRA_MGMT_OK;
}

sidra_mgmt_result Flash::erase(uint32_t offset) {
    if (offset % SIDRA_MGMT_FLASH_SECTOR != 0 || outside(offset, SIDRA_MGMT_FLASH_SECTOR)) return SIDRA_MGMT_BAD_RANGE;
    if (read_only(offset, SIDRA_MGMT_FLASH_SECTOR)) return SIDRA_MGMT_READ_ONLY;
    std::fill_n(bytes_.begin() + offset, SIDRA_MGMT_FLASH_SECTOR, kErased);
    return SIDRA_MGMT_OK;
}

sidra_mgmt_result Flash::program(uint32_t offset, std::span<const uint8_t> from) {
    if (from.size() > SIDRA_MGMT_FLASH_SECTOR || outside(offset, from.size())) return SIDRA_MGMT_BAD_RANGE;
    if (read_only(offset, from.size())) return SIDRA_MGMT_READ_ONLY;
    for (size_t i = 0; i < from.size(); i++) bytes_[offset + i] &= from[i];
    return SIDRA_MGMT_OK;
}

}  // namespace sidra::management
