// SPDX-License-Identifier: MIT
// ELF files assembled byte by byte from the specification.
#ifndef SIDRA_TESTS_FIRMWARE_ELF_FILE_H
#define SIDRA_TESTS_FIRMWARE_ELF_FILE_H

#include "writer.h"

namespace sidra::test {

struct ElfSegment {
    uint32_t type = 1, address = 0, memory_size = 0, flags = 5;
    Bytes bytes;
};

// Header, program headers, then the bytes of each segment.
struct ElfFile {
    static constexpr size_t kHeaderSize = 52, kSegmentSize = 32;
    static constexpr size_t kAtClass = 4, kAtData = 5, kAtIdVersion = 6, kAtElfType = 16, kAtMachine = 18,
                            kAtElfVersion = 20, kAtElfEntry = 24, kAtTable = 28, kAtElfFlags = 36, kAtEntrySize = 42,
                            kAtCount = 44;

    uint32_t entry = 0x10000000;
    std::vector<ElfSegment> segments;

    // The field of segment n: 0 type, 4 offset, 8 virtual address, 12 physical address, 16 file size, 20 memory size,
    // 24 flags.
    static size_t at_segment(size_t n, size_t field) { return kHeaderSize + n * kSegmentSize + field; }

    Bytes file() const {
        Bytes all = {0x7f, 'E', 'L', 'F', 1, 1, 1};
        all.resize(kHeaderSize + segments.size() * kSegmentSize);
        put(all, kAtElfType, 2, 2);
        put(all, kAtMachine, 243, 2);
        put(all, kAtElfVersion, 1, 4);
        put(all, kAtElfEntry, entry, 4);
        put(all, kAtTable, kHeaderSize, 4);
        put(all, 40, kHeaderSize, 2);
        put(all, kAtEntrySize, kSegmentSize, 2);
        put(all, kAtCount, segments.size(), 2);
        for (size_t n = 0; n < segments.size(); ++n) {
            const ElfSegment& one = segments[n];
            put(all, at_segment(n, 0), one.type, 4);
            put(all, at_segment(n, 4), all.size(), 4);
            put(all, at_segment(n, 8), one.address, 4);
            put(all, at_segment(n, 12), one.address, 4);
            put(all, at_segment(n, 16), one.bytes.size(), 4);
            put(all, at_segment(n, 20), one.memory_size, 4);
            put(all, at_segment(n, 24), one.flags, 4);
            all.insert(all.end(), one.bytes.begin(), one.bytes.end());
        }
        return all;
    }
};

// Code, constants after a gap, data with bss.
inline ElfFile small_program() {
    ElfFile elf;
    elf.segments = {{1, 0x10000000, 16, 5, Bytes(16, 0xc0)},
                    {1, 0x10000020, 5, 4, Bytes(5, 0xc1)},
                    {1, 0x10000028, 100, 6, Bytes(3, 0xda)},
                    {0x6474e551, 0, 0, 6, {}}};  // GNU_STACK
    return elf;
}

}  // namespace sidra::test

#endif
