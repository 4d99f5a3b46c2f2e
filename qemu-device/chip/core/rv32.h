// SPDX-License-Identifier: MIT
// The management core: RV32IM with Zicsr and Zifencei, machine mode only, as in "The RISC-V Instruction Set Manual",
// volume I 20191213 and volume II 20211203. Each instruction takes one cycle.
//
// Instructions are decoded once, when they are first executed. A write to memory discards what was decoded from it, so
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

// All state besides memory. It is a plain struct that is copied into saved states and crash dumps.
struct State {
    uint32_t x[33];  // the last one receives writes to x0
    uint32_t pc;
    uint32_t mstatus, mie, mip, mtvec, mscratch, mepc, mcause, mtval;
    uint32_t waiting;  // 1: in WFI, with nothing pending that mie enables
    uint32_t reserved;
    uint64_t cycles;  // since power-on
    uint64_t mcycle;  // offset of the register mcycle from `cycles`
    uint64_t minstret;
    uint32_t pmpaddr[8];
    uint8_t pmpcfg[8];
};

// Accesses outside of memory. False means an access fault.
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

    // The ROM can be read and executed, RAM also written. Both are zero at first.
    Rv32(Range rom, Range ram, Bus& bus);

    // Resets the core to the first word of the ROM, as at power-on. Memory keeps its content.
    void reset();

    enum class Stop { kBudget, kWaiting, kBreakpoint, kWatchpoint };
    // Runs until `cycles` have passed (and then to the next branch), or until the core waits for an interrupt, reaches
    // a breakpoint, or has made an access that a watchpoint matches.
    Stop run(uint64_t cycles);
    // Executes one instruction, or enters a trap; ignores breakpoints.
    void step();
    // Called from within a bus access: run() returns after it.
    void end_slice() { budget_ends_ = true; }

    // Sets the level of an interrupt line.
    void set_pending(Interrupt which, bool level);

    State& state() { return state_; }
    const State& state() const { return state_; }
    // Must be called after the state was replaced.
    void state_changed() { protection_changed(); }

    // Access to memory from outside the core; false if the range is not all memory. Only this can write the ROM.
    bool read(uint32_t address, std::span<uint8_t> to) const;
    bool write(uint32_t address, std::span<const uint8_t> from);

    bool in_rom(uint32_t address) const { return rom_.contains(address); }

    void set_breakpoint(uint32_t address, bool on);

    // Matches accesses by the program, to memory and to the bus. Only accesses to its page become slower.
    struct Watchpoint {
        enum : uint8_t { kWrites = 1, kReads = 2 };
        uint32_t address, bytes;
        uint8_t accesses;
        bool operator==(const Watchpoint&) const = default;
    };
    void set_watchpoint(const Watchpoint& watchpoint, bool on);
    // The match of the last run() or step(), if there was one.
    const std::optional<Watchpoint>& watched() const { return watched_; }

   private:
    struct Op {
        uint16_t code = 0;  // see rv32.cpp; 0: not decoded
        uint8_t rd = 0, rs1 = 0, rs2 = 0;
        int32_t imm = 0;  // for pc-relative instructions the sum with pc
    };
    struct Region {
        Range range;
        std::vector<uint8_t> bytes;
        std::vector<Op> ops;         // one per word, and an end marker
        std::vector<uint8_t> pages;  // access rights, and whether ops exist
        bool contains(uint32_t address) const { return address - range.base < range.size; }
    };
    enum : uint8_t { kRead = 1, kWrite = 2, kExecute = 4, kHasOps = 8 };  // of a page
    struct Trap {
        uint32_t cause, value;
    };

    // Executes from `first` on, which lies in `region` or is a single instruction with an end marker behind it.
    Stop execute(Region* region, Op* first, int64_t budget);
    Region* region_of(uint32_t address);
    const Region* region_of(uint32_t address) const { return const_cast<Rv32*>(this)->region_of(address); }
    static Op decode(uint32_t instruction, uint32_t pc);
    Op decode_at(Region& region, uint32_t pc);
    void drop(Region& region, uint32_t offset, uint32_t bytes);

    // Accesses that the fast paths do not handle. False: `trap_` has the reason.
    bool load_slow(uint32_t address, uint32_t bytes, uint32_t* value);
    bool store_slow(uint32_t address, uint32_t bytes, uint32_t value);
    bool refuse(Cause cause, uint32_t value);
    void look_at(uint32_t address, uint32_t bytes, uint8_t access);  // records a watchpoint that matches
    uint8_t watched_rights(uint32_t page) const;  // rights to remove from the fast paths of a watched page

    // False if there is no such register.
    bool read_csr(uint32_t number, uint32_t* value) const;
    void write_csr(uint32_t number, uint32_t value);
    void enter_trap(uint32_t cause, uint32_t value, uint32_t pc);
    void return_from_trap();
    bool interrupted() const;  // an enabled interrupt is pending
    void take_interrupt();

    // The rights by memory protection in machine mode, which only locked entries restrict.
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
