// SPDX-License-Identifier: MIT
// The format of a state file: a header, then records, little-endian. Each record is a header and a payload, padded with
// zeros to kAlign. The last record of a key (tag and number) counts; one without a payload deletes the key.
#ifndef SIDRA_CHIP_RECORD_H
#define SIDRA_CHIP_RECORD_H

#include <cstdint>
#include <span>

#include "sum.h"

namespace sidra::chip {

struct FileHead {
    uint8_t magic[8];
    uint32_t version;
    uint32_t reserved;
    uint64_t salt;  // initial value of all checksums of this file, so that a copy of a record inside a payload is not
                    // taken for one
    uint64_t part;  // kPart: an unfinished replacement of another file; if found, a killed process left it
    uint64_t more[3];
    uint64_t sum;  // of what is before it
};

struct RecordHead {
    uint32_t magic;
    uint32_t tag;          // kind of record; 0: a mark, which has no payload and no key
    uint64_t number;       // number of the crossbar, the page, ...
    uint64_t at;           // offset of this record in the file
    uint64_t synced;       // everything before this offset was on disk when the record was written
    uint32_t bytes;        // of payload
    uint32_t flags;        // kTogether
    uint64_t payload_sum;  // includes the padding
    uint64_t reserved;
    uint64_t sum;  // of what is before it
};

static_assert(sizeof(FileHead) == 64 && sizeof(RecordHead) == 64);

// A record to write; refers to its content.
struct Record {
    uint32_t tag;  // not kMark
    uint64_t number;
    std::span<const uint8_t> payload, more;  // written one after the other; both empty: deletes the key
};

inline constexpr uint8_t kFileMagic[8] = {'S', 'I', 'D', 'R', 'A', 'S', 'T', '\n'};
inline constexpr uint32_t kFileVersion = 1;
inline constexpr uint64_t kPart = 0x0054524150434553;  // "SECPART"
inline constexpr uint32_t kRecordMagic = 0x43455253;   // "SREC"
inline constexpr uint32_t kMark = 0;
inline constexpr uint32_t kTogether = 1;  // the next record belongs to it: either both count, or neither
inline constexpr uint64_t kAlign = 64;
inline constexpr uint32_t kPayloadMax = 1 << 20;

constexpr uint64_t filled(uint64_t bytes) { return (bytes + kAlign - 1) & ~(kAlign - 1); }
constexpr uint64_t extent(const RecordHead& head) { return sizeof head + filled(head.bytes); }

// The checksum of a header covers everything before it; it is the last field.
template <typename Head>
uint64_t sum_of(const Head& head, uint64_t salt) {
    Sum sum(salt);
    sum.add(&head, sizeof head - sizeof head.sum);
    return sum.value();
}

// The checksum of a multiple of kAlign bytes, as four interleaved sums, because a single one would be one long
// dependency chain.
inline uint64_t payload_sum(std::span<const uint8_t> filled_payload, uint64_t salt) {
    constexpr size_t kLanes = 4;
    static_assert(kAlign % (kLanes * sizeof(uint64_t)) == 0);
    Sum lanes[kLanes] = {Sum(salt), Sum(salt), Sum(salt), Sum(salt)};
    for (const uint8_t *at = filled_payload.data(), *end = at + filled_payload.size(); at < end;)
        for (Sum& lane : lanes) {
            lane.add(at, sizeof(uint64_t));
            at += sizeof(uint64_t);
        }
    Sum all(salt);
    for (const Sum& lane : lanes) {
        const uint64_t value = lane.value();
        all.add(&value, sizeof value);
    }
    return all.value();
}

}  // namespace sidra::chip

#endif
