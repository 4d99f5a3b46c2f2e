// SPDX-License-Identifier: MIT
#include "updates.h"

#include <algorithm>

#include "chunks.h"
#include "state_file.h"

namespace sidra::chip {
namespace {

bool within(const Update& inner, const Update& outer) {
    return inner.uid == outer.uid && inner.row0 >= outer.row0 &&
           uint64_t{inner.row0} + inner.rows <= uint64_t{outer.row0} + outer.rows && inner.col0 >= outer.col0 &&
           uint64_t{inner.col0} + inner.cols <= uint64_t{outer.col0} + outer.cols;
}

}  // namespace

void Updates::count_locked() {
    torn_count_.store(static_cast<uint64_t>(std::count_if(entries_.begin(), entries_.end(),
                                                          [](const Entry& entry) { return entry.cut; })),
                      std::memory_order_release);
}

// Drops the updates that this one overwrites completely; in the file together with `records`.
bool Updates::forget_locked(const Update& update, std::vector<Record> records) {
    const auto gone = [&](const Entry& entry) { return within(entry.update, update); };
    for (const Entry& entry : entries_)
        if (gone(entry)) records.push_back({kUpdate, entry.number, {}, {}});
    if (!records.empty() && !file_->append(records)) return false;
    std::erase_if(entries_, gone);
    return true;
}

bool Updates::begin(const Update& update) {
    if (!file_) return true;
    std::lock_guard guard(lock_);
    entries_.reserve(entries_.size() + 1);  // before the file is written: nothing may fail afterwards
    // An interrupted update inside this one stays interrupted until this one is complete.
    const auto inherits = [&](const Entry& entry) { return entry.cut && within(entry.update, update); };
    const SavedUpdate saved{next_, update, std::any_of(entries_.begin(), entries_.end(), inherits), 0};
    if (!forget_locked(update, {update_chunk(saved)})) return false;
    entries_.push_back({next_++, update, saved.cut != 0});
    count_locked();
    return true;
}

bool Updates::end(const Update& update) {
    if (!file_) return true;
    std::lock_guard guard(lock_);
    if (!forget_locked(update, {})) return false;
    count_locked();
    return true;
}

bool Updates::torn(uint64_t uid) const {
    if (torn_count() == 0) return false;
    std::lock_guard guard(lock_);
    return std::any_of(entries_.begin(), entries_.end(),
                       [&](const Entry& entry) { return entry.cut && entry.update.uid == uid; });
}

void Updates::save(const std::function<void(const Record&)>& put) const {
    std::lock_guard guard(lock_);
    for (const Entry& entry : entries_) {
        const SavedUpdate saved{entry.number, entry.update, entry.cut, 0};
        put(update_chunk(saved));
    }
}

bool Updates::load(const SavedUpdate& saved) {
    const Update& update = saved.update;
    if (update.uid == 0 || update.rows == 0 || update.cols == 0 || saved.number == UINT64_MAX || saved.cut > 1 ||
        saved.reserved != 0)
        return false;
    entries_.push_back({saved.number, update, saved.cut != 0});
    next_ = std::max(next_, saved.number + 1);
    count_locked();
    return true;
}

void Updates::cut_short(const std::function<bool(uint64_t uid)>& there) {
    std::erase_if(entries_, [&](const Entry& entry) { return !there(entry.update.uid); });
    for (Entry& entry : entries_) entry.cut = true;
    count_locked();
}

void Updates::clear() {
    entries_.clear();
    next_ = 0;
    count_locked();
}

}  // namespace sidra::chip
