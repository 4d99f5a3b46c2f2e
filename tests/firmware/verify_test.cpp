// SPDX-License-Identifier: MIT
// Each way to refuse an image, with an image that has nothing else wrong.
#include <gtest/gtest.h>

#include <cstring>
#include <set>
#include <string>

#include "verifier.h"

namespace sidra::test {
namespace {

class Verify : public testing::Test {
   protected:
    // Changes a field of the header and adapts CRC, SHA-256 and signature.
    sidra_image_result with_field(size_t at, uint64_t value, size_t size = 4) {
        Writer changed = writer;
        put(changed.header, at, value, size);
        return verify(changed.image());
    }
    sidra_image_result with_tlvs(const std::vector<WrittenTlv>& tlvs) {
        size_t size = 0;
        for (const WrittenTlv& tlv : tlvs) size += 8 + (tlv.value.size() + 7) / 8 * 8;
        // The digest and the signature match this size.
        std::vector<WrittenTlv> right = writer.signed_tlvs(static_cast<uint32_t>(size)), all = tlvs;
        for (WrittenTlv& tlv : all)
            for (const WrittenTlv& one : right)
                if (tlv.type == one.type && tlv.value.size() == one.value.size()) tlv.value = one.value;
        return verify(writer.with(all));
    }

    Writer writer;
    Verifier verify;
    const WrittenTlv digest{1, Bytes(32)}, key_hash{2, Bytes(32)}, signature{3, Bytes(64)};
};

TEST_F(Verify, AcceptsAndTellsWhatIsInIt) {
    ASSERT_EQ(verify(writer.image()), SIDRA_IMAGE_OK);
    const sidra_fw_header& header = verify.image.header;
    EXPECT_EQ(header.version, 0x01020003u);
    EXPECT_EQ(header.entry, 0x10001010u);
    EXPECT_EQ(header.image_size, writer.payload.size());
    EXPECT_EQ(header.stack_size, 0x100u);
    EXPECT_EQ(header.build_time, 0x1122334455u);
    EXPECT_EQ(header.build_id[19], 0xa0 + 19);
    EXPECT_EQ(header.api[4], 0x50004u);
    EXPECT_EQ(verify.payload, writer.payload);
    EXPECT_EQ(verify.image.key, 1u);
    EXPECT_EQ(verify.image.log_strings.value, nullptr);
}

TEST_F(Verify, AtAnyAlignment) {
    const Bytes image = writer.image();
    Bytes room(image.size() + 8);
    for (size_t offset = 0; offset < 8; ++offset) {
        std::memcpy(room.data() + offset, image.data(), image.size());
        sidra_image found;
        EXPECT_EQ(sidra_image_verify(room.data() + offset, image.size(), &verify.policy, &verify.crypto, &found),
                  SIDRA_IMAGE_OK);
    }
}

TEST_F(Verify, TheFourFamilies) {
    Bytes damaged = writer.image();
    damaged[kAtVersion] ^= 1;
    EXPECT_EQ(sidra_image_family_of(verify(damaged)), SIDRA_IMAGE_FAMILY_TRANSFER);
    damaged = writer.image();
    damaged[kHeader + 5] ^= 1;
    EXPECT_EQ(sidra_image_family_of(verify(damaged)), SIDRA_IMAGE_FAMILY_CORRUPT);
    Writer other = writer;
    other.seed.fill(0x43);
    EXPECT_EQ(sidra_image_family_of(verify(other.image())), SIDRA_IMAGE_FAMILY_AUTHENTICITY);
    EXPECT_EQ(sidra_image_family_of(with_field(kAtSecurityVersion, 6)), SIDRA_IMAGE_FAMILY_ROLLBACK);
    EXPECT_EQ(sidra_image_family_of(with_field(kAtChip, 0x5932)), SIDRA_IMAGE_FAMILY_UNFIT);
}

TEST_F(Verify, EachResultHasATextOfItsOwn) {
    std::set<std::string> texts;
    for (int i = 0; i < SIDRA_IMAGE_RESULTS; ++i) {
        const auto result = static_cast<sidra_image_result>(i);
        ASSERT_NE(sidra_image_text(result), nullptr) << i;
        EXPECT_TRUE(texts.insert(sidra_image_text(result)).second) << sidra_image_text(result);
        EXPECT_EQ(sidra_image_family_of(result) == SIDRA_IMAGE_FAMILY_NONE, result == SIDRA_IMAGE_OK);
    }
    EXPECT_EQ(sidra_image_family_of(SIDRA_IMAGE_RESULTS), SIDRA_IMAGE_FAMILY_UNKNOWN);
    EXPECT_NE(sidra_image_text(SIDRA_IMAGE_RESULTS), nullptr);
    std::set<std::string> families;
    for (int i = SIDRA_IMAGE_FAMILY_NONE; i <= SIDRA_IMAGE_FAMILY_UNKNOWN; ++i)
        EXPECT_TRUE(families.insert(sidra_image_family_text(static_cast<sidra_image_family>(i))).second);
}

TEST_F(Verify, Size) {
    EXPECT_EQ(verify({}), SIDRA_IMAGE_TOO_SHORT);
    sidra_image found;
    EXPECT_EQ(sidra_image_verify(nullptr, 0, &verify.policy, &verify.crypto, &found), SIDRA_IMAGE_TOO_SHORT);
    Bytes longer = writer.image();
    longer.push_back(0);
    EXPECT_EQ(verify(longer), SIDRA_IMAGE_TRAILING);
    longer.resize(longer.size() + 4096);
    EXPECT_EQ(verify(longer), SIDRA_IMAGE_TRAILING);
}

TEST_F(Verify, HeaderBeforeItsCrc) {
    EXPECT_EQ(with_field(kAtMagic, 0x57464454), SIDRA_IMAGE_MAGIC);
    EXPECT_EQ(with_field(kAtHeaderVersion, 0, 2), SIDRA_IMAGE_HEADER_VERSION);
    EXPECT_EQ(with_field(kAtHeaderVersion, 2, 2), SIDRA_IMAGE_HEADER_VERSION);
    EXPECT_EQ(with_field(kAtHeaderSize, 255, 2), SIDRA_IMAGE_HEADER_SIZE);
    EXPECT_EQ(with_field(kAtHeaderSize, 512, 2), SIDRA_IMAGE_HEADER_SIZE);
    Bytes image = writer.image();
    put(image, kAtCrc, get(image, kAtCrc, 4) + 1, 4);
    EXPECT_EQ(verify(image), SIDRA_IMAGE_HEADER_CRC);
}

TEST_F(Verify, Reserved) {
    for (size_t at = kAtReserved; at < kAtCrc; ++at) EXPECT_EQ(with_field(at, 1, 1), SIDRA_IMAGE_RESERVED) << at;
    EXPECT_EQ(with_field(kAtFlags, 1), SIDRA_IMAGE_OK);  // a debug build
    for (int bit = 1; bit < 32; ++bit) EXPECT_EQ(with_field(kAtFlags, 1u << bit), SIDRA_IMAGE_RESERVED) << bit;
}

TEST_F(Verify, SizesThatLie) {
    const Bytes image = writer.image();
    for (const size_t at : {kAtImageSize, kAtTlvSize})
        for (const uint32_t value :
             {0u, 8u, 0x7ffffff8u, 0x80000000u, 0xfffffef8u, 0xffffff00u, 0xfffffff8u, 0xffffffffu}) {
            Bytes changed = image;
            put(changed, at, value, 4);
            repair(changed);
            EXPECT_EQ(verify(changed), value <= 8 ? SIDRA_IMAGE_TRAILING : SIDRA_IMAGE_TRUNCATED) << at << " " << value;
        }
    // Both, so that their sum in 32 bits, with the header, is the size of the image again.
    Bytes wrapped = image;
    put(wrapped, kAtImageSize, 0x80000000, 4);
    put(wrapped, kAtTlvSize, 0x80000000 + image.size() - kHeader, 4);
    repair(wrapped);
    EXPECT_EQ(verify(wrapped), SIDRA_IMAGE_TRUNCATED);
}

TEST_F(Verify, PayloadEmptyOrMisaligned) {
    writer.payload.clear();
    EXPECT_EQ(verify(writer.image()), SIDRA_IMAGE_IMAGE_SIZE);
    for (size_t size = 121; size < 128; ++size) {
        writer.payload.resize(size);
        EXPECT_EQ(verify(writer.image()), SIDRA_IMAGE_IMAGE_SIZE);
    }
    writer.payload.resize(128);
    EXPECT_EQ(verify(writer.image()), SIDRA_IMAGE_OK);
    writer.tlv_size = 153;
    Bytes image = writer.image();
    image.push_back(0);
    EXPECT_EQ(verify(image), SIDRA_IMAGE_TLV_SIZE);
}

TEST_F(Verify, LoadAddress) {
    for (const uint32_t address : {0u, 0x0ffffff8u, 0x10001004u, 0x10001001u, 0x10008000u, 0x10008008u, 0xfffffff8u})
        EXPECT_EQ(with_field(kAtLoad, address), SIDRA_IMAGE_LOAD_ADDRESS) << address;
    put(writer.header, kAtEntry, 0x10000000, 4);
    EXPECT_EQ(with_field(kAtLoad, 0x10000000), SIDRA_IMAGE_OK);
    put(writer.header, kAtEntry, 0x10007b00, 4);
    EXPECT_EQ(with_field(kAtLoad, 0x10007b00), SIDRA_IMAGE_OK);  // RAM and stack end where the RAM does
    EXPECT_EQ(with_field(kAtLoad, 0x10007b08), SIDRA_IMAGE_STACK_SIZE);
    EXPECT_EQ(with_field(kAtLoad, 0x10007c08), SIDRA_IMAGE_RAM_SIZE);
}

TEST_F(Verify, RamAndStack) {
    for (const uint32_t size : {0u, 112u, 121u, 0x404u, 0x7008u, 0x7ffffff8u, 0xefffefffu, 0xeffff000u, 0xfffffff8u})
        EXPECT_EQ(with_field(kAtRamSize, size), SIDRA_IMAGE_RAM_SIZE) << size;
    EXPECT_EQ(with_field(kAtRamSize, 120), SIDRA_IMAGE_OK);
    EXPECT_EQ(with_field(kAtRamSize, 0x7000), SIDRA_IMAGE_STACK_SIZE);
    for (const uint32_t size : {8u, 0x101u, 0x6c10u, 0xefffe000u, 0xeffff000u, 0xfffffff0u})
        EXPECT_EQ(with_field(kAtStackSize, size), SIDRA_IMAGE_STACK_SIZE) << size;
    EXPECT_EQ(with_field(kAtStackSize, 0), SIDRA_IMAGE_OK);
    EXPECT_EQ(with_field(kAtStackSize, 0x6c00), SIDRA_IMAGE_OK);
}

// The boot ROM loads the TLVs behind the payload, so they need RAM, too.
TEST_F(Verify, PayloadAndTlvsAreBothInRam) {
    put(writer.header, kAtStackSize, 0, 4);
    const size_t tlvs = writer.image().size() - kHeader - writer.payload.size();
    writer.payload.resize(0x7000 - tlvs);
    EXPECT_EQ(with_field(kAtRamSize, writer.payload.size()), SIDRA_IMAGE_OK);
    EXPECT_EQ(with_field(kAtRamSize, 0x7000), SIDRA_IMAGE_OK) << "they are overwritten by zeros";
    writer.payload.resize(writer.payload.size() + 8);
    EXPECT_EQ(with_field(kAtRamSize, writer.payload.size()), SIDRA_IMAGE_RAM_SIZE);
    EXPECT_EQ(with_field(kAtRamSize, 0x7000), SIDRA_IMAGE_RAM_SIZE);
}

TEST_F(Verify, AtTheEndOfTheAddressSpace) {
    verify.policy.ram_begin = 0;
    verify.policy.ram_end = uint64_t{1} << 32;
    put(writer.header, kAtEntry, 0xfffffb00, 4);
    EXPECT_EQ(with_field(kAtLoad, 0xfffffb00), SIDRA_IMAGE_OK);
    put(writer.header, kAtEntry, 0xfffffb08, 4);
    EXPECT_EQ(with_field(kAtLoad, 0xfffffb08), SIDRA_IMAGE_STACK_SIZE);
    put(writer.header, kAtEntry, 0xfffffff8, 4);
    EXPECT_EQ(with_field(kAtLoad, 0xfffffff8), SIDRA_IMAGE_RAM_SIZE);
}

TEST_F(Verify, Entry) {
    for (const uint32_t entry : {0u, 0x10000ffcu, 0x10001002u, 0x10001001u, 0x10001078u, 0x10001400u, 0xfffffffcu})
        EXPECT_EQ(with_field(kAtEntry, entry), SIDRA_IMAGE_ENTRY) << entry;
    EXPECT_EQ(with_field(kAtEntry, 0x10001000), SIDRA_IMAGE_OK);
    EXPECT_EQ(with_field(kAtEntry, 0x10001074), SIDRA_IMAGE_OK);
}

TEST_F(Verify, ChipSteppingTypeDriver) {
    EXPECT_EQ(with_field(kAtChip, 0), SIDRA_IMAGE_CHIP);
    EXPECT_EQ(with_field(kAtSteppings, 0), SIDRA_IMAGE_STEPPING);
    EXPECT_EQ(with_field(kAtSteppings, ~4u), SIDRA_IMAGE_STEPPING);
    EXPECT_EQ(with_field(kAtSteppings, 4), SIDRA_IMAGE_OK);
    EXPECT_EQ(with_field(kAtType, 2), SIDRA_IMAGE_TYPE);
    EXPECT_EQ(with_field(kAtMinDriver, (1u << 24) + 1), SIDRA_IMAGE_DRIVER);
    verify.policy.stepping = 32;
    EXPECT_EQ(with_field(kAtSteppings, ~0u), SIDRA_IMAGE_STEPPING);
    verify.policy.stepping = 31;
    EXPECT_EQ(with_field(kAtSteppings, 1u << 31), SIDRA_IMAGE_OK);
    verify.policy.stepping = 2;
    verify.policy.type = 0;
    EXPECT_EQ(with_field(kAtType, 2), SIDRA_IMAGE_OK);
    for (const uint32_t type : {0u, 3u, 0x10001u, ~0u}) EXPECT_EQ(with_field(kAtType, type), SIDRA_IMAGE_TYPE) << type;
    verify.policy.driver_version = 0;
    EXPECT_EQ(with_field(kAtMinDriver, ~0u), SIDRA_IMAGE_OK);
}

TEST_F(Verify, ApiMajors) {
    for (uint32_t api = 0; api < 5; ++api) {
        const size_t at = kAtApi + 4 * api;
        EXPECT_EQ(with_field(at, 0), SIDRA_IMAGE_API) << api;
        EXPECT_EQ(with_field(at, (api + 2) << 16), SIDRA_IMAGE_API) << api;
        EXPECT_EQ(with_field(at, api + 1), SIDRA_IMAGE_API) << "a minor version is no major one";
        EXPECT_EQ(with_field(at, (api + 1) << 16 | 0xffff), SIDRA_IMAGE_OK) << api;
    }
    EXPECT_EQ(with_field(kAtApi + 4 * 7, 0x10000), SIDRA_IMAGE_OK);  // an unknown interface
    verify.policy.api_major[7] = 1;
    EXPECT_EQ(with_field(kAtApi, 0x10000), SIDRA_IMAGE_API);
}

TEST_F(Verify, TlvsThatAreMissing) {
    EXPECT_EQ(with_tlvs({}), SIDRA_IMAGE_NO_DIGEST);
    EXPECT_EQ(with_tlvs({key_hash, signature}), SIDRA_IMAGE_NO_DIGEST);
    EXPECT_EQ(with_tlvs({digest}), SIDRA_IMAGE_NO_KEY_HASH);
    EXPECT_EQ(with_tlvs({digest, signature}), SIDRA_IMAGE_NO_KEY_HASH);
    EXPECT_EQ(with_tlvs({digest, key_hash}), SIDRA_IMAGE_NO_SIGNATURE);
    EXPECT_EQ(with_tlvs({signature, key_hash, digest}), SIDRA_IMAGE_OK);  // in any order
}

TEST_F(Verify, TlvsThatAreNotKnown) {
    for (const uint16_t type : {uint16_t{0}, uint16_t{5}, uint16_t{0x8000}, uint16_t{0xffff}})
        for (size_t size = 0; size < 20; ++size)
            EXPECT_EQ(with_tlvs({digest, {type, Bytes(size, 0xee)}, key_hash, signature}), SIDRA_IMAGE_OK)
                << type << " " << size;
    ASSERT_EQ(with_tlvs({{4, Bytes(13, 'x')}, digest, key_hash, signature}), SIDRA_IMAGE_OK);
    EXPECT_EQ(verify.image.log_strings.length, 13u);
}

TEST_F(Verify, TlvsThatAreTwice) {
    for (const uint16_t type : {uint16_t{1}, uint16_t{2}, uint16_t{3}, uint16_t{4}, uint16_t{77}}) {
        const WrittenTlv again{type, Bytes(type == 3 ? 64 : 32)};
        std::vector<WrittenTlv> tlvs = {digest, key_hash, signature, again};
        if (type > 3) tlvs.push_back(again);
        EXPECT_EQ(with_tlvs(tlvs), SIDRA_IMAGE_TLV_DUPLICATE) << type;
    }
}

TEST_F(Verify, TlvsThatAreMany) {
    std::vector<WrittenTlv> tlvs = {digest, key_hash, signature};
    while (tlvs.size() < SIDRA_IMAGE_TLVS_MAX) tlvs.push_back({static_cast<uint16_t>(100 + tlvs.size()), {}});
    EXPECT_EQ(with_tlvs(tlvs), SIDRA_IMAGE_OK);
    tlvs.push_back({999, {}});
    EXPECT_EQ(with_tlvs(tlvs), SIDRA_IMAGE_TLV_COUNT);
}

TEST_F(Verify, TlvsThatAreLarge) {
    const size_t rest = 2048 - (writer.image().size() - kHeader - writer.payload.size());
    writer.more = {{4, Bytes(rest - 8)}};
    EXPECT_EQ(verify(writer.image()), SIDRA_IMAGE_OK);
    writer.more = {{4, Bytes(rest)}};
    EXPECT_EQ(verify(writer.image()), SIDRA_IMAGE_TLV_TOO_LARGE);
}

TEST_F(Verify, TlvLengths) {
    for (const WrittenTlv& one : {digest, key_hash, signature})
        for (const size_t size :
             {size_t{0}, size_t{1}, one.value.size() - 1, one.value.size() + 1, one.value.size() * 2}) {
            std::vector<WrittenTlv> tlvs;
            for (const WrittenTlv& tlv : {digest, key_hash, signature})
                tlvs.push_back(tlv.type == one.type ? WrittenTlv{tlv.type, Bytes(size)} : tlv);
            EXPECT_EQ(with_tlvs(tlvs), SIDRA_IMAGE_TLV_LENGTH) << one.type << " " << size;
        }
}

TEST_F(Verify, TlvLengthsThatOverflow) {
    for (const uint32_t length :
         {33u, 65u, 0x7fffffffu, 0x80000000u, 0xfffffff0u, 0xfffffff8u, 0xfffffff9u, 0xffffffffu}) {
        WrittenTlv last{9, Bytes(32)};
        last.length = length;
        EXPECT_EQ(with_tlvs({digest, key_hash, signature, last}), SIDRA_IMAGE_TLV_BOUNDS) << length;
    }
    // A value of 8 bytes where the TLVs end.
    EXPECT_EQ(with_tlvs({digest, key_hash, {7, {}, 0, 8u}}), SIDRA_IMAGE_TLV_BOUNDS);
}

TEST_F(Verify, TlvFlagsAndPadding) {
    for (const uint16_t type : {uint16_t{1}, uint16_t{9}}) {
        std::vector<WrittenTlv> tlvs = {digest, key_hash, signature};
        if (type == 9) tlvs.push_back({9, {}});
        for (int bit = 0; bit < 16; ++bit) {
            (type == 1 ? tlvs.front() : tlvs.back()).flags = static_cast<uint16_t>(1u << bit);
            EXPECT_EQ(with_tlvs(tlvs), SIDRA_IMAGE_TLV_FLAGS) << type << " " << bit;
        }
    }
    for (size_t size = 1; size < 8; ++size) {
        WrittenTlv padded{9, Bytes(size)};
        padded.padding = 1;
        EXPECT_EQ(with_tlvs({digest, key_hash, signature, padded}), SIDRA_IMAGE_TLV_PADDING) << size;
    }
}

TEST_F(Verify, DigestOfEveryByteOfThePayload) {
    const Bytes image = writer.image();
    for (size_t at = kHeader; at < kHeader + writer.payload.size(); ++at) {
        Bytes changed = image;
        changed[at] ^= 0x10;
        EXPECT_EQ(verify(changed), SIDRA_IMAGE_DIGEST) << at;
    }
    // A header that was changed and got a CRC again is corrupt, not damaged on its way.
    Bytes changed = image;
    changed[kAtBuildTime] ^= 1;
    repair(changed);
    EXPECT_EQ(verify(changed), SIDRA_IMAGE_DIGEST);
}

TEST_F(Verify, Keys) {
    Writer other = writer;
    other.seed.fill(0x43);
    EXPECT_EQ(verify(other.image()), SIDRA_IMAGE_UNTRUSTED_KEY);
    verify.policy.keys_count = 1;
    EXPECT_EQ(verify(writer.image()), SIDRA_IMAGE_UNTRUSTED_KEY);
    verify.policy.keys_count = 0;
    verify.policy.keys = nullptr;
    EXPECT_EQ(verify(writer.image()), SIDRA_IMAGE_UNTRUSTED_KEY);
}

TEST_F(Verify, SignatureOfAnotherKeyOrImage) {
    // Signed with a foreign key under the id of a trusted one.
    Writer other = writer;
    other.seed.fill(0x43);
    std::vector<WrittenTlv> tlvs = other.signed_tlvs(152);
    tlvs[1] = writer.signed_tlvs(152)[1];
    EXPECT_EQ(verify(writer.with(tlvs)), SIDRA_IMAGE_SIGNATURE);
    // The signature of another image by the same key.
    other = writer;
    put(other.header, kAtSecurityVersion, 8, 4);
    tlvs = writer.signed_tlvs(152);
    tlvs[2] = other.signed_tlvs(152)[2];
    EXPECT_EQ(verify(writer.with(tlvs)), SIDRA_IMAGE_SIGNATURE);
}

TEST_F(Verify, Rollback) {
    EXPECT_EQ(with_field(kAtSecurityVersion, 6), SIDRA_IMAGE_ROLLBACK);
    EXPECT_EQ(with_field(kAtSecurityVersion, 0), SIDRA_IMAGE_ROLLBACK);
    EXPECT_EQ(with_field(kAtSecurityVersion, 8), SIDRA_IMAGE_OK);
    EXPECT_EQ(with_field(kAtSecurityVersion, ~0u), SIDRA_IMAGE_OK);
    verify.policy.min_security_version = ~0u;
    EXPECT_EQ(with_field(kAtSecurityVersion, ~1u), SIDRA_IMAGE_ROLLBACK);
    // Of an image that is not ours nobody says that it is old.
    Writer other = writer;
    other.seed.fill(0x43);
    put(other.header, kAtSecurityVersion, 0, 4);
    EXPECT_EQ(verify(other.image()), SIDRA_IMAGE_UNTRUSTED_KEY);
}

TEST_F(Verify, HardwareThatFailsAcceptsNothing) {
    verify.crypto.sha256 = [](void*, const void*, size_t, uint8_t*) { return -5; };
    EXPECT_EQ(verify(writer.image()), SIDRA_IMAGE_SHA256_FAILED);
    verify.crypto = fw::crypto();
    verify.crypto.ed25519 = [](void*, const uint8_t*, const void*, size_t, const uint8_t*) { return -5; };
    EXPECT_EQ(verify(writer.image()), SIDRA_IMAGE_ED25519_FAILED);
    EXPECT_EQ(sidra_image_family_of(SIDRA_IMAGE_ED25519_FAILED), SIDRA_IMAGE_FAMILY_UNKNOWN);
    // The second use of SHA-256, for the key's hash.
    int left = 1;
    verify.crypto = fw::crypto();
    verify.crypto.self = &left;
    verify.crypto.sha256 = [](void* self, const void* data, size_t size, uint8_t* digest) {
        return (*static_cast<int*>(self))-- > 0 ? fw::crypto().sha256(nullptr, data, size, digest) : -1;
    };
    EXPECT_EQ(verify(writer.image()), SIDRA_IMAGE_SHA256_FAILED);
}

TEST_F(Verify, CryptoSeesWhatIsWrittenDown) {
    struct Seen {
        Bytes hashed, signed_message;
    } seen;
    verify.crypto.self = &seen;
    verify.crypto.sha256 = [](void* self, const void* data, size_t size, uint8_t* digest) {
        auto& hashed = static_cast<Seen*>(self)->hashed;
        const auto* bytes = static_cast<const uint8_t*>(data);
        if (hashed.empty()) hashed.assign(bytes, bytes + size);
        return fw::crypto().sha256(nullptr, data, size, digest);
    };
    verify.crypto.ed25519 = [](void* self, const uint8_t* of, const void* message, size_t size, const uint8_t* key) {
        const auto* bytes = static_cast<const uint8_t*>(message);
        static_cast<Seen*>(self)->signed_message.assign(bytes, bytes + size);
        return fw::crypto().ed25519(nullptr, of, message, size, key);
    };
    const Bytes image = writer.image();
    ASSERT_EQ(verify(image), SIDRA_IMAGE_OK);
    const Bytes covered(image.begin(), image.begin() + static_cast<ptrdiff_t>(kHeader + writer.payload.size()));
    EXPECT_EQ(seen.hashed, covered);
    EXPECT_EQ(seen.signed_message, sha256(covered));
}

TEST_F(Verify, TotalFromTheHeaderAlone) {
    const Bytes image = writer.image();
    uint64_t total = 0;
    EXPECT_EQ(sidra_image_total(image.data(), kHeader, &total), SIDRA_IMAGE_OK);
    EXPECT_EQ(total, image.size());
    EXPECT_EQ(sidra_image_total(image.data(), kHeader - 1, &total), SIDRA_IMAGE_TOO_SHORT);
    EXPECT_EQ(total, 0u);
    Bytes huge = image;
    put(huge, kAtImageSize, 0xfffffff8, 4);
    put(huge, kAtTlvSize, 0xfffffff8, 4);
    repair(huge);
    EXPECT_EQ(sidra_image_total(huge.data(), kHeader, &total), SIDRA_IMAGE_OK);
    EXPECT_EQ(total, 0x1fffffff0ull + 256);
}

TEST_F(Verify, HeadersThereAndBack) {
    const Bytes image = writer.image();
    sidra_fw_header header;
    sidra_image_load_header(image.data(), &header);
    Bytes back(kHeader);
    sidra_image_store_header(&header, back.data());
    EXPECT_EQ(back, Bytes(image.begin(), image.begin() + kHeader));
}

}  // namespace
}  // namespace sidra::test
