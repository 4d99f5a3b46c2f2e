// SPDX-License-Identifier: MIT
#include "chip_stream.h"

#include <utility>

#include "cells_chunk.h"
#include "chunks.h"

namespace sidra::chip {
namespace {

constexpr uint32_t kVersion = 6;
constexpr uint32_t kHead = chunk_tag("SDRA");
// A part of a precopy begins with the first; the second says that what was sent of a crossbar counts no more.
constexpr uint32_t kPrecopy = chunk_tag("SDPC"), kBlank = chunk_tag("BLNK");

}  // namespace

bool ChipStream::save(WriteBytes write, void* opaque) {
    parts_.in_flight.settle();
    const KeptState& kept = parts_.kept_state;
    const Array& array = parts_.array;
    Precopy& progress = parts_.array.precopy();
    ChunkWriter out(write, opaque);
    out.chunk(kHead, kept.head(kVersion, progress.parts()));
    parts_.volatile_state.save(out);
    kept.save([&](const Record& record) { out.chunk(record); },
              [&](uint32_t xbar, const KeptState::Put& put) {
                  if (!progress.sent(xbar)) {
                      if (progress.stale(xbar)) out.chunk(kBlank, xbar);
                      kept.save_crossbar(xbar, put);
                  } else if (const Analog* const analog = array.analog()) {
                      const SavedCounts counts = saved_counts(*analog, xbar);
                      put(counts_chunk(counts));
                  }
              });
    progress.end();
    return out.finish();
}

uint64_t ChipStream::precopy_pending() const {
    const Array& array = parts_.array;
    const Precopy& progress = parts_.array.precopy();
    if (!progress.active()) return 0;
    const uint64_t each = kXbarCells + (array.analog() ? kCellsChunkMax : 0);
    uint64_t bytes = 0;
    for (uint32_t xbar = 0; xbar < array.xbars(); xbar++)
        if (!progress.sent(xbar) && array.holds(xbar)) bytes += each;
    return bytes;
}

bool ChipStream::precopy(WriteBytes write, void* opaque, uint64_t bytes) {
    const Array& array = parts_.array;
    Precopy& progress = parts_.array.precopy();
    progress.add_part();
    ChunkWriter out(write, opaque);
    out.chunk(kPrecopy, parts_.kept_state.head(kVersion, progress.parts()));
    const uint64_t end = out.bytes() + bytes;
    for (uint32_t i = 0; i < array.xbars() && out.bytes() < end; i++) {
        const uint32_t xbar = progress.next();
        if (progress.sent(xbar) || !array.holds(xbar)) continue;
        if (progress.stale(xbar)) out.chunk(kBlank, xbar);
        progress.mark(xbar);
        parts_.kept_state.save_crossbar(xbar, [&](const Record& record) { out.chunk(record); });
    }
    return out.finish();
}

bool ChipStream::load(ReadBytes read, void* opaque, std::string* why) {
    if (!load_stream(kHead, read, opaque, why)) return false;
    loaded_parts_ = 0;
    loading_.store(false);
    parts_.keeper.attach();
    parts_.wakeups.kick();
    return true;
}

bool ChipStream::load_precopy(ReadBytes read, void* opaque, std::string* why) {
    if (!load_stream(kPrecopy, read, opaque, why)) return false;
    loaded_parts_++;
    return true;
}

void ChipStream::cancel_precopy() {
    parts_.array.precopy().end();
    if (loading_.load()) power_on();
}

// `head`: of what kind of stream.
bool ChipStream::load_stream(uint32_t head, ReadBytes read, void* opaque, std::string* why) {
    if (!loading_.exchange(true)) uuid_before_load_ = parts_.identity.uuid;
    parts_.keeper.detach();
    bool good = false;
    try {
        const char* const bad = read_chunks(head, read, opaque, [&](uint32_t tag, const std::vector<uint8_t>& data) {
            return tag == head ? load_head(tag, data) : load_chunk(head, tag, data);
        });
        if (bad) *why = bad;
        good = !bad;
        if (good && head == kHead) parts_.keeper.fill();
    } catch (const StateFileError& error) {
        good = false;
        *why = error.what();
    } catch (...) {
        power_on();
        throw;
    }
    if (!good) power_on();
    return good;
}

// A stream that goes on where parts of a precopy have ended finds the chip as these have left it, any other one as
// after power-on. nullptr, or what is wrong with it.
const char* ChipStream::load_head(uint32_t tag, const std::vector<uint8_t>& data) {
    SavedHead head;
    if (!take(data, &head)) return "saved state: head of a wrong size";
    const bool goes_on = head.part > (tag == kPrecopy ? 1 : 0);
    if (goes_on && head.part != loaded_parts_ + (tag == kPrecopy ? 1 : 0))
        return "saved state: parts of the cells are missing";
    if (!goes_on) {
        loaded_parts_ = 0;
        clear();
    }
    return parts_.kept_state.load_head(kVersion, data);
}

const char* ChipStream::load_chunk(uint32_t head, uint32_t tag, const std::vector<uint8_t>& data) {
    if (tag == kBlank) {
        uint32_t xbar;
        return take(data, &xbar) && parts_.array.forget(xbar) ? nullptr : "saved state: bad crossbar";
    }
    if (head == kPrecopy && tag != kCrossbar && tag != kAnalog) return "saved state: something else among the cells";
    return is_kept(tag) ? parts_.kept_state.load(tag, data) : parts_.volatile_state.load(tag, data);
}

// Returns to factory state, which is not that of the state file.
void ChipStream::clear() {
    parts_.in_flight.settle();  // units may still use what is cleared
    parts_.volatile_state.clear();
    parts_.kept_state.clear();
}

// Returns to the state after power-on when a load has failed.
void ChipStream::power_on() {
    loaded_parts_ = 0;
    clear();
    parts_.identity.uuid = uuid_before_load_;
    loading_.store(false);
    if (!parts_.keeper.reload()) clear();
    parts_.keeper.attach();
}

}  // namespace sidra::chip
