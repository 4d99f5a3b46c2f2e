// SPDX-License-Identifier: MIT
#include "updates.h"

#include <algorithm>

#include "chunks.h"
#include "state_file.h"

namespace sidra::chip {
namespace {

// An update of an object without crossbars may be in progress, before its first tile. So the latest ones are kept.
constexpr uint64_t kRecent = 4096;

bool within(const Update& inner, const Update& outer) {
    return inner.row0 >= outer.row0 && uint64_t{inner.row0} + inner.rows <= uint64_t{outer.row0} + outer.rows &&
           inner.col0 >= outer.col0 && uint64_t{inner.col0} + inner.cols <= uint64_t{outer.col0} + outer.cols;
}

// The rectangle around two of the same object.
Update around(const Update& a, const Update& b) {
    const auto join = [](uint32_t first, uint32_t size, uint32_t other, uint32_t other_size, uint32_t* joined) {
        const uint32_t low = std::min(first, other);
        const uint64_t end = std::max(uint64_t{first} + size, uint64_t{other} + other_size);
        *joined = static_cast<uint32_t>(std::min<uint64_t>(end - low, UINT32_MAX));
        return low;
    };
    Update both{a.uid, 0, 0, 0, 0};
    both.row0 = join(a.row0, a.rows, b.row0, b.rows, &both.rows);
    both.col0 = join(a.col0, a.cols, b.col0, b.cols, &both.cols);
    return both;
}

}  // namespace

void Updates::count_locked(Object& object) {
    const auto cut = static_cast<uint64_t>(
        std::count_if(object.entries.begin(), object.entries.end(), [](const Entry& entry) { return entry.cut; }));
    torn_count_.fetch_add(cut - object.cut, std::memory_order_acq_rel);
    object.cut = cut;
}

bool Updates::append_locked(std::vector<Record> records) {
    for (const uint64_t number : gone_) records.push_back({kUpdate, number, {}, {}});
    if (file_ && !records.empty() && !file_->append(records)) return false;
    gone_.clear();
    return true;
}

// Drops the updates that this one overwrites completely; in the file together with `records`.
bool Updates::forget_locked(Object& object, const Update& update, std::vector<Record> records) {
    const auto gone = [&](const Entry& entry) { return within(entry.update, update); };
    for (const Entry& entry : object.entries)
        if (gone(entry)) records.push_back({kUpdate, entry.number, {}, {}});
    if (!append_locked(std::move(records))) return false;
    count_ -= std::erase_if(object.entries, gone);
    return true;
}

// Leaves one update of each object, and none of objects that no longer exist.
bool Updates::thin_locked() {
    const std::vector<uint64_t> owners = owners_();
    Objects left;
    std::vector<Record> records;
    std::vector<SavedUpdate> joined;
    joined.reserve(objects_.size());
    uint64_t next = next_, cut = 0;
    for (const auto& [uid, object] : objects_) {
        if (object.entries.empty()) continue;  // of a begin() that ended early
        const bool there =
            std::binary_search(owners.begin(), owners.end(), uid) || next_ - object.entries.back().number <= kRecent;
        Entry whole = object.entries.front();
        if (!there || object.entries.size() > 1) {
            for (const Entry& entry : object.entries) {
                records.push_back({kUpdate, entry.number, {}, {}});
                whole.update = around(whole.update, entry.update);
            }
            if (!there) continue;
            whole.number = next++;
            whole.cut = object.cut != 0;
            joined.push_back({whole.number, whole.update, whole.cut, 0});
            records.push_back(update_chunk(joined.back()));
        }
        left[uid] = {{whole}, whole.cut};
        cut += whole.cut;
    }
    if (!append_locked(std::move(records))) return false;
    objects_ = std::move(left);
    count_ = objects_.size();
    next_ = next;
    torn_count_.store(cut, std::memory_order_release);
    return true;
}

bool Updates::begin(const Update& update) {
    if (!file_) return true;
    std::lock_guard guard(lock_);
    if (count_ >= kMax && !thin_locked()) return false;
    Object& object = objects_[update.uid];
    object.entries.reserve(object.entries.size() + 1);  // before the file is written: nothing may fail afterwards
    Update recorded = update;
    const auto beside = [&](const Entry& entry) { return !within(entry.update, update); };
    if (std::count_if(object.entries.begin(), object.entries.end(), beside) >= ptrdiff_t{kOfObjectMax})
        for (const Entry& entry : object.entries) recorded = around(recorded, entry.update);
    // An interrupted update inside this one stays interrupted until this one is complete.
    const auto inherits = [&](const Entry& entry) { return entry.cut && within(entry.update, recorded); };
    const SavedUpdate saved{next_, recorded, std::any_of(object.entries.begin(), object.entries.end(), inherits), 0};
    const bool kept = forget_locked(object, recorded, {update_chunk(saved)});
    if (kept) {
        object.entries.push_back({next_++, recorded, saved.cut != 0});
        count_++;
        count_locked(object);
    }
    if (object.entries.empty()) objects_.erase(update.uid);
    return kept;
}

bool Updates::end(const Update& update) {
    std::lock_guard guard(lock_);
    const auto found = objects_.find(update.uid);
    if (found == objects_.end()) return true;
    Object& object = found->second;
    if (!forget_locked(object, update, {})) return false;
    count_locked(object);
    if (object.entries.empty()) objects_.erase(found);
    return true;
}

bool Updates::torn(uint64_t uid) const {
    if (torn_count() == 0) return false;
    std::lock_guard guard(lock_);
    const auto found = objects_.find(uid);
    return found != objects_.end() && found->second.cut != 0;
}

void Updates::save(const std::function<void(const Record&)>& put) const {
    std::lock_guard guard(lock_);
    for (const auto& [uid, object] : objects_) {
        for (const Entry& entry : object.entries) {
            const SavedUpdate saved{entry.number, entry.update, entry.cut, 0};
            put(update_chunk(saved));
        }
    }
}

bool Updates::load(const SavedUpdate& saved) {
    const Update& update = saved.update;
    if (update.uid == 0 || update.rows == 0 || update.cols == 0 || saved.number == UINT64_MAX || saved.cut > 1 ||
        saved.reserved != 0)
        return false;
    Object& object = objects_[update.uid];
    object.entries.push_back({saved.number, update, saved.cut != 0});
    object.cut += saved.cut;
    torn_count_.fetch_add(saved.cut, std::memory_order_acq_rel);
    count_++;
    next_ = std::max(next_, saved.number + 1);
    return true;
}

void Updates::cut_short() {
    const std::vector<uint64_t> owners = owners_();
    count_ = 0;
    for (auto at = objects_.begin(); at != objects_.end();) {
        auto& [uid, object] = *at;
        const bool there = std::binary_search(owners.begin(), owners.end(), uid);
        for (Entry& entry : object.entries) {
            entry.cut = true;
            if (!there) gone_.push_back(entry.number);
        }
        object.cut = there ? object.entries.size() : 0;
        count_ += object.cut;
        at = there ? std::next(at) : objects_.erase(at);
    }
    torn_count_.store(count_, std::memory_order_release);
}

void Updates::clear() {
    objects_.clear();
    gone_.clear();
    next_ = count_ = 0;
    torn_count_.store(0, std::memory_order_release);
}

}  // namespace sidra::chip
