// SPDX-License-Identifier: MIT
#include "file_reader.h"

#include <fcntl.h>
#include <liburing.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <optional>

namespace sidra {
namespace {

constexpr size_t kPiece = size_t{1} << 20;
constexpr unsigned kRefusalsMax = 16;          // consecutive refusals by the kernel before the fallback to pread
constexpr unsigned kPieces = 16;               // reads in flight
constexpr size_t kFixedMax = size_t{1} << 30;  // io_uring's limit for one registered buffer

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

// A read in flight, or its remainder.
struct Piece {
    size_t at = 0;    // from the start of the whole read
    size_t left = 0;  // 0: free
};

class UringReader {
   public:
    UringReader(Ring& ring, int fd, uint64_t offset, std::byte* memory, size_t size)
        : ring_(ring), fd_(fd), offset_(offset), memory_(memory), end_(size) {
        // Unbuffered reads pin pages. Registering the memory pins them once for all reads. Device mappings refuse this;
        // then each read is buffered anyway.
        const iovec whole = {memory, size};
        fixed_ = size <= kFixedMax && (fcntl(fd, F_GETFL) & O_DIRECT) != 0 &&
                 io_uring_register_buffers(ring.get(), &whole, 1) == 0;
    }

    // Returns nullopt if the kernel refuses commands from this process: no read is in flight, and the caller must use
    // pread.
    std::optional<int64_t> run() {
        for (Piece& piece : pieces_) start_next(piece);
        unsigned refusals = 0;
        while (prepared_ != 0 || under_way_ != 0) {
            const int taken = io_uring_submit_and_wait(ring_.get(), under_way_ != 0 || prepared_ != 0 ? 1 : 0);
            if (taken >= 0) {
                prepared_ -= static_cast<unsigned>(taken);
                under_way_ += static_cast<unsigned>(taken);
            }
            const bool moved = reap();
            if (moved || taken > 0) {
                refusals = 0;
            } else if (taken != -EINTR && ++refusals >= kRefusalsMax) {
                // Wait for accepted commands, even if the kernel refuses to wait for us.
                while (under_way_ != 0)
                    if (!reap()) usleep(1000);
                return std::nullopt;
            }
        }
        return error_ != 0 ? error_ : static_cast<int64_t>(end_);
    }

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

    void fail(int error) {
        if (error_ == 0) error_ = error;
    }

    void start_next(Piece& piece) {
        if (error_ != 0 || next_ >= end_) return;
        piece = {next_, std::min(kPiece, end_ - next_)};
        next_ += piece.left;
        start(piece);
    }

    void start(Piece& piece) {
        io_uring_sqe* sqe = io_uring_get_sqe(ring_.get());  // not null: the ring has an entry for each piece
        const auto bytes = static_cast<unsigned>(piece.left);
        if (fixed_) io_uring_prep_read_fixed(sqe, fd_, memory_ + piece.at, bytes, offset_ + piece.at, 0);
        else io_uring_prep_read(sqe, fd_, memory_ + piece.at, bytes, offset_ + piece.at);
        io_uring_sqe_set_data64(sqe, static_cast<uint64_t>(&piece - pieces_.data()));
        prepared_++;
    }

    void finish(Piece& piece, int result) {
        if (result == -EINTR || result == -EAGAIN) {
            start(piece);
            return;
        }
        if (result < 0) {
            fail(result);
            return;
        }
        if (result == 0) {  // end of file at or before this position
            end_ = std::min(end_, piece.at);
            return;
        }
        piece.at += static_cast<size_t>(result);
        piece.left -= static_cast<size_t>(result);
        if (piece.left == 0) start_next(piece);
        else if (error_ == 0) start(piece);
    }

    Ring& ring_;
    const int fd_;
    const uint64_t offset_;
    std::byte* const memory_;
    size_t end_;  // lowered at the end of the file
    bool fixed_ = false;
    size_t next_ = 0;
    unsigned prepared_ = 0;   // not yet accepted by the kernel
    unsigned under_way_ = 0;  // accepted, and not yet completed
    int error_ = 0;
    std::array<Piece, kPieces> pieces_;
};

}  // namespace

int64_t read_file(int fd, uint64_t offset, std::byte* memory, size_t size, FileReads preferred, FileReads* used) {
    struct stat status {};
    if (fstat(fd, &status) != 0) return -errno;
    if (S_ISDIR(status.st_mode)) return -EISDIR;
    if (!S_ISREG(status.st_mode) && !S_ISBLK(status.st_mode)) return -ESPIPE;  // may have no end
    if (preferred == FileReads::kUring) {
        if (Ring ring; ring.usable()) {
            if (const auto bytes = UringReader(ring, fd, offset, memory, size).run()) {
                if (used != nullptr) *used = FileReads::kUring;
                return *bytes;
            }
        }
    }
    if (used != nullptr) *used = FileReads::kPread;
    return read_plainly(fd, offset, memory, size);
}

}  // namespace sidra
