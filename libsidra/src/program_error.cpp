// SPDX-License-Identifier: MIT
#include "program_error.h"

#include <array>
#include <string_view>

#include "program/program_text.h"
#include "program/table.h"

namespace sidra {
namespace {

struct ErrorText {
    const char* text;
    const char* hint;
};
constexpr std::array<ErrorText, SIDRA_PROGRAM_ERROR_COUNT> kErrors = {{
    {"nothing is wrong", ""},
    {"the opcode does not exist", "use one of enum sidra_vector_op"},
    {"a flag is unknown, or a field that must be zero is not", "begin with an instruction that is zero"},
    {"the opcode does not write this kind of register",
     "reductions write scalar registers; gather, random and scan write vector registers; stores write none"},
    {"a source does not exist, or the instruction cannot read it",
     "scalar instructions read neither vector registers nor `column`, reductions and scans read vector registers, and "
     "random reads neither of them"},
    {"a source has no value at this place",
     "a vector register is valid until the end of its pass, and a vector instruction reads the scalars that earlier "
     "passes wrote"},
    {"a source has the wrong type, f32 or s32", "convert it, or use the opcode for the other type"},
    {"a pass must begin here",
     "the first instruction begins a pass; one that has begun its scalar instructions has no more vector "
     "instructions; and a pass neither gathers from nor scatters to an array that it scatters to"},
    {"the operand does not exist, or the instruction cannot use it",
     "operands are numbered from 0; factors of a product, sums, codes and input are not for every instruction"},
    {"a field of the operand has a value that is not allowed",
     "`extent` is 1..2^30 with an index, gather or scatter (without an index), else 0; an operand of scalar loads and "
     "stores has stride[3] = 0"},
    {"the instruction does not take elements of this type",
     "instructions that end in _int take integer types and bool; the others take all types"},
    {"the address or a stride is not a multiple of the element's size", "align the array, and count strides in bytes"},
    {"the operand reaches beyond the address space", "strides are in bytes; check them and the sizes"},
    {"the operand is written, and overlaps itself or another one",
     "in place means the same place, strides, type and index; otherwise no two elements may share bytes"},
    {"the iteration space is empty or too large",
     "each size is 1..2^30, there are at most 2^30 rows and 2^38 elements; divide larger work"},
    {"the rows are too long for a program that needs whole rows",
     "divide the rows, or keep reductions, scans, scatters and scalar instructions out of the program"},
    {"there are too few or too many instructions or operands",
     "a program has 1..64 instructions and at most 8 operands; divide larger ones"},
    {"the program does not use the operand", "remove the operand from the call"},
    {"the flag WRITE does not agree with what the program stores to",
     "the flag WRITE is for operands that are stored to, and for no others; a prologue stores only codes"},
    {"the program uses the operand in more than one way",
     "use it by vector loads and stores, by scalar ones, or by gather and scatter; and in the prologue or the "
     "epilogue"},
}};

constexpr ErrorText kUnknown = {"the reason is unknown", "the chip may be newer than this library"};

const ErrorText& error_text(uint32_t error) { return error < kErrors.size() ? kErrors[error] : kUnknown; }

uint32_t error_of(uint64_t address) { return static_cast<uint32_t>(address >> 16 & 0xffff); }

// For example "operand 3" or "operand sums".
std::string operand_text(uint32_t operand) {
    if (operand < SIDRA_OPERAND_SUMS || operand > SIDRA_OPERAND_INPUT) return fmt::format("operand {}", operand);
    return "operand " + program::operand_name(static_cast<uint8_t>(operand));
}

// The line of an instruction in the program's text, without what surrounds it.
std::string instruction_text(std::span<const sidra_vector_instruction> code, size_t instruction) {
    const std::string all = program::disassemble(code.first(instruction + 1));
    const std::string_view line = std::string_view(all).substr(0, all.size() - 1);
    std::string_view text = line.substr(line.rfind('\n') + 1);
    // What the language cannot express has its description in a comment.
    if (const size_t comment = text.find("# "); comment != std::string_view::npos) text.remove_prefix(comment + 2);
    return std::string(text.substr(text.find_first_not_of(' ')));
}

}  // namespace

const char* program_error_text(uint32_t error) { return error_text(error).text; }
const char* program_error_hint(uint32_t error) { return error_text(error).hint; }

std::string program_fault_text(uint64_t address) {
    const uint32_t instruction = address & 0xff, operand = address >> 8 & 0xff;
    std::string text;
    if (instruction != SIDRA_PROGRAM_NONE) text += fmt::format("instruction {}, ", instruction);
    if (operand != SIDRA_PROGRAM_NONE) text += operand_text(operand) + ", ";
    if (!text.empty()) text.replace(text.size() - 2, 1, ":");
    return text + program_error_text(error_of(address));
}

const char* program_fault_hint(uint64_t address) { return program_error_hint(error_of(address)); }

sidra_status refuse_program(const char* call, const std::string& subject,
                            std::span<const sidra_vector_instruction> code, const vector::Verdict& verdict) {
    return guarded(call, [&] {
        std::string place = subject;
        if (verdict.instruction != SIDRA_PROGRAM_NONE)
            place +=
                fmt::format("instruction {} ({}), ", verdict.instruction, instruction_text(code, verdict.instruction));
        if (verdict.operand != SIDRA_PROGRAM_NONE) place += operand_text(verdict.operand) + ", ";
        if (!place.empty()) place.replace(place.size() - 2, 1, ":");
        return fail(SIDRA_ERROR_INVALID_ARGUMENT, call, "{}{}; {}", place, program_error_text(verdict.error),
                    program_error_hint(verdict.error));
    });
}

}  // namespace sidra
