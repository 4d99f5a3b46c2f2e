// SPDX-License-Identifier: MIT
#include <fmt/format.h>

#include <cstring>
#include <vector>

#include "dump.h"
#include "program/program_text.h"
#include "sidra_vector.h"

namespace sidra::dump {

std::string program_text(std::span<const uint8_t> bytes) {
    constexpr size_t kBytes = sizeof(sidra_vector_instruction);
    if (bytes.empty()) throw DumpError("it is empty");
    if (bytes.size() % kBytes || bytes.size() > kBytes * SIDRA_VECTOR_INSTRUCTIONS_MAX)
        throw DumpError(fmt::format("it has {} bytes; a vector program has 1 to {} instructions of {} bytes",
                                    bytes.size(), SIDRA_VECTOR_INSTRUCTIONS_MAX, kBytes));
    std::vector<sidra_vector_instruction> program(bytes.size() / kBytes);
    std::memcpy(program.data(), bytes.data(), bytes.size());
    return program::disassemble(program);
}

}  // namespace sidra::dump
