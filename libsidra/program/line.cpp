// SPDX-License-Identifier: MIT
#include "line.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <charconv>
#include <cmath>
#include <iterator>
#include <limits>
#include <numeric>
#include <optional>
#include <span>
#include <utility>
#include <vector>

namespace sidra::program {
namespace {

// A run of characters other than spaces, or one of `,` and `=`. Empty: the end of the line.
struct Word {
    std::string_view text;
    size_t column;

    bool is_end() const { return text.empty(); }
    bool is_separator() const { return text == "," || text == "="; }
};

std::vector<Word> words_of(std::string_view line) {
    line = line.substr(0, line.find('#'));
    std::vector<Word> words;
    size_t end = 0;
    for (size_t at = 0; at < line.size();) {
        if (line.find_first_of(" \t\r", at) == at) {
            ++at;
            continue;
        }
        const size_t next = line.find_first_of(" \t\r,=", at);
        end = std::max(std::min(next, line.size()), at + 1);
        words.push_back({line.substr(at, end - at), at + 1});
        at = end;
    }
    words.push_back({{}, end + 1});
    return words;
}

// What the user wrote, for a terminal.
std::string quoted(std::string_view text) {
    constexpr size_t kLongest = 40;
    std::string out = "'";
    for (const char c : text.substr(0, kLongest)) {
        if (c >= 0x20 && c < 0x7f) out += c;
        else out += fmt::format("\\x{:02x}", static_cast<unsigned char>(c));
    }
    return out + (text.size() > kLongest ? "...'" : "'");
}

template <class... Arguments>
[[noreturn]] void fail(const Word& word, fmt::format_string<Arguments...> format, Arguments&&... arguments) {
    throw LineError(word.column, fmt::format(format, std::forward<Arguments>(arguments)...));
}

// ---- Names with a number

struct Family {
    char letter;
    uint8_t first, count;  // first: the field of number 0
    const char* what;
};
constexpr Family kFamilies[] = {{'v', SIDRA_VECTOR_V(0), SIDRA_VECTOR_REGISTERS, "vector registers"},
                                {'s', SIDRA_VECTOR_S(0), SIDRA_VECTOR_REGISTERS, "scalar registers"},
                                {'p', SIDRA_VECTOR_PARAM(0), SIDRA_VECTOR_PARAMS, "parameters"},
                                {'o', 0, SIDRA_VECTOR_OPERANDS_MAX, "operands"}};

struct Name {
    char letter;
    uint8_t field;
};

std::optional<Name> name_of(const Word& word) {
    const std::string_view text = word.text;
    const auto* family = std::ranges::find(kFamilies, text.empty() ? '\0' : text[0], &Family::letter);
    if (family == std::end(kFamilies) || text.size() < 2 ||
        !std::ranges::all_of(text.substr(1), [](char c) { return c >= '0' && c <= '9'; }))
        return std::nullopt;
    uint8_t number = 0;
    const auto [stop, error] = std::from_chars(text.data() + 1, text.data() + text.size(), number);
    if (error != std::errc{} || number >= family->count || (text.size() > 2 && text[1] == '0'))
        fail(word, "there is no {}: the {} are {}0 to {}{}", quoted(text), family->what, family->letter, family->letter,
             family->count - 1);
    return Name{family->letter, static_cast<uint8_t>(family->first + number)};
}

bool is_register(const std::optional<Name>& name) { return name && (name->letter == 'v' || name->letter == 's'); }

// ---- Literals

bool is_literal(std::string_view text) {
    return text.starts_with("bits(") || text == "inf" || text == "nan" || text.starts_with('-') ||
           text.starts_with('.') || (!text.empty() && text[0] >= '0' && text[0] <= '9');
}

struct Integer {
    bool negative;
    std::optional<uint64_t> magnitude;  // none: needs more than 64 bits
};

// Nothing if the text is no integer.
std::optional<Integer> integer_of(std::string_view text) {
    Integer integer{text.starts_with('-'), {}};
    if (integer.negative) text.remove_prefix(1);
    const bool hex = text.starts_with("0x");
    if (hex) text.remove_prefix(2);
    uint64_t magnitude = 0;
    const char* end = text.data() + text.size();
    const auto [stop, error] = std::from_chars(text.data(), end, magnitude, hex ? 16 : 10);
    if (error == std::errc::invalid_argument || stop != end) return std::nullopt;
    if (error == std::errc{}) integer.magnitude = magnitude;
    return integer;
}

uint32_t bits_of(const Word& word) {
    std::string_view digits = word.text.substr(std::string_view("bits(").size());
    const bool closed = digits.ends_with(')');
    if (closed) digits.remove_suffix(1);
    const auto integer = integer_of(digits);
    if (!closed || !integer || integer->negative)
        fail(word, "{} is not a pattern of bits: write for example bits(0x7fc00001), without spaces",
             quoted(word.text));
    if (!integer->magnitude || *integer->magnitude > UINT32_MAX)
        fail(word, "{} has more than 32 bits", quoted(word.text));
    return static_cast<uint32_t>(*integer->magnitude);
}

uint32_t s32_of(const Word& word, const std::string& source) {
    const auto integer = integer_of(word.text);
    if (!integer)
        fail(word, "{} is s32, and {} is not an integer: write a decimal or hexadecimal integer", source,
             quoted(word.text));
    if (!integer->magnitude || *integer->magnitude > (integer->negative ? 0x80000000 : 0x7fffffff))
        fail(word, "{} is out of the range of s32, -2147483648 to 2147483647: for a pattern of bits write bits(...)",
             quoted(word.text));
    const auto magnitude = static_cast<uint32_t>(*integer->magnitude);
    return integer->negative ? 0 - magnitude : magnitude;
}

uint32_t f32_of(const Word& word) {
    const std::string_view text = word.text;
    const bool negative = text.starts_with('-');
    const std::string_view number = text.substr(negative);
    const auto result = [&](float magnitude) { return std::bit_cast<uint32_t>(negative ? -magnitude : magnitude); };
    if (number == "inf") return 0x7f800000 | uint32_t{negative} << 31;
    if (text == "nan") return 0x7fc00000;
    if (const auto integer = integer_of(text)) {
        const auto magnitude = integer->magnitude;
        constexpr int kDigits = std::numeric_limits<float>::digits;
        if (!magnitude || std::bit_width(*magnitude >> std::countr_zero(*magnitude | uint64_t{1} << 63)) > kDigits)
            fail(word, "no f32 is exactly {}: write a number with '.' or an exponent for the nearest one",
                 quoted(text));
        return result(static_cast<float>(*magnitude));
    }
    float magnitude = 0;
    const char* end = number.data() + number.size();
    const auto [stop, error] = std::from_chars(number.data(), end, magnitude);
    const char first = number.empty() ? '\0' : number[0];
    if (error == std::errc::invalid_argument || stop != end || !(first == '.' || (first >= '0' && first <= '9')))
        fail(word, "{} is not a number: write for example 3, -0x10, 1.5e-3, inf or bits(0x7fc00001)", quoted(text));
    // Some libraries report what is out of range, others give 0 or infinity.
    const bool digits = number.substr(0, number.find('e')).find_first_of("123456789") != std::string_view::npos;
    if (error != std::errc{} || std::isinf(magnitude) || (magnitude == 0 && digits))
        fail(word, "{} is out of the range of f32, 1e-45 to 3.4028235e+38: write 0.0 or inf", quoted(text));
    return result(magnitude);
}

// ---- Instructions

std::string slot_name(const Opcode& opcode, size_t n) {
    return opcode.source_count() == 1 ? fmt::format("the source of '{}'", opcode.mnemonic)
                                      : fmt::format("source {} of '{}'", n + 1, opcode.mnemonic);
}

// The form of an instruction, as an example that is correct.
std::string example(const Opcode& opcode) {
    std::string text;
    if (opcode.destination.type != Type::kNone)
        text = opcode.destination.place == Place::kNotVector ? "s0 = " : "v0 = ";
    text += opcode.mnemonic;
    const char* separator = " ";
    if (opcode.operand) {
        text += " o0";
        separator = ", ";
    }
    for (size_t n = 0; n < opcode.source_count(); ++n) {
        text += fmt::format("{}{}{}", separator, opcode.sources[n].place == Place::kNotVector ? 's' : 'v', n + 1);
        separator = ", ";
    }
    return text;
}

// The number of characters to insert, remove or replace that makes one word of the other.
size_t distance(std::string_view from, std::string_view to) {
    std::vector<size_t> row(to.size() + 1);
    std::iota(row.begin(), row.end(), size_t{0});
    for (size_t i = 0; i < from.size(); ++i) {
        size_t diagonal = row[0]++;
        for (size_t j = 0; j < to.size(); ++j) {
            const size_t replaced = diagonal + (from[i] != to[j]);
            diagonal = row[j + 1];
            row[j + 1] = std::min({replaced, row[j] + 1, diagonal + 1});
        }
    }
    return row.back();
}

const Opcode& opcode_of(const Word& word) {
    if (word.is_end()) fail(word, "an instruction is missing after '='");
    if (const Opcode* found = find(word.text)) return *found;
    if (is_register(name_of(word))) fail(word, "'=' is missing after the destination: write '{} = ...'", word.text);
    constexpr size_t kLongest = 20;  // no mnemonic is longer
    if (word.text.size() <= kLongest) {
        std::string lower(word.text);
        for (char& c : lower)
            if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
        const Opcode& nearest = *std::ranges::min_element(
            opcodes(), {}, [&](const Opcode& opcode) { return distance(lower, opcode.mnemonic); });
        if (distance(lower, nearest.mnemonic) <= std::max<size_t>(1, lower.size() / 3))
            fail(word, "there is no instruction {}: did you mean '{}'?", quoted(word.text), nearest.mnemonic);
    }
    fail(word, "there is no instruction {}: docs/vector-programs.md lists all", quoted(word.text));
}

uint8_t destination_of(const Word& word, const Opcode& opcode) {
    if (opcode.destination.type == Type::kNone)
        fail(word, "'{}' has no destination: write for example '{}'", opcode.mnemonic, example(opcode));
    const auto name = name_of(word);
    if (!is_register(name))
        fail(word, "{} cannot be a destination: write a register, for example '{}'", quoted(word.text),
             example(opcode));
    if (opcode.destination.place == Place::kVector && name->letter != 'v')
        fail(word, "the destination of '{}' must be a vector register, not {}", opcode.mnemonic, word.text);
    if (opcode.destination.place == Place::kNotVector && name->letter != 's')
        fail(word, "the destination of '{}' must be a scalar register, not {}", opcode.mnemonic, word.text);
    return name->field;
}

// What follows the mnemonic; the end of the line is the last element.
std::vector<Word> arguments_of(std::span<const Word> words) {
    std::vector<Word> arguments;
    for (size_t at = 0; !words[at].is_end() || at > 0; at += 2) {
        if (words[at].is_end() || words[at].is_separator())
            fail(words[at], "a source is missing {}",
                 words[at].is_end() ? "after ','" : "before " + quoted(words[at].text));
        arguments.push_back(words[at]);
        const Word& next = words[at + 1];
        if (next.is_end()) break;
        if (next.text != ",")
            fail(next, "{} is not expected here: only ',' or the end of the line can follow", quoted(next.text));
    }
    arguments.push_back(words.back());
    return arguments;
}

// Assembles the sources of an instruction whose other fields are complete.
class Sources {
   public:
    Sources(const Opcode& opcode, const Types& types, sidra_vector_instruction* instruction)
        : opcode_(opcode), types_(types), i_(*instruction) {}

    void assemble(std::span<const Word> words) {
        uint8_t* const fields[] = {&i_.a, &i_.b, &i_.c};
        for (size_t n = 0; n < words.size(); ++n) *fields[n] = field(words[n]);
        for (size_t n = 0; n < words.size(); ++n) check(words[n], n);
        // All other sources are there now, so the type of a literal is known.
        for (size_t n = 0; n < words.size(); ++n)
            if (is_imm(*fields[n])) *fields[n] = immediate(words[n], n);
    }

   private:
    // A literal is IMM(0) until immediate() knows its type.
    static uint8_t field(const Word& word) {
        if (word.text == "column") return SIDRA_VECTOR_COLUMN;
        if (word.text == "row") return SIDRA_VECTOR_ROW;
        if (is_literal(word.text)) return SIDRA_VECTOR_IMM(0);
        const auto name = name_of(word);
        if (named_operand(word.text))
            fail(word, "operand {} cannot be a source here: load it into a register first", word.text);
        if (!name)
            fail(word, "{} is not a source: write a register (v0, s0), a parameter (p0), column, row or a number",
                 quoted(word.text));
        if (name->letter == 'o')
            fail(word, "operand {} cannot be a source here: load it into a register first", word.text);
        return name->field;
    }

    void check(const Word& word, size_t n) const {
        const Slot slot = opcode_.sources[n];
        const uint8_t field = sources(i_)[n];
        const bool by_column = is_vector(field) || field == SIDRA_VECTOR_COLUMN;
        if (slot.place == Place::kVector && !is_vector(field))
            fail(word, "{} must be a vector register, not {}", slot_name(opcode_, n), quoted(word.text));
        if (slot.place == Place::kNotVector && by_column)
            fail(word, "{} must be the same in all columns, so it cannot be {}", slot_name(opcode_, n), word.text);
        if (by_column && !opcode_.is_vector(i_))
            fail(word, "a scalar instruction cannot read {}: {}", word.text,
                 opcode_.destination.type == Type::kNone ? "move it into a vector register first"
                                                         : "write to a vector register, or reduce it first");
        if ((field == SIDRA_VECTOR_COLUMN || field == SIDRA_VECTOR_ROW) && slot.type == Type::kFloat)
            fail(word, "{} is f32, and {} is s32: convert it with 'to_float' first", slot_name(opcode_, n), word.text);
    }

    uint8_t immediate(const Word& word, size_t n) {
        uint32_t bits;
        if (word.text.starts_with("bits(")) bits = bits_of(word);
        else if (types_.source(opcode_, i_, n) == Type::kInt) bits = s32_of(word, slot_name(opcode_, n));
        else bits = f32_of(word);
        uint32_t* const slot = std::find(i_.imm, i_.imm + used_, bits);
        if (slot == std::end(i_.imm))
            fail(word, "{} is the third number of this instruction, and two fit: move one into a register first",
                 quoted(word.text));
        if (slot == i_.imm + used_) i_.imm[used_++] = bits;
        return static_cast<uint8_t>(SIDRA_VECTOR_IMM(0) + (slot - i_.imm));
    }

    const Opcode& opcode_;
    const Types& types_;
    sidra_vector_instruction& i_;
    size_t used_ = 0;  // elements of imm
};

// After `.bytes`: an instruction as it lies in memory.
sidra_vector_instruction bytes_of(std::span<const Word> words) {
    std::array<uint8_t, sizeof(sidra_vector_instruction)> bytes;
    const std::string_view text = words[0].text;
    bool good = text.size() == 2 + 2 * bytes.size() && text.starts_with("0x");
    for (size_t n = 0; good && n < bytes.size(); ++n) {
        const char* digits = text.data() + 2 + 2 * n;
        const auto [stop, error] = std::from_chars(digits, digits + 2, bytes[n], 16);
        good = error == std::errc{} && stop == digits + 2;
    }
    if (!good)
        fail(words[0], "'.bytes' needs 0x and the {} hexadecimal digits of {} bytes", 2 * bytes.size(), bytes.size());
    if (!words[1].is_end())
        fail(words[1], "{} is not expected here: only the end of the line can follow", quoted(words[1].text));
    return std::bit_cast<sidra_vector_instruction>(bytes);
}

}  // namespace

sidra_vector_instruction assemble_line(std::string_view line, const Types& types) {
    const std::vector<Word> all = words_of(line);
    std::span<const Word> words = all;
    if (words[0].text == ".bytes") return bytes_of(words.subspan(1));
    const bool assigned = words.size() > 1 && words[1].text == "=";
    const Word destination = words[0];
    if (assigned) words = words.subspan(2);
    const Word mnemonic = words[0];
    const Opcode& opcode = opcode_of(mnemonic);

    sidra_vector_instruction instruction{};
    instruction.op = opcode.op;
    if (assigned) instruction.dst = destination_of(destination, opcode);
    else if (opcode.destination.type != Type::kNone)
        fail(mnemonic, "'{}' needs a destination: write for example '{}'", opcode.mnemonic, example(opcode));

    const std::vector<Word> arguments = arguments_of(words.subspan(1));
    std::span<const Word> given(arguments.data(), arguments.size() - 1);
    if (opcode.operand) {
        if (const auto named = named_operand(arguments[0].text)) {
            instruction.operand = *named;
        } else {
            const auto name = name_of(arguments[0]);
            if (!name || name->letter != 'o')
                fail(arguments[0], "'{}' needs an operand first: write for example '{}'", opcode.mnemonic,
                     example(opcode));
            instruction.operand = name->field;
        }
        given = given.subspan(1);
    }
    const size_t wanted = opcode.source_count();
    if (given.size() != wanted) {
        const Word& place = given.size() < wanted ? arguments.back() : given[wanted];
        fail(place, "'{}' has {} source{}, not {}: write for example '{}'", opcode.mnemonic, wanted,
             wanted == 1 ? "" : "s", given.size(), example(opcode));
    }
    Sources(opcode, types, &instruction).assemble(given);
    return instruction;
}

}  // namespace sidra::program
