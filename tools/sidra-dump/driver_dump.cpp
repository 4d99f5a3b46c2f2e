// SPDX-License-Identifier: MIT
#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <set>

#include "common/number.h"
#include "dump.h"
#include "words.h"

namespace sidra::dump {
namespace {

constexpr std::string_view kFirstKey = "sidra-coredump";
constexpr uint64_t kFormat = 1;

struct Line {
    std::string_view key, value;
};

struct Word {
    std::string_view name, value;
    uint64_t number;
};

[[noreturn]] void fail(size_t line, const std::string& why) {
    throw DumpError(fmt::format("its line {} {}", line, why));
}

std::vector<Line> split(std::string_view text) {
    std::vector<Line> lines;
    std::set<std::string_view> keys;
    while (!text.empty()) {
        const size_t number = lines.size() + 1, end = text.find('\n');
        if (end == std::string_view::npos)
            fail(number, "is incomplete; the dump was truncated, or the driver had no more room");
        const std::string_view line = text.substr(0, end);
        text.remove_prefix(end + 1);
        if (!std::ranges::all_of(line, [](char c) { return c >= 0x20 && c < 0x7f; }))
            fail(number, "has bytes that are not text; the dump is damaged");
        const size_t colon = line.find(": ");
        if (colon == 0 || colon == std::string_view::npos || line.substr(0, colon).find(' ') != std::string_view::npos)
            fail(number, "is not 'key: value'; the dump is damaged");
        if (!keys.insert(line.substr(0, colon)).second)
            fail(number, fmt::format("repeats the key '{}'; the dump is damaged", line.substr(0, colon)));
        lines.push_back({line.substr(0, colon), line.substr(colon + 2)});
    }
    return lines;
}

void check_format(const Line& first) {
    const auto format = tools::parse_number(first.value);
    if (first.key != kFirstKey || !format) fail(1, "has no version of the format; the dump is damaged");
    if (*format != kFormat)
        throw DumpError(
            fmt::format("its format is {}, but this program supports {}; use a newer sidra-dump", *format, kFormat));
}

// The words of a value that is nothing but NAME=NUMBER; none, if it is something else.
std::vector<Word> words_of(std::string_view value) {
    std::vector<Word> words;
    while (!value.empty()) {
        const size_t end = std::min(value.find(' '), value.size());
        const std::string_view word = value.substr(0, end);
        value.remove_prefix(std::min(end + 1, value.size()));
        const size_t equals = word.find('=');
        if (equals == 0 || equals == std::string_view::npos) return {};
        const auto number = tools::parse_number(word.substr(equals + 1));
        if (word.substr(0, equals) != "raw" && !number) return {};
        if (std::ranges::find(words, word.substr(0, equals), &Word::name) != words.end()) return {};
        words.push_back({word.substr(0, equals), word.substr(equals + 1), number.value_or(0)});
    }
    return words;
}

// What a person would have to look up.
std::string note_of(const Line& line) {
    if (line.key == "cause") return cause_text(line.value);
    const auto number = tools::parse_number(line.value);
    if (line.key == "register.STATUS" && number) return stage_text(*number);
    if (line.key == "register.PANIC" && number) return panic_text(static_cast<uint32_t>(*number));
    std::string note;
    for (const Word& word : words_of(line.value)) {
        const std::string text = value_text(word.name, word.number);
        if (!text.empty()) note += fmt::format("{}{}: {}", note.empty() ? "" : ", ", word.name, text);
    }
    return note;
}

tools::Json json_value(const Line& line) {
    const std::vector<Word> words = words_of(line.value);
    if (words.empty()) return std::string(line.value);
    tools::Json::Object object;
    for (const Word& word : words) object.emplace_back(std::string(word.name), std::string(word.value));
    return object;
}

}  // namespace

bool is_driver_dump(std::span<const uint8_t> dump) {
    return dump.size() >= kFirstKey.size() && std::equal(kFirstKey.begin(), kFirstKey.end(), dump.begin());
}

Report decode_driver_dump(std::span<const uint8_t> dump) {
    const std::vector<Line> lines = split({reinterpret_cast<const char*>(dump.data()), dump.size()});
    check_format(lines.front());
    Report report;
    tools::Json::Object values, notes;
    for (const Line& line : lines) {
        const std::string note = note_of(line);
        fmt::format_to(std::back_inserter(report.text), "{}: {}{}\n", line.key, line.value,
                       note.empty() ? "" : fmt::format("  ({})", note));
        if (line.key != kFirstKey) values.emplace_back(std::string(line.key), json_value(line));
        if (!note.empty()) notes.emplace_back(std::string(line.key), note);
    }
    report.json = tools::Json::Object{
        {"schema", "sidra-dump/1"}, {"kind", "driver"}, {"values", std::move(values)}, {"notes", std::move(notes)}};
    return report;
}

}  // namespace sidra::dump
