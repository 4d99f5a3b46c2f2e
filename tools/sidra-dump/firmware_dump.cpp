// SPDX-License-Identifier: MIT
#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <iterator>

#include "dump.h"
#include "image/crc32.h"
#include "sidra_boot.h"
#include "words.h"

namespace sidra::dump {
namespace {

sidra_boot_dump check(std::span<const uint8_t> bytes) {
    constexpr size_t kSizeEnd = offsetof(sidra_boot_dump, code);
    sidra_boot_dump dump{};
    std::memcpy(&dump, bytes.data(), std::min(bytes.size(), sizeof dump));
    if (bytes.size() < kSizeEnd) throw DumpError(fmt::format("it ends after {} bytes; it was truncated", bytes.size()));
    if (dump.size != sizeof dump)
        throw DumpError(
            fmt::format("it announces {} bytes, but this program supports dumps of {}; it is damaged, or needs "
                        "a newer sidra-dump",
                        dump.size, sizeof dump));
    if (bytes.size() < sizeof dump)
        throw DumpError(fmt::format("it ends after {} of {} bytes; it was truncated", bytes.size(), sizeof dump));
    if (bytes.size() > sizeof dump)
        throw DumpError(fmt::format("it has {} extra bytes at its end", bytes.size() - sizeof dump));
    const uint32_t crc = sidra_image_crc32(0, bytes.data(), offsetof(sidra_boot_dump, crc32));
    if (crc != dump.crc32)
        throw DumpError(fmt::format("its CRC is {:#010x} instead of {:#010x}; it is damaged", dump.crc32, crc));
    if (dump.log_bytes > sizeof dump.log)
        throw DumpError(
            fmt::format("it announces {} bytes of log, but has room for {}", dump.log_bytes, sizeof dump.log));
    return dump;
}

// Lines of the log, without what a terminal would act on.
std::vector<std::string> log_lines(const sidra_boot_dump& dump) {
    std::vector<std::string> lines;
    std::string_view left(dump.log, dump.log_bytes);
    while (!left.empty()) {
        const size_t end = left.find('\n');
        lines.push_back(printable(left.substr(0, end)));
        left.remove_prefix(end == std::string_view::npos ? left.size() : end + 1);
    }
    return lines;
}

std::string in_brackets(const std::string& text) { return text.empty() ? "" : fmt::format("  ({})", text); }

std::string text_of(const sidra_boot_dump& dump, const std::string& pc, const std::string& ra) {
    std::string out;
    const auto line = [&](std::string_view name, const std::string& value) {
        fmt::format_to(std::back_inserter(out), "{:<10}{}\n", name, value);
    };
    line("firmware", version_text(dump.version));
    line("panic", fmt::format("{:#x}{}", dump.code, in_brackets(panic_text(dump.code))));
    line("time", fmt::format("{} ns after power-on", dump.cycles * SIDRA_MGMT_CYCLE_NS));
    line("pc", fmt::format("{:#010x}{}", dump.pc, in_brackets(pc)));
    line("mcause", fmt::format("{:#010x}{}", dump.mcause, in_brackets(mcause_text(dump.mcause))));
    line("mtval", fmt::format("{:#010x}{}", dump.mtval, in_brackets(mtval_text(dump.mcause, dump.mtval))));
    line("mstatus", fmt::format("{:#010x}", dump.mstatus));
    for (size_t i = 0; i < kRegisterNames.size(); ++i)
        line(kRegisterNames[i], fmt::format("{:#010x}{}", dump.x[i], i == 1 ? in_brackets(ra) : ""));
    out += "log\n";
    for (const std::string& one : log_lines(dump)) out += "  " + one + '\n';
    return out;
}

tools::Json json_of(const sidra_boot_dump& dump, const std::string& pc, const std::string& ra) {
    using Json = tools::Json;
    Json::Object registers;
    for (size_t i = 0; i < kRegisterNames.size(); ++i) registers.emplace_back(kRegisterNames[i], dump.x[i]);
    Json::Array log;
    for (std::string& one : log_lines(dump)) log.emplace_back(std::move(one));
    const auto name = [](const std::string& text) { return text.empty() ? Json() : Json(text); };
    return Json::Object{{"schema", "sidra-dump/1"},
                        {"kind", "firmware"},
                        {"version", version_text(dump.version)},
                        {"panic", Json::Object{{"code", dump.code}, {"text", panic_text(dump.code)}}},
                        {"time_ns", dump.cycles * SIDRA_MGMT_CYCLE_NS},
                        {"pc", dump.pc},
                        {"pc_symbol", name(pc)},
                        {"ra_symbol", name(ra)},
                        {"mcause", dump.mcause},
                        {"mcause_text", mcause_text(dump.mcause)},
                        {"mtval", dump.mtval},
                        {"mstatus", dump.mstatus},
                        {"registers", std::move(registers)},
                        {"log", std::move(log)}};
}

}  // namespace

bool is_firmware_dump(std::span<const uint8_t> dump) {
    constexpr uint8_t kMagic[] = {'S', 'D', 'F', 'D'};
    static_assert(SIDRA_BOOT_DUMP_MAGIC == ('S' | 'D' << 8 | 'F' << 16 | 'D' << 24));
    return dump.size() >= sizeof kMagic && std::memcmp(dump.data(), kMagic, sizeof kMagic) == 0;
}

Report decode_firmware_dump(std::span<const uint8_t> bytes, const tools::ElfSymbols* symbols) {
    const sidra_boot_dump dump = check(bytes);
    const std::string pc = symbols != nullptr ? symbols->name_of(dump.pc) : "";
    const std::string ra = symbols != nullptr ? symbols->name_of_caller(dump.x[1]) : "";
    return {text_of(dump, pc, ra), json_of(dump, pc, ra)};
}

}  // namespace sidra::dump
