/* SPDX-License-Identifier: MIT */
/*
 * Holds the tables of this folder against the headers, at compile time. Included once from C11 and once from C++20: the
 * two languages, and every compiler that builds the tree, must see the same bytes and numbers.
 */
#ifndef SIDRA_TESTS_CONTRACT_H
#define SIDRA_TESTS_CONTRACT_H

#include "sidra_accel.h"
#include "sidra_cmd.h"
#include "sidra_hw.h"
#include "sidra_monitor.h"
#include "sidra_publish.h"
#include "sidra_state.h"
#include "sidra_vector.h"

#include <assert.h>
#include <stdalign.h>
#include <stddef.h>

#define STRUCT(name, size)                                                 \
    static_assert(sizeof(struct name) == (size), "size of struct " #name); \
    static_assert(alignof(struct name) <= 8 && (size) % alignof(struct name) == 0, "alignment of struct " #name);
#define UNION(name, size) static_assert(sizeof(union name) == (size), "size of union " #name);
#define FIELD(type, field, offset, size)                                                \
    static_assert(offsetof(type, field) == (offset), "offset of " #field " in " #type); \
    static_assert(sizeof(((type*)0)->field) == (size), "size of " #field " in " #type);
#include "layout.inc"
#undef STRUCT
#undef UNION
#undef FIELD

#define VALUE(name, value) static_assert((name) == (value), "value of " #name);
#include "values.inc"
#undef VALUE

#define REGISTER(name, offset, bytes) static_assert((name) == (offset), "offset of " #name);
#include "registers.inc"
#undef REGISTER

/* Direction read and write, magic 'd' of DRM, driver range from 0x40. */
#define IOCTL(name, number, type)                                                                            \
    static_assert((name) == (3u << 30 | (unsigned)sizeof(struct type) << 16 | 'd' << 8 | (0x40 + (number))), \
                  "encoding of " #name);
#include "ioctls.inc"
#undef IOCTL

#endif
