// SPDX-License-Identifier: MIT
// One line of a program's text.
#ifndef SIDRA_PROGRAM_LINE_H
#define SIDRA_PROGRAM_LINE_H

#include <cstddef>
#include <stdexcept>
#include <string>
#include <string_view>

#include "table.h"

namespace sidra::program {

// The text is wrong, at a column counted from 1.
class LineError : public std::runtime_error {
   public:
    LineError(size_t column, const std::string& message) : std::runtime_error(message), column_(column) {}
    size_t column() const { return column_; }

   private:
    size_t column_;
};

// Assembles an instruction, or throws LineError. The flags are those of a `.bytes` line, or 0.
sidra_vector_instruction assemble_line(std::string_view line, const Types& types);

}  // namespace sidra::program

#endif
