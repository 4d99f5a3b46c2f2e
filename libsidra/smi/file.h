// SPDX-License-Identifier: MIT
// Files that somebody else writes: whatever is in them, reading ends and is bounded.
#ifndef SIDRA_SMI_FILE_H
#define SIDRA_SMI_FILE_H

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "maybe.h"

namespace sidra::smi {

// An open file, or the errno why not. Opening never waits: for who writes into a pipe, say.
class File {
   public:
    File(const std::string& path, int flags);
    ~File();
    File(const File&) = delete;
    File& operator=(const File&) = delete;
    int fd() const { return fd_; }
    int error() const { return error_; }
    // Up to `size` bytes from `offset`; fewer at its end.
    Maybe<size_t> read(void* to, size_t size, uint64_t offset) const;

   private:
    int fd_;
    int error_;
};

// A whole regular file. EFBIG: longer than `limit`.
Maybe<std::string> read_file(const std::string& path, size_t limit);
// Writes `text` by one call, as sysfs wants it. 0, or an errno.
int write_file(const std::string& path, const std::string& text);
// Names in a folder but . and .., sorted.
Maybe<std::vector<std::string>> list_folder(const std::string& path);
// Where a symbolic link leads to, as it says.
Maybe<std::string> link_target(const std::string& path);

// CLOCK_MONOTONIC.
uint64_t now_ns();

}  // namespace sidra::smi

#endif
