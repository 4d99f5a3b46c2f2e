// SPDX-License-Identifier: MIT
// Truncated, bit-flipped and random images: refused for the right reason, without reads out of bounds.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <memory>
#include <random>

#include "verifier.h"

namespace sidra::test {
namespace {

// A signed image with a TLV that is not covered by the signature.
Bytes whole() {
    Writer writer;
    writer.more = {{4, Bytes(13, 's')}};
    return writer.image();
}
constexpr size_t kPayload = 120, kTlvs = kHeader + kPayload, kTlvDigest = kTlvs, kTlvKey = kTlvDigest + 40,
                 kTlvSignature = kTlvKey + 40, kTlvText = kTlvSignature + 72;

TEST(FirmwareDamage, CutAtEveryByte) {
    Verifier verify;
    const Bytes image = whole();
    ASSERT_EQ(verify(image), SIDRA_IMAGE_OK);
    for (size_t size = 0; size < image.size(); ++size)
        EXPECT_EQ(verify(std::span(image).first(size)), size < kHeader ? SIDRA_IMAGE_TOO_SHORT : SIDRA_IMAGE_TRUNCATED)
            << size;
}

// The TLV area is cut at every byte, with a matching header.
TEST(FirmwareDamage, TlvsCutAtEveryEighth) {
    Verifier verify;
    const Bytes image = whole();
    for (size_t size = kTlvs; size < image.size(); size += 8) {
        Bytes cut(image.begin(), image.begin() + static_cast<ptrdiff_t>(size));
        put(cut, kAtTlvSize, size - kTlvs, 4);
        repair(cut);
        const sidra_image_result result = verify(cut);
        if (size == kTlvDigest) EXPECT_EQ(result, SIDRA_IMAGE_NO_DIGEST);
        else if (size == kTlvKey || size == kTlvSignature || size == kTlvText)
            EXPECT_EQ(result, SIDRA_IMAGE_DIGEST) << size;  // the header is another one
        else EXPECT_EQ(result, SIDRA_IMAGE_TLV_BOUNDS) << size;
    }
}

sidra_image_result expected_in_header(size_t at) {
    if (at < kAtHeaderVersion) return SIDRA_IMAGE_MAGIC;
    if (at < kAtHeaderSize) return SIDRA_IMAGE_HEADER_VERSION;
    if (at < kAtType) return SIDRA_IMAGE_HEADER_SIZE;
    return SIDRA_IMAGE_HEADER_CRC;
}

TEST(FirmwareDamage, EveryBitOfTheHeader) {
    Verifier verify;
    Bytes image = whole();
    for (size_t bit = 0; bit < kHeader * 8; ++bit) {
        image[bit / 8] ^= static_cast<uint8_t>(1 << bit % 8);
        EXPECT_EQ(verify(image), expected_in_header(bit / 8)) << "byte " << bit / 8;
        image[bit / 8] ^= static_cast<uint8_t>(1 << bit % 8);
    }
}

// Permitted results of a flipped bit in the first 8 bytes of a TLV.
void expect_in_head(sidra_image_result result, size_t byte, uint16_t type, uint16_t flipped_type) {
    if (byte >= 2 && byte < 4) {
        EXPECT_EQ(result, SIDRA_IMAGE_TLV_FLAGS);
    } else if (byte >= 4) {
        // If the TLV became shorter, its length is wrong and the rest of its value is not a TLV; if longer, it extends
        // into the next TLV or beyond the end.
        EXPECT_TRUE(result == SIDRA_IMAGE_TLV_LENGTH || result == SIDRA_IMAGE_TLV_BOUNDS ||
                    result == SIDRA_IMAGE_TLV_PADDING)
            << result;
    } else if (flipped_type >= 1 && flipped_type <= 4) {
        EXPECT_TRUE(result == SIDRA_IMAGE_TLV_DUPLICATE || result == SIDRA_IMAGE_TLV_LENGTH) << result;
    } else {
        EXPECT_EQ(result, type == 1   ? SIDRA_IMAGE_NO_DIGEST
                          : type == 2 ? SIDRA_IMAGE_NO_KEY_HASH
                                      : SIDRA_IMAGE_NO_SIGNATURE);
    }
}

TEST(FirmwareDamage, EveryBitOfTheTlvs) {
    Verifier verify;
    Bytes image = whole();
    const struct {
        size_t at;
        uint16_t type;
        sidra_image_result value;
    } tlvs[] = {{kTlvDigest, 1, SIDRA_IMAGE_DIGEST},
                {kTlvKey, 2, SIDRA_IMAGE_UNTRUSTED_KEY},
                {kTlvSignature, 3, SIDRA_IMAGE_SIGNATURE}};
    for (size_t bit = kTlvs * 8; bit < kTlvText * 8; ++bit) {
        const auto& tlv = tlvs[bit / 8 < kTlvKey ? 0 : bit / 8 < kTlvSignature ? 1 : 2];
        const size_t byte = bit / 8 - tlv.at;
        image[bit / 8] ^= static_cast<uint8_t>(1 << bit % 8);
        const sidra_image_result result = verify(image);
        SCOPED_TRACE(testing::Message() << "type " << tlv.type << ", byte " << byte << ", bit " << bit % 8);
        if (byte >= 8) EXPECT_EQ(result, tlv.value);
        else expect_in_head(result, byte, tlv.type, static_cast<uint16_t>(get(image, tlv.at, 2)));
        image[bit / 8] ^= static_cast<uint8_t>(1 << bit % 8);
    }
}

// A TLV outside of the signature: its structure is checked, its contents are not, and it is never interpreted as
// another one.
TEST(FirmwareDamage, EveryBitOfATlvThatIsNotCovered) {
    Verifier verify;
    Bytes image = whole();
    for (size_t bit = kTlvText * 8; bit < image.size() * 8; ++bit) {
        const size_t byte = bit / 8 - kTlvText;
        image[bit / 8] ^= static_cast<uint8_t>(1 << bit % 8);
        const sidra_image_result result = verify(image);
        SCOPED_TRACE(testing::Message() << "byte " << byte << ", bit " << bit % 8);
        const uint64_t type = get(image, kTlvText, 2), length = get(image, kTlvText + 4, 4);
        if (byte < 2) EXPECT_EQ(result, type >= 1 && type <= 3 ? SIDRA_IMAGE_TLV_DUPLICATE : SIDRA_IMAGE_OK);
        else if (byte < 4) EXPECT_EQ(result, SIDRA_IMAGE_TLV_FLAGS);
        else if (byte < 8 && length <= 8) EXPECT_NE(result, SIDRA_IMAGE_OK);  // text is no TLV
        else if (byte < 8)
            EXPECT_EQ(result, length > 16   ? SIDRA_IMAGE_TLV_BOUNDS
                              : length > 13 ? SIDRA_IMAGE_OK
                                            : SIDRA_IMAGE_TLV_PADDING);
        else EXPECT_EQ(result, byte < 8 + 13 ? SIDRA_IMAGE_OK : SIDRA_IMAGE_TLV_PADDING);
        if (result == SIDRA_IMAGE_OK) EXPECT_EQ(verify.payload, Writer().payload);
        image[bit / 8] ^= static_cast<uint8_t>(1 << bit % 8);
    }
}

TEST(FirmwareDamage, RandomBytes) {
    Verifier verify;
    std::mt19937 random(7);
    for (int round = 0; round < 20000; ++round) {
        Bytes bytes(random() % 1024);
        for (uint8_t& byte : bytes) byte = static_cast<uint8_t>(random());
        EXPECT_NE(verify(bytes), SIDRA_IMAGE_OK);
    }
}

// Changes with a valid CRC and SHA-256, which any attacker can compute.
TEST(FirmwareDamage, RandomChangesWithChecksumsThatAreRight) {
    Verifier verify;
    std::mt19937 random(8);
    const Bytes image = whole();
    std::array<int, SIDRA_IMAGE_RESULTS> seen{};
    for (int round = 0; round < 50000; ++round) {
        Bytes bytes = image;
        const uint32_t changes = 1 + random() % 3;
        for (uint32_t i = 0; i < changes; ++i) {
            // Numbers of headers more often than text; edges more often than not.
            const size_t at = random() % 2 ? kAtType + random() % (kAtBuildTime - kAtType) : random() % bytes.size();
            static constexpr uint8_t kEdges[] = {0, 1, 7, 8, 0x7f, 0x80, 0xf8, 0xff};
            bytes[at] = random() % 2 ? kEdges[random() % 8] : static_cast<uint8_t>(random());
        }
        if (random() % 4 == 0) bytes.resize(random() % (bytes.size() + 64));
        if (bytes.size() >= kHeader && random() % 8) {
            if (random() % 2) put(bytes, kAtTlvSize, bytes.size() - kHeader - get(bytes, kAtImageSize, 4), 4);
            repair(bytes);
        }
        if (bytes.size() >= kTlvKey && random() % 2) {
            const Bytes digest = sha256(std::span(bytes).first(kTlvs));
            std::copy(digest.begin(), digest.end(), bytes.begin() + kTlvDigest + 8);
        }
        const sidra_image_result result = verify(bytes);
        ++seen[result];
        if (result != SIDRA_IMAGE_OK) continue;
        // The change is outside of the signed part, which is unchanged.
        ASSERT_EQ(bytes.size(), image.size());
        ASSERT_TRUE(std::equal(image.begin(), image.begin() + kTlvText, bytes.begin())) << round;
    }
    // The changes reached the later checks, not only the CRC.
    for (const auto result : {SIDRA_IMAGE_TRUNCATED, SIDRA_IMAGE_RAM_SIZE, SIDRA_IMAGE_ENTRY, SIDRA_IMAGE_TLV_BOUNDS,
                              SIDRA_IMAGE_DIGEST, SIDRA_IMAGE_SIGNATURE, SIDRA_IMAGE_OK})
        EXPECT_GT(seen[result], 0) << sidra_image_text(result);
}

// The walk alone, over anything: it ends, and never leaves its bytes.
TEST(FirmwareDamage, TlvWalkOverRandomBytes) {
    std::mt19937 random(9);
    for (int round = 0; round < 20000; ++round) {
        const uint32_t size = random() % 128;
        const std::unique_ptr<uint8_t[]> bytes(new uint8_t[size]);
        for (uint32_t i = 0; i < size; ++i) bytes[i] = random() % 4 ? 0 : static_cast<uint8_t>(random());
        uint32_t offset = 0;
        while (offset < size) {
            const uint32_t before = offset;
            sidra_image_tlv tlv{};
            if (sidra_image_next_tlv(bytes.get(), size, &offset, &tlv) != SIDRA_IMAGE_OK) {
                EXPECT_EQ(offset, before);
                break;
            }
            ASSERT_GE(offset, before + 8);
            ASSERT_LE(offset, size);
            ASSERT_LE(tlv.value + tlv.length, bytes.get() + size);
        }
    }
}

}  // namespace
}  // namespace sidra::test
