// SPDX-License-Identifier: MIT
// A file that appears complete or not at all: it is written under another name beside its own.
#ifndef SIDRA_COMPILER_PART_FILE_H
#define SIDRA_COMPILER_PART_FILE_H

#include <cstdint>
#include <stdexcept>
#include <string>
#include <string_view>

namespace sidra::compiler {

// "network.sidra: cannot be written: No space left on device"
struct FileError : std::runtime_error {
    using runtime_error::runtime_error;
};

// The end of the other name.
inline constexpr std::string_view kPartSuffix = ".part";

// All throw FileError.
class PartFile {
   public:
    explicit PartFile(std::string path);
    // Removes what was not finished.
    ~PartFile();
    PartFile(const PartFile&) = delete;
    PartFile& operator=(const PartFile&) = delete;

    void write(const void* data, uint64_t size, uint64_t offset);
    // Makes it a copy of the first `size` bytes of a file; on file systems that can, both share their blocks.
    void copy(int from, uint64_t size);
    // For reading what was written.
    int descriptor() const { return file_; }
    void finish(uint64_t size);

   private:
    [[noreturn]] void fail(const char* what) const;

    const std::string path_, part_;
    int file_ = -1;
};

}  // namespace sidra::compiler

#endif
