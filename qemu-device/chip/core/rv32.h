// SPDX-License-Identifier: MIT
// The management core: RV32IM with Zicsr and Zifencei, machine mode only, as in "The RISC-V Instruction Set Manual",
// volume I 20191213 and volume II 20211203. An instruction is a cycle.
//
// Instructions are decoded once, when they are first met; what writes to memory drops what was decoded from it, so
// FENCE.I has nothing to do.
#ifndef SIDRA_CORE_RV32_H
#define SIDRA_CORE_RV32_H

#include <array>
#include <bit>
#include <cstdint>
#include <optional>
#include <set>
#include <span>
#include <vector>

namespace sidra::core {

static_assert(std::endian::native == std::endian::little, "memory of the core is read as it lies there");

// mcause of exceptions and, with the top bit set, interrupts; also the number of an interrupt's bit in mip and mie.
enum Cause : uint32_t {
    kFetchMisaligned = 0,
    kFetchFault = 1,
    kIllegal = 2,
    kBreakpoint = 3,
    kLoadMisaligned = 4,
    kLoadFault = 5,
    kStoreMisaligned = 6,
    kStoreFault = 7,
    kEnvironmentCall = 11,
};
enum Interrupt : uint32_t { kSoftware = 3, kTimer = 7, kExternal = 11 };

// All that outlives a call of run(), besides memory. Plain: it goes into saved states and crash dumps as it is.
struct State {
    uint32_t x[33];  // the last one takes what is written to x0
    uint32_t pc;
    uint32_t mstatus, mie, mip, mtvec, mscratch, mepc, mcause, mtval;
    uint32_t waiting;  // 1: in WFI, with nothing pending that mie enables
    uint32_t reserved;
    uint64_t cycles;  // since power-on
    uint64_t mcycle;  // what the register has more
    uint64_t minstret;
    uint32_t pmpaddr[8];
    uint8_t pmpcfg[8];
};

// What lies outside of memory. False: there is nothing (an access fault).
class Bus {
   public:
    virtual bool load(uint32_t address, uint32_t bytes, uint32_t* value) = 0;
    virtual bool store(uint32_t address, uint32_t bytes, uint32_t value) = 0;

   protected:
    ~Bus() = default;
};

// Base and size are multiples of kPage.
struct Range {
    uint32_t base, size;
};

// One thread at a time.
class Rv32 {
   public:
    static constexpr uint32_t kPage = 4096;  // grain of memory protection

    // `rom` is executed and read, RAM also written. Both are zero to begin with.
    Rv32(Range rom, Range ram, Bus& bus);

    // As after power-on, at the first word of the ROM. Memory stays.
    void reset();

    enum class Stop { kBudget, kWaiting, kBreakpoint, kWatchpoint };
    // Runs until `cycles` have passed (and on to the next branch), it waits for an interrupt, comes to a breakpoint, or
    // is behind an access that is watched.
    Stop run(uint64_t cycles);
    // One instruction, or the entry into a trap; breakpoints do not count.
    void step();
    // From within a bus access: run() ends with it.
    void end_slice() { budget_ends_ = true; }

    // Levels of the three lines.
    void set_pending(Interrupt which, bool level);

    State& state() { return state_; }
    const State& state() const { return state_; }
    // After the state has been replaced.
    void state_changed() { protection_changed(); }

    // Memory as others see it: false where there is none of that much. The ROM is written this way only.
    bool read(uint32_t address, std::span<uint8_t> to) const;
    bool write(uint32_t address, std::span<const uint8_t> from);

    bool in_rom(uint32_t address) const { return rom_.contains(address); }

    void set_breakpoint(uint32_t address, bool on);

    // Accesses by the program, of memory or of what lies outside of it. The page slows down, others do not.
    struct Watchpoint {
        enum : uint8_t { kWrites = 1, kReads = 2 };
        uint32_t address, bytes;
        uint8_t accesses;
        bool operator==(const Watchpoint&) const = default;
    };
    void set_watchpoint(const Watchpoint& watchpoint, bool on);
    // That of the last run() or step(), if there was one.
    const std::optional<Watchpoint>& watched() const { return watched_; }

   private:
    struct Op {
        uint16_t code = 0;  // see rv32.cpp; 0: not decoded
        uint8_t rd = 0, rs1 = 0, rs2 = 0;
        int32_t imm = 0;  // a sum with pc, where it is one
    };
    struct Region {
        Range range;
        std::vector<uint8_t> bytes;
        std::vector<Op> ops;         // one a word, and the end
        std::vector<uint8_t> pages;  // rights, and whether there are ops
        bool contains(uint32_t address) const { return address - range.base < range.size; }
    };
    enum : uint8_t { kRead = 1, kWrite = 2, kExecute = 4, kHasOps = 8 };  // of a page
    struct Trap {
        uint32_t cause, value;
    };

    // From `first`, which lies in `region` or is an instruction apart, with the end behind it.
    Stop execute(Region* region, Op* first, int64_t budget);
    Region* region_of(uint32_t address);
    const Region* region_of(uint32_t address) const { return const_cast<Rv32*>(this)->region_of(address); }
    static Op decode(uint32_t instruction, uint32_t pc);
    Op decode_at(Region& region, uint32_t pc);
    void drop(Region& region, uint32_t offset, uint32_t bytes);

    // What the fast paths do not do. False: `trap_` says why.
    bool load_slow(uint32_t address, uint32_t bytes, uint32_t* value);
    bool store_slow(uint32_t address, uint32_t bytes, uint32_t value);
    bool refuse(Cause cause, uint32_t value);
    void look_at(uint32_t address, uint32_t bytes, uint8_t access);  // whether it is watched
    uint8_t watched_rights(uint32_t page) const;                     // that its fast paths must not have

    // False: there is no such register.
    bool read_csr(uint32_t number, uint32_t* value) const;
    void write_csr(uint32_t number, uint32_t value);
    void enter_trap(uint32_t cause, uint32_t value, uint32_t pc);
    void return_from_trap();
    bool interrupted() const;  // one is pending and enabled
    void take_interrupt();

    // Of memory protection, for machine mode: only locked entries bind it.
    uint8_t rights_at(uint32_t address) const;
    uint32_t pmp_address(uint32_t entry, bool napot) const;
    void protection_changed();
    bool locked(uint32_t entry) const;

    State state_{};
    Region rom_, ram_;
    Bus& bus_;
    Trap trap_{};
    bool budget_ends_ = false;
    std::set<uint32_t> breakpoints_;
    std::vector<Watchpoint> watchpoints_;
    std::optional<Watchpoint> watched_;
};

}  // namespace sidra::core

#endif
