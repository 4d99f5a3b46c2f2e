// SPDX-License-Identifier: MIT
// Where the files of the networks are: those of the installed programs (share/sidra) if this program is one of them,
// else those of the source tree.
#ifndef SIDRA_EXAMPLES_DATA_FILE_H
#define SIDRA_EXAMPLES_DATA_FILE_H

#include <string>

namespace sidra {

std::string digits_file();
std::string convnet_file();

}  // namespace sidra

#endif
