// SPDX-License-Identifier: MIT
// A management core whose program performs single accesses on request of a test.
#ifndef SIDRA_TESTS_MANAGEMENT_BENCH_H
#define SIDRA_TESTS_MANAGEMENT_BENCH_H

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <optional>
#include <vector>

#include "assembler.h"
#include "unit.h"

namespace sidra::test {

// Memory from kBase on, and the state of the interrupts.
struct HostMemory final : management::Surroundings {
    static constexpr uint64_t kBase = 0x1'2345'6000;
    bool read_host(uint64_t bus, std::span<uint8_t> to) override {
        if (!has(bus, to.size())) return false;
        std::copy_n(bytes.begin() + static_cast<long>(bus - kBase), to.size(), to.begin());
        return true;
    }
    bool write_host(uint64_t bus, std::span<const uint8_t> from) override {
        if (!has(bus, from.size())) return false;
        std::copy(from.begin(), from.end(), bytes.begin() + static_cast<long>(bus - kBase));
        return true;
    }
    void interrupt_host(uint32_t cause) override { interrupts.push_back(cause); }
    bool has(uint64_t bus, size_t size) const { return bus >= kBase && bus - kBase + size <= bytes.size(); }

    std::vector<uint8_t> bytes = std::vector<uint8_t>(1 << 18);
    std::vector<uint32_t> interrupts;
};

struct Bench {
    static constexpr uint32_t kData = SIDRA_MGMT_RAM + 256;
    // Programs in the ROM: each does one thing and waits.
    enum Program : uint32_t {
        kTrap = 0x40,
        kLoad = 0x80,
        kLoadByte = 0xa0,
        kStore = 0xc0,
        kStoreHalf = 0xe0,
        kIdle = 0x100
    };

    Bench() : unit(program(), host) {}

    static std::vector<uint8_t> program() {
        std::vector<uint32_t> words(0x200 / 4, kNop);
        const auto put = [&](Program at, uint32_t instruction) {
            words[at / 4] = instruction;
            words[at / 4 + 1] = kWfi;
            words[at / 4 + 2] = jal(zero, -4);
        };
        put(kTrap, csrrs(t2, 0x342, zero));  // mcause
        put(kLoad, lw(a1, a0, 0));
        put(kLoadByte, i_type(0x03, 4, a1, a0, 0));
        put(kStore, sw(a1, a0, 0));
        put(kStoreHalf, s_type(1, a1, a0, 0));
        put(kIdle, addi(s0, s0, 1));
        words[0] = jal(zero, kIdle);
        std::vector<uint8_t> bytes(words.size() * 4);
        std::memcpy(bytes.data(), words.data(), bytes.size());
        return bytes;
    }

    core::State& state() { return unit.core().state(); }
    // Runs this program until it waits. Returns mcause if it trapped.
    std::optional<uint32_t> execute(Program from) {
        state().waiting = 0;
        state().pc = from;
        state().mtvec = kTrap;
        state().x[t2] = ~0u;
        unit.run(unit.cycle() + 100);
        if (state().x[t2] == ~0u) return {};
        return state().x[t2];
    }
    std::optional<uint32_t> store(uint32_t address, uint32_t value, Program how = kStore) {
        state().x[a0] = address;
        state().x[a1] = value;
        return execute(how);
    }
    std::optional<uint32_t> load(uint32_t address, uint32_t* value, Program how = kLoad) {
        state().x[a0] = address;
        const auto trap = execute(how);
        *value = state().x[a1];
        return trap;
    }
    // An access that must succeed.
    uint32_t get(uint32_t address) {
        uint32_t value = 0;
        EXPECT_FALSE(load(address, &value)) << std::hex << address;
        return value;
    }
    void set(uint32_t address, uint32_t value) { EXPECT_FALSE(store(address, value)) << std::hex << address; }
    void set_wide(uint32_t address, uint64_t value) {
        set(address, static_cast<uint32_t>(value));
        set(address + 4, static_cast<uint32_t>(value >> 32));
    }
    uint32_t interrupts() const { return static_cast<uint32_t>(host.interrupts.size()); }

    void put(uint32_t address, const std::vector<uint8_t>& bytes) { ASSERT_TRUE(unit.core().write(address, bytes)); }
    std::vector<uint8_t> take(uint32_t address, size_t size) {
        std::vector<uint8_t> bytes(size);
        EXPECT_TRUE(unit.core().read(address, bytes));
        return bytes;
    }

    HostMemory host;
    management::Unit unit;
};

}  // namespace sidra::test

#endif
