// SPDX-License-Identifier: MIT
// Firmware images: the verifier of ROM and driver, and what sidra-fw tells of one. An input is a byte of switches, then
// the image: its CRC, digest and signature may be made right, so that what lies behind them is reached. What nobody has
// signed is never accepted.
#include <algorithm>
#include <cstring>
#include <memory>
#include <optional>

#include "check.h"
#include "crypto.h"
#include "diagnosis.h"
#include "image/image.h"
#include "image_file.h"
#include "input.h"
#include "show.h"

namespace sidra::fuzz {
namespace {

struct Signer {
    fw::Seed seed;
    fw::PublicKey key;
    fw::Digest hash;
    Signer() {
        seed.bytes.fill(0x42);
        key = fw::public_key(seed);
        hash = fw::sha256(key);
    }
};

// In the TLVs that are there, whatever else is in them. Whether it can be authentic now.
bool make_right(std::span<uint8_t> image, const Signer& signer, bool sign) {
    if (image.size() < SIDRA_FW_HEADER_SIZE) return false;
    const uint32_t crc = sidra_image_header_crc(image.data());
    std::memcpy(image.data() + offsetof(sidra_fw_header, crc32), &crc, sizeof crc);
    sidra_image found{};
    if (sidra_image_check_header(image.data(), image.size(), &found) != SIDRA_IMAGE_OK || !sign) return false;
    const size_t covered = SIDRA_FW_HEADER_SIZE + size_t{found.header.image_size};
    const fw::Digest digest = fw::sha256(image.first(covered));
    const fw::Signature signature = fw::sign(signer.seed, digest);
    uint32_t offset = 0;
    sidra_image_tlv tlv;
    while (offset < found.header.tlv_size &&
           sidra_image_next_tlv(found.tlvs, found.header.tlv_size, &offset, &tlv) == SIDRA_IMAGE_OK) {
        uint8_t* const value = image.data() + (tlv.value - image.data());
        const auto put = [&](const auto& bytes) {
            if (tlv.length == bytes.size()) std::copy(bytes.begin(), bytes.end(), value);
        };
        if (tlv.type == SIDRA_FW_TLV_SHA256) put(digest);
        if (tlv.type == SIDRA_FW_TLV_KEY_HASH) put(signer.hash);
        if (tlv.type == SIDRA_FW_TLV_ED25519) put(signature);
    }
    return true;
}

void play(Input in) {
    static const Signer& signer = *new Signer;
    enum : uint8_t { kCrc = 1, kSign = 2, kOwnPolicy = 4, kShow = 8 };
    const uint8_t switches = in.u8();
    const std::span<const uint8_t> rest = in.rest();
    // A block of its own: what is read behind its end is seen.
    const std::unique_ptr<uint8_t[]> bytes(new uint8_t[rest.size()]);
    std::copy(rest.begin(), rest.end(), bytes.get());
    const std::span<uint8_t> image(bytes.get(), rest.size());
    const bool authentic = switches & (kCrc | kSign) && make_right(image, signer, switches & kSign);

    uint8_t keys[2][SIDRA_IMAGE_KEY_SIZE] = {};
    std::copy(signer.key.begin(), signer.key.end(), keys[1]);
    sidra_image found{};
    sidra_image_policy policy{};
    if (switches & kOwnPolicy && sidra_image_check_header(image.data(), image.size(), &found) == SIDRA_IMAGE_OK) {
        policy = fw::own_policy(found.header);
    } else {
        policy.ram_begin = 0x10000000;
        policy.ram_end = 0x10080000;
        policy.chip_id = SIDRA_PCI_DEVICE_ID;
        policy.type = SIDRA_FW_RUNTIME;
    }
    policy.keys = keys;
    policy.keys_count = 2;
    const sidra_image_result result = sidra_image_verify(image.data(), image.size(), &policy, &fw::crypto(), &found);
    if (result >= SIDRA_IMAGE_RESULTS) fail("the verifier answers %d", result);
    if (result == SIDRA_IMAGE_OK) {
        if (!authentic) fail("an image that nobody has signed is accepted");
        if (found.key != 1) fail("an image is said to be signed by another key");
        const uint64_t load = found.header.load_address, entry = found.header.entry;
        if (found.payload != image.data() + SIDRA_FW_HEADER_SIZE || load < policy.ram_begin ||
            load + found.header.ram_size > policy.ram_end || entry < load || entry >= load + found.header.image_size)
            fail("an image is accepted that does not fit");
    }
    if (fw::explain(result, found, policy, {}).empty()) fail("a result has no explanation");
    if (!(switches & kShow)) return;
    fw::show("image", image, {});
    try {
        fw::Key key{"fuzz", signer.key, signer.seed};
        fw::sign_image("image", image, key);
    } catch (const fw::Error&) {
    }
}

}  // namespace
}  // namespace sidra::fuzz

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
    sidra::fuzz::play(sidra::fuzz::Input({data, size}));
    return 0;
}
