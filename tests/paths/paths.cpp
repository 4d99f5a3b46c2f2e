// SPDX-License-Identifier: MIT
#include "paths.h"

namespace sidra::test {

std::string source_file(const std::string& name) { return std::string(SIDRA_SOURCE_DIR "/") + name; }

std::string runtime_elf() { return SIDRA_RUNTIME_ELF; }
#ifdef SIDRA_PLUGIN_PROGRAM
std::string device_plugin_program() { return SIDRA_PLUGIN_PROGRAM; }
#endif
std::string objdump_program() { return SIDRA_OBJDUMP_PROGRAM; }
std::string run_program() { return SIDRA_RUN_PROGRAM; }
std::string smi_program() { return SIDRA_SMI_PROGRAM; }

}  // namespace sidra::test
