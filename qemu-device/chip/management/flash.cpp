// SPDX-License-Identifier: MIT
#include "flash.h"

#include <algorithm>
#include <new>

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

template <typename Change>
sidra_mgmt_result Flash::write(uint32_t offset, size_t bytes, Change&& change) try {
    constexpr uint32_t kSector = SIDRA_MGMT_FLASH_SECTOR;
    if (read_only(offset, bytes)) return SIDRA_MGMT_READ_ONLY;
    const uint32_t begin = offset / kSector * kSector;
    const auto end = static_cast<uint32_t>((offset + bytes + kSector - 1) / kSector * kSector);
    std::vector<uint8_t> sectors(bytes_.begin() + begin, bytes_.begin() + end);
    change(std::span(sectors).subspan(offset - begin, bytes));
    if (keep_ && !keep_(begin / kSector, sectors)) return SIDRA_MGMT_NOT_KEPT;
    std::copy(sectors.begin(), sectors.end(), bytes_.begin() + begin);
    return SIDRA_MGMT_OK;
} catch (const std::bad_alloc&) {
    return SIDRA_MGMT_NOT_KEPT;
}

sidra_mgmt_result Flash::erase(uint32_t offset) {
    if (offset % SIDRA_MGMT_FLASH_SECTOR != 0 || outside(offset, SIDRA_MGMT_FLASH_SECTOR)) return SIDRA_MGMT_BAD_RANGE;
    return write(offset, SIDRA_MGMT_FLASH_SECTOR,
                 [](std::span<uint8_t> bytes) { std::fill(bytes.begin(), bytes.end(), kErased); });
}

sidra_mgmt_result Flash::program(uint32_t offset, std::span<const uint8_t> from) {
    if (from.size() > SIDRA_MGMT_FLASH_SECTOR || outside(offset, from.size())) return SIDRA_MGMT_BAD_RANGE;
    return write(offset, from.size(), [&](std::span<uint8_t> bytes) {
        for (size_t i = 0; i < from.size(); i++) bytes[i] &= from[i];
    });
}

}  // namespace sidra::management
