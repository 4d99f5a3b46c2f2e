// SPDX-License-Identifier: MIT
// Planes: the weights of one tile as every engine reads them.
#ifndef SIDRA_CHIP_ENGINE_PLANE_H
#define SIDRA_CHIP_ENGINE_PLANE_H

#include <atomic>
#include <cstddef>
#include <cstdint>

namespace sidra::engine {

inline constexpr uint32_t kTileRows = 256;     // inputs of a tile
inline constexpr uint32_t kTileColsMax = 256;  // outputs of a tile (128 for a differential pair of columns)
inline constexpr uint32_t kPanelCols = 64;     // columns that are adjacent in a packed plane

// Packed plane: the s8 weights of one tile. 64 columns to a panel; inside a panel, groups of 4 consecutive rows, each
// holding 64 columns x 4 rows: the byte of (row, col) is at
//   ((col / 64) * 64 + row / 4) * 256 + (col % 64) * 4 + row % 4.
// Always kTileRows rows; columns in whole panels; unused rows and columns are zero. 64-byte aligned. A panel is 16 KiB.
inline constexpr size_t packed_offset(uint32_t row, uint32_t col) {
    return (size_t{col / kPanelCols} * (kTileRows / 4) + row / 4) * 256 + (col % kPanelCols) * 4 + row % 4;
}

// The number of a plane's content. No two contents in the process have the same one, and it changes after each change
// of the plane. So an engine that keeps copies of planes (on another device) finds them by it: it loads the number,
// then copies, and a copy is of no use once the number is another. Programming may run at the same time: then the copy
// is a mix, as for an engine that reads the plane itself, until the number changes.
class PlaneVersion {
   public:
    PlaneVersion() { change(); }
    uint64_t load() const { return number_.load(std::memory_order_acquire); }
    // Called after the last store to the plane.
    void change() { number_.store(next_.fetch_add(1, std::memory_order_relaxed) + 1, std::memory_order_release); }

   private:
    inline static std::atomic<uint64_t> next_{0};
    std::atomic<uint64_t> number_;
};

}  // namespace sidra::engine

#endif
