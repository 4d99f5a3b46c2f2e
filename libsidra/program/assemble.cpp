// SPDX-License-Identifier: MIT
#include <utility>

#include "line.h"
#include "program_text.h"

namespace sidra::program {
namespace {

// Takes the lines of a program one by one.
class Assembler {
   public:
    void add(std::string_view line) {
        const std::string_view code = line.substr(0, line.find('#'));
        const size_t first = code.find_first_not_of(kSpaces);
        if (first == std::string_view::npos) return;
        const size_t column = first + 1;
        const std::string_view text = code.substr(first, code.find_last_not_of(kSpaces) + 1 - first);
        if (text == "pass:") {
            if (pass_) throw LineError(column, kEmptyPass);
            pass_ = true;
            epilogue_ = false;
            types_.begin_pass();
            return;
        }
        if (text == "epilogue:") {
            if (pass_) throw LineError(column, kEmptyPass);
            if (program_.empty())
                throw LineError(column,
                                "the prologue is empty: write its instructions before this line, or none at all");
            if (prologue_ != 0) throw LineError(column, "a program has one epilogue: this line comes twice");
            prologue_ = program_.size();
            epilogue_ = true;
            return;
        }
        if (text.starts_with("pass:"))
            throw LineError(column + 5, "nothing can follow 'pass:': write the instruction in the next line");
        if (text == "pass" || text.starts_with("pass ")) throw LineError(column, "the colon is missing: write 'pass:'");
        if (epilogue_ && !text.starts_with(".bytes"))
            throw LineError(column, "the first line of an epilogue must be 'pass:'");
        epilogue_ = false;
        if (program_.size() == SIDRA_VECTOR_INSTRUCTIONS_MAX)
            throw LineError(column, "a program has at most 64 instructions: divide it into two programs");
        if (program_.empty() && !pass_ && !text.starts_with(".bytes"))
            throw LineError(column, "the first line of a program must be 'pass:'");
        sidra_vector_instruction instruction = assemble_line(line, types_);
        if (pass_) instruction.flags |= SIDRA_VECTOR_PASS;
        pass_ = false;
        types_.add(instruction);
        program_.push_back(instruction);
    }

    Code finish() {
        if (epilogue_) throw LineError(1, "the epilogue is empty: write 'pass:' and an instruction");
        if (pass_) throw LineError(1, kEmptyPass);
        if (program_.empty()) throw LineError(1, "the program is empty: write 'pass:' and an instruction");
        return {std::move(program_), prologue_};
    }

   private:
    static constexpr const char* kSpaces = " \t\r";
    static constexpr const char* kEmptyPass = "an instruction is missing after 'pass:'";

    std::vector<sidra_vector_instruction> program_;
    Types types_;
    size_t prologue_ = 0;    // instructions
    bool pass_ = false;      // the next instruction begins a pass
    bool epilogue_ = false;  // the last line began the epilogue
};

}  // namespace

Assembly assemble(std::string_view text) {
    uint32_t line = 1;
    try {
        Assembler assembler;
        for (size_t end = text.find('\n'); end != std::string_view::npos; end = text.find('\n')) {
            assembler.add(text.substr(0, end));
            text.remove_prefix(end + 1);
            ++line;
        }
        assembler.add(text);
        return assembler.finish();
    } catch (const LineError& error) {
        return AssemblyError{line, static_cast<uint32_t>(error.column()), error.what()};
    }
}

}  // namespace sidra::program
