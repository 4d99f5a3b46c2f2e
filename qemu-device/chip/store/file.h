// SPDX-License-Identifier: MIT
// A file that has one holder at a time, with complete transfers.
#ifndef SIDRA_CHIP_FILE_H
#define SIDRA_CHIP_FILE_H

#include <sys/types.h>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>

namespace sidra::chip {

// An open, locked file. The destructor closes and unlocks it. Errors are -errno.
class File {
   public:
    // Opens for reading and writing, and creates the file if it does not exist. -EBUSY: another holder has it. -ENODEV:
    // it is not a regular file. The lock belongs to the file, not to the name: to replace a file, lock the new one
    // first.
    static int open(const std::string& path, File* file);
    // Creates a file with the owner and mode of another. An existing file of that name is removed if `left` says that a
    // killed process left it behind; otherwise the result is -EEXIST, or -EBUSY if another holder has it.
    static int create(const std::string& path, const File& like, const std::function<bool(const File&)>& left,
                      File* file);

    File() = default;
    ~File();
    File(File&& other) noexcept;
    File& operator=(File&& other) noexcept;

    // Returns the number of bytes read, which is less than `bytes` only at the end of the file, or -errno.
    ssize_t read(void* data, size_t bytes, uint64_t at) const;
    int write(const void* data, size_t bytes, uint64_t at) const;  // writes everything, or returns an error
    int size(uint64_t* bytes) const;
    int cut(uint64_t bytes) const;
    int sync() const;  // content and size are on disk afterwards

   private:
    int lock() const;
    int fd_ = -1;
};

// Makes a new name in the folder of `path` survive a crash of the host.
int sync_folder(const std::string& path);

}  // namespace sidra::chip

#endif
