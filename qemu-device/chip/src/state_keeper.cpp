// SPDX-License-Identifier: MIT
#include "state_keeper.h"

#include <exception>
#include <span>
#include <string>

#include "chunks.h"

namespace sidra::chip {

void StateKeeper::open(const char* path) {
    file_ =
        std::make_unique<StateFile>(path, [this](const std::string& line) { host_.report(host_.self, line.c_str()); });
    try {
        if (file_->empty()) fill();
        else load();
        file_->settle();
    } catch (...) {
        file_->give_up();  // not a file for this chip, so it stays as it is
        file_.reset();
        throw;
    }
    attach();
    // Chip::run() reports failures after the core's slice.
    management::Unit& unit = management_.unit();
    unit.flash().keep_by([this](uint32_t first, std::span<const uint8_t> sectors) {
        std::vector<uint64_t> numbers(sectors.size() / kPage);
        std::vector<Record> records;
        for (size_t i = 0; i < numbers.size(); i++) {
            numbers[i] = first + i;
            records.push_back(page_chunk(kFlash, numbers[i], sectors.data() + i * kPage));
        }
        return file_->append(records);
    });
    unit.keep_security_by([this](uint32_t least) {
        const Record record = security_chunk(least);
        return file_->append({&record, 1});
    });
}

void StateKeeper::close() {
    detach();
    file_.reset();
}

void StateKeeper::load() {
    bool first = true;
    const auto refuse = [this](const char* why) {
        file_->bad(
            std::string(why) +
            ". Use a state file of this kind of chip, or move this one away: then the chip starts with erased cells");
    };
    file_->replay([&](uint32_t tag, const std::vector<uint8_t>& payload) {
        const char* wrong = first != (tag == kCellsHead) ? "saved cells without a header"
                            : first                      ? kept_.load_head(kCellsVersion, payload)
                            : is_kept(tag)               ? kept_.load(tag, payload)
                                                         : "an unexpected record among the saved cells";
        if (wrong) refuse(wrong);
        first = false;
    });
    if (first) refuse("saved cells without a header");
    array_.updates().cut_short();
    if (const uint64_t torn = array_.updates().torn_count(); torn != 0)
        host_.report(host_.self, ("state file '" + file_->path() + "': " + std::to_string(torn) +
                                  " update(s) of weights were interrupted: these weights count as unprogrammed until "
                                  "they are programmed again")
                                     .c_str());
}

void StateKeeper::fill() {
    if (!file_) return;
    file_->replace([this](const StateFile::Put& put) {
        const SavedHead saved = kept_.head(kCellsVersion);
        put({kCellsHead, 0, bytes_of(saved), {}});
        kept_.save(put, [this](uint32_t xbar, const StateFile::Put& of) { kept_.save_crossbar(xbar, of); });
    });
}

bool StateKeeper::reload() {
    if (!file_) return true;
    try {
        load();
        return true;
    } catch (const std::exception& error) {
        file_->give_up();  // the cells no longer match the file
        host_.report(host_.self, error.what());
        return false;
    }
}

// Saves what changes without programming: the age of cells and the counts of products.
bool StateKeeper::save_counts() {
    const Analog* const analog = array_.analog();
    if (!analog) return true;
    const double now = array_.cells_now(clock_);
    std::vector<SavedCounts> counts;
    for (uint32_t xbar = 0; xbar < array_.xbars(); xbar++) {
        const SavedCounts each = saved_counts(*analog, xbar);
        if (each.products || each.clipped || each.checks || each.range) counts.push_back(each);
    }
    std::vector<Record> records = {clock_chunk(now)};
    for (const SavedCounts& each : counts) records.push_back(counts_chunk(each));
    return file_->append(records);
}

bool StateKeeper::sync(bool loading) {
    const bool kept = !file_ || ((loading || save_counts()) && file_->sync());
    tell_failure();
    return kept;
}

void StateKeeper::tell_failure() {
    if (!file_) return;
    if (const std::string line = file_->failure(); !line.empty()) host_.report(host_.self, line.c_str());
}

}  // namespace sidra::chip
