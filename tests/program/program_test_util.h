// SPDX-License-Identifier: MIT
#ifndef SIDRA_TESTS_PROGRAM_TEST_UTIL_H
#define SIDRA_TESTS_PROGRAM_TEST_UTIL_H

#include <gtest/gtest.h>

#include <cstring>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

#include "paths.h"
#include "program/program_text.h"

// As googletest finds them: outside every namespace.
inline bool operator==(const sidra_vector_instruction& a, const sidra_vector_instruction& b) {
    return std::memcmp(&a, &b, sizeof a) == 0;
}

namespace sidra::program::test {

using Program = std::vector<sidra_vector_instruction>;

// The instructions of a text without errors.
inline Program assembled(const std::string& text) {
    const Assembly assembly = assemble(text);
    if (const auto* error = std::get_if<AssemblyError>(&assembly)) {
        ADD_FAILURE() << error->line << ":" << error->column << ": " << error->message << "\n" << text;
        return {};
    }
    return std::get<Code>(assembly).instructions;
}

// The only instruction after `pass:`.
inline sidra_vector_instruction one(const std::string& line) {
    const Program program = assembled("pass:\n" + line);
    return program.size() == 1 ? program[0] : sidra_vector_instruction{};
}

inline std::string file(const std::string& name) {
    std::ifstream in(sidra::test::source_file(name));
    std::stringstream text;
    text << in.rdbuf();
    return text.str();
}

}  // namespace sidra::program::test

#endif
