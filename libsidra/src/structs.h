// SPDX-License-Identifier: MIT
// The struct_size rule of sidra.h.
#ifndef SIDRA_STRUCTS_H
#define SIDRA_STRUCTS_H

#include <cstddef>
#include <cstdint>
#include <cstring>

#include "status.h"

namespace sidra {

inline constexpr size_t kStructSizeMax = 4096;  // a larger value means an uninitialised struct, not a newer library

[[gnu::cold]] sidra_status bad_struct(const char* call, const char* type, size_t given, size_t known, const void* data);

// Checks a struct of the caller: all known fields must be present, unknown ones zero.
template <typename T>
sidra_status check_struct(const char* call, const char* type, const T* data) {
    if (data != nullptr && data->struct_size == sizeof(T)) [[likely]]
        return SIDRA_OK;
    return bad_struct(call, type, data != nullptr ? data->struct_size : 0, sizeof(T), data);
}

// Reads an enum that a C caller has set. It may contain any number, which C++ must not read as the enum.
template <typename Enum>
uint32_t raw_value(const Enum& value) {
    static_assert(sizeof(Enum) == sizeof(uint32_t));
    uint32_t raw;
    std::memcpy(&raw, &value, sizeof raw);
    return raw;
}

// Fills a struct of the caller, keeping its struct_size.
template <typename T>
void fill_struct(T* to, const T& from) {
    const size_t size = to->struct_size;
    *to = from;
    to->struct_size = size;
}

}  // namespace sidra

#endif
