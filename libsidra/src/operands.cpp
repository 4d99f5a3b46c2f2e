// SPDX-License-Identifier: MIT
#include "operands.h"

#include <algorithm>
#include <iterator>

#include "buffer.h"
#include "element.h"
#include "program_error.h"
#include "structs.h"

namespace sidra {
namespace {

Access access_to(const VectorProgram& program, uint32_t n) {
    return (program.rules().traits.stored >> n & 1) != 0 ? Access::kWrite : Access::kRead;
}

sidra_status check_place(const char* call, const char* name, const sidra_ref& ref, uint64_t bytes, uint32_t element,
                         Access access) {
    const sidra_buffer& buffer = buffer_of(ref);
    if (bytes <= buffer.size - ref.offset) [[likely]]
        return SIDRA_OK;
    return bad_ref(call, name, buffer, ref.offset, bytes, element, access);
}

constexpr const char* kCalls[] = {"sidra_vector_async()", "sidra_matmul_async()", "sidra_layer_async()"};

}  // namespace

sidra_status check_program(const char* call, const VectorProgram& program, ProgramKind kind,
                           const sidra_vector_operand* given, uint32_t count) {
    const ProgramKind made_for = program.rules().kind;
    if (made_for != kind) [[unlikely]]
        return fail(SIDRA_ERROR_INVALID_ARGUMENT, call, "program {} is made for {}: {}", program.id(),
                    kCalls[static_cast<size_t>(made_for)],
                    made_for == ProgramKind::kVector   ? "it loads no `sums`"
                    : made_for == ProgramKind::kMatmul ? "it loads `sums`, and its operands begin with o2"
                                                       : "it loads `sums`, and has a prologue or operands before o2");
    if (count != program.operands()) [[unlikely]]
        return fail(SIDRA_ERROR_INVALID_ARGUMENT, call, "operand_count is {}, but program {} has {} operands{}", count,
                    program.id(), program.operands(),
                    kind == ProgramKind::kMatmul ? ", of which the first two are the factors" : "");
    if (given == nullptr && count != 0)
        return fail(SIDRA_ERROR_INVALID_ARGUMENT, call, "`operands` is NULL, but program {} has {} operands",
                    program.id(), count);
    return SIDRA_OK;
}

sidra_status make_operand(const char* call, const sidra_context* context, const VectorProgram& program,
                          const CallOperand& given, uint32_t n, sidra_operand* operand) {
    const sidra_vector_operand& from = *given.array;
    const OperandName& name = *given.name;
    const uint32_t index_type = raw_value(from.index_type);
    *operand = {};
    if (given.type >= kTypeCount)
        return fail(SIDRA_ERROR_INVALID_ARGUMENT, call, "{}.type is {}: not a sidra_type", name.operand, given.type);
    const Access access = access_to(program, n);
    SIDRA_TRY(resolve(call, name.at, context, from.at, 0, element_size(given.type), access, &operand->addr));
    if (from.index.buffer != nullptr) {
        if (index_type != SIDRA_S32 && index_type != SIDRA_S64)
            return fail(SIDRA_ERROR_INVALID_ARGUMENT, call, "{}.index_type is {}: must be S32 or S64", name.operand,
                        type_name(index_type));
        SIDRA_TRY(resolve(call, name.index, context, from.index, 0, element_size(index_type), Access::kRead,
                          &operand->index));
    } else if (from.index.offset != 0 || index_type != 0) {
        return fail(SIDRA_ERROR_INVALID_ARGUMENT, call,
                    "{}.index.buffer is NULL, but its offset or index_type is not 0", name.operand);
    }
    std::copy(std::begin(from.stride), std::end(from.stride), operand->stride);
    operand->extent = given.extent;
    operand->type = static_cast<uint8_t>(given.type);
    operand->flags = access == Access::kWrite ? SIDRA_OPERAND_WRITE : 0;
    operand->index_type = static_cast<uint8_t>(index_type);
    return SIDRA_OK;
}

sidra_status make_operands(const char* call, const sidra_context* context, const VectorProgram& program,
                           const sidra_vector_operand* given, std::span<sidra_operand> operands) {
    for (uint32_t n = 0; n < operands.size(); ++n)
        SIDRA_TRY(make_operand(call, context, program, call_operand(given, n), n, &operands[n]));
    return SIDRA_OK;
}

sidra_status check_bounds(const char* call, const VectorProgram& program, const vector::Traits& traits,
                          const vector::Sizes& size, const CallOperand& given, uint32_t n,
                          const sidra_operand& operand) {
    const sidra_vector_operand& from = *given.array;
    std::array<uint64_t, SIDRA_OPERAND_DIMS> elements;
    std::copy(std::begin(size), std::end(size), elements.begin());
    if ((traits.scalar >> n & 1) != 0) elements[3] = 1;
    if ((traits.gathered >> n & 1) != 0) elements[3] = operand.extent;
    if (operand.index != 0) elements[2] = operand.extent;
    const uint32_t element = element_size(operand.type);
    uint64_t bytes = element;
    for (uint32_t d = 0; d < SIDRA_OPERAND_DIMS; ++d) bytes += (elements[d] - 1) * operand.stride[d];
    SIDRA_TRY(check_place(call, given.name->at, from.at, bytes, element, access_to(program, n)));
    if (operand.index == 0) return SIDRA_OK;
    const uint32_t index = element_size(operand.index_type);
    const uint64_t rows = uint64_t{size[0]} * size[1] * size[2];
    return check_place(call, given.name->index, from.index, rows * index, index, Access::kRead);
}

sidra_status refuse_call(const char* call, const VectorProgram& program, const vector::Verdict& verdict) {
    return guarded(call, [&] {
        const std::string subject =
            program.id() != 0 ? fmt::format("program {}, ", program.id()) : "without a program, ";
        return refuse_program(call, subject, program.code(), verdict);
    });
}

sidra_status refuse_overlap(const char* call, uint32_t n, const char* other) {
    return fail(
        SIDRA_ERROR_INVALID_ARGUMENT, call,
        "the program stores to {} between the first and the last byte of {}, which other rows still read; store "
        "it elsewhere",
        kOperandNames[n].operand, other);
}

}  // namespace sidra
