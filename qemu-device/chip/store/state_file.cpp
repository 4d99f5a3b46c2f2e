// SPDX-License-Identifier: MIT
#include "state_file.h"

#include <sys/random.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <exception>

#include "signals_kept_out.h"

namespace sidra::chip {
namespace {

constexpr size_t kPiece = 1 << 20;         // unit of copying and searching
constexpr uint64_t kStandstill = 4 << 20;  // bytes that a compaction may still copy while writers wait
constexpr uint64_t kAhead = 4;  // multiple of the compaction threshold that garbage may reach before writers wait
constexpr int kRounds = 8;      // copy rounds after which writers wait, because they write faster than it copies

// The former format: a stream that began with a chunk of this tag.
constexpr uint8_t kFormerTag[4] = {'S', 'D', 'N', 'V'};

std::string text_of(int error) { return std::generic_category().message(-error); }

std::string resolved(const std::string& path) {
    char* whole = realpath(path.c_str(), nullptr);
    std::string result = whole ? whole : path;
    std::free(whole);
    return result;
}

// Appends a record to `to`. The offset and the checksum of its header are filled in later.
RecordHead add_record(const Record& record, bool more_follow, uint64_t salt, std::vector<uint8_t>* to) {
    const size_t bytes = record.payload.size() + record.more.size(), begin = to->size() + sizeof(RecordHead);
    RecordHead head{};
    head.magic = kRecordMagic;
    head.tag = record.tag;
    head.number = record.number;
    head.bytes = static_cast<uint32_t>(bytes);
    head.flags = more_follow ? kTogether : 0;
    to->resize(begin + filled(bytes));
    std::copy(record.payload.begin(), record.payload.end(), to->begin() + static_cast<ptrdiff_t>(begin));
    std::copy(record.more.begin(), record.more.end(),
              to->begin() + static_cast<ptrdiff_t>(begin + record.payload.size()));
    head.payload_sum = payload_sum({to->data() + begin, filled(bytes)}, salt);
    std::memcpy(to->data() + begin - sizeof head, &head, sizeof head);
    return head;
}

}  // namespace

void StateFile::bad(const std::string& why) const {
    throw StateFileError(EINVAL, "state file '" + path_ + "' cannot be used: " + why);
}

void StateFile::Index::note(const RecordHead& head) {
    if (head.tag == kMark) return;
    const Key key{head.tag, head.number};
    const auto known = places.find(key);
    if (known != places.end()) live -= known->second.extent;
    if (head.bytes == 0) {
        if (known != places.end()) places.erase(known);
        return;
    }
    places[key] = {head.at, extent(head)};
    live += extent(head);
}

// ---- A file that replaces another one once it is complete ----

class StateFile::Part {
   public:
    Part(const StateFile& owner, const File& like, uint64_t salt, bool replaces)
        : owner_(owner), path_(owner.path_ + ".part"), salt_(salt), replaces_(replaces) {
        const int error = File::create(path_, like, left_behind, &file);
        if (error == -EEXIST) fail("is in the way: it was not left by a chip that was killed. Move it away", error);
        if (error == -EBUSY) fail("is in the way: another chip has it. Give this one a file of another name", error);
        if (error) fail("cannot be made", error);
        made_ = true;
        const FileHead head = head_of(kPart);
        const auto* bytes = reinterpret_cast<const uint8_t*>(&head);
        buffer_.assign(bytes, bytes + sizeof head);
    }
    ~Part() {
        if (made_) std::remove(path_.c_str());
    }
    Part(const Part&) = delete;
    Part& operator=(const Part&) = delete;

    void put(const Record& record) {
        RecordHead head = add_record(record, false, salt_, &buffer_);
        place(&head, buffer_.size() - extent(head));
    }
    // Copies the record at that offset of the other file.
    void copy(const File& from, uint64_t at) {
        RecordHead head;
        std::vector<uint8_t> payload;
        if (!owner_.head_at(from, at, &head) || !owner_.payload_at(from, head, &payload))
            owner_.bad("it is damaged at offset " + std::to_string(at) + ", which was whole before");
        const size_t begin = buffer_.size();
        buffer_.resize(begin + sizeof head);
        buffer_.insert(buffer_.end(), payload.begin(), payload.end());
        head.flags = 0;
        head.synced = 0;  // it refers to the other file
        place(&head, begin);
    }
    // Returns false if `stop`, which it calls from time to time, asks for that.
    bool copy(const File& from, const News& news, const std::function<bool()>& stop) {
        for (const Place& place : news.fresh) {
            if (stop()) return false;
            copy(from, place.at);
        }
        for (const Key& key : news.gone) put({key.first, key.second, {}, {}});
        return true;
    }
    void sync() {
        flush();
        if (const int error = file.sync()) fail("cannot be written", error);
    }
    // Renames the file to its final name.
    void finish() {
        sync();
        RecordHead mark = add_record({kMark, 0, {}, {}}, false, salt_, &buffer_);
        mark.synced = written_;
        place(&mark, 0);
        sync();
        if (rename(path_.c_str(), owner_.path_.c_str()) < 0) fail("cannot be put in its place", -errno);
        made_ = false;
        // Clears the mark of an unfinished file. If that fails, the worst case is that it is one day taken for one.
        const FileHead head = head_of(0);
        [[maybe_unused]] const int error = file.write(&head, sizeof head, 0);
        sync_folder(owner_.path_);  // if that fails, both names still refer to complete files
    }

    File file;
    Index index;
    uint64_t tail() const { return written_ + buffer_.size(); }

   private:
    [[noreturn]] void fail(const char* what, int error) const {
        const std::string why = error == -EEXIST || error == -EBUSY ? "" : ": " + text_of(error);
        throw StateFileError(-error, "state file '" + owner_.path_ + "': '" + path_ + "' " + what + why +
                                         (replaces_ ? ". The old one stays in use" : ""));
    }
    FileHead head_of(uint64_t part) const {
        FileHead head{};
        std::memcpy(head.magic, kFileMagic, sizeof head.magic);
        head.version = kFileVersion;
        head.salt = salt_;
        head.part = part;
        head.sum = sum_of(head, 0);
        return head;
    }
    // The header is written first, so an empty file may be a left one, too.
    static bool left_behind(const File& found) {
        FileHead head;
        const ssize_t got = found.read(&head, sizeof head, 0);
        return got == 0 || (got == sizeof head && std::memcmp(head.magic, kFileMagic, sizeof head.magic) == 0 &&
                            head.part == kPart && head.sum == sum_of(head, 0));
    }
    void place(RecordHead* head, size_t begin) {
        head->at = written_ + begin;
        head->sum = sum_of(*head, salt_);
        std::memcpy(buffer_.data() + begin, head, sizeof *head);
        index.note(*head);
        if (buffer_.size() >= kPiece) flush();
    }
    void flush() {
        if (const int error = file.write(buffer_.data(), buffer_.size(), written_)) fail("cannot be written", error);
        written_ += buffer_.size();
        buffer_.clear();
    }

    const StateFile& owner_;
    const std::string path_;
    const uint64_t salt_;
    const bool replaces_;  // whether it replaces a file that is not empty
    bool made_ = false;
    std::vector<uint8_t> buffer_;
    uint64_t written_ = 0;
};

void StateFile::adopt_locked(Part& part) {
    file_ = std::make_shared<File>(std::move(part.file));
    index_ = std::move(part.index);
    tail_ = synced_ = marked_ = size_ = part.tail();
    compact_above_ = 0;
    broken_ = false;
}

// ---- Opening ----

StateFile::StateFile(const std::string& path, Report report, const StateFileLimits& limits)
    : path_(path), report_(std::move(report)), limits_(limits) {
    File file;
    const int error = File::open(path, &file);
    if (error == -EBUSY)
        throw StateFileError(EBUSY, "state file '" + path +
                                        "' cannot be used: another chip has it. Give each chip a file of its own, or "
                                        "end the program that uses this one");
    if (error == -ENODEV) bad("it is not a regular file. Name another one");
    if (error == -EMFILE || error == -ENFILE || error == -ENOMEM)
        throw StateFileError(-error, "state file '" + path + "' cannot be opened: " + text_of(error));
    if (error) {
        const bool forbidden = error == -EACCES || error == -EPERM || error == -EROFS;
        throw StateFileError(forbidden ? EACCES : EINVAL,
                             "state file '" + path + "' cannot be used: it cannot be opened for reading and writing: " +
                                 text_of(error) + ". Name a file that may be written, in a folder that is there");
    }
    path_ = resolved(path);  // keeps a symbolic link
    file_ = std::make_shared<File>(std::move(file));
    find_records();
}

bool StateFile::genuine(const RecordHead& head, uint64_t at) const {
    return head.magic == kRecordMagic && head.at == at && head.bytes <= kPayloadMax && !(head.flags & ~kTogether) &&
           head.sum == sum_of(head, salt_);
}

// Reads up to the end of the file. A read error must not be taken for the end of the file.
size_t StateFile::read(const File& file, void* data, size_t bytes, uint64_t at) const {
    const ssize_t got = file.read(data, bytes, at);
    if (got < 0) bad("it cannot be read at offset " + std::to_string(at) + ": " + text_of(static_cast<int>(got)));
    return static_cast<size_t>(got);
}

bool StateFile::head_at(const File& file, uint64_t at, RecordHead* head) const {
    return read(file, head, sizeof *head, at) == sizeof *head && genuine(*head, at);
}

bool StateFile::payload_at(const File& file, const RecordHead& head, std::vector<uint8_t>* payload) const {
    payload->resize(filled(head.bytes));
    return read(file, payload->data(), payload->size(), head.at + sizeof head) == payload->size() &&
           payload_sum(*payload, salt_) == head.payload_sum;
}

// The highest `synced` offset of the records behind `from`.
uint64_t StateFile::claim_behind(uint64_t from) const {
    uint64_t farthest = 0;
    std::vector<uint8_t> piece(std::min<uint64_t>(kPiece, size_ - from));
    for (uint64_t begin = from; begin < size_; begin += piece.size()) {
        const size_t got = read(*file_, piece.data(), piece.size(), begin);
        for (uint64_t at = 0; at + sizeof(RecordHead) <= got; at += kAlign) {
            RecordHead head;
            std::memcpy(&head, piece.data() + at, sizeof head);
            if (genuine(head, begin + at)) farthest = std::max(farthest, head.synced);
        }
    }
    return farthest;
}

void StateFile::find_records() {
    if (const int error = file_->size(&size_)) bad("its size cannot be read: " + text_of(error));
    if (size_ == 0) return;
    FileHead head{};
    if (read(*file_, &head, sizeof head, 0) < sizeof kFileMagic ||
        std::memcmp(head.magic, kFileMagic, sizeof head.magic) != 0)
        bad(std::memcmp(head.magic, kFormerTag, sizeof kFormerTag) == 0
                ? "it was written by an earlier version of the model, in a format that is not read any more. Move it "
                  "away: then the chip starts with erased cells"
                : "it is not the state file of a sidra chip. Name another one");
    if (head.version > kFileVersion && head.sum == sum_of(head, 0))
        bad("it is in version " + std::to_string(head.version) + " of the format, and this program knows " +
            std::to_string(kFileVersion) + ". Use the newer program");
    const char* const remedy = ". Put back a copy of it, or move it away: then the chip starts with erased cells";
    if (head.version != kFileVersion || head.sum != sum_of(head, 0)) bad(std::string("its head is damaged") + remedy);
    salt_ = head.salt;

    // Follows the record headers as far as they are valid.
    uint64_t end = sizeof head;
    for (RecordHead record; head_at(*file_, end, &record) && extent(record) <= size_ - end; end += extent(record))
        synced_ = std::max(synced_, record.synced);
    if (end < size_) synced_ = std::max(synced_, claim_behind(end));
    tail_ = last_whole(end, synced_);
    if (tail_ == sizeof head || tail_ < synced_) bad("it is damaged at offset " + std::to_string(tail_) + remedy);
}

// Adds the records up to `end` to the index. Records that were not certainly on disk are checked completely: an
// interrupted write ends the valid part. Returns the end of the valid part.
uint64_t StateFile::last_whole(uint64_t end, uint64_t synced) {
    uint64_t whole = sizeof(FileHead);
    std::vector<RecordHead> together;
    std::vector<uint8_t> payload;
    for (uint64_t at = whole; at < end;) {
        RecordHead head;
        if (!head_at(*file_, at, &head)) break;
        if (at + extent(head) > synced && !payload_at(*file_, head, &payload)) break;
        together.push_back(head);
        at += extent(head);
        if (head.flags & kTogether) continue;
        for (const RecordHead& each : together) index_.note(each);
        together.clear();
        whole = at;
        if (head.tag == kMark && head.synced == head.at) marked_ = whole;
    }
    return whole;
}

std::vector<StateFile::Place> StateFile::live_in_order(uint64_t from) const {
    std::vector<Place> order;
    for (const auto& [key, place] : index_.places)
        if (place.at && place.at >= from) order.push_back(place);
    std::sort(order.begin(), order.end(), [](const Place& a, const Place& b) { return a.at < b.at; });
    return order;
}

void StateFile::replay(const std::function<void(uint32_t tag, const std::vector<uint8_t>& payload)>& take) const {
    std::vector<uint8_t> payload;
    for (const Place& place : live_in_order(0)) {
        RecordHead head;
        if (!head_at(*file_, place.at, &head) || !payload_at(*file_, head, &payload))
            bad("it is damaged at offset " + std::to_string(place.at) +
                ". Put back a copy of it, or move it away: then the chip starts with erased cells");
        payload.resize(head.bytes);
        take(head.tag, payload);
    }
}

void StateFile::settle() {
    if (tail_ < size_) {
        report_("state file '" + path_ +
                "': what was written last is not whole (the program was killed, or the power "
                "failed): " +
                std::to_string(size_ - tail_) + " bytes from offset " + std::to_string(tail_) + " on are cut off");
        if (const int error = file_->cut(tail_)) bad("its torn end cannot be cut off: " + text_of(error));
    }
    if (mostly_garbage(limits_.at_opening)) compact();
    sync();
}

void StateFile::replace(const std::function<void(const Put& put)>& produce) {
    end_compaction();
    uint64_t salt = salt_;
    if (salt == 0 && getrandom(&salt, sizeof salt, 0) != sizeof salt) salt = 1;
    Part part(*this, *file_, salt, !empty());
    produce([&](const Record& record) { part.put(record); });
    part.finish();
    std::lock_guard guard(lock_);
    salt_ = salt;
    adopt_locked(part);
}

StateFile::~StateFile() {
    end_compaction();
    sync();
    if (const std::string line = failure(); !line.empty()) report_(line);
}

// ---- Writing ----

void StateFile::fail_locked(const char* what, int error) {
    if (!failing_)
        failure_ = "state file '" + path_ + "' cannot be " + what + ": " + text_of(error) +
                   (broken_ ? ". Nothing is written to it any more, and what should change cells fails"
                            : ". It keeps what it has, and what should change cells fails until there is room");
    failing_ = true;
}

std::string StateFile::failure() {
    std::lock_guard guard(lock_);
    return std::exchange(failure_, {});
}

void StateFile::give_up() {
    std::lock_guard guard(lock_);
    broken_ = true;
}

bool StateFile::append(std::span<const Record> records) {
    std::vector<uint8_t> buffer;
    std::vector<RecordHead> heads;
    size_t bytes = 0;
    for (const Record& record : records)
        bytes += sizeof(RecordHead) + filled(record.payload.size() + record.more.size());
    buffer.reserve(bytes);
    heads.reserve(records.size());
    for (const Record& record : records)
        heads.push_back(add_record(record, &record != &records.back(), salt_, &buffer));

    std::unique_lock guard(lock_);
    // A writer that is faster than the compaction waits, or the file would grow without bounds.
    compacted_.wait(guard, [&] { return !compacting_ || ending_ || !mostly_garbage(kAhead * limits_.in_use); });
    if (broken_) return false;
    uint64_t end = tail_;
    for (RecordHead& head : heads) {
        if (head.bytes) index_.places.try_emplace({head.tag, head.number});  // may throw, so it comes before any write
        head.at = end;
        head.synced = synced_;
        head.sum = sum_of(head, salt_);
        std::memcpy(buffer.data() + (end - tail_), &head, sizeof head);
        end += extent(head);
    }
    if (const int error = file_->write(buffer.data(), buffer.size(), tail_)) {
        broken_ = file_->cut(tail_) != 0;
        fail_locked("written", error);
        return false;
    }
    failing_ = false;
    for (const RecordHead& head : heads) index_.note(head);
    tail_ = end;
    if (tail_ > compact_above_ && mostly_garbage(limits_.in_use)) compact_soon_locked();
    return true;
}

// Records in the file how much of it is on disk. If that fails, the only consequence is that later damage may be taken
// for an interrupted write.
void StateFile::mark_locked() {
    std::vector<uint8_t> buffer;
    RecordHead mark = add_record({kMark, 0, {}, {}}, false, salt_, &buffer);
    mark.at = tail_;
    mark.synced = synced_;
    mark.sum = sum_of(mark, salt_);
    if (file_->write(&mark, sizeof mark, tail_) == 0) tail_ = marked_ = tail_ + sizeof mark;
    else broken_ = file_->cut(tail_) != 0;
}

bool StateFile::sync() {
    std::shared_ptr<File> file;
    uint64_t end;
    {
        std::lock_guard guard(lock_);
        if (broken_) return false;
        if (tail_ == marked_) return true;
        file = file_;
        end = tail_;
    }
    const int error = file->sync();  // without the lock, because it may take long
    std::lock_guard guard(lock_);
    if (error) {
        broken_ = true;  // the content on disk is unknown from now on
        fail_locked("brought to disk", error);
        return false;
    }
    if (file != file_) return true;  // the file that replaced it was synced
    synced_ = std::max(synced_, end);
    if (tail_ == end) mark_locked();
    return true;
}

// ---- Compaction ----

void StateFile::compact_soon_locked() {
    if (compacting_ || ending_) return;
    compacting_ = true;
    const engine::SignalsKeptOut kept_out;
    try {
        if (compactor_.joinable()) compactor_.join();  // it has finished its work
        compactor_ = std::thread([this] { compact(); });
    } catch (const std::exception&) {  // no thread or no memory for one: try later
        compacting_ = false;
        compact_above_ = tail_ + limits_.in_use;
    }
}

// The changes since `done` that a copy still needs.
StateFile::News StateFile::news_locked(const Index& copied, uint64_t done) const {
    News news{live_in_order(done), 0, {}};
    for (const Place& place : news.fresh) news.bytes += place.extent;
    for (const auto& [key, place] : copied.places) {
        const auto now = index_.places.find(key);
        if (now == index_.places.end() || now->second.at == 0) news.gone.push_back(key);
    }
    return news;
}

// Writes all current records to a new file while others append to the old one. They wait only for the last part.
void StateFile::compact() {
    std::string problem;
    try {
        std::shared_ptr<File> from;
        {
            std::lock_guard guard(lock_);
            from = file_;
        }
        Part part(*this, *from, salt_, true);
        uint64_t done = 0;
        for (int round = 0;; round++) {
            std::unique_lock guard(lock_);
            const News news = news_locked(part.index, done);
            done = tail_;
            if (round == 0 || (news.bytes > kStandstill && round < kRounds && !ending_)) {
                guard.unlock();
                const auto ending = [&] {
                    std::lock_guard again(lock_);
                    return ending_;
                };
                if (!part.copy(*from, news, ending)) return;
                part.sync();
                continue;
            }
            part.copy(*from, news, [] { return false; });
            part.finish();
            adopt_locked(part);
            compacting_ = false;
            compacted_.notify_all();
            return;
        }
    } catch (const std::exception& e) {
        problem = e.what();
    }
    if (!problem.empty()) report_(problem + ". It grows until that can be done");
    std::lock_guard guard(lock_);
    compact_above_ = tail_ + limits_.in_use;
    compacting_ = false;
    compacted_.notify_all();
}

void StateFile::end_compaction() {
    {
        std::lock_guard guard(lock_);
        ending_ = true;
        compacted_.notify_all();
    }
    if (compactor_.joinable()) compactor_.join();
    std::lock_guard guard(lock_);
    ending_ = compacting_ = false;
}

}  // namespace sidra::chip
