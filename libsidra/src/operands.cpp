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

// Parts of the operands in messages.
constexpr const char* kAt[] = {"operands[0].at", "operands[1].at", "operands[2].at", "operands[3].at",
                               "operands[4].at", "operands[5].at", "operands[6].at", "operands[7].at"};
constexpr const char* kIndex[] = {"operands[0].index", "operands[1].index", "operands[2].index", "operands[3].index",
                                  "operands[4].index", "operands[5].index", "operands[6].index", "operands[7].index"};
static_assert(std::size(kAt) == SIDRA_VECTOR_OPERANDS_MAX && std::size(kIndex) == SIDRA_VECTOR_OPERANDS_MAX);

Access access_to(const sidra_program& program, uint32_t n) {
    return (program.traits.stored >> n & 1) != 0 ? Access::kWrite : Access::kRead;
}

// Fills in one operand of the packet. That it lies inside its buffer is checked later: check_bounds().
sidra_status make_operand(const char* call, const sidra_program& program, const sidra_vector_operand& from, uint32_t n,
                          sidra_operand* operand) {
    const uint32_t type = raw_value(from.type), index_type = raw_value(from.index_type);
    if (type >= kTypeCount)
        return fail(SIDRA_ERROR_INVALID_ARGUMENT, call, "operands[{}].type is {}: not a sidra_type", n, type);
    const Access access = access_to(program, n);
    SIDRA_TRY(resolve(call, kAt[n], program.context, from.at, 0, element_size(type), access, &operand->addr));
    if (from.index.buffer != nullptr) {
        if (index_type != SIDRA_S32 && index_type != SIDRA_S64)
            return fail(SIDRA_ERROR_INVALID_ARGUMENT, call, "operands[{}].index_type is {}: must be S32 or S64", n,
                        type_name(index_type));
        SIDRA_TRY(resolve(call, kIndex[n], program.context, from.index, 0, element_size(index_type), Access::kRead,
                          &operand->index));
    } else if (from.index.offset != 0 || index_type != 0) {
        return fail(SIDRA_ERROR_INVALID_ARGUMENT, call,
                    "operands[{}].index.buffer is NULL, but its offset or index_type is not 0", n);
    }
    std::copy(std::begin(from.stride), std::end(from.stride), operand->stride);
    operand->extent = from.extent;
    operand->type = static_cast<uint8_t>(type);
    operand->flags = access == Access::kWrite ? SIDRA_OPERAND_WRITE : 0;
    operand->index_type = static_cast<uint8_t>(index_type);
    return SIDRA_OK;
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

sidra_status check_program(const char* call, const sidra_stream* stream, const sidra_program& program, ProgramKind kind,
                           const sidra_vector_operand* given, uint32_t count) {
    SIDRA_TRY(check_context(call, "program", &program, stream->context));
    if (program.kind != kind) [[unlikely]]
        return fail(SIDRA_ERROR_INVALID_ARGUMENT, call, "program {} is made for {}: {}", program.id,
                    kCalls[static_cast<size_t>(program.kind)],
                    program.kind == ProgramKind::kVector ? "it loads no `sums`"
                    : program.kind == ProgramKind::kMatmul
                        ? "it loads `sums`, and its operands begin with o2"
                        : "it loads `sums`, and has a prologue or operands before o2");
    if (count != program.operands) [[unlikely]]
        return fail(SIDRA_ERROR_INVALID_ARGUMENT, call, "operand_count is {}, but program {} has {} operands{}", count,
                    program.id, program.operands,
                    kind == ProgramKind::kMatmul ? ", of which the first two are the factors" : "");
    if (given == nullptr && program.operands != 0)
        return fail(SIDRA_ERROR_INVALID_ARGUMENT, call, "`operands` is NULL, but program {} has {} operands",
                    program.id, program.operands);
    return SIDRA_OK;
}

sidra_status make_operands(const char* call, const sidra_program& program, const sidra_vector_operand* given,
                           std::span<sidra_operand> operands) {
    for (uint32_t n = 0; n < program.operands; ++n) SIDRA_TRY(make_operand(call, program, given[n], n, &operands[n]));
    return SIDRA_OK;
}

sidra_status check_bounds(const char* call, const sidra_program& program, const vector::Traits& traits,
                          const vector::Sizes& size, const sidra_vector_operand& from, uint32_t n,
                          const sidra_operand& operand) {
    std::array<uint64_t, SIDRA_OPERAND_DIMS> elements;
    std::copy(std::begin(size), std::end(size), elements.begin());
    if ((traits.scalar >> n & 1) != 0) elements[3] = 1;
    if ((traits.gathered >> n & 1) != 0) elements[3] = operand.extent;
    if (operand.index != 0) elements[2] = operand.extent;
    const uint32_t element = element_size(operand.type);
    uint64_t bytes = element;
    for (uint32_t d = 0; d < SIDRA_OPERAND_DIMS; ++d) bytes += (elements[d] - 1) * operand.stride[d];
    SIDRA_TRY(check_place(call, kAt[n], from.at, bytes, element, access_to(program, n)));
    if (operand.index == 0) return SIDRA_OK;
    const uint32_t index = element_size(operand.index_type);
    const uint64_t rows = uint64_t{size[0]} * size[1] * size[2];
    return check_place(call, kIndex[n], from.index, rows * index, index, Access::kRead);
}

sidra_status refuse_call(const char* call, const sidra_program& program, const vector::Verdict& verdict) {
    return guarded(call, [&] {
        const std::string subject = program.id != 0 ? fmt::format("program {}, ", program.id) : "without a program, ";
        return refuse_program(call, subject, program.code(), verdict);
    });
}

sidra_status refuse_overlap(const char* call, uint32_t n, const char* other) {
    return fail(
        SIDRA_ERROR_INVALID_ARGUMENT, call,
        "the program stores to {} between the first and the last byte of {}, which other rows still read; store "
        "it elsewhere",
        kOperands[n], other);
}

}  // namespace sidra
