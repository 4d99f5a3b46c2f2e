// SPDX-License-Identifier: MIT
// A file in memory that a path leads to: no link, so that whoever follows none opens it, too.
#ifndef SIDRA_TESTS_FUZZ_MEMORY_FILE_H
#define SIDRA_TESTS_FUZZ_MEMORY_FILE_H

#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdint>
#include <string>
#include <vector>

#include "check.h"

namespace sidra::fuzz {

using Bytes = std::vector<uint8_t>;

class File {
   public:
    File() {
        char name[] = "/dev/shm/sidra-fuzz-XXXXXX";
        const int fd = mkstemp(name);
        if (fd < 0) fail("there is no file in /dev/shm");
        close(fd);
        path_ = name;
    }
    ~File() { unlink(path_.c_str()); }
    File(const File&) = delete;
    File& operator=(const File&) = delete;
    const std::string& path() const { return path_; }
    // Opened each time: a program may put another file in its place, as a chip does with its state file.
    int open_it(int flags) const {
        const int fd = open(path_.c_str(), flags | O_CLOEXEC);
        if (fd < 0) fail("the file is not where it was");
        return fd;
    }
    void put(const Bytes& bytes) const {
        const int fd = open_it(O_WRONLY | O_TRUNC);
        if (write(fd, bytes.data(), bytes.size()) != static_cast<ssize_t>(bytes.size()))
            fail("the file does not take what it should");
        close(fd);
    }
    Bytes get() const {
        const int fd = open_it(O_RDONLY);
        struct stat info;
        if (fstat(fd, &info) != 0) fail("the file has no size");
        Bytes bytes(static_cast<size_t>(info.st_size));
        if (read(fd, bytes.data(), bytes.size()) != info.st_size) fail("the file can't be read");
        close(fd);
        return bytes;
    }

   private:
    std::string path_;
};

}  // namespace sidra::fuzz

#endif
