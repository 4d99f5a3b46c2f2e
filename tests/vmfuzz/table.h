// SPDX-License-Identifier: MIT
// The calls of the driver as data (table.py).
#ifndef SIDRA_TESTS_VMFUZZ_TABLE_H
#define SIDRA_TESTS_VMFUZZ_TABLE_H

#include <drm.h>
#include <liburing.h>
#include <sys/mman.h>

#include <cstddef>
#include <cstdint>
#include <span>

#include "sidra_accel.h"
#include "sidra_cmd.h"

namespace sidra::vmfuzz {

enum class Kind : uint8_t {
    integer,   // of the range first..second, or any one if that is empty
    constant,  // first
    flags,     // of kFlags[first]
    resource,  // number first; second: a file descriptor
    length,    // of what leaf `first` points at, in elements; second: in bytes
    bytes,     // zero, or anything
    memory,    // address of memory of the caller's
    structs,   // pointer to second..third of kStructs[first]
    block,     // pointer to second..third elements of `first` bytes
    text       // pointer to one of the texts of kFlags[first]
};

struct Leaf {
    const char* name;
    uint16_t offset, size;
    Kind kind;
    bool in, out;
    int64_t first, second, third;
};

struct Struct {
    const char* name;
    size_t size;
    std::span<const Leaf> leaves;
};

struct Ioctl {
    const char* name;
    unsigned long request;
    size_t argument;  // in kStructs
};

struct Flags {
    std::span<const uint64_t> values;
    std::span<const char* const> texts;
};

#include "table.inc"

}  // namespace sidra::vmfuzz

#endif
