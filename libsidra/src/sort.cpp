// SPDX-License-Identifier: MIT
// Sorting: what sidra_sort_async() queues.
#include "buffer.h"
#include "element.h"
#include "structs.h"
#include "submit.h"
#include "verify.h"

namespace sidra {
namespace {

// One of the arrays of a sort, and how messages name its parts.
struct SortArray {
    const char *name, *stride_name;
    const sidra_ref& at;
    size_t stride;
    uint32_t columns, element;
    Access access;
};

// Fills in address and stride; `extent` takes the bytes from the first to the last.
sidra_status place(const char* call, const sidra_stream* stream, uint32_t rows, const SortArray& array,
                   uint64_t* address, uint32_t* stride, vector::Extent* extent) {
    const uint64_t row_bytes = uint64_t{array.columns} * array.element;
    SIDRA_TRY(check_stride(call, array.stride_name, array.stride, row_bytes, array.element, stride));
    const uint64_t bytes = extent_of(rows, row_bytes, *stride);
    SIDRA_TRY(resolve(call, array.name, stream->context, array.at, bytes, array.element, array.access, address));
    *extent = {*address, *address + bytes};
    return SIDRA_OK;
}

sidra_status check_absent(const char* call, const char* name, const sidra_ref& at, size_t stride) {
    if (at.offset == 0 && stride == 0) return SIDRA_OK;
    return fail(SIDRA_ERROR_INVALID_ARGUMENT, call, "{}.buffer is NULL, but its offset or stride is not 0", name);
}

sidra_status check_bound(const char* call, const char* name, uint32_t value, uint32_t least, uint32_t most) {
    if (value >= least && value <= most) return SIDRA_OK;
    return fail(SIDRA_ERROR_INVALID_ARGUMENT, call, "{} is {}: must be {}..{}", name, value, least, most);
}

[[gnu::cold]] sidra_status refuse_overlap(const char* call, const char* output, const char* other) {
    return fail(SIDRA_ERROR_INVALID_ARGUMENT, call,
                "`{}` reaches into what lies between the first and the last byte of `{}`; store it elsewhere", output,
                other);
}

}  // namespace
}  // namespace sidra

using namespace sidra;

sidra_status sidra_sort_async(sidra_stream* stream, const sidra_sort* sort) {
    const char* const call = __func__;
    SIDRA_TRY(check(call, "stream", stream));
    SIDRA_TRY(check_struct(call, "sidra_sort", sort));
    const uint32_t type = raw_value(sort->type), index_type = raw_value(sort->index_type);
    if (type >= kTypeCount) return fail(SIDRA_ERROR_INVALID_ARGUMENT, call, "type is {}: not a sidra_type", type);
    SIDRA_TRY(check_bound(call, "rows", sort->rows, 1, SIDRA_SORT_ROWS_MAX));
    SIDRA_TRY(check_bound(call, "cols", sort->cols, 1, SIDRA_SORT_COLS_MAX));
    SIDRA_TRY(check_bound(call, "count", sort->count, 0, sort->cols));
    const bool values = sort->values.buffer != nullptr, indices = sort->indices.buffer != nullptr;
    if (!values && !indices)
        return fail(SIDRA_ERROR_INVALID_ARGUMENT, call,
                    "values.buffer and indices.buffer are NULL: at least one takes a result");
    if (indices ? index_type != SIDRA_S32 && index_type != SIDRA_S64 : index_type != 0)
        return fail(SIDRA_ERROR_INVALID_ARGUMENT, call, "index_type is {}: must be {}", type_name(index_type),
                    indices ? "S32 or S64" : "0 without indices");

    sidra_cmd packet = make_packet(SIDRA_CMD_SORT, sort->cookie);
    sidra_cmd_sort& s = packet.sort;
    s.rows = sort->rows, s.cols = sort->cols;
    s.count = sort->count != 0 ? sort->count : sort->cols;
    const uint32_t element = element_size(type);
    vector::Extent in{}, out{}, columns{};
    SIDRA_TRY(place(call, stream, s.rows,
                    {"in", "in_stride", sort->in, sort->in_stride, s.cols, element, Access::kRead}, &s.in, &s.in_stride,
                    &in));
    if (values) {
        SIDRA_TRY(
            place(call, stream, s.rows,
                  {"values", "values_stride", sort->values, sort->values_stride, s.count, element, Access::kWrite},
                  &s.values, &s.values_stride, &out));
        if (out.meets(in)) return refuse_overlap(call, "values", "in");
    } else {
        SIDRA_TRY(check_absent(call, "values", sort->values, sort->values_stride));
    }
    if (indices) {
        SIDRA_TRY(place(call, stream, s.rows,
                        {"indices", "indices_stride", sort->indices, sort->indices_stride, s.count,
                         element_size(index_type), Access::kWrite},
                        &s.indices, &s.indices_stride, &columns));
        if (columns.meets(in)) return refuse_overlap(call, "indices", "in");
        if (values && columns.meets(out)) return refuse_overlap(call, "indices", "values");
    } else {
        SIDRA_TRY(check_absent(call, "indices", sort->indices, sort->indices_stride));
    }
    s.flags = sort->descending ? SIDRA_SORT_DESCENDING : 0;
    s.type = static_cast<uint8_t>(type), s.index_type = static_cast<uint8_t>(index_type);
    return submit(call, stream, packet);
}
