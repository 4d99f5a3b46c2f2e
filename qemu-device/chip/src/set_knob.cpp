// SPDX-License-Identifier: MIT
// Fault knobs: each goes to the part that it concerns.
#include <new>

#include "chip.h"
#include "float_environment.h"

namespace sidra::chip {
namespace {

// Accepts a 32-bit value with or without sign extension.
bool is_s32(uint64_t value) {
    return value == static_cast<uint64_t>(int64_t{static_cast<int32_t>(value)}) || value <= UINT32_MAX;
}

}  // namespace

bool Chip::set_knob(uint32_t knob, uint64_t value) {
    const engine::FloatEnvironment floats;
    switch (knob) {
        case SIDRA_KNOB_DMA_ERROR_AT:
            bus_.error_at.store(value);
            return true;
        case SIDRA_KNOB_LOSE_MSIX:
            knobs_.lose_msix.store(value);
            return true;
        case SIDRA_KNOB_SPURIOUS_MSIX:
            if (value >= SIDRA_MSIX_VECTORS) return false;
            interrupts_.raise(static_cast<unsigned>(value));
            return true;
        case SIDRA_KNOB_CORRUPT_FETCH:
            knobs_.corrupt_fetch.store(value);
            return true;
        case SIDRA_KNOB_SLOW_TILE_NS:
            if (value > 1'000'000'000) return false;
            knobs_.slow_tile_ns.store(value);
            return true;
        case SIDRA_KNOB_TEMPERATURE_MC:
            if (!is_s32(value) || !management::Power::is_temperature(static_cast<int32_t>(value))) return false;
            if (array_.analog()) array_.analog()->clock().set_temperature(static_cast<int32_t>(value), clock_.now_ns());
            management_.set_around(static_cast<int32_t>(value));
            wakeups_.kick();
            return true;
        case SIDRA_KNOB_AGE_S:
            if (!array_.analog() || !array_.analog()->clock().age(value, clock_.now_ns())) return false;
            try {
                if (keeper_.has_file()) sync();  // aging is requested only once, so it must be durable
            } catch (const std::bad_alloc&) {    // the cells have aged nevertheless
            }
            return true;
        case SIDRA_KNOB_ADC_OFFSET:
            if (!is_s32(value)) return false;
            adcs_.set_offset(static_cast<int32_t>(value));
            return true;
        case SIDRA_KNOB_STUCK_CELL: {
            if (stream_.loading()) return false;  // stuck cells come with the saved chip
            if (value == ~uint64_t{0}) {
                const bool kept = array_.clear_stuck();
                tell_failure();
                return kept;
            }
            const auto xbar = static_cast<uint32_t>(value >> 32);
            if (xbar >= array_.xbars() || (value & 0xff00)) return false;
            const bool kept = array_.set_stuck(xbar, value >> 24 & 255, value >> 16 & 255, value & 255);
            tell_failure();
            return kept;
        }
        case SIDRA_KNOB_LIE:
            if (value >= SIDRA_LIE_COUNT) return false;
            knobs_.lie.store(static_cast<uint32_t>(value));
            return true;
        case SIDRA_KNOB_FIRMWARE_HANG:
        case SIDRA_KNOB_FIRMWARE_PANIC:
            if (value != 1) return false;
            if (knob == SIDRA_KNOB_FIRMWARE_HANG) management_.hang();
            else management_.crash();
            wakeups_.kick();
            return true;
        case SIDRA_KNOB_LINK_LOST:
        case SIDRA_KNOB_NO_QUIESCE_ACK:
        case SIDRA_KNOB_STALL: {
            if (value > (knob == SIDRA_KNOB_NO_QUIESCE_ACK ? 3u : 1u)) return false;
            if (knob == SIDRA_KNOB_NO_QUIESCE_ACK) knobs_.no_quiesce_ack.store(static_cast<uint32_t>(value));
            else (knob == SIDRA_KNOB_LINK_LOST ? bus_.link_lost : knobs_.stall).store(value != 0);
            admin_.poke();
            wakeups_.kick();
            return true;
        }
        default:
            return false;
    }
}

}  // namespace sidra::chip
