// SPDX-License-Identifier: MIT
// Writes files atomically: a file appears completely or not at all, whatever interrupts the program. Its folder must
// exist: a mistyped name must not create folders.
#ifndef SIDRA_COMMON_OUTPUT_FILE_H
#define SIDRA_COMMON_OUTPUT_FILE_H

#include <string>
#include <string_view>

namespace sidra::tools {

// Throws std::runtime_error if `path` cannot be written, so that the error comes before the work, not after it. Leaves
// no file behind.
void require_writable(const std::string& path);

// Creates a folder in an existing one, unless it exists. Throws std::runtime_error.
void make_folder(const std::string& path);

// Writes `text` beside `path`, then renames it to `path`, with the owner and mode of the old file; keeps a symbolic
// link, but fails for one that another user has put into a folder of all users. Throws std::runtime_error; then `path`
// is unchanged.
void write_file(const std::string& path, std::string_view text);

// As write_file(), but fails if the file exists, so that no key is overwritten. Mode 0600 if `secret`.
void write_new_file(const std::string& path, std::string_view text, bool secret);

}  // namespace sidra::tools

#endif
