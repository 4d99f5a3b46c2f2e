// SPDX-License-Identifier: MIT
// A chip saved to memory, and loaded from there.
#ifndef SIDRA_TESTS_CHIP_STREAM_H
#define SIDRA_TESTS_CHIP_STREAM_H

#include <algorithm>
#include <cstring>
#include <string>
#include <vector>

#include "bench.h"

namespace sidra::chip_test {

using Stream = std::vector<uint8_t>;

inline bool append(void* opaque, const void* data, size_t size) {
    auto* stream = static_cast<Stream*>(opaque);
    const auto* bytes = static_cast<const uint8_t*>(data);
    stream->insert(stream->end(), bytes, bytes + size);
    return true;
}

struct Reader {
    const Stream& stream;
    size_t at = 0;
    static bool read(void* opaque, void* data, size_t size) {
        auto* reader = static_cast<Reader*>(opaque);
        if (size > reader->stream.size() - reader->at) return false;
        std::memcpy(data, reader->stream.data() + reader->at, size);
        reader->at += size;
        return true;
    }
};

inline Stream save(const Bench& bench) {
    Stream stream;
    EXPECT_EQ(sidra_chip_save(bench.chip(), append, &stream), 0);
    return stream;
}

// "" or the error.
inline std::string load(const Bench& bench, const Stream& stream) {
    Reader reader{stream};
    char error[1024] = "";
    const int result = sidra_chip_load(bench.chip(), Reader::read, &reader, error, sizeof error);
    EXPECT_EQ(result == 0, error[0] == '\0');
    if (result == 0) EXPECT_EQ(reader.at, stream.size()) << "reads exactly what was written";
    return error;
}

// Where a chunk begins, and how many bytes its payload has.
struct Chunk {
    size_t at, bytes;
};

inline std::vector<Chunk> chunks_of(const Stream& stream) {
    std::vector<Chunk> chunks;
    for (size_t at = 0; at < stream.size();) {
        uint32_t bytes;
        std::memcpy(&bytes, &stream[at + 4], 4);
        chunks.push_back({at, bytes});
        at += 8 + bytes;
    }
    return chunks;
}

// Stores the matching checksum, so that a forgery is judged by its contents.
inline void sign(Stream* stream) {
    uint64_t sum = 0xcbf29ce484222325u;
    const auto add = [&](size_t at, size_t bytes) {
        for (size_t i = 0; i < bytes; i += 8) {
            uint64_t word = 0;
            std::memcpy(&word, &(*stream)[at + i], std::min<size_t>(8, bytes - i));
            sum = (sum ^ word) * 0x100000001b3u;
            sum ^= sum >> 32;
        }
    };
    const auto chunks = chunks_of(*stream);
    for (const Chunk& each : chunks) {
        if (&each == &chunks.back()) break;
        add(each.at, 8);
        add(each.at + 8, each.bytes);
    }
    std::memcpy(&(*stream)[chunks.back().at + 8], &sum, 8);
}

}  // namespace sidra::chip_test

#endif
