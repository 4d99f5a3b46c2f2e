// SPDX-License-Identifier: MIT
// The crossbars: cells, their owners, and the packed planes that engines read. Also the non-volatile memory beside
// them.
#ifndef SIDRA_CHIP_ARRAY_H
#define SIDRA_CHIP_ARRAY_H

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <span>
#include <vector>

#include "analog.h"
#include "chip_clock.h"
#include "fault.h"
#include "geometry.h"
#include "kernels.h"
#include "lazy_memory.h"
#include "precopy.h"
#include "updates.h"

namespace sidra::chip {

class StateFile;

// A rectangle of weights inside one tile, and the tile's location.
struct TileBlock {
    uint64_t uid;  // object
    uint32_t xbar;
    uint32_t tile;       // number in the object's grid
    uint32_t encoding;   // enum sidra_encoding
    uint32_t tile_rows;  // used rows and outputs of this tile
    uint32_t tile_cols;
    uint32_t row0, rows, col0, cols;
};

// Thread-safe per crossbar. If an owner programs and reads one crossbar concurrently, it gets a mix of old and new
// values. With a state file, each change is written to the file before the cells change; if that fails, they do not
// change.
class Array {
   public:
    // `analog`: the conductances at level `accurate`; null at level `fast`, where cells take levels exactly.
    Array(const Geometry& geometry, const engine::Kernels& kernels, std::unique_ptr<Analog> analog);
    Analog* analog() const { return analog_.get(); }
    // The time of the cells' clock; 0 at level `fast`.
    double cells_now(const ChipClock& clock) const { return analog_ ? analog_->clock().now(clock.now_ns()) : 0; }

    // From now on changes are written to this file first; null: no file.
    void keep_in(StateFile* file) {
        file_ = file;
        updates_.keep_in(file);
    }

    // Called before the first of several tiles and after the last one. Return false if the state file could not be
    // written.
    bool begin_update(const Update& update) { return updates_.begin(update); }
    bool end_update(const Update& update);
    Updates& updates() { return updates_; }
    // The uids of all crossbars, sorted.
    std::vector<uint64_t> owners() const;

    // Writes s8 weights (row r at data + r * stride). Faults: VALUE (not encodable), UNPROGRAMMED (narrow write to a
    // row that is not covered yet), kNotKept. At level `accurate`, `now` is the time of the cells' clock, and the cost
    // of the pulses is added to `spent`.
    Fault program(const TileBlock& block, const int8_t* data, size_t stride, double now, Cost* spent);
    // verify() compares cells with their target levels; refresh() also reprograms those whose error exceeds the
    // tolerance (relative to G_max). At level `fast` there are no errors. This object must have programmed the rows.
    // Faults: as above.
    Fault verify(const TileBlock& block, double tolerance, double now, CellCheck* found);
    Fault refresh(const TileBlock& block, double tolerance, double now, CellCheck* found);
    // The same for the whole content of a crossbar, whoever owns it.
    Fault verify(uint32_t xbar, double tolerance, double now, CellCheck* found);
    Fault refresh(uint32_t xbar, double tolerance, double now, CellCheck* found);
    // Reads weights from the cells. This object must have programmed the rows and must not be torn (updates.h). `now`:
    // time of the cells' clock, for level `accurate`.
    Fault read(const TileBlock& block, double now, int8_t* data, size_t stride) const;
    // Whether `uid` has programmed rows [0, rows) of the crossbar, and is not torn.
    bool programmed(uint32_t xbar, uint64_t uid, uint32_t rows) const;

    const int8_t* plane(uint32_t xbar, uint32_t encoding) const { return plane_of(xbar, encoding); }
    const engine::PlaneVersion* plane_version(uint32_t xbar, uint32_t encoding) const {
        return &version_of(xbar, encoding);
    }
    // Sum of the plane's weights for each output (kTileColsMax of them).
    const int32_t* sums(uint32_t xbar) const { return state(xbar).sums; }

    static constexpr uint32_t kEraseBatch = 32;  // crossbars per record group
    // Returns false if the state file could not be written; then only some of them are erased.
    bool erase(uint32_t first, uint32_t count);
    sidra_hw_xbar header(uint32_t xbar) const;
    // Programming statistics. `now`: as for read().
    sidra_hw_xbar_report report(uint32_t xbar, double now) const;

    // Makes a cell stuck at a level. Returns false if the state file could not be written.
    bool set_stuck(uint32_t xbar, uint32_t row, uint32_t column, uint8_t level);
    bool clear_stuck();

    // Writes all of it, to disk if there is a state file; on failure returns false and writes nothing. One thread at a
    // time.
    bool write_nvm(uint64_t offset, std::span<const uint8_t> data);

    // Gets the content of a crossbar for saving; returns false if the crossbar was never used. `levels` has kXbarCells
    // bytes and is valid if uid is not 0.
    struct Image {
        uint64_t uid;
        uint64_t rows[SIDRA_XBAR_ROWS / 64];  // covered rows
        uint32_t tile;
        uint32_t programs;
        uint32_t encoding;
        uint32_t cols;  // columns of cells in use; 0: unknown, so all
    };
    struct Stuck {
        uint32_t xbar, row, column, level;
    };
    bool image(uint32_t xbar, Image* image, uint8_t* levels) const;
    // Whether the crossbar was ever used.
    bool holds(uint32_t xbar) const;
    // Restores a crossbar in factory state. Returns false if the content is invalid, or the crossbar is not.
    bool restore(uint32_t xbar, const Image& image, const uint8_t* levels);
    // Returns a crossbar to factory state; returns false if there is no such crossbar. No programming may run.
    bool forget(uint32_t xbar);
    Precopy& precopy() { return precopy_; }
    std::vector<Stuck> stuck_cells() const;
    // Returns to factory state, including NVM.
    void clear();

    // Changes whenever the owner or coverage of any crossbar may have shrunk.
    uint64_t epoch() const { return epoch_.load(std::memory_order_acquire); }
    // Changes whenever a header may have changed.
    uint64_t changes() const { return changes_.load(std::memory_order_acquire); }
    uint64_t stuck_cell_count() const {
        return analog_ ? analog_->stuck_cells() : stuck_count_.load(std::memory_order_relaxed);
    }
    uint32_t programmed_xbars() const { return programmed_xbars_.load(std::memory_order_relaxed); }
    uint32_t xbars() const { return xbars_; }
    std::span<uint8_t> nvm() { return {nvm_.data(), nvm_.size()}; }

   private:
    struct State {
        std::atomic<uint64_t> uid;
        std::atomic<uint32_t> covered_rows;  // rows with bit set in `rows`
        uint32_t tile;
        uint32_t programs;
        uint32_t encoding;
        uint32_t cols;
        uint32_t stuck_cells;
        uint64_t rows[SIDRA_XBAR_ROWS / 64];
        int32_t sums[engine::kTileColsMax];
    };

    State& state(uint32_t xbar) const { return reinterpret_cast<State*>(states_.data())[xbar]; }
    uint8_t* cells(uint32_t xbar) const { return cells_.data() + size_t{xbar} * kXbarCells; }
    static constexpr size_t plane_size(uint32_t encoding) {
        return encoding == SIDRA_ENCODING_DIFFERENTIAL ? kXbarCells / 2 : kXbarCells;
    }
    int8_t* plane_of(uint32_t xbar, uint32_t encoding) const {
        const LazyMemory& planes = encoding == SIDRA_ENCODING_DIFFERENTIAL ? pair_planes_ : planes_;
        return reinterpret_cast<int8_t*>(planes.data()) + xbar * plane_size(encoding);
    }
    engine::PlaneVersion& version_of(uint32_t xbar, uint32_t encoding) const {
        return versions_[2 * size_t{xbar} + (encoding == SIDRA_ENCODING_DIFFERENTIAL)];
    }
    std::mutex& lock(uint32_t xbar) const { return locks_[xbar % kLocks]; }
    static Image image_of(const State& state);
    static bool covers(const State& state, uint32_t row) { return state.rows[row / 64] >> (row % 64) & 1; }
    bool has_locked(const TileBlock& block) const;
    enum class Mend { kNo, kYes };
    Fault check(const TileBlock& block, Mend mend, double tolerance, double now, CellCheck* found);
    Fault check(uint32_t xbar, Mend mend, double tolerance, double now, CellCheck* found);
    Fault check_locked(const CellBlock& block, Mend mend, double tolerance, double now, CellCheck* found);
    void erase_locked(uint32_t xbar);
    void note_change() { changes_.fetch_add(1, std::memory_order_release); }
    // Called after the last store of a change of a crossbar's content.
    void note_change(uint32_t xbar) {
        precopy_.changed(xbar);
        note_change();
    }
    void apply_stuck_locked(uint32_t xbar, uint8_t* levels);
    void repack_locked(uint32_t xbar, uint32_t encoding, uint32_t row0, uint32_t rows, uint32_t col0, uint32_t cols);

    static constexpr size_t kLocks = 64;

    const uint32_t xbars_;
    const engine::Kernels& kernels_;
    const std::unique_ptr<Analog> analog_;
    LazyMemory cells_;   // levels, [xbar][row][column]
    LazyMemory planes_;  // packed s8 weights of offset encoding, [xbar]
    // The same for differential encoding, with half the size: with gaps between the planes they would use only half of
    // a cache.
    LazyMemory pair_planes_;
    const std::unique_ptr<engine::PlaneVersion[]> versions_;  // of both planes of each crossbar
    LazyMemory states_;                                       // State[xbar]
    LazyMemory nvm_;
    mutable std::mutex locks_[kLocks];  // protect the crossbar's state, cells and plane against other writers
    mutable std::mutex stuck_lock_;     // protects stuck_
    std::vector<Stuck> stuck_;
    std::atomic<uint64_t> stuck_count_{0};  // size of stuck_
    StateFile* file_ = nullptr;
    Updates updates_{[this] { return owners(); }};
    Precopy precopy_;
    std::atomic<uint64_t> epoch_{1};
    std::atomic<uint64_t> changes_{0};
    std::atomic<uint32_t> programmed_xbars_{0};
};

}  // namespace sidra::chip

#endif
