// SPDX-License-Identifier: MIT
#include "crypto.h"

#include <sodium.h>

#include "error.h"

namespace sidra::fw {
namespace {

static_assert(crypto_hash_sha256_BYTES == SIDRA_IMAGE_DIGEST_SIZE);
static_assert(crypto_sign_ed25519_PUBLICKEYBYTES == SIDRA_IMAGE_KEY_SIZE);
static_assert(crypto_sign_ed25519_BYTES == SIDRA_IMAGE_SIGNATURE_SIZE);
static_assert(crypto_sign_ed25519_SEEDBYTES == sizeof(Seed::bytes));

void start() {
    if (sodium_init() < 0) throw Error("libsodium cannot start: it found no source of random numbers");
}

// The library's form of a key: seed and public key.
class SecretKey {
   public:
    explicit SecretKey(const Seed& seed) {
        start();
        crypto_sign_ed25519_seed_keypair(public_key.data(), bytes, seed.bytes.data());
    }
    ~SecretKey() { sodium_memzero(bytes, sizeof(bytes)); }
    SecretKey(const SecretKey&) = delete;
    SecretKey& operator=(const SecretKey&) = delete;

    PublicKey public_key{};
    uint8_t bytes[crypto_sign_ed25519_SECRETKEYBYTES];
};

}  // namespace

Seed::~Seed() { sodium_memzero(bytes.data(), bytes.size()); }

Seed random_seed() {
    start();
    Seed seed;
    randombytes_buf(seed.bytes.data(), seed.bytes.size());
    return seed;
}

PublicKey public_key(const Seed& seed) { return SecretKey(seed).public_key; }

Signature sign(const Seed& seed, std::span<const uint8_t> message) {
    const SecretKey key(seed);
    Signature signature{};
    crypto_sign_ed25519_detached(signature.data(), nullptr, message.data(), message.size(), key.bytes);
    return signature;
}

Digest sha256(std::span<const uint8_t> bytes) {
    start();
    Digest digest{};
    crypto_hash_sha256(digest.data(), bytes.data(), bytes.size());
    return digest;
}

const sidra_image_crypto& crypto() {
    start();
    static const sidra_image_crypto by_sodium = {
        .self = nullptr,
        .sha256 = [](void*, const void* data, size_t size, uint8_t* digest) -> int {
            return crypto_hash_sha256(digest, static_cast<const uint8_t*>(data), size);
        },
        .ed25519 = [](void*, const uint8_t* signature, const void* message, size_t size, const uint8_t* key) -> int {
            const auto* bytes = static_cast<const uint8_t*>(message);
            return crypto_sign_ed25519_verify_detached(signature, bytes, size, key) == 0 ? 0 : 1;
        },
    };
    return by_sodium;
}

}  // namespace sidra::fw
