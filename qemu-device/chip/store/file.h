// SPDX-License-Identifier: MIT
// A file that belongs to one holder at a time, and whole transfers.
#ifndef SIDRA_CHIP_FILE_H
#define SIDRA_CHIP_FILE_H

#include <sys/types.h>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>

namespace sidra::chip {

// An open file with its lock, both given up at the end. Errors are -errno.
class File {
   public:
    // Opens for reading and writing, made if it is not there. -EBUSY: another holder has it. -ENODEV: it is not a
    // regular file. The lock is on what was opened, not on the name: whoever replaces a file locks the new one first.
    static int open(const std::string& path, File* file);
    // A new one, with the owner and mode of another. What has that name goes if it is `left` behind by somebody who was
    // killed; else -EEXIST, or -EBUSY where another holder has it.
    static int create(const std::string& path, const File& like, const std::function<bool(const File&)>& left,
                      File* file);

    File() = default;
    ~File();
    File(File&& other) noexcept;
    File& operator=(File&& other) noexcept;

    // How many bytes there were up to the end of the file; or -errno.
    ssize_t read(void* data, size_t bytes, uint64_t at) const;
    int write(const void* data, size_t bytes, uint64_t at) const;  // all of it, or an error
    int size(uint64_t* bytes) const;
    int cut(uint64_t bytes) const;
    int sync() const;  // what was written is on disk, and so is the size

   private:
    int lock() const;
    int fd_ = -1;
};

// So that a new name in the folder of `path` survives a crash of the host.
int sync_folder(const std::string& path);

}  // namespace sidra::chip

#endif
