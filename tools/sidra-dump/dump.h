// SPDX-License-Identifier: MIT
// Dumps of a SIDRA card: what its firmware leaves after a panic (struct sidra_boot_dump), and what the driver leaves
// when it decides that something is broken (docs/driver.md); and vector programs. Nothing in them is trusted.
#ifndef SIDRA_DUMP_DUMP_H
#define SIDRA_DUMP_DUMP_H

#include <cstdint>
#include <span>
#include <stdexcept>
#include <string>

#include "common/elf32.h"
#include "common/json.h"

namespace sidra::dump {

// What is wrong with a dump; begins with "it".
class DumpError : public std::runtime_error {
   public:
    using std::runtime_error::runtime_error;
};

struct Report {
    std::string text;  // lines, for people
    tools::Json json;  // the same, for programs
};

// Throws DumpError: nothing of a damaged dump is told. `symbols` of the firmware, or nullptr.
Report decode(std::span<const uint8_t> dump, const tools::ElfSymbols* symbols);

// The text of a vector program, which assembles to it again (docs/vector-programs.md). `bytes`: its instructions.
std::string program_text(std::span<const uint8_t> bytes);

bool is_firmware_dump(std::span<const uint8_t> dump);
Report decode_firmware_dump(std::span<const uint8_t> dump, const tools::ElfSymbols* symbols);
bool is_driver_dump(std::span<const uint8_t> dump);
Report decode_driver_dump(std::span<const uint8_t> dump);

}  // namespace sidra::dump

#endif
