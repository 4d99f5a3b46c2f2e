// SPDX-License-Identifier: MIT
#include "pattern.h"

#include <algorithm>

#include "verify_packet.h"

namespace sidra::chip {

Fault read_pattern(const Env& env, uint64_t address, sidra_pattern* pattern) {
    if (address % 8) return {SIDRA_FAULT_ALIGNMENT, address};
    const Range range(Space::kDevice, address, sizeof *pattern);
    if (!range.valid()) return {SIDRA_FAULT_LIMIT, address};
    return env.tables->read(range, pattern);
}

Fault find_images(const sidra_pattern& p, const uint32_t (&windows)[SIDRA_PATTERN_DIMS], Images* images) {
    uint64_t rows = 1;
    for (const uint32_t count : windows) {
        if (count == 0) return {SIDRA_FAULT_FIELD};
        rows *= count;
        if (rows > SIDRA_LAYER_ROWS_MAX) return {SIDRA_FAULT_LIMIT, rows};
    }
    if (p.type >= SIDRA_TYPE_COUNT) return {SIDRA_FAULT_FIELD, p.type};
    if (p.height == 0 || p.width == 0 || p.channels == 0 || p.kernel_h == 0 || p.kernel_w == 0 || p.stride_h == 0 ||
        p.stride_w == 0 || p.dilation_h == 0 || p.dilation_w == 0)
        return {SIDRA_FAULT_FIELD};
    if (p.height > SIDRA_PATTERN_IMAGE_MAX) return {SIDRA_FAULT_LIMIT, p.height};
    if (p.width > SIDRA_PATTERN_IMAGE_MAX) return {SIDRA_FAULT_LIMIT, p.width};
    if (p.kernel_h > SIDRA_PATTERN_KERNEL_MAX) return {SIDRA_FAULT_LIMIT, p.kernel_h};
    if (p.kernel_w > SIDRA_PATTERN_KERNEL_MAX) return {SIDRA_FAULT_LIMIT, p.kernel_w};
    if (p.channels > SIDRA_PATTERN_CHANNELS_MAX) return {SIDRA_FAULT_LIMIT, p.channels};
    const uint64_t size = vector::element_size(p.type);
    for (const uint64_t each : {p.addr, p.image_stride, p.row_stride, p.pixel_stride})
        if (each % size) return {SIDRA_FAULT_ALIGNMENT, each};
    const uint64_t strides[] = {p.image_stride, p.row_stride, p.pixel_stride, 0};
    images->grid = Grid(p.addr, strides, {windows[0], p.height, p.width, 1}, p.channels * size);
    if (!images->grid.valid()) return {SIDRA_FAULT_LIMIT, p.addr};
    images->pattern = p;
    images->pattern.image_stride = images->grid.stride(0);
    images->pattern.row_stride = images->grid.stride(1);
    images->pattern.pixel_stride = images->grid.stride(2);
    return {};
}

Windows::Windows(const Images& images, const uint32_t (&windows)[SIDRA_PATTERN_DIMS], uint32_t first)
    : p_(images.pattern),
      grid_(images.grid),
      rows_(windows[1]),
      columns_(windows[2]),
      image_(first / windows[2] / windows[1]),
      y_(first / windows[2] % windows[1]),
      x_(first % windows[2]) {
    place();
}

void Windows::place() {
    row_ = int64_t{y_} * p_.stride_h - p_.pad_h;
    pixel_ = int64_t{x_} * p_.stride_w - p_.pad_w;
    image_offset_ = image_ * grid_.stride(0);
}

void Windows::begin_row() {
    x_ = 0;
    if (++y_ == rows_) {
        y_ = 0;
        image_++;
    }
    place();
}

Windows::Inside Windows::part_inside(int64_t first, uint32_t step, uint32_t count, uint32_t size) {
    const int64_t begin = first >= 0 ? 0 : (-first + step - 1) / step;
    const int64_t end = first >= int64_t{size} ? 0 : (int64_t{size} - first + step - 1) / step;
    const int64_t stop = std::min<int64_t>(end, count);
    return begin < stop ? Inside{static_cast<uint32_t>(begin), static_cast<uint32_t>(stop)} : Inside{0, 0};
}

}  // namespace sidra::chip
