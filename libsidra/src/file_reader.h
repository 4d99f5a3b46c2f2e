// SPDX-License-Identifier: MIT
// Reads files into memory: with many concurrent reads through io_uring, or with pread if io_uring is not available.
#ifndef SIDRA_FILE_READER_H
#define SIDRA_FILE_READER_H

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>

namespace sidra {

enum class FileReads { kUring, kPread };

// A part of a file, and where it goes.
struct FileRange {
    uint64_t offset;
    std::byte* memory;
    size_t size;
};

// Gets what was read, in the order of the ranges and of their bytes, while the kernel reads what follows: bytes `at` to
// `at` + `size` of a range. Returns false to stop.
using FilePiece = std::function<bool(size_t range, size_t at, size_t size)>;

// Reads the ranges of `fd`. Returns the number of bytes of all ranges before the file's end or the piece at which
// `piece` (if given) stopped, or -errno; no read is in flight on return. `direct`: the same file, opened with O_DIRECT,
// or -1; it reads what lies at multiples of a page in the file and in memory, unless the kernel refuses that. `used`
// (if given) returns the method.
int64_t read_file(int fd, std::span<const FileRange> ranges, const FilePiece& piece = {},
                  FileReads preferred = FileReads::kUring, int direct = -1, FileReads* used = nullptr);

}  // namespace sidra

#endif
