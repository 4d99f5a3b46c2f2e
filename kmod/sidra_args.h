/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Structs and arrays of the caller, which grow at their ends. What the caller's lacks is zero for
 * the driver; what only the caller knows must be zero when it is read (-E2BIG), and is written as
 * zero.
 */
#ifndef __SIDRA_ARGS_H__
#define __SIDRA_ARGS_H__

#include <linux/types.h>

/* Reads a struct of @size bytes; the caller's has @user_size. 0, -EFAULT or -E2BIG. */
int sidra_args_read(void *to, size_t size, u64 from, size_t user_size);
/* Writes a struct. 0 or -EFAULT. */
int sidra_args_write(u64 to, size_t user_size, const void *from, size_t size);

/*
 * The same for a struct whose size the caller passes in @user_size, which becomes @size. An address
 * of 0 only asks for the size.
 */
int sidra_args_return(u64 to, u32 *user_size, const void *from, size_t size);

/* -EINVAL if a stride is not one of elements that have @first_size bytes or more. */
int sidra_args_stride(u32 stride, size_t first_size);
/*
 * Reads or writes @count elements of @size bytes, @stride bytes apart, which sidra_args_stride()
 * has accepted.
 */
int sidra_args_read_array(void *to, size_t size, u64 from, u32 count, u32 stride);
int sidra_args_write_array(u64 to, u32 count, u32 stride, const void *from, size_t size);

#endif
