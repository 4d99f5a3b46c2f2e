// SPDX-License-Identifier: MIT
// Fields of chips as text, CSV or JSON.
#ifndef SIDRA_SMI_REPORT_H
#define SIDRA_SMI_REPORT_H

#include <sidra/smi.h>

#include <cstdint>
#include <string>
#include <vector>

#include "common/json.h"

namespace sidra::smi_tool {

enum class Format { kText, kCsv, kJson };
extern const std::vector<std::pair<std::string, Format>> kFormats;  // by name

// Returns the numbers of the fields in a comma-separated list of names. "PREFIX.*" selects all fields with this prefix,
// "all" all fields except debug fields, and "debug" the debug fields. Throws Failure.
std::vector<uint32_t> parse_fields(const std::string& names);

// "-" if absent.
std::string to_text(const sidra_smi_value& value);
// null if absent.
tools::Json to_json(const sidra_smi_value& value);
// One field of a line of CSV, quoted if necessary.
std::string csv_field(const std::string& text);
// The reason why a value is absent, in a few words.
std::string why(sidra_smi_chip* chip, const sidra_smi_value& value);

// The common first members of all JSON objects of this program: "schema", "command" and the time.
tools::Json::Object json_head(const char* command);
// The current time in UTC, with milliseconds.
std::string time_text();
// The same of a time in seconds, or in milliseconds, since the epoch.
std::string time_text(uint64_t seconds);
std::string time_text_ms(uint64_t milliseconds);

struct Report {
    std::vector<uint32_t> fields;
    bool why = false;  // print why values are absent
};
std::string text_report(const Report& report, const std::vector<sidra_smi_chip*>& chips);
std::string csv_head(const Report& report, bool time);
std::string csv_lines(const Report& report, const std::vector<sidra_smi_chip*>& chips, const std::string& time);
tools::Json json_report(const char* command, const Report& report, const std::vector<sidra_smi_chip*>& chips);

}  // namespace sidra::smi_tool

#endif
