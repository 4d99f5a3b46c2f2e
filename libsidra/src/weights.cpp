// SPDX-License-Identifier: MIT
// Life cycle and queries of a weights object.
#include "weights.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <iterator>
#include <span>

#include "label.h"
#include "report_line.h"
#include "structs.h"
#include "tiles.h"
#include "weights_values.h"

namespace sidra {
namespace {

const char* encoding_name(sidra_weights_encoding encoding) {
    return encoding == SIDRA_WEIGHTS_DIFFERENTIAL ? "differential" : "offset";
}

// Called before anything of that size is read or allocated.
sidra_status check_room(const char* call, const sidra_context& context, uint32_t k, uint32_t n,
                        sidra_weights_encoding encoding) {
    const uint32_t total = context.device->info.xbars_total;
    if (encoding == SIDRA_WEIGHTS_AUTO) encoding = SIDRA_WEIGHTS_OFFSET;  // the smaller one
    const uint64_t needed = tiles_down(k) * tiles_across(n, encoding);
    if (needed > total)
        return fail(SIDRA_ERROR_OUT_OF_CROSSBARS, call,
                    "{} x {} {} weights need {} crossbars, but the device has {}; split the matrix", k, n,
                    encoding_name(encoding), needed, total);
    return SIDRA_OK;
}

sidra_status check_shape(const char* call, uint32_t k, uint32_t n, const void* data, size_t stride, size_t element) {
    if (k == 0 || n == 0) return fail(SIDRA_ERROR_INVALID_ARGUMENT, call, "a {} x {} matrix has no weights", k, n);
    if (data == nullptr)
        return fail(SIDRA_ERROR_INVALID_ARGUMENT, call, "`data` is NULL; it has the {} x {} values", k, n);
    if (stride < n)
        return fail(SIDRA_ERROR_INVALID_ARGUMENT, call, "`stride` is {} elements, but a row has {}", stride, n);
    return check_extent(call, data, k, n, stride, element);
}

sidra_status read_options(const char* call, const sidra_weights_options* options, sidra_weights_options* result) {
    sidra_weights_options whole{};
    if (options != nullptr) {
        SIDRA_TRY(check_struct(call, "sidra_weights_options", options));
        whole = *options;
        if (raw_value(whole.encoding) > SIDRA_WEIGHTS_OFFSET)
            return fail(SIDRA_ERROR_INVALID_ARGUMENT, call, "options.encoding is {}: not a sidra_weights_encoding",
                        raw_value(whole.encoding));
        if (whole.crossbars == nullptr && whole.crossbar_count != 0)
            return fail(SIDRA_ERROR_INVALID_ARGUMENT, call, "options.crossbars is NULL, but there are {} of them",
                        whole.crossbar_count);
        if (whole.crossbars != nullptr && whole.encoding == SIDRA_WEIGHTS_AUTO)
            return fail(SIDRA_ERROR_INVALID_ARGUMENT, call,
                        "options.crossbars needs an encoding that is not SIDRA_WEIGHTS_AUTO, which says how many tiles "
                        "there are");
    }
    *result = whole;
    return SIDRA_OK;
}

// Requests crossbars in one encoding from the driver; `wanted` if there are some.
int take_crossbars(sidra_context* context, uint32_t k, uint32_t n, sidra_weights_encoding encoding, uint32_t rights,
                   std::span<const uint32_t> wanted, WeightsGrant* grant, std::string* detail) {
    sidra_ioctl_weights_create create{};
    create.context = context->number;
    create.encoding = encoding == SIDRA_WEIGHTS_DIFFERENTIAL ? SIDRA_ENCODING_DIFFERENTIAL : SIDRA_ENCODING_OFFSET;
    create.rows = k;
    create.cols = n;
    create.rights = rights;
    create.xbar_ids = reinterpret_cast<uintptr_t>(wanted.data());
    create.xbars = static_cast<uint32_t>(wanted.size());
    create.xbar_stride = wanted.empty() ? 0 : sizeof wanted[0];
    const int error = request(*context->transport, SIDRA_IOCTL_WEIGHTS_CREATE, &create, detail);
    if (error == 0) *grant = {create.index, k, n, create.encoding, rights, create.xbars};
    return error;
}

sidra_status stage(const char* call, sidra_context* context, const Matrix<int8_t>& values, StagedValues* staged) {
    SIDRA_TRY(stage_memory(call, context, values.rows, values.cols, staged));
    for (uint32_t r = 0; r < values.rows; ++r)
        std::memcpy(staged->memory->host() + uint64_t{r} * values.cols, values.row(r), values.cols);
    staged->minus_128 = find_minus_128(values);
    return SIDRA_OK;
}

// Marks all cells as programmed, unless a programming is still under way. Until that is done the device reads the
// values, also if a former one has programmed all cells before its end was dropped.
void finish_programming(sidra_weights* weights) {
    const std::lock_guard lock(weights->mutex);
    const Point& end = weights->program_point;
    const Point::State state = end.queue ? end.state() : Point::State::kDropped;
    if (weights->queueing || state == Point::State::kPending) return;
    weights->programmed = true;
    if (weights->staging) weights->staging->release();
    if (state == Point::State::kReached) {
        sidra_timestamp times[2];
        std::memcpy(times, weights->on_device->host() + WeightsLayout(weights->n).timestamps, sizeof times);
        weights->program_device_ps = times[1].device_ps - times[0].device_ps;
        weights->program_energy_pj = times[1].energy_pj - times[0].energy_pj;
    }
    weights->program_point = {};
}

// What its queue's state page tells: all done, nothing begun, or unknown.
enum class Known { kAll, kNothing, kTooLittle };

Known known_progress(sidra_weights* weights) {
    const std::lock_guard lock(weights->mutex);
    const Point& end = weights->program_point;
    if (weights->programmed) return Known::kAll;
    if (!end.queue) return Known::kTooLittle;
    switch (end.state()) {
        case Point::State::kReached:
            return Known::kAll;
        case Point::State::kPending:
            return end.queue->timeline() + 1 < end.value ? Known::kNothing : Known::kTooLittle;
        default:
            return Known::kTooLittle;
    }
}

}  // namespace

sidra_status stage_memory(const char* call, sidra_context* context, uint32_t k, uint32_t n, StagedValues* values) {
    std::unique_ptr<DeviceMemory> memory;
    SIDRA_TRY(DeviceMemory::create(call, context, uint64_t{k} * n, false, &memory));
    *values = {std::make_shared<Staging>(std::move(memory)), {}};
    return SIDRA_OK;
}

sidra_status create_weights(const char* call, sidra_context* context, uint32_t k, uint32_t n,
                            const StagedValues& values, std::vector<float> scale, const sidra_weights_options& options,
                            sidra_weights** weights) {
    const Position& too_small = values.minus_128;
    if (too_small.found && options.encoding == SIDRA_WEIGHTS_DIFFERENTIAL)
        return fail(SIDRA_ERROR_NOT_REPRESENTABLE, call,
                    "the value in row {}, column {} is -128, but the differential encoding holds -127..127; change the "
                    "value, or "
                    "use SIDRA_WEIGHTS_OFFSET",
                    too_small.row, too_small.col);

    std::string detail;
    sidra_query_status status{};
    if (const int error = query_device(*context->transport, SIDRA_QUERY_STATUS, &status, &detail); error != 0)
        return fail_errno(call, error, "querying the free crossbars", detail);
    sidra_weights_encoding encoding = options.encoding;
    sidra_encoding_reason reason = SIDRA_ENCODING_GIVEN;
    if (const uint64_t tiles = tiles_down(k) * tiles_across(n, encoding);
        options.crossbars != nullptr && options.crossbar_count != tiles)
        return fail(SIDRA_ERROR_INVALID_ARGUMENT, call,
                    "options.crossbars has {} crossbars, but {} x {} {} weights have {} tiles", options.crossbar_count,
                    k, n, encoding_name(encoding), tiles);
    const uint64_t needed_differential = tiles_down(k) * tiles_across(n, SIDRA_WEIGHTS_DIFFERENTIAL);
    if (encoding == SIDRA_WEIGHTS_AUTO) {
        reason = too_small.found                           ? SIDRA_ENCODING_VALUE
                 : needed_differential > status.xbars_free ? SIDRA_ENCODING_CROSSBARS
                                                           : SIDRA_ENCODING_PREFERRED;
        encoding = reason == SIDRA_ENCODING_PREFERRED ? SIDRA_WEIGHTS_DIFFERENTIAL : SIDRA_WEIGHTS_OFFSET;
    }

    uint32_t rights = SIDRA_WEIGHTS_COMPUTE | SIDRA_WEIGHTS_PROGRAM;
    if (!options.no_readback) rights |= SIDRA_WEIGHTS_READBACK;
    WeightsGrant grant{};
    int error =
        take_crossbars(context, k, n, encoding, rights, {options.crossbars, options.crossbar_count}, &grant, &detail);
    if (error == -ENOSPC && reason == SIDRA_ENCODING_PREFERRED) {  // another user has taken the crossbars meanwhile
        reason = SIDRA_ENCODING_CROSSBARS;
        error = take_crossbars(context, k, n, encoding = SIDRA_WEIGHTS_OFFSET, rights, {}, &grant, &detail);
    }
    if (error == -EBUSY)
        return fail(SIDRA_ERROR_BUSY, call, "{}; let the driver choose, or give others in options.crossbars", detail);
    if (error == -ENOSPC)
        return fail(
            SIDRA_ERROR_OUT_OF_CROSSBARS, call,
            "{} x {} {} weights need {} crossbars, but {} of {} are free; destroy weights, or evict names{}", k, n,
            encoding_name(encoding), tiles_down(k) * tiles_across(n, encoding), status.xbars_free,
            context->device->info.xbars_total,
            encoding == SIDRA_WEIGHTS_DIFFERENTIAL ? ", or use SIDRA_WEIGHTS_OFFSET, which needs half as many" : "");
    if (error != 0)
        return fail_errno(call, error, fmt::format("reserving crossbars for {} x {} weights", k, n), detail);
    sidra_weights* made = nullptr;
    const WeightsOrigin origin{
        .staging = values.memory, .reason = reason, .label = options.label != nullptr ? options.label : ""};
    SIDRA_TRY(adopt_weights(call, context, grant, std::move(scale), origin, &made));
    fmt::memory_buffer report;  // has room for each text, because nothing may fail any more
    if (reason == SIDRA_ENCODING_VALUE)
        fmt::format_to(std::back_inserter(report),
                       "weights {} ({} x {}) use the offset encoding, because the value in row {}, column {} is -128 "
                       "and differential holds -127..127; their error is about 1.5 times as large",
                       made->id, k, n, too_small.row, too_small.col);
    else if (reason == SIDRA_ENCODING_CROSSBARS)
        fmt::format_to(std::back_inserter(report),
                       "weights {} ({} x {}) use the offset encoding, because differential needs {} crossbars and {} "
                       "are free; their error is about 1.5 times as large",
                       made->id, k, n, needed_differential, status.xbars_free);
    if (report.size() != 0) report_line({report.data(), report.size()});
    *weights = handle_of(made);
    return SIDRA_OK;
}

sidra_status check_extent(const char* call, const void* data, uint64_t rows, uint64_t cols, size_t stride,
                          size_t element) {
    size_t elements = 0, bytes = 0;
    uintptr_t end = 0;
    if (__builtin_mul_overflow(rows - 1, stride, &elements) || __builtin_add_overflow(elements, cols, &elements) ||
        __builtin_mul_overflow(elements, element, &bytes) || bytes > PTRDIFF_MAX ||
        __builtin_add_overflow(reinterpret_cast<uintptr_t>(data), bytes, &end))
        return fail(SIDRA_ERROR_INVALID_ARGUMENT, call,
                    "{} rows with a `stride` of {} elements reach beyond the end of memory", rows, stride);
    return SIDRA_OK;
}

void drop_grant(const sidra_context& context, uint32_t index) {
    sidra_ioctl_weights destroy{};
    destroy.context = context.number;
    destroy.index = index;
    request(*context.transport, SIDRA_IOCTL_WEIGHTS_DESTROY, &destroy, nullptr);
}

sidra_status adopt_weights(const char* call, sidra_context* context, const WeightsGrant& grant,
                           std::vector<float> scale, const WeightsOrigin& origin, sidra_weights** weights) {
    const sidra_status status = guarded(call, [&]() -> sidra_status {
        if (scale.empty()) scale.assign(grant.n, 1.0f);
        std::unique_ptr<DeviceMemory> memory;
        SIDRA_TRY(DeviceMemory::create(call, context, WeightsLayout(grant.n).size(), false, &memory));
        std::memcpy(memory->host(), scale.data(), scale.size() * sizeof(float));
        Making<sidra_weights> made(context);
        made->index = grant.index;
        made->k = grant.k;
        made->n = grant.n;
        made->encoding =
            grant.encoding == SIDRA_ENCODING_DIFFERENTIAL ? SIDRA_WEIGHTS_DIFFERENTIAL : SIDRA_WEIGHTS_OFFSET;
        made->rights = grant.rights;
        made->crossbars = grant.crossbars;
        const bool plain = std::all_of(scale.begin(), scale.end(), [](float factor) { return factor == 1.0f; });
        // Those of new weights may change.
        made->scale_address = plain && !origin.staging ? 0 : memory->address();
        made->on_device = std::move(memory);
        made->staging = origin.staging;
        made->encoding_reason = origin.reason;
        made->named = origin.named;
        made->shared = !origin.staging;
        // If another user's programming is incomplete, the chip reports that.
        made->program_queued.store(!origin.staging, std::memory_order_relaxed);
        set_label(&*made, origin.label);
        context->named.add_weights(made->index, made->id);
        *weights = made.finish();
        return SIDRA_OK;
    });
    if (status != SIDRA_OK) drop_grant(*context, grant.index);
    return status;
}

sidra_status query_progress(const char* call, sidra_weights* weights, uint32_t* done, uint32_t* total) {
    const Known known = known_progress(weights);
    if (known != Known::kTooLittle) {
        *total = weights->k * static_cast<uint32_t>(tiles_across(weights->n, weights->encoding));
        *done = known == Known::kAll ? *total : 0;
        if (known == Known::kAll) finish_programming(weights);
        return SIDRA_OK;
    }
    std::string detail;
    sidra_ioctl_weights_query query{};
    query.context = weights->context->number;
    query.index = weights->index;
    if (const int error = request(*weights->context->transport, SIDRA_IOCTL_WEIGHTS_QUERY, &query, &detail); error != 0)
        return fail_errno(call, error, fmt::format("querying the progress of weights {}", weights->id), detail);
    if (query.programmed_rows == query.total_rows) finish_programming(weights);
    *done = query.programmed_rows;
    *total = query.total_rows;
    return SIDRA_OK;
}

}  // namespace sidra

using namespace sidra;

sidra_status sidra_weights_create_s8(sidra_context* context, uint32_t k, uint32_t n, const int8_t* data, size_t stride,
                                     const float* scale, const sidra_weights_options* options,
                                     sidra_weights** weights) {
    return guarded(__func__, [&, call = __func__]() -> sidra_status {
        SIDRA_TRY(check(call, "context", context));
        if (weights == nullptr)
            return fail(SIDRA_ERROR_INVALID_ARGUMENT, call, "`weights` is NULL; it takes the new handle");
        sidra_weights_options whole;
        SIDRA_TRY(read_options(call, options, &whole));
        SIDRA_TRY(check_shape(call, k, n, data, stride, sizeof *data));
        SIDRA_TRY(check_room(call, *context, k, n, whole.encoding));
        std::vector<float> factors(n, 1.0f);
        if (scale != nullptr) factors.assign(scale, scale + n);
        const auto bad =
            std::find_if_not(factors.begin(), factors.end(), [](float factor) { return std::isfinite(factor); });
        if (bad != factors.end())
            return fail(SIDRA_ERROR_INVALID_ARGUMENT, call, "scale[{}] is {}; factors must be finite",
                        bad - factors.begin(), *bad);
        StagedValues values;
        SIDRA_TRY(stage(call, context, {data, k, n, stride}, &values));
        return create_weights(call, context, k, n, values, std::move(factors), whole, weights);
    });
}

sidra_status sidra_weights_create_f32(sidra_context* context, uint32_t k, uint32_t n, const float* data, size_t stride,
                                      const sidra_weights_options* options, sidra_weights** weights) {
    return guarded(__func__, [&, call = __func__]() -> sidra_status {
        SIDRA_TRY(check(call, "context", context));
        if (weights == nullptr)
            return fail(SIDRA_ERROR_INVALID_ARGUMENT, call, "`weights` is NULL; it takes the new handle");
        sidra_weights_options whole;
        SIDRA_TRY(read_options(call, options, &whole));
        SIDRA_TRY(check_shape(call, k, n, data, stride, sizeof *data));
        SIDRA_TRY(check_room(call, *context, k, n, whole.encoding));
        std::vector<float> factors;
        std::vector<int8_t> codes;
        SIDRA_TRY(quantise(call, {data, k, n, stride}, &factors, &codes));
        StagedValues values;
        SIDRA_TRY(stage(call, context, {codes.data(), k, n, n}, &values));
        return create_weights(call, context, k, n, values, std::move(factors), whole, weights);
    });
}

sidra_status sidra_weights_destroy(sidra_weights* weights) {
    if (weights == nullptr) return SIDRA_OK;
    return guarded(__func__, [&, call = __func__]() -> sidra_status {
        Claim<sidra_weights> claim;
        SIDRA_TRY(claim.take(call, "weights", weights));
        if (!forked(*weights)) {
            std::string detail;
            sidra_ioctl_weights destroy{};
            destroy.context = weights->context->number;
            destroy.index = weights->index;
            // First: afterwards another object may get its index.
            Objects& named = weights->context->named;
            named.remove_weights(weights->index);
            const int error = request(*weights->context->transport, SIDRA_IOCTL_WEIGHTS_DESTROY, &destroy, &detail);
            if (error != 0 && error != -ESTALE && error != -ENODEV) {
                named.add_weights(weights->index, weights->id);
                return fail_errno(call, error, fmt::format("destroying weights {}", weights->id), detail);
            }
        }
        destroy_object(weights, claim);
        return SIDRA_OK;
    });
}

sidra_status sidra_weights_progress(sidra_weights* weights, uint32_t* done, uint32_t* total) {
    return guarded(__func__, [&, call = __func__]() -> sidra_status {
        SIDRA_TRY(check(call, "weights", weights));
        uint32_t rows_done = 0, rows_total = 0;
        SIDRA_TRY(query_progress(call, weights, &rows_done, &rows_total));
        if (done != nullptr) *done = rows_done;
        if (total != nullptr) *total = rows_total;
        return SIDRA_OK;
    });
}

sidra_status sidra_weights_get_info(sidra_weights* weights, sidra_weights_info* info) {
    return guarded(__func__, [&, call = __func__]() -> sidra_status {
        SIDRA_TRY(check(call, "weights", weights));
        SIDRA_TRY(check_struct(call, "sidra_weights_info", info));
        uint32_t done = 0, total = 0;
        SIDRA_TRY(query_progress(call, weights, &done, &total));
        std::string name;
        SIDRA_TRY(query_name(call, weights, &name));
        sidra_weights_info result{};
        result.k = weights->k;
        result.n = weights->n;
        result.encoding = weights->encoding;
        result.encoding_reason = weights->encoding_reason;
        result.crossbars = weights->crossbars;
        result.tile_rows = static_cast<uint32_t>(tiles_down(weights->k));
        result.tile_cols = static_cast<uint32_t>(tiles_across(weights->n, weights->encoding));
        result.programmed = done == total;
        result.cells = uint64_t{weights->k} * weights->n;
        if (weights->encoding == SIDRA_WEIGHTS_DIFFERENTIAL) result.cells *= kCellsPerWeightDifferential;
        const std::lock_guard lock(weights->mutex);
        result.program_device_ps = weights->program_device_ps;
        result.program_energy_pj = weights->program_energy_pj;
        name.copy(result.name, sizeof result.name - 1);
        fill_struct(info, result);
        return SIDRA_OK;
    });
}

sidra_status sidra_weights_crossbars(sidra_weights* weights, uint32_t* crossbars, uint32_t* count) {
    return guarded(__func__, [&, call = __func__]() -> sidra_status {
        SIDRA_TRY(check(call, "weights", weights));
        if (count == nullptr) return fail(SIDRA_ERROR_INVALID_ARGUMENT, call, "`count` is NULL");
        const uint32_t room = *count;
        if (crossbars == nullptr || room < weights->crossbars) {
            *count = weights->crossbars;
            return fail(SIDRA_ERROR_INVALID_ARGUMENT, call, "weights {} have {} crossbars, but there is room for {}",
                        weights->id, weights->crossbars, crossbars == nullptr ? 0 : room);
        }
        std::string detail;
        sidra_ioctl_weights_query query{};
        query.context = weights->context->number;
        query.index = weights->index;
        query.xbar_ids = reinterpret_cast<uintptr_t>(crossbars);
        query.xbars = room;
        query.xbar_stride = sizeof *crossbars;
        if (const int error = request(*weights->context->transport, SIDRA_IOCTL_WEIGHTS_QUERY, &query, &detail);
            error != 0)
            return fail_errno(call, error, fmt::format("querying the crossbars of weights {}", weights->id), detail);
        *count = query.xbars;
        return SIDRA_OK;
    });
}

sidra_status sidra_weights_scale(const sidra_weights* weights, const float** scale) {
    SIDRA_TRY(check(__func__, "weights", weights));
    if (scale == nullptr) return fail(SIDRA_ERROR_INVALID_ARGUMENT, __func__, "`scale` is NULL");
    *scale = weights->scale();
    return SIDRA_OK;
}
