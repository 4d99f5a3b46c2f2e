// SPDX-License-Identifier: MIT
#include "dump.h"

namespace sidra::dump {

Report decode(std::span<const uint8_t> dump, const tools::ElfSymbols* symbols) {
    if (dump.empty()) throw DumpError("it is empty; the dump may have been released already");
    if (is_firmware_dump(dump)) return decode_firmware_dump(dump, symbols);
    if (is_driver_dump(dump)) return decode_driver_dump(dump);
    throw DumpError("it is not a dump of a SIDRA card or of its firmware");
}

}  // namespace sidra::dump
