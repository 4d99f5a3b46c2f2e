// SPDX-License-Identifier: MIT
#include "array.h"

#include <sys/mman.h>

#include <algorithm>
#include <array>
#include <cstring>

#include "cells_chunk.h"
#include "chunks.h"
#include "state_file.h"

namespace sidra::chip {
namespace {

// Decode a weight from the two cells of a differential pair, or from one cell in offset encoding. An odd difference
// (only with stuck cells) rounds down.
int8_t decode_pair(uint8_t plus, uint8_t minus) { return static_cast<int8_t>((int{plus} - int{minus}) >> 1); }
int8_t decode_offset(uint8_t level) { return static_cast<int8_t>(int{level} - 128); }

// Encodes a block into the levels of its crossbar.
void encode(const engine::Kernels& kernels, const TileBlock& b, const int8_t* data, size_t stride, uint8_t* levels) {
    for (uint32_t r = 0; r < b.rows; r++) {
        const int8_t* row = data + r * stride;
        uint8_t* level = levels + (b.row0 + r) * SIDRA_XBAR_COLS;
        if (b.encoding == SIDRA_ENCODING_DIFFERENTIAL) kernels.pair_levels(row, level + 2 * b.col0, b.cols);
        else kernels.bias_u8(row, level + b.col0, b.cols);
    }
}

CellBlock cells_of(const TileBlock& b) {
    const uint32_t each = b.encoding == SIDRA_ENCODING_DIFFERENTIAL ? 2 : 1;
    return {b.xbar, b.row0, b.rows, b.col0 * each, b.cols * each};
}

CellUse use_of(const Array::Image& image) {
    CellUse use{{}, image.cols ? image.cols : SIDRA_XBAR_COLS, image.encoding == SIDRA_ENCODING_DIFFERENTIAL ? 2u : 1u};
    std::copy(std::begin(image.rows), std::end(image.rows), use.rows);
    return use;
}

// Buffer of the thread for new levels of a crossbar.
std::vector<uint8_t>& next_levels() {
    static thread_local std::vector<uint8_t> levels;
    levels.resize(kXbarCells);
    return levels;
}

}  // namespace

Array::Array(const Geometry& geometry, const engine::Kernels& kernels, std::unique_ptr<Analog> analog)
    : xbars_(geometry.xbars()),
      kernels_(kernels),
      analog_(std::move(analog)),
      cells_(size_t{xbars_} * kXbarCells),
      planes_(size_t{xbars_} * kXbarCells),
      pair_planes_(size_t{xbars_} * kXbarCells / 2),
      versions_(std::make_unique<engine::PlaneVersion[]>(2 * size_t{xbars_})),
      states_(size_t{xbars_} * sizeof(State)),
      nvm_(geometry.nvm_size),
      precopy_(xbars_) {
#ifdef MADV_HUGEPAGE
    // The planes of large objects are streamed.
    madvise(planes_.data(), planes_.size(), MADV_HUGEPAGE);
    madvise(pair_planes_.data(), pair_planes_.size(), MADV_HUGEPAGE);
#endif
}

void Array::erase_locked(uint32_t xbar) {
    State& s = state(xbar);
    if (s.uid.load(std::memory_order_relaxed) != 0) {
        programmed_xbars_.fetch_sub(1, std::memory_order_relaxed);
        std::memset(plane_of(xbar, s.encoding), 0, plane_size(s.encoding));
        version_of(xbar, s.encoding).change();
    }
    s.uid.store(0, std::memory_order_relaxed);
    s.covered_rows.store(0, std::memory_order_relaxed);
    epoch_.fetch_add(1, std::memory_order_release);
    s.tile = 0;
    s.encoding = 0;
    s.cols = 0;
    std::memset(s.rows, 0, sizeof s.rows);
    std::memset(s.sums, 0, sizeof s.sums);
    std::memset(cells(xbar), 0, kXbarCells);
    if (s.stuck_cells) apply_stuck_locked(xbar, cells(xbar));
}

bool Array::erase(uint32_t first, uint32_t count) {
    const uint32_t end = first + count;
    while (first < end) {
        // Batches end at multiples of their size, so all threads take the locks in one order.
        const uint32_t batch = std::min(end - first, kEraseBatch - first % kEraseBatch);
        std::array<std::unique_lock<std::mutex>, kEraseBatch> guards;
        std::array<SavedCrossbar, kEraseBatch> erased;
        std::array<CrossbarCells, kEraseBatch> contents;  // of crossbars that are in use
        std::array<std::vector<uint8_t>, kEraseBatch> chunks;
        std::array<Record, 2 * kEraseBatch> records;
        size_t changed = 0;
        for (uint32_t i = 0; i < batch; i++) {
            guards[i] = std::unique_lock(lock(first + i));
            const State& s = state(first + i);
            if (analog_ && !analog_->blank(first + i)) {
                contents[i] = analog_->copy(first + i);
                analog_->programmer().erase(&contents[i]);
            }
            if (!file_ || s.uid.load(std::memory_order_relaxed) == 0) continue;
            erased[i] = {first + i, 0, {}};
            erased[i].image.programs = s.programs;
            records[changed++] = crossbar_chunk(erased[i], nullptr);
            if (!contents[i].touched) continue;
            chunks[i] = cells_chunk(contents[i]);
            records[changed++] = analog_chunk(first + i, chunks[i]);
        }
        if (changed && !file_->append({records.data(), changed})) return false;
        for (uint32_t i = 0; i < batch; i++) {
            erase_locked(first + i);
            if (!contents[i].g.empty()) analog_->take(contents[i]);
            note_change(first + i);
        }
        first += batch;
    }
    return true;
}

// At level `accurate` the levels are targets for columns, and stuck cells show in their conductances.
void Array::apply_stuck_locked(uint32_t xbar, uint8_t* levels) {
    if (analog_) return;
    std::lock_guard guard(stuck_lock_);
    for (const Stuck& cell : stuck_)
        if (cell.xbar == xbar) levels[cell.row * SIDRA_XBAR_COLS + cell.column] = static_cast<uint8_t>(cell.level);
}

// Updates plane and sums from the cells of a block. Programming without stuck cells packs its input directly instead.
void Array::repack_locked(uint32_t xbar, uint32_t encoding, uint32_t row0, uint32_t rows, uint32_t col0,
                          uint32_t cols) {
    int8_t block[SIDRA_XBAR_COLS];
    for (uint32_t r = row0; r < row0 + rows; r++) {
        const uint8_t* level = cells(xbar) + r * SIDRA_XBAR_COLS;
        for (uint32_t c = 0; c < cols; c++) {
            const uint32_t at = col0 + c;
            block[c] = encoding == SIDRA_ENCODING_DIFFERENTIAL ? decode_pair(level[2 * at], level[2 * at + 1])
                                                               : decode_offset(level[at]);
        }
        kernels_.pack(plane_of(xbar, encoding), state(xbar).sums, block, cols, r, 1, col0, cols);
    }
    version_of(xbar, encoding).change();
}

Fault Array::program(const TileBlock& b, const int8_t* data, size_t stride, double now, Cost* spent) {
    if (b.encoding == SIDRA_ENCODING_DIFFERENTIAL) {
        for (uint32_t r = 0; r < b.rows; r++) {
            const int8_t* row = data + r * stride;
            int8_t lowest = 0;
            for (uint32_t c = 0; c < b.cols; c++) lowest = std::min(lowest, row[c]);
            if (lowest == -128) return {SIDRA_FAULT_VALUE, b.row0 + r};
        }
    }

    std::lock_guard guard(lock(b.xbar));
    State& s = state(b.xbar);
    const bool whole_rows = b.col0 == 0 && b.cols == b.tile_cols;
    // A different encoding is treated as a different object, because the columns differ.
    const bool new_owner = s.uid.load(std::memory_order_relaxed) != b.uid || s.encoding != b.encoding;
    Image next{};
    if (!new_owner) next = image_of(s);
    next.uid = b.uid;
    next.tile = b.tile;
    next.encoding = b.encoding;
    next.cols = b.tile_cols * (b.encoding == SIDRA_ENCODING_DIFFERENTIAL ? 2 : 1);
    next.programs = s.programs + (s.programs != UINT32_MAX);
    for (uint32_t r = b.row0; r < b.row0 + b.rows; r++) {
        uint64_t& word = next.rows[r / 64];
        const uint64_t bit = uint64_t{1} << (r % 64);
        if (!whole_rows && !(word & bit)) return {SIDRA_FAULT_UNPROGRAMMED, b.xbar};
        word |= bit;
    }
    const uint8_t* levels = nullptr;  // the new target levels
    CrossbarCells content;
    if (file_ || analog_) {
        uint8_t* will_be = next_levels().data();
        if (new_owner) std::fill_n(will_be, kXbarCells, uint8_t{0});
        else std::copy_n(cells(b.xbar), kXbarCells, will_be);
        encode(kernels_, b, data, stride, will_be);
        if (s.stuck_cells) apply_stuck_locked(b.xbar, will_be);
        levels = will_be;
    }
    if (analog_) {
        content = analog_->copy(b.xbar);
        if (new_owner) analog_->programmer().erase(&content);
        const CellBlock block = cells_of(b);
        std::vector<uint8_t> wanted(size_t{block.rows} * block.cols);
        for (uint32_t r = 0; r < block.rows; r++)
            std::copy_n(levels + (block.row0 + r) * SIDRA_XBAR_COLS + block.col0, block.cols,
                        wanted.data() + size_t{r} * block.cols);
        *spent += analog_->programmer().program(&content, block, wanted.data(), now);
        *spent += analog_->programmer().replace_columns(&content, use_of(next), levels);
    }
    if (file_) {
        const SavedCrossbar saved{b.xbar, 0, next};
        std::vector<Record> records = {crossbar_chunk(saved, levels)};
        std::vector<uint8_t> chunk;
        if (analog_) {
            records.push_back(analog_chunk(b.xbar, chunk = cells_chunk(content)));
            records.push_back(clock_chunk(now));
        }
        if (!file_->append(records)) return {kNotKept, b.xbar};
    }
    if (new_owner) {
        erase_locked(b.xbar);
        s.uid.store(b.uid, std::memory_order_release);
        s.tile = b.tile;
        s.encoding = b.encoding;
        s.cols = next.cols;
        programmed_xbars_.fetch_add(1, std::memory_order_relaxed);
    }
    if (levels) std::copy_n(levels, kXbarCells, cells(b.xbar));
    else encode(kernels_, b, data, stride, cells(b.xbar));
    if (s.stuck_cells && !analog_) {
        apply_stuck_locked(b.xbar, cells(b.xbar));
        repack_locked(b.xbar, b.encoding, b.row0, b.rows, b.col0, b.cols);
    } else {
        kernels_.pack(plane_of(b.xbar, b.encoding), s.sums, data, stride, b.row0, b.rows, b.col0, b.cols);
        version_of(b.xbar, b.encoding).change();
    }
    if (analog_) analog_->take(content);
    s.programs = next.programs;
    std::copy(std::begin(next.rows), std::end(next.rows), s.rows);
    uint32_t covered = 0;
    for (uint64_t word : s.rows) covered += static_cast<uint32_t>(__builtin_popcountll(word));
    s.covered_rows.store(covered, std::memory_order_release);
    note_change(b.xbar);
    return {};
}

bool Array::has_locked(const TileBlock& b) const {
    const State& s = state(b.xbar);
    if (s.uid.load(std::memory_order_relaxed) != b.uid) return false;
    for (uint32_t r = b.row0; r < b.row0 + b.rows; r++)
        if (!covers(s, r)) return false;
    return true;
}

Fault Array::verify(const TileBlock& block, double tolerance, double now, CellCheck* found) {
    return check(block, Mend::kNo, tolerance, now, found);
}

Fault Array::refresh(const TileBlock& block, double tolerance, double now, CellCheck* found) {
    return check(block, Mend::kYes, tolerance, now, found);
}

Fault Array::verify(uint32_t xbar, double tolerance, double now, CellCheck* found) {
    return check(xbar, Mend::kNo, tolerance, now, found);
}

Fault Array::refresh(uint32_t xbar, double tolerance, double now, CellCheck* found) {
    return check(xbar, Mend::kYes, tolerance, now, found);
}

Fault Array::check(const TileBlock& block, Mend mend, double tolerance, double now, CellCheck* found) {
    *found = {};
    std::lock_guard guard(lock(block.xbar));
    if (!has_locked(block)) return {SIDRA_FAULT_UNPROGRAMMED, block.xbar};
    return check_locked(cells_of(block), mend, tolerance, now, found);
}

Fault Array::check(uint32_t xbar, Mend mend, double tolerance, double now, CellCheck* found) {
    *found = {};
    std::lock_guard guard(lock(xbar));
    const State& s = state(xbar);
    if (s.uid.load(std::memory_order_relaxed) == 0) return {SIDRA_FAULT_UNPROGRAMMED, xbar};
    for (uint32_t row = 0; row < SIDRA_XBAR_ROWS;) {
        uint32_t end = row;
        while (end < SIDRA_XBAR_ROWS && covers(s, end)) end++;
        const CellBlock block{xbar, row, end - row, 0, s.cols ? s.cols : SIDRA_XBAR_COLS};
        if (block.rows)
            if (Fault fault = check_locked(block, mend, tolerance, now, found)) return fault;
        row = end + 1;
    }
    return {};
}

Fault Array::check_locked(const CellBlock& block, Mend mend, double tolerance, double now, CellCheck* found) {
    const uint64_t count = uint64_t{block.rows} * block.cols;
    CellCheck check;
    if (!analog_) {
        check.cells = count;
        check.cost = verify_cost(block.rows, count);
        found->add(check);
        return {};
    }
    std::vector<uint8_t> levels(count), off(count);
    for (uint32_t r = 0; r < block.rows; r++)
        std::copy_n(cells(block.xbar) + (block.row0 + r) * SIDRA_XBAR_COLS + block.col0, block.cols,
                    levels.data() + size_t{r} * block.cols);
    check = analog_->verify(block, levels.data(), tolerance, now, off.data());
    if (mend == Mend::kYes && check.off) {
        CrossbarCells content = analog_->copy(block.xbar);
        analog_->programmer().mend(&content, block, levels.data(), off.data(), now, &check);
        check.cost +=
            analog_->programmer().replace_columns(&content, use_of(image_of(state(block.xbar))), cells(block.xbar));
        if (file_) {
            const std::vector<uint8_t> chunk = cells_chunk(content);
            const Record records[] = {analog_chunk(block.xbar, chunk), clock_chunk(now)};
            if (!file_->append(records)) return {kNotKept, block.xbar};
        }
        analog_->take(content);
        note_change(block.xbar);
    }
    found->add(check);
    return {};
}

Fault Array::read(const TileBlock& b, double now, int8_t* data, size_t stride) const {
    const CellBlock block = cells_of(b);
    uint8_t conducting[SIDRA_XBAR_COLS];
    std::lock_guard guard(lock(b.xbar));
    if (!has_locked(b) || updates_.torn(b.uid)) return {SIDRA_FAULT_UNPROGRAMMED, b.xbar};
    for (uint32_t r = 0; r < b.rows; r++) {
        const uint8_t* level = cells(b.xbar) + (b.row0 + r) * SIDRA_XBAR_COLS + block.col0;
        if (analog_) {
            analog_->read({b.xbar, b.row0 + r, 1, block.col0, block.cols}, conducting, now);
            level = conducting;
        }
        int8_t* row = data + r * stride;
        for (uint32_t c = 0; c < b.cols; c++)
            row[c] = b.encoding == SIDRA_ENCODING_DIFFERENTIAL ? decode_pair(level[2 * c], level[2 * c + 1])
                                                               : decode_offset(level[c]);
    }
    return {};
}

bool Array::programmed(uint32_t xbar, uint64_t uid, uint32_t rows) const {
    // Only rows in use can be covered, so comparing the count is sufficient. The owner is read first: a new owner is
    // stored after the coverage of the old one is cleared.
    const State& s = state(xbar);
    return s.uid.load(std::memory_order_acquire) == uid && s.covered_rows.load(std::memory_order_acquire) >= rows &&
           !updates_.torn(uid);
}

std::vector<uint64_t> Array::owners() const {
    std::vector<uint64_t> uids;
    for (uint32_t xbar = 0; xbar < xbars_; xbar++)
        if (const uint64_t uid = state(xbar).uid.load(std::memory_order_acquire)) uids.push_back(uid);
    std::sort(uids.begin(), uids.end());
    return uids;
}

bool Array::end_update(const Update& update) {
    const uint64_t torn = updates_.torn_count();
    if (!updates_.end(update)) return false;
    if (updates_.torn_count() != torn) note_change();
    return true;
}

sidra_hw_xbar Array::header(uint32_t xbar) const {
    std::lock_guard guard(lock(xbar));
    const State& s = state(xbar);
    sidra_hw_xbar header{};
    header.uid = s.uid.load(std::memory_order_relaxed);
    header.tile = s.tile;
    header.programs = s.programs;
    if (!updates_.torn(header.uid))
        header.programmed_rows = static_cast<uint16_t>(s.covered_rows.load(std::memory_order_relaxed));
    header.stuck_cells = analog_ ? analog_->stuck(xbar) : s.stuck_cells;
    return header;
}

sidra_hw_xbar_report Array::report(uint32_t xbar, double now) const {
    const sidra_hw_xbar known = header(xbar);
    sidra_hw_xbar_report report{};
    report.uid = known.uid;
    report.tile = known.tile;
    report.programs = known.programs;
    report.programmed_rows = known.programmed_rows;
    report.level = SIDRA_XBAR_EXACT;
    report.stuck_cells = known.stuck_cells;
    if (analog_) analog_->report(xbar, now, &report);
    return report;
}

bool Array::set_stuck(uint32_t xbar, uint32_t row, uint32_t column, uint8_t level) {
    std::lock_guard guard(lock(xbar));
    State& s = state(xbar);
    const Stuck stuck{xbar, row, column, level};
    const uint32_t at = row * SIDRA_XBAR_COLS + column;
    {
        std::lock_guard stuck_guard(stuck_lock_);
        if (stuck_.size() == stuck_.capacity())
            stuck_.reserve(2 * stuck_.size() + 1);  // before the file is written: nothing may fail afterwards
    }
    CrossbarCells content;
    if (analog_) {
        content = analog_->copy(xbar);
        analog_->programmer().hold(&content, at, level);
    }
    if (file_) {  // includes the cell's level, which remains when the cell is no longer stuck
        std::vector<uint8_t>& levels = next_levels();
        std::copy_n(cells(xbar), kXbarCells, levels.begin());
        levels[at] = level;
        const SavedCrossbar saved{xbar, 0, image_of(s)};
        std::vector<Record> records = {stuck_chunk(stuck)};
        if (saved.image.uid && !analog_) records.push_back(crossbar_chunk(saved, levels.data()));
        std::vector<uint8_t> chunk;
        if (analog_) records.push_back(analog_chunk(xbar, chunk = cells_chunk(content)));
        if (!file_->append(records)) return false;
    }
    {
        std::lock_guard stuck_guard(stuck_lock_);
        auto found = std::find_if(stuck_.begin(), stuck_.end(),
                                  [&](const Stuck& cell) { return stuck_number(cell) == stuck_number(stuck); });
        if (found != stuck_.end()) {
            found->level = level;
        } else {
            stuck_.push_back(stuck);
            stuck_count_.store(stuck_.size(), std::memory_order_relaxed);
            s.stuck_cells++;
        }
    }
    if (analog_) {
        analog_->take(content);
    } else {
        cells(xbar)[at] = level;
        if (covers(s, row)) {
            const uint32_t output = s.encoding == SIDRA_ENCODING_DIFFERENTIAL ? column / 2 : column;
            repack_locked(xbar, s.encoding, row, 1, output, 1);
        }
    }
    note_change(xbar);
    return true;
}

Array::Image Array::image_of(const State& s) {
    Image image{};
    image.uid = s.uid.load(std::memory_order_relaxed);
    image.programs = s.programs;
    if (image.uid == 0) return image;
    image.tile = s.tile;
    image.encoding = s.encoding;
    image.cols = s.cols;
    std::copy(std::begin(s.rows), std::end(s.rows), image.rows);
    return image;
}

bool Array::image(uint32_t xbar, Image* image, uint8_t* levels) const {
    std::lock_guard guard(lock(xbar));
    *image = image_of(state(xbar));
    if (image->uid == 0) return image->programs != 0;
    std::memcpy(levels, cells(xbar), kXbarCells);
    return true;
}

bool Array::holds(uint32_t xbar) const {
    std::lock_guard guard(lock(xbar));
    const State& s = state(xbar);
    return s.uid.load(std::memory_order_relaxed) != 0 || s.programs != 0 || (analog_ && !analog_->blank(xbar));
}

bool Array::forget(uint32_t xbar) {
    if (xbar >= xbars_) return false;
    std::lock_guard guard(lock(xbar));
    erase_locked(xbar);
    state(xbar).programs = 0;
    if (analog_) analog_->forget(xbar);
    note_change(xbar);
    return true;
}

bool Array::restore(uint32_t xbar, const Image& image, const uint8_t* levels) {
    if (xbar >= xbars_ || image.encoding > SIDRA_ENCODING_OFFSET || image.cols > SIDRA_XBAR_COLS) return false;
    std::lock_guard guard(lock(xbar));
    State& s = state(xbar);
    if (s.uid.load(std::memory_order_relaxed) != 0) return false;  // restored twice
    s.programs = image.programs;
    note_change();
    if (image.uid == 0) return true;
    s.tile = image.tile;
    s.encoding = image.encoding;
    s.cols = image.cols;
    std::memcpy(cells(xbar), levels, kXbarCells);
    const uint32_t outputs = image.encoding == SIDRA_ENCODING_DIFFERENTIAL ? SIDRA_XBAR_COLS / 2 : SIDRA_XBAR_COLS;
    uint32_t covered = 0;
    for (uint32_t row = 0; row < SIDRA_XBAR_ROWS; row++) {
        if (!(image.rows[row / 64] >> (row % 64) & 1)) continue;
        s.rows[row / 64] |= uint64_t{1} << (row % 64);
        repack_locked(xbar, image.encoding, row, 1, 0, outputs);
        covered++;
    }
    s.uid.store(image.uid, std::memory_order_release);
    s.covered_rows.store(covered, std::memory_order_release);
    programmed_xbars_.fetch_add(1, std::memory_order_relaxed);
    epoch_.fetch_add(1, std::memory_order_release);
    return true;
}

std::vector<Array::Stuck> Array::stuck_cells() const {
    std::lock_guard guard(stuck_lock_);
    return stuck_;
}

void Array::clear() {
    for (LazyMemory* memory : {&cells_, &planes_, &pair_planes_, &states_, &nvm_}) memory->clear();
    for (size_t i = 0; i < 2 * size_t{xbars_}; i++) versions_[i].change();
    if (analog_) analog_->clear();
    updates_.clear();
    stuck_.clear();
    stuck_count_.store(0, std::memory_order_relaxed);
    programmed_xbars_.store(0, std::memory_order_relaxed);
    note_change();
    epoch_.fetch_add(1, std::memory_order_release);
}

bool Array::clear_stuck() {
    for (;;) {
        uint32_t xbar;
        {
            std::lock_guard guard(stuck_lock_);
            if (stuck_.empty()) return true;
            xbar = stuck_.back().xbar;
        }
        // Both locks, in the order of set_stuck(), keep the list and the count consistent.
        std::lock_guard guard(lock(xbar));
        std::lock_guard stuck_guard(stuck_lock_);
        CrossbarCells content;
        if (analog_) content = analog_->copy(xbar);
        std::vector<Record> records;
        for (const Stuck& cell : stuck_) {
            if (cell.xbar != xbar) continue;
            records.push_back({kStuck, stuck_number(cell), {}, {}});
            if (analog_) analog_->programmer().release(&content, cell.row * SIDRA_XBAR_COLS + cell.column);
        }
        std::vector<uint8_t> chunk;
        if (analog_) records.push_back(analog_chunk(xbar, chunk = cells_chunk(content)));
        if (file_ && !file_->append(records)) return false;
        state(xbar).stuck_cells -=
            static_cast<uint32_t>(std::erase_if(stuck_, [&](const Stuck& cell) { return cell.xbar == xbar; }));
        stuck_count_.store(stuck_.size(), std::memory_order_relaxed);
        if (analog_) analog_->take(content);
        note_change(xbar);
    }
}

bool Array::write_nvm(uint64_t offset, std::span<const uint8_t> data) {
    if (file_ && !data.empty()) {
        const uint64_t first = offset / kPage, count = (offset + data.size() - 1) / kPage - first + 1;
        const uint8_t* before = nvm_.data() + first * kPage;
        std::vector<uint8_t> pages(before, before + count * kPage);
        std::copy(data.begin(), data.end(), pages.begin() + static_cast<ptrdiff_t>(offset - first * kPage));
        std::vector<uint64_t> numbers(count);
        std::vector<Record> records(count);
        for (uint64_t i = 0; i < count; i++) {
            numbers[i] = first + i;
            records[i] = page_chunk(kNvm, numbers[i], pages.data() + i * kPage);
        }
        if (!file_->append(records) || !file_->sync()) return false;
    }
    std::copy(data.begin(), data.end(), nvm_.data() + offset);
    return true;
}

}  // namespace sidra::chip
