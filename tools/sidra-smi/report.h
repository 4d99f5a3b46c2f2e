// SPDX-License-Identifier: MIT
// Fields of chips, as text, CSV or JSON.
#ifndef SIDRA_SMI_REPORT_H
#define SIDRA_SMI_REPORT_H

#include <sidra/smi.h>

#include <cstdint>
#include <string>
#include <vector>

#include "common/json.h"

namespace sidra::smi_tool {

enum class Format { kText, kCsv, kJson };
extern const std::vector<std::pair<std::string, Format>> kFormats;  // by the names that people type

// Numbers of the fields that a list with commas names; a name with ".*" at its end, or "all", stands for several.
// Throws Failure.
std::vector<uint32_t> parse_fields(const std::string& names);

// "-" if it is absent.
std::string to_text(const sidra_smi_value& value);
// null if it is absent.
tools::Json to_json(const sidra_smi_value& value);
// One field of a line of CSV, quoted where it must be.
std::string csv_field(const std::string& text);
// Why it is absent, in a few words.
std::string why(const sidra_smi_value& value);

// "schema" and the time, UTC: what every JSON of this program begins with.
tools::Json::Object json_head();
// Now in UTC, with milliseconds.
std::string time_text();

struct Report {
    std::vector<uint32_t> fields;
    bool why = false;  // say why values are absent
};
std::string text_report(const Report& report, const std::vector<sidra_smi_chip*>& chips);
std::string csv_head(const Report& report, bool time);
std::string csv_lines(const Report& report, const std::vector<sidra_smi_chip*>& chips, const std::string& time);
tools::Json json_report(const Report& report, const std::vector<sidra_smi_chip*>& chips);

}  // namespace sidra::smi_tool

#endif
