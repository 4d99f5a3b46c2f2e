// SPDX-License-Identifier: MIT
// Files into memory: many reads at once through io_uring, or pread where that is forbidden or missing.
#ifndef SIDRA_FILE_READER_H
#define SIDRA_FILE_READER_H

#include <cstddef>
#include <cstdint>

namespace sidra {

enum class FileReads { kUring, kPread };

// Reads `size` bytes of `fd` from `offset` on. Returns how many were read (less: the file ends there) or -errno;
// nothing is under way any more when it returns. `used`, if given, says how.
int64_t read_file(int fd, uint64_t offset, std::byte* memory, size_t size, FileReads preferred = FileReads::kUring,
                  FileReads* used = nullptr);

}  // namespace sidra

#endif
