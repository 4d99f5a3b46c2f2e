// SPDX-License-Identifier: MIT
// Connects the chip and its state file: at power-on cells and NVM are loaded from the file; afterwards Array writes
// each change to it.
#include <algorithm>
#include <cstring>
#include <string>
#include <vector>

#include "chip.h"
#include "chunks.h"

namespace sidra::chip {

void Chip::open_state_file(const char* path) {
    state_file_ =
        std::make_unique<StateFile>(path, [this](const std::string& line) { host_.report(host_.self, line.c_str()); });
    try {
        if (state_file_->empty()) fill_state_file();
        else load_state_file();
        state_file_->settle();
    } catch (...) {
        state_file_->give_up();  // not a file for this chip, so it stays as it is
        state_file_.reset();
        throw;
    }
    array_.keep_in(state_file_.get());
    management_.unit().flash().keep_by([this](uint32_t first, std::span<const uint8_t> sectors) {
        std::vector<uint64_t> numbers(sectors.size() / kPage);
        std::vector<Record> records;
        for (size_t i = 0; i < numbers.size(); i++) {
            numbers[i] = first + i;
            records.push_back(page_chunk(kFlash, numbers[i], sectors.data() + i * kPage));
        }
        return keep(records);
    });
    management_.unit().keep_security_by([this](uint32_t least) { return keep({security_chunk(least)}); });
}

bool Chip::keep(const std::vector<Record>& records) {
    return state_file_->append(records);  // run() reports failures after the core's slice
}

// Saves what changes without programming: the age of cells and the counts of products.
bool Chip::keep_counts() {
    const Analog* const analog = array_.analog();
    if (!analog) return true;
    const double now = analog->clock().now(clock_.now_ns());
    std::vector<SavedCounts> counts;
    for (uint32_t xbar = 0; xbar < array_.xbars(); xbar++) {
        const SavedCounts each = saved_counts(*analog, xbar);
        if (each.products || each.clipped || each.checks || each.range) counts.push_back(each);
    }
    std::vector<Record> records = {clock_chunk(now)};
    for (const SavedCounts& each : counts) records.push_back(counts_chunk(each));
    return state_file_->append(records);
}

void Chip::close_state_file() {
    settle();
    if (state_file_) {
        try {
            sync();
        } catch (const std::bad_alloc&) {  // the file keeps the last saved counts
        }
    }
    array_.keep_in(nullptr);
    state_file_.reset();
}

void Chip::load_state_file() {
    bool first = true;
    const auto refuse = [this](const char* why) {
        state_file_->bad(
            std::string(why) +
            ". Use a state file of this kind of chip, or move this one away: then the chip starts with erased cells");
    };
    state_file_->replay([&](uint32_t tag, const std::vector<uint8_t>& payload) {
        const bool known = std::find(std::begin(kKept), std::end(kKept), tag) != std::end(kKept);
        const char* wrong = first != (tag == kCellsHead) ? "saved cells without a header"
                            : first                      ? load_head(kCellsVersion, payload)
                            : known                      ? load_chunk(tag, payload)
                                                         : "an unexpected record among the saved cells";
        if (wrong) refuse(wrong);
        first = false;
    });
    if (first) refuse("saved cells without a header");
    array_.updates().cut_short([this](uint64_t uid) {
        for (uint32_t xbar = 0; xbar < array_.xbars(); xbar++)
            if (array_.header(xbar).uid == uid) return true;
        return false;
    });
    if (const uint64_t torn = array_.updates().torn_count(); torn != 0)
        host_.report(host_.self, ("state file '" + state_file_->path() + "': " + std::to_string(torn) +
                                  " update(s) of weights were interrupted: these weights count as unprogrammed until "
                                  "they are programmed again")
                                     .c_str());
}

void Chip::fill_state_file() {
    state_file_->replace([this](const StateFile::Put& put) {
        const SavedHead saved = head(kCellsVersion);
        put({kCellsHead, 0, bytes_of(saved), {}});
        save_kept(put, [this](uint32_t xbar, const StateFile::Put& of) { save_crossbar(xbar, of); });
    });
}

// Returns to the state after power-on when a load has failed.
void Chip::back_to_state_file() {
    loaded_parts_ = 0;
    clear();
    identity_.uuid = uuid_before_load_;
    loading_.store(false);
    if (!state_file_) return;
    try {
        load_state_file();
    } catch (const std::exception& error) {
        clear();
        state_file_->give_up();  // the cells no longer match the file
        host_.report(host_.self, error.what());
    }
    array_.keep_in(state_file_.get());
}

bool Chip::sync() {
    if (trace_) trace_->flush();
    // While a saved chip is loaded the cells are not yet those of the file.
    const bool kept = !state_file_ || ((loading_.load() || keep_counts()) && state_file_->sync());
    tell_failure();
    return kept;
}

void Chip::tell_failure() {
    if (!state_file_) return;
    if (const std::string line = state_file_->failure(); !line.empty()) host_.report(host_.self, line.c_str());
}

}  // namespace sidra::chip
