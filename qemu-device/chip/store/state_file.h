// SPDX-License-Identifier: MIT
// The state file: what a chip keeps over power-off, as a log of records (record.h). What a record means is for whoever
// writes and reads it; here it is a tag, a number and bytes.
//
// What survives what
//   kill -9 of the process       all that append() has taken: it is in the file, which is the kernel's
//   power loss of the host       all before the last sync(), and of what came later the records up to the first that
//                                had not reached the disk; what is behind it is cut off, with a line that says so
//   damage                       nothing is guessed: an error with the offset, unless only replaced records are hit
// A record is there as a whole or not at all, and so are the records of one append().
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

// Why a file cannot be used, for a person: names it, and says what to do.
struct StateFileError : std::runtime_error {
    StateFileError(int its_code, const std::string& text) : std::runtime_error(text), code(its_code) {}
    const int code;  // EBUSY: another chip has it; EACCES: not allowed; EINVAL: not a good file; else an errno
};

// Bytes of replaced records, beyond as many as there are others, from which on the file is written anew.
struct StateFileLimits {
    uint64_t at_opening = 64u << 10;
    uint64_t in_use = 64u << 20;
};

// Thread-safe, but for opening and replace(), which nobody else may run beside.
class StateFile {
   public:
    // A line for a person. Called without locks of this class, also from a thread of its own.
    using Report = std::function<void(const std::string& line)>;

    // Opens and locks the file, made if there is none, and finds its records. Throws StateFileError. The file stays as
    // it is until settle() or replace().
    StateFile(const std::string& path, Report report, const StateFileLimits& limits = {});
    ~StateFile();  // with sync()
    StateFile(const StateFile&) = delete;
    StateFile& operator=(const StateFile&) = delete;

    // Nothing is in it: a chip from the factory.
    bool empty() const { return tail_ == 0; }
    // All records that count, in the order in which they were written. Throws StateFileError; `take` may throw it too.
    void replay(const std::function<void(uint32_t tag, const std::vector<uint8_t>& payload)>& take) const;
    // What was read is good: cuts off a torn end, and sees that the rest is on disk and not mostly garbage.
    void settle();
    // Another content, all at once: `produce` calls `put` for each record. Throws StateFileError: then the old one
    // stays.
    using Put = std::function<void(const Record&)>;
    void replace(const std::function<void(const Put& put)>& produce);

    // Writes records, all or none. False: nothing has changed, and failure() says why.
    bool append(std::span<const Record> records);
    // Sees that all that was appended is on disk.
    bool sync();
    // Nothing is written any more: what is in it is not what the chip has.
    void give_up();
    // A line about a failure that has not been told yet, or ""; told once until writing works again.
    std::string failure();

    const std::string& path() const { return path_; }
    [[noreturn]] void bad(const std::string& why) const;  // throws: EINVAL

   private:
    using Key = std::pair<uint32_t, uint64_t>;  // tag, number
    struct Place {
        uint64_t at = 0;  // 0: nowhere yet
        uint64_t extent = 0;
    };
    // Where the records that count are.
    struct Index {
        std::map<Key, Place> places;
        uint64_t live = 0;  // bytes
        void note(const RecordHead& head);
    };
    // Places of records, and keys that have nothing any more.
    struct News {
        std::vector<Place> fresh;
        uint64_t bytes = 0;  // of them
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

    std::string path_;  // the file itself, whatever links lead there
    const Report report_;
    const StateFileLimits limits_;
    uint64_t salt_ = 0;

    mutable std::mutex lock_;  // of all below
    std::shared_ptr<File> file_;
    Index index_;
    uint64_t tail_ = 0;           // where the next record goes; 0: there is not even a head
    uint64_t size_ = 0;           // of the file as it was found
    uint64_t synced_ = 0;         // on disk up to here
    uint64_t marked_ = 0;         // with a mark up to here that says so
    bool broken_ = false;         // what is in the file is not known any more: nothing is written
    bool failing_ = false;        // the last write failed
    std::string failure_;         // not told yet
    uint64_t compact_above_ = 0;  // tail; after a failure, so that it is not tried all the time
    bool compacting_ = false;
    bool ending_ = false;
    std::condition_variable compacted_;  // or it is over otherwise
    std::thread compactor_;
};

}  // namespace sidra::chip

#endif
