// SPDX-License-Identifier: MIT
// A management core with the boot ROM, and flash as a test fills it.
#ifndef SIDRA_TESTS_BOOT_MACHINE_H
#define SIDRA_TESTS_BOOT_MACHINE_H

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <map>
#include <optional>

#include "assembler.h"
#include "factory/factory.h"
#include "image/image.h"
#include "sidra_boot.h"
#include "unit.h"
#include "writer.h"

namespace sidra::test {

// Behaviour of a test image once it runs.
enum class Program {
    kRuns,      // reports RUNTIME and waits
    kHangs,     // the same, with the ROM's watchdog still running
    kRestarts,  // reports RUNTIME and restarts the core, as a watchdog would
    kTraps,     // executes an illegal instruction
};

inline Bytes code(Program program) {
    std::vector<uint32_t> words = {lui(t0, SIDRA_MGMT_SYSTEM_ID), addi(t1, zero, SIDRA_STAGE_RUNTIME),
                                   sw(t1, t0, SIDRA_MGMT_SYSTEM_STAGE & 0xfff)};
    if (program == Program::kRestarts) {
        words.push_back(addi(t1, zero, SIDRA_BOOT_WATCHDOG));
        words.push_back(sw(t1, t0, SIDRA_MGMT_SYSTEM_RESTART & 0xfff));
    }
    if (program == Program::kTraps) words.push_back(0);
    if (program == Program::kRuns) {
        words.push_back(lui(t0, SIDRA_MGMT_WATCHDOG_PERIOD));
        words.push_back(sw(zero, t0, SIDRA_MGMT_WATCHDOG_PERIOD & 0xfff));
    }
    words.push_back(kWfi);
    words.push_back(jal(zero, -4));
    while (words.size() % 2) words.push_back(0);
    Bytes bytes(words.size() * 4);
    std::memcpy(bytes.data(), words.data(), bytes.size());
    return bytes;
}

// Signed by the key that the ROM trusts.
struct Image : Writer {
    explicit Image(Program program = Program::kRuns, uint32_t version = 1) {
        payload = code(program);
        put(header, kAtLoad, SIDRA_BOOT_RAM_BEGIN, 4);
        put(header, kAtEntry, SIDRA_BOOT_RAM_BEGIN, 4);
        put(header, kAtVersion, version, 4);
        const Bytes development = from_hex(SIDRA_TEST_SEED);
        std::copy(development.begin(), development.end(), seed.begin());
    }
};

struct Machine final : management::Surroundings {
    // Memory of the host's, from kHost on.
    static constexpr uint64_t kHost = 0x2'0000'0000;
    bool read_host(uint64_t bus, std::span<uint8_t> to) override {
        if (bus < kHost || bus - kHost + to.size() > host.size()) return false;
        std::memcpy(to.data(), &host[bus - kHost], to.size());
        return true;
    }
    bool write_host(uint64_t bus, std::span<const uint8_t> from) override {
        if (bus < kHost || bus - kHost + from.size() > host.size()) return false;
        std::memcpy(&host[bus - kHost], from.data(), from.size());
        return true;
    }
    void interrupt_host(uint32_t cause) override { interrupts.push_back(cause); }

    void fill(uint32_t slot, const Bytes& image) {
        std::copy(image.begin(), image.end(), unit.flash().bytes().begin() + SIDRA_MGMT_FLASH_SLOT(slot));
    }
    // Until everybody waits.
    void boot(sidra_boot_reason reason = SIDRA_BOOT_RESET) {
        unit.restart(reason);
        settle();
    }
    void settle() {
        for (int i = 0; i < 1000 && unit.run(unit.cycle() + 1'000'000, 1'000'000) != management::Unit::kNever; i++) {
        }
    }
    sidra_boot_info info() {
        sidra_boot_info found{};
        uint8_t bytes[sizeof found];
        EXPECT_TRUE(unit.core().read(SIDRA_BOOT_INFO, bytes));
        std::memcpy(&found, bytes, sizeof found);
        return found;
    }
    // The slot whose image runs; nullopt if none does.
    std::optional<uint32_t> running() {
        if (unit.stage() != SIDRA_STAGE_RUNTIME) return {};
        EXPECT_EQ(info().magic, SIDRA_BOOT_INFO_MAGIC);
        return info().slot;
    }

    // ---- The boot record, as its description says ----

    static constexpr uint32_t kRecords = SIDRA_MGMT_FLASH_RECORDS * SIDRA_MGMT_FLASH_SECTOR / 64;
    Bytes at(uint32_t place) {
        const auto begin = unit.flash().bytes().begin() + SIDRA_MGMT_FLASH_RECORD + place * 64;
        return {begin, begin + 64};
    }
    static bool whole(const Bytes& record) {
        return get(record, 0, 4) == SIDRA_BOOT_RECORD_MAGIC && get(record, 60, 4) == crc32(std::span(record).first(60));
    }
    struct Record {
        uint32_t place = 0, sequence = 0, active = 0, trial = SIDRA_BOOT_NO_SLOT, tried = 0, attempts = 0, failed = 0;
    };
    std::optional<Record> newest() {
        std::optional<Record> found;
        for (uint32_t place = 0; place < kRecords; place++) {
            const Bytes bytes = at(place);
            if (!whole(bytes)) continue;
            const auto word = [&](size_t n) { return static_cast<uint32_t>(get(bytes, 4 * n, 4)); };
            if (!found || word(1) > found->sequence)
                found = Record{place, word(1), word(2), word(3), word(4), word(5), word(6)};
        }
        return found;
    }
    void store(const Record& record) {
        Bytes bytes(64);
        const uint32_t words[] = {SIDRA_BOOT_RECORD_MAGIC, record.sequence, record.active, record.trial, record.tried,
                                  record.attempts,         record.failed};
        for (size_t i = 0; i < std::size(words); i++) put(bytes, 4 * i, words[i], 4);
        put(bytes, 60, crc32(std::span(bytes).first(60)), 4);
        std::copy(bytes.begin(), bytes.end(),
                  unit.flash().bytes().begin() + SIDRA_MGMT_FLASH_RECORD + record.place * 64);
    }
    // Confirms the image, as a healthy one does.
    void all_is_well() {
        Record record = newest().value_or(Record{});
        record.attempts = 0;
        store(record);
    }

    management::Unit unit{{sidra_boot_rom, sidra_boot_rom_end}, *this};
    std::vector<uint32_t> interrupts;
    Bytes host = Bytes(1 << 20);
};

}  // namespace sidra::test

#endif
