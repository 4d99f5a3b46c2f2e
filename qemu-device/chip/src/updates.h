// SPDX-License-Identifier: MIT
// PROGRAMs of several tiles that are under way, as the state file has them: cells are kept tile by tile, so when the
// process is killed, an object may have new tiles and old ones. What the file still has of them when a chip starts
// tells which objects those are. Without a state file there is nothing to remember.
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

// Thread-safe, but for load(), loaded() and clear(), during which nobody programs.
class Updates {
   public:
    void keep_in(StateFile* file) { file_ = file; }

    // In the place of those of which it leaves nothing. False: not kept.
    bool begin(const Update& update);
    // It is over, and what it has written over, too. False: not kept.
    bool end(const Update& update);

    // Whether the object has tiles of different content, until a PROGRAM has written at least what was cut short.
    bool torn(uint64_t uid) const;

    void save(const std::function<void(const Record&)>& put) const;
    // False: there is no such thing.
    bool load(const SavedUpdate& saved);
    // What was loaded was cut short. Those of objects that there are not (`there` says so) are of no interest any more.
    void cut_short(const std::function<bool(uint64_t uid)>& there);
    void clear();
    uint64_t torn_count() const { return torn_count_.load(std::memory_order_acquire); }

   private:
    struct Entry {
        uint64_t number;
        Update update;
        bool cut;  // short, by the end of the chip that began it
    };
    bool forget_locked(const Update& update, std::vector<Record> records);
    void count_locked();

    StateFile* file_ = nullptr;
    mutable std::mutex lock_;  // of all below
    std::vector<Entry> entries_;
    uint64_t next_ = 0;                    // number
    std::atomic<uint64_t> torn_count_{0};  // entries that were cut short
};

}  // namespace sidra::chip

#endif
