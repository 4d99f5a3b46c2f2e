// SPDX-License-Identifier: MIT
#include "file_reader.h"

#include <fcntl.h>
#include <liburing.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <optional>
#include <utility>

namespace sidra {
namespace {

// Also small enough that a piece is still in the processor's cache when its owner looks at it.
constexpr size_t kPiece = size_t{1} << 20;
constexpr size_t kPage = 4096;         // what an unbuffered read must be a multiple of, with any storage of today
constexpr unsigned kRefusalsMax = 16;  // consecutive refusals by the kernel before the fallback to pread
constexpr unsigned kPieces = 16;       // reads in flight

int64_t read_plainly(int fd, uint64_t offset, std::byte* memory, size_t size) {
    size_t done = 0;
    while (done < size) {
        const ssize_t got = pread(fd, memory + done, size - done, static_cast<off_t>(offset + done));
        if (got < 0 && errno == EINTR) continue;
        if (got < 0) return -errno;
        if (got == 0) break;
        done += static_cast<size_t>(got);
    }
    return static_cast<int64_t>(done);
}

// From byte `at` of the range `first` on; `all` bytes were read before.
int64_t read_plainly(int fd, std::span<const FileRange> ranges, const FilePiece& piece, size_t first = 0, size_t at = 0,
                     int64_t all = 0) {
    for (size_t i = first; i < ranges.size(); ++i, at = 0)
        for (; at < ranges[i].size; at += kPiece) {
            const size_t size = std::min(kPiece, ranges[i].size - at);
            const int64_t got = read_plainly(fd, ranges[i].offset + at, ranges[i].memory + at, size);
            if (got < 0) return got;
            if (got != 0 && piece && !piece(i, at, static_cast<size_t>(got))) return all;
            all += got;
            if (static_cast<size_t>(got) < size) return all;
        }
    return all;
}

class Ring {
   public:
    Ring() : error_(io_uring_queue_init(kPieces, &ring_, 0)) {}
    ~Ring() {
        if (error_ == 0) io_uring_queue_exit(&ring_);
    }
    Ring(const Ring&) = delete;
    Ring& operator=(const Ring&) = delete;
    bool usable() const { return error_ == 0; }
    io_uring* get() { return &ring_; }

   private:
    io_uring ring_{};
    const int error_;
};

// A read in flight, or its remainder, or one whose bytes were not handed over yet.
struct Piece {
    size_t range = 0, at = 0, size = 0;
    size_t left = 0;  // still to be read, at its end
    bool direct = false;
    bool last = false;  // the file ends here
};

class UringReader {
   public:
    UringReader(Ring& ring, int fd, int direct, std::span<const FileRange> ranges, const FilePiece& piece)
        : ring_(ring), fd_(fd), direct_(direct), ranges_(ranges), piece_(piece) {}

    // What was handed over, and the position behind that.
    struct Position {
        size_t range = 0, at = 0;
        int64_t all = 0;
    };
    // Returns nullopt if the kernel refuses commands from this process: no read is in flight, and the caller must use
    // pread for what is behind handed_over().
    std::optional<int64_t> run() {
        while (issued_ - handed_ < kPieces && start_next()) {
        }
        unsigned refusals = 0;
        while (prepared_ != 0 || under_way_ != 0) {
            // What can be handed over need not wait.
            const int taken = io_uring_submit_and_wait(ring_.get(), next_is_read() ? 0 : 1);
            if (taken >= 0) {
                prepared_ -= static_cast<unsigned>(taken);
                under_way_ += static_cast<unsigned>(taken);
            }
            const bool moved = reap();
            if (moved || taken > 0 || next_is_read()) {
                refusals = 0;
            } else if (taken != -EINTR && ++refusals >= kRefusalsMax) {
                // Wait for accepted commands, even if the kernel refuses to wait for us.
                while (under_way_ != 0)
                    if (!reap()) usleep(1000);
                return std::nullopt;
            }
            if (next_is_read()) {
                hand_over();
                start_next();
            }
        }
        while (next_is_read()) hand_over();
        return error_ != 0 ? error_ : behind_.all;
    }

    const Position& handed_over() const { return behind_; }

   private:
    // Collects completed reads; returns false if there were none.
    bool reap() {
        bool any = false;
        io_uring_cqe* done;
        while (under_way_ != 0 && io_uring_peek_cqe(ring_.get(), &done) == 0) {
            Piece& piece = pieces_[io_uring_cqe_get_data64(done)];
            const int result = done->res;
            io_uring_cqe_seen(ring_.get(), done);
            under_way_--;
            finish(piece, result);
            any = true;
        }
        return any;
    }

    Piece& piece_of(uint64_t number) { return pieces_[number % kPieces]; }

    bool start_next() {
        if (ended_ || error_ != 0) return false;
        while (range_ < ranges_.size() && at_ == ranges_[range_].size) ++range_, at_ = 0;
        if (range_ == ranges_.size()) return false;
        const FileRange& range = ranges_[range_];
        size_t size = std::min(kPiece, range.size - at_);
        // The rest of a range that is no multiple of a page is a piece of its own.
        if (direct_ >= 0 && size > kPage) size -= size % kPage;
        Piece& piece = piece_of(issued_++);
        piece = {range_, at_, size, size};
        at_ += size;
        start(piece);
        return true;
    }

    void start(Piece& piece) {
        const FileRange& range = ranges_[piece.range];
        const size_t at = piece.at + piece.size - piece.left;
        const uint64_t offset = range.offset + at;
        std::byte* const memory = range.memory + at;
        piece.direct =
            direct_ >= 0 && ((offset | reinterpret_cast<uintptr_t>(memory) | uint64_t{piece.left}) % kPage) == 0;
        io_uring_sqe* sqe = io_uring_get_sqe(ring_.get());  // not null: the ring has an entry for each piece
        io_uring_prep_read(sqe, piece.direct ? direct_ : fd_, memory, static_cast<unsigned>(piece.left), offset);
        io_uring_sqe_set_data64(sqe, static_cast<uint64_t>(&piece - pieces_.data()));
        prepared_++;
    }

    void finish(Piece& piece, int result) {
        if (result == -EINTR || result == -EAGAIN) {
            start(piece);
            return;
        }
        // Of some storage, or into the memory of some devices, the kernel reads only through its own.
        if (piece.direct && (result == -EINVAL || result == -EFAULT || result == -EOPNOTSUPP)) {
            direct_ = -1;
            start(piece);
            return;
        }
        if (result <= 0) {  // an error, or the end of the file at or before this position
            if (result < 0 && error_ == 0) error_ = result;
            ended_ = piece.last = true;
            piece.size -= std::exchange(piece.left, 0);
            return;
        }
        piece.left -= static_cast<size_t>(result);
        if (piece.left != 0) start(piece);
    }

    bool next_is_read() { return handed_ != issued_ && piece_of(handed_).left == 0; }

    void hand_over() {
        const Piece& piece = piece_of(handed_++);
        if (stopped_ || error_ != 0) return;
        if (piece.size != 0 && piece_ && !piece_(piece.range, piece.at, piece.size)) {
            stopped_ = ended_ = true;
            return;
        }
        behind_ = {piece.range, piece.at + piece.size, behind_.all + static_cast<int64_t>(piece.size)};
        stopped_ = piece.last;
    }

    Ring& ring_;
    const int fd_;
    int direct_;  // -1: not, or no longer
    const std::span<const FileRange> ranges_;
    const FilePiece& piece_;
    size_t range_ = 0, at_ = 0;         // of the next piece
    uint64_t issued_ = 0, handed_ = 0;  // pieces
    unsigned prepared_ = 0;             // not yet accepted by the kernel
    unsigned under_way_ = 0;            // accepted, and not yet completed
    bool ended_ = false;                // no further pieces
    bool stopped_ = false;              // nothing more is handed over
    int error_ = 0;
    Position behind_;
    std::array<Piece, kPieces> pieces_;
};

}  // namespace

int64_t read_file(int fd, std::span<const FileRange> ranges, const FilePiece& piece, FileReads preferred, int direct,
                  FileReads* used) {
    struct stat status {};
    if (fstat(fd, &status) != 0) return -errno;
    if (S_ISDIR(status.st_mode)) return -EISDIR;
    if (!S_ISREG(status.st_mode) && !S_ISBLK(status.st_mode)) return -ESPIPE;  // may have no end
    if (preferred == FileReads::kUring) {
        if (Ring ring; ring.usable()) {
            UringReader reader(ring, fd, direct, ranges, piece);
            const std::optional<int64_t> bytes = reader.run();
            if (used != nullptr) *used = bytes ? FileReads::kUring : FileReads::kPread;
            if (bytes) return *bytes;
            const auto& [range, at, all] = reader.handed_over();
            return read_plainly(fd, ranges, piece, range, at, all);
        }
    }
    if (used != nullptr) *used = FileReads::kPread;
    return read_plainly(fd, ranges, piece);
}

}  // namespace sidra
