// SPDX-License-Identifier: MIT
#include "npy.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cstring>
#include <optional>
#include <string_view>

namespace sidra::run {
namespace {

constexpr std::string_view kMagic = "\x93NUMPY";
constexpr size_t kHeaderAlignment = 64;

// In the order of sidra_type. Single bytes have no order, which NumPy writes as |.
constexpr std::array<std::string_view, SIDRA_BF16 + 1> kDescriptions = {"|u1", "|i1", "<i4", "<f4", "<i2",
                                                                        "<i8", "|b1", "<f2", "<V2"};

// The header: a dictionary of Python with three keys, in any order.
class Header {
   public:
    explicit Header(std::string_view text) : text_(text) {
        expect('{');
        while (!taken('}')) {
            const std::string_view key = quoted();
            expect(':');
            if (key == "descr") once(&description_, quoted(), key);
            else if (key == "fortran_order") once(&fortran_, truth(), key);
            else if (key == "shape") once(&shape_, tuple(), key);
            else fail(fmt::format("its key '{}' is unknown", key));
            if (!taken(',')) {
                expect('}');
                break;
            }
        }
        skip_spaces();
        if (at_ != text_.size()) fail("something is behind its end");
        if (!description_ || !fortran_ || !shape_) fail("it lacks descr, fortran_order or shape");
    }
    std::string_view description() const { return *description_; }
    bool fortran() const { return *fortran_; }
    const Shape& shape() const { return *shape_; }

   private:
    [[noreturn]] static void fail(const std::string& what) {
        throw NpyError("its header is not one of NumPy's: " + what);
    }
    template <typename T>
    static void once(std::optional<T>* field, T value, std::string_view key) {
        if (*field) fail(fmt::format("it has {} twice", key));
        *field = std::move(value);
    }
    void skip_spaces() {
        while (at_ < text_.size() && (text_[at_] == ' ' || text_[at_] == '\n')) ++at_;
    }
    bool taken(char c) {
        skip_spaces();
        if (at_ == text_.size() || text_[at_] != c) return false;
        ++at_;
        return true;
    }
    void expect(char c) {
        if (!taken(c)) fail(fmt::format("there is no '{}' at byte {}", c, at_));
    }
    std::string_view quoted() {
        skip_spaces();
        const char quote = at_ < text_.size() ? text_[at_] : '\0';
        if (quote != '\'' && quote != '"') fail(fmt::format("there is no string at byte {}", at_));
        const size_t end = text_.find(quote, at_ + 1);
        if (end == std::string_view::npos) fail("a string has no end");
        const std::string_view inside = text_.substr(at_ + 1, end - at_ - 1);
        if (!std::ranges::all_of(inside, [](char c) { return c >= 0x20 && c < 0x7f; }))
            fail("a string has bytes that are no text");
        at_ = end + 1;
        return inside;
    }
    bool truth() {
        skip_spaces();
        for (const std::string_view word : {"True", "False"})
            if (text_.substr(at_).starts_with(word)) {
                at_ += word.size();
                return word == "True";
            }
        fail(fmt::format("there is no True or False at byte {}", at_));
    }
    Shape tuple() {
        Shape shape;
        expect('(');
        while (!taken(')')) {
            skip_spaces();
            uint32_t size = 0;
            const auto [end, error] = std::from_chars(text_.data() + at_, text_.data() + text_.size(), size);
            if (error != std::errc()) fail(fmt::format("there is no size below 2^32 at byte {}", at_));
            at_ = static_cast<size_t>(end - text_.data());
            shape.push_back(size);
            if (!taken(',')) {
                expect(')');
                break;
            }
        }
        return shape;
    }

    const std::string_view text_;
    size_t at_ = 0;
    std::optional<std::string_view> description_;
    std::optional<bool> fortran_;
    std::optional<Shape> shape_;
};

sidra_type type_of(std::string_view description) {
    // "<" of single bytes, and "|" of elements that have no order, mean the same.
    for (size_t type = 0; type < kDescriptions.size(); ++type)
        if (description == kDescriptions[type] ||
            (description.size() == 3 && description.substr(1) == kDescriptions[type].substr(1) &&
             (description[0] == '|' || description[0] == '=' || description[2] == '1')))
            return static_cast<sidra_type>(type);
    throw NpyError(fmt::format(
        "its elements are '{}'; models take {} (little-endian), so convert it, for example with astype() of NumPy",
        description, fmt::join(kDescriptions, ", ")));
}

}  // namespace

Array parse_npy(std::span<const uint8_t> file) {
    constexpr size_t kVersionAt = kMagic.size(), kLengthAt = kVersionAt + 2;
    const std::string_view text(reinterpret_cast<const char*>(file.data()), file.size());
    if (!text.starts_with(kMagic)) throw NpyError("it is not a file of NumPy (.npy)");
    if (file.size() < kLengthAt + sizeof(uint32_t)) throw NpyError("it ends in its header");
    const uint8_t major = file[kVersionAt], minor = file[kVersionAt + 1];
    if ((major != 1 && major != 2) || minor != 0)
        throw NpyError(fmt::format("it has version {}.{} of the format; 1.0 and 2.0 are supported", major, minor));
    const size_t length_size = major == 1 ? sizeof(uint16_t) : sizeof(uint32_t);
    uint32_t length = 0;
    std::memcpy(&length, file.data() + kLengthAt, length_size);
    const size_t begin = kLengthAt + length_size;
    if (length > file.size() - begin) throw NpyError("it ends in its header");
    const Header header(text.substr(begin, length));
    if (header.fortran() && header.shape().size() > 1)
        throw NpyError("its array is in Fortran order; save numpy.ascontiguousarray() of it");
    Array array{type_of(header.description()), header.shape(), {}};
    uint64_t needed = sidra_type_size(array.type);
    for (const uint32_t size : array.shape)
        if (__builtin_mul_overflow(needed, uint64_t{size}, &needed)) throw NpyError("its array is too large");
    const std::span<const uint8_t> data = file.subspan(begin + length);
    if (data.size() != needed)
        throw NpyError(fmt::format("{} of {} have {} bytes, but {} bytes follow its header", shape_text(array.shape),
                                   type_text(array.type), needed, data.size()));
    array.bytes.assign(data.begin(), data.end());
    return array;
}

std::string npy_file(const Array& array) {
    std::string header = fmt::format("{{'descr': '{}', 'fortran_order': False, 'shape': ({}{}), }}",
                                     kDescriptions.at(static_cast<size_t>(array.type)), fmt::join(array.shape, ", "),
                                     array.shape.size() == 1 ? "," : "");
    const size_t before = kMagic.size() + 4;
    header.resize(
        (before + header.size() + 1 + kHeaderAlignment - 1) / kHeaderAlignment * kHeaderAlignment - before - 1, ' ');
    header += '\n';
    std::string file(kMagic);
    file += {'\1', '\0', static_cast<char>(header.size() & 0xff), static_cast<char>(header.size() >> 8)};
    file += header;
    file.append(reinterpret_cast<const char*>(array.bytes.data()), array.bytes.size());
    return file;
}

}  // namespace sidra::run
