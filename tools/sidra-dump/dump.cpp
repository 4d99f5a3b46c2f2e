// SPDX-License-Identifier: MIT
#include "dump.h"

namespace sidra::dump {

Report decode(std::span<const uint8_t> dump, const tools::ElfSymbols* symbols) {
    if (dump.empty()) throw DumpError("it is empty: was the dump released already?");
    if (is_firmware_dump(dump)) return decode_firmware_dump(dump, symbols);
    if (is_driver_dump(dump)) return decode_driver_dump(dump);
    throw DumpError("it is no dump of a SIDRA card: it begins neither as the firmware's nor as the driver's do");
}

}  // namespace sidra::dump
