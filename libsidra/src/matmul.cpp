// SPDX-License-Identifier: MIT
// Products of two matrices in memory.
#include <algorithm>
#include <iterator>
#include <span>

#include "element.h"
#include "function_programs.h"
#include "operands.h"
#include "structs.h"
#include "submit.h"
#include "verify_packet.h"

namespace sidra {
namespace {

constexpr const char* kFactors[] = {"operands[0] (A)", "operands[1] (B)"};

// Refuses a call, in more detail than the verdict if that is about a factor.
[[gnu::cold]] sidra_status refuse(const char* call, const VectorProgram& program, const vector::Verdict& verdict,
                                  const vector::MatmulRules& rules, std::span<const sidra_operand> operands) {
    if (rules.k == 0 || rules.k > SIDRA_MATMUL_INNER_MAX)
        return fail(SIDRA_ERROR_INVALID_ARGUMENT, call,
                    "k is {}: must be 1..{}; add the products of parts of it with a program that loads what it stores",
                    rules.k, SIDRA_MATMUL_INNER_MAX);
    if (rules.overlapped != vector::kNothing) return refuse_overlap(call, verdict.operand, kFactors[rules.overlapped]);
    if (verdict.operand >= std::size(kFactors)) return refuse_call(call, program, verdict);
    const char* const name = kFactors[verdict.operand];
    const sidra_operand& factor = operands[verdict.operand];
    if (verdict.error == SIDRA_PROGRAM_OPERAND_TYPE)
        return fail(SIDRA_ERROR_INVALID_ARGUMENT, call,
                    "{} has the type {}: both factors are F32, F16 or BF16, or both are U8 or S8", name,
                    type_name(factor.type));
    if (verdict.error != SIDRA_PROGRAM_OPERAND_FIELD) return refuse_call(call, program, verdict);
    if (factor.index != 0 || factor.extent != 0)
        return fail(SIDRA_ERROR_INVALID_ARGUMENT, call, "{} has an index or an extent: a factor has neither", name);
    return fail(SIDRA_ERROR_INVALID_ARGUMENT, call,
                "{} has the strides {} and {} in its matrix: one of them must be {} (adjacent elements) or 0", name,
                factor.stride[2], factor.stride[3], element_size(factor.type));
}

// The program of a call, or, without one, the library's own that stores the sums.
sidra_status choose_program(const char* call, const sidra_stream* stream, const sidra_matmul& matmul,
                            const VectorProgram** program) {
    if (matmul.program != nullptr) {
        sidra_program* handle = matmul.program;
        SIDRA_TRY(check(call, "program", handle));
        SIDRA_TRY(check_context(call, "program", handle, stream->context));
        *program = &handle->program;
    } else {
        if (matmul.operand_count != 3)
            return fail(SIDRA_ERROR_INVALID_ARGUMENT, call,
                        "operand_count is {}: without a program there are three operands, A, B and what takes the sums",
                        matmul.operand_count);
        if (matmul.operands == nullptr) return fail(SIDRA_ERROR_INVALID_ARGUMENT, call, "`operands` is NULL");
        const uint32_t in = raw_value(matmul.operands[0].type), out = raw_value(matmul.operands[2].type);
        const bool floats = vector::is_float(in);
        if (floats ? !vector::is_float(out) : vector::is_byte(in) && out != SIDRA_TYPE_S32)
            return fail(SIDRA_ERROR_INVALID_ARGUMENT, call,
                        "operands[2] has the type {}: without a program the sums of {} factors are stored as {}",
                        type_name(out), floats ? "floating-point" : "8-bit", floats ? "F32, F16 or BF16" : "S32");
        const FunctionPrograms* programs = nullptr;
        SIDRA_TRY(function_programs(call, stream->context, &programs));
        *program = &(*programs)[floats ? Function::kStoreSums : Function::kStoreSumsInt];
    }
    return check_program(call, **program, ProgramKind::kMatmul, matmul.operands, matmul.operand_count);
}

}  // namespace
}  // namespace sidra

using namespace sidra;

sidra_status sidra_matmul_async(sidra_stream* stream, const sidra_matmul* matmul) {
    const char* const call = __func__;
    SIDRA_TRY(check(call, "stream", stream));
    SIDRA_TRY(check_struct(call, "sidra_matmul", matmul));
    const VectorProgram* chosen = nullptr;
    SIDRA_TRY(choose_program(call, stream, *matmul, &chosen));
    const VectorProgram& program = *chosen;
    const uint32_t batch[2] = {std::max(matmul->batch[0], 1u), std::max(matmul->batch[1], 1u)};

    Operands table{};
    const std::span operands(table.data(), program.operands());
    SIDRA_TRY(make_operands(call, stream->context, program, matmul->operands, operands));
    vector::MatmulRules rules{{batch[0], batch[1], matmul->m, matmul->n}, matmul->k};
    auto verdict = vector::verify_factors(operands, &rules);
    if (!verdict) verdict = program.verify(operands, rules.packet, nullptr, &rules.traits);
    if (!verdict) verdict = vector::verify_matmul_space(operands, &rules);
    if (verdict) [[unlikely]]
        return refuse(call, program, verdict, rules, operands);
    for (uint32_t n = 0; n < program.operands(); ++n) {
        vector::Sizes size;
        rules.size_of(n, size);
        SIDRA_TRY(check_bounds(call, program, rules.traits, size, call_operand(matmul->operands, n), n, operands[n]));
    }

    sidra_cmd packet = make_packet(SIDRA_CMD_MATMUL, matmul->cookie);
    packet.matmul.program = program.address();
    packet.matmul.m = matmul->m, packet.matmul.n = matmul->n, packet.matmul.k = matmul->k;
    std::copy(std::begin(batch), std::end(batch), packet.matmul.batch);
    std::copy(std::begin(matmul->param), std::end(matmul->param), packet.matmul.param);
    packet.matmul.instructions = static_cast<uint16_t>(program.instructions());
    packet.matmul.operand_count = static_cast<uint16_t>(program.operands());
    return submit(call, stream, packet, Recordable::kYes, nullptr, operands);
}
