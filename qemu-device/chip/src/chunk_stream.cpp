// SPDX-License-Identifier: MIT
#include "chunk_stream.h"

#include "cells_chunk.h"

namespace sidra::chip {
namespace {

constexpr uint32_t kEnd = chunk_tag("END ");
constexpr size_t kChunkMax = kCellsChunkMax;

struct ChunkHeader {
    uint32_t tag;
    uint32_t bytes;
};

}  // namespace

void ChunkWriter::chunk(const Record& record) {
    const ChunkHeader header{record.tag, static_cast<uint32_t>(record.payload.size() + record.more.size())};
    put(bytes_of(header));
    put(record.payload);
    put(record.more);
}

bool ChunkWriter::finish() {
    const uint64_t sum = sum_.value();
    chunk(kEnd, sum);
    return good_;
}

void ChunkWriter::put(std::span<const uint8_t> bytes) {
    if (bytes.empty()) return;
    sum_.add(bytes.data(), bytes.size());
    bytes_ += bytes.size();
    good_ = good_ && write_(opaque_, bytes.data(), bytes.size());
}

const char* read_chunks(uint32_t first, ReadBytes read, void* opaque, const TakeChunk& take_chunk) {
    Sum sum;
    std::vector<uint8_t> data;
    for (bool at_first = true;; at_first = false) {
        ChunkHeader header;
        constexpr const char* kEarly = "saved state ends early";
        if (!read(opaque, &header, sizeof header)) return kEarly;
        if (at_first != (header.tag == first)) return "not the saved state of a sidra chip";
        if (header.bytes > kChunkMax) return "saved state is damaged: chunk too long";
        data.resize(header.bytes);
        if (header.bytes && !read(opaque, data.data(), data.size())) return kEarly;
        if (header.tag == kEnd) {
            uint64_t expected;
            return take(data, &expected) && expected == sum.value() ? nullptr
                                                                    : "saved state is damaged: wrong check sum";
        }
        sum.add(&header, sizeof header);
        sum.add(data.data(), data.size());
        if (const char* const bad = take_chunk(header.tag, data)) return bad;
    }
}

}  // namespace sidra::chip
