// SPDX-License-Identifier: MIT
// Multi-tile PROGRAMs in progress, as recorded in the state file. Cells are saved tile by tile, so if the process is
// killed, an object may be torn: some tiles are new, others old. When a chip starts, the records that are left in the
// file identify those objects. Without a state file nothing is recorded.
#ifndef SIDRA_CHIP_UPDATES_H
#define SIDRA_CHIP_UPDATES_H

#include <atomic>
#include <cstdint>
#include <functional>
#include <mutex>
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
    // Marks all loaded updates as interrupted. Drops those of objects that no longer exist (as `there` reports).
    void cut_short(const std::function<bool(uint64_t uid)>& there);
    void clear();
    uint64_t torn_count() const { return torn_count_.load(std::memory_order_acquire); }

   private:
    struct Entry {
        uint64_t number;
        Update update;
        bool cut;  // interrupted by the end of the process
    };
    bool forget_locked(const Update& update, std::vector<Record> records);
    void count_locked();

    StateFile* file_ = nullptr;
    mutable std::mutex lock_;  // protects all members below
    std::vector<Entry> entries_;
    uint64_t next_ = 0;                    // next number
    std::atomic<uint64_t> torn_count_{0};  // number of interrupted updates
};

}  // namespace sidra::chip

#endif
