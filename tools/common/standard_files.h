// SPDX-License-Identifier: MIT
// Ensures valid standard input, output and error.
#ifndef SIDRA_COMMON_STANDARD_FILES_H
#define SIDRA_COMMON_STANDARD_FILES_H

namespace sidra::tools {

// Opens /dev/null for each one that is closed: otherwise the next opened file, pipe or device would get its number, and
// output would go there. Call first in main().
void open_standard_files();

// Throws std::runtime_error if output was lost. Call last in main().
void flush_output();

}  // namespace sidra::tools

#endif
