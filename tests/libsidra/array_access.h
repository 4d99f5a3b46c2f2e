// SPDX-License-Identifier: MIT
// Elements of arrays as numbers, for oracles: written from the description of the types, not from the chip's code.
#ifndef SIDRA_TESTS_ARRAY_ACCESS_H
#define SIDRA_TESTS_ARRAY_ACCESS_H

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>

#include "expect.h"
#include "sidra/functions.h"

namespace sidra::test {

inline constexpr sidra_type kTypes[] = {SIDRA_U8,  SIDRA_S8,   SIDRA_S32, SIDRA_F32, SIDRA_S16,
                                        SIDRA_S64, SIDRA_BOOL, SIDRA_F16, SIDRA_BF16};

inline bool is_integer(sidra_type type) { return type != SIDRA_F32 && type != SIDRA_F16 && type != SIDRA_BF16; }

using At = std::array<uint32_t, 4>;

template <typename Visit>
void for_each(const uint32_t (&size)[4], Visit&& visit) {
    for (uint32_t i = 0; i < size[0]; ++i)
        for (uint32_t j = 0; j < size[1]; ++j)
            for (uint32_t k = 0; k < size[2]; ++k)
                for (uint32_t c = 0; c < size[3]; ++c) visit(At{i, j, k, c});
}

inline uint8_t* address_of(const sidra_array& array, const At& at) {
    void* address = nullptr;
    EXPECT_OK(sidra_buffer_map(array.at.buffer, &address));
    size_t offset = array.at.offset;
    for (size_t d = 0; d < 4; ++d) offset += at[d] * array.stride[d];
    return static_cast<uint8_t*>(address) + offset;
}

template <typename T>
T element(const sidra_array& array, const At& at) {
    T value;
    std::memcpy(&value, address_of(array, at), sizeof value);
    return value;
}

inline double number(const sidra_array& array, const At& at) {
    switch (array.type) {
        case SIDRA_U8:
            return element<uint8_t>(array, at);
        case SIDRA_S8:
            return element<int8_t>(array, at);
        case SIDRA_S16:
            return element<int16_t>(array, at);
        case SIDRA_S32:
            return element<int32_t>(array, at);
        case SIDRA_S64:
            return static_cast<double>(element<int64_t>(array, at));
        case SIDRA_BOOL:
            return element<uint8_t>(array, at) != 0 ? 1 : 0;
        case SIDRA_BF16:
            return std::bit_cast<float>(uint32_t{element<uint16_t>(array, at)} << 16);
        case SIDRA_F16: {
            const uint16_t bits = element<uint16_t>(array, at);
            const int exponent = bits >> 10 & 31, fraction = bits & 1023;
            double value = exponent == 0 ? std::ldexp(fraction, -24) : std::ldexp(1024 + fraction, exponent - 25);
            if (exponent == 31) value = fraction == 0 ? std::numeric_limits<double>::infinity() : std::nan("");
            return bits >> 15 != 0 ? -value : value;
        }
        default:
            return element<float>(array, at);
    }
}

// What remains of an f32 that is stored as `type`.
inline double stored(double value, sidra_type type) {
    const auto floating = [&](int digits, int least, double most) {
        if (!std::isfinite(value) || value == 0) return value;
        const double quantum = std::ldexp(1, std::max(std::ilogb(value) + 1 - digits, least));
        const double rounded = std::nearbyint(value / quantum) * quantum;
        return std::fabs(rounded) > most ? std::copysign(std::numeric_limits<double>::infinity(), value) : rounded;
    };
    const auto integer = [&](double low, double high) {
        return std::isnan(value) ? 0 : std::clamp(std::nearbyint(value), low, high);
    };
    switch (type) {
        case SIDRA_U8:
            return integer(0, 255);
        case SIDRA_S8:
            return integer(-128, 127);
        case SIDRA_S16:
            return integer(-32768, 32767);
        case SIDRA_S32:
            return integer(-2147483648.0, 2147483647.0);
        case SIDRA_S64:
            return integer(-9223372036854775808.0, 9223372036854775807.0);
        case SIDRA_BOOL:
            return value != 0 ? 1 : 0;
        case SIDRA_F16:
            return floating(11, -24, 65504);
        case SIDRA_BF16:
            return floating(8, -133, 0x1.fep127);
        default:
            return static_cast<float>(value);
    }
}

// Writes a number that the type has.
inline void put(const sidra_array& array, const At& at, double value) {
    const auto write = [&](auto raw) { std::memcpy(address_of(array, at), &raw, sizeof raw); };
    switch (array.type) {
        case SIDRA_U8:
        case SIDRA_BOOL:
            return write(static_cast<uint8_t>(value));
        case SIDRA_S8:
            return write(static_cast<int8_t>(value));
        case SIDRA_S16:
            return write(static_cast<int16_t>(value));
        case SIDRA_S32:
            return write(static_cast<int32_t>(value));
        case SIDRA_S64:
            return write(static_cast<int64_t>(value));
        case SIDRA_BF16:
            return write(static_cast<uint16_t>(std::bit_cast<uint32_t>(static_cast<float>(value)) >> 16));
        case SIDRA_F16: {
            const double magnitude = std::fabs(value);
            int exponent = magnitude == 0 ? -14 : std::max(std::ilogb(magnitude), -14);
            auto fraction = static_cast<uint32_t>(std::ldexp(magnitude, 10 - exponent));
            const uint32_t biased = fraction < 1024 ? 0 : static_cast<uint32_t>(exponent + 15);
            return write(
                static_cast<uint16_t>((std::signbit(value) ? 0x8000u : 0u) | biased << 10 | (fraction & 1023)));
        }
        default:
            return write(static_cast<float>(value));
    }
}

}  // namespace sidra::test

#endif
