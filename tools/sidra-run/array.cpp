// SPDX-License-Identifier: MIT
#include "array.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>

namespace sidra::run {
namespace {

template <typename T>
T read(const Array& array, size_t index) {
    T value;
    std::memcpy(&value, array.bytes.data() + index * sizeof value, sizeof value);
    return value;
}

double from_f16(uint16_t bits) {
    const int exponent = bits >> 10 & 0x1f, fraction = bits & 0x3ff;
    double value = 0;
    if (exponent == 0x1f) value = fraction != 0 ? std::nan("") : HUGE_VAL;
    else if (exponent == 0) value = std::ldexp(fraction, -24);
    else value = std::ldexp(fraction + 0x400, exponent - 25);
    return (bits & 0x8000) != 0 ? -value : value;
}

double from_bf16(uint16_t bits) {
    const uint32_t wide = uint32_t{bits} << 16;
    float value;
    std::memcpy(&value, &wide, sizeof value);
    return static_cast<double>(value);
}

bool is_float(sidra_type type) { return type == SIDRA_F32 || type == SIDRA_F16 || type == SIDRA_BF16; }

}  // namespace

uint64_t elements_of(const Shape& shape) {
    uint64_t count = 1;
    for (const uint32_t size : shape) count *= size;
    return count;
}

std::string type_text(sidra_type type) {
    constexpr std::array kNames = {"u8", "s8", "s32", "f32", "s16", "s64", "bool", "f16", "bf16"};
    static_assert(kNames.size() == SIDRA_BF16 + 1);
    return kNames.at(static_cast<size_t>(type));
}

std::string shape_text(const Shape& shape) {
    return shape.empty() ? "scalar" : fmt::format("{}", fmt::join(shape, " x "));
}

double element(const Array& array, size_t index) {
    switch (array.type) {
        case SIDRA_U8:
            return read<uint8_t>(array, index);
        case SIDRA_S8:
            return read<int8_t>(array, index);
        case SIDRA_S16:
            return read<int16_t>(array, index);
        case SIDRA_S32:
            return read<int32_t>(array, index);
        case SIDRA_S64:
            return static_cast<double>(read<int64_t>(array, index));
        case SIDRA_BOOL:
            return read<uint8_t>(array, index) != 0;
        case SIDRA_F16:
            return from_f16(read<uint16_t>(array, index));
        case SIDRA_BF16:
            return from_bf16(read<uint16_t>(array, index));
        default:
            return static_cast<double>(read<float>(array, index));
    }
}

std::string summary(const Array& array) {
    constexpr size_t kFirst = 8;
    const size_t count = elements_of(array.shape);
    double low = HUGE_VAL, high = -HUGE_VAL, sum = 0;
    size_t nans = 0, best = 0;
    std::string first;
    for (size_t i = 0; i < count; ++i) {
        const double value = element(array, i);
        if (i < kFirst) first += fmt::format("{}{:.6g}", i == 0 ? "" : " ", value);
        if (std::isnan(value)) {
            ++nans;
            continue;
        }
        if (value > high) high = value, best = i;
        low = std::min(low, value);
        sum += value;
    }
    if (count > kFirst) first += " ...";
    if (count == 0) return "no elements";
    if (count == 1) return first;
    if (nans == count) return fmt::format("all {} elements are NaN", count);
    std::string text =
        fmt::format("min {:.6g}, max {:.6g}, mean {:.6g}", low, high, sum / static_cast<double>(count - nans));
    if (nans != 0) text += fmt::format(", {} NaN", nans);
    if (is_float(array.type) && array.shape.back() == count) text += fmt::format(", largest at {}", best);
    return text + ": " + first;
}

}  // namespace sidra::run
