// SPDX-License-Identifier: MIT
// What a state file is made of: a head, and records one behind the other, little-endian. Each record is a head and a
// payload, filled up with zeros to kAlign. The last record of a key (tag and number) is what counts; one without a
// payload says that the key has nothing any more.
#ifndef SIDRA_CHIP_RECORD_H
#define SIDRA_CHIP_RECORD_H

#include <cstdint>
#include <span>

namespace sidra::chip {

struct FileHead {
    uint8_t magic[8];
    uint32_t version;
    uint32_t reserved;
    uint64_t salt;  // where all sums of this file start: a copy of a record in somebody's weights is not a record
    uint64_t part;  // kPart: is to take the place of another; one that is found was left by somebody who was killed
    uint64_t more[3];
    uint64_t sum;  // of what is before it
};

struct RecordHead {
    uint32_t magic;
    uint32_t tag;          // what it is; 0: a mark, which has no payload and belongs to no key
    uint64_t number;       // of the crossbar, the page, ...
    uint64_t at;           // where this record is in the file
    uint64_t synced;       // all before this offset was on disk when the record was written
    uint32_t bytes;        // of payload
    uint32_t flags;        // kTogether
    uint64_t payload_sum;  // with what fills it up
    uint64_t reserved;
    uint64_t sum;  // of what is before it
};

static_assert(sizeof(FileHead) == 64 && sizeof(RecordHead) == 64);

// One to be written; points to what it is made of.
struct Record {
    uint32_t tag;  // not kMark
    uint64_t number;
    std::span<const uint8_t> payload, more;  // one behind the other; none at all: the key has nothing any more
};

inline constexpr uint8_t kFileMagic[8] = {'S', 'I', 'D', 'R', 'A', 'S', 'T', '\n'};
inline constexpr uint32_t kFileVersion = 1;
inline constexpr uint64_t kPart = 0x0054524150434553;  // "SECPART"
inline constexpr uint32_t kRecordMagic = 0x43455253;   // "SREC"
inline constexpr uint32_t kMark = 0;
inline constexpr uint32_t kTogether = 1;  // the next record belongs to it: they count together, or none of them
inline constexpr uint64_t kAlign = 64;
inline constexpr uint32_t kPayloadMax = 1 << 20;

constexpr uint64_t filled(uint64_t bytes) { return (bytes + kAlign - 1) & ~(kAlign - 1); }
constexpr uint64_t extent(const RecordHead& head) { return sizeof head + filled(head.bytes); }

}  // namespace sidra::chip

#endif
