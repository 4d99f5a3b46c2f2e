// SPDX-License-Identifier: MIT
// Calls of vector programs.
#include <algorithm>
#include <iterator>
#include <span>

#include "element.h"
#include "operands.h"
#include "structs.h"
#include "submit.h"

using namespace sidra;

sidra_status sidra_vector_async(sidra_stream* stream, const sidra_vector* vector) {
    const char* const call = __func__;
    SIDRA_TRY(check(call, "stream", stream));
    SIDRA_TRY(check_struct(call, "sidra_vector", vector));
    sidra_program* handle = vector->program;
    SIDRA_TRY(check(call, "program", handle));
    const sidra_program& program = *handle;
    SIDRA_TRY(check_program(call, stream, program, ProgramKind::kVector, vector->operands, vector->operand_count));

    Operands table{};
    const std::span operands(table.data(), program.operands);
    SIDRA_TRY(make_operands(call, program, vector->operands, operands));
    sidra::vector::Traits traits;
    auto verdict = sidra::vector::verify(program.code(), operands, &traits);
    if (!verdict) verdict = sidra::vector::verify_space(operands, vector->size, traits);
    if (verdict) [[unlikely]]
        return refuse_call(call, program, verdict);
    for (uint32_t n = 0; n < program.operands; ++n)
        SIDRA_TRY(check_bounds(call, program, traits, vector->size, vector->operands[n], n, operands[n]));

    sidra_cmd packet = make_packet(SIDRA_CMD_VECTOR, vector->cookie);
    packet.vector.program = program.memory->address();
    std::copy(std::begin(vector->size), std::end(vector->size), packet.vector.size);
    std::copy(std::begin(vector->param), std::end(vector->param), packet.vector.param);
    packet.vector.instructions = static_cast<uint16_t>(program.instructions);
    packet.vector.operand_count = static_cast<uint16_t>(program.operands);
    return submit(call, stream, packet, Recordable::kYes, nullptr, operands);
}

size_t sidra_type_size(sidra_type type) {
    const uint32_t raw = raw_value(type);
    return raw < kTypeCount ? element_size(raw) : 0;
}
