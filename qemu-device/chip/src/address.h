// SPDX-License-Identifier: MIT
// Addresses inside the chip. An offset is always stored with its address space, and a range cannot extend beyond its
// space. So arithmetic on ranges cannot wrap.
#ifndef SIDRA_CHIP_ADDRESS_H
#define SIDRA_CHIP_ADDRESS_H

#include <algorithm>
#include <cassert>
#include <compare>
#include <cstdint>

#include "sidra_hw.h"

namespace sidra::chip {

enum class Space : uint8_t {
    kDevice,    // device addresses of one context, translated by its page tables
    kBus,       // memory of the host
    kL3,        // the chip's own SRAM, from its first byte
    kTimeline,  // not memory: the timelines of queues, 8 bytes each, as keys that a queue can wait for
    kReadouts,  // the same, at 0: that a job gives readouts back
};

// One past the last address of a space. (L3 may end earlier; Bus::l3_bytes() checks that.)
constexpr uint64_t end_of(Space space) {
    return uint64_t{1} << (space == Space::kDevice ? SIDRA_VA_BITS : SIDRA_BUS_BITS);
}

struct Address {
    Space space;
    uint64_t offset;
    auto operator<=>(const Address&) const = default;
};

// Half-open: [offset, offset + length). A part of a range always lies inside it.
class Range {
   public:
    Range() = default;
    // Invalid and empty if it does not lie completely inside the space.
    constexpr Range(Space space, uint64_t offset, uint64_t length)
        : offset_(offset),
          length_(length),
          space_(space),
          valid_(offset < end_of(space) && length <= end_of(space) - offset) {
        if (!valid_) length_ = 0;
    }

    constexpr bool valid() const { return valid_; }
    constexpr bool empty() const { return length_ == 0; }
    constexpr Space space() const { return space_; }
    constexpr uint64_t offset() const { return offset_; }
    constexpr uint64_t length() const { return length_; }
    constexpr Address address() const { return {space_, offset_}; }

    // `length` bytes from byte `at` on, clipped to this range.
    constexpr Range part(uint64_t at, uint64_t length) const {
        at = std::min(at, length_);
        return Range(offset_ + at, std::min(length, length_ - at), space_, valid_);
    }
    constexpr Range from(uint64_t at) const { return part(at, length_); }

    // Extends this range by one that follows immediately. Returns false if the other one is empty or does not follow.
    constexpr bool join(const Range& next) {
        if (next.space_ != space_ || next.empty() || next.offset_ - offset_ != length_) return false;
        length_ += next.length_;
        return true;
    }

   private:
    // Of a range that is known to lie inside its space. (A copy that is changed afterwards would cost each translation
    // a load that waits for two stores.)
    constexpr Range(uint64_t offset, uint64_t length, Space space, bool valid)
        : offset_(offset), length_(length), space_(space), valid_(valid) {}

    uint64_t offset_;
    uint64_t length_;
    Space space_;
    bool valid_;
};

// A table of the driver at a bus address.
template <typename Entry>
constexpr Range table_at(uint64_t bus, uint32_t entries) {
    return {Space::kBus, bus, uint64_t{entries} * sizeof(Entry)};
}

// An operand of a packet: rows of `bytes` bytes, `stride` bytes apart, in the context's address space.
class Rectangle {
   public:
    Rectangle() = default;
    // Invalid if any byte lies outside the address space. `rows` and `bytes` are not 0.
    Rectangle(uint64_t va, uint64_t row_stride, uint64_t row_count, uint64_t row_bytes)
        : extent_(Space::kDevice, va, extent(row_stride, row_count, row_bytes)),
          stride_(row_stride),
          rows_(row_count),
          bytes_(row_bytes) {}

    bool valid() const { return extent_.valid(); }
    uint64_t rows() const { return rows_; }
    uint64_t bytes() const { return bytes_; }
    uint64_t stride() const { return stride_; }
    // From the first byte of the first row to the last byte of the last one.
    const Range& extent() const { return extent_; }
    Range row(uint64_t row) const { return extent_.part(row * stride_, bytes_); }
    // Whether there are no gaps between rows.
    bool dense() const { return rows_ == 1 || stride_ == bytes_; }
    // Number of separate ranges of device addresses.
    uint64_t pieces() const { return dense() ? 1 : rows_; }

    // Bytes [at, at + bytes) of rows [first, first + rows), which must lie inside.
    Rectangle part(uint64_t first, uint64_t rows, uint64_t at, uint64_t bytes) const {
        Rectangle part = *this;
        part.extent_ = extent_.part(first * stride_ + at, (rows - 1) * stride_ + bytes);
        part.rows_ = rows;
        part.bytes_ = bytes;
        return part;
    }
    Rectangle rows(uint64_t first, uint64_t count) const { return part(first, count, 0, bytes_); }

   private:
    // Returns a length that fits no space if the computation overflows.
    static uint64_t extent(uint64_t stride, uint64_t rows, uint64_t bytes) {
        uint64_t length;
        if (__builtin_mul_overflow(rows - 1, stride, &length) || __builtin_add_overflow(length, bytes, &length))
            return ~uint64_t{0};
        return length;
    }

    Range extent_;
    uint64_t stride_, rows_, bytes_;
};

// An operand of a packet in several dimensions: elements of some bytes, in the context's address space. Elements are
// found by their offset from the first one, and an offset of an element that there is lies inside the extent, which is
// checked once. So neither offsets nor addresses can wrap.
class Grid {
   public:
    static constexpr unsigned kDims = 4;
    Grid() = default;
    // Invalid if any byte lies outside the address space. The stride of a dimension of one element may be any number,
    // and is not used: it becomes 0. No size is 0.
    Grid(uint64_t va, const uint64_t (&strides)[kDims], const uint64_t (&sizes)[kDims], uint64_t element_bytes) {
        uint64_t length = element_bytes;
        bool fits = true;
        for (unsigned d = 0; d < kDims; d++) {
            stride_[d] = sizes[d] == 1 ? 0 : strides[d];
            uint64_t reach;
            fits = fits && !__builtin_mul_overflow(sizes[d] - 1, stride_[d], &reach) &&
                   !__builtin_add_overflow(length, reach, &length);
        }
        extent_ = Range(Space::kDevice, va, fits ? length : ~uint64_t{0});
    }

    bool valid() const { return extent_.valid(); }
    // From the first byte of the first element to the last byte of the last one.
    const Range& extent() const { return extent_; }
    uint64_t stride(unsigned dimension) const { return stride_[dimension]; }

    // Of an element that there is.
    uint64_t offset(uint64_t i0, uint64_t i1, uint64_t i2, uint64_t i3) const {
        return i0 * stride_[0] + i1 * stride_[1] + i2 * stride_[2] + i3 * stride_[3];
    }
    // Bytes from the offset of an element on, which must lie inside.
    Range part(uint64_t at, uint64_t bytes) const {
        assert(at <= extent_.length() && bytes <= extent_.length() - at);
        return extent_.part(at, bytes);
    }
    // `count` rows of `bytes` bytes along a dimension, likewise.
    Rectangle rows(uint64_t at, unsigned dimension, uint64_t count, uint64_t bytes) const {
        const uint64_t stride = stride_[dimension];
        return {part(at, (count - 1) * stride + bytes).offset(), stride, count, bytes};
    }

    // Elements along dimension `from` are along `to` from now on, which had one element; `from` has one.
    void move(unsigned from, unsigned to) {
        stride_[to] = stride_[from];
        stride_[from] = 0;
    }
    // The dimension has one element from now on.
    void leave(unsigned dimension) { stride_[dimension] = 0; }

   private:
    Range extent_;
    uint64_t stride_[kDims];
};

}  // namespace sidra::chip

#endif
