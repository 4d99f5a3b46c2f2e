// SPDX-License-Identifier: MIT
// Where the dumps of an embedded chip's firmware go: a file each, for sidra-dump.
#ifndef SIDRA_EMBEDDED_DUMP_FILES_H
#define SIDRA_EMBEDDED_DUMP_FILES_H

#include <cstdint>
#include <span>
#include <string>

namespace sidra::embedded {

class DumpFiles {
   public:
    // From the environment, as it is now: SIDRA_DUMP_DIR, or $XDG_STATE_HOME/sidra, or ~/.local/state/sidra; and
    // SIDRA_QUIET. May throw std::bad_alloc.
    DumpFiles();

    // A new file, for its owner alone; folders that are missing are made. One line on stderr names it, or says why
    // there is none.
    void write(std::span<const uint8_t> dump) const noexcept;

   private:
    std::string folder_;  // empty: nobody has said where
    bool quiet_;
};

}  // namespace sidra::embedded

#endif
