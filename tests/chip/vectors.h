// SPDX-License-Identifier: MIT
// VECTOR packets on rows, for tests that need work of the compute engine but are not about programs.
#ifndef SIDRA_TESTS_CHIP_VECTORS_H
#define SIDRA_TESTS_CHIP_VECTORS_H

#include <string>
#include <variant>
#include <vector>

#include "bench.h"
#include "packets.h"
#include "program/program_text.h"

namespace sidra::chip_test {

struct RowsAt {
    uint64_t addr;
    uint32_t type = SIDRA_TYPE_F32;
    uint64_t stride = 0;  // bytes; 0: dense
    bool scalar = false;  // one element for each row
};

// A program with its operands, in memory of the context.
inline sidra_cmd vector_rows(Context& context, const std::string& text, uint32_t rows, uint32_t cols,
                             const std::vector<RowsAt>& operands) {
    const auto assembly = program::assemble(text);
    const auto& code = std::get<program::Code>(assembly).instructions;
    std::vector<sidra_operand> table;
    for (const RowsAt& of : operands) {
        sidra_operand o{};
        const uint64_t bytes = element_size(of.type);
        o.addr = of.addr;
        o.type = static_cast<uint8_t>(of.type);
        o.stride[3] = of.scalar ? 0 : bytes;
        o.stride[2] = of.stride ? of.stride : of.scalar ? bytes : bytes * cols;
        o.stride[0] = o.stride[1] = rows * o.stride[2];
        const std::string name = " o" + std::to_string(table.size()) + ",";
        if (text.find("store" + name) != std::string::npos || text.find("store_int" + name) != std::string::npos)
            o.flags = SIDRA_OPERAND_WRITE;
        table.push_back(o);
    }
    sidra_cmd cmd = blank(SIDRA_CMD_VECTOR);
    cmd.vector.program = context.put(code);
    cmd.vector.operands = context.put(table);
    cmd.vector.size[0] = cmd.vector.size[1] = 1;
    cmd.vector.size[2] = rows, cmd.vector.size[3] = cols;
    cmd.vector.instructions = static_cast<uint16_t>(code.size());
    cmd.vector.operand_count = static_cast<uint16_t>(table.size());
    return cmd;
}

inline sidra_cmd relu(Context& context, uint32_t rows, uint32_t cols, const RowsAt& in, const RowsAt& out) {
    return vector_rows(context, "pass:\nv0 = load o0\nv1 = max v0, 0.0\nstore o1, v1\n", rows, cols, {in, out});
}

// out = a + b in f32, or in s32 modulo 2^32 if out is s32.
inline sidra_cmd add(Context& context, uint32_t rows, uint32_t cols, const RowsAt& a, const RowsAt& b,
                     const RowsAt& out) {
    return vector_rows(context,
                       out.type == SIDRA_TYPE_S32
                           ? "pass:\nv0 = load_int o0\nv1 = load_int o1\nv2 = add_int v0, v1\nstore_int o2, v2\n"
                           : "pass:\nv0 = load o0\nv1 = load o1\nv2 = add v0, v1\nstore o2, v2\n",
                       rows, cols, {a, b, out});
}

}  // namespace sidra::chip_test

#endif
