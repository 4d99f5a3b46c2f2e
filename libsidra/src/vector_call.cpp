// SPDX-License-Identifier: MIT
// Calls of vector programs.
#include "vector_call.h"

#include <algorithm>
#include <array>
#include <iterator>
#include <span>

#include "element.h"
#include "program_error.h"
#include "structs.h"
#include "submit.h"

namespace sidra {
namespace {

[[gnu::cold]] sidra_status refuse(const char* call, const ProgramCall& c, const vector::Verdict& verdict,
                                  std::span<const sidra_operand> operands, const vector::Traits& traits) {
    if (c.program->id() != 0) return refuse_call(call, *c.program, verdict);
    // The user of a function knows nothing of its program.
    return guarded(call, [&]() -> sidra_status {
        if (verdict.error == SIDRA_PROGRAM_ROW_COST)
            return fail(SIDRA_ERROR_INVALID_ARGUMENT, call,
                        "size[3] is {}: this function computes on whole rows, and a row of these types and strides "
                        "has at most {} columns; divide the rows",
                        c.size[3], vector::columns_max(operands, traits));
        const std::string place = verdict.operand < c.operands.size()
                                      ? fmt::format("`{}`: ", c.operands[verdict.operand].name->operand)
                                      : std::string();
        return fail(SIDRA_ERROR_INVALID_ARGUMENT, call, "{}{}; {}", place, program_error_text(verdict.error),
                    program_error_hint(verdict.error));
    });
}

}  // namespace

sidra_status call_program(const char* call, sidra_stream* stream, const ProgramCall& c) {
    const VectorProgram& program = *c.program;
    Operands table;  // make_operand() writes all of it that is used
    const std::span operands(table.data(), c.operands.size());
    for (uint32_t n = 0; n < operands.size(); ++n)
        SIDRA_TRY(make_operand(call, stream->context, program, c.operands[n], n, &operands[n]));
    vector::Traits traits;
    auto verdict = program.verify(operands, {}, nullptr, &traits);
    if (!verdict) verdict = vector::verify_space(operands, c.size, traits);
    if (verdict) [[unlikely]]
        return refuse(call, c, verdict, operands, traits);
    for (uint32_t n = 0; n < operands.size(); ++n)
        SIDRA_TRY(check_bounds(call, program, traits, c.size, c.operands[n], n, operands[n]));

    sidra_cmd packet = make_packet(SIDRA_CMD_VECTOR, c.cookie);
    packet.vector.program = program.address();
    std::copy(std::begin(c.size), std::end(c.size), packet.vector.size);
    std::copy(std::begin(c.param), std::end(c.param), packet.vector.param);
    packet.vector.instructions = static_cast<uint16_t>(program.instructions());
    packet.vector.operand_count = static_cast<uint16_t>(operands.size());
    return submit(call, stream, packet, Recordable::kYes, nullptr, operands);
}

}  // namespace sidra

using namespace sidra;

sidra_status sidra_vector_async(sidra_stream* stream, const sidra_vector* vector) {
    const char* const call = __func__;
    SIDRA_TRY(check(call, "stream", stream));
    SIDRA_TRY(check_struct(call, "sidra_vector", vector));
    sidra_program* handle = vector->program;
    SIDRA_TRY(check(call, "program", handle));
    SIDRA_TRY(check_context(call, "program", handle, stream->context));
    const VectorProgram& program = handle->program;
    SIDRA_TRY(check_program(call, program, ProgramKind::kVector, vector->operands, vector->operand_count));

    std::array<CallOperand, SIDRA_VECTOR_OPERANDS_MAX> operands;
    for (uint32_t n = 0; n < program.operands(); ++n) operands[n] = call_operand(vector->operands, n);
    ProgramCall c{&program, std::span(operands).first(program.operands()), {}, {}, vector->cookie};
    std::copy(std::begin(vector->size), std::end(vector->size), c.size);
    std::copy(std::begin(vector->param), std::end(vector->param), c.param);
    return call_program(call, stream, c);
}

size_t sidra_type_size(sidra_type type) {
    const uint32_t raw = raw_value(type);
    return raw < kTypeCount ? element_size(raw) : 0;
}
