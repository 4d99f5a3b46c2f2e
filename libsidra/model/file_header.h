// SPDX-License-Identifier: MIT
// The first bytes of a .sidra file, and the rules of its sections. docs/sidra-format.md describes the file.
#ifndef SIDRA_MODEL_FILE_HEADER_H
#define SIDRA_MODEL_FILE_HEADER_H

#include <bit>
#include <cstddef>
#include <cstdint>
#include <type_traits>

namespace sidra::format {

static_assert(std::endian::native == std::endian::little, "files are little-endian, and are read as they are");

// The bytes behind the name show a transfer that changes ends of lines, as in a PNG file.
inline constexpr char kMagic[8] = {'S', 'I', 'D', 'R', 'A', '\r', '\n', '\x1a'};
inline constexpr uint32_t kVersionMajor = 1, kVersionMinor = 2;
inline constexpr uint32_t kVersion = kVersionMajor << 16 | kVersionMinor;

inline constexpr uint64_t kManifestAlignment = 8;
inline constexpr uint64_t kManifestBytesMax = uint64_t{256} << 20;
inline constexpr uint64_t kSectionAlignment = 4096;
inline constexpr uint64_t kCalibrationVectorsMax = 1024;  // of a matrix
inline constexpr uint32_t kStagesMax = 16;                // of a model for several chips

// Hashes are XXH3 with 64 bits and seed 0: hash_of() in hash.h.
struct FileHeader {
    char magic[8];
    uint32_t version;
    uint32_t header_size;  // bytes
    uint64_t file_size;    // bytes
    uint64_t manifest_offset;
    uint64_t manifest_size;
    uint64_t manifest_hash;
    uint64_t reserved;     // 0
    uint64_t header_hash;  // of the bytes before it
};
static_assert(sizeof(FileHeader) == 64);
static_assert(offsetof(FileHeader, version) == 8);
static_assert(offsetof(FileHeader, header_size) == 12);
static_assert(offsetof(FileHeader, file_size) == 16);
static_assert(offsetof(FileHeader, manifest_offset) == 24);
static_assert(offsetof(FileHeader, manifest_size) == 32);
static_assert(offsetof(FileHeader, manifest_hash) == 40);
static_assert(offsetof(FileHeader, reserved) == 48);
static_assert(offsetof(FileHeader, header_hash) == 56);
static_assert(std::is_trivially_copyable_v<FileHeader>);

}  // namespace sidra::format

#endif
