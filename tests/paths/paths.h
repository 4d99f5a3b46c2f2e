// SPDX-License-Identifier: MIT
// Where the files of the tree are, and the programs that tests run. Only paths.cpp has these paths in it, so a checkout
// in another folder takes everything else from the cache of the compiler.
#ifndef SIDRA_TESTS_PATHS_H
#define SIDRA_TESTS_PATHS_H

#include <string>

namespace sidra::test {

// A file of the checkout, by its name from the top of the tree.
std::string source_file(const std::string& name);

// What was built: the firmware with its symbols, and programs.
std::string runtime_elf();
std::string device_plugin_program();
std::string objdump_program();
std::string run_program();
std::string smi_program();

}  // namespace sidra::test

#endif
