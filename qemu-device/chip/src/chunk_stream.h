// SPDX-License-Identifier: MIT
// A stream of chunks {tag, bytes, payload}, little-endian, with END last, which has the checksum of what is before it.
#ifndef SIDRA_CHIP_CHUNK_STREAM_H
#define SIDRA_CHIP_CHUNK_STREAM_H

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "chunks.h"
#include "record.h"
#include "sum.h"

namespace sidra::chip {

// Return false on failure; then no other call follows.
using WriteBytes = bool (*)(void* opaque, const void* data, size_t size);
using ReadBytes = bool (*)(void* opaque, void* data, size_t size);

class ChunkWriter {
   public:
    ChunkWriter(WriteBytes write, void* opaque) : write_(write), opaque_(opaque) {}
    void chunk(const Record& record);
    template <typename T>
    void chunk(uint32_t tag, const T& value) {
        chunk({tag, 0, bytes_of(value), {}});
    }
    uint64_t bytes() const { return bytes_; }
    // Writes END. Returns whether everything was written.
    bool finish();

   private:
    void put(std::span<const uint8_t> bytes);

    WriteBytes write_;
    void* opaque_;
    Sum sum_;
    uint64_t bytes_ = 0;
    bool good_ = true;
};

// Calls take(tag, payload) for each chunk but END; the tag `first` must be the first one's, and no other's. Returns
// nullptr, or what is wrong: with the stream, or what take() returned.
using TakeChunk = std::function<const char*(uint32_t tag, const std::vector<uint8_t>& data)>;
const char* read_chunks(uint32_t first, ReadBytes read, void* opaque, const TakeChunk& take);

}  // namespace sidra::chip

#endif
