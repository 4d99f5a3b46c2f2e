// SPDX-License-Identifier: MIT
// The table of opcodes against the header that defines them, and against the page that describes the language.
#include "program/table.h"

#include <regex>
#include <set>

#include "program_test_util.h"

namespace sidra::program::test {
namespace {

TEST(Table, HasEachOpcodeOfTheHeader) {
    const std::string header = file("uapi/sidra_vector.h");
    const std::regex line("SIDRA_VECTOR_OP_([A-Z_]+)\\s*= (\\d+),");
    size_t count = 0;
    for (std::sregex_iterator at(header.begin(), header.end(), line), end; at != end; ++at, ++count) {
        std::string name = (*at)[1];
        for (char& c : name) c = static_cast<char>(std::tolower(c));
        const Opcode* opcode = find(static_cast<uint8_t>(std::stoi((*at)[2])));
        ASSERT_NE(nullptr, opcode) << name;
        EXPECT_EQ(name, opcode->mnemonic);
        EXPECT_EQ(opcode, find(name));
    }
    EXPECT_EQ(count, opcodes().size());
    EXPECT_EQ(nullptr, find(uint8_t{0}));
    EXPECT_EQ(nullptr, find(uint8_t{SIDRA_VECTOR_OP_COUNT}));
    EXPECT_EQ(nullptr, find("relu"));
}

// Each row of the page's tables of instructions is `mnemonic o0, a, b, c`.
TEST(Table, IsThatOfThePage) {
    const std::string page = file("docs/vector-programs.md");
    const size_t begin = page.find("\n## Instructions"), end = page.find("\n## Examples");
    ASSERT_LT(begin, end);
    const std::string tables = page.substr(begin, end - begin);
    const std::regex row("\\n\\| `([^`]+)` \\| ([^|\\n]*) \\|");
    std::vector<std::string> rows, wanted;
    for (std::sregex_iterator at(tables.begin(), tables.end(), row), last; at != last; ++at) {
        rows.push_back((*at)[1]);
        const Opcode* opcode = find(rows.back().substr(0, rows.back().find(' ')));
        ASSERT_NE(nullptr, opcode) << rows.back();
        const std::string text = (*at)[2];
        EXPECT_EQ(opcode->destination.type == Type::kNone && opcode->mnemonic != "scatter_int",
                  text.find("no destination") != std::string::npos)
            << rows.back();
    }
    for (const Opcode& opcode : opcodes()) {
        std::string form(opcode.mnemonic);
        const char* separator = " ";
        if (opcode.operand) form += " o0", separator = ", ";
        for (size_t n = 0; n < opcode.source_count(); ++n, separator = ", ")
            form += separator + std::string(1, static_cast<char>('a' + n));
        wanted.push_back(form);
    }
    EXPECT_EQ(wanted, rows);
}

}  // namespace
}  // namespace sidra::program::test
