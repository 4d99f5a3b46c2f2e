// SPDX-License-Identifier: MIT
// What goes to people and programs. Standard output: what is said at once appears whole or not at all, as far as the
// file lets us.
#ifndef SIDRA_SMI_OUTPUT_H
#define SIDRA_SMI_OUTPUT_H

#include <string>
#include <string_view>

namespace sidra::smi_tool {

// Throws Failure (SIDRA_SMI_INTERNAL): a full disk, a pipe that nobody reads. A part that a full disk took of it is
// taken back.
void print(std::string_view text);
// On standard error, as one line of a length that can be read: what a person typed, or a file is called, may be in it.
void say(std::string text);
// Whether standard output is a terminal that shows colours, and nobody has asked for none (NO_COLOR).
bool colourful();

}  // namespace sidra::smi_tool

#endif
