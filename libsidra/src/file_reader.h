// SPDX-License-Identifier: MIT
// Reads files into memory: with many concurrent reads through io_uring, or with pread if io_uring is not available.
#ifndef SIDRA_FILE_READER_H
#define SIDRA_FILE_READER_H

#include <cstddef>
#include <cstdint>

namespace sidra {

enum class FileReads { kUring, kPread };

// Reads `size` bytes of `fd` from `offset` on. Returns the number of bytes read (less at the end of the file) or
// -errno; no read is in flight on return. `used` (if given) returns the method.
int64_t read_file(int fd, uint64_t offset, std::byte* memory, size_t size, FileReads preferred = FileReads::kUring,
                  FileReads* used = nullptr);

}  // namespace sidra

#endif
