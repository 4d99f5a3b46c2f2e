// SPDX-License-Identifier: MIT
// Files that others write: whatever their content, reading terminates and is bounded.
#ifndef SIDRA_SMI_FILE_H
#define SIDRA_SMI_FILE_H

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "maybe.h"

namespace sidra::smi {

// An open file, or an errno. Opening never blocks, even on a pipe without a writer.
class File {
   public:
    File(const std::string& path, int flags);
    ~File();
    File(const File&) = delete;
    File& operator=(const File&) = delete;
    int fd() const { return fd_; }
    int error() const { return error_; }
    // Reads up to `size` bytes from `offset`; fewer at the end of the file.
    Maybe<size_t> read(void* to, size_t size, uint64_t offset) const;

   private:
    int fd_;
    int error_;
};

// Reads a whole regular file. EFBIG: longer than `limit`.
Maybe<std::string> read_file(const std::string& path, size_t limit);
// Writes `text` with one call, as sysfs requires. Returns 0 or an errno.
int write_file(const std::string& path, const std::string& text);
// Names in a folder except . and .., sorted.
Maybe<std::vector<std::string>> list_folder(const std::string& path);
// The target of a symbolic link, as stored.
Maybe<std::string> link_target(const std::string& path);

// CLOCK_MONOTONIC.
uint64_t now_ns();

}  // namespace sidra::smi

#endif
