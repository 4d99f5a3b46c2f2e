// SPDX-License-Identifier: MIT
// Copy, verify, flash: commands with memory.
#include "bench.h"

namespace sidra::test {
namespace {

std::vector<uint8_t> pattern(size_t size, uint32_t seed) {
    std::vector<uint8_t> bytes(size);
    for (size_t i = 0; i < size; i++) bytes[i] = static_cast<uint8_t>(seed + i * 7 + i / 251);
    return bytes;
}

std::vector<uint8_t> hex(const char* text) {
    std::vector<uint8_t> bytes;
    for (; *text; text += 2) bytes.push_back(static_cast<uint8_t>(std::stoi(std::string(text, 2), nullptr, 16)));
    return bytes;
}

// ---- Copy ----

struct CopyBench : Bench {
    uint32_t copy(uint32_t command, uint64_t bus, uint32_t local, uint32_t bytes) {
        set_wide(SIDRA_MGMT_COPY_BUS, bus);
        set(SIDRA_MGMT_COPY_LOCAL, local);
        set(SIDRA_MGMT_COPY_BYTES, bytes);
        set(SIDRA_MGMT_COPY_COMMAND, command);
        return get(SIDRA_MGMT_COPY_RESULT);
    }
};

TEST(Copy, BothWays) {
    for (const uint32_t bytes : {1u, 3u, 64u, 4097u, SIDRA_MGMT_COPY_MAX}) {
        CopyBench bench;
        const auto data = pattern(bytes, bytes);
        std::copy(data.begin(), data.end(), bench.host.bytes.begin() + 5);
        ASSERT_EQ(bench.copy(SIDRA_MGMT_COPY_FROM_HOST, HostMemory::kBase + 5, Bench::kData + 1, bytes), SIDRA_MGMT_OK);
        EXPECT_EQ(bench.take(Bench::kData + 1, bytes), data);
        EXPECT_EQ(bench.take(Bench::kData, 1)[0], 0);
        EXPECT_EQ(bench.take(Bench::kData + 1 + bytes, 1)[0], 0);
        ASSERT_EQ(bench.copy(SIDRA_MGMT_COPY_TO_HOST, HostMemory::kBase + 100'001, Bench::kData + 1, bytes),
                  SIDRA_MGMT_OK);
        EXPECT_TRUE(std::equal(data.begin(), data.end(), bench.host.bytes.begin() + 100'001));
        EXPECT_EQ(bench.host.bytes[100'000], 0);
    }
}

// Code copied from the host is executed as copied, also when it replaces older code.
TEST(Copy, CodeThatIsReplacedIsNotExecutedAnyMore) {
    CopyBench bench;
    const auto place = [&](uint32_t value) {
        const uint32_t words[3] = {addi(s1, zero, static_cast<int32_t>(value)), kWfi, jal(zero, -4)};
        std::memcpy(bench.host.bytes.data(), words, sizeof words);
        EXPECT_EQ(bench.copy(SIDRA_MGMT_COPY_FROM_HOST, HostMemory::kBase, Bench::kData, sizeof words), SIDRA_MGMT_OK);
        bench.state().waiting = 0;
        bench.state().pc = Bench::kData;
        bench.unit.run(bench.unit.cycle() + 100);
        EXPECT_EQ(bench.state().x[s1], value);
    };
    place(11);
    place(12);
}

TEST(Copy, WhatCannotBeIsRefused) {
    CopyBench bench;
    constexpr uint64_t kBus = HostMemory::kBase;
    constexpr uint32_t kRamEnd = SIDRA_MGMT_RAM + SIDRA_MGMT_RAM_SIZE;
    const auto in = [&](uint64_t bus, uint32_t local, uint32_t bytes) {
        return bench.copy(SIDRA_MGMT_COPY_FROM_HOST, bus, local, bytes);
    };
    const auto before = bench.take(SIDRA_MGMT_RAM, SIDRA_MGMT_RAM_SIZE);
    std::fill(bench.host.bytes.begin(), bench.host.bytes.end(), uint8_t{0xa5});
    EXPECT_EQ(in(kBus, Bench::kData, 0), SIDRA_MGMT_BAD_RANGE);
    EXPECT_EQ(in(kBus, Bench::kData, SIDRA_MGMT_COPY_MAX + 1), SIDRA_MGMT_BAD_RANGE);
    EXPECT_EQ(in(kBus, Bench::kData, ~0u), SIDRA_MGMT_BAD_RANGE);
    EXPECT_EQ(in(kBus, kRamEnd - 8, 9), SIDRA_MGMT_BAD_RANGE);
    EXPECT_EQ(in(kBus, SIDRA_MGMT_RAM - 1, 9), SIDRA_MGMT_BAD_RANGE);
    EXPECT_EQ(in(kBus, ~0u, 9), SIDRA_MGMT_BAD_RANGE);
    EXPECT_EQ(in(kBus, SIDRA_MGMT_ROM + 64, 9), SIDRA_MGMT_BAD_RANGE);
    EXPECT_EQ(bench.copy(SIDRA_MGMT_COPY_TO_HOST, kBus, SIDRA_MGMT_ROM, 9), SIDRA_MGMT_BAD_RANGE) << "RAM only";
    EXPECT_EQ(in(kBus - 1, Bench::kData, 9), SIDRA_MGMT_BUS_ERROR);
    EXPECT_EQ(in(~uint64_t{0} - 3, Bench::kData, 9), SIDRA_MGMT_BUS_ERROR);
    EXPECT_EQ(bench.copy(0, kBus, Bench::kData, 9), SIDRA_MGMT_BAD_COMMAND);
    EXPECT_EQ(bench.copy(3, kBus, Bench::kData, 9), SIDRA_MGMT_BAD_COMMAND);
    EXPECT_EQ(bench.take(SIDRA_MGMT_RAM, SIDRA_MGMT_RAM_SIZE), before);
    EXPECT_EQ(in(kBus, kRamEnd - 8, 8), SIDRA_MGMT_OK);
}

// ---- Verify ----

struct VerifyBench : Bench {
    uint32_t verify(uint32_t command, uint32_t address = 0, uint32_t bytes = 0) {
        set(SIDRA_MGMT_VERIFY_ADDRESS, address);
        set(SIDRA_MGMT_VERIFY_BYTES, bytes);
        set(SIDRA_MGMT_VERIFY_COMMAND, command);
        return get(SIDRA_MGMT_VERIFY_RESULT);
    }
    std::vector<uint8_t> digest() {
        std::vector<uint8_t> bytes(32);
        for (uint32_t i = 0; i < 8; i++) {
            const uint32_t word = get(SIDRA_MGMT_VERIFY_DIGEST + 4 * i);
            std::memcpy(&bytes[4 * i], &word, 4);
        }
        return bytes;
    }
    void fill(uint32_t address, const std::vector<uint8_t>& bytes) {
        for (uint32_t i = 0; i < bytes.size(); i += 4) {
            uint32_t word;
            std::memcpy(&word, &bytes[i], 4);
            set(address + i, word);
        }
    }
};

// FIPS 180-4 as in its examples: "abc", and the message of 448 bits; the latter in pieces, too.
TEST(Verify, Sha256) {
    VerifyBench bench;
    const std::string abc = "abc", longer = "abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq";
    bench.put(Bench::kData, {abc.begin(), abc.end()});
    ASSERT_EQ(bench.verify(SIDRA_MGMT_VERIFY_BEGIN), SIDRA_MGMT_OK);
    ASSERT_EQ(bench.verify(SIDRA_MGMT_VERIFY_ADD, Bench::kData, 3), SIDRA_MGMT_OK);
    ASSERT_EQ(bench.verify(SIDRA_MGMT_VERIFY_END), SIDRA_MGMT_OK);
    EXPECT_EQ(bench.digest(), hex("ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"));
    bench.put(Bench::kData, {longer.begin(), longer.end()});
    for (const uint32_t piece : {1u, 7u, 56u}) {
        ASSERT_EQ(bench.verify(SIDRA_MGMT_VERIFY_BEGIN), SIDRA_MGMT_OK);
        for (uint32_t at = 0; at < 56; at += piece)
            ASSERT_EQ(bench.verify(SIDRA_MGMT_VERIFY_ADD, Bench::kData + at, piece), SIDRA_MGMT_OK);
        ASSERT_EQ(bench.verify(SIDRA_MGMT_VERIFY_END), SIDRA_MGMT_OK);
        EXPECT_EQ(bench.digest(), hex("248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1"));
    }
}

// RFC 8032, section 7.1, tests 2 and 3.
TEST(Verify, Ed25519) {
    struct Vector {
        const char *key, *message, *signature;
    };
    for (const Vector& vector : {Vector{"3d4017c3e843895a92b70aa74d1b7ebc9c982ccf2ec4968cc0cd55f12af4660c", "72",
                                        "92a009a9f0d4cab8720e820b5f642540a2b27b5416503f8fb3762223ebdb69da"
                                        "085ac1e43e15996e458f3613d0f11d8c387b2eaeb4302aeeb00d291612bb0c00"},
                                 Vector{"fc51cd8e6218a1a38da47ed00230f0580816ed13ba3303ac5deb911548908025", "af82",
                                        "6291d657deec24024827e69c3abe01a30ce548a284743a445e3680d7db5ac3ac"
                                        "18ff9b538d16f290ae67f760984dc6594a7c15e9716ed28dc027beceea1ec40a"}}) {
        VerifyBench bench;
        const auto message = hex(vector.message);
        const auto bytes = static_cast<uint32_t>(message.size());
        bench.put(Bench::kData, message);
        bench.fill(SIDRA_MGMT_VERIFY_KEY, hex(vector.key));
        bench.fill(SIDRA_MGMT_VERIFY_SIG, hex(vector.signature));
        EXPECT_EQ(bench.verify(SIDRA_MGMT_VERIFY_SIGNATURE, Bench::kData, bytes), SIDRA_MGMT_OK);
        bench.set(SIDRA_MGMT_VERIFY_SIG, bench.get(SIDRA_MGMT_VERIFY_SIG) ^ 1);
        EXPECT_EQ(bench.verify(SIDRA_MGMT_VERIFY_SIGNATURE, Bench::kData, bytes), SIDRA_MGMT_DIFFERENT);
        bench.set(SIDRA_MGMT_VERIFY_SIG, bench.get(SIDRA_MGMT_VERIFY_SIG) ^ 1);
        bench.put(Bench::kData, {static_cast<uint8_t>(message[0] ^ 0x80)});
        EXPECT_EQ(bench.verify(SIDRA_MGMT_VERIFY_SIGNATURE, Bench::kData, bytes), SIDRA_MGMT_DIFFERENT);
    }
}

TEST(Verify, WhatCannotBeIsRefused) {
    VerifyBench bench;
    EXPECT_EQ(bench.verify(SIDRA_MGMT_VERIFY_ADD, Bench::kData, 3), SIDRA_MGMT_BAD_COMMAND) << "none was begun";
    EXPECT_EQ(bench.verify(SIDRA_MGMT_VERIFY_END), SIDRA_MGMT_BAD_COMMAND);
    EXPECT_EQ(bench.verify(0), SIDRA_MGMT_BAD_COMMAND);
    EXPECT_EQ(bench.verify(5), SIDRA_MGMT_BAD_COMMAND);
    EXPECT_EQ(bench.verify(SIDRA_MGMT_VERIFY_BEGIN), SIDRA_MGMT_OK);
    EXPECT_EQ(bench.verify(SIDRA_MGMT_VERIFY_ADD, Bench::kData, 0), SIDRA_MGMT_BAD_RANGE);
    EXPECT_EQ(bench.verify(SIDRA_MGMT_VERIFY_ADD, Bench::kData, ~0u), SIDRA_MGMT_BAD_RANGE);
    EXPECT_EQ(bench.verify(SIDRA_MGMT_VERIFY_ADD, 0x40000000, 4), SIDRA_MGMT_BAD_RANGE);
    EXPECT_EQ(bench.verify(SIDRA_MGMT_VERIFY_ADD, SIDRA_MGMT_RAM + SIDRA_MGMT_RAM_SIZE - 1, 2), SIDRA_MGMT_BAD_RANGE);
    EXPECT_EQ(bench.verify(SIDRA_MGMT_VERIFY_END), SIDRA_MGMT_OK);
    EXPECT_EQ(bench.digest(), hex("e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855")) << "of nothing";
}

// ---- Flash ----

struct FlashBench : Bench {
    uint32_t flash(uint32_t command, uint32_t offset, uint32_t local = kData, uint32_t bytes = 0) {
        set(SIDRA_MGMT_FLASH_OFFSET, offset);
        set(SIDRA_MGMT_FLASH_LOCAL, local);
        set(SIDRA_MGMT_FLASH_BYTES, bytes);
        set(SIDRA_MGMT_FLASH_COMMAND, command);
        return get(SIDRA_MGMT_FLASH_RESULT);
    }
};

TEST(Flash, KeepsWhatIsProgrammed) {
    FlashBench bench;
    constexpr uint32_t kAt = SIDRA_MGMT_FLASH_SLOT(SIDRA_MGMT_SLOT_B) + 100;
    const auto data = pattern(SIDRA_MGMT_FLASH_SECTOR, 5);
    bench.put(Bench::kData, data);
    ASSERT_EQ(bench.flash(SIDRA_MGMT_FLASH_PROGRAM, kAt, Bench::kData, SIDRA_MGMT_FLASH_SECTOR), SIDRA_MGMT_OK);
    bench.unit.restart(SIDRA_BOOT_RESET);
    ASSERT_EQ(bench.flash(SIDRA_MGMT_FLASH_READ, kAt - 1, Bench::kData + 8192, SIDRA_MGMT_FLASH_SECTOR + 2),
              SIDRA_MGMT_OK);
    const auto read = bench.take(Bench::kData + 8192, SIDRA_MGMT_FLASH_SECTOR + 2);
    EXPECT_TRUE(std::equal(data.begin(), data.end(), read.begin() + 1));
    EXPECT_EQ(read.front(), 0xff);
    EXPECT_EQ(read.back(), 0xff);
}

TEST(Flash, BitsAreClearedAndSetByErasingOnly) {
    FlashBench bench;
    const auto program = [&](uint8_t byte) {
        bench.put(Bench::kData, {byte});
        ASSERT_EQ(bench.flash(SIDRA_MGMT_FLASH_PROGRAM, 4095, Bench::kData, 1), SIDRA_MGMT_OK);
    };
    program(0xf0);
    program(0x3c);
    EXPECT_EQ(bench.unit.flash().bytes()[4095], 0x30);
    ASSERT_EQ(bench.flash(SIDRA_MGMT_FLASH_ERASE, 4096), SIDRA_MGMT_OK);
    EXPECT_EQ(bench.unit.flash().bytes()[4095], 0x30);
    const uint64_t before = bench.unit.cycle();
    ASSERT_EQ(bench.flash(SIDRA_MGMT_FLASH_ERASE, 0), SIDRA_MGMT_OK);
    EXPECT_EQ(bench.unit.flash().bytes()[4095], 0xff);
    EXPECT_GT(bench.unit.cycle() - before, 1'000'000u) << "it takes milliseconds of the chip's time";
}

TEST(Flash, WhatCannotBeIsRefused) {
    FlashBench bench;
    constexpr uint32_t kRecovery = SIDRA_MGMT_FLASH_SLOT(SIDRA_MGMT_SLOT_RECOVERY);
    auto image = pattern(SIDRA_MGMT_FLASH_SIZE, 9);
    std::copy(image.begin(), image.end(), bench.unit.flash().bytes().begin());
    EXPECT_EQ(bench.flash(SIDRA_MGMT_FLASH_ERASE, kRecovery), SIDRA_MGMT_READ_ONLY);
    EXPECT_EQ(bench.flash(SIDRA_MGMT_FLASH_ERASE, SIDRA_MGMT_FLASH_SIZE - SIDRA_MGMT_FLASH_SECTOR),
              SIDRA_MGMT_READ_ONLY);
    EXPECT_EQ(bench.flash(SIDRA_MGMT_FLASH_PROGRAM, kRecovery - 1, Bench::kData, 2), SIDRA_MGMT_READ_ONLY);
    EXPECT_EQ(bench.flash(SIDRA_MGMT_FLASH_ERASE, 1), SIDRA_MGMT_BAD_RANGE);
    EXPECT_EQ(bench.flash(SIDRA_MGMT_FLASH_ERASE, SIDRA_MGMT_FLASH_SIZE), SIDRA_MGMT_BAD_RANGE);
    EXPECT_EQ(bench.flash(SIDRA_MGMT_FLASH_PROGRAM, 0, Bench::kData, SIDRA_MGMT_FLASH_SECTOR + 1),
              SIDRA_MGMT_BAD_RANGE);
    EXPECT_EQ(bench.flash(SIDRA_MGMT_FLASH_READ, 0, SIDRA_MGMT_ROM, 1), SIDRA_MGMT_BAD_RANGE);
    for (const uint32_t command : {SIDRA_MGMT_FLASH_READ, SIDRA_MGMT_FLASH_PROGRAM}) {
        EXPECT_EQ(bench.flash(command, 0, Bench::kData, 0), SIDRA_MGMT_BAD_RANGE);
        EXPECT_EQ(bench.flash(command, 0, Bench::kData, ~0u), SIDRA_MGMT_BAD_RANGE);
        EXPECT_EQ(bench.flash(command, SIDRA_MGMT_FLASH_SIZE - 1, Bench::kData, 2), SIDRA_MGMT_BAD_RANGE);
        EXPECT_EQ(bench.flash(command, ~0u, Bench::kData, 2), SIDRA_MGMT_BAD_RANGE);
        EXPECT_EQ(bench.flash(command, 0, SIDRA_MGMT_RAM + SIDRA_MGMT_RAM_SIZE - 1, 2), SIDRA_MGMT_BAD_RANGE);
    }
    EXPECT_EQ(bench.flash(0, 0, Bench::kData, 1), SIDRA_MGMT_BAD_COMMAND);
    EXPECT_TRUE(std::equal(image.begin(), image.end(), bench.unit.flash().bytes().begin()));
}

}  // namespace
}  // namespace sidra::test
