// SPDX-License-Identifier: MIT
#include "band.h"

#include <algorithm>
#include <cstring>

namespace sidra::chip {

bool Band::suits(const sidra_pattern& p, uint32_t columns, uint64_t windows) {
    // All that lies in the band is read, because windows leave no gaps.
    if (p.dilation_h != 1 || p.dilation_w != 1 || p.stride_h > p.kernel_h || p.stride_w > p.kernel_w) return false;
    const uint64_t line = uint64_t{p.kernel_w} * p.channels, elements = line * p.kernel_h;
    if (line % kStep || elements > kInputsMax) return false;
    const auto count = static_cast<uint32_t>(std::min<uint64_t>(columns, windows));
    const Band band(p, {0, 0, 0, static_cast<uint32_t>(windows / count), count});
    return p.kernel_h * p.kernel_w > 1 && band.bytes() <= windows * elements;
}

Band::Band(const sidra_pattern& pattern, const BandWindows& windows) : p_(pattern), w_(windows) {
    // Whole steps of windows, so that they continue from one line to the next.
    width_ = (uint64_t{w_.count - 1} * p_.stride_w + p_.kernel_w + p_.stride_w - 1) / p_.stride_w * p_.stride_w;
    height_ = uint64_t{w_.lines - 1} * p_.stride_h + p_.kernel_h;
    pitch_ = width_ * p_.channels;
}

Fault Band::fill(const Env& env, Worker& worker, const Grid& images, uint8_t* to) const {
    if (Fault fault = read(env, worker, images, to)) return fault;
    if (p_.codes == SIDRA_TYPE_S8) env.kernels.bias_u8(reinterpret_cast<const int8_t*>(to), to, bytes());
    return {};
}

Fault Band::read(const Env& env, Worker& worker, const Grid& images, uint8_t* to) const {
    const auto zero = static_cast<uint8_t>(p_.zero);
    // The part that is inside the image, in its pixels.
    const int64_t top = int64_t{w_.y} * p_.stride_h - p_.pad_h, left = int64_t{w_.x} * p_.stride_w - p_.pad_w;
    const auto wide = static_cast<int64_t>(uint64_t{w_.count - 1} * p_.stride_w + p_.kernel_w);
    const int64_t from_y = std::max<int64_t>(top, 0), to_y = std::min<int64_t>(top + height_, p_.height);
    const int64_t from_x = std::max<int64_t>(left, 0), to_x = std::min<int64_t>(left + wide, p_.width);
    if (from_y >= to_y || from_x >= to_x) {
        std::memset(to, zero, bytes());
        return {};
    }
    const auto offset = [&](int64_t y, int64_t x) {
        return images.offset(w_.image, static_cast<uint64_t>(y), static_cast<uint64_t>(x), 0);
    };
    const uint64_t pixel = p_.channels, before = static_cast<uint64_t>(from_x - left) * pixel,
                   inside = static_cast<uint64_t>(to_x - from_x) * pixel;
    InputMemory memory(env, worker, images);
    if (Fault fault = memory.map(offset(from_y, from_x), offset(to_y - 1, to_x - 1) + pixel, bytes())) return fault;
    for (uint64_t i = 0; i < height_; i++, to += pitch_) {
        const int64_t y = top + static_cast<int64_t>(i);
        if (y < from_y || y >= to_y) {
            std::memset(to, zero, pitch_);
            continue;
        }
        std::memset(to, zero, before);
        if (p_.pixel_stride == pixel) {
            if (Fault fault = memory.read(offset(y, from_x), to + before, inside)) return fault;
        } else {
            for (int64_t x = from_x; x < to_x; x++)
                if (Fault fault = memory.read(offset(y, x), to + static_cast<uint64_t>(x - left) * pixel, pixel))
                    return fault;
        }
        std::memset(to + before + inside, zero, pitch_ - before - inside);
    }
    return {};
}

void Band::steps(uint32_t* to) const {
    const uint32_t line = p_.kernel_w * p_.channels;
    for (uint32_t i = 0; i < p_.kernel_h; i++)
        for (uint32_t at = 0; at < line; at += kStep) *to++ = static_cast<uint32_t>(i * pitch_) + at;
}

}  // namespace sidra::chip
