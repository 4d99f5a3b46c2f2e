// SPDX-License-Identifier: MIT
// Bands: the part of an image that some windows read, once, with its padding. Windows of a band overlap, so that an
// engine can multiply them without a copy of each (engine::ColumnMvm::steps).
#ifndef SIDRA_CHIP_BAND_H
#define SIDRA_CHIP_BAND_H

#include <cstdint>

#include "input_memory.h"

namespace sidra::chip {

// Some windows of one image: `count` adjacent ones in each of `lines` adjacent rows of windows.
struct BandWindows {
    uint32_t image, y, x;
    uint32_t lines, count;
};

class Band {
   public:
    static constexpr uint64_t kInputsMax = 1u << 16;  // elements of a window
    static constexpr uint32_t kStep = 64;             // of ColumnMvm

    // Whether the windows of a pattern can be read from bands, and `windows` of them (rows of `columns`) take less
    // memory so than as copies.
    static bool suits(const sidra_pattern& pattern, uint32_t columns, uint64_t windows);

    Band(const sidra_pattern& pattern, const BandWindows& windows);

    // Of the codes.
    uint64_t bytes() const { return height_ * pitch_; }
    // Reads the codes, as u8; S8 is biased.
    Fault fill(const Env& env, Worker& worker, const Grid& images, uint8_t* to) const;
    // Fills in the steps of a window, one for each kStep elements.
    void steps(uint32_t* to) const;
    // Bytes between windows of a row.
    uint64_t stride() const { return uint64_t{p_.stride_w} * p_.channels; }
    // Windows that one product takes: all, with `gap` unused ones behind each row but the last; or those of one row.
    uint32_t batch() const { return joined() ? (w_.lines - 1) * line() + w_.count : w_.count; }
    uint32_t batches() const { return joined() ? 1 : w_.lines; }
    // Of the first window of a batch.
    uint64_t first(uint32_t batch) const { return batch * p_.stride_h * pitch_; }
    // Calls visit(number, place) for each window: its number among all, and among those of all batches.
    template <typename F>
    void for_each(F&& visit) const {
        const uint32_t next = joined() ? line() : w_.count;
        for (uint32_t y = 0, number = 0; y < w_.lines; y++)
            for (uint32_t x = 0; x < w_.count; x++) visit(number++, y * next + x);
    }

   private:
    // Reads the codes as they are.
    Fault read(const Env& env, Worker& worker, const Grid& images, uint8_t* to) const;
    // Windows from one row to the next.
    uint32_t line() const { return static_cast<uint32_t>(width_ * p_.stride_h / p_.stride_w); }
    bool joined() const { return line() - w_.count <= w_.count / 8; }

    const sidra_pattern& p_;
    const BandWindows w_;
    uint64_t width_, height_, pitch_;  // pixels, lines, bytes of a line
};

}  // namespace sidra::chip

#endif
