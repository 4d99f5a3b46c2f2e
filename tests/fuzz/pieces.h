// SPDX-License-Identifier: MIT
// Damage to what consists of pieces: those of a good one, which an input changes, drops, doubles, swaps and makes up.
// What adds up the pieces afterwards makes the sums right, so that damage gets behind them.
#ifndef SIDRA_TESTS_FUZZ_PIECES_H
#define SIDRA_TESTS_FUZZ_PIECES_H

#include <algorithm>
#include <cstdint>
#include <utility>
#include <vector>

#include "input.h"

namespace sidra::fuzz {

struct Piece {
    uint32_t tag = 0;
    uint64_t number = 0;  // where pieces have one
    std::vector<uint8_t> bytes;
};

// A record of an input, of kEditSize bytes.
inline constexpr size_t kEditSize = 16, kEditsMost = 16;

inline void edit(std::vector<Piece>& pieces, Input in) {
    const uint8_t kind = in.u8();
    const size_t which = in.u16(), at = in.u16();
    if (pieces.empty()) return;
    Piece& piece = pieces[which % pieces.size()];
    static constexpr uint8_t kOften[] = {0, 1, 2, 0x7f, 0x80, 0xff, 0xfe, 0x40};
    const auto put = [&](size_t place, size_t size) {
        for (size_t i = 0; i < size && !piece.bytes.empty(); i++)
            piece.bytes[(place + i) % piece.bytes.size()] = in.u8();
    };
    switch (kind % 16) {
        case 0:  // heads are in front
            put(at % 256, 8);
            break;
        case 1:
            put(at, 8);
            break;
        case 2:
            put(at % 256 & ~size_t{7}, 8);
            break;
        case 3:
            put(at % 256 & ~size_t{3}, 4);
            break;
        case 4:
            if (!piece.bytes.empty()) piece.bytes[at % 256 % piece.bytes.size()] = kOften[in.u8() % 8];
            break;
        case 5:
            if (!piece.bytes.empty())
                std::fill_n(piece.bytes.begin() + static_cast<ptrdiff_t>(at % piece.bytes.size()),
                            std::min<size_t>(8, piece.bytes.size() - at % piece.bytes.size()), kOften[in.u8() % 8]);
            break;
        case 6:
            pieces.erase(pieces.begin() + static_cast<ptrdiff_t>(which % pieces.size()));
            break;
        case 7: {
            Piece again = piece;
            pieces.insert(pieces.begin() + static_cast<ptrdiff_t>(at % (pieces.size() + 1)), std::move(again));
            break;
        }
        case 8:
            std::swap(piece, pieces[at % pieces.size()]);
            break;
        case 9:
            piece.bytes.resize(piece.bytes.size() * (at % 256) / 256);
            break;
        case 10:
            piece.bytes.resize(piece.bytes.size() + at % 64);
            break;
        case 11:
            piece.tag = in.u32();
            break;
        case 12:
            piece.tag = pieces[at % pieces.size()].tag;
            break;
        case 13:
            piece.number = in.u64();
            break;
        case 14:
            piece.number ^= uint64_t{1} << at % 64;
            break;
        default: {
            Piece fresh{piece.tag, piece.number, {}};
            while (!in.empty()) fresh.bytes.push_back(in.u8());
            pieces.insert(pieces.begin() + static_cast<ptrdiff_t>(at % (pieces.size() + 1)), std::move(fresh));
            break;
        }
    }
}

}  // namespace sidra::fuzz

#endif
