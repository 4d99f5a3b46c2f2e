// SPDX-License-Identifier: MIT
// The core as programs see it: memory, traps, interrupts, control registers, protection, slices.
#include <gtest/gtest.h>

#include <random>

#include "assembler.h"
#include "machine.h"

namespace sidra::test {
namespace {

using core::Rv32;
using Stop = Rv32::Stop;

constexpr uint32_t kMstatus = 0x300, kMie = 0x304, kMtvec = 0x305, kMepc = 0x341, kMcause = 0x342, kMip = 0x344,
                   kPmpcfg0 = 0x3a0, kPmpaddr0 = 0x3b0, kMcycle = 0xb00, kMinstret = 0xb02, kMcycleh = 0xb80;
constexpr uint32_t kEnabled = 1u << 3, kHandler = 0x100;

class Execute : public testing::Test {
   protected:
    // A program at the start of the ROM.
    void run(const std::vector<uint32_t>& program, uint64_t cycles = 1000) {
        machine.put(0, program);
        machine.core.run(cycles);
    }
    core::State& state() { return machine.core.state(); }
    void expect_trap(uint32_t cause, uint32_t value, uint32_t pc) {
        EXPECT_EQ(state().mcause, cause);
        EXPECT_EQ(state().mtval, value);
        EXPECT_EQ(state().mepc, pc);
    }
    Machine machine;
};

TEST_F(Execute, SumsUp) {
    // a0 = 1 + 2 + ... + 100, then waits for ever.
    run({addi(a0, zero, 0), addi(a1, zero, 100), add(a0, a0, a1), addi(a1, a1, -1), bne(a1, zero, -8), kWfi,
         jal(zero, -4)});
    EXPECT_EQ(machine.x(a0), 5050u);
    EXPECT_EQ(state().waiting, 1u);
    EXPECT_EQ(state().minstret, 2 + 3 * 100u + 1);
    EXPECT_EQ(state().cycles, state().minstret);
    EXPECT_EQ(machine.core.run(1000), Stop::kWaiting);
    EXPECT_EQ(state().cycles, 303u) << "who waits does not pay";
}

TEST_F(Execute, MemoryOfEachSizeWithItsSign) {
    machine.put(kRam.base, {0x8081f2f3});
    machine.x(s0) = kRam.base;
    run({i_type(3, 0, a0, s0, 1), i_type(3, 1, a1, s0, 2), i_type(3, 4, a2, s0, 3), i_type(3, 5, a3, s0, 0),
         lw(a4, s0, 0), s_type(0, a4, s0, 4), s_type(1, a4, s0, 10), sw(a4, s0, 12), kWfi});
    EXPECT_EQ(machine.x(a0), 0xfffffff2u);
    EXPECT_EQ(machine.x(a1), 0xffff8081u);
    EXPECT_EQ(machine.x(a2), 0x80u);
    EXPECT_EQ(machine.x(a3), 0xf2f3u);
    EXPECT_EQ(machine.x(a4), 0x8081f2f3u);
    EXPECT_EQ(machine.word(kRam.base + 4), 0xf3u);
    EXPECT_EQ(machine.word(kRam.base + 8), 0xf2f30000u);
    EXPECT_EQ(machine.word(kRam.base + 12), 0x8081f2f3u);
}

TEST_F(Execute, RegistersOfDevicesInOrderAndInTheirSize) {
    machine.device.words[kDevice + 8] = 0x11223344;
    machine.x(s0) = kDevice;
    machine.x(s1) = 0xa1b2c3d4;
    run({lw(a0, s0, 8), i_type(3, 4, a1, s0, 9), sw(s1, s0, 4), s_type(0, s1, s0, 16), kWfi});
    EXPECT_EQ(machine.x(a0), 0x11223344u);
    EXPECT_EQ(machine.x(a1), 0x33u);
    EXPECT_EQ(machine.device.loads, 2);
    EXPECT_EQ(machine.device.stores,
              (std::vector<Device::Store>{{kDevice + 4, 4, 0xa1b2c3d4}, {kDevice + 16, 1, 0xd4}}));
}

// Every invalid access and the trap that reports it.
TEST_F(Execute, BadAccessesTrap) {
    struct Case {
        uint32_t instruction, cause, address;
    };
    machine.put(kHandler, {kWfi});
    for (const Case& one : {Case{lw(a0, s0, 2), core::kLoadMisaligned, kRam.base + 2},
                            {i_type(3, 1, a0, s0, 1), core::kLoadMisaligned, kRam.base + 1},
                            {sw(a0, s0, 3), core::kStoreMisaligned, kRam.base + 3},
                            {s_type(1, a0, s0, -1), core::kStoreMisaligned, kRam.base - 1},
                            {lw(a0, s0, -4), core::kLoadFault, kRam.base - 4},
                            {sw(a0, s0, -4), core::kStoreFault, kRam.base - 4},
                            {sw(a0, zero, 0x200), core::kStoreFault, 0x200},  // the ROM
                            {jalr(ra, s0, 2), core::kFetchMisaligned, kRam.base + 2},
                            {jal(ra, 6), core::kFetchMisaligned, 6},
                            {beq(zero, zero, 10), core::kFetchMisaligned, 10},
                            {kEcall, core::kEnvironmentCall, 0},
                            {kEbreak, core::kBreakpoint, 0}}) {
        machine.core.reset();
        state().mtvec = kHandler;
        machine.x(s0) = kRam.base;
        machine.x(a0) = machine.x(ra) = 77;
        run({one.instruction});
        expect_trap(one.cause, one.address, 0);
        EXPECT_EQ(state().pc, kHandler + 4);
        EXPECT_EQ(machine.x(a0), 77u);
        EXPECT_EQ(machine.x(ra), 77u);
        EXPECT_EQ(state().minstret, 1u) << "only the handler's";
        EXPECT_EQ(state().cycles, 2u);
    }
    EXPECT_TRUE(machine.device.stores.empty());
}

TEST_F(Execute, JumpsToNowhereTrapThere) {
    state().mtvec = kHandler;
    machine.put(kHandler, {kWfi});
    machine.x(s0) = 0x20000000;
    run({jalr(ra, s0, 4)});
    expect_trap(core::kFetchFault, 0x20000004, 0x20000004);
    EXPECT_EQ(machine.x(ra), 4u) << "the jump itself was fine";
    // Off the end of the ROM.
    machine.core.reset();
    state().mtvec = kHandler;
    machine.put(kRom.size - 4, {kNop});
    state().pc = kRom.size - 4;
    machine.core.run(10);
    expect_trap(core::kFetchFault, kRom.size, kRom.size);
}

TEST_F(Execute, ATrapInTheHandlerDoesNotHang) {
    state().mtvec = 0x3000;  // zeros: illegal
    run({0});
    EXPECT_EQ(state().cycles, 1000u);
    expect_trap(core::kIllegal, 0, 0x3000);
    EXPECT_EQ(state().minstret, 0u);
}

TEST_F(Execute, WhatIsWrittenIsWhatRunsNext) {
    machine.put(kRam.base, {addi(a0, zero, 1), addi(a0, zero, 2), jalr(zero, ra, 0)});
    machine.x(s0) = kRam.base;
    machine.x(a1) = addi(a2, zero, 3);
    // Runs it, replaces its first instruction, runs it again.
    run({jalr(ra, s0, 0), sw(a1, s0, 0), jalr(ra, s0, 0), kWfi});
    EXPECT_EQ(machine.x(a0), 2u);
    EXPECT_EQ(machine.x(a2), 3u);
    machine.put(kRam.base + 4, {addi(a3, zero, 4)});  // from outside
    state().pc = state().waiting = 0;
    machine.core.run(100);
    EXPECT_EQ(machine.x(a3), 4u);
}

TEST_F(Execute, InterruptsByPriorityIntoTheirVectors) {
    machine.put(0, {kNop, jal(zero, -4)});
    for (const bool vectored : {false, true}) {
        machine.core.reset();
        state().mtvec = kHandler | vectored;
        state().mie = 1u << core::kSoftware | 1u << core::kTimer | 1u << core::kExternal;
        for (const auto line : {core::kTimer, core::kSoftware, core::kExternal}) machine.core.set_pending(line, true);
        machine.core.step();
        EXPECT_EQ(state().pc, 4u) << "not enabled as a whole";
        for (const auto line : {core::kExternal, core::kSoftware, core::kTimer}) {
            state().mstatus |= kEnabled;
            const uint32_t pc = machine.pc();
            machine.core.step();
            EXPECT_EQ(state().mcause, 1u << 31 | line);
            EXPECT_EQ(state().mepc, pc);
            EXPECT_EQ(state().mtval, 0u);
            EXPECT_EQ(state().pc, kHandler + (vectored ? 4 * line : 0));
            EXPECT_EQ(state().mstatus & kEnabled, 0u) << "not again, in the handler";
            machine.core.set_pending(line, false);
        }
    }
}

TEST_F(Execute, AHandlerReturnsWhereItCameFrom) {
    state().mtvec = kHandler;
    // The handler counts in s1; a write to the device's register clears the interrupt.
    machine.put(kHandler, {addi(s1, s1, 1), sw(zero, s0, 0), kMret});
    machine.x(s0) = kDevice;
    static Rv32* core;
    core = &machine.core;
    machine.device.on_store = [] { core->set_pending(core::kTimer, false); };
    state().mie = 1u << core::kTimer;
    state().mstatus |= kEnabled;
    machine.put(0, {addi(a0, a0, 1), jal(zero, -4)});
    machine.core.run(100);
    machine.core.set_pending(core::kTimer, true);
    const uint32_t before = machine.x(a0);
    machine.core.run(100);
    EXPECT_EQ(machine.x(s1), 1u);
    EXPECT_EQ(state().mstatus & kEnabled, kEnabled);
    EXPECT_EQ(machine.x(a0), before + 49) << "100 cycles, less 3 of the handler";
}

TEST_F(Execute, WaitingEndsWithWhatIsEnabledAtTheSource) {
    state().mtvec = kHandler;
    run({kWfi, addi(a0, zero, 1), kWfi});
    EXPECT_EQ(machine.core.run(100), Stop::kWaiting);
    machine.core.set_pending(core::kTimer, true);
    EXPECT_EQ(machine.core.run(100), Stop::kWaiting) << "mie does not name it";
    state().mie = 1u << core::kTimer;
    machine.core.set_pending(core::kTimer, true);
    machine.core.run(1);
    EXPECT_EQ(machine.x(a0), 1u) << "goes on behind, without a trap: mstatus says no";
    EXPECT_EQ(state().mcause, 0u);
}

TEST_F(Execute, ControlRegistersKeepWhatTheyCan) {
    struct Case {
        uint32_t number, written, read;
    };
    for (const Case& one : {Case{kMstatus, ~0u, 0x1888},
                            {kMie, ~0u, 0x888},
                            {kMip, ~0u, 0},
                            {kMtvec, ~0u, ~2u},
                            {kMepc, ~0u, ~3u},
                            {kMcause, 0x12345678, 0x12345678},
                            {0x340, 0xcafe, 0xcafe},
                            {0x343, 0xbeef, 0xbeef},
                            {0x301, 0, 0x40001100},
                            {0x310, ~0u, 0},
                            {0x3a2, ~0u, 0},
                            {0x3b8, ~0u, 0},
                            {0xb03, ~0u, 0}}) {
        machine.core.reset();
        machine.x(a0) = one.written;
        run({csrrw(zero, one.number, a0), csrrs(a1, one.number, zero), kWfi});
        EXPECT_EQ(machine.x(a1), one.read) << std::hex << one.number;
    }
    machine.core.reset();
    machine.x(a0) = 0xf0;
    machine.x(a1) = 0x3c;
    run({csrrw(zero, 0x340, a0), csrrs(a2, 0x340, a1), csrrc(a3, 0x340, a0), csrrwi(a4, 0x340, 21),
         csrrs(a5, 0x340, zero), kWfi});
    EXPECT_EQ(machine.x(a2), 0xf0u);
    EXPECT_EQ(machine.x(a3), 0xfcu);
    EXPECT_EQ(machine.x(a4), 0x0cu);
    EXPECT_EQ(machine.x(a5), 21u);
}

TEST_F(Execute, CountersCountAndAreWritten) {
    machine.x(a0) = 1000;
    run({kNop, kNop, csrrs(a1, kMinstret, zero), csrrw(zero, kMinstret, a0), csrrs(a2, kMinstret, zero),
         csrrs(a3, kMcycle, zero), csrrw(zero, kMcycleh, a0), csrrs(a4, kMcycleh, zero), kWfi});
    EXPECT_EQ(machine.x(a1), 2u);
    EXPECT_EQ(machine.x(a2), 1000u);
    EXPECT_EQ(machine.x(a3), 5u);
    EXPECT_EQ(machine.x(a4), 1000u);
    EXPECT_EQ(state().cycles, 9u) << "device time is not the program's to write";
}

// ---- Protection ----

// Volume II, 3.7.1, for entries that are locked, in words of four bytes and without any grain.
bool allowed(const core::State& state, uint32_t address, uint8_t right) {
    for (uint32_t i = 0; i < 8; i++) {
        const uint32_t mode = state.pmpcfg[i] >> 3 & 3;
        uint64_t from = 0, to = 0;
        if (mode == 1) {
            from = i == 0 ? 0 : uint64_t{state.pmpaddr[i - 1] >> 10 << 10} * 4;
            to = uint64_t{state.pmpaddr[i] >> 10 << 10} * 4;
        } else if (mode == 3) {
            const uint64_t pattern = state.pmpaddr[i] | 0x1ff;
            uint64_t ones = 0;
            while (pattern >> ones & 1) ones++;
            from = (pattern >> ones << ones) * 4;
            to = from + (uint64_t{8} << ones);
        }
        if (address >= from && address < to) return !(state.pmpcfg[i] & 0x80) || (state.pmpcfg[i] & right);
    }
    return true;
}

TEST_F(Execute, ProtectionAgainstAnOracle) {
    std::minstd_rand random(7);
    const auto pick = [&] { return static_cast<uint32_t>(random()) ^ static_cast<uint32_t>(random()) << 16; };
    const uint32_t pages[] = {0x1000, kRam.base, kRam.base + 0x3000, kRam.base + 0x7000, kDevice};
    int refused = 0;
    for (int round = 0; round < 3000; round++) {
        machine.core.reset();
        for (uint32_t i = 0; i < 8; i++) {
            // Near existing memory: one of its pages, or a power of two from it.
            const uint32_t page = pages[pick() % std::size(pages)] >> 2;
            machine.x(t0 + (i & 1)) = pick() % 2 ? page | ((1u << pick() % 14) - 1) : page + (pick() % 5 << 10);
            machine.x(a0) = (pick() % 8) | (pick() % 4) << 3 | (pick() % 4 == 0 ? 0 : 0x80);
            machine.x(a0) <<= 8 * (i & 3);
            // By writing the control registers entry after entry; locked entries stay.
            machine.put(kRam.base + 0x100,
                        {csrrw(zero, kPmpaddr0 + i, t0 + (i & 1)), csrrs(zero, kPmpcfg0 + i / 4, a0)});
            state().pc = kRam.base + 0x100;
            machine.core.step();
            machine.core.step();
            if (state().mcause != 0) break;  // it has locked itself out
        }
        const uint32_t address = pages[pick() % std::size(pages)] + (pick() % 1024 << 2);
        const core::State rules = state();
        machine.x(s0) = address;
        state().mcause = 0;
        state().mtvec = 0;
        uint32_t cause = core::kFetchFault;
        uint8_t right = 4;
        if (const uint32_t what = pick() % 3; what == 0) {
            state().pc = address;
            if (address >= kDevice) continue;
            machine.put(address, {kNop});
        } else {
            if (what == 2 && address < kRom.size) continue;
            machine.put(0x3000, {what == 1 ? lw(a1, s0, 0) : sw(a1, s0, 0)});
            state().pc = 0x3000;
            if (!allowed(rules, 0x3000, 4)) continue;
            cause = what == 1 ? core::kLoadFault : core::kStoreFault;
            right = what == 1 ? 1 : 2;
        }
        machine.core.step();
        EXPECT_EQ(state().mcause, allowed(rules, address, right) ? 0 : cause) << "round " << round;
        refused += state().mcause != 0;
    }
    EXPECT_GT(refused, 200);
}

TEST_F(Execute, LockedEntriesStay) {
    machine.x(a0) = kRam.base >> 2 | 0x1ff;
    machine.x(a1) = 0x99 << 8;  // entry 1: locked, a power of two, read only
    run({csrrw(zero, kPmpaddr0 + 1, a0), csrrw(zero, kPmpcfg0, a1), csrrw(zero, kPmpaddr0 + 1, zero),
         csrrw(zero, kPmpcfg0, zero), csrrs(a2, kPmpaddr0 + 1, zero), csrrs(a3, kPmpcfg0, zero), kWfi});
    EXPECT_EQ(machine.x(a2), kRam.base >> 2 | 0x1ff);
    EXPECT_EQ(machine.x(a3), 0x9900u);
    machine.core.reset();
    run({csrrs(a3, kPmpcfg0, zero), kWfi});
    EXPECT_EQ(machine.x(a3), 0u) << "until reset";
}

// ---- Slices ----

// A program of arithmetic, memory and branches, always forward within itself, over and over.
std::vector<uint32_t> random_program(std::minstd_rand& random, uint32_t length) {
    std::vector<uint32_t> program;
    for (uint32_t i = 0; i + 1 < length; i++) {
        const auto r = [&] { return static_cast<uint32_t>(5 + random() % 11); };
        const auto ahead = static_cast<int32_t>(4 * (1 + random() % std::min(length - 1 - i, 8u)));
        switch (random() % 6) {
            case 0:
                program.push_back(r_type(random() % 2 ? 1 : 0, static_cast<uint32_t>(random() % 8), r(), r(), r()));
                break;
            case 1:
                program.push_back(
                    i_type(0x13, random() % 2 ? 0 : 4, r(), r(), static_cast<int32_t>(random() % 4096) - 2048));
                break;
            case 2:
                program.push_back(lw(r(), gp, static_cast<int32_t>(random() % 512 * 4)));
                break;
            case 3:
                program.push_back(sw(r(), gp, static_cast<int32_t>(random() % 500 * 4)));
                break;
            case 4:
                program.push_back(b_type(random() % 2 ? 4 : 1, r(), r(), ahead));
                break;
            case 5:
                program.push_back(auipc(r(), static_cast<uint32_t>(random()) << 12));
                break;
        }
    }
    program.push_back(jal(zero, -static_cast<int32_t>(4 * (length - 1))));
    return program;
}

TEST_F(Execute, InSlicesOfAnySizeAndStepByStepAllTheSame) {
    std::minstd_rand random(11);
    for (int round = 0; round < 20; round++) {
        const auto program = random_program(random, 100);
        Machine stepped, sliced;
        for (Machine* one : {&stepped, &sliced}) {
            one->put(0, program);
            for (uint32_t i = 5; i < 16; i++) one->x(i) = 0x9e3779b9u * (i + static_cast<uint32_t>(round));
            one->x(gp) = kRam.base;
        }
        while (sliced.core.state().cycles < 20'000) sliced.core.run(1 + random() % 1000);
        while (stepped.core.state().cycles < sliced.core.state().cycles) stepped.core.step();
        EXPECT_EQ(std::memcmp(&stepped.core.state(), &sliced.core.state(), sizeof(core::State)), 0);
        std::vector<uint8_t> a(kRam.size), b(kRam.size);
        EXPECT_TRUE(stepped.core.read(kRam.base, a) && sliced.core.read(kRam.base, b));
        EXPECT_EQ(a, b);
    }
}

TEST_F(Execute, BreakpointsStopBefore) {
    machine.put(0, {addi(a0, a0, 1), addi(a0, a0, 1), jal(zero, -8)});
    machine.core.set_breakpoint(4, true);
    EXPECT_EQ(machine.core.run(1000), Stop::kBreakpoint);
    EXPECT_EQ(machine.pc(), 4u);
    EXPECT_EQ(machine.x(a0), 1u);
    machine.core.step();
    EXPECT_EQ(machine.x(a0), 2u);
    EXPECT_EQ(machine.core.run(1000), Stop::kBreakpoint);
    EXPECT_EQ(machine.x(a0), 3u);
    machine.core.set_breakpoint(4, false);
    EXPECT_EQ(machine.core.run(1000), Stop::kBudget);
}

TEST_F(Execute, ABusAccessCanEndTheSlice) {
    machine.x(s0) = kDevice;
    static Rv32* core;
    core = &machine.core;
    machine.device.on_store = [] { core->end_slice(); };
    machine.put(0, {sw(zero, s0, 0), jal(zero, -4)});
    EXPECT_EQ(machine.core.run(1000), Stop::kBudget);
    EXPECT_EQ(state().cycles, 1u);
    EXPECT_EQ(machine.pc(), 4u);
}

TEST_F(Execute, AccessFromOutsideKnowsTheEnds) {
    uint8_t bytes[8] = {};
    EXPECT_TRUE(machine.core.read(kRam.base + kRam.size - 8, bytes));
    EXPECT_FALSE(machine.core.read(kRam.base + kRam.size - 4, bytes));
    EXPECT_FALSE(machine.core.write(kRam.base + kRam.size - 4, bytes));
    EXPECT_FALSE(machine.core.write(kDevice, bytes));
    EXPECT_TRUE(machine.core.write(kRom.size - 8, bytes));
}

}  // namespace
}  // namespace sidra::test
