// SPDX-License-Identifier: MIT
// A chip saved to memory, and loaded from there.
#ifndef SIDRA_TESTS_CHIP_STREAM_H
#define SIDRA_TESTS_CHIP_STREAM_H

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

}  // namespace sidra::chip_test

#endif
