// SPDX-License-Identifier: MIT
// The crypto callbacks on the host against published test vectors; and the CRC of the image against its definition.
#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <string>

#include "crypto.h"
#include "image/crc32.h"
#include "writer.h"

namespace sidra::test {
namespace {

Bytes bytes_of(std::string_view text) { return {text.begin(), text.end()}; }

TEST(FirmwareCrypto, Sha256AsInFips180) {
    const struct {
        std::string message;
        std::string_view digest;
    } vectors[] = {
        {"", "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"},
        {"abc", "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"},
        {"abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq",
         "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1"},
        {std::string(1000000, 'a'), "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0"},
    };
    for (const auto& [message, digest] : vectors) {
        uint8_t computed[32];
        ASSERT_EQ(fw::crypto().sha256(fw::crypto().self, message.data(), message.size(), computed), 0);
        EXPECT_EQ(Bytes(computed, computed + 32), from_hex(digest)) << message.size();
        EXPECT_EQ(sha256(bytes_of(message)), from_hex(digest));
    }
}

// RFC 8032, section 7.1: tests 1 to 3.
const struct {
    std::string_view seed, key, message, signature;
} kSignatures[] = {
    {"9d61b19deffd5a60ba844af492ec2cc44449c5697b326919703bac031cae7f60",
     "d75a980182b10ab7d54bfed3c964073a0ee172f3daa62325af021a68f707511a", "",
     "e5564300c360ac729086e2cc806e828a84877f1eb8e5d974d873e065224901555fb8821590a33bacc61e39701cf9b46bd25bf5f0595bbe246"
     "55141"
     "438e7a100b"},
    {"4ccd089b28ff96da9db6c346ec114e0f5b8a319f35aba624da8cf6ed4fb8a6fb",
     "3d4017c3e843895a92b70aa74d1b7ebc9c982ccf2ec4968cc0cd55f12af4660c", "72",
     "92a009a9f0d4cab8720e820b5f642540a2b27b5416503f8fb3762223ebdb69da085ac1e43e15996e458f3613d0f11d8c387b2eaeb4302aeeb"
     "00d29"
     "1612bb0c00"},
    {"c5aa8df43f9f837bedb7442f31dcb7b166d38535076f094b85ce3a2e0b4458f7",
     "fc51cd8e6218a1a38da47ed00230f0580816ed13ba3303ac5deb911548908025", "af82",
     "6291d657deec24024827e69c3abe01a30ce548a284743a445e3680d7db5ac3ac18ff9b538d16f290ae67f760984dc6594a7c15e9716ed28dc"
     "027be"
     "ceea1ec40a"},
};

TEST(FirmwareCrypto, Ed25519AsInRfc8032) {
    const sidra_image_crypto& by = fw::crypto();
    for (const auto& vector : kSignatures) {
        fw::Seed seed;
        const Bytes seed_bytes = from_hex(vector.seed), message = from_hex(vector.message);
        std::copy(seed_bytes.begin(), seed_bytes.end(), seed.bytes.begin());
        const fw::PublicKey key = fw::public_key(seed);
        EXPECT_EQ(Bytes(key.begin(), key.end()), from_hex(vector.key));
        const fw::Signature made = fw::sign(seed, message);
        Bytes signature(made.begin(), made.end());
        EXPECT_EQ(signature, from_hex(vector.signature));
        EXPECT_EQ(by.ed25519(by.self, signature.data(), message.data(), message.size(), key.data()), 0);
        for (size_t bit = 0; bit < signature.size() * 8; ++bit) {
            signature[bit / 8] ^= static_cast<uint8_t>(1 << bit % 8);
            EXPECT_GT(by.ed25519(by.self, signature.data(), message.data(), message.size(), key.data()), 0) << bit;
            signature[bit / 8] ^= static_cast<uint8_t>(1 << bit % 8);
        }
    }
}

TEST(FirmwareCrypto, Crc32AsPublished) {
    const Bytes check = bytes_of("123456789");
    EXPECT_EQ(sidra_image_crc32(0, check.data(), check.size()), 0xcbf43926u);  // the check value of CRC-32/ISO-HDLC
    EXPECT_EQ(crc32(check), 0xcbf43926u);
    EXPECT_EQ(sidra_image_crc32(0, nullptr, 0), 0u);
}

TEST(FirmwareCrypto, Crc32AsDefined) {
    std::mt19937 random(1);
    for (size_t size = 0; size < 300; ++size) {
        Bytes bytes(size);
        for (uint8_t& byte : bytes) byte = static_cast<uint8_t>(random());
        const size_t half = size / 3;
        const uint32_t first = sidra_image_crc32(0, bytes.data(), half);
        EXPECT_EQ(sidra_image_crc32(first, bytes.data() + half, size - half), crc32(bytes)) << size;
    }
}

}  // namespace
}  // namespace sidra::test
