// SPDX-License-Identifier: MIT
// Multi-tile PROGRAMs in progress, as recorded in the state file. Cells are saved tile by tile, so if the process is
// killed, an object may be torn: some tiles are new, others old. When a chip starts, the records that are left in the
// file identify those objects. Without a state file nothing is recorded, but a saved chip may have brought some.
//
// A running chip does not know which updates have been given up (by a fault, or a reset of their queue), and these may
// be any number. So their rectangles are joined when they become many: per object, and in total.
#ifndef SIDRA_CHIP_UPDATES_H
#define SIDRA_CHIP_UPDATES_H

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <mutex>
#include <utility>
#include <vector>

#include "record.h"

namespace sidra::chip {

class StateFile;

// The rectangle of an object that a PROGRAM writes.
struct Update {
    uint64_t uid;
    uint32_t row0, rows, col0, cols;
};
struct SavedUpdate {
    uint64_t number;
    Update update;
    uint32_t cut, reserved;
};

// Thread-safe, except for load(), cut_short() and clear(), during which no programming may run.
class Updates {
   public:
    static constexpr size_t kOfObjectMax = 64;
    static constexpr size_t kMax = 1u << 14;  // and one for each object that has crossbars
    // Returns the uids of all crossbars, sorted.
    using Owners = std::function<std::vector<uint64_t>()>;

    explicit Updates(Owners owners) : owners_(std::move(owners)) {}
    void keep_in(StateFile* file) { file_ = file; }

    // Records an update; it replaces those that it overwrites completely. Returns false if the file could not be
    // written.
    bool begin(const Update& update);
    // Removes an update and those that it has overwritten completely. Returns false if the file could not be written.
    bool end(const Update& update);

    // Whether the object has old and new tiles. Ends when a PROGRAM has overwritten at least the interrupted rectangle.
    bool torn(uint64_t uid) const;

    void save(const std::function<void(const Record&)>& put) const;
    // Returns false if the record is invalid.
    bool load(const SavedUpdate& saved);
    // Marks all loaded updates as interrupted. Drops those of objects that no longer exist.
    void cut_short();
    void clear();
    uint64_t torn_count() const { return torn_count_.load(std::memory_order_acquire); }

   private:
    struct Entry {
        uint64_t number;
        Update update;
        bool cut;  // interrupted by the end of the process
    };
    struct Object {
        std::vector<Entry> entries;
        uint64_t cut = 0;  // how many of them are
    };
    using Objects = std::map<uint64_t, Object>;  // by uid
    bool append_locked(std::vector<Record> records);
    bool forget_locked(Object& object, const Update& update, std::vector<Record> records);
    bool thin_locked();
    void count_locked(Object& object);

    const Owners owners_;
    StateFile* file_ = nullptr;
    mutable std::mutex lock_;  // protects all members below
    Objects objects_;
    size_t count_ = 0;            // of entries
    std::vector<uint64_t> gone_;  // numbers of records that the file still has, though their entries were dropped
    uint64_t next_ = 0;           // next number
    std::atomic<uint64_t> torn_count_{0};  // number of interrupted updates
};

}  // namespace sidra::chip

#endif
