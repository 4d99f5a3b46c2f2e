// SPDX-License-Identifier: MIT
#include <fmt/format.h>

#include <bit>
#include <charconv>
#include <cmath>
#include <cstring>
#include <iterator>

#include "line.h"
#include "program_text.h"

namespace sidra::program {
namespace {

std::string literal_text(uint32_t bits, Type type) {
    if (type == Type::kInt) return std::to_string(static_cast<int32_t>(bits));
    const auto value = std::bit_cast<float>(bits);
    if (std::isnan(value)) return bits == 0x7fc00000 ? "nan" : fmt::format("bits({:#010x})", bits);
    char buffer[32];
    std::string text(buffer, std::to_chars(buffer, std::end(buffer), value).ptr);
    if (std::isfinite(value) && text.find_first_of(".e") == std::string::npos) text += ".0";
    return text;
}

std::string field_text(uint8_t field, const sidra_vector_instruction& instruction, Type type) {
    if (is_vector(field)) return fmt::format("v{}", field);
    if (is_scalar(field)) return fmt::format("s{}", field - SIDRA_VECTOR_S(0));
    if (is_imm(field)) return literal_text(instruction.imm[field - SIDRA_VECTOR_IMM(0)], type);
    if (field < SIDRA_VECTOR_PARAM(SIDRA_VECTOR_PARAMS)) return fmt::format("p{}", field - SIDRA_VECTOR_PARAM(0));
    if (field == SIDRA_VECTOR_COLUMN) return "column";
    if (field == SIDRA_VECTOR_ROW) return "row";
    return fmt::format("?{:#04x}", field);
}

std::string instruction_text(const Opcode& opcode, const sidra_vector_instruction& instruction, const Types& types) {
    std::string text;
    if (opcode.destination.type != Type::kNone)
        text = fmt::format("{} = ", field_text(instruction.dst, instruction, Type::kNone));
    text += opcode.mnemonic;
    const char* separator = " ";
    if (opcode.operand) {
        text += fmt::format(" {}", operand_name(instruction.operand));
        separator = ", ";
    }
    for (size_t n = 0; n < opcode.source_count(); ++n) {
        text += separator;
        text += field_text(sources(instruction)[n], instruction, types.source(opcode, instruction, n));
        separator = ", ";
    }
    return text;
}

// Whether assemble() makes this instruction of that text.
bool says_all(const std::string& text, sidra_vector_instruction instruction, const Types& types) try {
    instruction.flags &= static_cast<uint8_t>(~SIDRA_VECTOR_PASS);
    const sidra_vector_instruction again = assemble_line(text, types);
    return std::memcmp(&again, &instruction, sizeof instruction) == 0;
} catch (const LineError&) {
    return false;
}

std::string bytes_text(const sidra_vector_instruction& instruction) {
    std::string text = ".bytes 0x";
    for (const uint8_t byte : std::bit_cast<std::array<uint8_t, sizeof instruction>>(instruction))
        text += fmt::format("{:02x}", byte);
    return text;
}

}  // namespace

std::string disassemble(std::span<const sidra_vector_instruction> program, size_t prologue) {
    std::string out;
    Types types;
    for (const sidra_vector_instruction& instruction : program) {
        const bool pass = instruction.flags & SIDRA_VECTOR_PASS;
        if (prologue != 0 && &instruction == program.data() + prologue) out += "epilogue:\n";
        if (pass) {
            out += "pass:\n";
            types.begin_pass();
        }
        const Opcode* opcode = find(instruction.op);
        const std::string text = opcode == nullptr ? fmt::format("opcode {} is unknown", instruction.op)
                                                   : instruction_text(*opcode, instruction, types);
        const bool begins = pass || &instruction != program.data();
        out += opcode != nullptr && begins && says_all(text, instruction, types)
                   ? fmt::format("    {}\n", text)
                   : fmt::format("    {}  # {}\n", bytes_text(instruction), text);
        types.add(instruction);
    }
    return out;
}

}  // namespace sidra::program
