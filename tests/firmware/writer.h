// SPDX-License-Identifier: MIT
// Firmware images assembled byte by byte from the layout in uapi/sidra_hw.h and docs/firmware.md. Shares no code with
// firmware/image, which it checks.
#ifndef SIDRA_TESTS_FIRMWARE_WRITER_H
#define SIDRA_TESTS_FIRMWARE_WRITER_H

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

namespace sidra::test {

using Bytes = std::vector<uint8_t>;

// Where things lie.
inline constexpr size_t kHeader = 256, kAtMagic = 0, kAtHeaderVersion = 4, kAtHeaderSize = 6, kAtType = 8,
                        kAtFlags = 12, kAtChip = 16, kAtSteppings = 20, kAtLoad = 24, kAtEntry = 28, kAtImageSize = 32,
                        kAtRamSize = 36, kAtStackSize = 40, kAtVersion = 44, kAtSecurityVersion = 48, kAtMinDriver = 52,
                        kAtBuildId = 56, kAtTlvSize = 76, kAtBuildTime = 80, kAtApi = 88, kAtReserved = 120,
                        kAtReserved1 = 248, kAtCrc = 252;

struct WrittenTlv {
    uint16_t type = 0;
    Bytes value;
    uint16_t flags = 0;
    std::optional<uint32_t> length;  // another one than that of the value
    uint8_t padding = 0;
};

struct Writer {
    Writer();

    // The image up to the TLVs; the CRC matches the fields.
    Bytes head() const;
    // With the TLVs of a signed image, in their order, and then `more`.
    Bytes image() const;
    // With these TLVs only.
    Bytes with(std::span<const WrittenTlv> tlvs) const;
    // Those of a signed image.
    std::vector<WrittenTlv> signed_tlvs(uint32_t tlv_size) const;

    Bytes header;  // 256 bytes; image_size, tlv_size and crc32 are filled in
    Bytes payload;
    std::vector<WrittenTlv> more;
    std::optional<uint32_t> image_size, tlv_size;  // if they differ from the true ones
    std::array<uint8_t, 32> seed;                  // of the key that signs
};

void put(Bytes& bytes, size_t at, uint64_t value, size_t size);
uint64_t get(std::span<const uint8_t> bytes, size_t at, size_t size);
// By definition: polynomial division, most significant bit first, of reflected bytes.
uint32_t crc32(std::span<const uint8_t> bytes);
// Puts the right CRC into a header that was changed.
void repair(Bytes& image);
Bytes from_hex(std::string_view text);
std::array<uint8_t, 32> public_key(const std::array<uint8_t, 32>& seed);
Bytes sha256(std::span<const uint8_t> bytes);

}  // namespace sidra::test

#endif
