// SPDX-License-Identifier: MIT
#include "host_ranges.h"

#include <algorithm>
#include <iterator>
#include <utility>

namespace sidra {

// Makes a border at an address, if it is inside a piece. Returns the first piece that begins there or behind.
HostRanges::Pieces::iterator HostRanges::split(uintptr_t at) {
    const auto next = pieces_.lower_bound(at);
    if (next == pieces_.begin()) return next;
    Piece& before = std::prev(next)->second;
    if (before.end <= at) return next;
    const auto made = pieces_.emplace_hint(next, at, before);
    before.end = at;
    return made;
}

// Joins the pieces from `begin` to `end`, and their neighbours, where they have the same owners.
void HostRanges::join(uintptr_t begin, uintptr_t end) {
    auto at = pieces_.lower_bound(begin);
    if (at != pieces_.begin()) --at;
    while (at != pieces_.end() && at->first <= end) {
        const auto next = std::next(at);
        if (next == pieces_.end()) return;
        if (at->second.end == next->first && at->second.owner == next->second.owner &&
            at->second.older == next->second.older) {
            at->second.end = next->second.end;
            pieces_.erase(next);
        } else {
            at = next;
        }
    }
}

void HostRanges::add(uint64_t handle, uintptr_t begin, uint64_t size) {
    const std::lock_guard lock(mutex_);
    const Owner owner{handle, begin};
    const uintptr_t end = begin + size;
    const auto next = pieces_.lower_bound(begin);
    if ((next == pieces_.begin() || std::prev(next)->second.end <= begin) &&
        (next == pieces_.end() || next->first >= end)) {
        pieces_.emplace_hint(next, begin, Piece{end, owner, {}});
        return;
    }
    split(begin);
    split(end);
    for (uintptr_t at = begin; at < end;) {
        const auto piece = pieces_.lower_bound(at);
        if (piece != pieces_.end() && piece->first == at) {
            piece->second.older.push_back(std::exchange(piece->second.owner, owner));
            at = piece->second.end;
        } else {
            const uintptr_t stop = piece != pieces_.end() ? std::min(end, piece->first) : end;
            pieces_.emplace_hint(piece, at, Piece{stop, owner, {}});
            at = stop;
        }
    }
}

void HostRanges::remove(uint64_t handle, uintptr_t begin, uint64_t size) {
    const std::lock_guard lock(mutex_);
    const uintptr_t end = begin + size;
    auto piece = pieces_.lower_bound(begin);
    const bool alone = piece != pieces_.end() && piece->second.end == end && piece->second.older.empty();
    while (piece != pieces_.end() && piece->first < end) {
        Piece& of = piece->second;
        std::erase_if(of.older, [&](const Owner& owner) { return owner.handle == handle; });
        const bool counts = of.owner.handle == handle;
        if (counts && of.older.empty()) {
            piece = pieces_.erase(piece);
            continue;
        }
        if (counts) {
            of.owner = of.older.back();
            of.older.pop_back();
        }
        ++piece;
    }
    if (alone) return;  // no neighbour has come closer
    join(begin, end);
}

std::optional<HostRanges::Owner> HostRanges::find(uintptr_t address) const {
    const std::lock_guard lock(mutex_);
    const auto next = pieces_.upper_bound(address);
    if (next == pieces_.begin()) return std::nullopt;
    const Piece& piece = std::prev(next)->second;
    return address < piece.end ? std::optional(piece.owner) : std::nullopt;
}

}  // namespace sidra
