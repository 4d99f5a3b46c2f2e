// SPDX-License-Identifier: MIT
// Windows of images (struct sidra_pattern): the input rows of a LAYER.
#ifndef SIDRA_CHIP_PATTERN_H
#define SIDRA_CHIP_PATTERN_H

#include <cassert>
#include <cstdint>

#include "job.h"

namespace sidra::chip {

// Copies the pattern of a packet from memory.
Fault read_pattern(const Env& env, uint64_t address, sidra_pattern* pattern);
// Verifies a pattern for windows[0] images of windows[1] x windows[2] windows. Strides of dimensions of one element are
// 0 in *images.
Fault find_images(const sidra_pattern& pattern, const uint32_t (&windows)[SIDRA_PATTERN_DIMS], Images* images);

// The windows of a packet, by their number.
class Windows {
   public:
    Windows(const Images& images, const uint32_t (&windows)[SIDRA_PATTERN_DIMS], uint32_t first);
    void next() { skip(1); }
    // Goes on by `count` windows, not beyond the end of the row.
    void skip(uint32_t count) {
        x_ += count;
        if (x_ == columns_) begin_row();
        else pixel_ += int64_t{count} * p_.stride_w;
    }

    // Signed, because a window may begin before its image.
    int64_t row() const { return row_; }
    int64_t pixel() const { return pixel_; }
    uint32_t image() const { return image_; }

    // Kernel columns [first, end) that are inside the image.
    struct Inside {
        uint32_t first, end;
    };
    Inside columns() const { return inside(pixel_, p_.dilation_w, p_.kernel_w, p_.width); }
    Inside rows() const { return inside(row_, p_.dilation_h, p_.kernel_h, p_.height); }
    // Offset in the images of kernel pixel (i, j), which is inside.
    uint64_t offset(uint32_t i, uint32_t j) const { return offset_of(i, pixel_ + int64_t{j} * p_.dilation_w); }
    // Offset of pixel x of the image in row i of the kernel, both inside.
    uint64_t offset_of(uint32_t i, int64_t x) const {
        const int64_t y = row_ + int64_t{i} * p_.dilation_h;
        assert(y >= 0 && y < p_.height && x >= 0 && x < p_.width);
        return image_offset_ + static_cast<uint64_t>(y) * grid_.stride(1) + static_cast<uint64_t>(x) * grid_.stride(2);
    }

    // Windows from this one to the end of its row.
    uint32_t left_in_row() const { return columns_ - x_; }

   private:
    static Inside inside(int64_t first, uint32_t step, uint32_t count, uint32_t size) {
        if (first >= 0 && first + int64_t{count - 1} * step < int64_t{size}) [[likely]]
            return {0, count};
        return part_inside(first, step, count, size);
    }
    static Inside part_inside(int64_t first, uint32_t step, uint32_t count, uint32_t size);
    void begin_row();
    void place();

    const sidra_pattern& p_;
    const Grid& grid_;
    const uint32_t rows_, columns_;
    uint32_t image_, y_, x_;
    int64_t row_, pixel_;
    uint64_t image_offset_;
};

}  // namespace sidra::chip

#endif
