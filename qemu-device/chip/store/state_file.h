// SPDX-License-Identifier: MIT
// The state file: the data that a chip keeps over power-off, as a log of records (record.h). Here a record is a tag, a
// number and bytes; its meaning is defined by its writer and reader.
//
// Guarantees
//   kill -9 of the process       everything that append() has accepted is in the file
//   power loss of the host       everything before the last sync(), and later records up to the first that had not
//                                reached the disk; the rest is cut off, and a line says so
//   damage                       an error with the offset, unless only replaced records are damaged
// A record is present completely or not at all, and so are the records of one append().
#ifndef SIDRA_CHIP_STATE_FILE_H
#define SIDRA_CHIP_STATE_FILE_H

#include <condition_variable>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <span>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "file.h"
#include "record.h"

namespace sidra::chip {

// Why a file cannot be used; the text names the file and says what to do.
struct StateFileError : std::runtime_error {
    StateFileError(int its_code, const std::string& text) : std::runtime_error(text), code(its_code) {}
    const int code;  // EBUSY: another chip uses it; EACCES: not allowed; EINVAL: not a valid file; otherwise an errno
};

// The file is compacted when replaced records exceed current ones by this many bytes.
struct StateFileLimits {
    uint64_t at_opening = 64u << 10;
    uint64_t in_use = 64u << 20;
};

// Thread-safe, except that nothing may run concurrently with opening and replace().
class StateFile {
   public:
    // Receives messages for a person. Called without locks of this class, possibly from another thread.
    using Report = std::function<void(const std::string& line)>;

    // Opens and locks the file, creates it if it does not exist, and finds its records. Throws StateFileError. The file
    // does not change before settle() or replace().
    StateFile(const std::string& path, Report report, const StateFileLimits& limits = {});
    ~StateFile();  // with sync()
    StateFile(const StateFile&) = delete;
    StateFile& operator=(const StateFile&) = delete;

    // Whether the file is empty: a chip from the factory.
    bool empty() const { return tail_ == 0; }
    // Passes all current records to `take` in the order in which they were written. Throws StateFileError, as may
    // `take`.
    void replay(const std::function<void(uint32_t tag, const std::vector<uint8_t>& payload)>& take) const;
    // Called when the content was accepted: cuts off an incomplete end, syncs the rest, and compacts it if necessary.
    void settle();
    // Replaces the whole content: `produce` calls `put` for each record. Throws StateFileError; then the old content
    // stays.
    using Put = std::function<void(const Record&)>;
    void replace(const std::function<void(const Put& put)>& produce);

    // Appends all records or none. Returns false if nothing has changed; failure() has the reason.
    bool append(std::span<const Record> records);
    // Waits until everything appended is on disk.
    bool sync();
    // Stops writing, because the content no longer matches the chip.
    void give_up();
    // Returns a line about a failure that was not reported yet, or "". A failure is reported once until writing works
    // again.
    std::string failure();

    const std::string& path() const { return path_; }
    [[noreturn]] void bad(const std::string& why) const;  // throws: EINVAL

   private:
    using Key = std::pair<uint32_t, uint64_t>;  // tag, number
    struct Place {
        uint64_t at = 0;  // 0: not written yet
        uint64_t extent = 0;
    };
    // The positions of the current records.
    struct Index {
        std::map<Key, Place> places;
        uint64_t live = 0;  // bytes
        void note(const RecordHead& head);
    };
    // Positions of new records, and deleted keys.
    struct News {
        std::vector<Place> fresh;
        uint64_t bytes = 0;  // total size of the records
        std::vector<Key> gone;
    };
    class Part;

    void find_records();
    uint64_t last_whole(uint64_t end, uint64_t synced);
    size_t read(const File& file, void* data, size_t bytes, uint64_t at) const;
    bool head_at(const File& file, uint64_t at, RecordHead* head) const;
    bool payload_at(const File& file, const RecordHead& head, std::vector<uint8_t>* payload) const;
    bool genuine(const RecordHead& head, uint64_t at) const;
    uint64_t claim_behind(uint64_t from) const;
    void seal(RecordHead* head) const;
    std::vector<Place> live_in_order(uint64_t from) const;
    News news_locked(const Index& copied, uint64_t done) const;
    void mark_locked();
    void fail_locked(const char* what, int error);
    bool mostly_garbage(uint64_t slack) const { return tail_ - index_.live > index_.live + slack; }
    void compact_soon_locked();
    void compact();
    void end_compaction();
    void adopt_locked(Part& part);

    std::string path_;  // the file itself, with links resolved
    const Report report_;
    const StateFileLimits limits_;
    uint64_t salt_ = 0;

    mutable std::mutex lock_;  // protects everything below
    std::shared_ptr<File> file_;
    Index index_;
    uint64_t tail_ = 0;           // offset of the next record; 0: the file is empty
    uint64_t size_ = 0;           // size of the file when it was opened
    uint64_t synced_ = 0;         // everything before this offset is on disk
    uint64_t marked_ = 0;         // and up to here a mark in the file says so
    bool broken_ = false;         // the content is unknown: nothing is written any more
    bool failing_ = false;        // the last write failed
    std::string failure_;         // not reported yet
    uint64_t compact_above_ = 0;  // smallest tail for the next attempt after a failure
    bool compacting_ = false;
    bool ending_ = false;
    std::condition_variable compacted_;  // signalled when a compaction ends
    std::thread compactor_;
};

}  // namespace sidra::chip

#endif
