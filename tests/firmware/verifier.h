// SPDX-License-Identifier: MIT
// The verifier, called for a chip that matches the images of Writer.
#ifndef SIDRA_TESTS_FIRMWARE_VERIFIER_H
#define SIDRA_TESTS_FIRMWARE_VERIFIER_H

#include <gtest/gtest.h>

#include <algorithm>
#include <memory>

#include "crypto.h"
#include "image/image.h"
#include "writer.h"

namespace sidra::test {

struct Verifier {
    Verifier() {
        policy.ram_begin = 0x10000000;
        policy.ram_end = 0x10008000;
        policy.chip_id = 0x5931;
        policy.stepping = 2;
        policy.type = 1;
        for (uint16_t i = 0; i < 5; ++i) policy.api_major[i] = static_cast<uint16_t>(i + 1);
        policy.driver_version = 1u << 24;
        policy.min_security_version = 7;
        const auto key = public_key(Writer().seed);
        std::copy(key.begin(), key.end(), std::begin(keys[1]));
        policy.keys = keys;
        policy.keys_count = 2;
        crypto = fw::crypto();
    }

    // The bytes end at the end of their own allocation, so that a sanitizer detects reads beyond them.
    sidra_image_result operator()(std::span<const uint8_t> bytes) {
        const std::unique_ptr<uint8_t[]> exact(new uint8_t[bytes.size()]);
        std::copy(bytes.begin(), bytes.end(), exact.get());
        const sidra_image_result result = sidra_image_verify(exact.get(), bytes.size(), &policy, &crypto, &image);
        payload.assign(image.payload, image.payload + (image.payload != nullptr ? image.header.image_size : 0));
        return result;
    }

    uint8_t keys[2][32] = {};  // an unused key, and that of Writer
    sidra_image_policy policy{};
    sidra_image_crypto crypto{};
    sidra_image image{};
    Bytes payload;
};

}  // namespace sidra::test

// Prints a result by its text.
inline void PrintTo(sidra_image_result result, std::ostream* out) {
    *out << result << " (" << sidra_image_text(result) << ")";
}

#endif
