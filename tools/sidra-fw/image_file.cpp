// SPDX-License-Identifier: MIT
#include "image_file.h"

#include <algorithm>
#include <bit>

#include "diagnosis.h"
#include "elf.h"
#include "image/bytes.h"

namespace sidra::fw {
namespace {

size_t tlv_size(size_t value) { return sizeof(sidra_fw_tlv) + aligned(value); }

void append_tlv(std::vector<uint8_t>& image, uint16_t type, std::span<const uint8_t> value) {
    const size_t at = image.size();
    image.resize(at + tlv_size(value.size()));  // flags and padding are zero
    sidra_image_put16(image.data() + at + offsetof(sidra_fw_tlv, type), type);
    sidra_image_put32(image.data() + at + offsetof(sidra_fw_tlv, length), static_cast<uint32_t>(value.size()));
    std::copy(value.begin(), value.end(), image.begin() + at + sizeof(sidra_fw_tlv));
}

Parts take_apart(const sidra_image& image) {
    Parts parts{
        .header = image.header, .payload = {image.payload, image.payload + image.header.image_size}, .tlvs = {}};
    for (uint32_t offset = 0; offset < image.header.tlv_size;) {
        sidra_image_tlv tlv{};
        if (sidra_image_next_tlv(image.tlvs, image.header.tlv_size, &offset, &tlv) != SIDRA_IMAGE_OK) break;
        if (tlv.type == SIDRA_FW_TLV_SHA256 || tlv.type == SIDRA_FW_TLV_KEY_HASH || tlv.type == SIDRA_FW_TLV_ED25519)
            continue;
        parts.tlvs.push_back({tlv.type, {tlv.value, tlv.value + tlv.length}});
    }
    return parts;
}

}  // namespace

std::vector<uint8_t> compose(Parts parts, const Key* key) {
    sidra_fw_header& header = parts.header;
    header.magic = SIDRA_FW_MAGIC;
    header.header_version = SIDRA_IMAGE_FORMAT;
    header.header_size = SIDRA_FW_HEADER_SIZE;
    header.image_size = static_cast<uint32_t>(parts.payload.size());
    size_t tlvs = tlv_size(SIDRA_IMAGE_DIGEST_SIZE);
    if (key != nullptr) tlvs += tlv_size(SIDRA_IMAGE_DIGEST_SIZE) + tlv_size(SIDRA_IMAGE_SIGNATURE_SIZE);
    for (const Tlv& one : parts.tlvs) tlvs += tlv_size(one.value.size());
    header.tlv_size = static_cast<uint32_t>(tlvs);

    std::vector<uint8_t> image(SIDRA_FW_HEADER_SIZE);
    sidra_image_store_header(&header, image.data());
    header.crc32 = sidra_image_header_crc(image.data());
    sidra_image_store_header(&header, image.data());
    image.insert(image.end(), parts.payload.begin(), parts.payload.end());

    const Digest digest = sha256(image);
    append_tlv(image, SIDRA_FW_TLV_SHA256, digest);
    if (key != nullptr) {
        append_tlv(image, SIDRA_FW_TLV_KEY_HASH, key->hash());
        append_tlv(image, SIDRA_FW_TLV_ED25519, sign(*key->seed, digest));
    }
    for (const Tlv& one : parts.tlvs) append_tlv(image, one.type, one.value);
    return image;
}

sidra_image_policy own_policy(const sidra_fw_header& header) {
    sidra_image_policy policy{};
    policy.ram_end = uint64_t{1} << 32;
    policy.chip_id = header.chip_id;
    policy.stepping = static_cast<uint32_t>(std::countr_zero(header.stepping_mask));  // 32, if it may run nowhere
    return policy;
}

std::vector<uint8_t> sign_image(const std::string& path, std::span<const uint8_t> bytes, const Key& key) {
    sidra_image image;
    const auto expect_ok = [&](sidra_image_result result) {
        if (result != SIDRA_IMAGE_OK)
            throw Error(path + " was not signed: " + explain(result, image, own_policy(image.header), {}),
                        status_of(result));
    };
    const auto check_header_and_fit = [&](std::span<const uint8_t> whole) {
        expect_ok(sidra_image_check_header(whole.data(), whole.size(), &image));
        const sidra_image_policy policy = own_policy(image.header);
        expect_ok(sidra_image_check_fit(&image, &policy));
    };
    check_header_and_fit(bytes);
    expect_ok(sidra_image_check_tlvs(&image));
    expect_ok(sidra_image_check_digest(bytes.data(), &crypto(), &image));
    std::vector<uint8_t> signed_image = compose(take_apart(image), &key);
    check_header_and_fit(signed_image);  // the signature is one more TLV
    return signed_image;
}

}  // namespace sidra::fw
