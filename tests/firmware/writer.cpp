// SPDX-License-Identifier: MIT
#include "writer.h"

#include <sodium.h>

#include <algorithm>
#include <cstdlib>
#include <string>

namespace sidra::test {

void put(Bytes& bytes, size_t at, uint64_t value, size_t size) {
    for (size_t i = 0; i < size; ++i) bytes.at(at + i) = static_cast<uint8_t>(value >> 8 * i);
}

uint64_t get(std::span<const uint8_t> bytes, size_t at, size_t size) {
    uint64_t value = 0;
    for (size_t i = 0; i < size; ++i) value |= uint64_t{bytes[at + i]} << 8 * i;
    return value;
}

uint32_t crc32(std::span<const uint8_t> bytes) {
    // The message as bits in the order of their powers, then 32 zeros; the first 32 bits are inverted.
    std::vector<bool> bits;
    for (const uint8_t byte : bytes)
        for (int bit = 0; bit < 8; ++bit) bits.push_back(byte >> bit & 1);
    bits.resize(bits.size() + 32);
    for (size_t i = 0; i < 32; ++i) bits[i] = !bits[i];
    constexpr uint64_t kDivisor = 0x104c11db7;
    uint64_t rest = 0;
    for (const bool bit : bits) {
        rest = rest << 1 | bit;
        if (rest >> 32) rest ^= kDivisor;
    }
    uint32_t reflected = 0;
    for (int bit = 0; bit < 32; ++bit) reflected |= static_cast<uint32_t>(rest >> bit & 1) << (31 - bit);
    return ~reflected;
}

void repair(Bytes& image) {
    put(image, kAtCrc, 0, 4);
    put(image, kAtCrc, crc32(std::span(image).first(kHeader)), 4);
}

Bytes from_hex(std::string_view text) {
    Bytes bytes;
    for (size_t i = 0; i + 1 < text.size(); i += 2)
        bytes.push_back(static_cast<uint8_t>(std::stoul(std::string(text.substr(i, 2)), nullptr, 16)));
    return bytes;
}

std::array<uint8_t, 32> public_key(const std::array<uint8_t, 32>& seed) {
    std::array<uint8_t, 32> key{};
    uint8_t secret[64];
    crypto_sign_seed_keypair(key.data(), secret, seed.data());
    return key;
}

Bytes sha256(std::span<const uint8_t> bytes) {
    Bytes digest(32);
    crypto_hash_sha256(digest.data(), bytes.data(), bytes.size());
    return digest;
}

Writer::Writer() : header(kHeader), payload(120) {
    put(header, kAtMagic, 0x57464453, 4);
    put(header, kAtHeaderVersion, 1, 2);
    put(header, kAtHeaderSize, 256, 2);
    put(header, kAtType, 1, 4);
    put(header, kAtChip, 0x5931, 4);
    put(header, kAtSteppings, 0b101, 4);
    put(header, kAtLoad, 0x10001000, 4);
    put(header, kAtEntry, 0x10001010, 4);
    put(header, kAtRamSize, 0x400, 4);
    put(header, kAtStackSize, 0x100, 4);
    put(header, kAtVersion, 1u << 24 | 2u << 16 | 3, 4);
    put(header, kAtSecurityVersion, 7, 4);
    put(header, kAtMinDriver, 1u << 24, 4);
    for (size_t i = 0; i < 20; ++i) put(header, kAtBuildId + i, 0xa0 + i, 1);
    put(header, kAtBuildTime, 0x1122334455, 8);
    for (size_t i = 0; i < 5; ++i) put(header, kAtApi + 4 * i, (i + 1) << 16 | i, 4);
    for (size_t i = 0; i < payload.size(); ++i) payload[i] = static_cast<uint8_t>(i * 37 + 11);
    seed.fill(0x42);
}

Bytes Writer::head() const {
    Bytes all = header;
    all.insert(all.end(), payload.begin(), payload.end());
    put(all, kAtImageSize, image_size.value_or(payload.size()), 4);
    repair(all);
    return all;
}

std::vector<WrittenTlv> Writer::signed_tlvs(uint32_t size) const {
    Writer sized = *this;
    put(sized.header, kAtTlvSize, tlv_size.value_or(size), 4);
    const Bytes digest = sha256(sized.head());
    Bytes signature(64);
    uint8_t key[32], secret[64];
    crypto_sign_seed_keypair(key, secret, seed.data());
    crypto_sign_detached(signature.data(), nullptr, digest.data(), digest.size(), secret);
    return {{1, digest}, {2, sha256(key)}, {3, signature}};
}

namespace {

size_t padded(const WrittenTlv& tlv) { return 8 + (tlv.value.size() + 7) / 8 * 8; }

size_t total(std::span<const WrittenTlv> tlvs) {
    size_t size = 0;
    for (const WrittenTlv& tlv : tlvs) size += padded(tlv);
    return size;
}

}  // namespace

Bytes Writer::with(std::span<const WrittenTlv> tlvs) const {
    Writer sized = *this;
    put(sized.header, kAtTlvSize, tlv_size.value_or(static_cast<uint32_t>(total(tlvs))), 4);
    Bytes all = sized.head();
    for (const WrittenTlv& tlv : tlvs) {
        const size_t at = all.size();
        all.resize(at + padded(tlv), tlv.padding);
        put(all, at, tlv.type, 2);
        put(all, at + 2, tlv.flags, 2);
        put(all, at + 4, tlv.length.value_or(static_cast<uint32_t>(tlv.value.size())), 4);
        std::copy(tlv.value.begin(), tlv.value.end(), all.begin() + static_cast<ptrdiff_t>(at) + 8);
    }
    return all;
}

Bytes Writer::image() const {
    const auto size = static_cast<uint32_t>(8 + 32 + 8 + 32 + 8 + 64 + total(more));
    std::vector<WrittenTlv> tlvs = signed_tlvs(size);
    tlvs.insert(tlvs.end(), more.begin(), more.end());
    return with(tlvs);
}

}  // namespace sidra::test
