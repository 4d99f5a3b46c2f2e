// SPDX-License-Identifier: MIT
// Standard output and standard error. A text that is printed to a file appears as a whole or not at all.
#ifndef SIDRA_SMI_OUTPUT_H
#define SIDRA_SMI_OUTPUT_H

#include <string>
#include <string_view>

namespace sidra::smi_tool {

// The reader of a pipe has closed it, as `head` does: the program ends without a message, as with SIGPIPE.
struct BrokenPipe {};

// Throws Failure (SIDRA_SMI_INTERNAL), or BrokenPipe. Undoes a partial write to a full disk.
void print(std::string_view text);
// Throws BrokenPipe if nobody reads standard output any more, for a command that may have nothing to print for long.
void require_reader();
// Prints one line of limited length on standard error. The text may contain user input or file names.
void say(std::string text);
// Whether standard output is a terminal with colours, and NO_COLOR is not set.
bool colourful();

}  // namespace sidra::smi_tool

#endif
