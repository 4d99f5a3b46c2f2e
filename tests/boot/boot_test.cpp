// SPDX-License-Identifier: MIT
// The shipped boot ROM on the core: which image it starts and which it refuses.
#include "machine.h"

namespace sidra::test {
namespace {

constexpr uint32_t kA = SIDRA_MGMT_SLOT_A, kB = SIDRA_MGMT_SLOT_B, kRecovery = SIDRA_MGMT_SLOT_RECOVERY;

TEST(Boot, StartsWhatIsInSlotA) {
    Machine machine;
    machine.fill(kA, Image(Program::kRuns, 0x01020003).image());
    while (machine.unit.run(machine.unit.cycle() + 10'000) != management::Unit::kNever) {
    }
    const uint64_t took = machine.unit.cycle();
    ASSERT_EQ(machine.running(), kA);
    const sidra_boot_info info = machine.info();
    EXPECT_EQ(info.size, sizeof info);
    EXPECT_EQ(info.trial, 0u);
    EXPECT_EQ(info.reason, uint32_t{SIDRA_BOOT_POWER_ON});
    EXPECT_EQ(info.version, 0x01020003u);
    EXPECT_EQ(info.security_version, 7u);
    EXPECT_EQ(machine.unit.core().state().x[a0], SIDRA_BOOT_INFO);
    EXPECT_LT(took, 5'000'000u) << "50 ms of the chip's time";
    EXPECT_TRUE(machine.interrupts.empty());
    EXPECT_EQ(machine.unit.security_version(), 0u) << "only who confirms raises it";
}

TEST(Boot, NobodyAtHome) {
    Machine machine;
    machine.settle();
    EXPECT_EQ(machine.unit.stage(), SIDRA_STAGE_RECOVERY);
    EXPECT_EQ(machine.unit.panic(), 0u);
    EXPECT_TRUE(machine.unit.core().state().waiting) << "and costs nothing";
}

TEST(Boot, ACoreThatHangsInTheRomStartsAnew) {
    Machine machine;
    machine.fill(kA, Image().image());
    machine.unit.run(machine.unit.cycle() + 10'000, 1'000);
    ASSERT_EQ(machine.running(), std::nullopt);
    machine.unit.hang();
    machine.settle();
    EXPECT_EQ(machine.running(), kA);
    EXPECT_EQ(machine.info().reason, uint32_t{SIDRA_BOOT_WATCHDOG});
}

TEST(Boot, ZerosWhereTheImageExpectsThem) {
    Machine machine;
    Image image;
    put(image.header, kAtRamSize, 0x8000, 4);
    image.more.push_back({4, Bytes(1000, 0x5a)});  // log strings, which are placed there
    machine.fill(kA, image.image());
    machine.settle();
    ASSERT_EQ(machine.running(), kA);
    Bytes rest(0x8000 - image.payload.size());
    ASSERT_TRUE(machine.unit.core().read(SIDRA_BOOT_RAM_BEGIN + static_cast<uint32_t>(image.payload.size()), rest));
    EXPECT_EQ(rest, Bytes(rest.size()));
}

// ---- What is refused, and by which of the checks ----

struct Refusal {
    const char* name;
    sidra_image_result result;
    Bytes image;
};

Bytes with_field(size_t at, uint64_t value) {
    Image image;
    put(image.header, at, value, 4);
    return image.image();
}
Bytes damaged(size_t at) {
    Bytes image = Image().image();
    image.at(at) ^= 0x10;
    return image;
}
Bytes with_tlvs_behind_ram() {
    Image image;
    const auto load = static_cast<uint32_t>(SIDRA_BOOT_RAM_END - image.payload.size() - 8);
    put(image.header, kAtLoad, load, 4);
    put(image.header, kAtEntry, load, 4);
    put(image.header, kAtRamSize, image.payload.size(), 4);
    put(image.header, kAtStackSize, 0, 4);
    return image.image();
}
Bytes of_another_key() {
    Image image;
    image.seed.fill(0x42);
    return image.image();
}

std::vector<Refusal> refusals() {
    return {{"transfer", SIDRA_IMAGE_HEADER_CRC, damaged(kAtVersion)},
            {"corruption", SIDRA_IMAGE_DIGEST, damaged(kHeader + 1)},
            {"authenticity", SIDRA_IMAGE_UNTRUSTED_KEY, of_another_key()},
            {"rollback", SIDRA_IMAGE_ROLLBACK, with_field(kAtSecurityVersion, 4)},
            {"nothing", SIDRA_IMAGE_MAGIC, Bytes(300, 0xff)},
            {"chip", SIDRA_IMAGE_CHIP, with_field(kAtChip, 0x5932)},
            {"type", SIDRA_IMAGE_TYPE, with_field(kAtType, SIDRA_FW_RECOVERY)},
            {"interface", SIDRA_IMAGE_API, with_field(kAtApi, 2u << 16)},
            {"at the ROM", SIDRA_IMAGE_LOAD_ADDRESS, with_field(kAtLoad, 0)},
            {"below RAM", SIDRA_IMAGE_LOAD_ADDRESS, with_field(kAtLoad, SIDRA_BOOT_RAM_BEGIN - 8)},
            {"behind RAM", SIDRA_IMAGE_LOAD_ADDRESS, with_field(kAtLoad, 0xfffffff8)},
            {"at its end", SIDRA_IMAGE_RAM_SIZE, with_field(kAtLoad, SIDRA_BOOT_RAM_END - 8)},
            {"TLVs behind RAM", SIDRA_IMAGE_RAM_SIZE, with_tlvs_behind_ram()},
            {"larger than RAM", SIDRA_IMAGE_RAM_SIZE, with_field(kAtRamSize, 0xfffffff8)},
            {"entry", SIDRA_IMAGE_ENTRY, with_field(kAtEntry, SIDRA_MGMT_ROM)}};
}

TEST(Boot, WhatIsNotRightDoesNotStart) {
    for (const Refusal& refusal : refusals()) {
        SCOPED_TRACE(refusal.name);
        Machine machine;
        machine.unit.raise_security_version(5);
        machine.fill(kA, refusal.image);
        machine.fill(kB, Image().image());
        machine.settle();
        ASSERT_EQ(machine.running(), kB) << "the other slot";
        EXPECT_EQ(machine.info().result[kA], uint32_t{refusal.result});
        EXPECT_EQ(machine.info().result[kB], uint32_t{SIDRA_IMAGE_OK});
        EXPECT_EQ(machine.newest()->active, kB);
    }
}

TEST(Boot, AnImageThatClaimsToBeHugeIsNotRead) {
    for (const size_t field : {kAtImageSize, kAtTlvSize}) {
        Machine machine;
        Bytes image = Image().image();
        put(image, field, 0xfffffff8, 4);
        repair(image);
        machine.fill(kA, image);
        machine.settle();
        EXPECT_EQ(machine.unit.stage(), SIDRA_STAGE_RECOVERY);
        EXPECT_EQ(machine.unit.panic(), 0u);
    }
}

TEST(Boot, ThenTheRecoveryImageThenNobody) {
    Machine machine;
    Image recovery;
    put(recovery.header, kAtType, SIDRA_FW_RECOVERY, 4);
    machine.fill(kA, damaged(kHeader));
    machine.fill(kRecovery, recovery.image());
    machine.settle();
    EXPECT_EQ(machine.running(), kRecovery);
    EXPECT_EQ(machine.info().result[kA], uint32_t{SIDRA_IMAGE_DIGEST});
    EXPECT_EQ(machine.info().result[kB], uint32_t{SIDRA_IMAGE_MAGIC});
    machine.fill(kRecovery, damaged(kHeader));
    machine.boot();
    EXPECT_EQ(machine.running(), std::nullopt);
    EXPECT_EQ(machine.unit.stage(), SIDRA_STAGE_RECOVERY);
    machine.fill(kB, Image().image());
    machine.boot();
    EXPECT_EQ(machine.running(), kB) << "as soon as there is one";
}

// ---- Attempts ----

TEST(Attempts, ThreeWithoutASignOfLifeAreEnough) {
    Machine machine;
    machine.fill(kA, Image(Program::kRuns, 1).image());
    machine.fill(kB, Image(Program::kRuns, 2).image());
    for (uint32_t i = 0; i < SIDRA_BOOT_ATTEMPTS; i++) {
        machine.boot();
        EXPECT_EQ(machine.running(), kA);
        EXPECT_EQ(machine.newest()->attempts, i + 1);
    }
    machine.boot();
    EXPECT_EQ(machine.running(), kB);
    EXPECT_EQ(machine.newest()->active, kB);
}

TEST(Attempts, AreForgivenWhoIsWell) {
    Machine machine;
    machine.fill(kA, Image().image());
    for (uint32_t i = 0; i < Machine::kRecords + 10; i++) {  // more records than there is room for
        machine.boot();
        ASSERT_EQ(machine.running(), kA) << i;
        machine.all_is_well();
    }
    EXPECT_EQ(machine.newest()->sequence, Machine::kRecords + 10);
}

TEST(Attempts, AnImageThatRestartsForEverMakesWay) {
    Machine machine;
    machine.fill(kA, Image(Program::kRestarts).image());
    machine.fill(kB, Image().image());
    machine.settle();
    EXPECT_EQ(machine.running(), kB);
    EXPECT_EQ(machine.info().reason, uint32_t{SIDRA_BOOT_WATCHDOG});
}

TEST(Attempts, ATrapBeforeThereIsAHandlerIsAPanicOfTheRom) {
    Machine machine;
    machine.fill(kA, Image(Program::kTraps).image());
    machine.fill(kB, Image().image());
    while (machine.unit.panic() == 0) machine.unit.run(machine.unit.cycle() + 10'000);
    EXPECT_EQ(machine.unit.panic(), SIDRA_PANIC_ROM | core::kIllegal);
    EXPECT_EQ(machine.unit.stage(), SIDRA_STAGE_PANIC);
    machine.settle();
    EXPECT_EQ(machine.running(), kB);
    EXPECT_EQ(machine.info().reason, uint32_t{SIDRA_BOOT_PANIC});
}

TEST(Attempts, AnImageThatHangsBeforeItHasAWatchdogMakesWay) {
    Machine machine;
    machine.fill(kA, Image(Program::kHangs).image());
    machine.fill(kB, Image().image());
    machine.settle();
    EXPECT_EQ(machine.running(), kB);
    EXPECT_EQ(machine.info().reason, uint32_t{SIDRA_BOOT_WATCHDOG});
    EXPECT_GT(machine.unit.cycle(),
              uint64_t{SIDRA_BOOT_ATTEMPTS} * SIDRA_BOOT_GRACE_MS * 1'000'000 / SIDRA_MGMT_CYCLE_NS);
}

// ---- Trials ----

// Two images, of which that in slot B is to be tried next.
void prepare_trial(Machine& machine) {
    machine.fill(kA, Image(Program::kRuns, 1).image());
    machine.fill(kB, Image(Program::kRuns, 2).image());
    machine.store({.sequence = 1, .active = kA, .trial = kB});
}

// It is on trial, and has said nothing yet.
void start_trial(Machine& machine) {
    prepare_trial(machine);
    machine.boot(SIDRA_BOOT_UPDATE);
    ASSERT_EQ(machine.running(), kB);
    EXPECT_EQ(machine.info().trial, 1u);
    EXPECT_EQ(machine.newest()->active, kA);
}

TEST(Trial, OnceAndBackIfItEndsItself) {
    for (const sidra_boot_reason reason : {SIDRA_BOOT_WATCHDOG, SIDRA_BOOT_PANIC}) {
        Machine machine;
        start_trial(machine);
        machine.boot(reason);
        EXPECT_EQ(machine.running(), kA);
        EXPECT_EQ(machine.info().trial, 0u);
        EXPECT_EQ(machine.newest()->trial, SIDRA_BOOT_NO_SLOT);
        EXPECT_EQ(machine.newest()->failed, kB + 1);
    }
}

TEST(Trial, AgainIfItIsCutShortButNotForEver) {
    for (const sidra_boot_reason reason : {SIDRA_BOOT_POWER_ON, SIDRA_BOOT_RESET, SIDRA_BOOT_UPDATE}) {
        Machine machine;
        start_trial(machine);
        for (uint32_t starts = 1; starts < SIDRA_BOOT_ATTEMPTS; starts++) {
            machine.boot(reason);
            EXPECT_EQ(machine.running(), kB);
            EXPECT_EQ(machine.info().trial, 1u);
        }
        machine.boot(reason);
        EXPECT_EQ(machine.running(), kA);
        EXPECT_EQ(machine.newest()->trial, SIDRA_BOOT_NO_SLOT);
    }
}

// A panic of the previous image is not charged to this one.
TEST(Trial, AfterAPanicOfTheOneBefore) {
    Machine machine;
    prepare_trial(machine);
    machine.boot(SIDRA_BOOT_PANIC);
    EXPECT_EQ(machine.running(), kB);
}

TEST(Trial, OfWhatIsDamagedIsNone) {
    Machine machine;
    machine.fill(kA, Image().image());
    machine.fill(kB, damaged(kHeader));
    machine.store({.sequence = 1, .active = kA, .trial = kB});
    machine.boot(SIDRA_BOOT_UPDATE);
    EXPECT_EQ(machine.running(), kA);
    EXPECT_EQ(machine.info().result[kB], uint32_t{SIDRA_IMAGE_DIGEST});
    EXPECT_EQ(machine.newest()->trial, SIDRA_BOOT_NO_SLOT);
}

TEST(Trial, ThatRestartsOrHangsIsOver) {
    for (const Program program : {Program::kRestarts, Program::kHangs}) {
        Machine machine;
        machine.fill(kA, Image().image());
        machine.fill(kB, Image(program).image());
        machine.store({.sequence = 1, .active = kA, .trial = kB});
        machine.boot(SIDRA_BOOT_UPDATE);
        EXPECT_EQ(machine.running(), kA);
    }
}

// ---- Records ----

TEST(Record, TheNewestWholeOneCounts) {
    Machine machine;
    machine.fill(kA, Image(Program::kRuns, 1).image());
    machine.fill(kB, Image(Program::kRuns, 2).image());
    machine.store({.place = 3, .sequence = 8, .active = kB});
    machine.store({.place = 4, .sequence = 9, .active = kA});
    machine.unit.flash().bytes()[SIDRA_MGMT_FLASH_RECORD + 4 * 64 + 8] ^= 1;  // interrupted by a power-off
    machine.boot();
    EXPECT_EQ(machine.running(), kB);
    EXPECT_EQ(machine.newest()->place, 5u) << "what was cut short is passed over";
}

TEST(Record, NumbersMayWrap) {
    Machine machine;
    machine.fill(kA, Image(Program::kRuns, 1).image());
    machine.fill(kB, Image(Program::kRuns, 2).image());
    machine.store({.place = 0, .sequence = ~0u, .active = kA});
    machine.store({.place = 1, .sequence = 0, .active = kB});
    machine.boot();
    EXPECT_EQ(machine.running(), kB);
}

TEST(Record, NonsenseIsNoRecord) {
    for (const Machine::Record& record :
         {Machine::Record{.active = 2}, Machine::Record{.active = ~0u}, Machine::Record{.trial = 2},
          Machine::Record{.trial = 0x80000000}, Machine::Record{.failed = 3}}) {
        Machine machine;
        machine.fill(kA, Image().image());
        machine.store(record);
        machine.boot();
        EXPECT_EQ(machine.running(), kA);
    }
}

// While a record is programmed: the first, one in the midst, those about the ends of sectors.
TEST(Record, PowerMayGoAtAnyByte) {
    Machine whole;
    whole.fill(kA, Image().image());
    const auto flash = whole.unit.flash().bytes();
    for (uint32_t n = 0; n < Machine::kRecords + 4; n++) {
        const Bytes before(flash.begin(), flash.begin() + 2 * SIDRA_MGMT_FLASH_SECTOR);
        whole.boot();
        ASSERT_EQ(whole.running(), kA) << n;
        const Bytes after(flash.begin(), flash.begin() + 2 * SIDRA_MGMT_FLASH_SECTOR);
        const uint32_t place = whole.newest()->place;
        const bool tried = n < 2 || n % 64 < 2 || n % 64 > 61;
        for (const uint32_t cut : {1u, 17u, 63u}) {  // as if only this many bytes had been programmed
            if (!tried) break;
            Machine machine;
            machine.fill(kA, Image().image());
            Bytes torn = after;
            std::fill(torn.begin() + place * 64 + cut, torn.begin() + place * 64 + 64, uint8_t{0xff});
            if (n > 0 && place % 64 != 0)
                ASSERT_TRUE(std::equal(before.begin(), before.begin() + place * 64, torn.begin()));
            std::copy(torn.begin(), torn.end(), machine.unit.flash().bytes().begin());
            const auto last = machine.newest();
            machine.settle();
            ASSERT_EQ(machine.running(), kA) << n << ", " << cut;
            ASSERT_EQ(machine.newest()->sequence, (last ? last->sequence : 0) + 1);
        }
        whole.all_is_well();
    }
}

}  // namespace
}  // namespace sidra::test
