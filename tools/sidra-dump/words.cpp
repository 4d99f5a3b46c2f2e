// SPDX-License-Identifier: MIT
#include "words.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>

#include "sidra_boot.h"
#include "sidra_cmd.h"
#include "sidra_hw.h"

namespace sidra::dump {
namespace {

template <class Names>
std::string name_in(const Names& names, uint64_t number, std::string_view what) {
    return number < std::size(names) && names[number] != nullptr ? names[number] : fmt::format("unknown {}", what);
}

// Exceptions, by "The RISC-V Instruction Set Manual, Volume II".
constexpr const char* kExceptions[] = {"instruction address misaligned",
                                       "instruction access fault",
                                       "illegal instruction",
                                       "breakpoint",
                                       "load address misaligned",
                                       "load access fault",
                                       "store address misaligned",
                                       "store access fault",
                                       nullptr,
                                       nullptr,
                                       nullptr,
                                       "environment call"};
constexpr uint32_t kIllegal = 2, kBreakpoint = 3, kLastAddress = 7;
constexpr uint32_t kInterrupt = 1u << 31;

constexpr const char* kFaults[] = {"none",
                                   "unknown opcode",
                                   "field value not allowed",
                                   "address or stride misaligned",
                                   "beyond a limit",
                                   "address not mapped",
                                   "no permission for the page",
                                   "the host refused the DMA",
                                   "no such weights",
                                   "no permission for the weights",
                                   "weights not programmed",
                                   "data out of range",
                                   "CALL inside a CALL",
                                   "not allowed in this kind of queue",
                                   "the queue that it waited for does not exist",
                                   "invalid write index",
                                   "packet damaged in transfer",
                                   "no progress",
                                   "reset on request",
                                   "the work that it waited for failed or was dropped",
                                   "vector program refused"};
static_assert(std::size(kFaults) == SIDRA_FAULT_COUNT);

constexpr const char* kOpcodes[] = {"INVALID", "NOP",    "BARRIER", "SEM_WAIT", "SEM_SIGNAL", "TIMESTAMP", "COPY",
                                    "FILL",    "MVM",    nullptr,   "PROGRAM",  "READBACK",   "CALL",      "LABEL",
                                    "VECTOR",  "MATMUL", "LAYER",   "POOL",     "SORT"};
static_assert(std::size(kOpcodes) == SIDRA_CMD_OPCODE_COUNT);

constexpr const char* kRunStates[] = {"idle", "running", "stopped", "faulted", "lost"};
constexpr const char* kKinds[] = {"user queue", "kernel queue"};

}  // namespace

const std::array<const char*, 32> kRegisterNames = {
    "zero", "ra", "sp", "gp", "tp", "t0", "t1", "t2", "s0", "s1", "a0",  "a1",  "a2", "a3", "a4", "a5",
    "a6",   "a7", "s2", "s3", "s4", "s5", "s6", "s7", "s8", "s9", "s10", "s11", "t3", "t4", "t5", "t6"};

std::string mcause_text(uint32_t mcause) {
    return mcause & kInterrupt ? fmt::format("interrupt {}", mcause & ~kInterrupt)
                               : name_in(kExceptions, mcause, "exception");
}

std::string mtval_text(uint32_t mcause, uint32_t mtval) {
    if (mcause == kIllegal) return mtval == 0 ? "" : "the instruction";
    return mcause <= kLastAddress && mcause != kBreakpoint ? "the address" : "";
}

std::string panic_text(uint32_t code) {
    const uint32_t detail = code & 0xffff;
    switch (code & ~uint32_t{0xffff}) {
        case SIDRA_PANIC_TRAP:
            return fmt::format("trap: {}", mcause_text(detail));
        case SIDRA_PANIC_SELF_TEST:
            return fmt::format("self-test {} failed", detail);
        case SIDRA_PANIC_ROM:
            return fmt::format("trap in the ROM: {}", mcause_text(detail));
        default:
            return code == 0 ? "none" : "unknown code";
    }
}

std::string version_text(uint32_t version) {
    return fmt::format("{}.{}.{}", version >> 24, version >> 16 & 0xff, version & 0xffff);
}

std::string stage_text(uint64_t status) {
    switch (status & SIDRA_STATUS_STAGE_MASK) {
        case SIDRA_STAGE_RESET:
            return "reset";
        case SIDRA_STAGE_ROM:
            return "ROM";
        case SIDRA_STAGE_VERIFY:
            return "verifying an image";
        case SIDRA_STAGE_CALIBRATE:
            return "calibrating";
        case SIDRA_STAGE_RECOVERY:
            return "recovery, no firmware";
        case SIDRA_STAGE_RUNTIME:
            return "firmware running";
        case SIDRA_STAGE_PANIC:
            return "firmware panic";
        default:
            return "unknown stage";
    }
}

std::string cause_text(std::string_view cause) {
    constexpr std::pair<std::string_view, const char*> kCauses[] = {
        {"queue-timeout", "a queue with work made no progress"},
        {"no-acknowledgement", "an admin command did not complete"},
        {"link-lost", "the chip stopped answering"},
        {"bus-error", "the bus reported an error (AER)"},
        {"reset-failed", "the chip was not ready after a reset"},
        {"isolated", "a fence was overdue, so the driver isolated the chip from memory"},
    };
    const auto found = std::ranges::find(kCauses, cause, &std::pair<std::string_view, const char*>::first);
    return found == std::end(kCauses) ? "unknown cause" : found->second;
}

std::string value_text(std::string_view name, uint64_t value) {
    if (name == "fault") return value == 0 ? "" : name_in(kFaults, value, "fault");
    if (name == "opcode") return name_in(kOpcodes, value, "opcode");
    if (name == "state") return name_in(kRunStates, value, "state");
    if (name == "kind") return name_in(kKinds, value, "kind");
    return "";
}

std::string printable(std::string_view text) {
    std::string out;
    for (const char c : text) {
        if (c >= 0x20 && c < 0x7f) out += c;
        else fmt::format_to(std::back_inserter(out), "\\x{:02x}", static_cast<unsigned char>(c));
    }
    return out;
}

}  // namespace sidra::dump
