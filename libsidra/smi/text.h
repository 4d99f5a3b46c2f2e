// SPDX-License-Identifier: MIT
// Converts file contents to numbers and printable texts.
#ifndef SIDRA_SMI_TEXT_H
#define SIDRA_SMI_TEXT_H

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "maybe.h"

namespace sidra::smi {

// Returns the first line without surrounding blanks, at most 255 characters; characters other than printable ASCII
// become '?', because the text may go to a terminal or into JSON.
Maybe<std::string> to_line(const Maybe<std::string>& file);
std::string clean(std::string_view text);
std::string_view trim(std::string_view text);
std::vector<std::string_view> words(std::string_view text);
// VALUE of a word KEY=VALUE; "" if there is none.
std::string_view word(std::string_view text, std::string_view key);
// EINVAL: not a number, or other characters.
Maybe<uint64_t> to_number(const Maybe<std::string>& file, int base = 10);
Maybe<uint64_t> to_number(std::string_view text, int base = 10);
Maybe<int64_t> to_signed(const Maybe<std::string>& file);

// Normalises to 0000:01:00.0, as in sysfs; the domain may be missing. EINVAL: invalid.
Maybe<std::string> to_bdf(std::string_view text);
std::string version_text(uint32_t major_minor);       // major << 16 | minor
std::string firmware_version_text(uint32_t version);  // as struct sidra_fw_header has it; 0: none
std::string uuid_text(const uint8_t uuid[16]);

}  // namespace sidra::smi

#endif
