// SPDX-License-Identifier: MIT
// Writes dumps of an embedded chip's firmware to files, for sidra-dump.
#ifndef SIDRA_EMBEDDED_DUMP_FILES_H
#define SIDRA_EMBEDDED_DUMP_FILES_H

#include <cstdint>
#include <span>
#include <string>

namespace sidra::embedded {

class DumpFiles {
   public:
    // Reads the environment: SIDRA_DUMP_DIR, or $XDG_STATE_HOME/sidra, or ~/.local/state/sidra; and SIDRA_QUIET. May
    // throw std::bad_alloc.
    DumpFiles();

    // Writes a new file, accessible only by its owner; creates missing folders. Prints one line on stderr with the file
    // name, or with the reason for a failure.
    void write(std::span<const uint8_t> dump) const noexcept;

   private:
    std::string folder_;  // empty: no folder is configured
    bool quiet_;
};

}  // namespace sidra::embedded

#endif
