// SPDX-License-Identifier: MIT
#include "model_file.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <stdexcept>

#include "sidra_cmd.h"

namespace sidra::sentence {
namespace {

constexpr std::string_view kMagic = "SIDRASEN";
constexpr uint32_t kVersion = 2;
constexpr uint32_t kArraysMax = 4096;
constexpr uint32_t kLayersMax = 64, kWidthMax = 4096, kInnerMax = 16384, kVocabularyMax = 1u << 20, kTokensMax = 512;
constexpr size_t kAlignment = 64;

constexpr std::string_view kHowToMake =
    "`make sentence` in the source tree of SIDRA makes one, with libsidra/examples/sentence/convert.py";

struct Header {
    char magic[8];
    uint32_t version, arrays;
    uint32_t layers, width, heads, inner, vocabulary, tokens_max;
    float epsilon;
    char reserved[20];
};
static_assert(sizeof(Header) == 64);

struct Entry {
    char name[40];
    uint32_t type, rows, columns, reserved;
    uint64_t offset;
};
static_assert(sizeof(Entry) == 64);

size_t element_size(uint32_t type) {
    switch (type) {
        case SIDRA_TYPE_U8:
        case SIDRA_TYPE_S8:
            return 1;
        case SIDRA_TYPE_S32:
        case SIDRA_TYPE_F32:
            return 4;
        default:
            return 0;
    }
}

}  // namespace

std::string ModelFile::default_path() {
    const char* cache = std::getenv("XDG_CACHE_HOME");
    if (cache != nullptr && *cache == '/') return fmt::format("{}/sidra/sentence.bin", cache);
    const char* home = std::getenv("HOME");
    return fmt::format("{}/.cache/sidra/sentence.bin", home != nullptr ? home : "");
}

ModelFile::ModelFile(const std::string& path) : path_(path) {
    const int file = open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (file < 0)
        throw std::runtime_error(fmt::format("cannot open the model of the sentence encoder {}: {}. {}", path,
                                             std::strerror(errno), kHowToMake));
    struct stat info {};
    if (fstat(file, &info) != 0 || !S_ISREG(info.st_mode) || info.st_size < static_cast<off_t>(sizeof(Header))) {
        close(file);
        reject("it is not a regular file, or too short");
    }
    const auto size = static_cast<size_t>(info.st_size);
    void* mapped = mmap(nullptr, size, PROT_READ, MAP_PRIVATE, file, 0);
    const int error = errno;
    close(file);
    if (mapped == MAP_FAILED)
        throw std::runtime_error(
            fmt::format("cannot map the model of the sentence encoder {}: {}", path, std::strerror(error)));
    bytes_ = {static_cast<const std::byte*>(mapped), size};
    try {
        read_header();
    } catch (...) {
        munmap(mapped, size);
        throw;
    }
}

ModelFile::~ModelFile() { munmap(const_cast<std::byte*>(bytes_.data()), bytes_.size()); }

void ModelFile::reject(std::string_view why) const {
    throw std::runtime_error(fmt::format("{} is not a model of the sentence encoder that this program can use: {}. {}",
                                         path_, why, kHowToMake));
}

void ModelFile::read_header() {
    Header header;
    std::memcpy(&header, bytes_.data(), sizeof(header));
    if (std::string_view(header.magic, kMagic.size()) != kMagic) reject("it does not begin with SIDRASEN");
    if (header.version != kVersion) reject(fmt::format("its version is {}, not {}", header.version, kVersion));
    sizes_ = {header.layers,     header.width,      header.heads,  header.inner,
              header.vocabulary, header.tokens_max, header.epsilon};
    const auto within = [](uint32_t value, uint32_t most) { return value >= 1 && value <= most; };
    if (!within(sizes_.layers, kLayersMax) || !within(sizes_.width, kWidthMax) || !within(sizes_.inner, kInnerMax) ||
        !within(sizes_.vocabulary, kVocabularyMax) || sizes_.tokens_max < 2 || sizes_.tokens_max > kTokensMax ||
        !within(sizes_.heads, sizes_.width) || sizes_.width % sizes_.heads != 0 || !(sizes_.epsilon > 0))
        reject("the sizes in its header are not those of an encoder");
    if (header.arrays > kArraysMax || sizeof(Header) + header.arrays * sizeof(Entry) > bytes_.size())
        reject("it is shorter than its header says");
    for (uint32_t n = 0; n < header.arrays; ++n) {
        Entry entry;
        std::memcpy(&entry, bytes_.data() + sizeof(Header) + n * sizeof(Entry), sizeof(entry));
        const std::string name(entry.name, strnlen(entry.name, sizeof(entry.name)));
        const size_t element = element_size(entry.type);
        if (element == 0 || entry.rows == 0 || entry.columns == 0 || entry.offset % kAlignment != 0)
            reject(fmt::format("its array '{}' has an unknown type, no elements or a wrong place", name));
        if (entry.offset > bytes_.size() || (bytes_.size() - entry.offset) / element / entry.rows < entry.columns)
            reject(fmt::format("its array '{}' reaches beyond its end", name));
        arrays_[name] = {entry.type, entry.rows, entry.columns, bytes_.data() + entry.offset};
    }
}

template <class T>
std::span<const T> ModelFile::array(std::string_view name, uint32_t type, uint32_t rows, uint32_t columns) const {
    const auto found = arrays_.find(name);
    if (found == arrays_.end()) reject(fmt::format("it has no array '{}'", name));
    const Array& each = found->second;
    if (each.type != type || each.rows != rows || each.columns != columns)
        reject(fmt::format("its array '{}' has {} x {} elements of type {}, not {} x {} of type {}", name, each.rows,
                           each.columns, each.type, rows, columns, type));
    return {reinterpret_cast<const T*>(each.data), size_t{rows} * columns};
}

std::span<const float> ModelFile::floats(std::string_view name, uint32_t rows, uint32_t columns) const {
    return array<float>(name, SIDRA_TYPE_F32, rows, columns);
}

std::span<const int8_t> ModelFile::codes(std::string_view name, uint32_t rows, uint32_t columns) const {
    return array<int8_t>(name, SIDRA_TYPE_S8, rows, columns);
}

std::span<const int32_t> ModelFile::integers(std::string_view name, uint32_t rows, uint32_t columns) const {
    return array<int32_t>(name, SIDRA_TYPE_S32, rows, columns);
}

std::string_view ModelFile::text(std::string_view name) const {
    const auto found = arrays_.find(name);
    if (found == arrays_.end() || found->second.type != SIDRA_TYPE_U8)
        reject(fmt::format("it has no array '{}' of bytes", name));
    const Array& each = found->second;
    return {reinterpret_cast<const char*>(each.data), size_t{each.rows} * each.columns};
}

std::string_view ModelFile::vocabulary() const {
    const std::string_view pieces = text("vocabulary");
    const auto lines = std::count(pieces.begin(), pieces.end(), '\n') + (pieces.ends_with('\n') ? 0 : 1);
    if (lines != sizes_.vocabulary)
        reject(fmt::format("its vocabulary has {} pieces, not {}", lines, sizes_.vocabulary));
    return pieces;
}

}  // namespace sidra::sentence
