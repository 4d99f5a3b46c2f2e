// SPDX-License-Identifier: MIT
// Calls of vector programs.
#include <algorithm>
#include <array>
#include <iterator>
#include <span>

#include "buffer.h"
#include "element.h"
#include "program_error.h"
#include "structs.h"
#include "submit.h"
#include "vector_program.h"

namespace sidra {
namespace {

using Operands = std::array<sidra_operand, SIDRA_VECTOR_OPERANDS_MAX>;

// The operands in messages.
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

// Checks that operand and index array lie inside their buffers for all coordinates. The operand has passed
// verify_space(), so nothing overflows here.
sidra_status check_bounds(const char* call, const sidra_program& program, const sidra_vector& vector, uint32_t n,
                          const sidra_operand& operand) {
    const sidra_vector_operand& from = vector.operands[n];
    std::array<uint64_t, SIDRA_OPERAND_DIMS> elements;
    std::copy(std::begin(vector.size), std::end(vector.size), elements.begin());
    if ((program.traits.scalar >> n & 1) != 0) elements[3] = 1;
    if ((program.traits.gathered >> n & 1) != 0) elements[3] = operand.extent;
    if (operand.index != 0) elements[2] = operand.extent;
    const uint32_t element = element_size(operand.type);
    uint64_t bytes = element;
    for (uint32_t d = 0; d < SIDRA_OPERAND_DIMS; ++d) bytes += (elements[d] - 1) * operand.stride[d];
    SIDRA_TRY(check_place(call, kAt[n], from.at, bytes, element, access_to(program, n)));
    if (operand.index == 0) return SIDRA_OK;
    const uint32_t index = element_size(operand.index_type);
    const uint64_t rows = uint64_t{vector.size[0]} * vector.size[1] * vector.size[2];
    return check_place(call, kIndex[n], from.index, rows * index, index, Access::kRead);
}

[[gnu::cold]] sidra_status refuse_call(const char* call, const sidra_program& program, const vector::Verdict& verdict) {
    return guarded(
        call, [&] { return refuse_program(call, fmt::format("program {}, ", program.id), program.code(), verdict); });
}

}  // namespace
}  // namespace sidra

using namespace sidra;

sidra_status sidra_vector_async(sidra_stream* stream, const sidra_vector* vector) {
    const char* const call = __func__;
    SIDRA_TRY(check(call, "stream", stream));
    SIDRA_TRY(check_struct(call, "sidra_vector", vector));
    sidra_program* handle = vector->program;
    SIDRA_TRY(check(call, "program", handle));
    const sidra_program& program = *handle;
    SIDRA_TRY(check_context(call, "program", handle, stream->context));
    if (vector->operand_count != program.operands)
        return fail(SIDRA_ERROR_INVALID_ARGUMENT, call, "operand_count is {}, but program {} has {} operands",
                    vector->operand_count, program.id, program.operands);
    if (vector->operands == nullptr && program.operands != 0)
        return fail(SIDRA_ERROR_INVALID_ARGUMENT, call, "`operands` is NULL, but program {} has {} operands",
                    program.id, program.operands);

    Operands table{};
    const std::span operands(table.data(), program.operands);
    for (uint32_t n = 0; n < program.operands; ++n)
        SIDRA_TRY(make_operand(call, program, vector->operands[n], n, &operands[n]));
    sidra::vector::Traits traits;
    auto verdict = sidra::vector::verify(program.code(), operands, &traits);
    if (!verdict) verdict = sidra::vector::verify_space(operands, vector->size, traits);
    if (verdict) [[unlikely]]
        return refuse_call(call, program, verdict);
    for (uint32_t n = 0; n < program.operands; ++n) SIDRA_TRY(check_bounds(call, program, *vector, n, operands[n]));

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
