// SPDX-License-Identifier: MIT
// Reads a whole file.
#ifndef SIDRA_COMMON_INPUT_FILE_H
#define SIDRA_COMMON_INPUT_FILE_H

#include <sys/types.h>

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace sidra::tools {

struct InputFile {
    std::vector<uint8_t> bytes;
    mode_t mode = 0;  // permissions at the time of reading
};

// Throws std::runtime_error if `path` cannot be read, is not a regular file (it might have no end), or is longer than
// `limit`.
InputFile read_file(const std::string& path, size_t limit);

}  // namespace sidra::tools

#endif
