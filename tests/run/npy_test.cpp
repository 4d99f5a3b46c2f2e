// SPDX-License-Identifier: MIT
// Files of NumPy: what is read and written, and what is refused.
#include "npy.h"

#include <gtest/gtest.h>

#include <cmath>
#include <string>

namespace sidra::run {
namespace {

std::string header_of(const std::string& dictionary) {
    std::string header = dictionary;
    header.resize((10 + header.size() + 1 + 63) / 64 * 64 - 11, ' ');
    return header + '\n';
}

// As NumPy 1.x writes it, byte by byte.
std::string file_of(const std::string& dictionary, const std::string& data, char major = 1) {
    const std::string header = header_of(dictionary);
    std::string file = std::string("\x93NUMPY") + major + '\0';
    file += {static_cast<char>(header.size() & 0xff), static_cast<char>(header.size() >> 8)};
    if (major == 2) file += {'\0', '\0'};
    return file + header + data;
}

Array parse(const std::string& file) { return parse_npy({reinterpret_cast<const uint8_t*>(file.data()), file.size()}); }

std::string refusal(const std::string& file) {
    try {
        parse(file);
        return "";
    } catch (const NpyError& e) {
        return e.what();
    }
}

const std::string kGood = "{'descr': '<f4', 'fortran_order': False, 'shape': (2, 3), }";

TEST(Npy, ReadsBothVersions) {
    const std::string data("abcdefghijklmnopqrstuvwx");
    for (const char major : {1, 2}) {
        const Array array = parse(file_of(kGood, data, major));
        EXPECT_EQ(SIDRA_F32, array.type);
        EXPECT_EQ((Shape{2, 3}), array.shape);
        EXPECT_EQ(data, std::string(array.bytes.begin(), array.bytes.end()));
    }
}

TEST(Npy, ReadsKeysInAnyOrderAndSpacing) {
    const Array array = parse(file_of("{\"shape\":(4,),'fortran_order':True,'descr':'|u1'}", "abcd"));
    EXPECT_EQ(SIDRA_U8, array.type);
    EXPECT_EQ(Shape{4}, array.shape);
    EXPECT_TRUE(parse(file_of("{'descr': '<i8', 'fortran_order': False, 'shape': ()}", "12345678")).shape.empty());
    EXPECT_EQ((Shape{0, 2}), parse(file_of("{'descr': '<i8', 'fortran_order': False, 'shape': (0, 2)}", "")).shape);
}

TEST(Npy, WritesWhatItReads) {
    for (const auto& [type, description] :
         std::initializer_list<std::pair<sidra_type, std::string>>{{SIDRA_U8, "|u1"},
                                                                   {SIDRA_S8, "|i1"},
                                                                   {SIDRA_S32, "<i4"},
                                                                   {SIDRA_F32, "<f4"},
                                                                   {SIDRA_S16, "<i2"},
                                                                   {SIDRA_S64, "<i8"},
                                                                   {SIDRA_BOOL, "|b1"},
                                                                   {SIDRA_F16, "<f2"},
                                                                   {SIDRA_BF16, "<V2"}})
        for (const Shape& shape : {Shape{}, Shape{3}, Shape{2, 1, 3}}) {
            Array array{type, shape, std::vector<uint8_t>(elements_of(shape) * sidra_type_size(type), 7)};
            const std::string file = npy_file(array);
            EXPECT_EQ(0u, (file.size() - array.bytes.size()) % 64) << "the data are aligned";
            EXPECT_NE(std::string::npos, file.find("'descr': '" + description + "'")) << file.substr(10);
            const Array again = parse(file);
            EXPECT_EQ(type, again.type);
            EXPECT_EQ(shape, again.shape);
            EXPECT_EQ(array.bytes, again.bytes);
        }
}

TEST(Npy, RefusesWhatItCannotRead) {
    const auto expect = [](const std::string& text, const std::string& file) {
        EXPECT_NE(std::string::npos, refusal(file).find(text)) << refusal(file);
    };
    const std::string data(24, 'x');
    expect("not a file of NumPy", "");
    expect("not a file of NumPy", "PK\3\4");
    expect("ends in its header", std::string("\x93NUMPY\1\0", 8));
    expect("ends in its header", file_of(kGood, data).substr(0, 60));
    expect("version 3.0", std::string("\x93NUMPY\3\0\0\0\0\0", 12));
    expect("Fortran order", file_of("{'descr': '<f4', 'fortran_order': True, 'shape': (2, 3)}", data));
    expect("'>f4'", file_of("{'descr': '>f4', 'fortran_order': False, 'shape': (2, 3)}", data));
    expect("'<f8'", file_of("{'descr': '<f8', 'fortran_order': False, 'shape': (3,)}", data));
    expect("no string", file_of("{'descr': [('a', '<f4')], 'fortran_order': False, 'shape': (6,)}", data));
    expect("'extra' is unknown", file_of("{'extra': 'a'}", data));
    expect("twice", file_of("{'descr': '<f4', 'descr': '<f4'}", data));
    expect("lacks", file_of("{'descr': '<f4'}", data));
    expect("no '{'", file_of("[]", data));
    expect("no size", file_of("{'shape': (-1,)}", data));
    expect("no size", file_of("{'shape': (4294967296,)}", data));
    expect("no '}'", file_of("{'shape': (1,) 'descr': '<f4'}", data));
    expect("no end", file_of("{'shape", data));
    expect("no True", file_of("{'fortran_order': 0}", data));
    expect("no text", file_of("{'de\tscr': 0}", data));
    expect("behind its end", file_of(kGood + "{}", data));
    expect("have 24 bytes, but 23", file_of(kGood, data.substr(1)));
    expect("have 24 bytes, but 25", file_of(kGood, data + "x"));
    expect("too large", file_of("{'descr': '<f4', 'fortran_order': False, 'shape': (4294967295, 4294967295, 4)}", ""));
}

// Each byte of a header replaced by each other one: no access outside (a sanitizer looks), and never a wrong size.
TEST(Npy, AnyByteMayBeWrong) {
    const std::string file = file_of(kGood, std::string(24, 'x'));
    for (size_t at = 0; at < file.size() - 24; ++at)
        for (int byte = 0; byte < 256; ++byte) {
            std::string changed = file;
            changed[at] = static_cast<char>(byte);
            try {
                const Array array = parse(changed);
                EXPECT_EQ(elements_of(array.shape) * sidra_type_size(array.type), array.bytes.size());
            } catch (const NpyError&) {
            }
        }
}

TEST(ArrayElements, AreNumbers) {
    const auto one = [](sidra_type type, uint64_t bits) {
        Array array{type, {}, {}};
        for (size_t i = 0; i < sidra_type_size(type); ++i) array.bytes.push_back(static_cast<uint8_t>(bits >> 8 * i));
        return element(array, 0);
    };
    EXPECT_EQ(200, one(SIDRA_U8, 200));
    EXPECT_EQ(-56, one(SIDRA_S8, 200));
    EXPECT_EQ(-2, one(SIDRA_S16, 0xfffe));
    EXPECT_EQ(-2, one(SIDRA_S32, 0xfffffffe));
    EXPECT_EQ(-2, one(SIDRA_S64, ~uint64_t{1}));
    EXPECT_EQ(1, one(SIDRA_BOOL, 9));
    EXPECT_EQ(0.5, one(SIDRA_F32, 0x3f000000));
    EXPECT_EQ(0.5, one(SIDRA_BF16, 0x3f00));
    EXPECT_EQ(0.5, one(SIDRA_F16, 0x3800));
    EXPECT_EQ(-65504, one(SIDRA_F16, 0xfbff));
    EXPECT_EQ(0x1p-24, one(SIDRA_F16, 1));
    EXPECT_EQ(HUGE_VAL, one(SIDRA_F16, 0x7c00));
    EXPECT_TRUE(std::isnan(one(SIDRA_F16, 0x7c01)));
}

TEST(ArrayElements, HaveASummary) {
    const auto floats = [](Shape shape, std::vector<float> values) {
        const auto* bytes = reinterpret_cast<const uint8_t*>(values.data());
        return summary({SIDRA_F32, std::move(shape), {bytes, bytes + values.size() * sizeof(float)}});
    };
    const float nan = std::nanf("");
    EXPECT_EQ("3", floats({}, {3}));
    EXPECT_EQ("min -1, max 4, mean 1.5, largest at 1: -1 4", floats({1, 2}, {-1, 4}));
    EXPECT_EQ("min -1, max 4, mean 1.5: -1 4", floats({2, 1}, {-1, 4})) << "no vector of scores";
    EXPECT_EQ("min 1, max 1, mean 1, 1 NaN, largest at 1: nan 1", floats({2}, {nan, 1}));
    EXPECT_EQ("all 2 elements are NaN", floats({2}, {nan, nan}));
    EXPECT_EQ("min 0, max 9, mean 4.5: 0 1 2 3 4 5 6 7 ...", summary({SIDRA_U8, {10}, {0, 1, 2, 3, 4, 5, 6, 7, 8, 9}}));
    EXPECT_EQ("no elements", summary({SIDRA_F32, {2, 0}, {}}));
}

}  // namespace
}  // namespace sidra::run
