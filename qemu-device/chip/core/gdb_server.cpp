// SPDX-License-Identifier: MIT
#include "gdb_server.h"

#include <algorithm>
#include <charconv>
#include <optional>

namespace sidra::core {

namespace {

constexpr char kInterrupt = 0x03;
constexpr size_t kPacketMax = 4096;  // the limit that we announce; longer packets are dropped

// As GDB numbers them: x0 to x31, pc, and control registers from 65 on.
constexpr uint32_t kPc = 32, kFirstCsr = 65;

struct Csr {
    const char* name;
    uint32_t number;
    uint32_t State::*value;
};
constexpr Csr kCsrs[] = {
    {"mstatus", 0x300, &State::mstatus},   {"mie", 0x304, &State::mie},   {"mtvec", 0x305, &State::mtvec},
    {"mscratch", 0x340, &State::mscratch}, {"mepc", 0x341, &State::mepc}, {"mcause", 0x342, &State::mcause},
    {"mtval", 0x343, &State::mtval},       {"mip", 0x344, &State::mip},
};

const std::string& description() {
    static const std::string xml = [] {
        std::string text =
            "<?xml version=\"1.0\"?><!DOCTYPE target SYSTEM \"gdb-target.dtd\"><target version=\"1.0\">"
            "<architecture>riscv:rv32</architecture><feature name=\"org.gnu.gdb.riscv.cpu\">";
        constexpr const char* kNames[] = {"zero", "ra", "sp", "gp", "tp",  "t0",  "t1", "t2", "fp", "s1", "a0",
                                          "a1",   "a2", "a3", "a4", "a5",  "a6",  "a7", "s2", "s3", "s4", "s5",
                                          "s6",   "s7", "s8", "s9", "s10", "s11", "t3", "t4", "t5", "t6"};
        for (const char* name : kNames) text += std::string("<reg name=\"") + name + "\" bitsize=\"32\"/>";
        text += "<reg name=\"pc\" bitsize=\"32\" type=\"code_ptr\"/></feature><feature name=\"org.gnu.gdb.riscv.csr\">";
        for (const Csr& csr : kCsrs)
            text += std::string("<reg name=\"") + csr.name + "\" bitsize=\"32\" regnum=\"" +
                    std::to_string(kFirstCsr + csr.number) + "\"/>";
        return text + "</feature></target>";
    }();
    return xml;
}

std::string hex(std::span<const uint8_t> bytes) {
    constexpr const char* kDigits = "0123456789abcdef";
    std::string text;
    for (const uint8_t byte : bytes) {
        text += kDigits[byte >> 4];
        text += kDigits[byte & 15];
    }
    return text;
}
std::string hex_word(uint32_t value) {
    const uint8_t bytes[] = {static_cast<uint8_t>(value), static_cast<uint8_t>(value >> 8),
                             static_cast<uint8_t>(value >> 16), static_cast<uint8_t>(value >> 24)};
    return hex(bytes);
}

// Parses a text that is one number.
std::optional<uint32_t> number(std::string_view text) {
    uint32_t value = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value, 16);
    if (error != std::errc{} || end != text.data() + text.size()) return std::nullopt;
    return value;
}
std::optional<std::vector<uint8_t>> bytes_of(std::string_view text) {
    if (text.size() % 2 != 0) return std::nullopt;
    std::vector<uint8_t> bytes;
    for (size_t i = 0; i < text.size(); i += 2) {
        const auto value = number(text.substr(i, 2));
        if (!value) return std::nullopt;
        bytes.push_back(static_cast<uint8_t>(*value));
    }
    return bytes;
}
std::optional<uint32_t> word_of(std::string_view text) {
    const auto bytes = bytes_of(text);
    if (!bytes || bytes->size() != 4) return std::nullopt;
    return uint32_t{(*bytes)[0]} | uint32_t{(*bytes)[1]} << 8 | uint32_t{(*bytes)[2]} << 16 |
           uint32_t{(*bytes)[3]} << 24;
}

// Splits at the separator; the second part is empty without one.
std::pair<std::string_view, std::string_view> split(std::string_view text, char separator) {
    const size_t at = text.find(separator);
    if (at == std::string_view::npos) return {text, {}};
    return {text.substr(0, at), text.substr(at + 1)};
}

uint8_t sum(std::string_view text) {
    uint8_t total = 0;
    for (const char c : text) total = static_cast<uint8_t>(total + static_cast<uint8_t>(c));
    return total;
}
std::string framed(const std::string& packet) {
    const uint8_t check[] = {sum(packet)};
    return "$" + packet + "#" + hex(check);
}

// Signals as GDB numbers them: 2 after an interrupt request, 5 at a breakpoint, watchpoint or step.
const std::string kOk = "OK", kInterrupted = "S02", kStop = "S05";
// The error numbers are ours: 1 is a malformed request, 14 an address without memory, 28 too many breakpoints,
// 30 read-only memory.
const std::string kMalformed = "E01", kNothingThere = "E0e", kTooMany = "E1c", kReadOnly = "E1e";

}  // namespace

void GdbServer::attach() {
    received_.clear();
    running_ = false;
}

void GdbServer::detach() {
    for (const uint32_t address : breakpoints_) core_.set_breakpoint(address, false);
    for (const Rv32::Watchpoint& watchpoint : watchpoints_) core_.set_watchpoint(watchpoint, false);
    breakpoints_.clear();
    watchpoints_.clear();
    running_ = true;
}

std::string GdbServer::stopped() {
    running_ = false;
    return framed(why_stopped());
}

std::string GdbServer::why_stopped() const {
    if (!core_.watched()) return kStop;
    const Rv32::Watchpoint& watchpoint = *core_.watched();
    const char* kind = watchpoint.accesses == Rv32::Watchpoint::kWrites  ? "watch:"
                       : watchpoint.accesses == Rv32::Watchpoint::kReads ? "rwatch:"
                                                                         : "awatch:";
    const uint32_t at = watchpoint.address;
    const uint8_t digits[] = {static_cast<uint8_t>(at >> 24), static_cast<uint8_t>(at >> 16),
                              static_cast<uint8_t>(at >> 8), static_cast<uint8_t>(at)};
    return "T05" + std::string(kind) + hex(digits) + ";";
}

std::string GdbServer::receive(std::string_view bytes) {
    std::string replies;
    received_ += bytes;
    for (;;) {
        const size_t start = received_.find_first_of(std::string{'$', kInterrupt});
        if (start == std::string::npos) {  // acknowledgements
            received_.clear();
            return replies;
        }
        received_.erase(0, start);
        if (received_[0] == kInterrupt) {
            received_.erase(0, 1);
            if (running_) replies += framed(kInterrupted);
            running_ = false;
            continue;
        }
        const size_t end = received_.find('#');
        if (end == std::string::npos || received_.size() < end + 3) {
            if (received_.size() > kPacketMax) received_.clear();
            return replies;
        }
        const std::string packet = received_.substr(1, end - 1);
        const bool whole = number(received_.substr(end + 1, 2)) == sum(packet);
        received_.erase(0, end + 3);
        if (!whole) {
            replies += '-';
            continue;
        }
        replies += '+';
        if (packet == "c") running_ = true;  // answered when it stops
        else replies += framed(answer(packet));
    }
}

std::string GdbServer::answer(std::string_view packet) {
    const char command = packet.empty() ? '\0' : packet[0];
    const std::string_view rest = packet.substr(packet.empty() ? 0 : 1);
    switch (command) {
        case '?':
            return why_stopped();
        case 'g':
            return read_registers();
        case 'G':
            return write_registers(rest);
        case 'p':
            return read_register(rest);
        case 'P':
            return write_register(rest);
        case 'm':
            return read_memory(rest);
        case 'M':
            return write_memory(rest);
        case 's':
            if (!rest.empty()) return kMalformed;
            step_();
            return why_stopped();
        case 'Z':
            return change_point(rest, true);
        case 'z':
            return change_point(rest, false);
        case 'H':
            return kOk;  // there is one thread
        case 'D':
            detach();
            return kOk;
        case 'q':
            return query(packet);
    }
    return "";  // the protocol's answer to an unknown request
}

uint32_t* GdbServer::register_at(uint32_t n) const {
    if (n < kPc) return &core_.state().x[n];
    if (n == kPc) return &core_.state().pc;
    for (const Csr& csr : kCsrs)
        if (n == kFirstCsr + csr.number) return &(core_.state().*csr.value);
    return nullptr;
}

std::string GdbServer::read_registers() const {
    std::string text;
    for (uint32_t n = 0; n <= kPc; n++) text += hex_word(*register_at(n));
    return text;
}

std::string GdbServer::write_registers(std::string_view text) {
    if (text.size() != 8 * (kPc + 1) || !bytes_of(text)) return kMalformed;
    for (uint32_t n = 1; n <= kPc; n++) *register_at(n) = *word_of(text.substr(8 * n, 8));
    core_.state().pc &= ~3u;
    return kOk;
}

std::string GdbServer::read_register(std::string_view text) const {
    const auto n = number(text);
    const uint32_t* value = n ? register_at(*n) : nullptr;
    return value ? hex_word(*value) : kMalformed;
}

std::string GdbServer::write_register(std::string_view assignment) {
    const auto [name, text] = split(assignment, '=');
    const auto n = number(name), value = word_of(text);
    if (!n || !value || *n >= kFirstCsr || !register_at(*n)) return kMalformed;
    if (*n != 0) *register_at(*n) = *n == kPc ? *value & ~3u : *value;
    return kOk;
}

std::string GdbServer::read_memory(std::string_view range) const {
    const auto [from, length] = split(range, ',');
    const auto address = number(from), bytes = number(length);
    if (!address || !bytes) return kMalformed;
    std::vector<uint8_t> memory(std::min<size_t>(*bytes, kPacketMax / 2));
    return core_.read(*address, memory) ? hex(memory) : kNothingThere;
}

std::string GdbServer::write_memory(std::string_view text) {
    const auto [range, data] = split(text, ':');
    const auto [to, length] = split(range, ',');
    const auto address = number(to), count = number(length);
    const auto bytes = bytes_of(data);
    if (!address || !count || !bytes || bytes->size() != *count) return kMalformed;
    if (core_.in_rom(*address)) return kReadOnly;  // a reset would not restore it
    return core_.write(*address, *bytes) ? kOk : kNothingThere;
}

std::string GdbServer::change_point(std::string_view what, bool on) {
    const auto [kind, place] = split(what, ',');
    const auto [at, size] = split(place, ',');
    const auto which = number(kind), address = number(at), bytes = number(size);
    if (which && *which > 4) return "";
    if (!which || !address || !bytes || *bytes == 0) return kMalformed;
    switch (*which) {
        case 2:
            return change_watchpoint({*address, *bytes, Rv32::Watchpoint::kWrites}, on);
        case 3:
            return change_watchpoint({*address, *bytes, Rv32::Watchpoint::kReads}, on);
        case 4:
            return change_watchpoint({*address, *bytes, Rv32::Watchpoint::kWrites | Rv32::Watchpoint::kReads}, on);
        default:  // software and hardware breakpoints are the same here: neither changes memory
            return change_breakpoint(*address, on);
    }
}

std::string GdbServer::change_breakpoint(uint32_t address, bool on) {
    if (address % 4 != 0) return kMalformed;
    if (on && breakpoints_.size() >= kPointsMax) return kTooMany;
    core_.set_breakpoint(address, on);
    if (on) breakpoints_.insert(address);
    else breakpoints_.erase(address);
    return kOk;
}

std::string GdbServer::change_watchpoint(const Rv32::Watchpoint& watchpoint, bool on) {
    const auto place = std::find(watchpoints_.begin(), watchpoints_.end(), watchpoint);
    if (on == (place != watchpoints_.end())) return kOk;
    if (on && watchpoints_.size() >= kPointsMax) return kTooMany;
    core_.set_watchpoint(watchpoint, on);
    if (on) watchpoints_.push_back(watchpoint);
    else watchpoints_.erase(place);
    return kOk;
}

std::string GdbServer::query(std::string_view packet) const {
    if (packet.starts_with("qSupported")) return "PacketSize=1000;qXfer:features:read+;hwbreak+;swbreak+";
    if (packet == "qAttached") return "1";
    constexpr std::string_view kRead = "qXfer:features:read:target.xml:";
    if (!packet.starts_with(kRead)) return "";
    const auto [from, length] = split(packet.substr(kRead.size()), ',');
    const auto offset = number(from), count = number(length);
    if (!offset || !count) return kMalformed;
    const std::string& xml = description();
    if (*offset >= xml.size()) return "l";
    const std::string part = xml.substr(*offset, std::min<size_t>(*count, kPacketMax - 8));
    return (*offset + part.size() < xml.size() ? "m" : "l") + part;
}

}  // namespace sidra::core
