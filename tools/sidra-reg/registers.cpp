// SPDX-License-Identifier: MIT
#include "registers.h"

#include <fmt/format.h>
#include <strings.h>

#include <algorithm>
#include <array>

#include "sidra_reg.h"

namespace sidra::reg {
namespace {

#define ENTRY(name, bytes, access) Register{#name, SIDRA_REG_##name, bytes, Access::access},
constexpr std::array kRegisters = {SIDRA_REGISTERS(ENTRY)};
#undef ENTRY

struct Bit {
    uint64_t mask;
    std::string_view name;
};
constexpr std::array kStatusBits = {Bit{SIDRA_STATUS_READY, "ready"}, Bit{SIDRA_STATUS_FATAL, "fatal"},
                                    Bit{SIDRA_STATUS_FIRMWARE_ALIVE, "firmware alive"},
                                    Bit{SIDRA_STATUS_THROTTLED, "throttled"}, Bit{SIDRA_STATUS_STOPPED, "stopped"}};
constexpr std::array kInterruptBits = {Bit{SIDRA_INT_ADMIN, "admin"},     Bit{SIDRA_INT_FAULT, "fault"},
                                       Bit{SIDRA_INT_MAILBOX, "mailbox"}, Bit{SIDRA_INT_FIRMWARE, "firmware"},
                                       Bit{SIDRA_INT_THERMAL, "thermal"}, Bit{SIDRA_INT_TEST, "test"}};
constexpr std::array kFeatureBits = {Bit{SIDRA_FEATURE_FIRMWARE, "firmware"},
                                     Bit{SIDRA_FEATURE_STATE_FILE, "state file"}, Bit{SIDRA_FEATURE_TRACE, "trace"}};

std::string bits(uint64_t value, std::span<const Bit> known) {
    std::string words;
    for (const Bit& bit : known) {
        if ((value & bit.mask) == 0) continue;
        words += words.empty() ? "" : ", ";
        words += bit.name;
    }
    return words.empty() ? "none" : words;
}

std::string_view stage(uint64_t value) {
    switch (value & SIDRA_STATUS_STAGE_MASK) {
        case SIDRA_STAGE_RESET:
            return "reset";
        case SIDRA_STAGE_ROM:
            return "ROM";
        case SIDRA_STAGE_VERIFY:
            return "verify";
        case SIDRA_STAGE_CALIBRATE:
            return "calibrate";
        case SIDRA_STAGE_RECOVERY:
            return "recovery (no firmware)";
        case SIDRA_STAGE_RUNTIME:
            return "runtime";
        case SIDRA_STAGE_PANIC:
            return "panic";
        default:
            return "unknown";
    }
}

std::string_view boot_reason(uint64_t value) {
    constexpr std::array<std::string_view, 5> kReasons = {"power-on", "reset", "watchdog", "panic", "update"};
    return value < kReasons.size() ? kReasons[value] : "unknown";
}

}  // namespace

std::span<const Register> registers() { return kRegisters; }

const Register* find_register(std::string_view name) {
    const auto* found = std::find_if(kRegisters.begin(), kRegisters.end(), [&](const Register& known) {
        return known.name.size() == name.size() && strncasecmp(known.name.data(), name.data(), name.size()) == 0;
    });
    return found != kRegisters.end() ? found : nullptr;
}

std::string decode(const Register& known, uint64_t value) {
    const uint64_t low = value & 0xffff;
    const uint64_t high = value >> 16;
    switch (known.offset) {
        case SIDRA_REG_ID:
            return value == SIDRA_ID_MAGIC ? "SIDRA" : value == 0xffffffff ? "link lost" : "not a SIDRA chip";
        case SIDRA_REG_HW_VERSION:
            return fmt::format("{}.{}", high, low);
        case SIDRA_REG_FEATURES:
            return bits(value, kFeatureBits);
        case SIDRA_REG_GEOMETRY0:
            return fmt::format("{} clusters of {} CUs", low, high);
        case SIDRA_REG_GEOMETRY1:
            return fmt::format("{} crossbars per CU", value);
        case SIDRA_REG_GEOMETRY2:
            return fmt::format("{} rows, {} columns", low, high);
        case SIDRA_REG_LIMITS0:
            return fmt::format("{} contexts, {} queues", low, high);
        case SIDRA_REG_LIMITS1:
            return fmt::format("{} queues per context, {} vectors", low, high);
        case SIDRA_REG_L1_SIZE:
        case SIDRA_REG_L2_SIZE:
        case SIDRA_REG_L3_SIZE:
        case SIDRA_REG_NVM_SIZE:
            return fmt::format("{} KiB", value / 1024);
        case SIDRA_REG_STATUS:
            return fmt::format("stage {}; {}", stage(value), bits(value, kStatusBits));
        case SIDRA_REG_BOOT_REASON:
            return std::string(boot_reason(value));
        case SIDRA_REG_CLOCK:
            return fmt::format("{:.6f} s", static_cast<double>(value) * 1e-9);
        case SIDRA_REG_CONTROL:
            return value & SIDRA_CONTROL_ENABLE ? "enabled" : "disabled";
        case SIDRA_REG_INT_STATUS:
        case SIDRA_REG_INT_ENABLE:
            return bits(value, kInterruptBits);
        case SIDRA_REG_ADMIN_STATUS:
            return fmt::format("tag {}, result {}{}", high, value & SIDRA_ADMIN_RESULT_MASK,
                               value & SIDRA_ADMIN_BUSY ? ", busy" : "");
        default:
            return {};
    }
}

}  // namespace sidra::reg
