// SPDX-License-Identifier: MIT
#include "text.h"

#include <fmt/format.h>

#include <charconv>

namespace sidra::smi {

std::string_view trim(std::string_view text) {
    constexpr std::string_view kBlank(" \t\r\n\0", 5);
    const size_t first = text.find_first_not_of(kBlank);
    if (first == std::string_view::npos) return {};
    return text.substr(first, text.find_last_not_of(kBlank) - first + 1);
}

std::vector<std::string_view> words(std::string_view text) {
    std::vector<std::string_view> found;
    for (text = trim(text); !text.empty(); text = trim(text)) {
        found.push_back(text.substr(0, text.find_first_of(" \t\r\n")));
        text.remove_prefix(found.back().size());
    }
    return found;
}

std::string_view word(std::string_view text, std::string_view key) {
    for (const std::string_view each : words(text))
        if (each.starts_with(key) && each.substr(key.size()).starts_with('=')) return each.substr(key.size() + 1);
    return {};
}

std::string clean(std::string_view text) {
    std::string out(text.substr(0, 255));
    for (char& c : out)
        if (c < ' ' || c > '~') c = '?';
    return out;
}

Maybe<std::string> to_line(const Maybe<std::string>& file) {
    if (!file) return file;
    const std::string_view line = trim(file.value);
    if (line.empty()) return Maybe<std::string>::none(ENODATA);
    return clean(line.substr(0, line.find('\n')));
}

Maybe<uint64_t> to_number(std::string_view text, int base) {
    text = trim(text);
    if (base == 16 && text.starts_with("0x")) text.remove_prefix(2);
    uint64_t number = 0;
    const char* const end = text.data() + text.size();
    const auto [stop, error] = std::from_chars(text.data(), end, number, base);
    if (text.empty() || error != std::errc{} || stop != end) return Maybe<uint64_t>::none(EINVAL);
    return number;
}

Maybe<uint64_t> to_number(const Maybe<std::string>& file, int base) {
    return file ? to_number(std::string_view(file.value), base) : Maybe<uint64_t>::none(file.error);
}

Maybe<int64_t> to_signed(const Maybe<std::string>& file) {
    if (!file) return Maybe<int64_t>::none(file.error);
    const std::string_view text = trim(file.value);
    int64_t number = 0;
    const char* const end = text.data() + text.size();
    const auto [stop, error] = std::from_chars(text.data(), end, number);
    if (text.empty() || error != std::errc{} || stop != end) return Maybe<int64_t>::none(EINVAL);
    return number;
}

Maybe<std::string> to_bdf(std::string_view text) {
    // domain:bus:device.function, in hexadecimal; sysfs pads each part with zeros.
    const auto part = [&text](char end, unsigned most) -> Maybe<uint64_t> {
        const size_t at = end == '\0' ? text.size() : text.find(end);
        if (at == std::string_view::npos || at > 8 || text.starts_with("0x")) return Maybe<uint64_t>::none(EINVAL);
        Maybe<uint64_t> number = to_number(text.substr(0, at), 16);
        if (number && number.value > most) return Maybe<uint64_t>::none(EINVAL);
        text.remove_prefix(end == '\0' ? at : at + 1);
        return number;
    };
    const size_t colon = text.find(':');
    const bool domain_given = colon != std::string_view::npos && text.find(':', colon + 1) != std::string_view::npos;
    const Maybe<uint64_t> domain = domain_given ? part(':', 0xffffffffu) : Maybe<uint64_t>(0);
    const Maybe<uint64_t> bus = part(':', 0xff);
    const Maybe<uint64_t> device = part('.', 0x1f);
    const Maybe<uint64_t> function = part('\0', 7);
    if (!domain || !bus || !device || !function) return Maybe<std::string>::none(EINVAL);
    return fmt::format("{:04x}:{:02x}:{:02x}.{:x}", domain.value, bus.value, device.value, function.value);
}

std::string version_text(uint32_t major_minor) { return fmt::format("{}.{}", major_minor >> 16, major_minor & 0xffff); }

std::string firmware_version_text(uint32_t version) {
    if (version == 0) return "none";
    return fmt::format("{}.{}.{}", version >> 24, version >> 16 & 0xff, version & 0xffff);
}

std::string uuid_text(const uint8_t uuid[16]) {
    std::string text;
    for (int n = 0; n < 16; ++n)
        text += fmt::format("{}{:02x}", n == 4 || n == 6 || n == 8 || n == 10 ? "-" : "", uuid[n]);
    return text;
}

}  // namespace sidra::smi
