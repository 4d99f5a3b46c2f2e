// SPDX-License-Identifier: MIT
#include "names.h"

#include <fmt/format.h>

#include <array>

#include "common/units.h"

namespace sidra::objdump {
namespace {

// Bytes of the character of UTF-8 that `text` begins with; 0: it is none, or a control character.
size_t character_bytes(std::string_view text) {
    const auto byte = [&](size_t i) { return static_cast<unsigned char>(text[i]); };
    const unsigned first = byte(0);
    if (first < 0x80) return first >= 0x20 && first != 0x7f ? 1 : 0;
    const size_t bytes = first >= 0xf0 ? 4 : first >= 0xe0 ? 3 : 2;
    if (first < 0xc2 || first > 0xf4 || text.size() < bytes) return 0;
    uint32_t code = first & (0xffu >> (bytes + 1));
    for (size_t i = 1; i < bytes; ++i) {
        if ((byte(i) & 0xc0) != 0x80) return 0;
        code = code << 6 | (byte(i) & 0x3f);
    }
    constexpr std::array<uint32_t, 5> kLeast = {0, 0, 0x80, 0x800, 0x10000};
    const bool surrogate = code >= 0xd800 && code < 0xe000, none = (code & 0xfffe) == 0xfffe;
    return code < kLeast[bytes] || code > 0x10ffff || surrogate || none || code < 0xa0 ? 0 : bytes;
}

}  // namespace

std::string printable(std::string_view text) {
    std::string shown;
    while (!text.empty()) {
        const size_t bytes = character_bytes(text);
        shown += bytes == 0 ? std::string_view("\xef\xbf\xbd") : text.substr(0, bytes);
        text.remove_prefix(std::max<size_t>(bytes, 1));
    }
    return shown;
}

size_t characters_of(std::string_view text) {
    size_t count = 0;
    for (const char c : text) count += (static_cast<unsigned char>(c) & 0xc0) != 0x80 ? 1 : 0;
    return count;
}

std::string shortened(const std::string& text, size_t characters) {
    if (characters_of(text) <= characters) return text;
    size_t end = 0;
    for (size_t count = 0; end < text.size(); ++end) {
        if ((static_cast<unsigned char>(text[end]) & 0xc0) == 0x80) continue;
        if (++count > characters - 3) break;
    }
    return text.substr(0, end) + "...";
}

const char* type_name(format::Type type) {
    constexpr std::array kNames = {"u8", "s8", "s32", "f32", "s16", "s64", "bool", "f16", "bf16"};
    static_assert(kNames.size() == static_cast<size_t>(format::Type::MAX) + 1);
    return kNames.at(static_cast<size_t>(type));
}

const char* encoding_name(format::Encoding encoding) {
    constexpr std::array kNames = {"auto", "differential", "offset"};
    static_assert(kNames.size() == static_cast<size_t>(format::Encoding::MAX) + 1);
    return kNames.at(static_cast<size_t>(encoding));
}

const char* memory_name(format::Memory memory) { return memory == format::Memory::Constants ? "constants" : "work"; }

const char* step_name(format::Step step) {
    constexpr std::array kNames = {"none", "vector", "layer", "matmul", "pool", "sort", "host"};
    static_assert(kNames.size() == static_cast<size_t>(format::Step::MAX) + 1);
    return kNames.at(static_cast<size_t>(step));
}

const char* pooling_name(format::Pooling pooling) {
    switch (pooling) {
        case format::Pooling::Max:
            return "max";
        case format::Pooling::Argmax:
            return "argmax";
        case format::Pooling::Average:
            return "average";
        case format::Pooling::AverageAll:
            return "average_all";
        default:
            return "unknown";  // the call checks it
    }
}

std::string place_text(const format::Place& place) {
    return fmt::format("{}+{:#x}", memory_name(place.memory()), place.offset());
}

std::string shape_text(const format::Tensor& tensor) {
    if (tensor.shape() == nullptr || tensor.shape()->size() == 0) return "scalar";
    return fmt::format("{}", fmt::join(*tensor.shape(), " x "));
}

std::string time_text(uint64_t ps) { return tools::scaled(static_cast<double>(ps), "s", -4); }

}  // namespace sidra::objdump
