// SPDX-License-Identifier: MIT
#include "windows.h"

#include "buffer.h"
#include "element.h"
#include "structs.h"
#include "verify_packet.h"

namespace sidra {
namespace {

constexpr uint32_t kShortMax = UINT16_MAX;

struct Bound {
    const char* name;
    uint32_t value, least, most;
};

sidra_status check_numbers(const char* call, const sidra_windows& w) {
    const Bound bounds[] = {{"images", w.images, 1, SIDRA_LAYER_ROWS_MAX},
                            {"rows", w.rows, 1, SIDRA_LAYER_ROWS_MAX},
                            {"columns", w.columns, 1, SIDRA_LAYER_ROWS_MAX},
                            {"height", w.height, 1, SIDRA_PATTERN_IMAGE_MAX},
                            {"width", w.width, 1, SIDRA_PATTERN_IMAGE_MAX},
                            {"channels", w.channels, 1, SIDRA_PATTERN_CHANNELS_MAX},
                            {"kernel_h", w.kernel_h, 1, SIDRA_PATTERN_KERNEL_MAX},
                            {"kernel_w", w.kernel_w, 1, SIDRA_PATTERN_KERNEL_MAX},
                            {"stride_h", w.stride_h, 1, kShortMax},
                            {"stride_w", w.stride_w, 1, kShortMax},
                            {"dilation_h", w.dilation_h, 1, kShortMax},
                            {"dilation_w", w.dilation_w, 1, kShortMax},
                            {"pad_h", w.pad_h, 0, kShortMax},
                            {"pad_w", w.pad_w, 0, kShortMax}};
    for (const Bound& b : bounds)
        if (b.value < b.least || b.value > b.most)
            return fail(SIDRA_ERROR_INVALID_ARGUMENT, call, "windows.{} is {}: must be {}..{}", b.name, b.value,
                        b.least, b.most);
    if (uint64_t{w.images} * w.rows > SIDRA_LAYER_ROWS_MAX ||
        uint64_t{w.images} * w.rows * w.columns > SIDRA_LAYER_ROWS_MAX)
        return fail(SIDRA_ERROR_INVALID_ARGUMENT, call,
                    "{} x {} x {} windows are more than {}; divide them into several calls", w.images, w.rows,
                    w.columns, SIDRA_LAYER_ROWS_MAX);
    if (raw_value(w.type) >= kTypeCount)
        return fail(SIDRA_ERROR_INVALID_ARGUMENT, call, "windows.type is {}: not a sidra_type", raw_value(w.type));
    return SIDRA_OK;
}

}  // namespace

sidra_status make_pattern(const char* call, const sidra_context* context, const sidra_windows& w,
                          sidra_pattern* pattern) {
    SIDRA_TRY(check_numbers(call, w));
    const uint32_t size = element_size(w.type);
    // Strides, those of dense NHWC images for 0.
    pattern->pixel_stride = w.pixel_stride != 0 ? w.pixel_stride : uint64_t{w.channels} * size;
    if (w.row_stride != 0) pattern->row_stride = w.row_stride;
    else if (__builtin_mul_overflow(pattern->pixel_stride, uint64_t{w.width}, &pattern->row_stride))
        pattern->row_stride = UINT64_MAX / size * size;
    if (w.image_stride != 0) pattern->image_stride = w.image_stride;
    else if (__builtin_mul_overflow(pattern->row_stride, uint64_t{w.height}, &pattern->image_stride))
        pattern->image_stride = UINT64_MAX / size * size;
    for (const uint64_t stride : {pattern->pixel_stride, pattern->row_stride, pattern->image_stride})
        if (stride % size != 0)
            return fail(SIDRA_ERROR_INVALID_ARGUMENT, call,
                        "a stride of `windows` is {}: must be a multiple of {} ({})", stride, size, type_name(w.type));
    pattern->height = w.height, pattern->width = w.width;
    pattern->kernel_h = static_cast<uint16_t>(w.kernel_h), pattern->kernel_w = static_cast<uint16_t>(w.kernel_w);
    pattern->stride_h = static_cast<uint16_t>(w.stride_h), pattern->stride_w = static_cast<uint16_t>(w.stride_w);
    pattern->pad_h = static_cast<uint16_t>(w.pad_h), pattern->pad_w = static_cast<uint16_t>(w.pad_w);
    pattern->dilation_h = static_cast<uint16_t>(w.dilation_h);
    pattern->dilation_w = static_cast<uint16_t>(w.dilation_w);
    pattern->channels = w.channels;
    pattern->type = static_cast<uint8_t>(w.type);
    uint64_t bytes = 0;
    if (!vector::pattern_bytes(*pattern, w.images, &bytes)) bytes = UINT64_MAX;
    return resolve(call, "windows.at", context, w.at, bytes, size, Access::kRead, &pattern->addr);
}

}  // namespace sidra
