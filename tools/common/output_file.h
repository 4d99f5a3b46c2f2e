// SPDX-License-Identifier: MIT
// A file that appears whole or not at all, whatever interrupts the program. Its folder must be there: a mistyped name
// must not make folders.
#ifndef SIDRA_COMMON_OUTPUT_FILE_H
#define SIDRA_COMMON_OUTPUT_FILE_H

#include <string>
#include <string_view>

namespace sidra::tools {

// Throws std::runtime_error if `path` cannot be written: found out before the work for it, not after it.
// Leaves no file behind.
void require_writable(const std::string& path);

// A folder in one that is there, unless it is there itself. Throws std::runtime_error.
void make_folder(const std::string& path);

// Writes `text` beside `path`, then renames it to `path`, with the owner and mode of what was there; a symbolic link
// stays one. Throws std::runtime_error; then `path` is as it was before.
void write_file(const std::string& path, std::string_view text);

// The same for a file that must not be there yet: who loses one loses it for good. Of mode 0600 if `secret`.
void write_new_file(const std::string& path, std::string_view text, bool secret);

}  // namespace sidra::tools

#endif
