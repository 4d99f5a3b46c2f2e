// SPDX-License-Identifier: MIT
// State, memory, protection, control registers, traps.
#include "rv32.h"

#include <algorithm>
#include <cstring>

namespace sidra::core {

namespace {

constexpr uint32_t kMie = 1u << 3, kMpie = 1u << 7, kMppMachine = 3u << 11;  // mstatus
constexpr uint32_t kInterrupts = 1u << kSoftware | 1u << kTimer | 1u << kExternal;
constexpr uint32_t kIsInterrupt = 1u << 31;
constexpr uint32_t kMisa = 1u << 30 | 1u << ('I' - 'A') | 1u << ('M' - 'A');

constexpr uint8_t kPmpRwx = 7, kPmpMode = 3 << 3, kPmpLock = 1 << 7;
enum : uint8_t { kPmpOff = 0 << 3, kPmpTor = 1 << 3, kPmpNa4 = 2 << 3, kPmpNapot = 3 << 3 };
constexpr uint32_t kGrainBits = 10;  // G of the manual: 2^(G + 2) bytes are a page

enum Csr : uint32_t {
    kMstatus = 0x300,
    kMisaNumber = 0x301,
    kMieNumber = 0x304,
    kMtvec = 0x305,
    kMcounteren = 0x306,
    kMstatush = 0x310,
    kMcountinhibit = 0x320,
    kMhpmevent3 = 0x323,
    kMhpmevent31 = 0x33f,
    kMscratch = 0x340,
    kMepc = 0x341,
    kMcause = 0x342,
    kMtval = 0x343,
    kMip = 0x344,
    kPmpcfg0 = 0x3a0,
    kPmpcfg1 = 0x3a1,
    kPmpcfg15 = 0x3af,
    kPmpaddr0 = 0x3b0,
    kPmpaddr7 = 0x3b7,
    kPmpaddr63 = 0x3ef,
    kMcycle = 0xb00,
    kMinstret = 0xb02,
    kMhpmcounter31 = 0xb1f,
    kMcycleh = 0xb80,
    kMinstreth = 0xb82,
    kMhpmcounter31h = 0xb9f,
    kMvendorid = 0xf11,
    kMconfigptr = 0xf15,
};

uint32_t high(uint64_t value) { return static_cast<uint32_t>(value >> 32); }
constexpr uint64_t kHigh = 0xffffffff00000000;

}  // namespace

Rv32::Rv32(Range rom, Range ram, Bus& bus) : bus_(bus) {
    for (auto [region, range] : {std::pair{&rom_, rom}, {&ram_, ram}}) {
        region->range = range;
        region->bytes.resize(range.size);
        region->ops.resize(range.size / 4 + 1);
        region->pages.resize(range.size / kPage);
    }
    reset();
}

void Rv32::reset() {
    state_ = {};
    state_.pc = rom_.range.base;
    state_.mstatus = kMppMachine;
    protection_changed();
}

void Rv32::set_pending(Interrupt which, bool level) {
    state_.mip = level ? state_.mip | 1u << which : state_.mip & ~(1u << which);
    if (state_.mip & state_.mie) state_.waiting = 0;
}

// ---- Memory ----

Rv32::Region* Rv32::region_of(uint32_t address) {
    return ram_.contains(address) ? &ram_ : rom_.contains(address) ? &rom_ : nullptr;
}

bool Rv32::read(uint32_t address, std::span<uint8_t> to) const {
    const Region* region = region_of(address);
    if (!region || to.size() > region->range.size - (address - region->range.base)) return false;
    std::copy_n(region->bytes.begin() + (address - region->range.base), to.size(), to.begin());
    return true;
}

bool Rv32::write(uint32_t address, std::span<const uint8_t> from) {
    Region* region = region_of(address);
    if (!region || from.size() > region->range.size - (address - region->range.base)) return false;
    const uint32_t offset = address - region->range.base;
    std::copy(from.begin(), from.end(), region->bytes.begin() + offset);
    drop(*region, offset, static_cast<uint32_t>(from.size()));
    return true;
}

void Rv32::drop(Region& region, uint32_t offset, uint32_t bytes) {
    for (const uint32_t end = offset + bytes; offset < end;) {
        const uint32_t page = offset / kPage, until = std::min(end, (page + 1) * kPage);
        if (region.pages[page] & kHasOps)
            std::fill(region.ops.begin() + offset / 4, region.ops.begin() + (until - 1) / 4 + 1, Op{});
        offset = until;
    }
}

bool Rv32::refuse(Cause cause, uint32_t value) {
    trap_ = {cause, value};
    return false;
}

bool Rv32::load_slow(uint32_t address, uint32_t bytes, uint32_t* value) {
    if (address % bytes != 0) return refuse(kLoadMisaligned, address);
    if (!(rights_at(address) & kRead)) return refuse(kLoadFault, address);
    *value = 0;
    if (const Region* region = region_of(address))
        std::memcpy(value, region->bytes.data() + (address - region->range.base), bytes);
    else if (!bus_.load(address, bytes, value)) return refuse(kLoadFault, address);
    if (!watchpoints_.empty()) look_at(address, bytes, Watchpoint::kReads);
    return true;
}

bool Rv32::store_slow(uint32_t address, uint32_t bytes, uint32_t value) {
    if (address % bytes != 0) return refuse(kStoreMisaligned, address);
    if (!(rights_at(address) & kWrite) || rom_.contains(address)) return refuse(kStoreFault, address);
    if (ram_.contains(address)) {
        const uint32_t offset = address - ram_.range.base;
        std::memcpy(ram_.bytes.data() + offset, &value, bytes);
        drop(ram_, offset, bytes);
    } else if (!bus_.store(address, bytes, value)) {
        return refuse(kStoreFault, address);
    }
    if (!watchpoints_.empty()) look_at(address, bytes, Watchpoint::kWrites);
    return true;
}

void Rv32::look_at(uint32_t address, uint32_t bytes, uint8_t access) {
    for (const Watchpoint& w : watchpoints_) {
        const uint64_t begin = address, end = begin + bytes, watch_end = uint64_t{w.address} + w.bytes;
        if (!(w.accesses & access) || begin >= watch_end || end <= w.address) continue;
        watched_ = w;
        budget_ends_ = true;
    }
}

// ---- Protection ----

bool Rv32::locked(uint32_t entry) const { return state_.pmpcfg[entry] & kPmpLock; }

// Bits below the grain read as ones for a naturally aligned power-of-two region, else as zeros.
uint32_t Rv32::pmp_address(uint32_t entry, bool napot) const {
    constexpr uint32_t kHidden = (1u << kGrainBits) - 1;
    return napot ? state_.pmpaddr[entry] | kHidden >> 1 : state_.pmpaddr[entry] & ~kHidden;
}

uint8_t Rv32::rights_at(uint32_t address) const {
    const uint32_t word = address >> 2;
    for (uint32_t i = 0; i < std::size(state_.pmpcfg); i++) {
        const uint8_t config = state_.pmpcfg[i];
        bool matches = false;
        if ((config & kPmpMode) == kPmpTor) {
            matches = word >= (i == 0 ? 0 : pmp_address(i - 1, false)) && word < pmp_address(i, false);
        } else if ((config & kPmpMode) == kPmpNapot) {
            const uint32_t pattern = pmp_address(i, true);
            const uint32_t span =
                pattern ^ (pattern + 1);  // the bits up to and including the lowest zero are not compared
            matches = ((word ^ pattern) & ~span) == 0;
        }
        if (matches) return config & kPmpLock ? config & kPmpRwx : kRead | kWrite | kExecute;
    }
    return kRead | kWrite | kExecute;
}

void Rv32::protection_changed() {
    for (Region* region : {&rom_, &ram_}) {
        drop(*region, 0, region->range.size);
        for (uint32_t page = 0; page < region->pages.size(); page++)
            region->pages[page] = rights_at(region->range.base + page * kPage) &
                                  static_cast<uint8_t>(~watched_rights(region->range.base + page * kPage));
    }
}

// ---- Control registers ----

bool Rv32::read_csr(uint32_t number, uint32_t* value) const {
    if (number >= kPmpcfg0 && number <= kPmpcfg15) {
        *value = 0;
        if (number <= kPmpcfg1) std::memcpy(value, state_.pmpcfg + 4 * (number - kPmpcfg0), 4);
        return true;
    }
    if (number >= kPmpaddr0 && number <= kPmpaddr63) {
        *value = 0;
        if (number > kPmpaddr7) return true;
        const uint32_t entry = number - kPmpaddr0;
        *value = pmp_address(entry, (state_.pmpcfg[entry] & kPmpMode) == kPmpNapot);
        return true;
    }
    switch (number) {
        case kMstatus:
            *value = state_.mstatus;
            return true;
        case kMisaNumber:
            *value = kMisa;
            return true;
        case kMieNumber:
            *value = state_.mie;
            return true;
        case kMtvec:
            *value = state_.mtvec;
            return true;
        case kMscratch:
            *value = state_.mscratch;
            return true;
        case kMepc:
            *value = state_.mepc;
            return true;
        case kMcause:
            *value = state_.mcause;
            return true;
        case kMtval:
            *value = state_.mtval;
            return true;
        case kMip:
            *value = state_.mip;
            return true;
        case kMcycle:
            *value = static_cast<uint32_t>(state_.mcycle + state_.cycles);
            return true;
        case kMcycleh:
            *value = high(state_.mcycle + state_.cycles);
            return true;
        case kMinstret:
            *value = static_cast<uint32_t>(state_.minstret);
            return true;
        case kMinstreth:
            *value = high(state_.minstret);
            return true;
    }
    // These registers exist and always read zero: identification, hart 0, event counters.
    *value = 0;
    return number == kMstatush || number == kMcountinhibit || (number >= kMhpmevent3 && number <= kMhpmevent31) ||
           (number > kMinstret && number <= kMhpmcounter31) || (number > kMinstreth && number <= kMhpmcounter31h) ||
           (number >= kMvendorid && number <= kMconfigptr);
}

void Rv32::write_csr(uint32_t number, uint32_t value) {
    const uint64_t cycle = state_.mcycle + state_.cycles;
    switch (number) {
        case kMstatus:
            state_.mstatus = (value & (kMie | kMpie)) | kMppMachine;
            return;
        case kMieNumber:
            state_.mie = value & kInterrupts;
            return;
        case kMtvec:
            state_.mtvec = value & ~2u;
            return;  // direct, vectored
        case kMscratch:
            state_.mscratch = value;
            return;
        case kMepc:
            state_.mepc = value & ~3u;
            return;
        case kMcause:
            state_.mcause = value;
            return;
        case kMtval:
            state_.mtval = value;
            return;
        case kMcycle:
            state_.mcycle = ((cycle & kHigh) | value) - state_.cycles;
            return;
        case kMcycleh:
            state_.mcycle = ((cycle & ~kHigh) | uint64_t{value} << 32) - state_.cycles;
            return;
        case kMinstret:
            state_.minstret = (state_.minstret & kHigh) | value;
            return;
        case kMinstreth:
            state_.minstret = (state_.minstret & ~kHigh) | uint64_t{value} << 32;
            return;
    }
    if (number == kPmpcfg0 || number == kPmpcfg1) {
        for (uint32_t i = 0; i < 4; i++) {
            const uint32_t entry = 4 * (number - kPmpcfg0) + i;
            uint8_t config = static_cast<uint8_t>(value >> (8 * i)) & (kPmpRwx | kPmpMode | kPmpLock);
            if ((config & kPmpMode) == kPmpNa4) config &= ~kPmpMode;  // smaller than the grain
            if ((config & 3) == kWrite) config &= ~kPmpRwx;           // reserved: written, not read
            if (!locked(entry)) state_.pmpcfg[entry] = config;
        }
        protection_changed();
        return;
    }
    if (number >= kPmpaddr0 && number <= kPmpaddr7) {
        const uint32_t entry = number - kPmpaddr0, next = entry + 1;
        const bool begins_next = next < std::size(state_.pmpcfg) && (state_.pmpcfg[next] & kPmpMode) == kPmpTor;
        if (!locked(entry) && !(begins_next && locked(next))) state_.pmpaddr[entry] = value & 0x3fffffff;
        // An entry that is not in effect yet needs no update.
        if ((state_.pmpcfg[entry] & kPmpMode) != kPmpOff || begins_next) protection_changed();
    }
    // The other registers are read-only.
}

// ---- Traps ----

void Rv32::enter_trap(uint32_t cause, uint32_t value, uint32_t pc) {
    state_.mepc = pc;
    state_.mcause = cause;
    state_.mtval = value;
    state_.mstatus = kMppMachine | (state_.mstatus & kMie ? kMpie : 0);
    const bool vectored = (state_.mtvec & 1) && (cause & kIsInterrupt);
    state_.pc = (state_.mtvec & ~3u) + (vectored ? 4 * (cause & ~kIsInterrupt) : 0);
}

bool Rv32::interrupted() const { return (state_.mip & state_.mie) && (state_.mstatus & kMie); }

void Rv32::take_interrupt() {
    const uint32_t pending = state_.mip & state_.mie;
    const uint32_t which = pending & 1u << kExternal ? kExternal : pending & 1u << kSoftware ? kSoftware : kTimer;
    enter_trap(kIsInterrupt | which, 0, state_.pc);
}

void Rv32::return_from_trap() {
    state_.mstatus = kMppMachine | kMpie | (state_.mstatus & kMpie ? kMie : 0);
    state_.pc = state_.mepc;
}

uint8_t Rv32::watched_rights(uint32_t page) const {
    uint8_t rights = 0;
    for (const Watchpoint& w : watchpoints_) {
        if (w.address >= uint64_t{page} + kPage || uint64_t{w.address} + w.bytes <= page) continue;
        if (w.accesses & Watchpoint::kWrites) rights |= kWrite;
        if (w.accesses & Watchpoint::kReads) rights |= kRead;
    }
    return rights;
}

void Rv32::set_watchpoint(const Watchpoint& watchpoint, bool on) {
    const auto place = std::find(watchpoints_.begin(), watchpoints_.end(), watchpoint);
    if (on == (place != watchpoints_.end())) return;
    if (on) watchpoints_.push_back(watchpoint);
    else watchpoints_.erase(place);
    protection_changed();
}

void Rv32::set_breakpoint(uint32_t address, bool on) {
    if (on) breakpoints_.insert(address);
    else breakpoints_.erase(address);
    if (Region* region = region_of(address)) drop(*region, address - region->range.base, 1);
}

}  // namespace sidra::core
