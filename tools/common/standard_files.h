// SPDX-License-Identifier: MIT
// Standard input, output and error, whatever the program was started with.
#ifndef SIDRA_COMMON_STANDARD_FILES_H
#define SIDRA_COMMON_STANDARD_FILES_H

namespace sidra::tools {

// Opens /dev/null in place of each that is closed: else the next file, pipe or device that is opened takes its number,
// and what is printed goes there. First of all in main().
void open_standard_files();

// Throws std::runtime_error if something that was printed is lost. Last of all in main().
void flush_output();

}  // namespace sidra::tools

#endif
