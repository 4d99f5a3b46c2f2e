// SPDX-License-Identifier: MIT
// Products of two matrices in memory.
#include <algorithm>
#include <iterator>
#include <span>

#include "element.h"
#include "operands.h"
#include "structs.h"
#include "submit.h"

namespace sidra {
namespace {

constexpr const char* kFactors[] = {"operands[0] (A)", "operands[1] (B)"};

bool is_float(uint32_t type) { return type == SIDRA_TYPE_F32 || type == SIDRA_TYPE_F16 || type == SIDRA_TYPE_BF16; }
bool is_byte(uint32_t type) { return type == SIDRA_TYPE_U8 || type == SIDRA_TYPE_S8; }

// What the chip would refuse about a factor of rows x cols elements.
sidra_status check_factor(const char* call, uint32_t n, const sidra_operand& factor, bool floats, uint32_t rows,
                          uint32_t cols) {
    if (!(floats ? is_float(factor.type) : is_byte(factor.type)))
        return fail(SIDRA_ERROR_INVALID_ARGUMENT, call,
                    "{} has the type {}: both factors are F32, F16 or BF16, or both are U8 or S8", kFactors[n],
                    type_name(factor.type));
    if (factor.index != 0 || factor.extent != 0)
        return fail(SIDRA_ERROR_INVALID_ARGUMENT, call, "{} has an index or an extent: a factor has neither",
                    kFactors[n]);
    const uint64_t size = element_size(factor.type);
    const auto adjacent = [&](uint32_t elements, uint64_t stride) {
        return elements == 1 || stride == 0 || stride == size;
    };
    if (!adjacent(rows, factor.stride[2]) && !adjacent(cols, factor.stride[3]))
        return fail(SIDRA_ERROR_INVALID_ARGUMENT, call,
                    "{} has the strides {} and {} in its matrix: one of them must be {} (adjacent elements) or 0",
                    kFactors[n], factor.stride[2], factor.stride[3], size);
    return SIDRA_OK;
}

// The program of a call, or, without one, the library's own that stores the sums.
sidra_status choose_program(const char* call, const sidra_stream* stream, const sidra_matmul& matmul,
                            const sidra_program** program) {
    if (matmul.program != nullptr) {
        sidra_program* handle = matmul.program;
        SIDRA_TRY(check(call, "program", handle));
        *program = handle;
    } else {
        if (matmul.operand_count != 3)
            return fail(SIDRA_ERROR_INVALID_ARGUMENT, call,
                        "operand_count is {}: without a program there are three operands, A, B and what takes the sums",
                        matmul.operand_count);
        if (matmul.operands == nullptr) return fail(SIDRA_ERROR_INVALID_ARGUMENT, call, "`operands` is NULL");
        const uint32_t in = raw_value(matmul.operands[0].type), out = raw_value(matmul.operands[2].type);
        const bool floats = is_float(in);
        if (floats ? !is_float(out) : is_byte(in) && out != SIDRA_TYPE_S32)
            return fail(SIDRA_ERROR_INVALID_ARGUMENT, call,
                        "operands[2] has the type {}: without a program the sums of {} factors are stored as {}",
                        type_name(out), floats ? "floating-point" : "8-bit", floats ? "F32, F16 or BF16" : "S32");
        SIDRA_TRY(storing_program(call, stream->context, floats, program));
    }
    return check_program(call, stream, **program, ProgramKind::kMatmul, matmul.operands, matmul.operand_count);
}

}  // namespace
}  // namespace sidra

using namespace sidra;

sidra_status sidra_matmul_async(sidra_stream* stream, const sidra_matmul* matmul) {
    const char* const call = __func__;
    SIDRA_TRY(check(call, "stream", stream));
    SIDRA_TRY(check_struct(call, "sidra_matmul", matmul));
    const sidra_program* chosen = nullptr;
    SIDRA_TRY(choose_program(call, stream, *matmul, &chosen));
    const sidra_program& program = *chosen;
    const uint32_t batch[2] = {std::max(matmul->batch[0], 1u), std::max(matmul->batch[1], 1u)};
    if (matmul->k == 0 || matmul->k > SIDRA_MATMUL_INNER_MAX)
        return fail(SIDRA_ERROR_INVALID_ARGUMENT, call,
                    "k is {}: must be 1..{}; add the products of parts of it with a program that loads what it stores",
                    matmul->k, SIDRA_MATMUL_INNER_MAX);

    Operands table{};
    const std::span operands(table.data(), program.operands);
    SIDRA_TRY(make_operands(call, program, matmul->operands, &table));
    const bool floats = is_float(table[0].type);
    SIDRA_TRY(check_factor(call, 0, table[0], floats, matmul->m, matmul->k));
    SIDRA_TRY(check_factor(call, 1, table[1], floats, matmul->k, matmul->n));
    const Sizes size = {batch[0], batch[1], matmul->m, matmul->n}, of_a = {batch[0], batch[1], matmul->m, matmul->k},
                of_b = {batch[0], batch[1], matmul->k, matmul->n};
    vector::Packet packet_gives;
    packet_gives.first = 2;
    packet_gives.sums = floats ? SIDRA_TYPE_F32 : SIDRA_TYPE_S32;
    vector::Traits none, traits;
    auto verdict = vector::verify(program.code(), operands, packet_gives, &none, &traits);
    if (!verdict) verdict = vector::verify_space(operands, size, traits);
    vector::Extent a{}, b{};
    if (!verdict) verdict = vector::verify_factor(table[0], 0, of_a, &a);
    if (!verdict) verdict = vector::verify_factor(table[1], 1, of_b, &b);
    if (!verdict && traits.whole_rows &&
        (matmul->n > SIDRA_MATMUL_ROW_MAX || uint64_t{matmul->n} * traits.cost > SIDRA_MATMUL_ROW_COST_MAX))
        verdict = {SIDRA_PROGRAM_ROW_COST};
    if (verdict) [[unlikely]]
        return refuse_call(call, program, verdict);
    for (uint32_t n = 2; n < program.operands; ++n) {
        if (!(traits.stored >> n & 1)) continue;
        const vector::Extent stored = vector::extent(operands[n], n, size, traits);
        if (stored.meets(a)) return refuse_overlap(call, n, kFactors[0]);
        if (stored.meets(b)) return refuse_overlap(call, n, kFactors[1]);
    }
    for (uint32_t n = 0; n < program.operands; ++n)
        SIDRA_TRY(check_bounds(call, program, traits,
                               n == 0   ? of_a
                               : n == 1 ? of_b
                                        : size,
                               matmul->operands[n], n, operands[n]));

    sidra_cmd packet = make_packet(SIDRA_CMD_MATMUL, matmul->cookie);
    packet.matmul.program = program.memory->address();
    packet.matmul.m = matmul->m, packet.matmul.n = matmul->n, packet.matmul.k = matmul->k;
    std::copy(std::begin(batch), std::end(batch), packet.matmul.batch);
    std::copy(std::begin(matmul->param), std::end(matmul->param), packet.matmul.param);
    packet.matmul.instructions = static_cast<uint16_t>(program.instructions);
    packet.matmul.operand_count = static_cast<uint16_t>(program.operands);
    return submit(call, stream, packet, Recordable::kYes, nullptr, operands);
}
