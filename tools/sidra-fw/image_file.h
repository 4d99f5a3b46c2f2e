// SPDX-License-Identifier: MIT
// Images as bytes: put together, and signed. Same parts, same bytes.
#ifndef SIDRA_FW_IMAGE_FILE_H
#define SIDRA_FW_IMAGE_FILE_H

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "image/image.h"
#include "key.h"

namespace sidra::fw {

inline constexpr size_t kImageLimit = 64 << 20;  // of a file that may be an image

struct Tlv {
    uint16_t type = 0;
    std::vector<uint8_t> value;
};

struct Parts {
    sidra_fw_header
        header{};  // image_size, tlv_size, crc32 and what is the same in all images are filled in by compose()
    std::vector<uint8_t> payload;
    std::vector<Tlv> tlvs;  // but for SHA-256, key hash and signature, which compose() makes
};

// Header, payload, TLVs: SHA-256 first, then key hash and signature if there is a `key` to sign with, then the others
// as given.
std::vector<uint8_t> compose(Parts parts, const Key* key);

// The same image, signed by `key` and nobody else. Throws Error if it is damaged, or is no image: what is signed is
// vouched for.
std::vector<uint8_t> sign_image(const std::string& path, std::span<const uint8_t> image, const Key& key);

// Asks for what the header itself says, so that only contradictions are left to find.
sidra_image_policy own_policy(const sidra_fw_header& header);

}  // namespace sidra::fw

#endif
