// SPDX-License-Identifier: MIT
#include "context.h"

#include <algorithm>

namespace sidra::chip {
namespace {

std::atomic<uint64_t> next_tag{1};  // unique in the process, so a thread's TLB needs no other key

constexpr uint32_t ceil_div(uint32_t a, uint32_t b) { return a / b + (a % b != 0); }

}  // namespace

uint32_t Weights::tile_inputs(uint32_t i) const { return std::min(rows - i * SIDRA_XBAR_ROWS, SIDRA_XBAR_ROWS); }
uint32_t Weights::tile_outputs(uint32_t j) const { return std::min(cols - j * tile_width, tile_width); }

Context::Context(uint32_t number)
    : id(number), tag_(next_tag.fetch_add(1)), weights_(new std::atomic<Weights*>[SIDRA_WEIGHTS_MAX]()) {}

void Context::invalidate_translations() { tag_.store(next_tag.fetch_add(1), std::memory_order_seq_cst); }

Fault Context::find_weights(Bus& bus, const Array& array, uint32_t index, std::unique_ptr<Weights>* own,
                            Weights** weights) {
    if (index >= entry.weights_count) return {SIDRA_FAULT_WEIGHTS, index};
    *weights = weights_[index].load(std::memory_order_acquire);
    if (*weights) return {};
    std::unique_ptr<Weights> fresh;
    if (Fault fault = read_weights(bus, array, index, &fresh)) return fault;
    std::lock_guard guard(load_lock);
    *weights = weights_[index].load(std::memory_order_acquire);
    if (*weights) return {};  // another queue was faster
    *weights = fresh.get();
    const uint64_t tiles = cached_tiles_ + fresh->xbars.size();
    if (tiles > kCachedTilesMax * array.xbars()) {
        *own = std::move(fresh);
        return {};
    }
    owned_.push_back(std::move(fresh));
    cached_tiles_ = tiles;
    weights_[index].store(*weights, std::memory_order_release);
    return {};
}

Fault Context::read_weights(Bus& bus, const Array& array, uint32_t index, std::unique_ptr<Weights>* weights) {
    sidra_hw_weights raw;
    if (!bus.read_entry(table_at<sidra_hw_weights>(entry.weights_table, entry.weights_count), index, &raw))
        return {SIDRA_FAULT_BUS, index};
    constexpr uint32_t kFlags =
        SIDRA_HW_WEIGHTS_VALID | SIDRA_HW_WEIGHTS_COMPUTE | SIDRA_HW_WEIGHTS_PROGRAM | SIDRA_HW_WEIGHTS_READBACK;
    const Fault bad{SIDRA_FAULT_WEIGHTS, index};
    if (!(raw.flags & SIDRA_HW_WEIGHTS_VALID) || (raw.flags & ~kFlags) || raw.reserved0 || raw.reserved1[0] ||
        raw.reserved1[1] || raw.reserved1[2])
        return bad;
    if (raw.uid == 0 || raw.rows == 0 || raw.cols == 0 || raw.encoding > SIDRA_ENCODING_OFFSET || raw.tiles % 4 != 0)
        return bad;

    auto object = std::make_unique<Weights>();
    object->uid = raw.uid;
    object->rows = raw.rows;
    object->cols = raw.cols;
    object->flags = raw.flags;
    object->encoding = raw.encoding;
    object->tile_width = raw.encoding == SIDRA_ENCODING_DIFFERENTIAL ? SIDRA_XBAR_COLS / 2 : SIDRA_XBAR_COLS;
    object->tile_rows = ceil_div(raw.rows, SIDRA_XBAR_ROWS);
    object->tile_cols = ceil_div(raw.cols, object->tile_width);
    const uint64_t tiles = uint64_t{object->tile_rows} * object->tile_cols;
    if (tiles != raw.tile_count || tiles > array.xbars()) return bad;
    const Range list = table_at<uint32_t>(raw.tiles, raw.tile_count);
    if (!list.valid()) return bad;

    object->xbars.resize(tiles);
    if (!bus.read(list, object->xbars.data())) return {SIDRA_FAULT_BUS, index};
    if (std::any_of(object->xbars.begin(), object->xbars.end(), [&](uint32_t x) { return x >= array.xbars(); }))
        return bad;
    std::vector<uint32_t> sorted = object->xbars;
    std::sort(sorted.begin(), sorted.end());
    if (std::adjacent_find(sorted.begin(), sorted.end()) != sorted.end()) return bad;
    object->planes.resize(tiles);
    object->versions.resize(tiles);
    for (uint32_t i = 0; i < object->tile_rows; i++)
        for (uint32_t j = 0; j < object->tile_cols; j++) {
            const size_t to = size_t{j} * object->tile_rows + i;
            const uint32_t xbar = object->xbars[size_t{i} * object->tile_cols + j];
            object->planes[to] = array.plane(xbar, object->encoding);
            object->versions[to] = array.plane_version(xbar, object->encoding);
        }
    *weights = std::move(object);
    return {};
}

void Context::drop_weights(uint32_t index) {
    std::lock_guard guard(load_lock);
    if (index >= SIDRA_WEIGHTS_MAX) return;
    const Weights* const gone = weights_[index].exchange(nullptr, std::memory_order_acq_rel);
    if (gone) cached_tiles_ -= gone->xbars.size();
    std::erase_if(owned_, [&](const std::unique_ptr<Weights>& w) { return w.get() == gone; });
}

void Context::drop_all_weights() {
    std::lock_guard guard(load_lock);
    for (uint32_t i = 0; i < SIDRA_WEIGHTS_MAX && !owned_.empty(); i++)
        weights_[i].store(nullptr, std::memory_order_release);
    owned_.clear();
    cached_tiles_ = 0;
}

}  // namespace sidra::chip
